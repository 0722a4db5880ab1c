/*
   How a block form of a Krylov method enters.

   PETSc's creator of a type is wrapped under the same name. The original is called first. Then ours stands before
   four operations: set-up, solve of a block, reset and destruction. Set-up runs for every new operator, and decides:
   AIJTCUBlockTakes() says for which operators KSPMatSolve() is ours. With any other the KSP has what PETSc gave it.

   What the block form of a method lacks goes the way that PETSc goes without us. The log says why.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
  #define KSP_KEY "MatAIJTCUBlockKSP"

PetscErrorCode AIJTCUBlockGetKSP(KSP ksp, AIJTCUBlockKSP **s)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_KEY, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBlockGetData(KSP ksp, void *data)
{
  AIJTCUBlockKSP *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  *(void **)data = s->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockResetAll(AIJTCUBlockKSP *s)
{
  PetscFunctionBegin;
  if (s->method->reset) PetscCall((*s->method->reset)(s));
  PetscCall(AIJTCUBlockReset(s));
  PetscCall(AIJTCUColumnsFree(&s->columns));
  PetscCall(AIJTCUResultsFree(&s->results));
  s->most = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockFree(PetscCtxRt ctx)
{
  AIJTCUBlockKSP *s = *(AIJTCUBlockKSP **)ctx;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockResetAll(s));
  PetscCall(PetscFree(s->data));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why a solve with these settings cannot be one of a whole block. They are the same on all processes */
