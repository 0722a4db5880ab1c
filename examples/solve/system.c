#include "system.h"
#include "csrmat.h"
#include "family.h"
#include "springs.h"

enum {
  PRODUCTS = 100 /* about one an iteration, and a solve is repeated */
};

/* Give each row an entry on the diagonal, 0 if it had none */
static PetscErrorCode InsertDiagonal(GenerateCSR *csr)
{
  GenerateCSR full = {csr->m, csr->n, NULL, NULL, NULL};
  PetscInt    n    = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(csr->m + 1, &full.i));
  PetscCall(PetscMalloc1(csr->i[csr->m] + csr->m, &full.j));
  PetscCall(PetscMalloc1(csr->i[csr->m] + csr->m, &full.a));
  for (PetscInt row = 0; row < csr->m; row++) {
    PetscBool there = PETSC_FALSE;

    full.i[row] = n;
    for (PetscInt k = csr->i[row]; k < csr->i[row + 1]; k++) {
      if (csr->j[k] > row && !there) {
        full.j[n]   = row;
        full.a[n++] = 0;
      }
      there       = (PetscBool)(there || csr->j[k] >= row);
      full.j[n]   = csr->j[k];
      full.a[n++] = csr->a[k];
    }
    if (!there) {
      full.j[n]   = row;
      full.a[n++] = 0;
    }
  }
  full.i[csr->m] = n;
  PetscCall(GenerateCSRDestroy(csr));
  *csr = full;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Make the diagonal of each row a hundredth larger than the sum of its other entries, so that every solver here
   converges, but not at once. Then scale rows and columns so that the diagonal is 1. Norms of residuals with and
   without a preconditioner can then be compared, whatever units the matrix had.
