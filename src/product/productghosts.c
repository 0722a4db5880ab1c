/*
   What the off-diagonal block A_o of a parallel matrix does in a product: C += A_o G with the ghosts G of B, and
   G = A_o^T B with sums for ghosts. G is row-major, as the halo has it.

   Both take the CSR path, unless bricks are set. What cannot be had on a device is made on the host.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_HALO

typedef struct {
  Mat         A;      /* the block, or its transpose */
  Mat         dense;  /* C, or B */
  HrpbScalar *ghosts; /* row-major, for real rows */
  PetscInt    N;
  PetscBool   sums; /* they are made: G = A B. Otherwise C += A G */
  PetscBool   host;
} AIJTCUGhosts;

/* What is asked for, on the host or where the matrix is. The path of an off-diagonal block is its own */
static AIJTCUAsk AIJTCUGhostsAsk(const AIJTCUGhosts *g, PetscBool host)
{
  AIJTCUAsk ask = {.op = SPMM_OP_PRODUCT, .N = g->N, .decide = AIJTCUWholeColumns(g->N), .host = host};

  if (g->sums) ask.Y = SPMM_ROW_MAJOR;
  else {
    ask.X      = SPMM_ROW_MAJOR;
    ask.update = SPMM_ADD;
  }
  return ask;
}

