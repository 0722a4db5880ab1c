/*
   Vectors of a Rayleigh-Ritz method: block.h. On the host the BLAS works with them, on a device cuBLAS and
   kernels/block/.

   On a device all work goes to PETSc's stream. Small matrices go there, and numbers come from there, through
   page-locked memory. A call that brings numbers waits for them, and no other call waits.

   Columns of A S lie between those of B S, or of S where there is no B S: each behind its own. So both are dense
   matrices with a leading dimension of two columns, and also one with twice as many columns. Products of vectors with
   both are one product, which reads the vectors once.

   Each process works out small matrices for itself, from sums that all have. What it computes must have the bits of all
   others: a vector whose parts were combined with other numbers is none. So sums carry a hash of what went to kernels.
*/
#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK
  #include <petscblaslapack.h>
  #if AIJTCU_HAVE_DEVICE
    #include "../../kernels/block/eigen.h"
    #include "cudascalar.h"
  #endif

enum {
  SEAL      = 2,                                     /* sums of hashes, and of their squares */
  SEAL_BITS = PetscDefined(USE_REAL_SINGLE) ? 4 : 16 /* of a hash: sums are exact with many processes */
};

struct _n_AIJTCUBasis {
  MPI_Comm    comm;
  PetscMPIInt nranks;
  PetscBool   device;
  PetscInt    n, N;                    /* rows of this process, of all processes */
  PetscInt    column;                  /* from a column to what lies behind it */
  PetscInt    ld[AIJTCU_BASIS_ARRAYS]; /* from a column to the next one of its array */
  int         inner;                   /* the array that A S lies in */

  PetscScalar *array[AIJTCU_BASIS_ARRAYS];
  PetscScalar *memory; /* all arrays, one behind the other */
  PetscInt     nnumbers;
  PetscScalar *in, *out; /* numbers on the host: what comes from sums, and SEAL more; what goes to kernels */
  uint64_t     sent;     /* a hash of all that went to kernels */
  #if AIJTCU_HAVE_DEVICE
  PetscScalar *din, *dout; /* the same on the device */
  cudaEvent_t  came, went;
  #endif
};

