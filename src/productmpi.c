/*
   Our product of a parallel matrix with a dense B: C = A_d B + A_o G, where A_d and A_o are the diagonal and the
   off-diagonal block of this process, and G the rows of B that others own (halo.h).

   The diagonal block's product is one of product.c or the parent's, while the ghosts are under way. The off-diagonal
   block adds to C, and reads G row by row.

   Setting up and multiplying are collective, and so is every answer that lets the parent make the product. After these
   a process that fails still sends its rows.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_HALO

/* Whether a sequential dense matrix is on a device */
static PetscErrorCode AIJTCUDenseOnDevice(Mat M, PetscBool *on)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)M, MATSEQDENSECUDA, on));
  PetscCall(MatBoundToCPU(M, &bound));
  if (bound) *on = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C += A_o G on the host, where C is brought if need be */
static PetscErrorCode AIJTCUAddOnHost(Mat block, AIJTCUPlan *plan, const AIJTCUDecision *d, const PetscScalar *ghosts, PetscInt N, Mat C, HrpbError *err)
{
  SpmmOperands   o = {.N = N, .X = {ghosts, N, SPMM_ROW_MAJOR}, .update = SPMM_ADD};
  PetscScalar   *c;
  PetscInt       ldc;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArray(C, &c));
  o.Y  = (SpmmOut){c, ldc, SPMM_COLUMN_MAJOR};
  o.Y0 = (SpmmIn){c, ldc, SPMM_COLUMN_MAJOR};
  ierr = AIJTCUHostRun(block, plan, d, &o, err);
  PetscCall(MatDenseRestoreArray(C, &c));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C += A_o G as decided, if possible */
static PetscErrorCode AIJTCUAdd(Mat block, AIJTCUPlan *plan, AIJTCUDecision *d, const AIJTCUHalo *h, PetscInt N, Mat C, HrpbError *err)
{
  const PetscBool tcu = (PetscBool)(d->path == MAT_AIJTCU_PATH_TCU), host = (PetscBool)(h->place == AIJTCU_HALO_HOST);
  PetscBool       usable;
  PetscLogDouble  flops;
  MatInfo         info;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanPrepare(block, plan, d, &usable));
  *err = HRPB_SUCCESS;
  if (d->reordered || (!usable && (tcu || !host))) { /* on the host CSR needs no preparation */
    const HrpbError why = tcu ? plan->bricks.why : plan->csr.why;

    *err = why && !usable ? why : HRPB_ERR_UNSUPPORTED;
  } else if (host) PetscCall(AIJTCUAddOnHost(block, plan, d, h->buffers.in, N, C, err));
  #if AIJTCU_HAVE_DEVICE
  else PetscCall(AIJTCUDeviceAdd(block, plan, d, h->buffers.din, N, C, err));
  #endif
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (tcu) AIJTCUGetCounts(plan)->tcu++;
  else AIJTCUGetCounts(plan)->csr++;
  PetscCall(MatGetInfo(block, MAT_LOCAL, &info));
  flops = 2 * info.nz_used * (PetscLogDouble)N;
  if (host) PetscCall(PetscLogFlops(flops));
  else PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
