static char help[] = "What is left when a call fails. Scenarios are run again and again, and each time another call that the library makes fails: a call of PETSc,\n\
MPI, CUDA, or malloc(). The scenario must end with an error, or with the right numbers on another path. After an error all is destroyed, and\n\
nothing that the library made may be left. What PETSc's own functions leave after an error, and whether matrices can be used after it, is not asked.\n\
-fail call: one call fails. -fail cuda: one call of CUDA. -fail memory: malloc() and cudaMallocAsync(), all from one call on: that must end with the right numbers.\n\
-fail launch: one launch of a kernel, with the CUDA error -code; -lasting: and all behind it.\n\
-no_code: all launches, as with a GPU that the library was not compiled for: that must end with the right numbers.\n\
-fail register: one call while the library is made known. -fail devices: only the first process has a device.\n\
-only name: this scenario. -for_device: those that differ on a device. -mat_aijtcu_attach: with an aijcusparse. -print: prints how many calls failed.\n\n";

#define _GNU_SOURCE /* RTLD_DI_LINKMAP */
#include <petscmat.h>
#include <petscviewer.h>
#include "petscaijtcu.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  #include "inject.h"
  #include "scenarios.h"

static PetscInt  ncomplaints;
static PetscBool print, attached;

/* Whether plans may share what an attempt leaves, and whether it has left something */
static enum {
  SHARED_NO,
  SHARED_MAYBE,
  SHARED_LEFT
} shared;

static void Complain(const Scenario *s, PetscInt k, const char text[])
{
  if (ncomplaints++ < 40) fprintf(stdout, "[%d] %s, call %d, %s: %s\n", rank, s->name, (int)k, victim ? victim : "none", text);
}

