/*
   Numbers that are functions of indices, so that every process can compute any of them
*/
#pragma once

#include <petscsys.h>

static inline PetscInt Hash(PetscInt a, PetscInt b, PetscInt c)
{
  PetscInt64 x = 1 + 7919 * (PetscInt64)a + 104729 * (PetscInt64)b + 1299709 * (PetscInt64)c;

  x ^= x >> 13;
  x = (x * 1103515245 + 12345) & 0x7fffffff;
  x ^= x >> 7;
  x = (x * 69069 + 1) & 0x7fffffff;
  return (PetscInt)(x >> 3);
}

static inline PetscReal Real(PetscInt a, PetscInt b, PetscInt c)
{
  return (PetscReal)(Hash(a, b, c) % 2000003) / (PetscReal)1000001 - 1;
}

/* A number, with an imaginary part of its own where scalars are complex */
static inline PetscScalar Scalar(PetscInt a, PetscInt b, PetscInt c)
{
  return PetscCMPLX(Real(a, b, c), PetscDefined(USE_COMPLEX) ? Real(a, b, c + 1001) : 0);
}
