/*
   Multigrid for a block of vectors: PCMG and PCGAMG.

   PETSc's creators of the two types are wrapped, so that their set-up is followed by ours. Where the operator has a
   plan, PCMatApply() is then ours. Levels, smoothers and the coarse solver stay PETSc's, and so does the arithmetic of
   a V or W cycle. The cycle here differs from PCMatApply_MG() in what it costs:

   - A restriction with a prolongator P is our P^T B, which keeps a transpose on a device, and in parallel. Of the
     processes, each sends its sums for coarse rows of others: these are fewer than the fine rows that it would need.
   - Where X is zero the pre-smoother is told so, which saves a product on each level.
   - Products are set up once for a width of blocks. The blocks are kept for WIDTHS widths, if they fit.
   - The residual has the other sign, A X - B: one pass over the blocks instead of two. The coarser level then has the
     other sign, too, and its solution is subtracted. No bit of the result depends on that.
   - A coarse solve of few rows, whose KSP applies a factor once, is made a matrix: what it does to the identity.
     Triangular solves with so few rows would wait for one row after the other. PCREDUNDANT, PCMG's coarse solve on
     several processes, would take one column after the other, and on the host.

   What the cycle here does not have goes to PCMatApply_MG(), and the log says why.

   KSPRICHARDSON has PCMG iterate by itself, and goes column by column where there is nothing for blocks. Where block
   solves are taken there is: PCApplyRichardson_MG() with these cycles and the Frobenius norm.
*/
#include "blockvec.h"
#include "../sparse/sparse.h"

#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcmgimpl.h>

  #define MG_KEY "MatAIJTCUMultigrid"

enum {
  COARSE = 512, /* the most rows of a coarse solve that is made a matrix */
  WIDTHS = 4    /* a method that narrows its block by halves, and comes back to the full width, uses two; LOBPCG four */
};

/* A matrix of PCMG, and what tells whether it is still as it was when something was made for it */
typedef struct {
  Mat              mat;
  PetscObjectState state;
} AIJTCUMGGiven;

typedef enum { /* what such a matrix is for */
  OPERATOR,
  TRANSFER,
  FACTOR
} AIJTCUMGWhat;

/* A transfer between two levels: what PCMG has, and what is multiplied with. That is the same, or a copy */
typedef struct {
  AIJTCUMGGiven given;
  Mat           used;
  PetscBool     transposed; /* the transfer is the transpose of used */
} AIJTCUMGTransfer;

/* What level l has, and its transfers to and from level l - 1. The coarsest has nothing */
typedef struct {
  AIJTCUMGGiven    A;
  AIJTCUMGTransfer down, up;
} AIJTCUMGOperators;

/*
   Blocks of a level. On the finest level b and x are the caller's. All but x are what a product makes:

     r = A x, which becomes A x - b
     b = down r, with r of the finer level
     e = up x, with x of the coarser level
*/
typedef struct {
  Mat b, x, r, e;
} AIJTCUMGBlocks;

typedef struct {
  PetscBool      coarse; /* the coarse x is a product: s->coarse b */
  Mat            finest; /* tells a width: r of the finest level. NULL where nothing is kept */
  PetscInt       decide; /* columns of the whole that it is a part of */
  PetscInt64     used;   /* when it was last used */
  AIJTCUMGBlocks level[PETSC_MG_MAXLEVELS];
} AIJTCUMGWidth;

typedef struct {
  PetscErrorCode (*setup)(PC); /* PETSc's functions behind ours */
  PetscErrorCode (*reset)(PC);
  PetscErrorCode (*destroy)(PC);
  PetscErrorCode (*apply)(PC, Vec, Vec);
  PetscErrorCode (*matapply)(PC, Mat, Mat);
  PetscErrorCode (*matapplytranspose)(PC, Mat, Mat);
  PetscErrorCode (*matapplyrichardson)(PC, Mat, Mat, Mat, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *);
  PetscBool         plan;    /* the operator has one */
  PetscBool         taken;   /* block solves are: on a device, or always */
  PetscInt          nlevels; /* of what is kept */
  PetscInt64        applied;
  char              elsewhere[32]; /* type of blocks that are not where the products are made */
  AIJTCUMGOperators operators[PETSC_MG_MAXLEVELS];
  Mat               coarse;       /* the coarse solve as a matrix, NULL if it is not made one */
  AIJTCUMGGiven     coarse_of;    /* its factor */
  PetscObjectId     no_coarse_id; /* of the operator of which there is none, and its pattern; 0 for none */
  PetscObjectState  no_coarse_state;
  AIJTCUMGWidth     widths[WIDTHS];
  #if AIJTCU_HAVE_DEVICE_REAL
  AIJTCUMGVector vector;     /* a cycle for one vector */
  PetscBool      not_vector; /* there is none for this set-up */
  #endif
} AIJTCUMG;

