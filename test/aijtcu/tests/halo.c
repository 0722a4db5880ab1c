static char help[] = "Products A B and A^T B of a parallel MATAIJTCU with dense matrices, which keep their halo, against sums of the same closed formulas.\n\
Prints on error only. -shape: how rows and entries are shared between processes. -counts: what steady products send and make.\n\
-dense_type: where dense matrices are; default: where A is. -refuse: the second process cannot use memory that it is lent.\n\
-fail: it has an error when it is lent memory.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include <petscmat.h>
#include <petscsf.h>
#include "petscaijtcu.h"
#include "haloproblem.h"
#include "interpose.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #include <cusparse.h>
#endif

#undef MPI_Isend
#undef MPI_Type_commit
#undef MPI_Comm_dup

/* What steady products must not make, and what they send */
static PetscBool   counting;
static PetscInt    nmade;
static const char *made; /* the first of them, by the function that made it */
static PetscInt64  bytes;
static const void *lowest;

static void CountMessage(const void *buffer, int n, MPI_Datatype type)
{
  int size;

  if (!counting) return;
  (void)MPI_Type_size(type, &size);
  bytes += (PetscInt64)n * size;
  if (!lowest || buffer < lowest) lowest = buffer;
}

static void CountMade(const char by[])
{
  if (!counting) return;
  if (!nmade++) made = by;
}

INTERPOSE(int, MPI_Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, to, tag, c, r), CountMessage(b, n, t))
INTERPOSE(int, MPI_Type_commit, (MPI_Datatype * t), (t), CountMade("MPI_Type_commit"))
INTERPOSE(int, MPI_Comm_dup, (MPI_Comm c, MPI_Comm *d), (c, d), CountMade("MPI_Comm_dup"))
INTERPOSE(PetscErrorCode, PetscSFCreate, (MPI_Comm c, PetscSF *sf), (c, sf), CountMade("PetscSFCreate"))
#if PetscDefined(HAVE_CUDA)
/* Rows that another process has lent */
INTERPOSE(cudaError_t, cudaMemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s), (to, from, n, kind, s), bytes += counting && kind == cudaMemcpyDeviceToDevice ? (PetscInt64)n : 0)
INTERPOSE(cudaError_t, cudaMalloc, (void **p, size_t n), (p, n), CountMade("cudaMalloc"))
INTERPOSE(cudaError_t, cudaMallocAsync, (void **p, size_t n, cudaStream_t s), (p, n, s), CountMade("cudaMallocAsync"))
INTERPOSE(cudaError_t, cudaMallocHost, (void **p, size_t n), (p, n), CountMade("cudaMallocHost"))
INTERPOSE(cudaError_t, cudaEventCreateWithFlags, (cudaEvent_t * e, unsigned int f), (e, f), CountMade("cudaEventCreateWithFlags"))
INTERPOSE(cudaError_t, cudaStreamCreateWithFlags, (cudaStream_t * s, unsigned int f), (s, f), CountMade("cudaStreamCreateWithFlags"))

/* Products of cuSPARSE with one vector: its kernel for A^T x may leave out a row */
static PetscInt nvector;

INTERPOSE(cusparseStatus_t, cusparseSpMV, (cusparseHandle_t h, cusparseOperation_t o, const void *a, cusparseConstSpMatDescr_t A, cusparseConstDnVecDescr_t x, const void *b, cusparseDnVecDescr_t y, cudaDataType t, cusparseSpMVAlg_t g, void *w), (h, o, a, A, x, b, y, t, g, w), nvector++)

static PetscBool refuse; /* -refuse: the second process can use nothing that it is lent, so there are messages, too */

PETSC_EXTERN cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned int flags)
{
  static cudaError_t (*next)(void **, cudaIpcMemHandle_t, unsigned int);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "cudaIpcOpenMemHandle");
  return refuse ? cudaErrorMapBufferObjectFailed : (*next)(p, handle, flags);
}

static PetscBool fail; /* the second process has an error between two exchanges with its neighbours */

PETSC_EXTERN PetscErrorCode PetscShmCommGlobalToLocal(PetscShmComm shm, PetscMPIInt global, PetscMPIInt *local)
{
  static PetscErrorCode (*next)(PetscShmComm, PetscMPIInt, PetscMPIInt *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "PetscShmCommGlobalToLocal");
  return fail ? PETSC_ERR_SYS : (*next)(shm, global, local);
}

