/*
   The identity of MATAIJTCU: a matrix of the parent type (MATAIJCUSPARSE, or MATAIJ where there is no device) that carries a plan
   and a name of its own.

   The name begins with the parent's, which is what PetscObjectBaseTypeCompare() and MatSetType() look at. Some functions of the
   parent compare the exact name; around a call to them the matrix takes the parent's view: the pointer to its name is exchanged
   (never the characters: others hold the pointer). Operations that the parent sets meanwhile are wrapped when the view ends.

   Why not under the parent's name with a plan hung on it: MatSetType() to the type of an assembled aijcusparse would do nothing, a
   conversion back could not be asked for, and no program could tell the two apart. What the own name costs was tried with PETSc's 327
   test runs that name aijcusparse, on an H200: 251 passed when only products were caught, all but the few that the README lists once
   views, wrapped operations and factors were in place, in optimized and debug builds. Two lessons of that: PETSc copies a matrix's
   table of operations (hash assembly) and its composed functions (MatDuplicate(), ILU), so a wrapper calls the saved pointer of the
   plan, never "the operation of A", and what is composed is taken away while the parent copies.
*/
#include "aijtcuimpl.h"
#if PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
#endif

#define PLAN_KEY  "MatAIJTCUPlan"
#define OWNER_KEY "MatAIJTCUOwner"