static PetscErrorCode AIJTCUMGGet(PC pc, AIJTCUMG **s)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)pc, MG_KEY, s));
  PetscCheck(*s, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB, "A function of aijtcu was copied to a preconditioner without its data");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGWidthDrop(AIJTCUMGWidth *width)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < PETSC_MG_MAXLEVELS; l++) {
    AIJTCUMGBlocks *level = &width->level[l];

    if (level->r) PetscCall(MatProductClear(level->r)); /* e of a product with r is an operand of that */
    PetscCall(MatDestroy(&level->b));
    PetscCall(MatDestroy(&level->x));
    PetscCall(MatDestroy(&level->r));
    PetscCall(MatDestroy(&level->e));
  }
  width->finest = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGTransferDrop(AIJTCUMGTransfer *t)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&t->given.mat));
  PetscCall(MatDestroy(&t->used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGCoarseDrop(AIJTCUMG *s)
{
  PetscFunctionBegin;
  if (s->coarse) { /* products with it */
    for (PetscInt i = 0; i < WIDTHS; i++) PetscCall(AIJTCUMGWidthDrop(&s->widths[i]));
  }
  PetscCall(MatDestroy(&s->coarse));
  PetscCall(MatDestroy(&s->coarse_of.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Give back all that is kept. The products among it have references to PETSc's levels */
static PetscErrorCode AIJTCUMGDrop(AIJTCUMG *s)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE_REAL
  PetscCall(AIJTCUMGVectorDestroy(&s->vector));
  #endif
  PetscCall(AIJTCUMGCoarseDrop(s));
  for (PetscInt i = 0; i < WIDTHS; i++) PetscCall(AIJTCUMGWidthDrop(&s->widths[i]));
  for (PetscInt l = 0; l < PETSC_MG_MAXLEVELS; l++) {
    PetscCall(MatDestroy(&s->operators[l].A.mat));
    PetscCall(AIJTCUMGTransferDrop(&s->operators[l].down));
    PetscCall(AIJTCUMGTransferDrop(&s->operators[l].up));
  }
  s->nlevels      = 0;
  s->elsewhere[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGFree(PetscCtxRt ctx)
{
  AIJTCUMG **s = (AIJTCUMG **)ctx;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGDrop(*s));
  PetscCall(PetscFree(*s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGChangesRHS(KSP smoother, PetscBool *changes)
{
  PC pc;

  PetscFunctionBegin;
  *changes = PETSC_FALSE;
  PetscCall(KSPGetPC(smoother, &pc));
  PetscTryMethod(pc, "PCPreSolveChangeRHS_C", (PC, PetscBool *), (pc, changes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The interpolation of a DMDA with several unknowns a point is a MATMAIJ */
static PetscErrorCode AIJTCUMGIsTransfer(Mat A, PetscBool *is)
{
  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (A) PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, is, MATSEQAIJ, MATMPIAIJ, ""));
  if (A && !*is) PetscCall(PetscObjectTypeCompareAny((PetscObject)A, is, MATSEQMAIJ, MATMPIMAIJ, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As PCApply_MG_Internal() begins: a level has no operator where a DM makes it, or GAMG has made new levels */
static PetscErrorCode AIJTCUMGCompleteLevels(PC_MG *mg)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < mg->levels[0]->levels; l++) {
    PC_MG_Levels *level = mg->levels[l];

    if (level->A) continue;
    PetscCall(KSPGetOperators(level->smoothu, &level->A, NULL));
    PetscCall(PetscObjectReference((PetscObject)level->A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why a cycle of this PCMG is not one of ours; NULL if it is. The same on all processes */
static PetscErrorCode AIJTCUMGLacks(PC pc, const char **why)
{
  PC_MG         *mg      = (PC_MG *)pc->data;
  PC_MG_Levels **levels  = mg->levels;
  const PetscInt nlevels = levels[0]->levels;
  PetscBool      changes[2], is[2];

  PetscFunctionBegin;
  *why = NULL;
  if (mg->am != PC_MG_MULTIPLICATIVE) *why = "its cycle is not multiplicative";
  else if (mg->cyclesperpcapply < 1) *why = "it has no cycle";
  else if (nlevels < 2) *why = "it has one level";
  for (PetscInt l = 1; l < nlevels && !*why; l++) {
    PetscCall(AIJTCUMGIsTransfer(levels[l]->restrct, &is[0]));
    PetscCall(AIJTCUMGIsTransfer(levels[l]->interpolate, &is[1]));
    if (!is[0] || !is[1]) *why = "a transfer between its levels is neither a MATAIJ nor a MATMAIJ";
    else if (levels[l]->matresidual != PCMGMatResidualDefault) *why = "a residual is computed by a function of the program";
    else if (levels[l]->cr) *why = "it has compatible relaxation";
  }
  if (!*why) {
    PetscCall(AIJTCUMGChangesRHS(levels[nlevels - 1]->smoothd, &changes[0]));
    PetscCall(AIJTCUMGChangesRHS(levels[nlevels - 1]->smoothu, &changes[1]));
    if (changes[0] || changes[1]) *why = "a smoother changes the right-hand side";
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What changes with a matrix. For an operator, and a transfer with a plan, it is the pattern: products take new values.
   Of another transfer there is a copy, of its values, too. A factor has other values, too
*/
static PetscErrorCode AIJTCUMGGivenState(Mat A, AIJTCUMGWhat what, PetscObjectState *state)
{
  AIJTCUPlan *plan = NULL;

  PetscFunctionBegin;
  if (what == TRANSFER) PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan || what == OPERATOR) PetscCall(MatGetNonzeroState(A, state));
  else PetscCall(PetscObjectStateGet((PetscObject)A, state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reference keeps the address from being another matrix's */
static PetscErrorCode AIJTCUMGGivenSet(AIJTCUMGGiven *given, Mat A, AIJTCUMGWhat what)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)A));
  given->mat = A;
  PetscCall(AIJTCUMGGivenState(A, what, &given->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGGivenIs(const AIJTCUMGGiven *given, Mat A, AIJTCUMGWhat what, PetscBool *is)
{
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGGivenState(A, what, &state));
  *is = (PetscBool)(*is && given->mat == A && given->state == state);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether what is kept was made for the matrices of PCMG */
static PetscErrorCode AIJTCUMGOperatorsAre(const AIJTCUMG *s, const PC_MG *mg, PetscBool *are)
{
  PetscFunctionBegin;
  *are = (PetscBool)(s->nlevels == mg->levels[0]->levels);
  for (PetscInt l = 1; l < s->nlevels && *are; l++) {
    PetscCall(AIJTCUMGGivenIs(&s->operators[l].A, mg->levels[l]->A, OPERATOR, are));
    PetscCall(AIJTCUMGGivenIs(&s->operators[l].down.given, mg->levels[l]->restrct, TRANSFER, are));
    PetscCall(AIJTCUMGGivenIs(&s->operators[l].up.given, mg->levels[l]->interpolate, TRANSFER, are));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   PCMG takes a transfer or its transpose, and tells by the shape which of them it got. One without a plan is copied to
   the type of the finest operator: a MATMAIJ, or a matrix of the host
*/
static PetscErrorCode AIJTCUMGTransferSet(AIJTCUMGTransfer *t, Mat given, PetscBool transposed, MatType type)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGGivenSet(&t->given, given, TRANSFER));
  PetscCall(AIJTCUGetPlan(given, &plan));
  if (plan) {
    PetscCall(PetscObjectReference((PetscObject)given));
    t->used = given;
  } else {
    PetscCall(MatConvert(given, MATAIJ, MAT_INITIAL_MATRIX, &t->used));
    PetscCall(MatConvert(t->used, type, MAT_INPLACE_MATRIX, &t->used));
  }
  t->transposed = transposed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let what is kept be that of PCMG's levels as they are now */
static PetscErrorCode AIJTCUMGOperatorsSync(PC pc, AIJTCUMG *s)
{
  const PC_MG   *mg      = (PC_MG *)pc->data;
  const PetscInt nlevels = mg->levels[0]->levels;
  MatType        type;
  PetscBool      are;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGOperatorsAre(s, mg, &are));
  if (are) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUMGDrop(s));
  PetscCall(MatGetType(pc->pmat, &type));
  for (PetscInt l = 1; l < nlevels; l++) {
    const PC_MG_Levels *level = mg->levels[l];
    const PetscInt      fine  = level->A->rmap->N;
    AIJTCUMGOperators  *op    = &s->operators[l];

    PetscCall(AIJTCUMGGivenSet(&op->A, level->A, OPERATOR));
    PetscCall(AIJTCUMGTransferSet(&op->down, level->restrct, (PetscBool)(level->restrct->rmap->N == fine), type));
    PetscCall(AIJTCUMGTransferSet(&op->up, level->interpolate, (PetscBool)(level->interpolate->rmap->N != fine), type));
  }
  s->nlevels = nlevels; /* last: after an error all is made anew */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatProductSymbolic() binds C to the host where A is bound and says that this propagates, as prolongators of PCGAMG
   do. MatAXPY() with such a C would add old numbers (bounddense.c of src/upstream): the cycle's blocks are as X is,
   which is not bound
*/
static PetscErrorCode AIJTCUMGProductCreate(Mat A, PetscBool transposed, Mat B, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, B, NULL, C));
  PetscCall(MatProductSetType(*C, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscCall(MatBindToCPU(*C, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor, if all that a solve does is to apply it once: that is a matrix. NULL if it does something else */
static PetscErrorCode AIJTCUMGFactorOf(KSP ksp, Mat *F)
{
  PetscBool preonly, factor, bjacobi, redundant, nonzero;
  PetscInt  n = 0;
  PC        pc;
  KSP      *sub;

  PetscFunctionBegin;
  *F = NULL;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, &preonly));
  PetscCall(KSPGetInitialGuessNonzero(ksp, &nonzero));
  if (!preonly || nonzero) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &factor, PCLU, PCCHOLESKY, PCILU, PCICC, ""));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBJACOBI, &bjacobi));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCREDUNDANT, &redundant));
  if (factor) PetscCall(PCFactorGetMatrix(pc, F));
  if (bjacobi) PetscCall(PCBJacobiGetSubKSP(pc, &n, NULL, &sub));
  if (n == 1) PetscCall(AIJTCUMGFactorOf(sub[0], F));
  if (redundant) {
    KSP inner;

    PetscCall(PCRedundantGetKSP(pc, &inner));
    PetscCall(KSPSetUp(inner)); /* PETSc leaves it to the first solve */
    PetscCall(AIJTCUMGFactorOf(inner, F));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a product with the inverse of A has digits: two thirds of them may cancel. Where A is singular, and its
   factor was shifted, all do. The norms are over all rows; that of one row is smaller by the root of their number
*/
static PetscErrorCode AIJTCUMGInverseIsAccurate(Mat A, Mat inverse, PetscBool *is)
{
  const PetscReal most = PetscSqrtReal((PetscReal)A->rmap->N) * PetscPowReal(PETSC_MACHINE_EPSILON, -2 / (PetscReal)3);
  PetscReal       norm, inverse_norm;

  PetscFunctionBegin;
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  PetscCall(MatNorm(inverse, NORM_FROBENIUS, &inverse_norm));
  *is = (PetscBool)(norm * inverse_norm <= most); /* not with NaN */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The coarse solve of the identity, as a sparse matrix, for products with blocks of a type. NULL if the solve fails, or
   if digits are lost
*/
static PetscErrorCode AIJTCUMGCoarseSolveIdentity(KSP ksp, Mat A, MatType type, MatType dense, Mat *coarse)
{
  const MPI_Comm     comm = PetscObjectComm((PetscObject)A);
  Mat                identity, inverse;
  KSPConvergedReason reason;
  PetscBool          solved;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(comm, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N, NULL, &identity));
  PetscCall(MatShift(identity, 1));
  PetscCall(MatConvert(identity, dense, MAT_INPLACE_MATRIX, &identity));
  PetscCall(MatDuplicate(identity, MAT_DO_NOT_COPY_VALUES, &inverse));
  PetscCall(KSPMatSolve(ksp, identity, inverse));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatDestroy(&identity));
  solved = (PetscBool)(reason > 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &solved, 1, MPI_C_BOOL, MPI_LAND, comm));
  if (solved) {
    PetscCall(MatConvert(inverse, MATDENSE, MAT_INPLACE_MATRIX, &inverse));
    PetscCall(AIJTCUMGInverseIsAccurate(A, inverse, &solved));
  }
  if (solved) {
    PetscCall(MatConvert(inverse, MATAIJ, MAT_INITIAL_MATRIX, coarse));
    PetscCall(MatConvert(*coarse, type, MAT_INPLACE_MATRIX, coarse));
  }
  PetscCall(MatDestroy(&inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let s->coarse be the coarse solve as it is now, if it is made a matrix: where blocks are taken */
static PetscErrorCode AIJTCUMGCoarseSync(PC pc, AIJTCUMG *s, MatType dense)
{
  const KSP     ksp = ((PC_MG *)pc->data)->levels[0]->smoothd;
  MatType       type;
  MatSolverType solver;
  PetscBool     cusparse;
  Mat           A, F;
  PetscObjectId id;
  enum {
    HAVE, /* a factor */
    SAME, /* that s->coarse is of */
    NONE, /* there was none before */
    NQUESTIONS
  };
  PetscBool all[NQUESTIONS] = {PETSC_TRUE, PETSC_TRUE, PETSC_TRUE}, same = PETSC_TRUE;

  PetscFunctionBegin;
  if (!s->taken) { /* nor is what was made before, as of an operator that is bound to the host now */
    PetscCall(AIJTCUMGCoarseDrop(s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(KSPGetOperators(ksp, NULL, &A));
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(AIJTCUMGFactorOf(ksp, &F));
  all[HAVE] = (PetscBool)(F && A->rmap->N <= COARSE);
  all[NONE] = (PetscBool)!s->coarse_of.mat;
  /*
     Nobody need ask the others where nothing has changed: all processes factor anew, or none. Where some have no factor
     the operator tells, of which all know the state
  */
  if (F && !all[NONE]) PetscCall(AIJTCUMGGivenIs(&s->coarse_of, F, FACTOR, &same));
  else if (all[NONE]) same = (PetscBool)(s->no_coarse_id == id && s->no_coarse_state == A->nonzerostate);
  if ((F || all[NONE]) && same) PetscFunctionReturn(PETSC_SUCCESS);
  if (F && !all[NONE]) PetscCall(AIJTCUMGGivenIs(&s->coarse_of, F, FACTOR, &all[SAME]));
  else all[SAME] = PETSC_FALSE;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, NQUESTIONS, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)pc)));
  s->no_coarse_id    = all[HAVE] ? 0 : id;
  s->no_coarse_state = A->nonzerostate;
  if (all[all[HAVE] ? SAME : NONE]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUMGCoarseDrop(s));
  if (!all[HAVE]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetType(pc->pmat, &type));
  PetscCall(MatFactorGetSolverType(F, &solver));
  PetscCall(PetscStrcmp(solver, MATSOLVERCUSPARSE, &cusparse));
  /* other factors take blocks of the host alone */
  PetscCall(AIJTCUMGCoarseSolveIdentity(ksp, A, type, cusparse ? dense : MATDENSE, &s->coarse));
  if (s->coarse) PetscCall(PetscInfo(pc, "aijtcu: the coarse solve of %" PetscInt_FMT " rows is made a matrix\n", A->rmap->N));
  PetscCall(AIJTCUMGGivenSet(&s->coarse_of, F, FACTOR)); /* last: after an error it is made anew */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGSameType(Mat A, Mat B, PetscBool *same)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, ((PetscObject)B)->type_name, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the blocks of a width are for X */
static PetscErrorCode AIJTCUMGWidthFits(const AIJTCUMGWidth *width, Mat X, PetscBool *fits)
{
  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  if (!width->finest || width->decide != AIJTCUWholeColumns(0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUMGSameType(width->finest, X, fits));
  if (*fits) PetscCall(PetscLayoutCompare(width->finest->cmap, X->cmap, fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set up all products. They are not usable if one is not made where X is: blocks would be copied in each cycle */
static PetscErrorCode AIJTCUMGWidthCreate(const AIJTCUMG *s, AIJTCUMGWidth *width, Mat X, PetscBool *usable)
{
  const PetscInt finest = s->nlevels - 1;

  PetscFunctionBegin;
  *usable = PETSC_TRUE;
  for (PetscInt l = finest; l > 0 && *usable; l--) {
    const AIJTCUMGOperators *op   = &s->operators[l];
    AIJTCUMGBlocks          *fine = &width->level[l], *coarse = &width->level[l - 1];

    PetscCall(AIJTCUMGProductCreate(op->A.mat, PETSC_FALSE, l == finest ? X : fine->x, &fine->r));
    PetscCall(AIJTCUMGProductCreate(op->down.used, op->down.transposed, fine->r, &coarse->b));
    if (l == 1 && s->coarse) PetscCall(AIJTCUMGProductCreate(s->coarse, PETSC_FALSE, coarse->b, &coarse->x));
    else PetscCall(MatDuplicate(coarse->b, MAT_DO_NOT_COPY_VALUES, &coarse->x));
    PetscCall(AIJTCUMGProductCreate(op->up.used, op->up.transposed, coarse->x, &fine->e));
    PetscCall(AIJTCUMGSameType(fine->r, X, usable));
    if (*usable) PetscCall(AIJTCUMGSameType(coarse->b, X, usable));
    if (*usable) PetscCall(AIJTCUMGSameType(fine->e, X, usable));
  }
  width->finest = width->level[finest].r;
  width->coarse = (PetscBool)(s->coarse != NULL);
  width->decide = AIJTCUWholeColumns(0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether blocks for X are made beside those of other widths. On a device they are if all of them are within what
   -mat_aijtcu_workspace_max allows. The same on all processes
*/
static PetscErrorCode AIJTCUMGWidthsFit(const AIJTCUMG *s, Mat X, PetscBool *fit)
{
  PetscFunctionBegin;
  *fit = PETSC_TRUE;
  #if AIJTCU_HAVE_DEVICE
  {
    PetscInt  columns = X->cmap->N;
    size_t    rows    = 0;
    PetscBool device;

    PetscCall(PetscObjectTypeCompareAny((PetscObject)X, &device, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
    if (!device) PetscFunctionReturn(PETSC_SUCCESS);
    for (PetscInt i = 0; i < WIDTHS; i++) columns += s->widths[i].finest ? s->widths[i].finest->cmap->N : 0;
    for (PetscInt l = 1; l < s->nlevels; l++) {
      const AIJTCUMGTransfer *down = &s->operators[l].down;

      rows += 2 * (size_t)(s->operators[l].A.mat->rmap->n + (down->transposed ? down->used->cmap->n : down->used->rmap->n));
    }
    PetscCall(AIJTCUWorkspaceFits(rows * (size_t)columns * sizeof(PetscScalar), fit));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, fit, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)X)));
  }
  #else
  (void)s;
  (void)X;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The blocks for X: kept ones, or new ones in place of those that were used the longest ago. There are none if the
   products are not where X is
*/
static PetscErrorCode AIJTCUMGWidthGet(AIJTCUMG *s, Mat X, AIJTCUMGWidth **got)
{
  AIJTCUMGWidth *width = &s->widths[0];
  PetscBool      fits, usable;

  PetscFunctionBegin;
  *got = NULL;
  PetscCall(PetscObjectTypeCompare((PetscObject)X, s->elsewhere, &fits));
  if (fits) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < WIDTHS; i++) {
    PetscCall(AIJTCUMGWidthFits(&s->widths[i], X, &fits));
    if (fits) *got = &s->widths[i];
    if (!s->widths[i].finest || (width->finest && s->widths[i].used < width->used)) width = &s->widths[i];
  }
  if (!*got) {
    PetscCall(AIJTCUMGWidthDrop(width));
    PetscCall(AIJTCUMGWidthsFit(s, X, &fits));
    for (PetscInt i = 0; i < WIDTHS && !fits; i++) PetscCall(AIJTCUMGWidthDrop(&s->widths[i]));
    PetscCall(AIJTCUMGWidthCreate(s, width, X, &usable));
    if (!usable) {
      PetscCall(AIJTCUMGWidthDrop(width));
      PetscCall(PetscStrncpy(s->elsewhere, ((PetscObject)X)->type_name, sizeof(s->elsewhere)));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    *got = width;
  }
  (*got)->used = ++s->applied;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGEventBegin(PetscLogEvent event)
{
  PetscFunctionBegin;
  if (event) PetscCall(PetscLogEventBegin(event, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGEventEnd(PetscLogEvent event)
{
  PetscFunctionBegin;
  if (event) PetscCall(PetscLogEventEnd(event, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smooth, or solve on the coarsest level. zero says that X stands for zero, whatever is in it */
static PetscErrorCode AIJTCUMGSmooth(PC pc, const PC_MG_Levels *level, KSP smoother, PetscBool zero, Mat B, Mat X)
{
  PetscBool      nonzero;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGEventBegin(level->eventsmoothsolve));
  PetscCall(KSPGetInitialGuessNonzero(smoother, &nonzero));
  if (zero) PetscCall(KSPSetInitialGuessNonzero(smoother, PETSC_FALSE));
  ierr = KSPMatSolve(smoother, B, X);
  if (zero) PetscCall(KSPSetInitialGuessNonzero(smoother, nonzero)); /* after an error, too */
  PetscCall(ierr);
  PetscCall(KSPCheckMatSolve(smoother, pc, X));
  PetscCall(AIJTCUMGEventEnd(level->eventsmoothsolve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The iterations of a PCMG that stands alone, until the residual of all columns is small enough */
typedef struct {
  AIJTCUBlockCtx              norms; /* NULL where nothing is tested */
  PetscReal                   tolerance, abstol;
  PCRichardsonConvergedReason reason;
} AIJTCUMGIterations;

/* The Frobenius norm. MatNorm() would bring a block of the device to the host */
static PetscErrorCode AIJTCUMGBlockNorm(AIJTCUBlockCtx ctx, Mat X, PetscReal *norm)
{
  const PetscInt N   = X->cmap->N;
  PetscReal      sum = 0;
  PetscScalar   *squares;
  PetscBool      usable;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCtxSetUp(ctx, X, 1, &usable));
  if (!usable) {
    PetscCall(MatNorm(X, NORM_FROBENIUS, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUBlockDots(ctx, 1, &X, X, AIJTCUBlockScalars(ctx, 0)));
  PetscCall(PetscMalloc1(N, &squares));
  PetscCall(AIJTCUBlockToHost(ctx, 1, AIJTCUBlockScalars(ctx, 0), squares));
  for (PetscInt j = 0; j < N; j++) sum += PetscRealPart(squares[j]);
  PetscCall(PetscFree(squares));
  *norm = PetscSqrtReal(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the residual R ends the iterations */
static PetscErrorCode AIJTCUMGTestResidual(PC pc, AIJTCUMGIterations *test, Mat R)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGBlockNorm(test->norms, R, &norm));
  if (norm <= test->tolerance) {
    test->reason = norm < test->abstol ? PCRICHARDSON_CONVERGED_ATOL : PCRICHARDSON_CONVERGED_RTOL;
    PetscCall(PetscInfo(pc, "aijtcu: %" PetscInt_FMT " columns have converged. Norm of all residuals %g, tolerance %g\n", R->cmap->N, (double)norm, (double)test->tolerance));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One cycle for A X = B on level l and those below. The residual after the first smoother of the finest level is
   tested, where there is a test
*/
static PetscErrorCode AIJTCUMGCycle(PC pc, AIJTCUMGWidth *width, PetscInt l, PetscBool zero, Mat B, Mat X, AIJTCUMGIterations *test)
{
  const PC_MG_Levels *level = ((PC_MG *)pc->data)->levels[l];
  AIJTCUMGBlocks     *fine = &width->level[l], *coarse = l ? &width->level[l - 1] : NULL;
  const PetscInt      cycles = l == 1 ? 1 : (PetscInt)level->cycles; /* the coarsest level is solved once */

  PetscFunctionBegin;
  if (!l && width->coarse) {
    PetscCall(AIJTCUMGEventBegin(level->eventsmoothsolve));
    PetscCall(MatProductNumeric(X));
    PetscCall(AIJTCUMGEventEnd(level->eventsmoothsolve));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUMGSmooth(pc, level, level->smoothd, zero, B, X));
  if (!l) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUMGEventBegin(level->eventresidual));
  PetscCall(MatProductNumeric(fine->r));
  PetscCall(MatAXPY(fine->r, -1, B, SAME_NONZERO_PATTERN));
  PetscCall(AIJTCUMGEventEnd(level->eventresidual));
  if (test && test->norms) {
    PetscCall(AIJTCUMGTestResidual(pc, test, fine->r));
    if (test->reason) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUMGEventBegin(level->eventinterprestrict));
  PetscCall(MatProductNumeric(coarse->b));
  PetscCall(AIJTCUMGEventEnd(level->eventinterprestrict));
  for (PetscInt i = 0; i < cycles; i++) PetscCall(AIJTCUMGCycle(pc, width, l - 1, (PetscBool)(i == 0), coarse->b, coarse->x, NULL));
  PetscCall(AIJTCUMGEventBegin(level->eventinterprestrict));
  PetscCall(MatProductNumeric(fine->e));
  PetscCall(MatAXPY(X, -1, fine->e, SAME_NONZERO_PATTERN));
  PetscCall(AIJTCUMGEventEnd(level->eventinterprestrict));
  PetscCall(AIJTCUMGSmooth(pc, level, level->smoothu, PETSC_FALSE, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many cycles at most; done says how many were gone through. zero says that X stands for zero at first */
static PetscErrorCode AIJTCUMGCycles(PC pc, AIJTCUMGWidth *width, PetscInt most, PetscBool zero, Mat B, Mat X, AIJTCUMGIterations *test, PetscInt *done)
{
  const PetscInt finest = ((PC_MG *)pc->data)->levels[0]->levels - 1;

  PetscFunctionBegin;
  for (*done = 0; *done < most; ++*done) {
    PetscCall(AIJTCUMGCycle(pc, width, finest, (PetscBool)(zero && *done == 0), B, X, test));
    if (test && test->reason) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCApplyRichardson_MG() from where the levels have their operators */
static PetscErrorCode AIJTCUMGIterate(PC pc, AIJTCUMGWidth *width, PetscReal rtol, PetscReal abstol, PetscInt most, PetscBool zero, Mat B, Mat X, AIJTCUMGIterations *test, PetscInt *done)
{
  PC_MG         *mg     = (PC_MG *)pc->data;
  const PetscInt finest = mg->levels[0]->levels - 1;
  const Mat      R      = width->level[finest].r;
  PetscReal      norm;

  PetscFunctionBegin;
  test->tolerance = test->abstol = abstol;
  if (rtol && zero) PetscCall(AIJTCUMGBlockNorm(test->norms, B, &norm));
  else if (rtol) {
    PetscCall(MatProductNumeric(R));
    PetscCall(MatAXPY(R, -1, B, SAME_NONZERO_PATTERN));
    PetscCall(AIJTCUMGBlockNorm(test->norms, R, &norm));
  }
  if (rtol) test->tolerance = PetscMax(rtol * norm, abstol);
  if (!test->tolerance) PetscCall(AIJTCUBlockCtxDestroy(&test->norms));
  /* Smoothers go on from where they are, and the residual may be small */
  for (PetscInt l = 1; l <= finest; l++) {
    const PC_MG_Levels *level = mg->levels[l];

    PetscCall(KSPSetTolerances(level->smoothu, 0, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    if (level->smoothu == level->smoothd) continue;
    PetscCall(KSPSetInitialGuessNonzero(level->smoothd, PETSC_TRUE));
    PetscCall(KSPSetTolerances(level->smoothd, 0, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  }
  PetscCall(AIJTCUMGCycles(pc, width, most, zero, B, X, test, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   X is an operand of the product with the finest level's A from AIJTCUMGBegin() to AIJTCUMGEnd(). So the caller's X is
   not kept
*/
static PetscErrorCode AIJTCUMGBegin(PC pc, const AIJTCUMGWidth *width, Mat X)
{
  const PC_MG *mg = (PC_MG *)pc->data;

  PetscFunctionBegin;
  PetscCall(MatProductReplaceMats(NULL, X, NULL, width->level[mg->levels[0]->levels - 1].r));
  PetscCall(PetscInfo(pc, "aijtcu: %" PetscInt_FMT " columns by a cycle for blocks\n", X->cmap->N));
  if (mg->stageApply) PetscCall(PetscLogStagePush(mg->stageApply));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGEnd(PC pc, const AIJTCUMGWidth *width)
{
  const PC_MG          *mg   = (PC_MG *)pc->data;
  const AIJTCUMGBlocks *fine = &width->level[mg->levels[0]->levels - 1];

  PetscFunctionBegin;
  if (mg->stageApply) PetscCall(PetscLogStagePop());
  PetscCall(MatProductReplaceMats(NULL, fine->e, NULL, fine->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks for B and X. There are none where the cycle is PETSc's; the log says why */
static PetscErrorCode AIJTCUMGCycleGet(PC pc, Mat B, Mat X, AIJTCUMG **s, AIJTCUMGWidth **width)
{
  const char *why;
  PetscBool   same;

  PetscFunctionBegin;
  *width = NULL;
  PetscCall(AIJTCUMGGet(pc, s));
  PetscCall(AIJTCUMGCompleteLevels((PC_MG *)pc->data));
  PetscCall(AIJTCUMGLacks(pc, &why));
  if (!why) {
    PetscCall(AIJTCUMGSameType(B, X, &same));
    if (same) {
      PetscCall(AIJTCUMGOperatorsSync(pc, *s));
      PetscCall(AIJTCUMGCoarseSync(pc, *s, ((PetscObject)X)->type_name));
      PetscCall(AIJTCUMGWidthGet(*s, X, width));
    }
    if (!*width) why = "its right-hand sides or solutions are not where its operator is";
  }
  if (why) PetscCall(PetscInfo(pc, "aijtcu: %" PetscInt_FMT " columns by PETSc's cycle: %s\n", X->cmap->N, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGMatApply(PC pc, Mat B, Mat X)
{
  AIJTCUMG      *s;
  AIJTCUMGWidth *width;
  PetscErrorCode ierr;
  PetscInt       done;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGCycleGet(pc, B, X, &s, &width));
  if (!width) {
    PetscCall((*s->matapply)(pc, B, X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUMGBegin(pc, width, X));
  ierr = AIJTCUMGCycles(pc, width, ((PC_MG *)pc->data)->cyclesperpcapply, PETSC_TRUE, B, X, NULL, &done);
  PetscCall(AIJTCUMGEnd(pc, width));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both cycles, ours and PETSc's, call MatAXPY() with B. PCHMG, which has its own set-up, comes by here, too */
static PetscErrorCode PCMatApply_MG_AIJTCU(PC pc, Mat B, Mat X)
{
  AIJTCUMG *s;
  Mat       b, x;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGGet(pc, &s));
  PetscCall(AIJTCUBoundBegin(B, &b));
  PetscCall(AIJTCUBoundBegin(X, &x));
  if (s->plan) PetscCall(AIJTCUMGMatApply(pc, b, x));
  else PetscCall((*s->matapply)(pc, b, x));
  PetscCall(AIJTCUBoundEnd(B, &b));
  PetscCall(AIJTCUBoundEnd(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column after the other, as KSPMatSolve_Richardson() does it for a preconditioner that has nothing for blocks */
static PetscErrorCode AIJTCUMGRichardsonColumns(PC pc, Mat B, Mat X, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt most, PetscBool zero, PetscInt *its, PCRichardsonConvergedReason *reason)
{
  Vec b, x, w;

  PetscFunctionBegin;
  *its    = 0;
  *reason = PCRICHARDSON_CONVERGED_ITS;
  for (PetscInt j = 0; j < X->cmap->N; j++) {
    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(MatDenseGetColumnVec(X, j, &x));
    PetscCall(VecDuplicate(b, &w));
    PetscCall(PCApplyRichardson(pc, b, x, w, rtol, abstol, dtol, most, zero, its, reason));
    PetscCall(VecDestroy(&w));
    PetscCall(MatDenseRestoreColumnVec(X, j, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCMatApplyRichardson_MG_AIJTCU(PC pc, Mat B, Mat X, Mat W, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt most, PetscBool zero, PetscInt *its, PCRichardsonConvergedReason *reason)
{
  AIJTCUMGIterations test = {.reason = PCRICHARDSON_NOT_SET};
  AIJTCUMG          *s;
  AIJTCUMGWidth     *width;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  (void)W;
  PetscCall(AIJTCUMGCycleGet(pc, B, X, &s, &width));
  if (!width) {
    PetscCall(AIJTCUMGRichardsonColumns(pc, B, X, rtol, abstol, dtol, most, zero, its, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUBlockCtxCreate(&test.norms));
  PetscCall(AIJTCUMGBegin(pc, width, X));
  ierr = AIJTCUMGIterate(pc, width, rtol, abstol, most, zero, B, X, &test, its);
  PetscCall(AIJTCUMGEnd(pc, width));
  PetscCall(AIJTCUBlockCtxDestroy(&test.norms));
  PetscCall(ierr);
  *reason = test.reason ? test.reason : PCRICHARDSON_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether cycles for one vector shall be in single precision */
static PetscBool AIJTCUMGWantsSingle(const AIJTCUPlan *plan)
{
  return (PetscBool)(plan && AIJTCUGetOptions(plan)->mg_precision == MAT_AIJTCU_MG_PRECISION_SINGLE);
}

  #if AIJTCU_HAVE_DEVICE_REAL
/* x of one vector, where the cycle is the plain one */
static PetscErrorCode AIJTCUMGApplyVector(PC pc, AIJTCUMG *s, Vec b, Vec x, PetscBool *done)
{
  const PC_MG        *mg = (PC_MG *)pc->data;
  AIJTCUMGVectorLevel level[PETSC_MG_MAXLEVELS];
  AIJTCUPlan         *plan;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(AIJTCUMGOperatorsSync(pc, s));
  PetscCall(AIJTCUMGCoarseSync(pc, s, MATSEQDENSECUDA));
  if (!s->coarse || AIJTCUKSPIsWatched(mg->levels[0]->smoothd)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 1; l < s->nlevels; l++) {
    const PC_MG_Levels      *given = mg->levels[l];
    const AIJTCUMGOperators *op    = &s->operators[l];

    level[l] = (AIJTCUMGVectorLevel){.A = given->A, .down = op->down.used, .up = op->up.used, .down_transposed = op->down.transposed, .up_transposed = op->up.transposed, .smoother = {given->smoothd, given->smoothu}, .cycles = (PetscInt)given->cycles};
  }
  PetscCall(AIJTCUGetPlan(pc->pmat, &plan));
  PetscCall(AIJTCUMGVectorApply(pc, &s->vector, s->nlevels, level, s->coarse, mg->cyclesperpcapply, AIJTCUMGWantsSingle(plan), b, x, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_MG_AIJTCU(PC pc, Vec b, Vec x)
{
  AIJTCUMG   *s;
  const char *why  = NULL;
  PetscBool   done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGGet(pc, &s));
  if (!s->not_vector) {
    PetscCall(AIJTCUMGCompleteLevels((PC_MG *)pc->data));
    PetscCall(AIJTCUMGLacks(pc, &why));
    if (!why) PetscCall(AIJTCUMGApplyVector(pc, s, b, x, &done));
    if (!done) {
      s->not_vector = PETSC_TRUE;
      PetscCall(PetscInfo(pc, "aijtcu: one vector by PETSc's cycle: %s\n", why ? why : "a smoother, a transfer or the coarse solve is not the plain one"));
    }
  }
  if (!done) PetscCall((*s->apply)(pc, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Runs for every new operator, and for new values */
static PetscErrorCode PCSetUp_MG_AIJTCU(PC pc)
{
  AIJTCUMG      *s;
  AIJTCUPlan    *plan;
  PetscBool      device = PETSC_FALSE, gamg;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGGet(pc, &s));
  /* GAMG makes new levels: let go of the old ones first */
  if (!pc->setupcalled || pc->flag == DIFFERENT_NONZERO_PATTERN) PetscCall(AIJTCUMGDrop(s));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCGAMG, &gamg));
  if (gamg) PetscCall(AIJTCUKeepGraphs(pc));
  #if AIJTCU_HAVE_DEVICE_REAL
  if (gamg) PetscCall(AIJTCUEstimateHere(pc));
  #endif
  ierr = (*s->setup)(pc);
  AIJTCUKeepNoGraphs();
  PetscCall(ierr);
  PetscCall(AIJTCUGetPlan(pc->pmat, &plan));
  if (plan) PetscCall(AIJTCUAtDevice(pc->pmat, plan, &device));
  s->plan  = (PetscBool)(plan != NULL);
  s->taken = (PetscBool)(device || (plan && AIJTCUBlockSolvers == AIJTCU_BLOCK_SOLVERS_ALWAYS));
  #if AIJTCU_HAVE_DEVICE_REAL
  s->not_vector  = PETSC_FALSE;
  pc->ops->apply = device && plan->id.kind == AIJTCU_KIND_SEQ ? PCApply_MG_AIJTCU : s->apply;
  #endif
  if (AIJTCUMGWantsSingle(plan) && pc->ops->apply == s->apply)
    PetscCall(PetscInfo(pc, "aijtcu: one vector by PETSc's cycle in full precision: its operator is not real, on one process and a device\n"));
  /* Not for a cycle with which PETSc does not iterate so */
  pc->ops->matapplyrichardson = s->taken && pc->ops->applyrichardson ? PCMatApplyRichardson_MG_AIJTCU : s->matapplyrichardson;
  pc->ops->matapplytranspose  = plan ? NULL : s->matapplytranspose; /* PETSc's is an error */
  if (!plan) PetscCall(AIJTCUMGDrop(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_MG_AIJTCU(PC pc)
{
  AIJTCUMG *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGGet(pc, &s));
  PetscCall(AIJTCUMGDrop(s));
  if (s->reset) PetscCall((*s->reset)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_MG_AIJTCU(PC pc)
{
  AIJTCUMG *s;
  PetscErrorCode (*destroy)(PC);

  PetscFunctionBegin;
  PetscCall(AIJTCUMGGet(pc, &s));
  destroy = s->destroy;
  PetscCall(PetscObjectCompose((PetscObject)pc, MG_KEY, NULL));
  if (destroy) PetscCall((*destroy)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Put our functions before those that a creator has set. PCCreate_GAMG() begins with PCSetType(pc, PCMG), and sets
   these functions anew after that, but for matapply
*/
static PetscErrorCode AIJTCUMGWrap(PC pc, PetscErrorCode (*create)(PC))
{
  AIJTCUMG *s, *mg;

  PetscFunctionBegin;
  PetscCall((*create)(pc));
  PetscCall(PetscObjectContainerQuery((PetscObject)pc, MG_KEY, &mg));
  PetscCall(PetscNew(&s));
  s->setup    = pc->ops->setup;
  s->reset    = pc->ops->reset;
  s->destroy  = pc->ops->destroy;
  s->apply    = pc->ops->apply;
  s->matapply = pc->ops->matapply == PCMatApply_MG_AIJTCU ? mg->matapply : pc->ops->matapply;

  s->matapplytranspose  = pc->ops->matapplytranspose;
  s->matapplyrichardson = pc->ops->matapplyrichardson;
  PetscCall(AIJTCUComposeData((PetscObject)pc, MG_KEY, s, AIJTCUMGFree));
  pc->ops->setup    = PCSetUp_MG_AIJTCU;
  pc->ops->reset    = PCReset_MG_AIJTCU;
  pc->ops->destroy  = PCDestroy_MG_AIJTCU;
  pc->ops->matapply = PCMatApply_MG_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*create_mg)(PC), (*create_gamg)(PC); /* PETSc's */

static PetscErrorCode PCCreate_MG_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUMGWrap(pc, create_mg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_GAMG_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUMGWrap(pc, create_gamg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCURegisterMG(void)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUReplaceCreator(PCList, PCMG, PCCreate_MG_AIJTCU, &create_mg));
  PetscCall(AIJTCUReplaceCreator(PCList, PCGAMG, PCCreate_GAMG_AIJTCU, &create_gamg));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
