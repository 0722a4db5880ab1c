static char help[] = "What the first solve of a process takes more than the next: each step from the start of CUDA to KSPMatSolve(), twice, with one matrix type.\n\n"
                     "  ./first -mat_type aijtcu -csv first.csv\n"
                     "  CUDA_MODULE_LOADING=EAGER ./first\n\n";

#include "csv.h"
#include "machine.h"
#include "options.h"
#include "solver.h"
#include "system.h"
#include <petscaijtcu.h>
#include <petsctime.h>
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

typedef enum {
  JACOBI,
  GAMG,
  NSOLVERS
} SolverName;
static const char *const solvers[] = {"cg-jacobi", "cg-gamg"};

typedef struct {
  char       type[64], csv[PETSC_MAX_PATH_LEN], commit[64];
  PetscInt   columns;
  PetscReal  scale;
  PetscBool  device;
  System     system;
  Mat        A, B, X, C;
  Vec        x, y;
  KSP        ksp[NSOLVERS];
  SolverName solver; /* of the step that is made */
} Context;

/* A step, which may be done again and does the same then */
typedef struct {
  const char *name;
  PetscErrorCode (*f)(Context *);
  PetscBool  device; /* only where there is one */
  SolverName solver;
} Step;

/* Start CUDA, and find out whether there is a device */
static PetscErrorCode StartDevice(Context *c)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  c->device = (PetscBool)(cudaFree(NULL) == cudaSuccess);
  if (!c->device) (void)cudaGetLastError();
#else
  c->device = PETSC_FALSE;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
