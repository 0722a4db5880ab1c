static char help[] = "What operations on a matrix of the device, and the product after each of them, copy between host and device: no more with aijtcu than with aijcusparse. Prints on error only.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include <petscmat.h>
#include "petscaijtcu.h"

#if PetscDefined(HAVE_CUDA)
  #include "paths.h"
  #include "interpose.h"
  #include <cuda_runtime_api.h>

enum {
  ROWS    = 4000,
  HALF    = 4,    /* offsets of a row's entries beside the diagonal */
  COLUMNS = 8,    /* columns of the dense matrix */
  SMALL   = 65536 /* bytes of totals and the like. The values of the matrix have several times as many */
};

static double copied; /* bytes between host and device */

static void Count(size_t n, enum cudaMemcpyKind kind)
{
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDefault) copied += (double)n;
}

INTERPOSE(cudaError_t, cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind), (to, from, n, kind), Count(n, kind))
INTERPOSE(cudaError_t, cudaMemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s), (to, from, n, kind, s), Count(n, kind))
INTERPOSE(cudaError_t, cudaMemcpy2D, (void *to, size_t ldto, const void *from, size_t ldfrom, size_t w, size_t h, enum cudaMemcpyKind kind), (to, ldto, from, ldfrom, w, h, kind), Count(w * h, kind))
INTERPOSE(cudaError_t, cudaMemcpy2DAsync, (void *to, size_t ldto, const void *from, size_t ldfrom, size_t w, size_t h, enum cudaMemcpyKind kind, cudaStream_t s), (to, ldto, from, ldfrom, w, h, kind, s), Count(w * h, kind))

/* A matrix and the operands of its operations, all on the device */
typedef struct {
  Mat A, Other, B, C;
  Vec x, y, values;
} Subject;

typedef enum {
  MULT,
  MULT_TRANSPOSE,
  SCALE,
  DIAGONAL_SCALE,
  AXPY,
  COPY,
  DUPLICATE,
  GET_DIAGONAL,
  SET_VALUES_COO,
  ZERO_ENTRIES,
  OPERATIONS
} Operation;
static const char *const names[OPERATIONS] = {
  [MULT]           = "MatMult()",
  [MULT_TRANSPOSE] = "MatMultTranspose()",
  [SCALE]          = "MatScale()",
  [DIAGONAL_SCALE] = "MatDiagonalScale()",
  [AXPY]           = "MatAXPY()",
  [COPY]           = "MatCopy()",
  [DUPLICATE]      = "MatDuplicate()",
  [GET_DIAGONAL]   = "MatGetDiagonal()",
  [SET_VALUES_COO] = "MatSetValuesCOO() of the device's",
  [ZERO_ENTRIES]   = "MatZeroEntries()"
};

