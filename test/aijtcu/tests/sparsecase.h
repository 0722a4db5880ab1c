/*
   Products of sparse matrices of a MATAIJTCU and of MATAIJ beside each other: patterns, values, operands, and both phases
*/
#pragma once

#include <petscaijtcu.h>

/* Patterns: a band with empty rows; a few dense rows and columns; few entries; blocks of 3; blocks of 3 and far ones; none */
typedef enum {
  BAND,
  CROSS,
  FEW,
  BLOCKS,
  FAR,
  NOTHING,
  NPATTERNS
} Pattern;
static const char *const patterns[] = {"band", "cross", "few", "blocks", "far", "nothing"};

static PetscBool Has(Pattern pattern, PetscInt i, PetscInt j)
{
  switch (pattern) {
  case BAND:
    return (PetscBool)(i % 5 && PetscAbs(i - j) <= 3);
  case CROSS:
    return (PetscBool)(i % 17 == 3 || j % 23 == 4 || i == j);
  case FEW:
    return (PetscBool)((i * 31 + j * 17) % 41 == 0);
  case BLOCKS:
    return (PetscBool)(PetscAbs(i / 3 - j / 3) <= 1);
  case FAR:
    return (PetscBool)(i / 3 == j / 3 || (i * 7) % 19 == j % 19);
  default:
    return PETSC_FALSE;
  }
}

/* A number for an entry, which changes with the seed */
static PetscScalar Value(PetscInt i, PetscInt j, PetscInt seed)
{
  return (PetscScalar)(((i * 7919 + j * 104729 + seed * 1299709) % 2001 - 1000) / (PetscReal)1000);
}

static PetscErrorCode SetValues(Mat A, Pattern pattern, PetscInt seed)
{
  PetscInt first, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    for (PetscInt j = 0; j < n; j++) {
      if (Has(pattern, i, j)) PetscCall(MatSetValue(A, i, j, Value(i, j, seed), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose sizes are set gets its type, options and values */
static PetscErrorCode Finish(Mat A, MatType type, Pattern pattern)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetOptionsPrefix(A, "a_"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(SetValues(A, pattern, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  Mat         ours[3], aij[3]; /* operands, in PETSc's order */
  Pattern     pattern[3];
  char        where[32]; /* how rows lie on processes, if there is more to say than the sizes */
  PetscInt    made;      /* products that kernels of ours have made of C */
} Case;

/* Whether all processes say so; one complains if not */
static PetscErrorCode Expect(const Case *c, PetscBool right, const char what[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)c->ours[0]);
  PetscInt       m, n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_C_BOOL, MPI_LAND, comm));
  PetscCall(MatGetSize(c->ours[0], &m, &n));
  if (!right) PetscCall(PetscPrintf(comm, "%s of %s %" PetscInt_FMT " x %" PetscInt_FMT " and %s%s: %s\n", c->name, patterns[c->pattern[0]], m, n,
    patterns[c->pattern[1]], c->where, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Symbolic(Mat operand[3], MatProductType type, PetscBool structure, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(operand[0], operand[1], operand[2], C));
  PetscCall(MatProductSetType(*C, type));
  PetscCall(MatSetOption(*C, MAT_STRUCTURE_ONLY, structure));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Numeric(Case *c, Mat C)
{
  MatAIJTCUSparse set;
  MatAIJTCUCounts counts;
  VecType         vectors;
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatProductNumeric(C));
  PetscCall(MatAIJTCUGetSparse(c->ours[0], &set));
  PetscCall(MatAIJTCUGetCounts(C, &counts));
  PetscCall(MatGetVecType(c->ours[0], &vectors));
  PetscCall(PetscStrcmp(vectors, VECCUDA, &device));
  c->made += device && set != MAT_AIJTCU_SPARSE_CUSPARSE;
  PetscCall(Expect(c, (PetscBool)(counts.sparse == c->made), "not made by the kernels that were set"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewValues(Case *c, PetscInt seed)
{
  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    if (!c->ours[i] || (i && c->ours[i] == c->ours[0])) continue;
    PetscCall(SetValues(c->ours[i], c->pattern[i], seed + i));
    PetscCall(SetValues(c->aij[i], c->pattern[i], seed + i));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