static PetscErrorCode AIJTCUBlockLacks(KSP ksp, AIJTCUBlockKSP *s, const char **why)
{
  const struct _PCOps *pc = ksp->pc->ops;

  PetscFunctionBegin;
  *why = NULL;
  if (ksp->guess || ksp->guess_knoll) *why = "a guess is computed for each right-hand side";
  else if (ksp->presolve || ksp->postsolve || ksp->presolve_ew || ksp->postsolve_ew) *why = "functions are called before or after each solve";
  else if (pc->presolve || pc->postsolve) *why = "the preconditioner changes the system before each solve";
  else if (ksp->calc_sings || ksp->calc_ritz) *why = "eigenvalues are computed in each solve";
  else if (ksp->err_hist) *why = "a history of errors is kept";
  else if (ksp->viewPre || ksp->viewEV || ksp->viewSV || ksp->viewEVExp || ksp->viewMatExp || ksp->viewPOpExp) *why = "each solve is viewed";
  else if (!s->method->matsolve) { /* PETSc's own function for a block has neither */
    if (ksp->numbermonitors) *why = "there are monitors";
    else if (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip) *why = "the convergence test is not KSPConvergedDefault()";
  }
  if (!*why && s->method->lacks) PetscCall((*s->method->lacks)(ksp, s, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve with one block, whose first column is this one of all. solved says whether there was memory for it */
static PetscErrorCode AIJTCUBlockSolve(KSP ksp, AIJTCUBlockKSP *s, PetscInt first, Mat B, Mat X, PetscBool *solved)
{
  const PetscInt before = AIJTCUWholeColumns(0); /* a solve around this one may be narrow */
  Mat            at[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWhere(ksp, s, B, X, at, solved));
  if (!*solved) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "aijtcu: %s solves with a block of %" PetscInt_FMT " right-hand sides\n", s->method->name, X->cmap->N));
  PetscCall(AIJTCUColumnsBegin(ksp, s, first, X->cmap->N, at[0]));
  if (ksp->mat_rhs) ksp->mat_rhs = at[0]; /* for KSPConvergedDefault() */
  ierr = (*s->method->solve)(ksp, s, at[0], at[1]);
  AIJTCUWholeEnd(before); /* after an error, too */
  PetscCall(ierr);
  PetscCall(AIJTCUColumnsWiden(s));
  PetscCall(AIJTCUColumnsEnd(ksp, s, at[1]));
  PetscCall(AIJTCUBlockDone(s, at[1], X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Solve with all columns: at once if there is memory, else in batches. They have half the columns until there is.
   Returns how many columns are solved: all but those for which there is no memory even one by one
*/
static PetscErrorCode AIJTCUBlockSolveBatches(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X, PetscInt *done)
{
  const PetscInt           N      = X->cmap->N;
  const KSPConvergedReason reason = ksp->reason; /* the preconditioner may have failed here */
  PetscInt                 width  = s->most ? PetscMin(s->most, N) : N;

  PetscFunctionBegin;
  *done = 0;
  while (*done < N && width > 0) {
    const PetscInt end = PetscMin(*done + width, N);
    const Mat      B0  = ksp->mat_rhs;
    Mat            b = B, x = X;
    PetscBool      solved;

    ksp->reason = reason;
    if (end - *done < N) {
      PetscCall(MatDenseGetSubMatrix(B, PETSC_DECIDE, PETSC_DECIDE, *done, end, &b));
      PetscCall(MatDenseGetSubMatrix(X, PETSC_DECIDE, PETSC_DECIDE, *done, end, &x));
    }
    PetscCall(AIJTCUBlockSolve(ksp, s, *done, b, x, &solved));
    ksp->mat_rhs = B0;
    if (b != B) {
      PetscCall(MatDenseRestoreSubMatrix(B, &b));
      PetscCall(MatDenseRestoreSubMatrix(X, &x));
    }
    if (solved) *done = end;
    else {
      PetscCall(PetscInfo(ksp, "aijtcu: no memory for a block of %" PetscInt_FMT " right-hand sides, or no access to its arrays\n", end - *done));
      width   = (end - *done) / 2;
      s->most = width;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockMatSolve(KSP ksp, Mat B, Mat X)
{
  AIJTCUBlockKSP *s;
  const char     *why;
  PetscInt        done = 0;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  AIJTCUAll.solves++;
  PetscCall(AIJTCUResultsBegin(&s->results, X->cmap->N));
  PetscCall(AIJTCUBlockLacks(ksp, s, &why));
  if (!why) {
    PetscCall(AIJTCUBlockSolveBatches(ksp, s, B, X, &done));
    if (done < X->cmap->N) why = "there is no memory for work blocks, or no access to the arrays";
  }
  if (!why) {
    AIJTCUAll.whole++;
    PetscCall(AIJTCUResultsGive(ksp, &s->results));
    ksp->totalits += ksp->its;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(ksp, "aijtcu: %s takes %" PetscInt_FMT " right-hand sides as PETSc does, not as a block: %s\n", s->method->name, X->cmap->N, why));
  if (s->matsolve) {
    s->results.N = 0;
    PetscCall((*s->matsolve)(ksp, B, X));
  } else PetscCall(AIJTCUColumnByColumn(ksp, s, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also where the solve is PETSc's: that takes old numbers of a block that is bound to the host */
static PetscErrorCode KSPMatSolve_AIJTCU(KSP ksp, Mat B, Mat X)
{
  const Mat       rhs = ksp->mat_rhs;
  AIJTCUBlockKSP *s;
  Mat             A, b, x;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCheck(B->rmap->N == A->rmap->N && X->rmap->N == A->cmap->N, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_SIZ,
    "Blocks of %" PetscInt_FMT " and %" PetscInt_FMT " rows, for an operator with %" PetscInt_FMT " rows and %" PetscInt_FMT " columns",
    B->rmap->N, X->rmap->N, A->rmap->N, A->cmap->N);
  PetscCall(AIJTCUBoundBegin(B, &b));
  PetscCall(AIJTCUBoundBegin(X, &x));
  if (rhs == B) ksp->mat_rhs = b;
  if (s->ours) PetscCall(AIJTCUBlockMatSolve(ksp, b, x));
  else PetscCall((*s->matsolve)(ksp, b, x));
  ksp->mat_rhs = rhs;
  PetscCall(AIJTCUBoundEnd(B, &b));
  PetscCall(AIJTCUBoundEnd(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether solves with A are ours. On the host a block is slower than its columns, of which one fits into a cache. So
   there it is only what was asked for: by the option, or by a type that PETSc does not have.
*/
static PetscErrorCode AIJTCUBlockTakes(KSP ksp, Mat A, const AIJTCUBlockKSP *s, PetscBool *takes)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  *takes = (PetscBool)(plan != NULL);
  if (plan && AIJTCUBlockSolvers == AIJTCU_BLOCK_SOLVERS_AUTO && !s->method->base) PetscCall(AIJTCUAtDevice(A, plan, takes));
  if (plan && !*takes) PetscCall(PetscInfo(ksp, "aijtcu: KSPMatSolve() with %s goes as PETSc has it: the operator is on the host, where only -mat_aijtcu_block_solvers always takes whole blocks\n", s->method->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSolve(), where the method has something for one vector */
static PetscErrorCode KSPSolve_AIJTCU(KSP ksp)
{
  AIJTCUBlockKSP *s;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  PetscCall((*s->method->vector)(ksp, s, &done));
  if (!done) PetscCall((*s->solve)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let KSPSolve() be ours with an operator on the device of one process, where kernels of ours run */
static PetscErrorCode AIJTCUVectorEnter(KSP ksp, AIJTCUBlockKSP *s, Mat A)
{
  PetscBool   ours = PETSC_FALSE;
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  if (!s->method->vector) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan && plan->id.kind == AIJTCU_KIND_SEQ) PetscCall(AIJTCUOnDevice(A, plan, &ours));
  if (ksp->ops->solve != KSPSolve_AIJTCU) s->solve = ksp->ops->solve;
  ksp->ops->solve = ours ? KSPSolve_AIJTCU : s->solve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let KSPMatSolve() be ours, if we take the operator. Also after PETSc has set another function */
PetscErrorCode AIJTCUBlockEnter(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCUPlan *plan;
  Mat         A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(AIJTCUVectorEnter(ksp, s, A));
  PetscCall(AIJTCUBlockTakes(ksp, A, s, &s->ours));
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (ksp->ops->matsolve != KSPMatSolve_AIJTCU) s->matsolve = ksp->ops->matsolve;
  ksp->ops->matsolve = s->ours || (plan && s->matsolve) ? KSPMatSolve_AIJTCU : s->matsolve;
  if (s->ours) PetscCall(AIJTCUBlockForgetOthers(s, A));
  else PetscCall(AIJTCUBlockResetAll(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_AIJTCU(KSP ksp)
{
  AIJTCUBlockKSP *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  if (s->setup && (ksp->setupstage != KSP_SETUP_NEWMATRIX || s->setupnewmatrix)) {
    if (s->method->setup) PetscCall((*s->method->setup)(ksp, s));
    else PetscCall((*s->setup)(ksp));
  }
  PetscCall(AIJTCUBlockEnter(ksp, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_AIJTCU(KSP ksp)
{
  AIJTCUBlockKSP *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  PetscCall(AIJTCUBlockResetAll(s));
  if (s->reset) PetscCall((*s->reset)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_AIJTCU(KSP ksp)
{
  AIJTCUBlockKSP *s;
  PetscErrorCode (*destroy)(KSP);

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  destroy = s->destroy;
  PetscCall(PetscObjectCompose((PetscObject)ksp, KSP_KEY, NULL));
  if (destroy) PetscCall((*destroy)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a method's creator does */
PetscErrorCode AIJTCUBlockCreateKSP(KSP ksp, const AIJTCUBlockMethod *method)
{
  AIJTCUBlockKSP *s;

  PetscFunctionBegin;
  PetscCall((**method->original)(ksp));
  PetscCall(PetscNew(&s));
  s->method         = method;
  s->setup          = ksp->ops->setup;
  s->reset          = ksp->ops->reset;
  s->destroy        = ksp->ops->destroy;
  s->setupnewmatrix = ksp->setupnewmatrix;
  PetscCall(AIJTCUComposeData((PetscObject)ksp, KSP_KEY, s, AIJTCUBlockFree));
  if (method->size) PetscCall(PetscCalloc1(method->size, (char **)&s->data));
  if (method->compose) PetscCall((*method->compose)(ksp, s));
  ksp->ops->setup     = KSPSetUp_AIJTCU;
  ksp->ops->reset     = KSPReset_AIJTCU;
  ksp->ops->destroy   = KSPDestroy_AIJTCU;
  ksp->setupnewmatrix = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*@C
  MatAIJTCUKSPGetColumns - Gets how each right-hand side of the last `KSPMatSolve()` with a `MATAIJTCU` fared

  Not Collective

  Input Parameter:
. ksp - the solver

  Output Parameters:
+ n      - number of right-hand sides; 0 where there was no such solve
. reason - `KSPConvergedReason` of each, or `NULL` for not wanted
. its    - iterations of each, or `NULL`
- rnorm  - last norm of the residual of each, or `NULL`

  Level: intermediate

  Notes:
  `KSPGetConvergedReason()` has the worst of these reasons, and `KSPGetIterationNumber()` the largest of these numbers.

  With `KSPSetMatSolveBatchSize()` it is about the last batch.

  The arrays belong to `ksp`. They are there until the next solve, `KSPReset()` or `KSPSetType()`. There is nothing in
  them with a KSP whose type has no block form here, or whose operator is not a `MATAIJTCU`.

.seealso: `MATAIJTCU`, `KSPMatSolve()`, `KSPGetConvergedReason()`, `KSPGetIterationNumber()`, `KSPGetResidualNorm()`
@*/
PetscErrorCode MatAIJTCUKSPGetColumns(KSP ksp, PetscInt *n, const KSPConvergedReason *reason[], const PetscInt *its[], const PetscReal *rnorm[])
{
#if AIJTCU_HAVE_BLOCK
  AIJTCUBlockKSP *s;
#endif

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(n, 2);
  *n = 0;
  if (reason) *reason = NULL;
  if (its) *its = NULL;
  if (rnorm) *rnorm = NULL;
#if AIJTCU_HAVE_BLOCK
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  *n = s->results.N;
  if (reason) *reason = s->results.reason;
  if (its) *its = s->results.its;
  if (rnorm) *rnorm = s->results.rnorm;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