static PetscErrorCode Operate(Operation operation, Subject *s)
{
  PetscFunctionBegin;
  switch (operation) {
  case MULT:
    PetscCall(MatMult(s->A, s->x, s->y));
    break;
  case MULT_TRANSPOSE:
    PetscCall(MatMultTranspose(s->A, s->x, s->y));
    break;
  case SCALE:
    PetscCall(MatScale(s->A, 0.5));
    break;
  case DIAGONAL_SCALE:
    PetscCall(MatDiagonalScale(s->A, s->x, s->x));
    break;
  case AXPY:
    PetscCall(MatAXPY(s->A, 2, s->Other, SAME_NONZERO_PATTERN));
    break;
  case COPY:
    PetscCall(MatCopy(s->Other, s->A, SAME_NONZERO_PATTERN));
    break;
  case DUPLICATE: {
    Mat D;

    PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, &D));
    PetscCall(MatMult(D, s->x, s->y));
    PetscCall(MatDestroy(&D));
    break;
  }
  case GET_DIAGONAL:
    PetscCall(MatGetDiagonal(s->A, s->y));
    break;
  case SET_VALUES_COO: {
    const PetscScalar *v;

    PetscCall(VecGetArrayReadAndMemType(s->values, &v, NULL));
    PetscCall(MatSetValuesCOO(s->A, v, INSERT_VALUES));
    PetscCall(VecRestoreArrayReadAndMemType(s->values, &v));
    break;
  }
  default:
    PetscCall(MatZeroEntries(s->A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Make the product anew. With aijcusparse, an existing product fails once other functions have remade A's structures
   on the device.
*/
static PetscErrorCode Multiply(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->C));
  PetscCall(MatMatMult(s->A, s->B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(MatType type, PetscInt *n, Mat *A)
{
  PetscInt    *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(ROWS * (2 * HALF + 1), &i, ROWS * (2 * HALF + 1), &j, ROWS * (2 * HALF + 1), &v));
  *n = 0;
  for (PetscInt row = 0; row < ROWS; row++) {
    for (PetscInt k = -HALF; k <= HALF; k++) {
      if (row + k < 0 || row + k >= ROWS) continue;
      i[*n]      = row;
      j[*n]      = row + k;
      v[(*n)++] = (PetscScalar)(1 + (row + 3 * k + 20) % 5);
    }
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, ROWS, ROWS, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetOptionsPrefix(*A, "a_"));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetPreallocationCOO(*A, *n, i, j));
  PetscCall(MatSetValuesCOO(*A, v, INSERT_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bytes that each operation copies, once it and the product have run before. The first run may copy from the host. It
   must count at least that much, otherwise counting does not work.
*/
static PetscErrorCode Run(MatType type, double bytes[])
{
  Subject   s;
  PetscInt  n;
  PetscBool ours;

  PetscFunctionBegin;
  copied = 0;
  PetscCall(CreateMatrix(type, &n, &s.A));
  PetscCall(CreateMatrix(type, &n, &s.Other));
  PetscCall(MatCreateVecs(s.A, &s.x, &s.y));
  PetscCall(VecCreateSeqCUDA(PETSC_COMM_SELF, n, &s.values));
  PetscCall(VecSet(s.x, 1));
  PetscCall(VecSet(s.values, 2));
  PetscCall(MatCreateDenseCUDA(PETSC_COMM_SELF, ROWS, COLUMNS, ROWS, COLUMNS, NULL, &s.B));
  PetscCall(MatSetRandom(s.B, NULL));
  s.C    = NULL;
  PetscCall(Multiply(&s));
  if (copied < (double)n * sizeof(PetscScalar)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%g bytes are counted of a new matrix of %s, whose values are %g\n", copied, type, (double)n * sizeof(PetscScalar)));
  for (int times = 0; times < 2; times++) {
    for (int k = 0; k < OPERATIONS; k++) {
      copied = 0;
      PetscCall(Operate((Operation)k, &s));
      PetscCall(Multiply(&s));
      bytes[k] = copied;
    }
  }
  PetscCall(PetscStrcmp(type, MATAIJTCU, &ours));
  if (ours) PetscCall(CheckPath(s.A, 1 + 2 * OPERATIONS));
  PetscCall(MatDestroy(&s.A));
  PetscCall(MatDestroy(&s.Other));
  PetscCall(MatDestroy(&s.B));
  PetscCall(MatDestroy(&s.C));
  PetscCall(VecDestroy(&s.x));
  PetscCall(VecDestroy(&s.y));
  PetscCall(VecDestroy(&s.values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
#if PetscDefined(HAVE_CUDA)
  double theirs[OPERATIONS], ours[OPERATIONS];

  PetscCall(Run(MATAIJCUSPARSE, theirs));
  PetscCall(Run(MATAIJTCU, ours));
  for (int k = 0; k < OPERATIONS; k++) {
    if (ours[k] > theirs[k] + SMALL) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s and a product: %g bytes between host and device, %g with aijcusparse\n", names[k], ours[k], theirs[k]));
  }
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: cuda !complex !defined(PETSC_USE_64BIT_INDICES)

  test:
    suffix: cuda
    args: -a_mat_aijtcu_path {{tcu csr}}
    output_file: output/empty.out

TEST*/
