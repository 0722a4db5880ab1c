static char help[] = "A MATAIJTCU that is so large that threads copy it, and the pattern of a product. Prints on error only.\n\n";

#include <petscaijtcu.h>
#include <petsc/private/petscimpl.h>

enum {
  ROWS   = 70001,
  LENGTH = 61 /* 17 MB of column indices */
};

/* Entry k of a row, in the order of columns that MatSetValues() gets: numbers of few bits, whose sums are exact */
static PetscInt Column(PetscInt row, PetscInt k)
{
  return (row + k * (k + 1) / 2) % ROWS;
}

static PetscScalar Value(PetscInt row, PetscInt k, PetscInt change)
{
  return (PetscScalar)((row * 7 + k * 5 + change) % 17 - 8);
}

static PetscErrorCode Create(MatType type, PetscInt length, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, ROWS, ROWS, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, length, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fill(Mat A, PetscInt change)
{
  PetscInt    column[LENGTH];
  PetscScalar value[LENGTH];

  PetscFunctionBegin;
  for (PetscInt row = 0; row < ROWS; row++) {
    for (PetscInt k = 0; k < LENGTH; k++) {
      column[k] = Column(row, k);
      value[k]  = Value(row, k, change);
    }
    PetscCall(MatSetValues(A, 1, &row, LENGTH, column, value, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x, entry by entry */
static PetscErrorCode Multiply(Mat A, PetscInt change, const char when[])
{
  Vec                x, y;
  PetscScalar       *a;
  const PetscScalar *b;
  PetscInt           wrong = 0;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetArray(x, &a));
  for (PetscInt i = 0; i < ROWS; i++) a[i] = (PetscScalar)(i % 13 - 6);
  PetscCall(VecRestoreArray(x, &a));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt row = 0; row < ROWS; row++) {
    PetscScalar sum = 0;

    for (PetscInt k = 0; k < LENGTH; k++) sum += Value(row, k, change) * (PetscScalar)(Column(row, k) % 13 - 6);
    if (b[row] != sum) wrong++;
  }
  PetscCall(VecRestoreArrayRead(y, &b));
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " rows are wrong\n", when, wrong));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat              A, E, C;
  PetscInt         wrong = 0;
  PetscObjectState state[2];

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(Create(MATAIJTCU, LENGTH, &A));
  PetscCall(Fill(A, 0));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state[0]));
  PetscCall(Multiply(A, 0, "the first product"));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state[1]));
  if (state[0] != state[1]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "a product changes the state of its matrix\n"));
  PetscCall(Fill(A, 3));
  PetscCall(Multiply(A, 3, "new values"));

  PetscCall(Create(MATAIJTCU, 1, &E));
  for (PetscInt row = 0; row < ROWS; row++) PetscCall(MatSetValue(E, row, row, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(E, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(E, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, E, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  for (PetscInt row = 0; row < ROWS; row++) {
    const PetscInt    *column[2];
    const PetscScalar *value[2];
    PetscInt           n[2];
    PetscBool          same;

    PetscCall(MatGetRow(A, row, &n[0], &column[0], &value[0]));
    PetscCall(MatGetRow(C, row, &n[1], &column[1], &value[1]));
    same = (PetscBool)(n[0] == n[1]);
    if (same) PetscCall(PetscArraycmp(column[0], column[1], n[0], &same));
    if (same) PetscCall(PetscArraycmp(value[0], value[1], n[0], &same));
    if (!same) wrong++;
    PetscCall(MatRestoreRow(C, row, &n[1], &column[1], &value[1]));
    PetscCall(MatRestoreRow(A, row, &n[0], &column[0], &value[0]));
  }
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "A times the identity: %" PetscInt_FMT " rows are wrong\n", wrong));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&E));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out

TEST*/
