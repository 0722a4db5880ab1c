/*
   How a plan hangs on a matrix: our name, operations and composed functions, and how they come and go.

   A matrix of a parent type gets a plan and, if it is to be an aijtcu, a name. AIJTCUClass has the table of functions
   that stand in for the parent's operations. This file knows none of them, nor the rest of a plan.

   In the parent's view a matrix carries the parent's name. The pointer to the name is exchanged, never the characters,
   because others hold the pointer. Functions of the parent are called in the view, because some of them compare the
   exact name. When the view ends, operations that the parent has set meanwhile are wrapped.

   Every way out of the type goes through AIJTCURelease(). The blocks of a parallel matrix go with it.
*/
#include "identity.h"
#include "../upstream/upstream.h"
#if PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
#endif

#define PLAN_KEY  "MatAIJTCUPlan"
#define OWNER_KEY "MatAIJTCUOwner"

static const AIJTCUClass *cls;

void AIJTCUSetClass(const AIJTCUClass *c)
{
  cls = c;
}

PetscErrorCode AIJTCUGetIdentity(Mat A, AIJTCUIdentity **plan)
{
  PetscFunctionBegin;
  *plan = NULL; /* also after an error */
  PetscCall(PetscObjectContainerQuery((PetscObject)A, PLAN_KEY, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plan begins with its identity */
PetscErrorCode AIJTCUGetPlan(Mat A, AIJTCUPlan **plan)
{
  AIJTCUIdentity *identity;

  PetscFunctionBegin;
  *plan = NULL;
  PetscCall(AIJTCUGetIdentity(A, &identity));
  *plan = (AIJTCUPlan *)identity;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AIJTCUApplies(const AIJTCUIdentity *plan, int where)
{
  if ((where & AIJTCU_FOR_OWN) && !plan->own_name) return PETSC_FALSE;
  if ((where & AIJTCU_FOR_OTHERS) && plan->own_name) return PETSC_FALSE;
  if ((where & AIJTCU_FOR_DEVICE) && !plan->device) return PETSC_FALSE;
  if ((where & AIJTCU_FOR_SEQ) && plan->kind != AIJTCU_KIND_SEQ) return PETSC_FALSE;
  if ((where & AIJTCU_FOR_MPI) && plan->kind != AIJTCU_KIND_MPI) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* An operation in a table of operations, whose pointers are of many types */
static AIJTCUFn AIJTCUGetOp(const struct _MatOps *ops, const AIJTCUOp *op)
{
  AIJTCUFn f;

  memcpy(&f, (const char *)ops + op->slot, sizeof(f));
  return f;
}

static void AIJTCUSetOp(struct _MatOps *ops, const AIJTCUOp *op, AIJTCUFn f)
{
  memcpy((char *)ops + op->slot, &f, sizeof(f));
}

/*
   Destroys a matrix. Every way out of the type that does not begin with AIJTCUDetach() comes by here: MatDestroy(),
   MatSetType(), and the old matrix of MatHeaderReplace().

   MatHeaderMerge() calls this, too, but first takes away all that is composed. The matrix has no plan then, stays what
   it is, and gets its plan back.
*/
static PetscErrorCode MatDestroy_AIJTCU(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = AIJTCUKeptDestroy(A);
  AIJTCUIdentity *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &plan));
  if (plan && plan->own_name) PetscCall((*cls->leave)(A));
  PetscCall(AIJTCUDetach(A));
  if (destroy) PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Wrap the operations. Absent ones stay absent, unless they are to be added. While values are collected in a hash
   table PETSc has put the operations aside, ours among them.
*/
static void AIJTCUWrapOps(Mat A, AIJTCUIdentity *plan)
{
  if (A->hash_active) return;
  for (const AIJTCUOp *op = cls->ops; op->own; op++) {
    const AIJTCUFn now = AIJTCUGetOp(A->ops, op);

    if (!AIJTCUApplies(plan, op->where) || now == op->own || (!now && !(op->where & AIJTCU_ADDED))) continue;
    AIJTCUSetOp(&plan->parent, op, now);
    AIJTCUSetOp(A->ops, op, op->own);
  }
  AIJTCUKeepDestroy(A, MatDestroy_AIJTCU);
}

static void AIJTCUUnwrapOps(Mat A, AIJTCUIdentity *plan)
{
  if (A->hash_active) return;
  for (const AIJTCUOp *op = cls->ops; op->own; op++) {
    if (AIJTCUGetOp(A->ops, op) == op->own) AIJTCUSetOp(A->ops, op, AIJTCUGetOp(&plan->parent, op));
  }
  if (A->ops->view == cls->view) A->ops->view = plan->parent.view;
  if (A->ops->viewnative == cls->view) A->ops->viewnative = plan->parent.view; /* behind a view operation of the user */
  AIJTCUGiveDestroyBack(A, MatDestroy_AIJTCU);
}

/*
   Wrap the view operation. This happens once, when the plan is attached, and not at the end of each view. A view
   operation that the user or a DMDA sets later stays, with ours as the native one behind it.
*/
static void AIJTCUWrapView(Mat A, AIJTCUIdentity *plan)
{
  if (A->ops->view == cls->view) A->ops->view = A->ops->viewnative; /* MatDuplicate() copies it */
  plan->parent.view = A->ops->view;
  A->ops->view      = cls->view;
}

/*
   The composed functions that are for A, if it has a plan: ours stand in for the parent's (wrap), or the parent's come
   back. Absent ones stay absent, unless they are to be added
*/
static PetscErrorCode AIJTCUExchangeComposed(Mat A, PetscBool wrap)
{
  AIJTCUIdentity *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &plan));
  for (PetscInt which = 0; plan && which < AIJTCU_NCOMPOSED; which++) {
    const AIJTCUComposed *composed = &cls->composed[which];
    const char           *prefix   = plan->kind == AIJTCU_KIND_MPI ? "mpi" : "seq";
    char                  key[128]; /* under which PETSc looks for it */
    AIJTCUFn              now;

    if (!AIJTCUApplies(plan, composed->where)) continue;
    PetscCall(PetscSNPrintf(key, sizeof(key), composed->format,
      composed->where & AIJTCU_BY_PARENT_TYPE ? plan->parent_type : prefix, prefix));
    PetscCall(PetscObjectQueryFunction((PetscObject)A, key, &now));
    if ((now == composed->own) == wrap || (wrap && !now && !(composed->where & AIJTCU_ADDED))) continue;
    if (wrap) plan->composed[which] = now;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, key, wrap ? composed->own : plan->composed[which]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUWrapComposed(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUExchangeComposed(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUUnwrapComposed(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUExchangeComposed(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPlanDestroy(PetscCtxRt ctx)
{
  AIJTCUIdentity **plan = (AIJTCUIdentity **)ctx;

  PetscFunctionBegin;
  PetscCall((*cls->reset)((AIJTCUPlan *)*plan));
  PetscCall(PetscFree((*plan)->other_name));
  PetscCall(PetscFree((*plan)->parent_type));
  PetscCall(PetscFree((*plan)->prefix));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchange the name that A carries for the other one. A frees one of them, the plan the other */
static void AIJTCUExchangeNames(Mat A, AIJTCUIdentity *plan)
{
  char *name = ((PetscObject)A)->type_name;

  ((PetscObject)A)->type_name = plan->other_name;
  plan->other_name            = name;
}

/* The blocks of a parallel matrix have plans for its products only */
static PetscErrorCode AIJTCUDetachBlocks(Mat A, const AIJTCUIdentity *plan)
{
  Mat       blocks[2];
  PetscBool has;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &has));
  if (plan->kind != AIJTCU_KIND_MPI || !has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    AIJTCUIdentity *block = NULL;

    if (blocks[i]) PetscCall(AIJTCUGetIdentity(blocks[i], &block));
    if (!block || block->owner != (AIJTCUPlan *)plan) continue;
    if (block->own_name) block->owner = NULL; /* an aijtcu that the program made of the block, and keeps */
    else PetscCall(AIJTCUDetach(blocks[i]));
    PetscCall(PetscObjectCompose((PetscObject)blocks[i], OWNER_KEY, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Take from A all that was hung on it, but not the name that it carries. The plan is gone after this */
static PetscErrorCode AIJTCURelease(Mat A, AIJTCUIdentity *plan)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDetachBlocks(A, plan));
  PetscCall(AIJTCUUnwrapComposed(A));
  AIJTCUUnwrapOps(A, plan);
  plan->own_name = PETSC_FALSE; /* so that it does not happen twice if the next line fails */
  PetscCall(PetscObjectCompose((PetscObject)A, PLAN_KEY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Let A be a matrix of its parent type, until AIJTCUParentViewEnd() gets the plan that this returns. Views nest. A may
   be any matrix.
*/
PetscErrorCode AIJTCUParentViewBegin(Mat A, AIJTCUIdentity **plan)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, plan));
  if (!*plan) PetscFunctionReturn(PETSC_SUCCESS);
  if (!(*plan)->view_depth++ && (*plan)->own_name) AIJTCUExchangeNames(A, *plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether A is still of the parent type is read from the characters of its name. Its address says nothing:
   PetscObjectChangeTypeName() frees the name and makes another, which may get the same address.
*/
PetscErrorCode AIJTCUParentViewEnd(Mat A, AIJTCUIdentity *plan)
{
  AIJTCUIdentity *now;
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &now));
  /* MatHeaderReplace() gave A another header. The plan went with the old one */
  if (!plan || now != plan) PetscFunctionReturn(PETSC_SUCCESS);
  if (--plan->view_depth) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, plan->parent_type, &same));
  if (!same) {
    PetscCall(AIJTCURelease(A, plan)); /* the parent made A a matrix of another type */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (plan->own_name) AIJTCUExchangeNames(A, plan);
  AIJTCUWrapOps(A, plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all processes of the communicator have a device. Asked once for a communicator. Collective */
PetscErrorCode AIJTCUHasDevice(MPI_Comm comm, PetscBool *has)
{
  PetscFunctionBegin;
  *has = PETSC_FALSE;
#if PetscDefined(HAVE_CUDA)
  {
    static PetscMPIInt keyval = MPI_KEYVAL_INVALID;
    PetscMPIInt        found;
    void              *value;

    if (keyval == MPI_KEYVAL_INVALID) PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    PetscCallMPI(MPI_Comm_get_attr(comm, keyval, &value, &found));
    if (!found) {
      int       ndevices = 0;
      PetscBool mine;

      /* this comes before any PETSc device call: without a driver those are errors */
      mine = (PetscBool)(cudaGetDeviceCount(&ndevices) == cudaSuccess && ndevices > 0);
      if (!mine) (void)cudaGetLastError();
      PetscCallMPI(MPIU_Allreduce(&mine, has, 1, MPI_C_BOOL, MPI_LAND, comm));
      value = *has ? (void *)&keyval : NULL;
      PetscCallMPI(MPI_Comm_set_attr(comm, keyval, value));
      if (!*has) {
        PetscCall(PetscInfo(NULL, "aijtcu: %s on this process; matrices of this communicator stay on the host\n",
          mine ? "a device here, but not on every process" : "no CUDA device"));
      }
    }
    *has = (PetscBool)(value != NULL);
  }
#else
  {
    static PetscBool said = PETSC_FALSE;

    if (!said) PetscCall(PetscInfo(NULL, "aijtcu: PETSc is configured without CUDA; matrices stay on the host\n"));
    said = PETSC_TRUE;
    (void)comm;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Get a plan for A. After an error A may hold a plan that does nothing */
static PetscErrorCode AIJTCUPlanCreate(Mat A, AIJTCUKind kind, PetscBool own_name, AIJTCUIdentity **plan)
{
  static PetscInt64 nplans;
  const MatType     own[] = {MATSEQAIJTCU, MATMPIAIJTCU};
  PetscBool         device;

  PetscFunctionBegin;
  PetscCall(AIJTCUHasDevice(PetscObjectComm((PetscObject)A), &device));
  if (device) PetscCall(PetscStrendswith(((PetscObject)A)->type_name, "aijcusparse", &device));
  PetscCall(PetscCalloc(cls->size, plan));
  (*plan)->kind   = kind;
  (*plan)->device = device;
  (*plan)->number = ++nplans;
  PetscCall(AIJTCUComposeData((PetscObject)A, PLAN_KEY, *plan, AIJTCUPlanDestroy));
  PetscCall(PetscStrallocpy(((PetscObject)A)->type_name, &(*plan)->parent_type));
  PetscCall((*cls->initialize)((AIJTCUPlan *)*plan));
  if (own_name) {
    PetscCall(PetscStrallocpy(own[kind], &(*plan)->other_name));
    AIJTCUExchangeNames(A, *plan);
    (*plan)->own_name = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWrap(Mat A, AIJTCUIdentity *plan)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, PLAN_KEY, (PetscObject *)&plan->container));
  AIJTCUWrapOps(A, plan); /* also where the parent has set them anew */
  PetscCall(AIJTCUWrapComposed(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Hang a plan on a matrix of a parent type. With our name the matrix becomes an aijtcu. Without it, the matrix stays
   what it was, and only its dense products are caught. A block takes options from its owner. The call is cheap if a
   plan is attached already. After an error there is no new plan. Collective.
*/
PetscErrorCode AIJTCUAttach(Mat A, AIJTCUKind kind, PetscBool own_name, AIJTCUPlan *owner)
{
  AIJTCUIdentity *plan;
  AIJTCUOptions   options;
  PetscBool       keep = PETSC_FALSE;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUEigenLoad());
  PetscCall(AIJTCUGetIdentity(A, &plan));
  if (plan && own_name && !plan->own_name) { /* -mat_aijtcu_attach was there first: its options stay */
    options = plan->options;
    keep    = PETSC_TRUE;
    PetscCall(AIJTCUDetach(A));
    plan = NULL;
  }
  if (plan) {
    plan->owner = owner;
    PetscCall(AIJTCUWrap(A, plan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ierr = AIJTCUPlanCreate(A, kind, own_name, &plan);
  if (!ierr) {
    if (keep) plan->options = options;
    plan->owner = owner;
    if (!owner) AIJTCUWrapView(A, plan);
    ierr = AIJTCUWrap(A, plan);
  }
  if (ierr) PetscCall(AIJTCUDetach(A));
  PetscCall(ierr);
  if (own_name) AIJTCUAll.matrices[plan->device]++;
  else if (!owner) AIJTCUAll.attached++;
  if (keep) AIJTCUAll.attached--; /* it was one of these */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make an aijtcu a matrix of its parent type again, and its blocks as well. Does nothing where there is no plan */
PetscErrorCode AIJTCUDetach(Mat A)
{
  AIJTCUIdentity *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &plan));
  if (!plan) PetscFunctionReturn(PETSC_SUCCESS);
  if (plan->own_name && !plan->view_depth) AIJTCUExchangeNames(A, plan);
  PetscCall(AIJTCURelease(A, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   B was made of A. If A is an aijtcu, and B one or of A's parent type, B becomes one with A's options. Nothing is
   converted, and nothing is built: a new plan is empty. Collective
*/
PetscErrorCode AIJTCUInherit(Mat A, Mat B)
{
  AIJTCUIdentity *plan, *bplan;
  PetscBool       parent;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &plan));
  if (!plan || !plan->own_name) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetIdentity(B, &bplan));
  if (!bplan || !bplan->own_name) {
    PetscCall(PetscObjectTypeCompare((PetscObject)B, plan->parent_type, &parent));
    if (!parent) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCUAttach(B, plan->kind, PETSC_TRUE, NULL));
    PetscCall(AIJTCUGetIdentity(B, &bplan));
  }
  bplan->options = plan->options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of the first of the operands of a product that is an aijtcu. Some may be NULL */
PetscErrorCode AIJTCUInheritFromFirst(const Mat operand[3], Mat C)
{
  AIJTCUIdentity *plan = NULL;

  PetscFunctionBegin;
  for (int i = 0; i < 3 && !(plan && plan->own_name); i++) {
    if (!operand[i]) continue;
    PetscCall(AIJTCUGetIdentity(operand[i], &plan));
    if (plan && plan->own_name) PetscCall(AIJTCUInherit(operand[i], C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Let the two blocks of a parallel matrix have plans. This is done at product time, because assembly, COO assembly and
   disassembly make new blocks.
*/
PetscErrorCode AIJTCUAttachBlocks(Mat A)
{
  AIJTCUIdentity *plan, *block;
  Mat             blocks[2];
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &plan));
  PetscCall(PetscStrcmp(plan->prefix, ((PetscObject)A)->prefix, &same));
  if (!same) {
    PetscCall(PetscFree(plan->prefix));
    PetscCall(PetscStrallocpy(((PetscObject)A)->prefix, &plan->prefix));
  }
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (PetscInt i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    if (plan->device) PetscCall(AIJTCUBlockToDevice(blocks[i]));
    PetscCall(AIJTCUAttach(blocks[i], AIJTCU_KIND_SEQ, PETSC_FALSE, (AIJTCUPlan *)plan));
    PetscCall(AIJTCUGetIdentity(blocks[i], &block));
    block->off_diagonal = (PetscBool)(i == 1);
    /* the owner's plan outlives the block */
    PetscCall(PetscObjectCompose((PetscObject)blocks[i], OWNER_KEY, (PetscObject)plan->container));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The local sequential matrices that carry plans: A itself, or its diagonal and off-diagonal block. A must be an
   assembled aijtcu
*/
PetscErrorCode AIJTCUGetBlocks(Mat A, Mat blocks[2])
{
  AIJTCUIdentity *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &plan));
  PetscCheck(plan, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
    "Matrix of type %s has no aijtcu plan: it must be of type %s",
    ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "(not set)", MATAIJTCU);
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
    "Not for an unassembled matrix: call MatAssemblyBegin() and MatAssemblyEnd() first");
  if (plan->kind == AIJTCU_KIND_MPI) PetscCall(AIJTCUAttachBlocks(A));
  PetscCall(AIJTCULocalBlocks(A, blocks, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUOperandKeyGet(Mat A, AIJTCUOperandKey *key)
{
  AIJTCUIdentity *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUPatternKeyGet(A, &key->pattern));
  PetscCall(AIJTCUValuesStateGet(A, &key->values));
  PetscCall(AIJTCUGetIdentity(A, &plan));
  key->plan = plan ? plan->number : 0;
  PetscCall(MatBoundToCPU(A, &key->bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}
