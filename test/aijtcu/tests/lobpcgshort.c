static char help[] = "LOBPCG with whole blocks where a process is short of memory, and where processes are not alike. Prints on error only.\n\
-short all, last: these processes get no large memory. SLEPc's own solve must find the eigenvalues, and the log must say so.\n\
-short none -unlike: LAPACK gives the last process other vectors, which are as good. The solve must end with an error on all processes.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include "chain.h"
#include <petscaijtcu.h>
#include <slepceps.h>
#include "interpose.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

enum {
  ROWS  = 900,
  BLOCK = 6,
  START = 4 /* vectors of a user to start from */
};

static PetscBool short_of_memory, unlike;
static PetscInt  nrefused;
static size_t    large; /* what SLEPc does not ask for at once */

/* Whether PETSc, or our library, gets no memory */
static PetscBool Refuses(size_t n, const void *caller)
{
  Dl_info info;

  if (!short_of_memory || n < large || !dladdr(caller, &info) || !strstr(info.dli_fname, "libpetsc")) return PETSC_FALSE;
  nrefused++;
  return PETSC_TRUE;
}

/* PETSc's memory, with its functions as they are and as they are with -malloc_debug */
PETSC_EXTERN void *malloc(size_t n)
{
  static void *(*next)(size_t);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "malloc");
  return Refuses(n, __builtin_return_address(0)) ? NULL : (*next)(n);
}

PETSC_EXTERN int posix_memalign(void **p, size_t alignment, size_t n)
{
  static int (*next)(void **, size_t, size_t);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "posix_memalign");
  return Refuses(n, __builtin_return_address(0)) ? 12 : (*next)(p, alignment, n); /* ENOMEM */
}

#if PetscDefined(HAVE_CUDA)
PETSC_EXTERN cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t s)
{
  static cudaError_t (*next)(void **, size_t, cudaStream_t);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "cudaMallocAsync");
  return Refuses(n, __builtin_return_address(0)) ? cudaErrorMemoryAllocation : (*next)(p, n, s);
}
#endif

/* The first eigenvector of a matrix has the other sign */
#if PetscDefined(USE_COMPLEX)
  #define ORMTR zunmtr_
#else
  #define ORMTR dormtr_
#endif
PETSC_EXTERN void ORMTR(const char *side, const char *uplo, const char *trans, const int *m, const int *n, const PetscScalar *A,
  const int *lda, const PetscScalar *tau, PetscScalar *C, const int *ldc, PetscScalar *work, const int *lwork, int *info)
{
  static void (*next)(const char *, const char *, const char *, const int *, const int *, const PetscScalar *, const int *, const PetscScalar *,
    PetscScalar *, const int *, PetscScalar *, const int *, int *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, PetscStringize(ORMTR));
  (*next)(side, uplo, trans, m, n, A, lda, tau, C, ldc, work, lwork, info);
  for (int i = 0; i < *m && unlike; i++) C[i] = -C[i];
}

