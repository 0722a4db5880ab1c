/*
   A product of one matrix on a GPU: the arrays of PETSc's dense matrices, in pieces of columns where memory is short or
   where they are on the host, and one launch for each piece.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/* What multiplies: a kernel of the table, with the bricks of a plan or the matrix itself */
typedef struct {
  AIJTCUPlan       *plan;
  const SpmmKernel *kernel; /* for all N columns */
  PetscInt          N;
  SpmmMatrix        A;
  PetscBool         reordered;
  SpmmLayout        blayout, clayout; /* one is row-major only if both are on the device */
  SpmmUpdate        update;           /* SPMM_ADD: C += A B */
  cudaStream_t      stream;
} AIJTCUDeviceProduct;

/* The matrix as the kernels see it, with what the plan has for the decision */
static SpmmMatrix AIJTCUMatrixOf(const AIJTCUPlan *plan, const AIJTCUDecision *d, const AIJTCUDeviceCSR *csr)
{
  const AIJTCUBricks *b      = &plan->bricks;
  SpmmMatrix          matrix = {.nrows = csr->nrows, .ncols = csr->ncols};

  if (d->kernel->format == SPMM_CSR) {
    matrix.rowptr = csr->rowptr;
    matrix.colidx = csr->colidx;
    matrix.values = csr->values;
    if (d->kernel->op == SPMM_OP_VECTOR) matrix.vector = &plan->vector.plan;
    else matrix.csr = &plan->csr.schedule;
  } else {
    matrix.hrpb         = &b->hrpb;
    matrix.schedule     = &b->schedule;
    matrix.brick_values = b->values;
    matrix.precision    = AIJTCUPrecision(AIJTCUGetOptions(plan));
  }
  return matrix;
}

static SpmmOperands AIJTCUOperandsOf(const AIJTCUDeviceProduct *p, PetscInt N, const HrpbScalar *b, PetscInt64 ldb, HrpbScalar *c, PetscInt64 ldc)
{
  SpmmOperands o = SpmmPlain(N, b, ldb, c, ldc);

  o.X.layout = p->blayout;
  o.Y.layout = p->clayout;
  o.update   = p->update;
  if (o.update == SPMM_ADD) o.Y0 = (SpmmIn){c, ldc, p->clayout};
  return o;
}

/*
   The kernel for a piece of N columns. All kernels on CSR give the same bits, so a narrow piece gets one for few
   columns, which needs less workspace. Bricks keep theirs. The decision's kernel is for plain products
*/
static HrpbError AIJTCUKernelOfPiece(const AIJTCUDeviceProduct *p, PetscInt N, const SpmmKernel **kernel)
{
  const SpmmOperands operands = AIJTCUOperandsOf(p, N, NULL, 0, NULL, 0);
  const SpmmFacts    facts    = SpmmFactsOf(&p->A);
  const SpmmFormat   format   = p->kernel->format;
  const SpmmDevice  *device;
  HrpbError          err;

  *kernel = p->kernel;
  if (SpmmIsPlain(&operands) && (N == p->N || format != SPMM_CSR)) return HRPB_SUCCESS;
  err = SpmmGetDevice(&device);
  if (!err) *kernel = SpmmChooseKernel(p->kernel->op, format, PETSC_FALSE, &facts, format == SPMM_CSR ? NULL : &p->A.hrpb->params, &operands, device);
  return !err && !*kernel ? HRPB_ERR_UNSUPPORTED : err;
}

static HrpbError AIJTCUKernelWork(const AIJTCUDeviceProduct *p, PetscInt N, size_t *bytes)
{
  const PetscInt     ldb = p->blayout == SPMM_ROW_MAJOR ? p->N : AIJTCUDeviceLDA((PetscInt)p->A.ncols), ldc = p->clayout == SPMM_ROW_MAJOR ? p->N : AIJTCUDeviceLDA((PetscInt)p->A.nrows);
  const SpmmOperands operands = AIJTCUOperandsOf(p, N, NULL, ldb, NULL, ldc);
  const SpmmKernel  *kernel;
  HrpbError          err = AIJTCUKernelOfPiece(p, N, &kernel);

  if (err) return err;
  return p->reordered ? SpmmWorkReordered(kernel, &p->A, &p->plan->order.matrix, N, bytes) : SpmmWork(kernel, &p->A, &operands, bytes);
}

