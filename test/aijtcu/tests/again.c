static char help[] = "Products that come again and again, which are launched as CUDA graphs, while A, B, C and all that a plan keeps change between them. Prints on error only.\n\n";

/*
   Numbers are small and whole, so sums have no roundings, and each product is compared to the bit with one by MATAIJ on
   the host. A graph that was made for something else would give other numbers. Graphs are counted: otherwise the test
   would be about nothing.
*/
#define _GNU_SOURCE /* RTLD_NEXT */
#include <petscmat.h>
#include <petscdevice.h>
#include "petscaijtcu.h"

#if PetscDefined(HAVE_CUDA)
  #include "band.h"
  #include "interpose.h"
  #include "whole.h"
  #include <petscdevice_cuda.h>

enum {
  ROWS     = 900,
  HALF     = 6, /* offsets of a row's entries beside the diagonal */
  COLUMNS  = 24,
  TIMES    = 12, /* that each product comes */
  GRAPHS   = 3,  /* of these that are launched as graphs, at least */
  OPERANDS = 40  /* more than there are graphs for */
};

static PetscInt ngraphs;

/* Those that were launched */
INTERPOSE_THEN(cudaError_t, cudaGraphLaunch, (cudaGraphExec_t g, cudaStream_t s), (g, s), , ngraphs += result == cudaSuccess)

/* The matrix, dense matrices and vectors on the device, and the same on the host */
typedef struct {
  Mat A, R, B, S, C, D, P, Q; /* C = A B, D = R S; P and Q are sampled products */
  Vec x, y, u, v;             /* y = A x, v = R u */
} World;

