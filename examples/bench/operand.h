/*
   The memory of a dense operand. It is made once, and serves the products of all matrices with any number of columns
*/
#pragma once

#include <petscmat.h>

typedef struct {
  Vec       all; /* type of memory: where the vectors of the type live */
  VecType   type;
  PetscBool filled; /* with OperandValue() */
  PetscInt  which;  /* operands of another number have other values */
} Operand;

PETSC_INTERN PetscErrorCode OperandMostColumns(PetscInt, const PetscInt[], PetscInt *);
PETSC_INTERN PetscErrorCode OperandReserve(Operand *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode OperandCreateMat(const Operand *, PetscInt, PetscInt, Mat *);
PETSC_INTERN PetscErrorCode OperandDestroy(Operand *);

/*
   Entry k of the memory of operand number which, in [-1, 1). It takes two multiplications, because there are hundreds
   of millions of entries
*/
static inline double OperandValue(PetscInt which, PetscInt64 k)
{
  uint64_t z = ((uint64_t)(k + 1) + ((uint64_t)which << 40)) * 0x9E3779B97F4A7C15u;

  z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93u;
  return (double)(PetscInt64)(z ^ (z >> 32)) / 9223372036854775808.0;
}

/* The entry. A complex one has an imaginary part of its own */
static inline PetscScalar OperandEntry(PetscInt which, PetscInt64 k)
{
  return PetscCMPLX((PetscReal)OperandValue(which, k), PetscDefined(USE_COMPLEX) ? (PetscReal)OperandValue(which + 1000, k) : 0);
}