static PetscErrorCode StartPETScDevice(Context *c)
{
  PetscDeviceContext context;

  PetscFunctionBegin;
  (void)c;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Pool(Context *c)
{
  void *p;

  PetscFunctionBegin;
  (void)c;
  PetscCallCUDA(cudaMallocAsync(&p, 256 << 20, NULL));
  PetscCallCUDA(cudaFreeAsync(p, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BLASHandle(Context *c)
{
  cublasHandle_t handle;

  PetscFunctionBegin;
  (void)c;
  PetscCall(PetscCUBLASGetHandle(&handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolverHandle(Context *c)
{
  cusolverDnHandle_t handle;

  PetscFunctionBegin;
  (void)c;
  PetscCall(PetscCUSOLVERDnGetHandle(&handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SparseHandle(Context *c)
{
  cusparseHandle_t handle;

  PetscFunctionBegin;
  (void)c;
  PetscCallCUSPARSE(cusparseCreate(&handle));
  PetscCallCUSPARSE(cusparseDestroy(handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode EmptyMat(Context *c)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 1, 1, 1, 1));
  PetscCall(MatSetType(A, c->type));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(Context *c)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&c->A));
  PetscCall(SystemMat(&c->system, c->type, &c->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Vectors(Context *c)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&c->x));
  PetscCall(VecDestroy(&c->y));
  PetscCall(MatCreateVecs(c->A, &c->x, &c->y));
  PetscCall(VecSet(c->x, 1));
  PetscCall(VecSet(c->y, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Arithmetic(Context *c)
{
  PetscReal   norm;
  PetscScalar dot;

  PetscFunctionBegin;
  PetscCall(VecAXPY(c->y, 1, c->x));
  PetscCall(VecNorm(c->y, NORM_2, &norm));
  PetscCall(VecDot(c->x, c->y, &dot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OneVector(Context *c)
{
  PetscFunctionBegin;
  PetscCall(MatMult(c->A, c->x, c->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Blocks(Context *c)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&c->B));
  PetscCall(MatDestroy(&c->X));
  PetscCall(SystemBlock(&c->system, c->A, PETSC_FALSE, c->columns, &c->B));
  PetscCall(MatDuplicate(c->B, MAT_COPY_VALUES, &c->X)); /* B comes to the device */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Product(Context *c)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&c->C));
  PetscCall(MatMatMult(c->A, c->B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &c->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(Context *c)
{
  const Solver *solver;
  PetscReal     unused;

  PetscFunctionBegin;
  PetscCall(KSPDestroy(&c->ksp[c->solver]));
  PetscCall(SolverFind(solvers[c->solver], &solver));
  PetscCall(SolverCreate(solver, c->A, &c->ksp[c->solver]));
  PetscCall(SolverSetUp(c->ksp[c->solver], &unused));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One iteration, which uses all that a solve does */
static PetscErrorCode Iterate(Context *c)
{
  const KSP ksp = c->ksp[c->solver];
  PetscReal rtol;
  PetscInt  most;

  PetscFunctionBegin;
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, &most));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_FALSE));
  PetscCall(KSPMatSolve(ksp, c->B, c->X));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveBlock(Context *c)
{
  PetscFunctionBegin;
  PetscCall(KSPMatSolve(c->ksp[c->solver], c->B, c->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveVector(Context *c)
{
  PetscFunctionBegin;
  PetscCall(KSPSolve(c->ksp[c->solver], c->x, c->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Step steps[] = {
  {.name = "start of CUDA", .f = StartDevice},
#if PetscDefined(HAVE_CUDA)
  {.name = "PETSc's device", .f = StartPETScDevice, .device = PETSC_TRUE},
  {.name = "256 MB from the pool", .f = Pool, .device = PETSC_TRUE},
  {.name = "cuBLAS handle", .f = BLASHandle, .device = PETSC_TRUE},
  {.name = "cuSOLVER handle", .f = SolverHandle, .device = PETSC_TRUE},
  {.name = "cuSPARSE handle", .f = SparseHandle, .device = PETSC_TRUE},
#endif
  {.name = "matrix of one row", .f = EmptyMat},
  {.name = "assembly", .f = Assemble},
  {.name = "vectors", .f = Vectors},
  {.name = "arithmetic with vectors", .f = Arithmetic},
  {.name = "MatMult", .f = OneVector},
  {.name = "blocks", .f = Blocks},
  {.name = "MatMatMult", .f = Product},
  {.name = "set-up cg-jacobi", .f = SetUp, .solver = JACOBI},
  {.name = "KSPMatSolve cg-jacobi, one iteration", .f = Iterate, .solver = JACOBI},
  {.name = "KSPMatSolve cg-jacobi", .f = SolveBlock, .solver = JACOBI},
  {.name = "set-up cg-gamg", .f = SetUp, .solver = GAMG},
  {.name = "KSPMatSolve cg-gamg", .f = SolveBlock, .solver = GAMG},
  {.name = "KSPSolve cg-gamg", .f = SolveVector, .solver = GAMG}};

static PetscErrorCode GetOptions(Context *c)
{
  PetscFunctionBegin;
  c->columns = 32;
  c->scale   = c->device ? 1 : (PetscReal)0.001;
  PetscCall(PetscStrncpy(c->type, MATAIJTCU, sizeof(c->type)));
  PetscCall(PetscStrncpy(c->commit, "unknown", sizeof(c->commit)));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "The first solve of a process", NULL);
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-mat_type", "The matrix type", c->type, sizeof(c->type), NULL));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-columns", "Right-hand sides", 1, &c->columns));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-scale",
    "Rows by those of a full benchmark; default: 1 with a GPU, 0.001 without", &c->scale));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-csv", "File to append the results to", c->csv, sizeof(c->csv), NULL));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-commit", "What the table says of the version", c->commit, sizeof(c->commit), NULL));
  PetscOptionsEnd();
  PetscCheck(c->scale > 0 && c->scale <= 16, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
    "-scale %g: must be positive, and 16 at most", (double)c->scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Synchronize(const Context *c)
{
  PetscFunctionBegin;
  (void)c;
#if PetscDefined(HAVE_CUDA)
  if (c->device) PetscCallCUDA(cudaDeviceSynchronize());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AppendCSV(const Context *c, const char name[], const PetscReal seconds[2])
{
  FILE *fp;
  char  petsc[32], cuda[16] = "none", machine[128] = "";
  Mat   A;

  PetscFunctionBegin;
  PetscCall(ExampleMachineMat(&A));
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(ExampleCUDAVersion(A, cuda, sizeof(cuda)));
  PetscCall(ExampleMachine(A, machine, sizeof(machine)));
  PetscCall(MatDestroy(&A));
  PetscCall(ExampleCSVOpen(PETSC_COMM_WORLD, c->csv,
    "step,type,rows,columns,first_s,again_s,module_loading,commit,petsc,cuda,machine", &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp,
    "\"%s\",%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%.5f,%.5f,%s,%s,%s,%s,\"%s\"\n", name, c->type, c->system.csr.n,
    c->columns, (double)seconds[0], (double)seconds[1],
    getenv("CUDA_MODULE_LOADING") ? getenv("CUDA_MODULE_LOADING") : "default", c->commit, petsc, cuda, machine));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Step *step, Context *c, PetscReal *seconds)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(Synchronize(c));
  PetscCall(PetscTime(&begin));
  c->solver = step->solver;
  PetscCall((*step->f)(c));
  PetscCall(Synchronize(c));
  PetscCall(PetscTime(&end));
  *seconds = (PetscReal)(end - begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What comes after the start of CUDA, which this might start */
static PetscErrorCode Prepare(Context *c)
{
  PetscFunctionBegin;
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(GetOptions(c));
  PetscCall(SystemGenerate("elasticity", c->scale, 1, c->columns, &c->system));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
    "%s, %" PetscInt_FMT " rows, %" PetscInt_FMT " columns: seconds of the first time and the second\n", c->type,
    c->system.csr.n, c->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  enum {
    STEPS = PETSC_STATIC_ARRAY_LENGTH(steps)
  };
  Context        c = {.device = PETSC_FALSE};
  PetscReal      seconds[STEPS][2], start[2] = {0, 0};
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_aijtcu_block_solvers", "always")); /* a default */
  PetscCall(PetscTime(&begin));
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscTime(&end));
  start[0] = (PetscReal)(end - begin);
  for (int k = 0; k < STEPS; k++) {
    if (steps[k].device && !c.device) continue;
    for (int again = 0; again < 2; again++) PetscCall(Run(&steps[k], &c, &seconds[k][again]));
    if (k == 0) PetscCall(Prepare(&c));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %-38s %9.4f %9.4f\n", steps[k].name, (double)seconds[k][0], (double)seconds[k][1]));
  }
  if (c.csv[0]) {
    PetscCall(AppendCSV(&c, "PetscInitialize", start));
    for (int k = 0; k < STEPS; k++) {
      if (!steps[k].device || c.device) PetscCall(AppendCSV(&c, steps[k].name, seconds[k]));
    }
  }
  for (int k = 0; k < NSOLVERS; k++) PetscCall(KSPDestroy(&c.ksp[k]));
  PetscCall(MatDestroy(&c.A));
  PetscCall(MatDestroy(&c.B));
  PetscCall(MatDestroy(&c.X));
  PetscCall(MatDestroy(&c.C));
  PetscCall(VecDestroy(&c.x));
  PetscCall(VecDestroy(&c.y));
  PetscCall(SystemDestroy(&c.system));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test: # that all steps run
      args: -columns 3 -scale 0.0005
      filter: grep -c KSPMatSolve

TEST*/
