/*
   PCMatApply() of PCJACOBI and PCPBJACOBI, all columns of a block at once.

   PETSc's creators are wrapped: the original is called first. PETSc's own set-up stays, and so do all kinds of
   diagonals. Ours decides after each set-up: where the operator has a plan, blocks go to a kernel, else to what PETSc
   had.

   What to multiply with is found by applying PETSc's preconditioner to vectors: to ones, or, where blocks along the
   diagonal were inverted, to vectors with a one in every bs-th row. That is done when a block comes for the first time,
   and kept until the next set-up.

   PETSc's set-up of PCJACOBI looks for zeros in the diagonal on the host, unless the matrix is known to be positive
   definite. With a matrix on a device it is told not to, and zeros are sought in what it multiplies with, there. Only
   where there are some it does as it would.

   PCVPBJACOBI comes by here for its vectors alone.
*/
#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcimpl.h>
  #if AIJTCU_HAVE_DEVICE_REAL
    #include <petscdevice_cuda.h>
    #include <block/smoother.h>
  #endif

  #define JACOBI_KEY "MatAIJTCUJacobi"

typedef struct {
  Vec      D;      /* what to multiply with, or NULL: not known yet */
  PetscInt dblock; /* rows of a block of D, 1 for a diagonal */

  PetscInt64 blocks; /* entries of the blocks of PCPBJACOBI that PETSc may have memory of the device for */

  /* PETSc's own */
  PetscErrorCode (*setup)(PC);
  PetscErrorCode (*reset)(PC);
  PetscErrorCode (*destroy)(PC);
  PetscErrorCode (*matapply)(PC, Mat, Mat);
  PetscErrorCode (*matapplytranspose)(PC, Mat, Mat);
  PetscErrorCode (*settype)(PC, PCJacobiType); /* only PCJACOBI has it */
  PetscErrorCode (*created[2])(PC, Vec, Vec);  /* apply, applytranspose as PCCreate() sets them: those of the host */

  /* Of PCPBJACOBI and PCVPBJACOBI on a device, which take vectors of the device alone: hostvectors.c of src/upstream */
  PetscErrorCode (*apply)(PC, Vec, Vec);
  PetscErrorCode (*applytranspose)(PC, Vec, Vec);
} AIJTCUJacobi;

static PetscErrorCode (*create_jacobi)(PC), (*create_pbjacobi)(PC), (*create_vpbjacobi)(PC); /* PETSc's */