/* An error of one process is one of all: nobody waits for it. Products afterwards are right */
static PetscErrorCode TestFailure(Problem *p)
{
  Mat            A, B, C;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateB(p, 7, &B));
  PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_MPI));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_AUTO));
  fail = (PetscBool)(rank == 1);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C);
  PetscCall(PetscPopErrorHandler());
  fail = PETSC_FALSE;
  if (ierr != (rank == 1 ? PETSC_ERR_SYS : PETSC_ERR_LIB)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] error %d\n", rank, (int)ierr));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(Check(p, C, 1, "after an error"));
    PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_MPI));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Widths in changing order, also by messages alone */
static PetscErrorCode TestWidths(Problem *p)
{
  const PetscInt widths[] = {1, 300, 3, 17, 64, 2, 0, 16, 300, 1};
  Mat            A, B, C, D;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(widths); k++) {
    PetscCall(CreateB(p, widths[k], &B));
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(Check(p, C, 1, "any width"));
    PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_MPI));
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(CheckBits(C, D, "messages"));
    PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_AUTO));
    PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(CheckBits(C, D, "again"));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, another B, a new pattern, between products with one C */
static PetscErrorCode TestChanges(Problem *p)
{
  Mat A, B, X, C;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateB(p, 5, &B));
  PetscCall(CreateB(p, 5, &X));
  PetscCall(MatScale(X, 2));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(p, C, 1, "first"));
  p->values++;
  PetscCall(Fill(p, A));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(p, C, 1, "new values"));
  PetscCall(MatMatMult(A, X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(p, C, 2, "another B"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(p, C, 2, "scaled"));
  PetscCall(MatScale(A, 0));
  p->far++;
  PetscCall(Fill(p, A)); /* entries that are not there any more are zeros */
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(p, C, 1, "new pattern"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of two matrices, and two products of one, in turns */
static PetscErrorCode TestTurns(Problem *p)
{
  Problem q = *p;
  Mat     A, D, B, X, C[4];

  PetscFunctionBegin;
  q.values++;
  q.far += 2;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateA(&q, &D));
  PetscCall(CreateB(p, 4, &B));
  PetscCall(CreateB(p, 9, &X));
  for (int round = 0; round < 3; round++) {
    const MatReuse reuse = round ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;

    PetscCall(MatMatMult(A, B, reuse, PETSC_DETERMINE, &C[0]));
    PetscCall(MatMatMult(D, B, reuse, PETSC_DETERMINE, &C[1]));
    PetscCall(MatMatMult(A, X, reuse, PETSC_DETERMINE, &C[2]));
    PetscCall(MatMatMult(D, X, reuse, PETSC_DETERMINE, &C[3]));
  }
  for (int k = 0; k < 4; k++) {
    PetscCall(Check(k % 2 ? &q : p, C[k], 1, "in turns"));
    PetscCall(MatDestroy(&C[k]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B = A B of a matrix that is eternally symmetric, until that is not known any more. bound: on a device */
static PetscErrorCode TestSymmetric(Problem *p, PetscBool bound)
{
  Problem q = *p;
  Mat     A, B, C;

  PetscFunctionBegin;
  q.symmetric = PETSC_TRUE;
  PetscCall(CreateA(&q, &A));
  PetscCall(CreateB(&q, 7, &B));
  PetscCall(MatBindToCPU(A, bound));
  PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(&q, C, 1, "transposed"));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_FALSE));
  PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(&q, C, 1, "transposed, symmetric for now"));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_FALSE));
  PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Check(&q, C, 1, "transposed, symmetric as before"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B of any matrix, also by messages alone, and between products with A, which go the other way */
static PetscErrorCode TestTransposed(Problem *p)
{
  const PetscInt widths[] = {1, 40, 3, 0, 300, 16, 1};
  Mat            A, B, C, D, E;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(widths); k++) {
    PetscCall(CreateB(p, widths[k], &B));
    PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(CheckEither(p, PETSC_TRUE, C, 1, "sums"));
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &E));
    PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(CheckBits(C, D, "sums after a product"));
    PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_MPI));
    PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(CheckBits(C, D, "sums by messages"));
    PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &E));
    PetscCall(Check(p, E, 1, "after sums"));
    PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_AUTO));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
    PetscCall(MatDestroy(&E));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