/* On the host, where C or B is brought if need be */
static PetscErrorCode AIJTCUGhostsOnHost(const AIJTCUGhosts *g, AIJTCUWorkOrder *order, HrpbScalar *ghosts, HrpbError *err)
{
  SpmmOperands      *o = &order->operands;
  const PetscScalar *b;
  PetscScalar       *c;
  PetscInt64         ld;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCURealLDA(g->dense, &ld));
  if (g->sums) {
    PetscCall(MatDenseGetArrayRead(g->dense, &b));
    o->X = (SpmmIn){(const HrpbScalar *)b, ld, SPMM_COLUMN_MAJOR};
    o->Y = (SpmmOut){ghosts, g->N, SPMM_ROW_MAJOR};
    ierr = AIJTCUHostRun(g->A, order, err);
    PetscCall(MatDenseRestoreArrayRead(g->dense, &b));
  } else {
    PetscCall(MatDenseGetArray(g->dense, &c));
    o->X  = (SpmmIn){ghosts, g->N, SPMM_ROW_MAJOR};
    o->Y  = (SpmmOut){(HrpbScalar *)c, ld, SPMM_COLUMN_MAJOR};
    o->Y0 = (SpmmIn){(const HrpbScalar *)c, ld, SPMM_COLUMN_MAJOR};
    ierr  = AIJTCUHostRun(g->A, order, err);
    PetscCall(MatDenseRestoreArray(g->dense, &c));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the path of the ask, if possible */
static PetscErrorCode AIJTCUGhostsMultiply(const AIJTCUGhosts *g, AIJTCUPlan *plan, const AIJTCUAsk *ask, HrpbError *err)
{
  AIJTCUWorkOrder order;
  PetscLogDouble  flops;
  MatInfo         info;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanOrder(g->A, plan, ask, &order));
  *err = HRPB_SUCCESS;
  if (!order.kernel) *err = order.why;
  else if (order.reordered || order.kernel->host != g->host) *err = HRPB_ERR_UNSUPPORTED;
  else if (g->host) PetscCall(AIJTCUGhostsOnHost(g, &order, g->ghosts, err));
  #if AIJTCU_HAVE_DEVICE
  else if (g->sums) PetscCall(AIJTCUDeviceToRows(g->A, plan, ask, &order, g->dense, g->ghosts, err));
  else PetscCall(AIJTCUDeviceAdd(g->A, plan, ask, &order, g->ghosts, g->dense, err));
  #endif
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (ask->path == MAT_AIJTCU_PATH_TCU) AIJTCUCount(plan, tcu);
  else AIJTCUCount(plan, csr);
  PetscCall(MatGetInfo(g->A, MAT_LOCAL, &info));
  flops = 2 * info.nz_used * (PetscLogDouble)g->N;
  if (g->host) PetscCall(PetscLogFlops(flops));
  else PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
/* The same where there is no memory for it on the device */
static PetscErrorCode AIJTCUGhostsMultiplyAnyway(const AIJTCUGhosts *g, AIJTCUPlan *plan, const AIJTCUHalo *h, HrpbError *err)
{
  AIJTCUAsk       ask = AIJTCUGhostsAsk(g, PETSC_TRUE);
  AIJTCUWorkOrder order;
  HrpbScalar     *ghosts;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscInfo(g->A, "aijtcu: no product on the csr path, one on the host instead: %s\n", HrpbErrorString(*err)));
  ask.path = MAT_AIJTCU_PATH_CSR;
  PetscCall(AIJTCUPlanOrder(g->A, plan, &ask, &order));
  if (g->sums) PetscCall(PetscMalloc1((size_t)AIJTCUHaloGhostCount(h) * (size_t)g->N, &ghosts));
  else PetscCall(AIJTCUHaloGhostsToHost(h, g->N, &ghosts));
  ierr = AIJTCUGhostsOnHost(g, &order, ghosts, err);
  if (!ierr && !*err && g->sums) ierr = AIJTCUHaloSumsFromHost(h, g->N, ghosts);
  PetscCall(PetscFree(ghosts));
  PetscCall(ierr);
  if (!*err) AIJTCUCount(plan, csr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* By the path that is decided for it. After an error that is no error of PETSc C is as it was */
static PetscErrorCode AIJTCUGhostsRun(const AIJTCUGhosts *g, const AIJTCUHalo *h)
{
  AIJTCUAsk   ask = AIJTCUGhostsAsk(g, g->host);
  AIJTCUPlan *plan;
  HrpbError   err;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(g->A, &plan));
  PetscCall(AIJTCUPlanDecide(g->A, plan, &ask));
  PetscCall(AIJTCURecordChoice(g->A, ask.decide, ask.path, AIJTCUReasons[ask.reason]));
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_OffDiagonal, g->A, g->dense, 0, 0));
  PetscCall(AIJTCUGhostsMultiply(g, plan, &ask, &err));
  if (err && ask.path == MAT_AIJTCU_PATH_TCU) {
    PetscCall(PetscInfo(g->A, "aijtcu: no product on the tcu path, the CSR path instead: %s\n", HrpbErrorString(err)));
    ask.path = MAT_AIJTCU_PATH_CSR;
    PetscCall(AIJTCUGhostsMultiply(g, plan, &ask, &err));
  }
  #if AIJTCU_HAVE_DEVICE
  if (err && !g->host) PetscCall(AIJTCUGhostsMultiplyAnyway(g, plan, h, &err));
  #else
  (void)h;
  #endif
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_OffDiagonal, g->A, g->dense, 0, 0));
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_MEM, "Product of an off-diagonal block: %s", HrpbErrorString(err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGhostsCheckBlock(Mat block, const AIJTCUHalo *h)
{
  PetscFunctionBegin;
  PetscCheck(AIJTCU_PARTS * block->cmap->n == AIJTCUHaloGhostCount(h), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Off-diagonal block with %" PetscInt_FMT " columns and a halo of %" PetscInt_FMT,
    AIJTCU_PARTS * block->cmap->n, AIJTCUHaloGhostCount(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C += A_o G, with the ghosts that the halo has */
PetscErrorCode AIJTCUAddGhosts(Mat block, const AIJTCUHalo *h, Mat C)
{
  const AIJTCUGhosts g = {.A = block, .dense = C, .ghosts = (HrpbScalar *)AIJTCUHaloGhosts(h), .N = C->cmap->n, .host = AIJTCUHaloIsOnHost(h)};

  PetscFunctionBegin;
  PetscCall(AIJTCUGhostsCheckBlock(block, h));
  if (AIJTCUHaloGhostCount(h) && g.N) PetscCall(AIJTCUGhostsRun(&g, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G = A_o^T B, sums for the ghosts of the halo */
PetscErrorCode AIJTCUSumGhosts(Mat block, AIJTCUHalo *h, Mat B)
{
  AIJTCUGhosts g = {.dense = B, .N = B->cmap->n, .sums = PETSC_TRUE, .host = AIJTCUHaloIsOnHost(h)};
  AIJTCUPlan  *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGhostsCheckBlock(block, h));
  if (!AIJTCUHaloGhostCount(h) || !g.N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUHaloSums(h, &g.ghosts));
  PetscCall(AIJTCUGetPlan(block, &plan));
  PetscCall(AIJTCUPlanTransposed(block, plan, &g.A));
  PetscCheck(g.A, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for the transpose of an off-diagonal block");
  PetscCall(AIJTCUGhostsRun(&g, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
