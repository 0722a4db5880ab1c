static char help[] = "What is left when a call fails. Scenarios are run again and again, and each time another call that the library makes fails: a call of PETSc,\n\
MPI, CUDA, or malloc(). The scenario must end with an error, or with the right numbers on another path; then it must succeed when it is tried again, and\n\
nothing that the library made may be left when all is destroyed. What PETSc's own functions leave after an error of theirs is not asked.\n\
-fail call: one call fails. -fail cuda: one call of CUDA. -fail memory: malloc() and cudaMallocAsync(), all from one call on. -fail petsc: an allocation of\n\
PETSc's in a call that the library makes, of an operation of a parent type too. -fail register: one call while the library is made known. -fail devices: only the first process has a device.\n\
-only name: this scenario. -for_device: those that differ on a device. -mat_aijtcu_attach: with an aijcusparse. -print: prints how many calls failed, and PETSc's messages of what fails again.\n\n";

#define _GNU_SOURCE /* RTLD_DI_LINKMAP */
#include <petscmat.h>
#include <petscviewer.h>
#include "petscaijtcu.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  #include "inject.h"
  #include "scenarios.h"

static PetscInt  ncomplaints;
static PetscBool print, attached;

static void Complain(const Scenario *s, PetscInt k, const char text[])
{
  if (ncomplaints++ < 40) fprintf(stdout, "[%d] %s, call %d, %s: %s\n", rank, s->name, (int)k, victim ? victim : "none", text);
}