PetscErrorCode AIJTCUBasisTakes(Mat A, PetscBool *ours, PetscBool *device)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  *device = PETSC_FALSE;
  PetscCall(AIJTCUGetPlan(A, &plan));
  *ours = (PetscBool)(plan != NULL);
  if (plan) PetscCall(AIJTCUOnDevice(A, plan, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUBasisMallocOnStream(AIJTCUBasis b, size_t bytes, cudaStream_t stream, PetscBool *have)
{
  const size_t numbers = (size_t)b->nnumbers * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceMalloc(bytes + 2 * numbers, stream, (void **)&b->memory));
  if (b->memory) {
    PetscCallCUDA(cudaMemsetAsync(b->memory, 0, bytes, stream));
    b->din  = b->memory + bytes / sizeof(PetscScalar);
    b->dout = b->din + b->nnumbers;
    PetscCall(AIJTCUAllocated(cudaMallocHost((void **)&b->in, 2 * numbers + SEAL * sizeof(PetscScalar)), (void **)&b->in));
  }
  *have = (PetscBool)(b->memory && b->in);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  b->out = b->in + b->nnumbers + SEAL;
  PetscCallCUDA(cudaEventCreateWithFlags(&b->came, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventCreateWithFlags(&b->went, cudaEventDisableTiming));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors are not reported: nobody needs it any more */
static void AIJTCUBasisLeaveDevice(AIJTCUBasis b)
{
  if (b->went) {
    (void)AIJTCUForgetError(cudaEventSynchronize(b->went));
    (void)AIJTCUForgetError(cudaEventDestroy(b->went));
  }
  if (b->came) {
    (void)AIJTCUForgetError(cudaEventSynchronize(b->came));
    (void)AIJTCUForgetError(cudaEventDestroy(b->came));
  }
  if (b->in) (void)AIJTCUForgetError(cudaFreeHost(b->in));
  if (b->memory) (void)AIJTCUForgetError(cudaFreeAsync(b->memory, AIJTCUDeviceStreamBehind()));
  AIJTCUWorkspaceUser(PETSC_FALSE);
}
  #endif

static PetscErrorCode AIJTCUBasisMalloc(AIJTCUBasis b, size_t bytes, PetscBool *have)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    cudaStream_t stream = NULL;

    AIJTCUWorkspaceUser(PETSC_TRUE);
    AIJTCUCallOnStream(stream, AIJTCUBasisMallocOnStream(b, bytes, stream, have));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PetscMalloc(bytes + sizeof(PetscScalar), &b->memory);
  PetscCall(PetscPopErrorHandler());
  *have = (PetscBool)!ierr;
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(b->memory, bytes));
  PetscCall(PetscMalloc1(b->nnumbers + SEAL, &b->in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisCreate(Mat A, const PetscInt columns[AIJTCU_BASIS_ARRAYS], PetscInt nnumbers, AIJTCUBasis *basis)
{
  AIJTCUBasis  b;
  PetscScalar *next;
  PetscInt     all = 0;
  PetscBool    ours, have;

  PetscFunctionBegin;
  PetscCall(PetscNew(basis));
  b = *basis;
  PetscCall(PetscCommDuplicate(PetscObjectComm((PetscObject)A), &b->comm, NULL));
  PetscCallMPI(MPI_Comm_size(b->comm, &b->nranks));
  PetscCall(AIJTCUBasisTakes(A, &ours, &b->device));
  PetscCall(MatGetLocalSize(A, &b->n, NULL));
  PetscCall(MatGetSize(A, &b->N, NULL));
  b->column   = (PetscMax(b->n, 1) + 1) / 2 * 2; /* columns begin at 16 bytes */
  b->inner    = columns[AIJTCU_BASIS_BS] ? AIJTCU_BASIS_BS : AIJTCU_BASIS_S;
  b->nnumbers = nnumbers;
  for (int i = 0; i < AIJTCU_BASIS_ARRAYS; i++) all += columns[i];
  PetscCall(AIJTCUBasisMalloc(b, (size_t)b->column * (size_t)all * sizeof(PetscScalar), &have));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &have, 1, MPI_C_BOOL, MPI_LAND, b->comm));
  if (!have) {
    PetscCall(AIJTCUBasisDestroy(basis));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  next = b->memory;
  for (int i = 0; i < AIJTCU_BASIS_ARRAYS; i++) {
    b->ld[i]    = b->column * (i == b->inner || i == AIJTCU_BASIS_AS ? 2 : 1);
    b->array[i] = next;
    if (i != AIJTCU_BASIS_AS) next += (size_t)b->ld[i] * (size_t)columns[i];
  }
  b->array[AIJTCU_BASIS_AS] = b->array[b->inner] + b->column;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisDestroy(AIJTCUBasis *basis)
{
  AIJTCUBasis b = *basis;

  PetscFunctionBegin;
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    AIJTCUBasisLeaveDevice(b);
    b->in = b->memory = NULL;
  }
  #endif
  PetscCall(PetscFree(b->in));
  PetscCall(PetscFree(b->memory));
  PetscCall(PetscCommDestroy(&b->comm));
  PetscCall(PetscFree(*basis));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar *AIJTCUBasisAt(AIJTCUBasis b, AIJTCUBasisPart p)
{
  return b->array[p.array] + (size_t)b->ld[p.array] * (size_t)p.first;
}

PetscErrorCode AIJTCUBasisMat(AIJTCUBasis b, AIJTCUBasisPart p, Mat *M)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (b->device) PetscCall(MatCreateDenseCUDA(b->comm, b->n, PETSC_DECIDE, b->N, p.n, AIJTCUBasisAt(b, p), M));
  else
  #endif
    PetscCall(MatCreateDense(b->comm, b->n, PETSC_DECIDE, b->N, p.n, AIJTCUBasisAt(b, p), M));
  PetscCall(MatDenseSetLDA(*M, b->ld[p.array]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisRead(Mat M)
{
  const PetscScalar *a;
  PetscMemType       mem;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayReadAndMemType(M, &a, &mem));
  PetscCall(MatDenseRestoreArrayReadAndMemType(M, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisWritten(Mat M)
{
  PetscScalar *a;
  PetscMemType mem;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayWriteAndMemType(M, &a, &mem));
  PetscCall(MatDenseRestoreArrayWriteAndMemType(M, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUBasisGemmOnDevice(PetscBool transpose, PetscBLASInt m, PetscBLASInt n, PetscBLASInt k, const PetscScalar *A, PetscBLASInt lda, const PetscScalar *B, PetscBLASInt ldb, PetscScalar beta, PetscScalar *C, PetscBLASInt ldc)
{
  const PetscScalar       one = 1;
  const cublasOperation_t op  = !transpose ? CUBLAS_OP_N : PetscDefined(USE_COMPLEX) ? CUBLAS_OP_C : CUBLAS_OP_T;
  cublasHandle_t          handle;

  PetscFunctionBegin;
  PetscCall(PetscCUBLASGetHandle(&handle)); /* with the stream that this is called on */
  PetscCall(PetscLogGpuTimeBegin());
  PetscCallCUBLAS(AIJTCU_GEMM(handle, op, CUBLAS_OP_N, (int)m, (int)n, (int)k, (const AIJTCUCudaScalar *)&one, (const AIJTCUCudaScalar *)A, (int)lda, (const AIJTCUCudaScalar *)B, (int)ldb, (const AIJTCUCudaScalar *)&beta, (AIJTCUCudaScalar *)C, (int)ldc));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/*
   C = A B + beta C, or with the transpose of A, conjugated where numbers are complex. Of A, B and C there are m, n
   columns, and k rows or columns that are summed over
*/
static PetscErrorCode AIJTCUBasisGemm(AIJTCUBasis b, PetscBool transpose, const PetscInt mnk[3], const PetscScalar *A, PetscInt lda, const PetscScalar *B, PetscInt ldb, PetscScalar beta, PetscScalar *C, PetscInt ldc)
{
  const PetscScalar one = 1;
  PetscBLASInt      m, n, k, la, lb, lc;

  PetscFunctionBegin;
  if (!mnk[0] || !mnk[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(mnk[0], &m));
  PetscCall(PetscBLASIntCast(mnk[1], &n));
  PetscCall(PetscBLASIntCast(mnk[2], &k));
  PetscCall(PetscBLASIntCast(lda, &la));
  PetscCall(PetscBLASIntCast(ldb, &lb));
  PetscCall(PetscBLASIntCast(ldc, &lc));
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    cudaStream_t stream = NULL;

    AIJTCUCallOnStream(stream, AIJTCUBasisGemmOnDevice(transpose, m, n, k, A, la, B, lb, beta, C, lc));
    PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)m * (PetscLogDouble)n * (PetscLogDouble)k));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  (void)b;
  PetscCallBLAS("BLASgemm", BLASgemm_(!transpose ? "N" : PetscDefined(USE_COMPLEX) ? "C" : "T", "N", &m, &n, &k, &one, A, &la, B, &lb, &beta, C, &lc));
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)m * (PetscLogDouble)n * (PetscLogDouble)k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where kernels leave numbers that come to the host */
static PetscScalar *AIJTCUBasisIn(AIJTCUBasis b)
{
  #if AIJTCU_HAVE_DEVICE
  if (b->device) return b->din;
  #endif
  return b->in;
}

static uint64_t AIJTCUBasisHash(uint64_t hash, const PetscScalar *numbers, PetscInt n)
{
  const PetscReal *parts = (const PetscReal *)numbers;

  for (PetscInt i = 0; i < n * (PetscDefined(USE_COMPLEX) ? 2 : 1); i++) {
    uint64_t bits = 0;

    memcpy(&bits, &parts[i], sizeof(parts[i]));
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

/* Sums of all processes, on the host. All hashes are equal where their squares add up to the least they can */
static PetscErrorCode AIJTCUBasisBring(AIJTCUBasis b, PetscInt n)
{
  const uint64_t hash = b->sent & ((1 << SEAL_BITS) - 1);
  uint64_t       sum, squares;
  PetscMPIInt    count;

  PetscFunctionBegin;
  PetscCheck(n <= b->nnumbers, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " numbers from a basis that has room for %" PetscInt_FMT, n, b->nnumbers);
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    cudaStream_t stream = NULL;

    PetscCall(AIJTCUDeviceBegin(&stream));
    PetscCallCUDA(cudaMemcpyAsync(b->in, b->din, (size_t)n * sizeof(*b->in), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaEventRecord(b->came, stream));
    PetscCall(AIJTCUDeviceEnd(stream));
    PetscCallCUDA(cudaEventSynchronize(b->came));
    PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)((size_t)n * sizeof(*b->in))));
  }
  #endif
  if (b->nranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  b->in[n]     = (PetscReal)hash;
  b->in[n + 1] = (PetscReal)(hash * hash);
  PetscCall(PetscMPIIntCast(n + SEAL, &count));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, b->in, count, MPIU_SCALAR, MPIU_SUM, b->comm));
  sum     = (uint64_t)PetscRealPart(b->in[n]);
  squares = (uint64_t)PetscRealPart(b->in[n + 1]);
  PetscCheck(sum * sum == (uint64_t)b->nranks * squares, b->comm, PETSC_ERR_LIB, "Processes computed different numbers from equal sums: their BLAS, or their GPUs, are not alike. Use -eps_aijtcu_lobpcg off -ds_parallel synchronized");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of the host where kernels read them */
static PetscErrorCode AIJTCUBasisSend(AIJTCUBasis b, const PetscScalar *numbers, PetscInt n, const PetscScalar **at)
{
  PetscFunctionBegin;
  *at = numbers;
  if (b->nranks > 1) b->sent = AIJTCUBasisHash(b->sent, numbers, n);
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    cudaStream_t stream = NULL;

    PetscCheck(n <= b->nnumbers, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " numbers to a basis that has room for %" PetscInt_FMT, n, b->nnumbers);
    PetscCallCUDA(cudaEventSynchronize(b->went)); /* the last ones have left the host */
    PetscCall(PetscArraycpy(b->out, numbers, n));
    PetscCall(AIJTCUDeviceBegin(&stream));
    PetscCallCUDA(cudaMemcpyAsync(b->dout, b->out, (size_t)n * sizeof(*b->out), cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaEventRecord(b->went, stream));
    PetscCall(AIJTCUDeviceEnd(stream));
    PetscCall(PetscLogCpuToGpuScalar((PetscLogDouble)((size_t)n * sizeof(*b->out))));
    *at = b->dout;
  }
  #endif
  (void)b;
  (void)n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisProducts(AIJTCUBasis b, AIJTCUBasisPart X, AIJTCUBasisPart Y, PetscBool both, const PetscScalar *products[])
{
  const PetscInt n = Y.n * (both ? 2 : 1), numbers = X.n * n;
  const PetscInt ld = both ? b->column : b->ld[Y.array];

  PetscFunctionBegin;
  PetscCheck(numbers <= b->nnumbers, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Products of a basis that has room for %" PetscInt_FMT " numbers", b->nnumbers);
  PetscCheck(!both || Y.array == b->inner, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Array %d of a basis has no other beside it", Y.array);
  if (b->n) PetscCall(AIJTCUBasisGemm(b, PETSC_TRUE, (PetscInt[]){X.n, n, b->n}, AIJTCUBasisAt(b, X), b->ld[X.array], AIJTCUBasisAt(b, Y), ld, 0, AIJTCUBasisIn(b), X.n));
  else { /* a BLAS need not take matrices without rows */
  #if AIJTCU_HAVE_DEVICE
    if (b->device) PetscCallCUDA(cudaMemset(b->din, 0, (size_t)numbers * sizeof(*b->din)));
    else
  #endif
      PetscCall(PetscArrayzero(b->in, numbers));
  }
  PetscCall(AIJTCUBasisBring(b, numbers));
  *products = b->in;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisCombine(AIJTCUBasis b, PetscInt n, const AIJTCUBasisPart X[], const PetscScalar *K, PetscBool add, const AIJTCUBasisPart Y[])
{
  const PetscScalar *at;

  PetscFunctionBegin;
  if (!n || !X[0].n || !Y[0].n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBasisSend(b, K, X[0].n * Y[0].n, &at));
  for (PetscInt i = 0; i < n && b->n; i++) PetscCall(AIJTCUBasisGemm(b, PETSC_FALSE, (PetscInt[]){b->n, Y[i].n, X[i].n}, AIJTCUBasisAt(b, X[i]), b->ld[X[i].array], at, X[i].n, add ? 1 : 0, AIJTCUBasisAt(b, Y[i]), b->ld[Y[i].array]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCUBasisRunResidual(AIJTCUBasis b, const BlockShape *s, AIJTCUBasisPart Y, const PetscScalar *a, AIJTCUBasisPart X, AIJTCUBasisPart R)
{
  const BlockOps *ops = &BlockOpsHost;

  #if AIJTCU_HAVE_DEVICE
  if (b->device) ops = &BlockOpsDevice;
  #endif
  return (*ops->residual)(s, (BlockIn){AIJTCUBasisAt(b, Y), b->ld[Y.array]}, a, (BlockIn){AIJTCUBasisAt(b, X), b->ld[X.array]}, (BlockOut){AIJTCUBasisAt(b, R), b->ld[R.array]}, AIJTCUBasisIn(b));
}

  #if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUBasisResidualOnStream(AIJTCUBasis b, BlockShape *s, AIJTCUBasisPart Y, const PetscScalar *a, AIJTCUBasisPart X, AIJTCUBasisPart R, HrpbError *err)
{
  const size_t bytes = (*BlockOpsDevice.work)(s->n, s->N, 1);

  PetscFunctionBegin;
  if (bytes) {
    PetscCall(AIJTCUWorkspaceGet(bytes, s->stream, &s->work));
    PetscCheck(s->work, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory on the device for %zu bytes of sums", bytes);
  }
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, AIJTCUBasisRunResidual(b, s, Y, a, X, R));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

PetscErrorCode AIJTCUBasisResidual(AIJTCUBasis b, AIJTCUBasisPart Y, const PetscScalar a[], AIJTCUBasisPart X, AIJTCUBasisPart R, const PetscScalar *squares[])
{
  BlockShape         s   = {.n = b->n, .N = R.n};
  HrpbError          err = HRPB_SUCCESS;
  const PetscScalar *at;

  PetscFunctionBegin;
  PetscCall(AIJTCUBasisSend(b, a, R.n, &at));
  #if AIJTCU_HAVE_DEVICE
  if (b->device) AIJTCUCallOnStream(s.stream, AIJTCUBasisResidualOnStream(b, &s, Y, at, X, R, &err));
  else
  #endif
    err = AIJTCUBasisRunResidual(b, &s, Y, at, X, R);
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_LIB, "Residuals of a basis failed: %s", HrpbErrorString(err));
  PetscCall(AIJTCUBasisBring(b, R.n));
  *squares = b->in;
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
    #if !PetscDefined(USE_COMPLEX)
/*
   The matrix, which comes from b->out, its vectors and values, and what a kernel works with are in the workspace of all
   plans. To b->in go so many columns of vectors, so many values, and, as a number, whether it is solved
*/
static PetscErrorCode AIJTCUBasisEigenByKernel(AIJTCUBasis b, PetscInt n, PetscInt nvectors, cudaStream_t stream, PetscBool *solved)
{
  const size_t work = BlockEigenWork((int32_t)n), count = (size_t)n * (size_t)n, results = (size_t)nvectors * (size_t)(n + 1) + 1;
  HrpbError    err = HRPB_SUCCESS;
  void        *memory;
  BlockEigen   e;

  PetscFunctionBegin;
  PetscCall(AIJTCUWorkspaceGet(work + (count + results) * sizeof(PetscScalar), stream, &memory));
  if (!memory) PetscFunctionReturn(PETSC_SUCCESS);
  e        = (BlockEigen){.n = (int32_t)n, .k = (int32_t)nvectors, .A = (PetscScalar *)((char *)memory + work), .work = memory};
  e.Z      = (PetscScalar *)e.A + count;
  e.values = e.Z + n * nvectors;
  e.good   = e.values + nvectors;
  PetscCallCUDA(cudaMemcpyAsync((PetscScalar *)e.A, b->out, count * sizeof(PetscScalar), cudaMemcpyHostToDevice, stream));
  AIJTCUCallDevice(err, BlockEigenvectors(&e, stream));
  if (err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(b->in, e.Z, results * sizeof(PetscScalar), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *solved = (PetscBool)(b->in[results - 1] == 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}
    #endif

static PetscErrorCode AIJTCUBasisEigenByLibrary(AIJTCUBasis b, PetscInt n, PetscInt nvectors, cudaStream_t stream, PetscBool *solved)
{
  cusolverDnHandle_t handle;
  PetscScalar       *A, *work;
  PetscReal         *values;
  const size_t       count = (size_t)n * (size_t)n + 2 * (size_t)n;
  int                lwork, info = 0;
  void              *memory;

  PetscFunctionBegin;
  PetscCall(PetscCUSOLVERDnGetHandle(&handle));
  PetscCallCUSOLVER(AIJTCU_EIGEN_BYTES(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, (int)n, NULL, (int)n, NULL, &lwork));
  PetscCall(AIJTCUWorkspaceGet((count + (size_t)lwork) * sizeof(PetscScalar), stream, &memory));
  if (!memory) PetscFunctionReturn(PETSC_SUCCESS);
  A      = (PetscScalar *)memory;
  values = (PetscReal *)(A + n * n);
  work   = A + n * n + 2 * n; /* behind info */
  PetscCallCUDA(cudaMemcpyAsync(A, b->out, (size_t)n * (size_t)n * sizeof(*A), cudaMemcpyHostToDevice, stream));
  PetscCallCUSOLVER(AIJTCU_EIGEN(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, (int)n, (AIJTCUCudaScalar *)A, (int)n, values, (AIJTCUCudaScalar *)work, lwork, (int *)(values + n)));
  PetscCallCUDA(cudaMemcpyAsync(b->in, A, (size_t)n * (size_t)nvectors * sizeof(*A), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(b->in + n * nvectors, values, (size_t)nvectors * sizeof(*values), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(b->in + (n + 1) * nvectors, values + n, sizeof(*values), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscMemcpy(&info, b->in + (n + 1) * nvectors, sizeof(info)));
  *solved = (PetscBool)!info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBasisEigenOnStream(AIJTCUBasis b, PetscInt n, PetscInt nvectors, cudaStream_t stream, PetscBool *solved)
{
  enum {
    LARGE = 128 /* rows for which cuSOLVER is faster than the host, where the kernel has no room */
  };

  PetscFunctionBegin;
    #if !PetscDefined(USE_COMPLEX)
  PetscCall(AIJTCUBasisEigenByKernel(b, n, nvectors, stream, solved));
    #endif
  if (!*solved && n >= LARGE) PetscCall(AIJTCUBasisEigenByLibrary(b, n, nvectors, stream, solved));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

PetscErrorCode AIJTCUBasisEigen(AIJTCUBasis b, PetscInt n, PetscScalar *A, PetscInt nvectors, PetscReal *values, PetscBool *solved)
{
  enum {
    LEAST = 64 /* rows for which the device is faster */
  };

  PetscFunctionBegin;
  *solved = PETSC_FALSE;
  if (!b->device || n < LEAST) PetscFunctionReturn(PETSC_SUCCESS);
  #if AIJTCU_HAVE_DEVICE
  {
    cudaStream_t stream = NULL;

    PetscCheck(n * n <= b->nnumbers && (n + 1) * nvectors + 1 <= b->nnumbers, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " rows of an eigenproblem in a basis that has room for %" PetscInt_FMT " numbers", n, b->nnumbers);
    PetscCallCUDA(cudaEventSynchronize(b->went));
    PetscCall(PetscArraycpy(b->out, A, n * n));
    AIJTCUCallOnStream(stream, AIJTCUBasisEigenOnStream(b, n, nvectors, stream, solved));
    if (*solved) {
      PetscCall(PetscArraycpy(A, b->in, n * nvectors));
      PetscCall(PetscArraycpy(values, (const PetscReal *)(b->in + n * nvectors), nvectors));
    }
  }
  #endif
  (void)A;
  (void)nvectors;
  (void)values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCUBasisRunCopy(AIJTCUBasis b, const BlockShape *s, const AIJTCUBasisPart *X, AIJTCUBasisPart Y)
{
  const BlockOps *ops = &BlockOpsHost;
  const BlockOut  y   = {AIJTCUBasisAt(b, Y), b->ld[Y.array]};

  #if AIJTCU_HAVE_DEVICE
  if (b->device) ops = &BlockOpsDevice;
  #endif
  return X ? (*ops->copy)(s, (BlockIn){AIJTCUBasisAt(b, *X), b->ld[X->array]}, y) : (*ops->zero)(s, y);
}

  #if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUBasisCopyOnStream(AIJTCUBasis b, const BlockShape *s, const AIJTCUBasisPart *X, AIJTCUBasisPart Y, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, AIJTCUBasisRunCopy(b, s, X, Y));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Copy columns, or zero them where X is NULL. CUDA's copies take twice as long where columns lie apart */
static PetscErrorCode AIJTCUBasisCopyOrZero(AIJTCUBasis b, const AIJTCUBasisPart *X, AIJTCUBasisPart Y)
{
  BlockShape s   = {.n = b->n, .N = Y.n};
  HrpbError  err = HRPB_SUCCESS;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (b->device) AIJTCUCallOnStream(s.stream, AIJTCUBasisCopyOnStream(b, &s, X, Y, &err));
  else
  #endif
    err = AIJTCUBasisRunCopy(b, &s, X, Y);
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_LIB, "Copying columns of a basis failed: %s", HrpbErrorString(err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisCopy(AIJTCUBasis b, AIJTCUBasisPart X, AIJTCUBasisPart Y)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBasisCopyOrZero(b, &X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisZero(AIJTCUBasis b, AIJTCUBasisPart X)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBasisCopyOrZero(b, NULL, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy the rows of a column from or to a vector, which may be one of the host */
static PetscErrorCode AIJTCUBasisMove(AIJTCUBasis b, const PetscScalar *from, PetscScalar *to)
{
  const size_t bytes = (size_t)b->n * sizeof(PetscScalar);

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    cudaStream_t stream = NULL;

    PetscCall(AIJTCUDeviceBegin(&stream));
    PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    PetscCall(AIJTCUDeviceEnd(stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCall(PetscMemcpy(to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisSetColumn(AIJTCUBasis b, int array, PetscInt column, Vec v)
{
  PetscScalar *const at = AIJTCUBasisAt(b, (AIJTCUBasisPart){array, column, 1});
  const PetscScalar *a;
  PetscMemType       mem;

  PetscFunctionBegin;
  if (b->device) PetscCall(VecGetArrayReadAndMemType(v, &a, &mem));
  else PetscCall(VecGetArrayRead(v, &a));
  PetscCall(AIJTCUBasisMove(b, a, at));
  if (b->device) PetscCall(VecRestoreArrayReadAndMemType(v, &a));
  else PetscCall(VecRestoreArrayRead(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBasisGetColumn(AIJTCUBasis b, int array, PetscInt column, Vec v)
{
  const PetscScalar *const at = AIJTCUBasisAt(b, (AIJTCUBasisPart){array, column, 1});
  PetscScalar             *a;
  PetscMemType             mem;

  PetscFunctionBegin;
  if (b->device) PetscCall(VecGetArrayWriteAndMemType(v, &a, &mem));
  else PetscCall(VecGetArrayWrite(v, &a));
  PetscCall(AIJTCUBasisMove(b, at, a));
  if (b->device) PetscCall(VecRestoreArrayWriteAndMemType(v, &a));
  else PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