/*
   The arrays of a product, as kernels have them: with real rows. Those on the host go through buffers behind the kernel's own workspace. There are two of
   each: one is copied while the other is multiplied.
*/
typedef struct {
  const AIJTCUDecision *decision;
  const HrpbScalar     *b;
  HrpbScalar           *c;
  PetscInt              N, m, n;
  PetscInt64            ldb, ldc;
  PetscBool             bhost, chost;
  SpmmLayout            blayout, clayout;
  SpmmUpdate            update;
  PetscInt              ldbslot, ldcslot; /* leading dimensions of the buffers: whole units of 16 bytes */
  size_t                bslot, cslot;     /* scalars of a buffer for one piece */
} AIJTCUDeviceArrays;

enum {
  PIECES      = 4,      /* least number of pieces of large matrices on the host */
  LEAST_PIECE = 1 << 22 /* scalars that each piece must have for such a cut */
};

/*
   Workspace for pieces of width columns, and the part of it that the kernel needs for itself. A product in one piece
   needs one buffer of each.
*/
static PetscErrorCode AIJTCUWorkBytes(const AIJTCUDeviceProduct *p, AIJTCUDeviceArrays *x, PetscInt width, size_t *kernel, size_t *all, HrpbError *err)
{
  const size_t unit = 256 / sizeof(HrpbScalar);

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, AIJTCUKernelWork(p, width, kernel));
  *kernel    = (*kernel + 255) / 256 * 256;
  x->ldbslot = AIJTCUDeviceLDA(x->n);
  x->ldcslot = AIJTCUDeviceLDA(x->m);
  x->bslot   = x->bhost ? ((size_t)x->ldbslot * (size_t)width + unit - 1) / unit * unit : 0;
  x->cslot   = x->chost ? ((size_t)x->ldcslot * (size_t)width + unit - 1) / unit * unit : 0;
  *all       = *kernel + (width < x->N ? 2 : 1) * (x->bslot + x->cslot) * sizeof(HrpbScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Choose the width of a piece and get its workspace: as many columns as the workspace allows. Large matrices of the
   host are cut further, so that copies overlap with work.
*/
static PetscErrorCode AIJTCUChoosePiece(const AIJTCUDeviceProduct *p, AIJTCUDeviceArrays *x, PetscInt *piece, size_t *kernel, char **work, HrpbError *err)
{
  size_t all = 0;

  PetscFunctionBegin;
  *work  = NULL;
  *piece = PetscMin(x->N, HRPB_MAX_COLUMNS);
  if ((x->bhost || x->chost) && (size_t)PetscMax(x->m, x->n) * (size_t)*piece / PIECES > LEAST_PIECE) *piece = PetscMin(*piece, (*piece / PIECES + 15) / 16 * 16);
  for (;; *piece = (*piece / 2 + 15) / 16 * 16) {
    PetscBool fits;

    PetscCall(AIJTCUWorkBytes(p, x, *piece, kernel, &all, err));
    if (*err || !all) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCUWorkspaceFits(all, &fits));
    if (fits || *piece <= 16) PetscCall(AIJTCUWorkspaceGet(all, p->stream, (void **)work));
    if (*work) PetscFunctionReturn(PETSC_SUCCESS);
    if (*piece <= 16) {
      *err = HRPB_ERR_DEVICE_MEMORY;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
}

/* Multiply one piece, or only bring its kernels to the device */
static PetscErrorCode AIJTCUDeviceMultiplyPiece(const AIJTCUDeviceProduct *p, PetscBool load, PetscInt N, const HrpbScalar *b, PetscInt64 ldb, HrpbScalar *c, PetscInt64 ldc, void *work, HrpbError *err)
{
  const SpmmOperands   operands = AIJTCUOperandsOf(p, N, b, ldb, c, ldc);
  const HrpbReordered *order    = p->reordered ? &p->plan->order.matrix : NULL;
  const SpmmKernel    *kernel;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, AIJTCUKernelOfPiece(p, N, &kernel));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (load) PetscCall(AIJTCULaunchLoad(kernel, &p->A, order, &operands, work, p->stream, err));
  else PetscCall(AIJTCULaunch(&p->plan->launches, kernel, &p->A, order, &operands, work, p->stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring the columns of C of a piece to the host, after its product */
static PetscErrorCode AIJTCUBringPiece(const AIJTCUDeviceArrays *x, PetscInt first, PetscInt width, const HrpbScalar *from, int slot, const AIJTCUTransfers *t)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamWaitEvent(t->out, t->multiplied[slot], 0));
  PetscCall(AIJTCUDeviceCopyColumns(x->c + (size_t)first * (size_t)x->ldc, x->ldc, from, x->ldcslot, x->m, width, PETSC_FALSE, t->out));
  PetscCallCUDA(cudaEventRecord(t->left[slot], t->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Compute a product with at least one matrix on the host. The next columns of B come before the last ones of C go: a
   copy of memory that is not page-locked keeps the host waiting until it is done.
*/
static PetscErrorCode AIJTCUDeviceMultiplyPieces(const AIJTCUDeviceProduct *p, const AIJTCUDeviceArrays *x, PetscInt piece, char *work, size_t kernel, const AIJTCUTransfers *t, HrpbError *err)
{
  const cudaStream_t stream = p->stream;
  HrpbScalar        *bslot = (HrpbScalar *)(work + kernel), *cslot = bslot + (piece < x->N ? 2 : 1) * x->bslot;
  PetscInt           first;
  int                slot = 0;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) { /* both slots are free when earlier work is done */
    PetscCallCUDA(cudaEventRecord(t->multiplied[i], stream));
    PetscCallCUDA(cudaEventRecord(t->left[i], stream));
  }
  for (first = 0; first < x->N && !*err; first += piece, slot = !slot) {
    const PetscInt    width = PetscMin(piece, x->N - first);
    const HrpbScalar *b     = x->b + (size_t)first * (size_t)x->ldb;
    HrpbScalar       *c     = x->c + (size_t)first * (size_t)x->ldc;
    PetscInt64        ldb = x->ldb, ldc = x->ldc;

    if (x->bhost) {
      HrpbScalar *copy = bslot + (size_t)slot * x->bslot;

      ldb = x->ldbslot;
      PetscCallCUDA(cudaStreamWaitEvent(t->in, t->multiplied[slot], 0));
      PetscCall(AIJTCUDeviceCopyColumns(copy, ldb, b, x->ldb, x->n, width, PETSC_TRUE, t->in));
      PetscCallCUDA(cudaEventRecord(t->arrived[slot], t->in));
      PetscCallCUDA(cudaStreamWaitEvent(stream, t->arrived[slot], 0));
      b = copy;
    }
    if (x->chost) {
      c   = cslot + (size_t)slot * x->cslot;
      ldc = x->ldcslot;
      PetscCallCUDA(cudaStreamWaitEvent(stream, t->left[slot], 0));
    }
    PetscCall(AIJTCUDeviceMultiplyPiece(p, PETSC_FALSE, width, b, ldb, c, ldc, work, err));
    PetscCallCUDA(cudaEventRecord(t->multiplied[slot], stream));
    if (x->chost && first > 0) PetscCall(AIJTCUBringPiece(x, first - piece, piece, cslot + (size_t)!slot * x->cslot, !slot, t));
  }
  if (x->chost && first > 0 && !*err) PetscCall(AIJTCUBringPiece(x, first - piece, x->N - (first - piece), cslot + (size_t)!slot * x->cslot, !slot, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   When this returns, also after an error, no copy between these arrays and the device is under way. The caller may
   free them next.
*/
static PetscErrorCode AIJTCUMultiplyFromHost(const AIJTCUDeviceProduct *p, const AIJTCUDeviceArrays *x, PetscInt piece, char *work, size_t kernel, HrpbError *err)
{
  AIJTCUTransfers *t;
  PetscErrorCode   ierr;
  cudaError_t      waited[3];

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  ierr      = AIJTCUDeviceMultiplyPieces(p, x, piece, work, kernel, t, err);
  waited[0] = cudaStreamSynchronize(p->stream);
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
static PetscErrorCode AIJTCUMultiplyOnDevice(const AIJTCUDeviceProduct *p, const AIJTCUDeviceArrays *x, PetscInt piece, void *work, HrpbError *err)
{
  const PetscBool adds = (PetscBool)(x->update == SPMM_ADD && piece < x->N);
  /* From one column to the next */
  const size_t bcolumn = x->blayout == SPMM_ROW_MAJOR ? 1 : (size_t)x->ldb, ccolumn = x->clayout == SPMM_ROW_MAJOR ? 1 : (size_t)x->ldc;

  PetscFunctionBegin;
  for (int load = adds; load >= 0; load--) {
    for (PetscInt first = 0; first < x->N && !*err; first += piece) {
      PetscCall(AIJTCUDeviceMultiplyPiece(p, (PetscBool)load, PetscMin(piece, x->N - first), x->b + (size_t)first * bcolumn, x->ldb, x->c + (size_t)first * ccolumn, x->ldc, work, err));
      if (!load && adds && first) PetscCall(AIJTCUCheckKernels(*err));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernel was chosen for all columns. It takes each piece of them, too */
static PetscErrorCode AIJTCUDeviceMultiplyArrays(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUDeviceArrays       *x = (AIJTCUDeviceArrays *)ctx;
  const AIJTCUDecision     *d = x->decision;
  const AIJTCUDeviceProduct p = {.plan = plan, .kernel = d->kernel, .N = x->N, .A = AIJTCUMatrixOf(plan, d, csr), .reordered = d->reordered, .blayout = x->blayout, .clayout = x->clayout, .update = x->update, .stream = csr->stream};
  PetscInt                  piece;
  size_t                    kernel = 0;
  char                     *work;

  PetscFunctionBegin;
  (void)A;
  PetscCall(AIJTCUChoosePiece(&p, x, &piece, &kernel, &work, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (x->bhost || x->chost) PetscCall(AIJTCUMultiplyFromHost(&p, x, piece, work, kernel, err));
  else PetscCall(AIJTCUMultiplyOnDevice(&p, x, piece, work, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiply with the arrays that x has */
static PetscErrorCode AIJTCUDeviceMultiplyIt(Mat A, AIJTCUPlan *plan, AIJTCUDeviceArrays *x, HrpbError *err)
{
  PetscFunctionBegin;
  if (x->decision->kernel->format == SPMM_CSR) plan->real.kept = PETSC_TRUE;
  PetscCall(AIJTCUDeviceCall(A, plan, x->decision->kernel->format == SPMM_CSR ? AIJTCU_CSR_VALUES : AIJTCU_CSR_NOTHING, AIJTCUDeviceMultiplyArrays, x, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With B's array in x, get the array of C as well */
static PetscErrorCode AIJTCUDeviceMultiplyInto(Mat A, AIJTCUPlan *plan, AIJTCUDeviceArrays *x, Mat C, HrpbError *err)
{
  PetscScalar   *c;
  PetscMemType   mem;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayWriteAndMemType(C, &c, &mem));
  x->c     = (HrpbScalar *)c;
  x->chost = PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
  ierr     = AIJTCUDeviceMultiplyIt(A, plan, x, err);
  PetscCall(MatDenseRestoreArrayWriteAndMemType(C, &c));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUDeviceArrays AIJTCUArraysFor(Mat A, const AIJTCUDecision *decision, PetscInt N)
{
  return (AIJTCUDeviceArrays){.decision = decision, .N = N, .m = AIJTCU_PARTS * A->rmap->n, .n = AIJTCU_PARTS * A->cmap->n};
}

/* Compute C = A B with what AIJTCUPlanPrepare() made for the decision */
PetscErrorCode AIJTCUDeviceMultiply(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *decision, Mat B, Mat C, HrpbError *err)
{
  AIJTCUDeviceArrays x = AIJTCUArraysFor(A, decision, B->cmap->n);
  const PetscScalar *b;
  PetscMemType       mem;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCURealLDA(B, &x.ldb));
  PetscCall(AIJTCURealLDA(C, &x.ldc));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &b, &mem));
  x.b     = (const HrpbScalar *)b;
  x.bhost = PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
  ierr    = AIJTCUDeviceMultiplyInto(A, plan, &x, C, err);
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute C += A B with a row-major B of N columns. Its array is on the device, and so must C be */
PetscErrorCode AIJTCUDeviceAdd(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *decision, const HrpbScalar *b, PetscInt N, Mat C, HrpbError *err)
{
  AIJTCUDeviceArrays x = AIJTCUArraysFor(A, decision, N);
  PetscScalar       *c;
  PetscMemType       mem;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  x.b       = b;
  x.ldb     = N;
  x.blayout = SPMM_ROW_MAJOR;
  x.update  = SPMM_ADD;
  PetscCall(AIJTCURealLDA(C, &x.ldc));
  PetscCall(MatDenseGetArrayAndMemType(C, &c, &mem));
  x.c = (HrpbScalar *)c;
  if (PetscMemTypeDevice(mem)) ierr = AIJTCUDeviceMultiplyIt(A, plan, &x, err);
  PetscCall(MatDenseRestoreArrayAndMemType(C, &c));
  PetscCall(ierr);
  PetscCheck(PetscMemTypeDevice(mem), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The result of a product on a device is on the host");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute the row-major C = A B, all on the device. Its array has N numbers for each real row of A */
PetscErrorCode AIJTCUDeviceToRows(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *decision, Mat B, HrpbScalar *c, HrpbError *err)
{
  AIJTCUDeviceArrays x = AIJTCUArraysFor(A, decision, B->cmap->n);
  const PetscScalar *b;
  PetscMemType       mem;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  x.c       = c;
  x.ldc     = x.N;
  x.clayout = SPMM_ROW_MAJOR;
  PetscCall(AIJTCURealLDA(B, &x.ldb));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &b, &mem));
  x.b = (const HrpbScalar *)b;
  if (PetscMemTypeDevice(mem)) ierr = AIJTCUDeviceMultiplyIt(A, plan, &x, err);
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  PetscCall(ierr);
  PetscCheck(PetscMemTypeDevice(mem), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The operand of a product on a device is on the host");
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