PetscErrorCode AIJTCUGetPlan(Mat A, AIJTCUPlan **plan)
{
  PetscContainer container;

  PetscFunctionBegin;
  *plan = NULL;
  PetscCall(PetscObjectQuery((PetscObject)A, PLAN_KEY, (PetscObject *)&container));
  if (container) PetscCall(PetscContainerGetPointer(container, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hang data on an object; where that fails it is destroyed */
PetscErrorCode AIJTCUComposeData(PetscObject obj, const char key[], void *data, PetscErrorCode (*destroy)(PetscCtxRt))
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscObjectContainerCompose(obj, key, data, destroy);
  if (ierr) PetscCall((*destroy)(&data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPlanDestroy(PetscCtxRt ctx)
{
  AIJTCUPlan **plan = (AIJTCUPlan **)ctx;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanReset(*plan));
  PetscCall(PetscFree((*plan)->other_name));
  PetscCall(PetscFree((*plan)->parent_type));
  PetscCall(PetscFree((*plan)->prefix));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchange the name that A carries for the other one: A frees one of them, the plan the other */
static void AIJTCUExchangeNames(Mat A, AIJTCUPlan *plan)
{
  char *name = ((PetscObject)A)->type_name;

  ((PetscObject)A)->type_name = plan->other_name;
  plan->other_name            = name;
}

/*
   Let A be a matrix of its parent type until AIJTCUParentViewEnd() gets what this returns in plan. Views nest. A may be any matrix.
*/
PetscErrorCode AIJTCUParentViewBegin(Mat A, AIJTCUPlan **plan)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, plan));
  if (!*plan) PetscFunctionReturn(PETSC_SUCCESS);
  if (!(*plan)->view_depth++ && (*plan)->own_name) AIJTCUExchangeNames(A, *plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of a parallel matrix have plans for its products only */
static PetscErrorCode AIJTCUDetachBlocks(Mat A, const AIJTCUPlan *plan)
{
  Mat       blocks[2];
  PetscBool has;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &has));
  if (plan->kind != AIJTCU_KIND_MPI || !has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    AIJTCUPlan *block = NULL;

    if (blocks[i]) PetscCall(AIJTCUGetPlan(blocks[i], &block));
    if (!block || block->owner != plan) continue;
    PetscCall(AIJTCUDetach(blocks[i]));
    PetscCall(PetscObjectCompose((PetscObject)blocks[i], OWNER_KEY, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Take from A all that was hung on it, but not the name that it carries. The plan is gone then */
static PetscErrorCode AIJTCURelease(Mat A, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDetachBlocks(A, plan));
  PetscCall(AIJTCUUnwrapComposed(A, plan));
  AIJTCUUnwrapOps(A, plan);
  plan->own_name = PETSC_FALSE; /* not twice, should the next line fail */
  PetscCall(PetscObjectCompose((PetscObject)A, PLAN_KEY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is still of the parent type is asked of the characters of its name: a name that was freed and made anew may have the address of the old one, or the old name another */
PetscErrorCode AIJTCUParentViewEnd(Mat A, AIJTCUPlan *plan)
{
  AIJTCUPlan *now;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &now));
  if (!plan || now != plan) PetscFunctionReturn(PETSC_SUCCESS); /* MatHeaderReplace() gave A another header: the plan went with the old one */
  if (--plan->view_depth) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, plan->parent_type, &same));
  if (!same) {
    PetscCall(AIJTCURelease(A, plan)); /* the parent made another type of A */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (plan->own_name) AIJTCUExchangeNames(A, plan);
  PetscCall(AIJTCUWrapOps(A, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A device for every process of the communicator, or for none; asked once for a communicator. Collective */
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

      /* before any PETSc device call: those are errors without a driver */
      mine = (PetscBool)(cudaGetDeviceCount(&ndevices) == cudaSuccess && ndevices > 0);
      if (!mine) (void)cudaGetLastError();
      PetscCallMPI(MPIU_Allreduce(&mine, has, 1, MPI_C_BOOL, MPI_LAND, comm));
      value = *has ? (void *)&keyval : NULL;
      PetscCallMPI(MPI_Comm_set_attr(comm, keyval, value));
      if (!*has) PetscCall(PetscInfo(NULL, "aijtcu: %s on this process; matrices of this communicator stay on the host\n", mine ? "a device here, but not on every process" : "no CUDA device"));
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

/* To another type: as the parent does it */
PetscErrorCode MatConvert_AIJTCU_Any(Mat A, MatType newtype, MatReuse reuse, Mat *M)
{
  AIJTCUPlan    *plan;
  Mat            P;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(AIJTCUDetach(A));
    PetscCall(MatConvert(A, newtype, reuse, &A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParentBare(A, (*plan->parent.duplicate)(A, MAT_COPY_VALUES, &P));
  ierr = MatPropagateSymmetryOptions(A, P); /* MATSBAIJ asks for them */
  if (!ierr) ierr = MatConvert(P, newtype, reuse == MAT_INITIAL_MATRIX ? MAT_INPLACE_MATRIX : reuse, reuse == MAT_INITIAL_MATRIX ? &P : M);
  if (!ierr && reuse == MAT_INITIAL_MATRIX) *M = P;
  else PetscCall(MatDestroy(&P));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a parent type; also from the type itself, asked for by another of its names. PETSc converts other types by way of MatSetValues() */
PetscErrorCode MatConvert_AIJ_AIJTCU(Mat A, MatType newtype, MatReuse reuse, Mat *M)
{
  AIJTCUPlan *plan;
  PetscBool   device, parallel;

  PetscFunctionBegin;
  (void)newtype;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(A, *M, SAME_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, M));
  PetscCall(AIJTCUGetPlan(*M, &plan));
  if (plan && plan->own_name) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)*M, MATMPIAIJ, &parallel));
  PetscCall(AIJTCUHasDevice(PetscObjectComm((PetscObject)*M), &device));
  if (device) PetscCall(MatConvert(*M, parallel ? MATMPIAIJCUSPARSE : MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, M));
  PetscCall(AIJTCUAttach(*M, parallel ? AIJTCU_KIND_MPI : AIJTCU_KIND_SEQ, PETSC_TRUE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plan that A holds; after an error it may hold one that does nothing */
static PetscErrorCode AIJTCUPlanCreate(Mat A, AIJTCUKind kind, PetscBool own_name, AIJTCUPlan **plan)
{
  const MatType own[] = {MATSEQAIJTCU, MATMPIAIJTCU};
  PetscBool     device;

  PetscFunctionBegin;
  PetscCall(AIJTCUHasDevice(PetscObjectComm((PetscObject)A), &device));
  if (device) PetscCall(PetscStrendswith(((PetscObject)A)->type_name, "aijcusparse", &device));
  PetscCall(PetscNew(plan));
  (*plan)->kind   = kind;
  (*plan)->device = device;
  PetscCall(AIJTCUComposeData((PetscObject)A, PLAN_KEY, *plan, AIJTCUPlanDestroy));
  PetscCall(PetscStrallocpy(((PetscObject)A)->type_name, &(*plan)->parent_type));
  if (own_name) {
    PetscCall(PetscStrallocpy(own[kind], &(*plan)->other_name));
    AIJTCUExchangeNames(A, *plan);
    (*plan)->own_name = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWrap(Mat A, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, PLAN_KEY, (PetscObject *)&plan->container));
  PetscCall(AIJTCUWrapOps(A, plan)); /* also where the parent has set them anew */
  PetscCall(AIJTCUWrapComposed(A, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Hang a plan on a matrix of a parent type. With our name the matrix becomes an aijtcu; without it, it stays what it was and only
   gets its dense products caught. A block takes options from its owner. Cheap when already attached. After an error there is no new plan. Collective
*/
PetscErrorCode AIJTCUAttach(Mat A, AIJTCUKind kind, PetscBool own_name, AIJTCUPlan *owner)
{
  AIJTCUPlan    *plan;
  AIJTCUOptions  options;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsInitialize(&options));
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan && own_name && !plan->own_name) { /* -mat_aijtcu_attach was there first */
    options = plan->options;
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
    plan->options = options;
    plan->owner   = owner;
    if (!owner) AIJTCUWrapView(A, plan);
    ierr = AIJTCUWrap(A, plan);
  }
  if (ierr) PetscCall(AIJTCUDetach(A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make an aijtcu a matrix of its parent type again, and its blocks as well. Nothing where there is no plan */
PetscErrorCode AIJTCUDetach(Mat A)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (!plan) PetscFunctionReturn(PETSC_SUCCESS);
  if (plan->own_name && !plan->view_depth) AIJTCUExchangeNames(A, plan);
  PetscCall(AIJTCURelease(A, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Let the two blocks of a parallel matrix have plans. At product time: assembly, COO assembly and disassembly make new blocks
*/
PetscErrorCode AIJTCUAttachBlocks(Mat A)
{
  AIJTCUPlan *plan;
  Mat         blocks[2];
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(PetscStrcmp(plan->prefix, ((PetscObject)A)->prefix, &same));
  if (!same) {
    PetscCall(PetscFree(plan->prefix));
    PetscCall(PetscStrallocpy(((PetscObject)A)->prefix, &plan->prefix));
  }
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (PetscInt i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(AIJTCUAttach(blocks[i], AIJTCU_KIND_SEQ, PETSC_FALSE, plan));
    PetscCall(PetscObjectCompose((PetscObject)blocks[i], OWNER_KEY, (PetscObject)plan->container)); /* the owner's plan outlives the block */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_AIJTCU_Private(Mat A, AIJTCUKind kind)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUHasDevice(PetscObjectComm((PetscObject)A), &device));
  PetscCall(AIJTCUParentCreate(A, kind, device));
  PetscCall(AIJTCUAttach(A, kind, PETSC_TRUE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_AIJTCU_Private(A, AIJTCU_KIND_SEQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_AIJTCU_Private(A, AIJTCU_KIND_MPI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatCreateAIJTCU - Creates a preallocated `MATAIJTCU`

  Collective

  Input Parameters:
+ comm  - MPI communicator
. m     - number of local rows, or `PETSC_DECIDE`
. n     - number of local columns, or `PETSC_DECIDE`
. M     - number of global rows, or `PETSC_DETERMINE`
. N     - number of global columns, or `PETSC_DETERMINE`
. d_nz  - nonzeros a row in the diagonal block, same for all local rows
. d_nnz - nonzeros of each row of the diagonal block, or `NULL`
. o_nz  - nonzeros a row in the off-diagonal block, same for all local rows
- o_nnz - nonzeros of each row of the off-diagonal block, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

  Note:
  The arguments mean what they mean in `MatCreateAIJ()`. The options of `MATAIJTCU` are read by `MatSetFromOptions()`, which this does not call.

.seealso: `MATAIJTCU`, `MatCreateAIJ()`, `MatCreateAIJCUSPARSE()`
@*/
PetscErrorCode MatCreateAIJTCU(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSeqAIJSetPreallocation(*A, d_nz, d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(*A, d_nz, d_nnz, o_nz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
