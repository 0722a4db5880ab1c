static char help[] = "What operations on a matrix of the device, and the product after each of them, copy between host and device: no more with aijtcu than with aijcusparse. Prints on error only.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include <petscmat.h>
#include "petscaijtcu.h"

#if PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
  #include <dlfcn.h>

enum {
  ROWS    = 4000,
  HALF    = 4,    /* of the entries of a row, besides the diagonal */
  COLUMNS = 8,    /* of the dense matrix */
  SMALL   = 65536 /* bytes: totals and the like; the values of the matrix are several times as many */
};

/* The program's definitions come before those of CUDA's library, for PETSc's calls as for ours */
static double copied; /* bytes between host and device, from copies beyond small ones */

static void Count(size_t n, enum cudaMemcpyKind kind)
{
  if ((kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDefault) && n > 4096) copied += (double)n;
}

PETSC_EXTERN cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
  static cudaError_t (*next)(void *, const void *, size_t, enum cudaMemcpyKind);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "cudaMemcpy");
  Count(n, kind);
  return (*next)(to, from, n, kind);
}

PETSC_EXTERN cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s)
{
  static cudaError_t (*next)(void *, const void *, size_t, enum cudaMemcpyKind, cudaStream_t);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "cudaMemcpyAsync");
  Count(n, kind);
  return (*next)(to, from, n, kind, s);
}

/* A matrix and what its operations work with, all on the device */
typedef struct {
  Mat A, Other, B, C;
  Vec x, y, values;
} Subject;

static PetscErrorCode Multiply(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatMult(s->A, s->x, s->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyTransposed(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatMultTranspose(s->A, s->x, s->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatScale(s->A, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatDiagonalScale(s->A, s->x, s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Add(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatAXPY(s->A, 2, s->Other, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatCopy(s->Other, s->A, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(Subject *s)
{
  Mat D;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, &D));
  PetscCall(MatMult(D, s->x, s->y));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(s->A, s->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValuesCOO(Subject *s)
{
  const PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(s->values, &v, NULL));
  PetscCall(MatSetValuesCOO(s->A, v, INSERT_VALUES));
  PetscCall(VecRestoreArrayReadAndMemType(s->values, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroEntries(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(s->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*run)(Subject *);
} operations[] = {
  {"MatMult()",                        Multiply          },
  {"MatMultTranspose()",               MultiplyTransposed},
  {"MatScale()",                       Scale             },
  {"MatDiagonalScale()",               DiagonalScale     },
  {"MatAXPY()",                        Add               },
  {"MatCopy()",                        Copy              },
  {"MatDuplicate()",                   Duplicate         },
  {"MatGetDiagonal()",                 GetDiagonal       },
  {"MatSetValuesCOO() of the device's", SetValuesCOO     },
  {"MatZeroEntries()",                 ZeroEntries       }
};

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

/* Bytes that each operation copies, when it and the product have been seen once: what is made for the first time may come from the host */
static PetscErrorCode Run(MatType type, double bytes[])
{
  Subject  s;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(type, &n, &s.A));
  PetscCall(CreateMatrix(type, &n, &s.Other));
  PetscCall(MatCreateVecs(s.A, &s.x, &s.y));
  PetscCall(VecCreateSeqCUDA(PETSC_COMM_SELF, n, &s.values));
  PetscCall(VecSet(s.x, 1));
  PetscCall(VecSet(s.values, 2));
  PetscCall(MatCreateDenseCUDA(PETSC_COMM_SELF, ROWS, COLUMNS, ROWS, COLUMNS, NULL, &s.B));
  PetscCall(MatSetRandom(s.B, NULL));
  PetscCall(MatMatMult(s.A, s.B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &s.C));
  for (int times = 0; times < 2; times++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operations); k++) {
      copied = 0;
      PetscCall((*operations[k].run)(&s));
      PetscCall(MatMatMult(s.A, s.B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &s.C));
      bytes[k] = copied;
    }
  }
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
  double theirs[PETSC_STATIC_ARRAY_LENGTH(operations)], ours[PETSC_STATIC_ARRAY_LENGTH(operations)];

  PetscCall(Run(MATAIJCUSPARSE, theirs));
  PetscCall(Run(MATAIJTCU, ours));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operations); k++) {
    if (ours[k] > theirs[k] + SMALL) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s and a product: %g bytes between host and device, %g with aijcusparse\n", operations[k].name, ours[k], theirs[k]));
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
    args: -a_mat_aijtcu_path {{tcu scalar}}
    output_file: output/empty.out

TEST*/