/* The same where there is no memory for it on the device */
static PetscErrorCode AIJTCUAddAnyway(Mat block, AIJTCUPlan *plan, AIJTCUDecision *d, const AIJTCUHalo *h, PetscInt N, Mat C, HrpbError *err)
{
  PetscScalar   *ghosts;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscInfo(block, "aijtcu: no product on the csr path, one on the host instead: %s\n", HrpbErrorString(*err)));
  PetscCall(AIJTCUHaloDeviceGhosts(h, N, &ghosts));
  ierr = AIJTCUAddOnHost(block, plan, d, ghosts, N, C, err);
  PetscCall(PetscFree(ghosts));
  PetscCall(ierr);
  if (!*err) AIJTCUGetCounts(plan)->csr++;
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* The same by the path that is decided for it. After an error that is no error of PETSc C is as it was */
static PetscErrorCode AIJTCUAddGhosts(Mat block, const AIJTCUHalo *h, PetscInt N, Mat C)
{
  AIJTCUPlan    *plan;
  AIJTCUDecision d;
  HrpbError      err;

  PetscFunctionBegin;
  PetscCheck(block->cmap->n == h->nghosts, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Off-diagonal block with %" PetscInt_FMT " columns and a halo of %" PetscInt_FMT,
    block->cmap->n, h->nghosts);
  if (!h->nghosts || !N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetPlan(block, &plan));
  d = AIJTCUDecideToAdd(SPMM_OP_PRODUCT, AIJTCUGetOptions(plan), N);
  PetscCall(AIJTCURecordChoice(block, N, d.path, AIJTCUReasons[d.reason]));
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_OffDiagonal, block, C, 0, 0));
  PetscCall(AIJTCUAdd(block, plan, &d, h, N, C, &err));
  if (err && d.path == MAT_AIJTCU_PATH_TCU) {
    PetscCall(PetscInfo(block, "aijtcu: no product on the tcu path, the CSR path instead: %s\n", HrpbErrorString(err)));
    d.path = MAT_AIJTCU_PATH_CSR;
    PetscCall(AIJTCUAdd(block, plan, &d, h, N, C, &err));
  }
  #if AIJTCU_HAVE_DEVICE
  if (err && h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUAddAnyway(block, plan, &d, h, N, C, &err));
  #endif
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_OffDiagonal, block, C, 0, 0));
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_MEM, "Product of an off-diagonal block: %s", HrpbErrorString(err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B of sequential matrices, from its making to its end: C may belong to another product next time */
static PetscErrorCode AIJTCUMultiplyDiagonal(Mat A, PetscBool device, Mat B, Mat C)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (device) PetscCall(AIJTCUMultiplyOnce(A, B, C, &done));
  #else
  (void)device;
  #endif
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatProductClear(C));
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductClear(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let the rows of B go that others need */
static PetscErrorCode AIJTCUSendRows(Mat A, AIJTCUHalo *h, Mat B)
{
  const PetscScalar *b;
  PetscInt           ldb;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &ldb));
  if (h->place == AIJTCU_HALO_HOST) PetscCall(MatDenseGetArrayRead(B, &b));
  else PetscCall(MatDenseGetArrayReadAndMemType(B, &b, NULL));
  ierr = AIJTCUHaloBegin(A, h, b, ldb, B->cmap->N);
  if (h->place == AIJTCU_HALO_HOST) PetscCall(MatDenseRestoreArrayRead(B, &b));
  else PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMultiplyWithHalo(Mat A, AIJTCUHalo *h, Mat B, Mat C)
{
  Mat            blocks[2];
  PetscErrorCode ierr, end;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  ierr = AIJTCUSendRows(A, h, B);
  if (!ierr) ierr = AIJTCUMultiplyDiagonal(blocks[0], (PetscBool)(h->place != AIJTCU_HALO_HOST), B, C);
  end = AIJTCUHaloEnd(A, h, B->cmap->N);
  PetscCall(ierr);
  PetscCall(end);
  PetscCall(AIJTCUAddGhosts(blocks[1], h, B->cmap->N, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCheckLayouts(Mat A, Mat B)
{
  PetscFunctionBegin;
  PetscCheck(A->cmap->rstart == B->rmap->rstart && A->cmap->rend == B->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
    "Matrix local dimensions are incompatible: columns %" PetscInt_FMT " to %" PetscInt_FMT " of A, rows %" PetscInt_FMT
    " to %" PetscInt_FMT " of B",
    A->cmap->rstart, A->cmap->rend, B->rmap->rstart, B->rmap->rend);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have the halo of A's pattern, with room for N columns */
static PetscErrorCode AIJTCUPrepareHalo(Mat A, AIJTCUPlan *plan, PetscInt N, PetscBool *usable)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  PetscCall(AIJTCUHaloPrepare(A, plan, device, N, usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether A, B and C are where a product of ours needs them: all on the host, or all on a device. The parent's product
   takes any, and copies
*/
static PetscErrorCode AIJTCUTogether(Mat A, const AIJTCUPlan *plan, Mat dense, PetscBool *together)
{
  Mat       local;
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  PetscCall(MatDenseGetLocalMatrix(dense, &local));
  PetscCall(AIJTCUDenseOnDevice(local, together));
  if (!device) *together = (PetscBool)!plan->device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Halo(Mat C)
{
  Mat         A = C->product->A, B = C->product->B, blocal, clocal;
  AIJTCUPlan *plan;
  PetscBool   usable = PETSC_FALSE, changed, btogether, ctogether;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUProductSymmetryChanged(C, &changed));
  if (plan && !changed) {
    PetscCall(AIJTCUTogether(A, plan, B, &btogether));
    PetscCall(AIJTCUTogether(A, plan, C, &ctogether));
    if (btogether && ctogether) PetscCall(AIJTCUPrepareHalo(A, plan, B->cmap->N, &usable));
  }
  if (!usable) {
    PetscCall(AIJTCUDelegateNumeric(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUCheckLayouts(A, B));
  PetscCheck(A->rmap->n == C->rmap->n && B->cmap->N == C->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
    "Sizes do not fit: A has %" PetscInt_FMT " local rows and C %" PetscInt_FMT ", B %" PetscInt_FMT " columns and C %" PetscInt_FMT,
    A->rmap->n, C->rmap->n, B->cmap->N, C->cmap->N);
  PetscCall(MatDenseGetLocalMatrix(B, &blocal));
  PetscCall(MatDenseGetLocalMatrix(C, &clocal));
  PetscCall(AIJTCUMultiplyWithHalo(A, &plan->halo, blocal, clocal));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C gets the type and the layout that the parent's product gives it */
static PetscErrorCode MatProductSymbolic_AIJTCU_Halo(Mat C)
{
  Mat       A = C->product->A, B = C->product->B;
  PetscBool cdense;

  PetscFunctionBegin;
  PetscCall(AIJTCUCheckLayouts(A, B));
  PetscCall(MatSetSizes(C, A->rmap->n, B->cmap->n, A->rmap->N, B->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(C, A, B));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATMPIDENSE, &cdense));
  if (!cdense) {
    PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
    PetscCall(MatSetVecType(C, B->defaultvectype));
  }
  PetscCall(MatSetUp(C));
  PetscCall(MatSetOption(C, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  if (C->product->type == MATPRODUCT_AtB) C->product->symbolic_used_the_fact_A_is_symmetric = PETSC_TRUE;
  C->ops->productnumeric = MatProductNumeric_AIJTCU_Halo;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloTakes(Mat C, const AIJTCUPlan *plan, PetscBool *takes)
{
  const char *why = NULL;
  PetscBool   mpidense, together;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->B, MATMPIDENSE, &mpidense));
  if (AIJTCUGetOptions(plan)->path == MAT_AIJTCU_PATH_CUSPARSE) why = "as set";
  else if (!mpidense || !C->product->A->assembled) why = "the operands are not parallel and assembled";
  else {
    PetscCall(AIJTCUTogether(C->product->A, plan, C->product->B, &together));
    if (!together) why = "only one of both matrices is on the device";
  }
  if (why) PetscCall(PetscInfo(C->product->A, "aijtcu: no halo, the parent's product instead: %s\n", why));
  *takes = (PetscBool)!why;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set up the product of a parallel A with a dense B, if it is ours */
PetscErrorCode AIJTCUSetUpProductMPI(Mat C, AIJTCUPlan *plan)
{
  Mat       A = C->product->A;
  PetscBool takes;

  PetscFunctionBegin;
  PetscCall(AIJTCUHaloTakes(C, plan, &takes));
  if (takes) PetscCall(AIJTCUPrepareHalo(A, plan, C->product->B->cmap->N, &takes));
  if (!takes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUAttachBlocks(A));
  PetscCall(AIJTCURecordWhole(A, C->product->B->cmap->N));
  C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Halo;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode AIJTCUSetUpProductMPI(Mat C, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  (void)plan;
  PetscCall(PetscInfo(C->product->A, "aijtcu: no halo, the parent's product instead: it needs PETSc 3.26, real scalars and MPI\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