*/
static PetscErrorCode SetDominant(GenerateCSR *csr)
{
  PetscReal *scale;

  PetscFunctionBegin;
  PetscCall(InsertDiagonal(csr));
  PetscCall(PetscMalloc1(csr->m, &scale));
  for (PetscInt row = 0; row < csr->m; row++) {
    PetscReal sum = 0;

    for (PetscInt k = csr->i[row]; k < csr->i[row + 1]; k++) sum += csr->j[k] == row ? 0 : PetscAbsScalar(csr->a[k]);
    scale[row] = sum > 0 ? 1 / PetscSqrtReal((PetscReal)1.01 * sum) : 1;
  }
  for (PetscInt row = 0; row < csr->m; row++) {
    for (PetscInt k = csr->i[row]; k < csr->i[row + 1]; k++) csr->a[k] = csr->j[k] == row ? 1 : csr->a[k] * (scale[row] * scale[csr->j[k]]);
  }
  PetscCall(PetscFree(scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random right-hand sides, the same on any number of processes */
static PetscErrorCode SetRightHandSides(PetscInt most, System *s)
{
  PetscFunctionBegin;
  s->nonzeros = s->csr.i[s->csr.m];
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s->nonzeros, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  s->most = most;
  PetscCall(PetscMalloc1((size_t)s->csr.m * most, &s->b));
  for (PetscInt k = 0; k < most; k++) {
    for (PetscInt i = 0; i < s->csr.m; i++) s->b[(size_t)k * s->csr.m + i] = GenerateValue(s->first + i, -1 - k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of a family with the values of springs, see springs.c, and with scale times the rows of a full benchmark */
PetscErrorCode SystemGenerate(const char family[], PetscReal scale, PetscReal hold, PetscInt most, System *s)
{
  PetscMPIInt rank, size;
  PetscInt   *starts;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(size + 1, &starts));
  PetscCall(FamilyStarts(family, scale, 1, size, starts));
  PetscCall(PetscSNPrintf(s->values, sizeof(s->values), "springs %.6g", (double)hold));
  s->name      = family;
  s->symmetric = PETSC_TRUE;
  s->first     = starts[rank];
  PetscCall(FamilyRowsOf(family, scale, 1, s->first, starts[rank + 1], &s->csr));
  PetscCall(PetscFree(starts));
  PetscCall(SpringsSetValues(s->first, hold, &s->csr));
  PetscCall(SetRightHandSides(most, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix from a file: made diagonally dominant, or with the values of springs, or as it is */
PetscErrorCode SystemLoad(const char file[], PetscBool dominant, PetscBool springs, PetscReal hold, PetscInt most, System *s)
{
  const char *base = strrchr(file, '/');

  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "Matrices from files are for one process");
  s->name  = base ? base + 1 : file;
  s->first = 0;
  PetscCall(ExampleCSRLoad(file, &s->csr));
  PetscCheck(s->csr.m == s->csr.n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s holds a %" PetscInt_FMT " x %" PetscInt_FMT " matrix; a square one is needed", file, s->csr.m, s->csr.n);
  PetscCall(PetscStrncpy(s->values, dominant ? "dominant" : "stored", sizeof(s->values)));
  if (dominant) PetscCall(SetDominant(&s->csr));
  if (springs) {
    PetscCall(PetscSNPrintf(s->values, sizeof(s->values), "springs %.6g", (double)hold));
    PetscCall(InsertDiagonal(&s->csr));
    PetscCall(SpringsSetValues(0, hold, &s->csr));
  }
  PetscCall(ExampleCSRIsSymmetric(&s->csr, &s->symmetric));
  PetscCall(SetRightHandSides(most, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A - z I. With a z that is not real A is not Hermitian, so what needs that does not solve with it */
PetscErrorCode SystemShift(PetscScalar z, System *s)
{
  PetscFunctionBegin;
  if (z == (PetscScalar)0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < s->csr.m; i++) {
    PetscBool there = PETSC_FALSE;

    for (PetscInt k = s->csr.i[i]; k < s->csr.i[i + 1]; k++) {
      if (s->csr.j[k] != s->first + i) continue;
      s->csr.a[k] -= z;
      there = PETSC_TRUE;
    }
    PetscCheck(there, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "-shift: row %" PetscInt_FMT " of %s has no diagonal entry; -dominant makes some", s->first + i, s->name);
  }
  s->symmetric = (PetscBool)(s->symmetric && PetscImaginaryPart(z) == 0);
  PetscCall(PetscStrlcat(s->values, " shifted", sizeof(s->values)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemDestroy(System *s)
{
  PetscFunctionBegin;
  PetscCall(GenerateCSRDestroy(&s->csr));
  PetscCall(PetscFree(s->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemMat(const System *s, const char type[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(ExampleCSRMat(PETSC_COMM_WORLD, &s->csr, s->symmetric, PRODUCTS, type, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first right-hand sides as a dense matrix: on the host, or where A has its vectors */
PetscErrorCode SystemBlock(const System *s, Mat A, PetscBool host, PetscInt columns, Mat *B)
{
  VecType      type;
  PetscInt     lda;
  PetscScalar *b;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, host ? VECSTANDARD : type, s->csr.m, PETSC_DECIDE, PETSC_DETERMINE, columns, PETSC_DECIDE, NULL, B));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt k = 0; k < columns; k++) PetscCall(PetscArraycpy(b + (size_t)k * lda, s->b + (size_t)k * s->csr.m, s->csr.m));
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyColumn(Mat X, PetscInt k, Vec x)
{
  Vec column;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(X, k, &column));
  PetscCall(VecCopy(column, x));
  PetscCall(MatDenseRestoreColumnVecRead(X, k, &column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *most = max(*most, |y - x| / |x|); infinite where it is no number. y is lost */
static PetscErrorCode TakeDifference(Vec x, Vec y, PetscReal *most)
{
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(VecNorm(y, NORM_2, &difference));
  difference /= norm;
  *most = difference <= *most ? *most : PetscIsNanReal(difference) ? PETSC_INFINITY
                                                                   : difference;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The largest |B - A X| / |B| and |X - Y| / |Y| of a column. A multiplies with one vector after the other, so it does
   not matter how products of blocks were made.
*/
PetscErrorCode SystemCheck(Mat A, Mat B, Mat X, Mat Y, PetscReal *residual, PetscReal *difference)
{
  Vec      x, y;
  PetscInt columns;

  PetscFunctionBegin;
  *residual = *difference = 0;
  PetscCall(MatGetSize(B, NULL, &columns));
  PetscCall(MatCreateVecs(A, &x, &y));
  for (PetscInt k = 0; k < columns; k++) {
    PetscCall(CopyColumn(X, k, x));
    PetscCall(MatMult(A, x, y));
    PetscCall(CopyColumn(B, k, x));
    PetscCall(TakeDifference(x, y, residual));
    PetscCall(CopyColumn(Y, k, x));
    PetscCall(CopyColumn(X, k, y));
    PetscCall(TakeDifference(x, y, difference));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