static PetscErrorCode AIJTCUJacobiGet(PC pc, AIJTCUJacobi **j)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)pc, JACOBI_KEY, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUJacobiFree(PetscCtxRt ctx)
{
  AIJTCUJacobi *j = *(AIJTCUJacobi **)ctx;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&j->D));
  PetscCall(PetscFree(j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x has ones in rows k, k + bs, and so on of this process */
static PetscErrorCode AIJTCUSetOnes(Vec x, PetscInt k, PetscInt bs)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  if (bs == 1) {
    PetscCall(VecSet(x, 1));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = i % bs == k ? 1 : 0;
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column k of all blocks is in y */
static PetscErrorCode AIJTCUSetBlockColumn(Vec D, PetscInt k, PetscInt bs, Vec y)
{
  const PetscScalar *a;
  PetscScalar       *d;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(y, &a));
  PetscCall(VecGetArray(D, &d));
  for (PetscInt i = 0; i < n; i++) d[i / bs * bs * bs + k * bs + i % bs] = a[i];
  PetscCall(VecRestoreArray(D, &d));
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inverted blocks on this process, one after the other; where vectors like x are on a device, for that */
static PetscErrorCode AIJTCUJacobiBlocks(PC pc, PetscInt bs, Vec x, Vec y, Vec *D)
{
  PetscBool cuda;
  PetscInt  n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n % bs == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " rows on this process are not whole blocks of %" PetscInt_FMT, n, bs);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(VecCreate(PETSC_COMM_SELF, D));
  PetscCall(VecSetSizes(*D, n * bs, n * bs));
  PetscCall(VecSetType(*D, cuda ? VECSEQCUDA : VECSEQ));
  for (PetscInt k = 0; k < bs; k++) {
    PetscCall(AIJTCUSetOnes(x, k, bs));
    PetscCall(PCApply(pc, x, y));
    PetscCall(AIJTCUSetBlockColumn(*D, k, bs, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* See to it that D is known */
static PetscErrorCode AIJTCUJacobiFind(PC pc, AIJTCUJacobi *j)
{
  PetscBool blocks;
  PetscInt  bs = 1;
  Vec       x, y;

  PetscFunctionBegin;
  if (j->D) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCPBJACOBI, &blocks));
  if (blocks) PetscCall(MatGetBlockSize(pc->pmat, &bs));
  PetscCall(MatCreateVecs(pc->pmat, &x, &y));
  j->dblock = bs;
  if (bs > 1) PetscCall(AIJTCUJacobiBlocks(pc, bs, x, y, &j->D));
  else {
    PetscCall(AIJTCUSetOnes(x, 0, 1));
    PetscCall(PCApply(pc, x, y));
    PetscCall(PetscObjectReference((PetscObject)y));
    j->D = y;
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCMatApply_Jacobi_AIJTCU(PC pc, Mat X, Mat Y)
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(AIJTCUJacobiFind(pc, j));
  PetscCall(AIJTCUBlockScale(j->D, j->dblock, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCMatApplyTranspose_Jacobi_AIJTCU(PC pc, Mat X, Mat Y)
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(AIJTCUJacobiFind(pc, j));
  PetscCall(AIJTCUBlockScale(j->D, j->dblock, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_Jacobi_AIJTCU(PC pc)
{
  AIJTCUJacobi *j;
  PetscErrorCode (*destroy)(PC);

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  destroy = j->destroy;
  PetscCall(PetscObjectCompose((PetscObject)pc, JACOBI_KEY, NULL));
  if (destroy) PetscCall((*destroy)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_BlockJacobi_AIJTCU(PC pc, Vec x, Vec y)
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(AIJTCUPCCallWithVecs(pc, x, y, j->apply));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_BlockJacobi_AIJTCU(PC pc, Vec x, Vec y)
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(AIJTCUPCCallWithVecs(pc, x, y, j->applytranspose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUJacobiTakeVecs(PC pc, AIJTCUJacobi *j)
{
  PetscFunctionBegin;
  j->apply          = pc->ops->apply;
  j->applytranspose = pc->ops->applytranspose;
  pc->ops->apply    = PCApply_BlockJacobi_AIJTCU;
  if (j->applytranspose) pc->ops->applytranspose = PCApplyTranspose_BlockJacobi_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE_REAL
/*
   Whether PETSc's set-up would look for zeros on the host, and need not: a diagonal that is on a device. All processes
   have the same answer
*/
static PetscErrorCode AIJTCUJacobiSeeksZeros(PC pc, const AIJTCUPlan *plan, PetscBool *seeks)
{
  PCJacobiType type;
  PetscBool    set, spd;

  PetscFunctionBegin;
  *seeks = PETSC_FALSE;
  if (plan) PetscCall(AIJTCUAtDevice(pc->pmat, plan, seeks));
  if (!*seeks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCJacobiGetFixDiagonal(pc, seeks));
  PetscCall(PCJacobiGetType(pc, &type));
  PetscCall(MatIsSPDKnown(pc->pmat, &set, &spd));
  if (type != PC_JACOBI_DIAGONAL || (set && spd)) *seeks = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUJacobiZeroOnStream(PetscInt n, const PetscScalar *d, cudaStream_t stream, PetscBool *zero)
{
  bool      has = false;
  HrpbError err;

  PetscFunctionBegin;
  AIJTCUCallDevice(err, BlockHasZero(n, d, stream, &has));
  *zero = (PetscBool)(err || has);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether what the preconditioner multiplies with has zeros, or may have */
static PetscErrorCode AIJTCUJacobiHasZeros(PC pc, AIJTCUJacobi *j, PetscBool *zero)
{
  cudaStream_t       stream = NULL;
  const PetscScalar *d;
  PetscErrorCode     ierr;
  PetscBool          cuda, runs;
  PetscInt           n;

  PetscFunctionBegin;
  *zero = PETSC_TRUE;
  PetscCall(MatCreateVecs(pc->pmat, NULL, &j->D));
  j->dblock = 1;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)j->D, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(AIJTCUDeviceRuns(&runs));
  if (!cuda || !runs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecSet(j->D, 1));
  PetscUseTypeMethod(pc, apply, j->D, j->D); /* entry by entry */
  PetscCall(VecGetLocalSize(j->D, &n));
  PetscCall(VecCUDAGetArrayRead(j->D, &d));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUJacobiZeroOnStream(n, d, stream, zero);
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(VecCUDARestoreArrayRead(j->D, &d));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's set-up of PCJACOBI without a look for zeros. Where there are some it is made again */
static PetscErrorCode AIJTCUJacobiSetUpPoints(PC pc, AIJTCUJacobi *j)
{
  PetscBool      zero = PETSC_TRUE, none;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PCJacobiSetFixDiagonal(pc, PETSC_FALSE));
  ierr = (*j->setup)(pc);
  if (!ierr) ierr = AIJTCUJacobiHasZeros(pc, j, &zero);
  PetscCall(PCJacobiSetFixDiagonal(pc, PETSC_TRUE)); /* after an error, too */
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)pc), ierr, (PetscBool)!zero, &none));
  if (none) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDestroy(&j->D));
  PetscCall((*j->setup)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

static PetscErrorCode AIJTCUJacobiSetUpParent(PC pc, AIJTCUJacobi *j, const AIJTCUPlan *plan, PetscBool points)
{
  PetscBool seeks = PETSC_FALSE;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE_REAL
  if (points) PetscCall(AIJTCUJacobiSeeksZeros(pc, plan, &seeks));
  if (seeks) PetscCall(AIJTCUJacobiSetUpPoints(pc, j));
  #else
  (void)plan;
  (void)points;
  #endif
  if (!seeks && j->setup) PetscCall((*j->setup)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before more blocks come than PETSc's PCPBJACOBI has memory for, it is made anew: blockdiagonal.c of src/upstream */
static PetscErrorCode AIJTCUJacobiMakeRoom(PC pc, AIJTCUJacobi *j)
{
  PetscErrorCode (*const setup)(PC)   = pc->ops->setup;
  PetscErrorCode (*const destroy)(PC) = pc->ops->destroy;
  const PetscInt64 had                = j->blocks;
  PetscInt         n, bs;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(pc->pmat, &n, NULL));
  PetscCall(MatGetBlockSize(pc->pmat, &bs));
  j->blocks = PetscMax(had, (PetscInt64)n * bs);
  if (!had || j->blocks == had) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*j->destroy)(pc));
  PetscCall((*create_pbjacobi)(pc));
  j->destroy       = pc->ops->destroy;
  pc->ops->setup   = setup;
  pc->ops->destroy = destroy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_Jacobi_AIJTCU(PC pc)
{
  AIJTCUJacobi *j;
  AIJTCUPlan   *plan;
  PetscBool     points, blocks, varying;

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(VecDestroy(&j->D));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCPBJACOBI, &blocks));
  if (blocks) PetscCall(AIJTCUJacobiMakeRoom(pc, j));
  pc->ops->matapply          = j->matapply;
  pc->ops->matapplytranspose = j->matapplytranspose;
  pc->ops->apply             = j->created[0]; /* blockdiagonal.c of src/upstream */
  pc->ops->applytranspose    = j->created[1];
  PetscCall(AIJTCUGetPlan(pc->pmat, &plan));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCJACOBI, &points));
  PetscCall(AIJTCUJacobiSetUpParent(pc, j, plan, points));
  if (pc->ops->destroy != PCDestroy_Jacobi_AIJTCU) { /* that of PCPBJACOBI with a matrix of a device is another */
    j->destroy       = pc->ops->destroy;
    pc->ops->destroy = PCDestroy_Jacobi_AIJTCU;
  }
  j->matapply          = pc->ops->matapply;
  j->matapplytranspose = pc->ops->matapplytranspose;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCVPBJACOBI, &varying));
  if (plan && plan->id.device && !points) PetscCall(AIJTCUJacobiTakeVecs(pc, j));
  if (!plan || varying) PetscFunctionReturn(PETSC_SUCCESS); /* blocks of many sizes go column by column */
  pc->ops->matapply          = PCMatApply_Jacobi_AIJTCU;
  pc->ops->matapplytranspose = PCMatApplyTranspose_Jacobi_AIJTCU;
  PetscCall(PetscInfo(pc, "aijtcu: %s takes all columns of a block at once\n", ((PetscObject)pc)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_Jacobi_AIJTCU(PC pc)
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(VecDestroy(&j->D));
  if (j->reset) PetscCall((*j->reset)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc computes another diagonal after this, without a set-up */
static PetscErrorCode PCJacobiSetType_AIJTCU(PC pc, PCJacobiType type)
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(VecDestroy(&j->D));
  PetscCall((*j->settype)(pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUJacobiCreate(PC pc, PetscErrorCode (*create)(PC))
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  PetscCall((*create)(pc));
  PetscCall(PetscNew(&j));
  j->setup             = pc->ops->setup;
  j->reset             = pc->ops->reset;
  j->destroy           = pc->ops->destroy;
  j->matapply          = pc->ops->matapply;
  j->matapplytranspose = pc->ops->matapplytranspose;
  j->created[0]        = pc->ops->apply;
  j->created[1]        = pc->ops->applytranspose;
  PetscCall(AIJTCUComposeData((PetscObject)pc, JACOBI_KEY, j, AIJTCUJacobiFree));
  pc->ops->setup   = PCSetUp_Jacobi_AIJTCU;
  pc->ops->reset   = PCReset_Jacobi_AIJTCU;
  pc->ops->destroy = PCDestroy_Jacobi_AIJTCU;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCJacobiSetType_C", &j->settype));
  if (j->settype) PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCJacobiSetType_C", PCJacobiSetType_AIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_Jacobi_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiCreate(pc, create_jacobi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_PBJacobi_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiCreate(pc, create_pbjacobi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_VPBJacobi_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUJacobiCreate(pc, create_vpbjacobi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCURegisterJacobi(void)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUReplaceCreator(PCList, PCJACOBI, PCCreate_Jacobi_AIJTCU, &create_jacobi));
  PetscCall(AIJTCUReplaceCreator(PCList, PCPBJACOBI, PCCreate_PBJacobi_AIJTCU, &create_pbjacobi));
  PetscCall(AIJTCUReplaceCreator(PCList, PCVPBJACOBI, PCCreate_VPBJacobi_AIJTCU, &create_vpbjacobi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What the preconditioner multiplies with, for others who do the same in a kernel of their own: see BlockOps.scale(). D
   is not a reference. It is NULL where there is no such thing: another type, or an operator without a plan.
*/
PetscErrorCode AIJTCUJacobiGetDiagonal(PC pc, PetscInt *dblock, Vec *D)
{
  AIJTCUJacobi *j;

  PetscFunctionBegin;
  *D      = NULL;
  *dblock = 1;
  PetscCall(PCSetUp(pc));
  if (pc->ops->matapply != PCMatApply_Jacobi_AIJTCU) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUJacobiGet(pc, &j));
  PetscCall(AIJTCUJacobiFind(pc, j));
  *D      = j->D;
  *dblock = j->dblock;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