/* A^T B of a matrix that is bound to the host is made there: the same bits every time */
static PetscErrorCode TestBound(Problem *p)
{
  Mat A, B, C, D;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateB(p, 16, &B));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  nvector = 0;
  PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(CheckEither(p, PETSC_TRUE, C, 1, "sums, bound"));
  PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(CheckBits(C, D, "sums, bound, once more"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(CheckEither(p, PETSC_TRUE, D, 2, "sums, bound, scaled"));
  if (nvector) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] sums, bound: %" PetscInt_FMT " products of cuSPARSE with one vector\n", rank, nvector));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* New values, another B, a new pattern, between transposed products with one C. They go both ways in turns */
static PetscErrorCode TestTransposedChanges(Problem *p)
{
  Mat A, B, X, C, D;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateB(p, 5, &B));
  PetscCall(CreateB(p, 5, &X));
  PetscCall(MatScale(X, 2));
  PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  for (int round = 0; round < 4; round++) {
    p->values++;
    if (round == 2) {
      p->far++;
      PetscCall(MatScale(A, 0)); /* entries that are not there any more are zeros */
    }
    PetscCall(Fill(p, A));
    PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(CheckEither(p, PETSC_TRUE, C, 1, "transposed, new values"));
    PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(Check(p, D, 1, "new values"));
    PetscCall(MatTransposeMatMult(A, X, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(CheckEither(p, PETSC_TRUE, C, 2, "transposed, another B"));
  }
  PetscCall(MatScale(A, 2));
  PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(CheckEither(p, PETSC_TRUE, C, 2, "transposed, scaled"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An interpolation P from a third as many points, and its P^T B: columns are owned otherwise than rows */
static PetscReal PEntry(PetscInt i, PetscInt j)
{
  return PetscAbsInt(i - 3 * j) <= 2 || (i + 2 * j) % 19 == 0 ? Real(i, j, 3) : 0;
}

static PetscErrorCode CheckRectangular(const Problem *p, PetscInt first, Mat C, const char what[])
{
  const PetscScalar *c;
  PetscInt           m, N, ld, wrong = 0;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(C, &m, NULL));
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ld));
  PetscCall(MatDenseGetArrayRead(C, &c));
  for (PetscInt j = 0; j < m; j++) {
    for (PetscInt n = 0; n < N; n++) {
      long double sum = 0, all = 0;

      for (PetscInt i = 0; i < p->n; i++) {
        const long double x = (long double)PEntry(i, first + j) * BEntry(i, n);

        sum += x;
        all += x < 0 ? -x : x;
      }
      wrong += !(PetscAbsReal((PetscReal)(PetscRealPart(c[j + n * ld]) - sum)) <= 20 * PETSC_MACHINE_EPSILON * (PetscReal)all);
    }
  }
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] %s, N = %" PetscInt_FMT ": %" PetscInt_FMT " entries are wrong\n", rank, what, N, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRectangular(Problem *p)
{
  const PetscInt ncols = p->n / 3 + 1, widths[] = {3, 33};
  PetscInt       mine = rank == size - 1 ? ncols - (size - 1) * (ncols / (2 * size)) : ncols / (2 * size), first;
  Mat            P, B, C, D;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &P));
  PetscCall(MatSetSizes(P, p->m, mine, p->n, ncols));
  PetscCall(MatSetType(P, MATMPIAIJTCU));
  PetscCall(MatSetFromOptions(P));
  PetscCall(MatSetUp(P));
  PetscCall(MatSetOption(P, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = p->first; i < p->first + p->m; i++) {
    for (PetscInt j = 0; j < ncols; j++) {
      if (PEntry(i, j) != 0) PetscCall(MatSetValue(P, i, j, PEntry(i, j), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetOwnershipRangeColumn(P, &first, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(widths); k++) {
    PetscCall(CreateB(p, widths[k], &B));
    PetscCall(MatTransposeMatMult(P, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(CheckRectangular(p, first, C, "P^T B"));
    PetscCall(MatAIJTCUSetHalo(P, MAT_AIJTCU_HALO_MPI));
    PetscCall(MatTransposeMatMult(P, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(CheckBits(C, D, "P^T B another way"));
    PetscCall(MatAIJTCUSetHalo(P, MAT_AIJTCU_HALO_AUTO));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that are written when a product was made after their array was asked for: A has no new state */
static PetscErrorCode TestQuietValues(Problem *p, PetscBool transposed)
{
  Mat          A, blocks[2], B, C;
  PetscScalar *a[2];
  VecType      vectype;
  PetscBool    host;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(PetscStrcmp(vectype, VECSTANDARD, &host));
  if (host && !transposed) { /* nothing tells bricks of the host of such values */
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CreateB(p, 4, &B));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int k = 0; k < 2; k++) {
    const PetscScalar *brought;

    PetscCall(MatSeqAIJGetArrayRead(blocks[k], &brought));
    PetscCall(MatSeqAIJRestoreArrayRead(blocks[k], &brought));
    PetscCall(MatSeqAIJGetArrayWrite(blocks[k], &a[k]));
  }
  if (transposed) PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  else PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  for (int k = 0; k < 2; k++) {
    MatInfo info;

    PetscCall(MatGetInfo(blocks[k], MAT_LOCAL, &info));
    for (PetscInt i = 0; i < (PetscInt)info.nz_used; i++) a[k][i] *= 2;
    PetscCall(MatSeqAIJRestoreArrayWrite(blocks[k], &a[k]));
  }
  if (transposed) PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  else PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(CheckEither(p, transposed, C, 2, transposed ? "transposed, values without a new state" : "values without a new state"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NCCL gives the same bits, or an error that says what is missing; other ways then go on */
static PetscErrorCode TestNccl(Problem *p)
{
  Mat            A, B, C, D;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateB(p, 7, &B));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_NCCL));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C);
  PetscCall(PetscPopErrorHandler());
  if (!ierr) PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  else if (ierr != PETSC_ERR_SUP && ierr != PETSC_ERR_SUP_SYS) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] NCCL: error %d\n", rank, (int)ierr));
  else {
    PetscCall(MatAIJTCUSetHalo(A, MAT_AIJTCU_HALO_AUTO));
    PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  }
  PetscCall(PetscInfo(A, "NCCL is %s\n", ierr ? "refused" : "tried"));
  PetscCall(Check(p, C, 1, "NCCL"));
  PetscCall(CheckEither(p, PETSC_TRUE, D, 1, "sums by NCCL"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of B that others own and entries of this process need */
static PetscInt Ghosts(const Problem *p)
{
  PetscInt n = 0;

  for (PetscInt j = 0; j < p->n; j++) {
    PetscBool needed = PETSC_FALSE;

    for (PetscInt i = p->first; i < p->first + p->m && !IsMine(p, j); i++) needed = (PetscBool)(needed || HasEntry(p, i, j));
    n += needed;
  }
  return n;
}

/* The life of a product, except that C stays. What it sends must be the ghosts, from the same memory each time */
static PetscErrorCode TestCounts(Problem *p)
{
  const PetscInt widths[] = {12, 1, 12, 5, 1, 12, 8}; /* the first two make what a pattern needs */
  const void    *from     = NULL;
  PetscInt64     ghosts;
  Mat            A, B, C;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  ghosts = Ghosts(p);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ghosts, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(widths); k++) {
    const PetscScalar *b;
    PetscInt64         sent;

    PetscCall(CreateB(p, widths[k], &B));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
    PetscCall(MatZeroEntries(C)); /* both have their memory, and B its values, where they are needed */
    PetscCall(MatDenseGetArrayReadAndMemType(B, &b, NULL));
    PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
    bytes    = 0;
    nmade    = 0;
    lowest   = NULL;
    counting = (PetscBool)(k > 1);
    PetscCall(MatProductCreateWithMat(A, B, NULL, C));
    PetscCall(MatProductSetType(C, MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    PetscCall(MatProductNumeric(C));
    PetscCall(MatProductClear(C));
    counting = PETSC_FALSE;
    PetscCall(Check(p, C, 1, "counted"));
    if (nmade) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] N = %" PetscInt_FMT ": %" PetscInt_FMT " PetscSF, communicators, types, events or allocations were made, the first by %s()\n", rank, widths[k], nmade, made));
    if (from && lowest != from) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] N = %" PetscInt_FMT ": the buffer is another one\n", rank, widths[k]));
    from = lowest;
    PetscCallMPI(MPIU_Allreduce(&bytes, &sent, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
    if (k > 1 && sent != ghosts * widths[k] * (PetscInt64)sizeof(PetscScalar)) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "N = %" PetscInt_FMT ": %" PetscInt64_FMT " bytes were sent for %" PetscInt64_FMT " ghosts\n", widths[k], sent, ghosts));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   p      = {.n = 61, .far = 20};
  PetscBool counts = PETSC_FALSE;
#if PetscDefined(HAVE_CUDA)
  PetscBool failing = PETSC_FALSE;
#endif

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-shape", Shapes, (PetscEnum *)&p.shape, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p.n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-counts", &counts, NULL));
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-refuse", &refuse, NULL));
  refuse = (PetscBool)(refuse && rank == 1);
#endif
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", dense_type, sizeof(dense_type), NULL));
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fail", &failing, NULL));
  if (failing) {
    PetscCall(TestFailure(&p));
    PetscCall(PetscFinalize());
    return 0;
  }
#endif
  if (counts) {
    if (!PETSC_VERSION_LT(3, 26, 0)) PetscCall(TestCounts(&p));
  } else {
    PetscCall(TestWidths(&p));
    PetscCall(TestTurns(&p));
    for (int bound = 0; bound < 2; bound++) {
      if (p.shape != SHAPE_ORDER && p.shape != SHAPE_HALF) PetscCall(TestSymmetric(&p, (PetscBool)bound));
    }
    PetscCall(TestChanges(&p));
    PetscCall(TestTransposed(&p));
#if PetscDefined(HAVE_CUDA)
    PetscCall(TestBound(&p));
#endif
    PetscCall(TestTransposedChanges(&p));
    PetscCall(TestRectangular(&p));
    for (int transposed = 0; transposed < 2; transposed++) PetscCall(TestQuietValues(&p, (PetscBool)transposed));
    PetscCall(TestNccl(&p));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: !complex
    output_file: output/empty.out

    test:
      suffix: 1
      nsize: {{1 2 3 4}}
      args: -shape {{even norows one diagonal half ghosts order}}

    test:
      suffix: bricks
      nsize: 3
      args: -shape {{even ghosts}} -mat_aijtcu_path tcu

    test: # the parent's products. On a device it makes sums with A^T by atomics: other bits each time
      suffix: parent
      env: CUDA_VISIBLE_DEVICES=-1
      nsize: {{2 3}}
      args: -shape {{even half ghosts}} -mat_aijtcu_path cusparse

    test:
      suffix: many
      nsize: 16
      args: -shape {{norows ghosts}} -n 40

    test:
      suffix: counts
      nsize: 3
      args: -counts -shape {{even norows ghosts order}}

    test:
      suffix: cuda
      requires: cuda
      nsize: {{2 3}}
      args: -use_gpu_aware_mpi 0 -shape {{even norows one diagonal half ghosts order}}

    test:
      suffix: cuda_bricks
      requires: cuda
      nsize: 2
      args: -use_gpu_aware_mpi 0 -shape {{even ghosts}} -mat_aijtcu_path tcu -mat_aijtcu_reorder {{never always}}

    test:
      suffix: cuda_host
      requires: cuda
      nsize: 2
      args: -use_gpu_aware_mpi 0 -shape ghosts -dense_type mpidense

    test:
      suffix: cuda_refuse
      requires: cuda
      nsize: 3
      args: -use_gpu_aware_mpi 0 -shape {{even ghosts}} -refuse

    test: # without shared memory nobody is lent any
      suffix: cuda_fail
      requires: cuda defined(PETSC_HAVE_MPI_PROCESS_SHARED_MEMORY)
      nsize: {{2 3}}
      args: -use_gpu_aware_mpi 0 -shape even -fail

    test:
      suffix: cuda_pieces
      requires: cuda
      nsize: 2
      args: -use_gpu_aware_mpi 0 -shape ghosts -n 200 -mat_aijtcu_workspace_max 0.016

    test:
      suffix: cuda_counts
      requires: cuda
      nsize: 3
      args: -use_gpu_aware_mpi 0 -counts -shape {{even norows ghosts order}} -mat_aijtcu_halo {{auto mpi}}

TEST*/