/* Check that A has its type, and that a product with it is right */
static PetscErrorCode CheckProduct(const Scenario *s, PetscInt k, const World *w, Mat A, PetscBool aijtcu, const char text[])
{
  World     u  = *w;
  PetscBool is = PETSC_FALSE, own;

  PetscFunctionBegin;
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &own, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  if (own != (PetscBool)(aijtcu && !attached)) Complain(s, k, own ? "the type is still aijtcu" : "the type is not aijtcu any more");
  u.A = A;
  u.C = NULL;
  if (!Product(&u, MAT_INITIAL_MATRIX, &u.C)) PetscCall(IsProduct(u.C, &u, &is));
  if (!is) Complain(s, k, text);
  PetscCall(MatDestroy(&u.C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Destroy all of it, even if something fails */
static PetscErrorCode Destroy(World *w)
{
  PetscErrorCode ierr, first = KSPDestroy(&w->ksp);
  Mat *const     mats[] = {&w->B, &w->C, &w->M, &w->X, &w->S, &w->P, &w->L, &w->A};
  Vec *const     vecs[] = {&w->x, &w->y};

  ierr = PCDestroy(&w->pc);
  if (!first) first = ierr;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(mats); i++) {
    ierr = MatDestroy(mats[i]);
    if (!first) first = ierr;
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(vecs); i++) {
    ierr = VecDestroy(vecs[i]);
    if (!first) first = ierr;
  }
  ierr = ISDestroy(&w->rows);
  if (!first) first = ierr;
  ierr = PetscViewerDestroy(&w->viewer);
  return first ? first : ierr;
}

/*
   Restore PETSc's stack of functions. In debug builds an error inside of MPIU_Allreduce(), a macro there, takes its
   caller off the stack twice.
*/
static PetscErrorCode Act(const Scenario *s, World *w)
{
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  const PetscStack     stack = petscstack;
  const PetscErrorCode ierr  = (*s->act)(w);

  if (ierr) petscstack = stack;
  return ierr;
#else
  return (*s->act)(w);
#endif
}

/*
   What PETSc leaves after an error in these functions: a matrix that it has made and could not fill or convert, with
   our plan. Also what was not destroyed when that failed. A product with a shell matrix is set aside while it is made,
   and is lost, with its matrices, if that fails.
*/
static PetscBool LeavesMatrix(const Scenario *s)
{
  return (PetscBool)(s->act == DoDestroy || s->act == DoSubmatrices || s->act == DoSubmatrix || s->act == DoPermute || s->act == DoOperatorProduct);
}

/* Act again, without a failure, where that must end with the right numbers */
static PetscErrorCode ActAgain(const Scenario *s, World *w)
{
  PetscErrorCode ierr = Act(s, w);

  if (ierr && fired && (s->act == DoOperatorDiagonal || s->act == DoSolve)) {
    armed      = PETSC_FALSE;
    cuda_error = 0;
    ierr       = Act(s, w);
  }
  return ierr;
}

/*
   Run a scenario with call k failing. With k = 0 the calls are only counted, and what PETSc makes once and keeps is
   made.
*/
static PetscErrorCode Attempt(const Scenario *s, PetscInt k)
{
  World          w;
  PetscErrorCode ierr;
  PetscBool      is = PETSC_TRUE, fails;

  PetscFunctionBegin;
  victim     = NULL;
  cuda_error = 0;
  fired = told = lost = half = PETSC_FALSE;
  recording           = (PetscBool)(k > 0);
  PetscCall(WorldCreate(&w));
  PetscCall((*s->ready)(&w));

  ncalls = 0;
  which  = k;
  armed  = PETSC_TRUE;
  ierr   = ActAgain(s, &w);
  armed  = PETSC_FALSE;
  if (ierr && !fired) Complain(s, k, "fails by itself");
  if (ierr && no_code) Complain(s, k, "fails where there is no code");
  if (ierr && mode == FAIL_MEMORY) Complain(s, k, "no other path where memory runs out");
  if (!ierr && fired && mode == FAIL_MEMORY && !told) Complain(s, k, "nothing in the log of memory that runs out");
  if (!ierr && cuda_error) Complain(s, k, "an error of CUDA is left to others");
  cuda_error = 0;
  fails      = (PetscBool)(ierr != PETSC_SUCCESS);
  /* The parent leaves the exchange of a parallel matrix open where the product of a block fails */
  half       = (PetscBool)(half || (fails && (s->act == DoDestroy || (size > 1 && (s->act == DoMult || s->act == DoOtherMults || s->act == DoOperatorMult)))));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &half, 1, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &fails, 1, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD));
  if (half) { /* a matrix that was half made or half destroyed can be used for nothing, not even destroyed */
    recording = PETSC_FALSE;
    nmade     = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!fails) {
    if (s->act == DoProduct && w.C) PetscCall(IsProduct(w.C, &w, &is));
    if (s->act == DoMult) PetscCall(IsProductWithVector(&w, &is));
    if (w.check) PetscCall((*w.check)(&w, &is));
    if (s->ready == ReadyFactor) PetscCall(IsSolution(&w, &is));
    if (s->ready == ReadyIncompleteFactor) PetscCall(IsIncompleteSolution(&w, &is));
    if (!is) Complain(s, k, "wrong result");
    if (s->act != DoOperatorDiagonal) { /* the type of A is not asked after an error */
      PetscCall(CheckProduct(s, k, &w, w.A, (PetscBool)(s->act != DoConvert && s->act != DoConvertInPlace), "no right product afterwards"));
      PetscCall(CheckProduct(s, k, &w, w.M, (PetscBool)(s->act != DoConvertBack), "no right product of the other matrix"));
    }
  }
  if (Destroy(&w)) Complain(s, k, "what was made cannot be destroyed");
  if (fails && LeavesMatrix(s)) lost = PETSC_TRUE;
  if (nmade && !lost && shared == SHARED_MAYBE) shared = SHARED_LEFT;
  else if (nmade && !lost) {
    char text[256];

    PetscCall(PetscSNPrintf(text, sizeof(text), "left: %d things, one made by %s, line or call %d", nmade, made[0].by, made[0].line));
    Complain(s, k, text);
  }
  recording = PETSC_FALSE;
  nmade     = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What plans share goes with the last of them. A matrix that was lost has one, and keeps it from then on. So what is
   left after that may be shared: the same once more must leave nothing.
*/
static PetscErrorCode AttemptAll(const Scenario *s)
{
  static PetscBool kept;
  PetscInt         n, k;

  PetscFunctionBegin;
  PetscCall(Attempt(s, 0));
  PetscCallMPI(MPIU_Allreduce(&ncalls, &n, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  for (k = 1; k <= n; k++) {
    PetscBool now[2];

    shared = kept ? SHARED_MAYBE : SHARED_NO;
    PetscCall(Attempt(s, k));
    now[0] = (PetscBool)(shared == SHARED_LEFT);
    now[1] = (PetscBool)(lost || half);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, now, 2, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD));
    if (now[1]) kept = PETSC_TRUE;
    shared = SHARED_NO;
    if (now[0]) PetscCall(Attempt(s, k));
  }
  if (print) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " calls failed\n", s->name, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunScenarios(void)
{
  char      only[64] = "";
  PetscBool for_device = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-for_device", &for_device, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_aijtcu_attach", &attached, NULL));
  if (attached) tested = MATAIJCUSPARSE;
  InterposeMalloc(PETSC_TRUE);
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(scenarios); i++) {
    if (only[0] ? strcmp(only, scenarios[i].name) : scenarios[i].alone) continue;
    if (for_device && !scenarios[i].device) continue;
    PetscCall(AttemptAll(&scenarios[i]));
  }
  InterposeMalloc(PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that a matrix of the type works now */
static PetscErrorCode TryType(const Scenario *s, PetscInt k)
{
  World w;

  PetscFunctionBegin;
  PetscCall(WorldCreate(&w));
  if (ReadyA(&w)) Complain(s, k, "no matrix of the type");
  PetscCall(CheckProduct(s, k, &w, w.A, PETSC_TRUE, "no right product"));
  PetscCall(Destroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetMode(void)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-fail", modes, (PetscEnum *)&mode, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-code", &code, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lasting", &lasting, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-no_code", &no_code, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Make the library known after each PetscInitialize(). This function is not on PETSc's stack of functions, which
   PetscFinalize() empties.
*/
static PetscErrorCode RunRegister(int argc, char **argv)
{
  const Scenario s = {"register", NULL, NULL, PETSC_FALSE};

  for (PetscInt k = 0, n = 1; k <= n; k++) {
    if (k) {
      PetscCall(PetscPopErrorHandler());
      PetscCall(PetscFinalize());
      PetscCall(PetscInitialize(&argc, &argv, NULL, help));
      PetscCall(GetMode());
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    }
    ncalls = 0;
    which  = k;
    victim = NULL;
    armed  = PETSC_TRUE;
    if (PetscDLLibraryRegister_petscaijtcu() && PetscDLLibraryRegister_petscaijtcu()) Complain(&s, k, "fails again");
    armed = PETSC_FALSE;
    if (!k) n = ncalls;
    PetscCall(TryType(&s, k));
  }
  return PETSC_SUCCESS;
}

/* With a device on some processes only, all stay on the host */
static PetscErrorCode RunDevices(void)
{
  const Scenario s = {"devices", NULL, NULL, PETSC_FALSE};
  World          w;
  VecType        type = NULL;

  PetscFunctionBegin;
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(WorldCreate(&w));
  armed = PETSC_TRUE;
  if (ReadyA(&w)) Complain(&s, 0, "no matrix of the type");
  else PetscCall(MatGetVecType(w.A, &type));
  if (type && strcmp(type, VECSTANDARD)) Complain(&s, 0, "the matrix is not on the host");
  if (PetscDefined(HAVE_CUDA) && !fired) Complain(&s, 0, "nobody has asked for a device");
  PetscCall(Destroy(&w));
  PetscCall(TryType(&s, 0));
  armed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCallMPI(MPI_Init(&argc, &argv)); /* PetscFinalize() leaves MPI alone then */
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GetMode());
  PetscCall(InterposeLibrary());
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (mode == FAIL_REGISTER) PetscCall(RunRegister(argc, argv));
  else if (mode == FAIL_DEVICES) PetscCall(RunDevices());
  else {
    PetscCall(PetscDLLibraryRegister_petscaijtcu());
    PetscCall(RunScenarios());
  }
  PetscCall(PetscPopErrorHandler());
#endif
  PetscCall(PetscFinalize());
  PetscCallMPI(MPI_Finalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2}}
    test:
      suffix: call # on the host: a device has cuda_call
      timeoutfactor: 5
      env: CUDA_VISIBLE_DEVICES=-1
      args: -fail call -mat_aijtcu_path {{tcu csr}separate output} -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: memory
      args: -fail memory -mat_aijtcu_path tcu

  test:
    suffix: register
    output_file: output/empty.out
    args: -fail register -mat_aijtcu_attach {{0 1}} -malloc_dump 0 -checkfunctionlist 0

  test:
    suffix: devices
    nsize: 2
    output_file: output/empty.out
    args: -fail devices -mat_aijtcu_path {{tcu auto}}

  testset: # a GPU that many processes share does little for each
    requires: cuda !complex
    output_file: output/empty.out
    timeoutfactor: 5
    args: -for_device -mat_aijtcu_path {{tcu csr}separate output} -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: cuda
      args: -fail cuda -dense_cuda {{0 1}}
    test:
      suffix: cuda_memory
      args: -fail memory
    test:
      suffix: cuda_call
      args: -fail call
    test:
      suffix: cuda_memory_hierarchy
      args: -fail memory -only hierarchy -pc_gamg_aggressive_square_graph {{0 1}}
    test:
      suffix: cuda_solve
      args: -fail {{cuda call memory launch}separate output} -only solve
    test:
      suffix: cuda_solve_diagonal
      args: -fail {{cuda call memory launch}separate output} -only "solve with a diagonal"

    test:
      suffix: cuda_parallel
      nsize: 2
      args: -use_gpu_aware_mpi 0 -fail memory -only "first product"
    test:
      suffix: cuda_parallel_sampled
      nsize: 2
      args: -use_gpu_aware_mpi 0 -fail memory -only "first sampled product"

  testset: # launches: out of memory, no such kernel, and a failure that is found at the launch
    requires: cuda !complex
    output_file: output/empty.out
    timeoutfactor: 5
    args: -fail launch -mat_aijtcu_path {{tcu csr}separate output} -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: cuda_launch
      args: -for_device -code {{2 98 719}separate output} -lasting {{0 1}}
    test:
      suffix: cuda_launch_parallel
      nsize: 2
      args: -use_gpu_aware_mpi 0 -code 2 -only "first product"
    test:
      suffix: cuda_launch_parallel_transpose
      nsize: 2
      args: -use_gpu_aware_mpi 0 -code 2 -only transpose
    test:
      suffix: cuda_launch_parallel_sampled
      nsize: 2
      args: -use_gpu_aware_mpi 0 -code 2 -only "first product of an operator"

  testset: # a GPU that the library has no code for
    requires: cuda !complex
    output_file: output/empty.out
    timeoutfactor: 5
    nsize: {{1 2}}
    args: -fail launch -no_code -use_gpu_aware_mpi 0 -mat_aijtcu_path {{auto tcu csr}separate output} -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: cuda_no_code
      args: -for_device
    test:
      suffix: cuda_no_code_hierarchy
      args: -only hierarchy -pc_gamg_aggressive_square_graph {{0 1}}

  testset: # bricks of the reordered matrix
    requires: cuda !complex
    output_file: output/empty.out
    args: -for_device -mat_aijtcu_path tcu -mat_aijtcu_reorder always -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: cuda_reorder
      timeoutfactor: 5
      args: -fail {{cuda memory}separate output}

  testset: # products of an aijcusparse
    requires: cuda !complex
    output_file: output/empty.out
    timeoutfactor: 5
    args: -mat_aijtcu_attach -mat_aijtcu_path {{tcu csr}separate output} -fail {{cuda memory call}separate output} -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: cuda_attach
      args: -only "first product"
    test:
      suffix: cuda_attach_values
      args: -only "product of new values"
    test:
      suffix: cuda_attach_pattern
      args: -only "product of a new pattern"

  test: # a product that is tuned: hundreds of calls
    suffix: cuda_tune
    requires: cuda !complex
    output_file: output/empty.out
    timeoutfactor: 10
    args: -only "first product" -mat_aijtcu_tune proxy -fail {{cuda memory call}separate output} -malloc_dump 0 -checkfunctionlist 0

TEST*/
