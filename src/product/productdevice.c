/*
   A product of one matrix on a GPU: the arrays of PETSc's dense matrices, in pieces of columns where memory is short or
   where they are on the host, and one launch for each piece.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/*
   The arrays of a product, as kernels have them: with real rows. Those on the host go through buffers behind the
   kernel's own workspace. There are two of each: one is copied while the other is multiplied.
*/
typedef struct {
  const AIJTCUAsk       *ask;
  const AIJTCUWorkOrder *order;    /* for all columns, of this ask */
  SpmmOperands           operands; /* of all columns. One is row-major only if both are on the device */
  PetscInt               m, n;     /* real rows of C and of B */
  PetscBool              bhost, chost;
  PetscInt               ldbslot, ldcslot; /* leading dimensions of the buffers: whole units of 16 bytes */
  size_t                 bslot, cslot;     /* scalars of a buffer for one piece */
} AIJTCUDeviceArrays;

/* A product in pieces of columns, while its kernels run */
typedef struct {
  AIJTCUWorkOrder     order; /* for a piece */
  AIJTCUDeviceArrays *arrays;
  PetscInt            width;
  size_t              kernel, all; /* bytes of workspace: of the kernel alone, and with the buffers */
  PetscBool           lacked;      /* there was no memory for it */
} AIJTCUDevicePieces;

enum {
  PIECES      = 4,       /* least number of pieces of large matrices on the host */
  LEAST_PIECE = 1 << 22, /* scalars that each piece must have for such a cut */
  NARROWEST   = 16       /* columns of a piece: with fewer there is less to be had than lost */
};

static HrpbError AIJTCUKernelWork(const AIJTCUDevicePieces *p, size_t *bytes)
{
  const AIJTCUWorkOrder *o        = &p->order;
  SpmmOperands           operands = p->arrays->operands;

  operands.N = p->width;
  if (operands.X.layout == SPMM_COLUMN_MAJOR) operands.X.ld = AIJTCUDeviceLDA((PetscInt)o->A.ncols);
  if (operands.Y.layout == SPMM_COLUMN_MAJOR) operands.Y.ld = AIJTCUDeviceLDA((PetscInt)o->A.nrows);
  return o->reordered ? SpmmWorkReordered(o->kernel, &o->A, o->reordered, p->width, bytes) : SpmmWork(o->kernel, &o->A, &operands, bytes);
}