/*
   A must have its type, and a product with it be right. The type may be the parent's where the question for the plan failed, with which a view of the parent ends: it
   has to be asked, for the matrix may have been replaced, and cannot fail on an object that is one
*/
static PetscErrorCode CheckProduct(const Scenario *s, PetscInt k, const World *w, Mat A, PetscBool aijtcu, const char text[])
{
  const char *const questions[] = {"PetscObjectQuery", "PetscContainerGetPointer", NULL};
  World             u           = *w;
  PetscBool         is          = PETSC_FALSE, own;

  PetscFunctionBegin;
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &own, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  if (own != (PetscBool)(aijtcu && !attached) && !(victim && IsOneOf(victim, questions))) Complain(s, k, own ? "the type is still aijtcu" : "the type is not aijtcu any more");
  u.A = A;
  u.C = NULL;
  if (!Product(&u, MAT_INITIAL_MATRIX, &u.C)) PetscCall(IsProduct(u.C, &u, &is));
  if (!is) Complain(s, k, text);
  PetscCall(MatDestroy(&u.C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&w->B));
  PetscCall(MatDestroy(&w->C));
  PetscCall(MatDestroy(&w->M));
  PetscCall(MatDestroy(&w->X));
  if (w->A && mode == FAIL_PETSC) { /* what PETSc has left may have a reference to A */
    PetscInt references;

    PetscCall(PetscObjectGetReference((PetscObject)w->A, &references));
    if (references > 1) lost = PETSC_TRUE;
  }
  PetscCall(MatDestroy(&w->A));
  PetscCall(VecDestroy(&w->x));
  PetscCall(VecDestroy(&w->y));
  PetscCall(ISDestroy(&w->rows));
  PetscCall(PetscViewerDestroy(&w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   On a device, and in PETSc 3.24 anywhere, a parallel product sets those of its blocks up anew every time. The local part of C keeps one whose set-up has failed, and PETSc then
   takes it for one that is set up: such a C, of an aijcusparse as well, is of no use, but another one is
*/
static PetscErrorCode ActAgain(const Scenario *s, World *w, PetscErrorCode *ierr)
{
  PetscInt spoilt;

  PetscFunctionBegin;
  *ierr  = (*s->act)(w);
  spoilt = *ierr == PETSC_ERR_PLIB && s->act == DoProduct && w->C;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &spoilt, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  if (size > 1 && spoilt) {
    PetscCall(MatDestroy(&w->C));
    *ierr = (*s->act)(w);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's products with vectors leave these locked after an error */
static PetscErrorCode Unlock(Vec v)
{
  PetscInt state;

  PetscFunctionBegin;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecLockGet(v, &state));
  for (; state > 0; state--) PetscCall(VecLockReadPop(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In debug builds an error inside of MPIU_Allreduce(), a macro there, takes its caller off PETSc's stack of functions twice: what is on it is put back */
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
   A parallel aijcusparse frees the same thing twice when it is destroyed again after an error (MatMPIAIJCUSPARSE_CUPM::Destroy() keeps its pointer to that), so that it is left
   as it is
*/
static PetscBool CanDestroyAgain(const Scenario *s, PetscBool on_host)
{
  return (PetscBool)(on_host || s->act != DoDestroy || size == 1);
}

/*
   MatCreateSubMatrix_SeqAIJ() leaves the matrix that it has made when it cannot be filled, for which only a device's has functions that may fail, and MatCreateSubMatrix_MPIAIJ_SameRowColDist()
   the block that it has when the other one cannot be made; MatConvert() leaves the empty matrix that it asks how to convert when that cannot be made
*/
static PetscBool LeavesMatrix(const Scenario *s, PetscBool on_host)
{
  if (s->act == DoSubmatrices) return (PetscBool)!on_host;
  return (PetscBool)((s->act == DoSubmatrix || s->act == DoPermute) && (size > 1 || !on_host));
}

/* Run a scenario with call k failing, or none if that is 0: then only the calls are counted, and what PETSc makes once and keeps is made */
static PetscErrorCode Attempt(const Scenario *s, PetscInt k)
{
  World          w;
  PetscErrorCode ierr, again;
  PetscBool      is = PETSC_TRUE, on_host, destroyable, made_C, made_M, made_X;
  VecType        type;

  PetscFunctionBegin;
  victim     = NULL;
  cuda_error = 0;
  fired = told = lost = half = PETSC_FALSE;
  recording           = (PetscBool)(k > 0);
  PetscCall(WorldCreate(&w));
  PetscCall((*s->ready)(&w));
  PetscCall(MatGetVecType(w.A, &type));
  PetscCall(PetscStrcmp(type, VECSTANDARD, &on_host));
  destroyable = CanDestroyAgain(s, on_host);
  made_C      = (PetscBool)!w.C;
  made_M      = (PetscBool)!w.M;
  made_X      = (PetscBool)!w.X;

  ncalls = 0;
  which  = k;
  armed  = PETSC_TRUE;
  ierr   = Act(s, &w);
  armed  = PETSC_FALSE;
  if (ierr && !fired) Complain(s, k, "fails by itself");
  if (ierr && mode == FAIL_MEMORY) Complain(s, k, "no other path where memory runs out");
  if (!ierr && fired && mode == FAIL_MEMORY && !told) Complain(s, k, "nothing in the log of memory that runs out");
  if (!ierr && cuda_error) Complain(s, k, "an error of CUDA is left to others");
  cuda_error = 0;
  if (!destroyable) half = (PetscBool)(half || ierr);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &half, 1, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD));
  if (half) { /* nothing of this world can be used */
    recording = PETSC_FALSE;
    nmade     = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ierr) { /* what is half made can be destroyed, and all be done again */
    if (made_C && MatDestroy(&w.C)) Complain(s, k, "the product cannot be destroyed");
    if (made_M && MatDestroy(&w.M)) Complain(s, k, "the other matrix cannot be destroyed");
    if (made_X && MatDestroy(&w.X)) Complain(s, k, "the factor cannot be destroyed");
    PetscCall(Unlock(w.x));
    PetscCall(Unlock(w.y));
    if (print) PetscCall(PetscPushErrorHandler(PetscTraceBackErrorHandler, NULL));
    PetscCall(ActAgain(s, &w, &again));
    if (print) PetscCall(PetscPopErrorHandler());
    if (again) Complain(s, k, "fails again");
  }
  if (s->act == DoProduct && w.C) PetscCall(IsProduct(w.C, &w, &is));
  if (s->act == DoMult) PetscCall(IsProductWithVector(&w, &is));
  if (s->ready == ReadyFactor) PetscCall(IsSolution(&w, &is));
  if (s->ready == ReadyIncompleteFactor) PetscCall(IsIncompleteSolution(&w, &is));
  if (!is) Complain(s, k, ierr ? "wrong result at the second time" : "wrong result");
  PetscCall(CheckProduct(s, k, &w, w.A, (PetscBool)(s->act != DoConvert && s->act != DoConvertInPlace), "no right product afterwards"));
  PetscCall(CheckProduct(s, k, &w, w.M, (PetscBool)(s->act != DoConvertBack), "no right product of the other matrix"));
  if (Destroy(&w)) Complain(s, k, "what was made cannot be destroyed");
  if (ierr && LeavesMatrix(s, on_host)) lost = PETSC_TRUE;
  if (nmade && (!lost || s->act == DoDestroy)) {
    char text[256];

    PetscCall(PetscSNPrintf(text, sizeof(text), "left: %d things, one made by %s, line %d", nmade, made[0].by, made[0].line));
    Complain(s, k, text);
  }
  recording = PETSC_FALSE;
  nmade     = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AttemptAll(const Scenario *s)
{
  PetscInt n, k;

  PetscFunctionBegin;
  PetscCall(Attempt(s, 0));
  PetscCallMPI(MPIU_Allreduce(&ncalls, &n, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  for (k = 1; k <= n; k++) PetscCall(Attempt(s, k));
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
    if ((only[0] && strcmp(only, scenarios[i].name)) || (for_device && !scenarios[i].device)) continue;
    PetscCall(AttemptAll(&scenarios[i]));
  }
  InterposeMalloc(PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type must work now */
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The library is made known anew after each PetscInitialize(). This is not on PETSc's stack of functions, which PetscFinalize() empties */
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
  PetscCallMPI(MPI_Init(&argc, &argv)); /* which PetscFinalize() leaves alone then */
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
      suffix: call
      timeoutfactor: 5
      args: -fail call -mat_aijtcu_path {{tcu csr}separate output} -malloc_dump 0 -checkfunctionlist 0
    test: # on the host: types of the device that fail halfway leave matrices that cannot be used
      suffix: petsc
      env: CUDA_VISIBLE_DEVICES=
      args: -fail petsc -mat_aijtcu_path tcu -malloc_dump 0 -checkfunctionlist 0
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

  testset: # bricks in another order
    requires: cuda !complex
    output_file: output/empty.out
    args: -for_device -mat_aijtcu_path tcu -mat_aijtcu_reorder always -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: cuda_cluster
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
