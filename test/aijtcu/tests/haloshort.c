static char help[] = "Products A B and A^T B of a parallel MATAIJTCU where one process is short of memory or has an error,\n\
with sizes that do not fit, with operands that are bound to the host, and with an MPI that takes memory of the device.\n\
Prints on error only. -shape: how rows and entries are shared between processes.\n\
-dense_type: where dense matrices are; default: where A is.\n\
-aware: MPI takes memory of the device, by a stand-in for such an MPI.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include "haloproblem.h"
#include <petsc/private/petscimpl.h> /* use_gpu_aware_mpi */
#include "interpose.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

#undef MPI_Isend
#undef MPI_Irecv
#undef MPI_Wait
#undef MPI_Waitall

/* Memory: the library, and nobody else, gets no more than this at once */
static size_t   most = (size_t)-1;
static PetscInt nrefused, nsent;

static PetscBool IsLibrary(const void *caller)
{
  Dl_info info;

  return (PetscBool)(dladdr(caller, &info) && strstr(info.dli_fname, "libpetscaijtcu"));
}

static PetscBool Refuses(size_t n, const void *caller)
{
  if (n <= most || !IsLibrary(caller)) return PETSC_FALSE;
  nrefused++;
  return PETSC_TRUE;
}

PETSC_EXTERN void *malloc(size_t n)
{
  static void *(*next)(size_t);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "malloc");
  return Refuses(n, __builtin_return_address(0)) ? NULL : (*next)(n);
}

#if PetscDefined(HAVE_CUDA)
  #define LIMITED(name, parameters, arguments) \
    PETSC_EXTERN cudaError_t name parameters \
    { \
      static cudaError_t(*next) parameters; \
      if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
      return Refuses(n, __builtin_return_address(0)) ? cudaErrorMemoryAllocation : (*next)arguments; \
    }
LIMITED(cudaMalloc, (void **p, size_t n), (p, n))
LIMITED(cudaMallocHost, (void **p, size_t n), (p, n))
LIMITED(cudaMallocAsync, (void **p, size_t n, cudaStream_t s), (p, n, s))

/*
   -aware: what an MPI does that takes memory of the device. A message goes through memory of the host here, when MPI
   is called: what has not been waited for before is not in it
*/
typedef struct {
  MPI_Request request;
  void       *host, *device; /* device is NULL for what was sent */
  size_t      bytes;
} Message;
static Message  messages[1024];
static PetscInt naware;

static PetscBool OnDevice(const void *p)
{
  struct cudaPointerAttributes a;
  const PetscBool              is = (PetscBool)(p && cudaPointerGetAttributes(&a, p) == cudaSuccess && a.type == cudaMemoryTypeDevice);

  (void)cudaGetLastError();
  return is;
}

static Message *Keep(const void *device, int n, MPI_Datatype type)
{
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(messages); i++) {
    Message *m = &messages[i];
    int      size;

    if (m->host) continue;
    (void)MPI_Type_size(type, &size);
    m->bytes  = (size_t)n * (size_t)size;
    m->host   = calloc(m->bytes + 1, 1);
    m->device = (void *)device;
    naware++;
    return m;
  }
  abort();
}

static void Came(Message *m)
{
  if (m->device && cudaMemcpy(m->device, m->host, m->bytes, cudaMemcpyHostToDevice) != cudaSuccess) abort();
  free(m->host);
  m->host = NULL;
}

static Message *Find(MPI_Request request)
{
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(messages); i++) {
    if (messages[i].host && messages[i].request == request) return &messages[i];
  }
  return NULL;
}

PETSC_EXTERN int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r)
{
  static int (*next)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  Message *m;
  int      err;

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MPI_Irecv");
  if (!OnDevice(b)) return (*next)(b, n, t, from, tag, c, r);
  m          = Keep(b, n, t);
  err        = (*next)(m->host, n, t, from, tag, c, r);
  m->request = *r;
  return err;
}

PETSC_EXTERN int MPI_Wait(MPI_Request *r, MPI_Status *s)
{
  static int (*next)(MPI_Request *, MPI_Status *);
  Message *m = Find(*r);
  int      err;

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MPI_Wait");
  err = (*next)(r, s);
  if (m) Came(m);
  return err;
}

PETSC_EXTERN int MPI_Waitall(int n, MPI_Request *r, MPI_Status *s)
{
  for (int i = 0; i < n; i++) {
    const int err = MPI_Wait(&r[i], s == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &s[i]);

    if (err) return err;
  }
  return MPI_SUCCESS;
}
#endif

PETSC_EXTERN int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
  static int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MPI_Isend");
  nsent++;