/* Whole numbers that follow from k */
static PetscErrorCode FillDense(Mat B, PetscInt k)
{
  PetscScalar *b;
  PetscInt     m, n, ld;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, &m, &n));
  PetscCall(MatDenseGetLDA(B, &ld));
  PetscCall(MatDenseGetArrayWrite(B, &b));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) b[i + j * ld] = (PetscScalar)((7 * i + 3 * j + k) % 9 - 4);
  }
  PetscCall(MatDenseRestoreArrayWrite(B, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillOperands(World *w, PetscInt k)
{
  PetscFunctionBegin;
  PetscCall(FillDense(w->B, k));
  PetscCall(FillDense(w->S, k));
  PetscCall(FillVec(w->x, k));
  PetscCall(FillVec(w->u, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateWorld(World *w)
{
  PetscFunctionBegin;
  PetscCall(CreateBand(MATAIJTCU, ROWS, HALF, 1, &w->A));
  PetscCall(MatConvert(w->A, MATSEQAIJ, MAT_INITIAL_MATRIX, &w->R));
  PetscCall(MatCreateDenseCUDA(PETSC_COMM_SELF, ROWS, COLUMNS, ROWS, COLUMNS, NULL, &w->B));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &w->S));
  PetscCall(MatCreateVecs(w->A, &w->x, &w->y));
  PetscCall(MatCreateVecs(w->R, &w->u, &w->v));
  PetscCall(FillOperands(w, 0));
  PetscCall(MatMatMult(w->A, w->B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &w->C));
  PetscCall(MatMatMult(w->R, w->S, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &w->D));
  PetscCall(MatSampledMatTransposeMult(w->A, w->B, w->B, PETSC_TRUE, MAT_INITIAL_MATRIX, &w->P));
  PetscCall(MatSampledMatTransposeMult(w->R, w->S, w->S, PETSC_TRUE, MAT_INITIAL_MATRIX, &w->Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyWorld(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&w->A));
  PetscCall(MatDestroy(&w->R));
  PetscCall(MatDestroy(&w->B));
  PetscCall(MatDestroy(&w->S));
  PetscCall(MatDestroy(&w->C));
  PetscCall(MatDestroy(&w->D));
  PetscCall(MatDestroy(&w->P));
  PetscCall(MatDestroy(&w->Q));
  PetscCall(VecDestroy(&w->x));
  PetscCall(VecDestroy(&w->y));
  PetscCall(VecDestroy(&w->u));
  PetscCall(VecDestroy(&w->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(PetscInt unequal, const char operation[], const char when[], PetscInt time)
{
  PetscFunctionBegin;
  if (unequal) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, time %" PetscInt_FMT ": %" PetscInt_FMT " numbers differ\n", operation, when, time, unequal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareDense(Mat C, Mat D, const char operation[], const char when[], PetscInt time)
{
  PetscInt unequal;

  PetscFunctionBegin;
  PetscCall(CountUnequalDense(C, D, &unequal));
  PetscCall(Report(unequal, operation, when, time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareVec(Vec y, Vec v, const char operation[], const char when[], PetscInt time)
{
  PetscInt unequal;

  PetscFunctionBegin;
  PetscCall(CountUnequalVec(y, v, &unequal));
  PetscCall(Report(unequal, operation, when, time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As dense matrices, whose entries elsewhere are zero */
static PetscErrorCode CompareSparse(Mat P, Mat Q, const char operation[], const char when[], PetscInt time)
{
  Mat C, D;

  PetscFunctionBegin;
  PetscCall(MatConvert(P, MATSEQAIJ, MAT_INITIAL_MATRIX, &C)); /* to the host */
  PetscCall(MatConvert(C, MATSEQDENSE, MAT_INPLACE_MATRIX, &C));
  PetscCall(MatConvert(Q, MATSEQDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(CompareDense(C, D, operation, when, time));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProduct(World *w, const char when[], PetscInt time)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(w->C));
  PetscCall(MatMatMult(w->A, w->B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &w->C));
  PetscCall(MatMatMult(w->R, w->S, MAT_REUSE_MATRIX, PETSC_DETERMINE, &w->D));
  PetscCall(CompareDense(w->C, w->D, "A B", when, time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckVector(World *w, const char when[], PetscInt time)
{
  PetscFunctionBegin;
  PetscCall(VecSet(w->y, 0));
  PetscCall(MatMult(w->A, w->x, w->y));
  PetscCall(MatMultAdd(w->A, w->x, w->y, w->y));
  PetscCall(MatMult(w->R, w->u, w->v));
  PetscCall(MatMultAdd(w->R, w->u, w->v, w->v));
  PetscCall(CompareVec(w->y, w->v, "A x + A x", when, time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSampled(World *w, const char when[], PetscInt time)
{
  PetscFunctionBegin;
  PetscCall(MatSampledMatTransposeMult(w->A, w->B, w->B, PETSC_TRUE, MAT_REUSE_MATRIX, &w->P));
  PetscCall(MatSampledMatTransposeMult(w->R, w->S, w->S, PETSC_TRUE, MAT_REUSE_MATRIX, &w->Q));
  PetscCall(CompareSparse(w->P, w->Q, "A .* (B B^T)", when, time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operation several times */
static PetscErrorCode Repeat(World *w, PetscErrorCode (*check)(World *, const char[], PetscInt), const char operation[], const char when[])
{
  const PetscInt before = ngraphs;

  PetscFunctionBegin;
  for (PetscInt time = 0; time < TIMES; time++) PetscCall((*check)(w, when, time));
  if (ngraphs < before + GRAPHS) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: %" PetscInt_FMT " graphs for %d products\n", operation, when, ngraphs - before, TIMES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RepeatAll(World *w, const char when[])
{
  PetscFunctionBegin;
  PetscCall(Repeat(w, CheckProduct, "A B", when));
  PetscCall(Repeat(w, CheckVector, "A x + A x", when));
  PetscCall(Repeat(w, CheckSampled, "A .* (B B^T)", when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same change of the matrix and of the reference */
static PetscErrorCode ChangeValues(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, -1));
  for (PetscInt i = 3; i < ROWS; i += 50) PetscCall(MatSetValue(A, i, i - 2, 5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangePattern(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < ROWS; i += 70) PetscCall(MatSetValue(A, i, ROWS - 1 - i / 2, 3, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another matrix asks for more workspace, which then is elsewhere */
static PetscErrorCode GrowWorkspace(void)
{
  Mat A, B, C;

  PetscFunctionBegin;
  PetscCall(CreateBand(MATAIJTCU, 40 * ROWS, HALF, 1, &A));
  PetscCall(MatAIJTCUSetPath(A, MAT_AIJTCU_PATH_CSR));
  PetscCall(MatCreateDenseCUDA(PETSC_COMM_SELF, 40 * ROWS, 4 * COLUMNS, 40 * ROWS, 4 * COLUMNS, NULL, &B));
  PetscCall(MatZeroEntries(B));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many results in turn. There are not graphs for all of them */
static PetscErrorCode ManyOperands(World *w)
{
  Mat C[OPERANDS], keep = w->C;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < OPERANDS; k++) PetscCall(MatMatMult(w->A, w->B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
  for (PetscInt round = 0; round < 3; round++) {
    PetscCall(FillOperands(w, 10 + round));
    PetscCall(MatMatMult(w->R, w->S, MAT_REUSE_MATRIX, PETSC_DETERMINE, &w->D));
    for (PetscInt k = 0; k < OPERANDS; k++) {
      PetscCall(MatMatMult(w->A, w->B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C[k]));
      PetscCall(CompareDense(C[k], w->D, "A B", "many results", k));
    }
  }
  for (PetscInt k = 0; k < OPERANDS; k++) {
    w->C = C[k];
    if (k < 2) PetscCall(Repeat(w, CheckProduct, "A B", "one of many results"));
    PetscCall(MatDestroy(&C[k]));
  }
  w->C = keep;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two matrices in turn. Blocks of the other one take less shared memory, in the same kernels */
static PetscErrorCode TwoMatrices(World *w)
{
  const PetscInt before = ngraphs;
  Mat            A, R, C, D;

  PetscFunctionBegin;
  PetscCall(CreateBand(MATAIJTCU, ROWS, 1, 1, &A));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatMatMult(R, w->S, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(MatMatMult(A, w->B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  for (PetscInt time = 0; time < TIMES; time++) {
    PetscCall(MatMatMult(A, w->B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(CompareDense(C, D, "A B", "another matrix in turn", time));
    PetscCall(CheckProduct(w, "in turn with another matrix", time));
  }
  if (ngraphs < before + 2 * GRAPHS) PetscCall(PetscPrintf(PETSC_COMM_SELF, "two matrices in turn: %" PetscInt_FMT " graphs for %d products\n", ngraphs - before, 2 * TIMES));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without entries, whose product by bricks is memory that is set */
static PetscErrorCode WithoutEntries(World *w)
{
  Mat       A, C;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, ROWS, ROWS, ROWS, ROWS));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetOptionsPrefix(A, "a_"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, 0, NULL));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, w->B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  for (PetscInt time = 0; time < TIMES; time++) {
    PetscCall(FillDense(C, time));
    PetscCall(MatMatMult(A, w->B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
    PetscCall(Report(norm != 0, "A B", "without entries", time));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T x, by a transpose that the plan makes after some of them */
static PetscErrorCode Transposed(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatMultTranspose(w->R, w->u, w->v));
  for (PetscInt time = 0; time < 2 * TIMES; time++) {
    PetscCall(MatMultTranspose(w->A, w->x, w->y));
    PetscCall(CompareVec(w->y, w->v, "A^T x", "again", time));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products in a stream that PETSc destroys afterwards */
static PetscErrorCode OtherStream(World *w)
{
  PetscDeviceContext root, own;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&root));
  PetscCall(PetscDeviceContextSynchronize(root));
  PetscCall(PetscDeviceContextCreate(&own));
  PetscCall(PetscDeviceContextSetStreamType(own, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(own));
  PetscCall(PetscDeviceContextSetCurrentContext(own));
  PetscCall(Repeat(w, CheckProduct, "A B", "in another stream"));
  PetscCall(PetscDeviceContextSynchronize(own));
  PetscCall(PetscDeviceContextSetCurrentContext(root));
  PetscCall(PetscDeviceContextDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
#if PetscDefined(HAVE_CUDA)
  {
    World w;

    PetscCall(CreateWorld(&w));
    PetscCall(RepeatAll(&w, "at first"));
    PetscCall(FillOperands(&w, 2));
    PetscCall(RepeatAll(&w, "with new operands"));
    PetscCall(ChangeValues(w.A));
    PetscCall(ChangeValues(w.R));
    PetscCall(RepeatAll(&w, "with new values"));
    PetscCall(GrowWorkspace());
    PetscCall(RepeatAll(&w, "with more workspace"));
    PetscCall(OtherStream(&w));
    PetscCall(RepeatAll(&w, "after another stream"));
    PetscCall(ManyOperands(&w));
    PetscCall(TwoMatrices(&w));
    PetscCall(WithoutEntries(&w));
    PetscCall(Transposed(&w));
    PetscCall(ChangePattern(w.A));
    PetscCall(ChangePattern(w.R));
    PetscCall(MatDestroy(&w.P)); /* of the old pattern */
    PetscCall(MatDestroy(&w.Q));
    PetscCall(MatSampledMatTransposeMult(w.A, w.B, w.B, PETSC_TRUE, MAT_INITIAL_MATRIX, &w.P));
    PetscCall(MatSampledMatTransposeMult(w.R, w.S, w.S, PETSC_TRUE, MAT_INITIAL_MATRIX, &w.Q));
    PetscCall(RepeatAll(&w, "with a new pattern"));
    PetscCall(DestroyWorld(&w));
  }
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: cuda !complex !defined(PETSC_USE_64BIT_INDICES)

  testset:
    output_file: output/empty.out

    test:
      suffix: cuda
      args: -a_mat_aijtcu_path {{tcu csr}}

    test:
      suffix: cuda_auto
      args: -a_mat_aijtcu_path auto

    test: # copies of B and of C in the workspace
      suffix: cuda_reordered
      args: -a_mat_aijtcu_path tcu -a_mat_aijtcu_reorder always

TEST*/