/*
   Workspace for pieces of width columns, and the part of it that the kernel needs for itself. A product in one piece
   needs one buffer of each.
*/
static PetscErrorCode AIJTCUWorkBytes(AIJTCUDevicePieces *p, HrpbError *err)
{
  const size_t        unit = 256 / sizeof(HrpbScalar), width = (size_t)p->width;
  AIJTCUDeviceArrays *x = p->arrays;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, AIJTCUKernelWork(p, &p->kernel));
  p->kernel  = (p->kernel + 255) / 256 * 256;
  x->ldbslot = AIJTCUDeviceLDA(x->n);
  x->ldcslot = AIJTCUDeviceLDA(x->m);
  x->bslot   = x->bhost ? ((size_t)x->ldbslot * width + unit - 1) / unit * unit : 0;
  x->cslot   = x->chost ? ((size_t)x->ldcslot * width + unit - 1) / unit * unit : 0;
  p->all     = p->kernel + (p->width < x->operands.N ? 2 : 1) * (x->bslot + x->cslot) * sizeof(HrpbScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring the columns of C of a piece to the host, after its product */
static PetscErrorCode AIJTCUBringPiece(const AIJTCUDeviceArrays *x, PetscInt first, PetscInt width, const HrpbScalar *from, int slot,
  const AIJTCUTransfers *t)
{
  const SpmmOut *C = &x->operands.Y;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamWaitEvent(t->out, t->multiplied[slot], 0));
  PetscCall(AIJTCUDeviceCopyColumns(C->array + (size_t)first * (size_t)C->ld, C->ld, from, x->ldcslot, x->m, width, PETSC_FALSE, t->out));
  PetscCallCUDA(cudaEventRecord(t->left[slot], t->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Compute a product with at least one matrix on the host. The next columns of B come before the last ones of C go: a
   copy of memory that is not page-locked keeps the host waiting until it is done.
*/
static PetscErrorCode AIJTCUDeviceMultiplyPieces(AIJTCUPlan *plan, AIJTCUDevicePieces *p, const AIJTCUTransfers *t, cudaStream_t stream,
  HrpbError *err)
{
  const AIJTCUDeviceArrays *x     = p->arrays;
  const PetscInt            piece = p->width, N = (PetscInt)x->operands.N;
  HrpbScalar               *bslot = (HrpbScalar *)((char *)p->order.work + p->kernel), *cslot = bslot + (piece < N ? 2 : 1) * x->bslot;
  PetscInt                  first;
  int                       slot = 0;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) { /* both slots are free when earlier work is done */
    PetscCallCUDA(cudaEventRecord(t->multiplied[i], stream));
    PetscCallCUDA(cudaEventRecord(t->left[i], stream));
  }
  for (first = 0; first < N && !*err; first += piece, slot = !slot) {
    SpmmOperands *o = &p->order.operands;

    *o = SpmmColumns(&x->operands, first, PetscMin(piece, N - first));
    if (x->bhost) {
      HrpbScalar *copy = bslot + (size_t)slot * x->bslot;

      PetscCallCUDA(cudaStreamWaitEvent(t->in, t->multiplied[slot], 0));
      PetscCall(AIJTCUDeviceCopyColumns(copy, x->ldbslot, o->X.array, o->X.ld, x->n, (PetscInt)o->N, PETSC_TRUE, t->in));
      PetscCallCUDA(cudaEventRecord(t->arrived[slot], t->in));
      PetscCallCUDA(cudaStreamWaitEvent(stream, t->arrived[slot], 0));
      o->X = (SpmmIn){copy, x->ldbslot, SPMM_COLUMN_MAJOR};
    }
    if (x->chost) {
      o->Y = (SpmmOut){cslot + (size_t)slot * x->cslot, x->ldcslot, SPMM_COLUMN_MAJOR};
      PetscCallCUDA(cudaStreamWaitEvent(stream, t->left[slot], 0));
    }
    PetscCall(AIJTCULaunch(&plan->launches, &p->order, stream, err));
    PetscCallCUDA(cudaEventRecord(t->multiplied[slot], stream));
    if (x->chost && first > 0) PetscCall(AIJTCUBringPiece(x, first - piece, piece, cslot + (size_t)!slot * x->cslot, !slot, t));
  }
  if (x->chost && first > 0 && !*err) {
    first -= piece;
    PetscCall(AIJTCUBringPiece(x, first, N - first, cslot + (size_t)!slot * x->cslot, !slot, t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   When this returns, also after an error, no copy between these arrays and the device is under way. The caller may
   free them next.
*/
static PetscErrorCode AIJTCUMultiplyFromHost(AIJTCUPlan *plan, AIJTCUDevicePieces *p, cudaStream_t stream, HrpbError *err)
{
  AIJTCUTransfers *t;
  PetscErrorCode   ierr;
  cudaError_t      waited[3];

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  ierr      = AIJTCUDeviceMultiplyPieces(plan, p, t, stream, err);
  waited[0] = cudaStreamSynchronize(stream);
  waited[1] = cudaStreamSynchronize(t->in);
  waited[2] = cudaStreamSynchronize(t->out);
  PetscCall(ierr);
  for (int i = 0; i < 3; i++) PetscCallCUDA(waited[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Pieces that are added go all or none: kernels of all of them are brought to the device before the first. After that
   there is no other way
*/
static PetscErrorCode AIJTCUMultiplyOnDevice(AIJTCUPlan *plan, AIJTCUDevicePieces *p, cudaStream_t stream, HrpbError *err)
{
  const SpmmOperands *all  = &p->arrays->operands;
  const PetscInt      N    = (PetscInt)all->N;
  const PetscBool     adds = (PetscBool)(all->update == SPMM_ADD && p->width < N);

  PetscFunctionBegin;
  for (int load = adds; load >= 0; load--) {
    for (PetscInt first = 0; first < N && !*err; first += p->width) {
      p->order.operands = SpmmColumns(all, first, PetscMin(p->width, N - first));
      if (load) PetscCall(AIJTCULaunchLoad(&p->order, stream, err));
      else PetscCall(AIJTCULaunch(&plan->launches, &p->order, stream, err));
      if (!load && adds && first) PetscCall(AIJTCUCheckKernels(*err));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceMultiplyArrays(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUDevicePieces       *p = (AIJTCUDevicePieces *)ctx;
  const AIJTCUDeviceArrays *x = p->arrays;

  PetscFunctionBegin;
  (void)A;
  *err = HRPB_SUCCESS;
  if (p->all) PetscCall(AIJTCUWorkspaceGet(p->all, csr->stream, &p->order.work));
  p->lacked = (PetscBool)(p->all && !p->order.work);
  if (p->lacked) *err = HRPB_ERR_DEVICE_MEMORY;
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUOrderTakeCSR(&p->order, csr);
  if (x->bhost || x->chost) PetscCall(AIJTCUMultiplyFromHost(plan, p, csr->stream, err));
  else PetscCall(AIJTCUMultiplyOnDevice(plan, p, csr->stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The order for pieces of this width: decided as for all columns, with a kernel for those of a piece */
static PetscErrorCode AIJTCUOrderPieces(Mat A, AIJTCUPlan *plan, AIJTCUDevicePieces *p, HrpbError *err)
{
  const AIJTCUAsk *ask   = p->arrays->ask;
  AIJTCUAsk        piece = *ask;

  PetscFunctionBegin;
  piece.N      = p->width;
  piece.decide = PetscMax(ask->N, ask->decide);
  if (piece.N < ask->N) PetscCall(AIJTCUPlanOrder(A, plan, &piece, &p->order));
  *err = p->order.kernel ? HRPB_SUCCESS : p->order.why;
  if (!*err) PetscCall(AIJTCUWorkBytes(p, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Multiply with the arrays that x has, in pieces of as many columns as the workspace allows. Large matrices of the host
   are cut further, so that copies overlap with work
*/
static PetscErrorCode AIJTCUDeviceMultiplyIt(Mat A, AIJTCUPlan *plan, AIJTCUDeviceArrays *x, HrpbError *err)
{
  AIJTCUDevicePieces p     = {.order = *x->order, .arrays = x};
  PetscInt           piece = PetscMin((PetscInt)x->operands.N, HRPB_MAX_COLUMNS);

  PetscFunctionBegin;
  if ((x->bhost || x->chost) && (size_t)PetscMax(x->m, x->n) * (size_t)piece / PIECES > LEAST_PIECE)
    piece = PetscMin(piece, (piece / PIECES + 15) / 16 * 16);
  for (;; piece = (piece / 2 + 15) / 16 * 16) {
    PetscBool fits = PETSC_TRUE;

    p.width = piece;
    PetscCall(AIJTCUOrderPieces(A, plan, &p, err));
    if (*err) PetscFunctionReturn(PETSC_SUCCESS);
    if (p.all) PetscCall(AIJTCUWorkspaceFits(p.all, &fits));
    if (!fits && piece > NARROWEST) continue;
    PetscCall(AIJTCUDeviceCall(A, plan, p.order.need, AIJTCUDeviceMultiplyArrays, &p, err));
    if (!p.lacked || piece <= NARROWEST) PetscFunctionReturn(PETSC_SUCCESS);
  }
}

/* With B's array in x, get the array of C as well */
static PetscErrorCode AIJTCUDeviceMultiplyInto(Mat A, AIJTCUPlan *plan, AIJTCUDeviceArrays *x, Mat C, HrpbError *err)
{
  PetscScalar   *c;
  PetscMemType   mem;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayWriteAndMemType(C, &c, &mem));
  x->operands.Y.array = (HrpbScalar *)c;
  x->chost            = PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
  ierr                = AIJTCUDeviceMultiplyIt(A, plan, x, err);
  PetscCall(MatDenseRestoreArrayWriteAndMemType(C, &c));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows are real ones, also where a kernel for one vector counts complex ones */
static AIJTCUDeviceArrays AIJTCUArraysFor(Mat A, const AIJTCUAsk *ask, const AIJTCUWorkOrder *order)
{
  return (AIJTCUDeviceArrays){
    .ask = ask, .order = order, .operands = order->operands, .m = AIJTCU_PARTS * A->rmap->n, .n = AIJTCU_PARTS * A->cmap->n};
}

/* Compute C = A B, as ordered for this ask */
PetscErrorCode AIJTCUDeviceMultiply(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, const AIJTCUWorkOrder *order, Mat B, Mat C,
  HrpbError *err)
{
  AIJTCUDeviceArrays x = AIJTCUArraysFor(A, ask, order);
  const PetscScalar *b;
  PetscMemType       mem;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCURealLDA(B, &x.operands.X.ld));
  PetscCall(AIJTCURealLDA(C, &x.operands.Y.ld));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &b, &mem));
  x.operands.X.array = (const HrpbScalar *)b;
  x.bhost            = PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
  ierr               = AIJTCUDeviceMultiplyInto(A, plan, &x, C, err);
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute C += A B with a row-major B. Its array is on the device, and so must C be */
PetscErrorCode AIJTCUDeviceAdd(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, const AIJTCUWorkOrder *order, const HrpbScalar *b, Mat C,
  HrpbError *err)
{
  AIJTCUDeviceArrays x = AIJTCUArraysFor(A, ask, order);
  PetscMemType       mem;
  PetscInt64         ldc;
  PetscScalar       *c;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCURealLDA(C, &ldc));
  PetscCall(MatDenseGetArrayAndMemType(C, &c, &mem));
  x.operands.X  = (SpmmIn){b, ask->N, SPMM_ROW_MAJOR};
  x.operands.Y  = (SpmmOut){(HrpbScalar *)c, ldc, SPMM_COLUMN_MAJOR};
  x.operands.Y0 = (SpmmIn){(const HrpbScalar *)c, ldc, SPMM_COLUMN_MAJOR};
  if (PetscMemTypeDevice(mem)) ierr = AIJTCUDeviceMultiplyIt(A, plan, &x, err);
  PetscCall(MatDenseRestoreArrayAndMemType(C, &c));
  PetscCall(ierr);
  PetscCheck(PetscMemTypeDevice(mem), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The result of a product on a device is on the host");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute the row-major C = A B, all on the device. Its array has N numbers for each real row of A */
PetscErrorCode AIJTCUDeviceToRows(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, const AIJTCUWorkOrder *order, Mat B, HrpbScalar *c,
  HrpbError *err)
{
  AIJTCUDeviceArrays x = AIJTCUArraysFor(A, ask, order);
  const PetscScalar *b;
  PetscMemType       mem;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCURealLDA(B, &x.operands.X.ld));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &b, &mem));
  x.operands.X.array = (const HrpbScalar *)b;
  x.operands.Y       = (SpmmOut){c, ask->N, SPMM_ROW_MAJOR};
  if (PetscMemTypeDevice(mem)) ierr = AIJTCUDeviceMultiplyIt(A, plan, &x, err);
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  PetscCall(ierr);
  PetscCheck(PetscMemTypeDevice(mem), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The operand of a product on a device is on the host");
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