#if PetscDefined(HAVE_CUDA)
  if (OnDevice(b)) {
    Message *m = Keep(b, n, t);
    int      err;

    if (cudaMemcpy(m->host, b, m->bytes, cudaMemcpyDeviceToHost) != cudaSuccess) abort();
    m->device  = NULL;
    err        = (*next)(m->host, n, t, to, tag, c, r);
    m->request = *r;
    return err;
  }
#endif
  return (*next)(b, n, t, to, tag, c, r);
}

/* What the library makes a transpose with. It can be made to fail on one process */
static PetscBool failing;

PETSC_EXTERN PetscErrorCode MatCreateSeqAIJWithArrays(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt i[], PetscInt j[],
  PetscScalar a[], Mat *A)
{
  static PetscErrorCode (*next)(MPI_Comm, PetscInt, PetscInt, PetscInt[], PetscInt[], PetscScalar[], Mat *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MatCreateSeqAIJWithArrays");
  return failing ? PETSC_ERR_USER : (*next)(comm, m, n, i, j, a, A);
}

/* What the library takes operands apart with. One of its calls can be made to fail */
static PetscInt ncalls, failing_call;

static PetscBool Fails(const void *caller)
{
  return (PetscBool)(IsLibrary(caller) && ++ncalls == failing_call);
}

PETSC_EXTERN PetscErrorCode MatDenseGetLocalMatrix(Mat A, Mat *B)
{
  static PetscErrorCode (*next)(Mat, Mat *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MatDenseGetLocalMatrix");
  return Fails(__builtin_return_address(0)) ? PETSC_ERR_USER : (*next)(A, B);
}

PETSC_EXTERN PetscErrorCode MatDenseGetSubMatrix(Mat A, PetscInt r0, PetscInt r1, PetscInt c0, PetscInt c1, Mat *B)
{
  static PetscErrorCode (*next)(Mat, PetscInt, PetscInt, PetscInt, PetscInt, Mat *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MatDenseGetSubMatrix");
  return Fails(__builtin_return_address(0)) ? PETSC_ERR_USER : (*next)(A, r0, r1, c0, c1, B);
}

/* C = A B or A^T B, set up anew */
static PetscErrorCode ProductOf(Mat A, PetscBool transposed, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  nsent = 0;
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductClear(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with a new matrix, whose halo has nothing yet */
static PetscErrorCode Product(Problem *p, PetscBool transposed, Mat B, Mat C)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(ProductOf(A, transposed, B, C));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool device; /* A is there */

/*
   The second process gets less and less memory: first for some columns only, at last for nothing. Pieces have the bits
   of the whole. What the parent makes in the end is right
*/
static PetscErrorCode TestShort(Problem *p, PetscBool transposed)
{
  const size_t limits[] = {20000, 3000, 300, 0};
  Mat          B, C, D;
  PetscInt     whole, refused = 0;

  PetscFunctionBegin;
  PetscCall(CreateB(p, 100, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &D));
  PetscCall(Product(p, transposed, B, C));
  PetscCall(CheckEither(p, transposed, C, 1, "with memory"));
  whole = nsent;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(limits); k++) {
    const PetscInt before = nrefused;

    PetscCall(MatZeroEntries(D));
    if (rank == 1) most = limits[k];
    PetscCall(Product(p, transposed, B, D));
    most = (size_t)-1;
    PetscCall(CheckEither(p, transposed, D, 1, "short of memory"));
    refused += nrefused - before;
    PetscCall(PetscInfo(NULL, "limit %zu, %s: %" PetscInt_FMT " requests refused, %" PetscInt_FMT " messages for %" PetscInt_FMT "\n", limits[k], transposed ? "A^T B" : "A B", nrefused - before, nsent, whole));
    if (!device && k < 3) PetscCall(CheckBits(C, D, "in pieces")); /* on a device there may be no memory for a kernel */
    if (k == 1 && whole && nsent <= whole) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] there were no pieces\n", rank));
  }
  if (rank == 1 && p->m && !refused) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] the library asked for no memory\n", rank));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a product takes: messages, and products of blocks by bricks */
typedef struct {
  PetscInt   nsent;
  PetscInt64 ntcu;
} Taken;

static PetscErrorCode Take(Mat A, PetscBool transposed, Mat B, Mat C, Taken *t)
{
  MatAIJTCUCounts before, after;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetCounts(A, &before));
  PetscCall(ProductOf(A, transposed, B, C));
  PetscCall(MatAIJTCUGetCounts(A, &after));
  *t = (Taken){nsent, after.tcu - before.tcu};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory that was short once: some products are made without it, and then it is asked for again */
static PetscErrorCode TestRefusalEnds(Problem *p, PetscBool transposed)
{
  enum {
    MOST = 100
  };
  const size_t limits[] = {(size_t)-1, 3000, 0}; /* the first takes what it wants */
  Taken        whole = {0}, t;
  Mat          A, B, C;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(limits); k++) {
    PetscInt  n    = 0;
    PetscBool same = PETSC_FALSE, refused = PETSC_FALSE;

    PetscCall(CreateA(p, &A));
    PetscCall(CreateB(p, 100, &B));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
    nrefused = 0;
    if (rank == 1) most = limits[k];
    PetscCall(Take(A, transposed, B, C, k ? &t : &whole));
    most    = (size_t)-1;
    refused = (PetscBool)(nrefused > 0);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD));
    for (; refused && !same && n < MOST; n++) {
      PetscCall(Take(A, transposed, B, C, &t));
      same = (PetscBool)(t.nsent == whole.nsent && t.ntcu == whole.ntcu);
      PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
    }
    if (refused && !same) PetscCall(PetscPrintf(PETSC_COMM_WORLD,
      "Limit %zu, %s: after %d products memory that is there again is not asked for\n", limits[k],
      transposed ? "A^T B" : "A B", MOST));
    PetscCall(CheckEither(p, transposed, C, 1, "with memory again"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of B is with the first process and not with the second. All processes get the error, and none waits */
static PetscErrorCode TestSizes(Problem *p, PetscBool transposed)
{
  Problem        q = *p;
  Mat            A, B, C;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  q.m = p->m;
  if (rank == 0) q.m++;
  if (rank == 1) q.m--;
  PetscCall(CreateB(&q, 3, &B));
  PetscCall(MatProductCreate(A, B, NULL, &C));
  PetscCall(MatProductSetType(C, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatProductSetFromOptions(C);
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_ERR_ARG_SIZ) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] local sizes that do not fit: error %d\n", rank, (int)ierr));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error of one process is one of all, and none waits. The same matrix then has the right product */
static PetscErrorCode TestError(Problem *p)
{
  Mat            A, B, C;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateB(p, 3, &B));
  PetscCall(MatProductCreate(A, B, NULL, &C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AtB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  failing = (PetscBool)(rank == 1);
  ierr    = MatProductNumeric(C);
  failing = PETSC_FALSE;
  PetscCall(PetscPopErrorHandler());
  if (ierr != (rank == 1 ? PETSC_ERR_USER : PETSC_ERR_LIB)) PetscCall(PetscPrintf(PETSC_COMM_SELF,
    "[%d] no transpose on one process: error %d\n", rank, (int)ierr));
  PetscCall(MatProductNumeric(C));
  PetscCall(CheckEither(p, PETSC_TRUE, C, 1, "after an error"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A product in pieces, in which one process cannot take its operands apart. Nobody waits for it, and the same product
   is right afterwards
*/
static PetscErrorCode TestErrorInPieces(Problem *p, PetscBool transposed)
{
  PetscInt n = 1; /* calls on the second process */

  PetscFunctionBegin;
  for (PetscInt k = 1; k <= n; k++) {
    Mat            A, B, C;
    PetscErrorCode ierr;

    PetscCall(CreateA(p, &A));
    PetscCall(CreateB(p, 100, &B));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
    if (rank == 1) most = 3000;
    PetscCall(MatProductCreateWithMat(A, B, NULL, C));
    PetscCall(MatProductSetType(C, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    if (k == 1) { /* all calls */
      ncalls = 0;
      PetscCall(MatProductNumeric(C));
      n = ncalls;
      PetscCallMPI(MPI_Bcast(&n, 1, MPIU_INT, 1, PETSC_COMM_WORLD));
    }
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ncalls       = 0;
    failing_call = rank == 1 ? k : 0;
    ierr         = MatProductNumeric(C);
    failing_call = 0;
    PetscCall(PetscPopErrorHandler());
    most = (size_t)-1;
    if (n < 3) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: there were no pieces\n", transposed ? "A^T B" : "A B"));
    if (rank == 1 ? ierr != PETSC_ERR_USER : ierr && ierr != PETSC_ERR_LIB) PetscCall(PetscPrintf(PETSC_COMM_SELF,
      "[%d] an error in a piece of one process: error %d\n", rank, (int)ierr));
    PetscCall(MatProductNumeric(C));
    PetscCall(CheckEither(p, transposed, C, 1, "after an error in a piece"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands that are bound to the host, one after the other, and free again */
static PetscErrorCode TestBound(Problem *p, PetscBool transposed)
{
  Mat A, B, C;

  PetscFunctionBegin;
  PetscCall(CreateA(p, &A));
  PetscCall(CreateB(p, 9, &B));
  if (transposed) PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  else PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  for (int k = 0; k < 4; k++) {
    PetscCall(MatBindToCPU(B, (PetscBool)(k == 0 || k == 2)));
    PetscCall(MatBindToCPU(C, (PetscBool)(k == 1 || k == 2)));
    PetscCall(MatScale(B, 2));
    if (transposed) PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    else PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(CheckEither(p, transposed, C, (PetscReal)(2 << k), "bound to the host"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some columns of operands that are bound to the host: PETSc gives a matrix of the device with a local one of the host */
static PetscErrorCode TestColumnsOfBound(Problem *p, PetscBool transposed)
{
  PetscFunctionBegin;
  for (int k = 1; k < 4; k++) {
    Mat B, C, b, c;

    PetscCall(CreateB(p, 9, &B));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
    PetscCall(MatBindToCPU(B, (PetscBool)(k & 1)));
    PetscCall(MatBindToCPU(C, (PetscBool)(k >> 1)));
    PetscCall(MatDenseGetSubMatrix(B, PETSC_DECIDE, PETSC_DECIDE, 0, 4, &b));
    PetscCall(MatDenseGetSubMatrix(C, PETSC_DECIDE, PETSC_DECIDE, 0, 4, &c));
    PetscCall(Product(p, transposed, b, c));
    PetscCall(CheckEither(p, transposed, c, 1, "columns of what is bound to the host"));
    PetscCall(MatDenseRestoreSubMatrix(B, &b));
    PetscCall(MatDenseRestoreSubMatrix(C, &c));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
/* An MPI that takes memory of the device: the same bits as through memory of the host */
static PetscErrorCode TestAware(Problem *p)
{
  const PetscInt widths[] = {5, 300, 1, 40};
  const PetscBool usual   = use_gpu_aware_mpi;
  Mat             B, C, D;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(widths); k++) {
    PetscCall(CreateB(p, widths[k], &B));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &D));
    for (int transposed = 0; transposed < 2; transposed++) {
      PetscCall(Product(p, (PetscBool)transposed, B, C));
      PetscCall(CheckEither(p, (PetscBool)transposed, C, 1, "through the host"));
      use_gpu_aware_mpi = PETSC_TRUE;
      PetscCall(Product(p, (PetscBool)transposed, B, D));
      use_gpu_aware_mpi = usual;
      PetscCall(CheckBits(C, D, "from the device"));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &naware, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (!naware) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "No message went from a device\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  Problem   p     = {.n = 61, .far = 20};
  PetscBool aware = PETSC_FALSE;
  Mat       A;
  VecType   vectype;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-shape", Shapes, (PetscEnum *)&p.shape, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", dense_type, sizeof(dense_type), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-aware", &aware, NULL));
  PetscCall(CreateA(&p, &A)); /* the rows of each process, and where dense matrices are */
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(PetscStrcmp(vectype, VECSTANDARD, &device));
  device = (PetscBool)!device;
  PetscCall(MatDestroy(&A));
#if PetscDefined(HAVE_CUDA)
  if (aware) PetscCall(TestAware(&p));
#endif
  for (int transposed = 0; transposed < 2 && !aware; transposed++) {
    PetscCall(TestShort(&p, (PetscBool)transposed));
    PetscCall(TestRefusalEnds(&p, (PetscBool)transposed));
    if (!device && !PETSC_VERSION_LT(3, 26, 0)) PetscCall(TestErrorInPieces(&p, (PetscBool)transposed));
    PetscCall(TestBound(&p, (PetscBool)transposed));
    PetscCall(TestColumnsOfBound(&p, (PetscBool)transposed));
    if (Rows(&p, 1)) PetscCall(TestSizes(&p, (PetscBool)transposed));
  }
  if (!aware && !PETSC_VERSION_LT(3, 26, 0)) PetscCall(TestError(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: !complex linux

  testset:
    output_file: output/empty.out

    test:
      suffix: 1
      nsize: {{2 3}}
      args: -shape {{even ghosts order}}

    test:
      suffix: tcu
      nsize: 2
      args: -shape ghosts -mat_aijtcu_path tcu

    test:
      suffix: cuda
      requires: cuda
      nsize: {{2 3}}
      args: -use_gpu_aware_mpi 0 -shape {{even ghosts order}}

    test:
      suffix: cuda_host
      requires: cuda
      nsize: 2
      args: -use_gpu_aware_mpi 0 -shape {{even ghosts}} -dense_type mpidense

    test:
      suffix: cuda_aware
      requires: cuda
      nsize: {{2 3}}
      args: -use_gpu_aware_mpi 0 -aware -shape {{even ghosts order}} -mat_aijtcu_halo mpi

TEST*/
