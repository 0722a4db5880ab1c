#include "sampled.h"
#include "cusparse.h"

/* What a subject has between begin and end */
struct _n_SampledWork {
  Mat             W;        /* the sampled product, where it is multiplied apart */
  Mat             M;        /* the operator that makes it in the same pass, else */
  Mat             rows[2];  /* X^T and Y^T: column-major, which is X and Y row-major */
  CusparseSampled cusparse; /* what makes W; NULL: MatSampledMatTransposeMult() does */
};

static PetscErrorCode ArrayOf(Mat M, const PetscScalar **array)
{
  const PetscScalar *at;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayReadAndMemType(M, &at, NULL));
  *array = at; /* it stays there */
  PetscCall(MatDenseRestoreArrayReadAndMemType(M, &at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeginCusparse(Subject *s, Mat Y)
{
  const Mat          operand[2] = {s->X, Y};
  const PetscScalar *array[2];
  SampledWork        w = s->work;
  PetscInt           k;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, &w->W));
  PetscCall(MatScale(w->W, -1)); /* brings it to the device */
  for (int i = 0; i < 2; i++) {
    if (s->variant->rows) PetscCall(MatTranspose(operand[i], MAT_INITIAL_MATRIX, &w->rows[i]));
    PetscCall(ArrayOf(s->variant->rows ? w->rows[i] : operand[i], &array[i]));
  }
  PetscCall(MatGetSize(Y, NULL, &k));
  PetscCall(CusparseSampledCreate(s->csr, k, s->variant->rows, array[0], array[1], &w->cusparse));
  PetscCall(CusparseSampledRun(w->cusparse, w->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* W with all that comes before. For the parent of a device cuSPARSE makes it, which PETSc has no function for */
static PetscErrorCode EntriesBegin(Subject *s, Mat Y)
{
  PetscBool cusparse;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s->work));
  PetscCall(PetscObjectTypeCompare((PetscObject)s->A, MATSEQAIJCUSPARSE, &cusparse));
  if (cusparse) PetscCall(BeginCusparse(s, Y));
  else PetscCall(MatSampledMatTransposeMult(s->A, s->X, Y, PETSC_FALSE, MAT_INITIAL_MATRIX, &s->work->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Entries(Subject *s, Mat Y)
{
  PetscFunctionBegin;
  if (s->work->cusparse) PetscCall(CusparseSampledRun(s->work->cusparse, s->work->W));
  else PetscCall(MatSampledMatTransposeMult(s->A, s->X, Y, PETSC_FALSE, MAT_REUSE_MATRIX, &s->work->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode End(Subject *s, Mat Y)
{
  PetscFunctionBegin;
  (void)Y;
  PetscCall(CusparseSampledDestroy(&s->work->cusparse));
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&s->work->rows[i]));
  PetscCall(MatDestroy(&s->work->W));
  PetscCall(MatDestroy(&s->work->M));
  PetscCall(PetscFree(s->work));
  PetscCall(MatDestroy(&s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SampledBegin(Subject *s, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(EntriesBegin(s, Y));
  s->C = s->work->W;
  PetscCall(PetscObjectReference((PetscObject)s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent, and a variant of ours that says so, make the sampled product, and multiply it then */
static PetscBool IsApart(const Subject *s)
{
  return (PetscBool)(!s->variant->ours || s->variant->apart);
}

static PetscErrorCode FusedBegin(Subject *s, Mat Y)
{
  PetscFunctionBegin;
  if (IsApart(s)) PetscCall(EntriesBegin(s, Y));
  else {
    PetscCall(PetscNew(&s->work));
    PetscCall(MatCreateSampledLR(s->A, s->X, Y, PETSC_FALSE, &s->work->M));
  }
  PetscCall(MatMatMult(IsApart(s) ? s->work->W : s->work->M, s->Z, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As if a dense matrix had other numbers now */
static PetscErrorCode PretendChange(Mat M)
{
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayAndMemType(M, &array, NULL));
  PetscCall(MatDenseRestoreArrayAndMemType(M, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FusedNumeric(Subject *s, Mat Y)
{
  PetscFunctionBegin;
  if (IsApart(s)) PetscCall(Entries(s, Y));
  else PetscCall(PretendChange(s->X));
  PetscCall(MatMatMult(IsApart(s) ? s->work->W : s->work->M, s->Z, MAT_REUSE_MATRIX, PETSC_DETERMINE, &s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const Operations SampledOperations = {.name = "sampled", .begin = SampledBegin, .numeric = Entries, .end = End, .left = 1, .right = 1, .terms = 1, .values = PETSC_TRUE, .sampled = PETSC_TRUE};
const Operations FusedOperations = {.name = "fused", .begin = FusedBegin, .numeric = FusedNumeric, .end = End, .left = 2, .right = 2, .terms = 2, .values = PETSC_FALSE, .sampled = PETSC_TRUE};