/* Start from vectors of other lengths, nearly parallel, one of which is there twice */
static PetscErrorCode SetStart(EPS eps, Mat A)
{
  Vec      x[START];
  PetscInt first, end;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < START; k++) {
    PetscCall(MatCreateVecs(A, &x[k], NULL));
    PetscCall(VecGetOwnershipRange(x[k], &first, &end));
    for (PetscInt i = first; i < end; i++) PetscCall(VecSetValue(x[k], i, 1000 + (k == 1 ? 0 : k) * (PetscReal)(i % (k + 2)) / ROWS, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(x[k]));
    PetscCall(VecAssemblyEnd(x[k]));
  }
  PetscCall(EPSSetInitialSpace(eps, START, x));
  for (PetscInt k = 0; k < START; k++) PetscCall(VecDestroy(&x[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve, with the log of EPS in a file. ierr is what EPSSolve() returns, value the first eigenvalue */
static PetscErrorCode Solve(Mat A, const char mode[], PetscErrorCode *ierr, PetscReal *value, PetscInt *its)
{
  EPS         eps;
  ST          st;
  KSP         ksp;
  PC          pc;
  PetscInt    nconv;
  PetscScalar first;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-eps_aijtcu_lobpcg", mode));
  PetscCall(EPSCreate(PETSC_COMM_WORLD, &eps));
  PetscCall(EPSSetOperators(eps, A, NULL));
  PetscCall(EPSSetProblemType(eps, EPS_HEP));
  PetscCall(EPSSetWhichEigenpairs(eps, EPS_SMALLEST_REAL));
  PetscCall(EPSSetType(eps, EPSLOBPCG));
  PetscCall(EPSSetDimensions(eps, BLOCK, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(EPSLOBPCGSetBlockSize(eps, BLOCK));
  PetscCall(EPSLOBPCGSetRestart(eps, 0.9)); /* as with SLEPc's solver */
  PetscCall(EPSSetTolerances(eps, 1e-7, 500));
  PetscCall(EPSGetST(eps, &st));
  PetscCall(STSetType(st, STPRECOND));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(EPSSetFromOptions(eps));
  PetscCall(PetscOptionsClearValue(NULL, "-eps_aijtcu_lobpcg"));
  PetscCall(SetStart(eps, A));
  PetscCall(EPSSetUp(eps));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = EPSSolve(eps);
  PetscCall(PetscPopErrorHandler());
  *value = 0;
  *its   = 0;
  if (!*ierr) {
    PetscCall(EPSGetIterationNumber(eps, its));
    PetscCall(EPSGetConverged(eps, &nconv));
    if (nconv >= BLOCK) PetscCall(EPSGetEigenvalue(eps, 0, &first, NULL));
    if (nconv >= BLOCK) *value = PetscRealPart(first);
  }
  PetscCall(EPSDestroy(&eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often the log of the first process has a text */
static PetscErrorCode Count(const char file[], const char text[], PetscInt *n)
{
  FILE *fp;
  char  line[512];

  PetscFunctionBegin;
  *n = 0;
  fp = fopen(file, "r");
  while (fp && fgets(line, sizeof(line), fp)) {
    if (strstr(line, text)) ++*n;
  }
  if (fp) fclose(fp);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  static const char *const shorts[] = {"none", "all", "last"};
  Mat                      A, theirs;
  PetscReal                value, expected;
  PetscErrorCode           ierr;
  PetscMPIInt              rank, size;
  PetscInt                 which                    = 1, n, refused, its, expected_its;
  PetscBool                all_unlike               = PETSC_FALSE, last;
  char                     file[PETSC_MAX_PATH_LEN] = "lobpcgshort.log";

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  last = (PetscBool)(rank == size - 1);
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-short", shorts, PETSC_STATIC_ARRAY_LENGTH(shorts), &which, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-unlike", &all_unlike, NULL));
  if (!SLEPC_VERSION_LT(3, 26, 0)) { /* ours is there */
    PetscCall(CreateChain(MATAIJTCU, ROWS, 30, 1, &A));
    PetscCall(CreateChain(MATAIJ, ROWS, 30, 1, &theirs));
    PetscCall(Solve(theirs, "auto", &ierr, &expected, &expected_its));
    if (ierr || expected <= 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "SLEPc does not solve it\n"));
    PetscCall(Solve(A, "off", &ierr, &value, &expected_its)); /* a device rounds in another way than the host */
    if (ierr || PetscAbsReal(value - expected) > 1e-9 * expected) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrong by SLEPc: %g, error %d\n", (double)(value - expected), (int)ierr));
    PetscCall(Solve(A, "always", &ierr, &value, &its)); /* what is made once is made now */
    if (ierr || PetscAbsReal(value - expected) > 1e-9 * expected) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrong without a fault: %g, error %d\n", (double)(value - expected), (int)ierr));
    PetscCall(PetscInfoAllow(PETSC_TRUE));
    PetscCall(PetscInfoSetFile(file, "w"));
    PetscCall(MatGetLocalSize(A, &n, NULL));
    large           = (size_t)(8 * BLOCK * n) * sizeof(PetscScalar);
    short_of_memory = (PetscBool)(which == 1 || (which == 2 && last));
    unlike          = (PetscBool)(all_unlike && last);
    PetscCall(Solve(A, "always", &ierr, &value, &its));
    short_of_memory = unlike = PETSC_FALSE;
    PetscCall(PetscInfoAllow(PETSC_FALSE));
    PetscCall(PetscInfoSetFile(NULL, NULL));
    if (all_unlike) {
      PetscInt nerrors = ierr == PETSC_ERR_LIB;

      PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &nerrors, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
      if (nerrors != size) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " processes have the error\n", nerrors));
    } else if (ierr || PetscAbsReal(value - expected) > 1e-9 * expected) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrong without memory: %g, error %d\n", (double)(value - expected), (int)ierr));
    else if (which && its != expected_its) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations without memory, %" PetscInt_FMT " of SLEPc's\n", its, expected_its));
    PetscCallMPI(MPIU_Allreduce(&nrefused, &refused, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(PetscStrlcat(file, ".0", sizeof(file))); /* of the first process */
    PetscCall(Count(file, "aijtcu: lobpcg is SLEPc's: there is no memory for it", &n));
    if (rank == 0 && (n > 0) != (which > 0)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " lines in the log of memory\n", n));
    if ((refused > 0) != (which > 0)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " requests refused\n", refused));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&theirs));
  }
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    output_file: output/empty.out

    test:
      suffix: memory
      nsize: {{1 3}}
      args: -short {{all last}} -use_gpu_aware_mpi 0

    test: # an error leaves memory of PETSc's solver
      suffix: unlike
      nsize: 2
      args: -short none -unlike -use_gpu_aware_mpi 0 -malloc_dump 0 -checkfunctionlist 0

TEST*/
