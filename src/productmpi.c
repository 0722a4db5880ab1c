/*
   Our product of a parallel matrix with a dense B: C = A_d B + A_o G, where A_d and A_o are the diagonal and the
   off-diagonal block of this process, and G the rows of B that others own (halo.h).

   The diagonal block's product is one of product.c or the parent's, while the ghosts are under way. The off-diagonal
   block has a decision of its own. It adds to C, and reads G row by row.

   On a device PETSc's parallel product multiplies. Setting up and multiplying are collective, and so is every answer
   that lets the parent make the product.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_HALO

/* C += A_o G */
static PetscErrorCode AIJTCUAddGhosts(Mat block, const AIJTCUHalo *h, PetscInt N, Mat C)
{
  SpmmOperands   o = {.N = N, .X = {h->in, N, SPMM_ROW_MAJOR}, .Y = {NULL, 0, SPMM_COLUMN_MAJOR}, .update = SPMM_ADD};
  AIJTCUPlan    *plan;
  AIJTCUDecision d;
  HrpbError      err;
  PetscBool      usable = PETSC_FALSE;
  PetscInt       ldc;
  MatInfo        info;

  PetscFunctionBegin;
  PetscCheck(block->cmap->n == h->nghosts, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Off-diagonal block with %" PetscInt_FMT " columns and a halo of %" PetscInt_FMT,
    block->cmap->n, h->nghosts);
  if (!h->nghosts || !N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetPlan(block, &plan));
  PetscCall(AIJTCUPlanDecide(block, plan, SPMM_OP_PRODUCT, N, &d));
  if (d.path == MAT_AIJTCU_PATH_TCU) PetscCall(AIJTCUPlanPrepare(block, plan, &d, &usable));
  if (!usable) d.path = MAT_AIJTCU_PATH_CSR;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_OffDiagonal, block, C, 0, 0));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArray(C, &o.Y.array));
  o.Y.ld = ldc;
  o.Y0   = (SpmmIn){o.Y.array, ldc, SPMM_COLUMN_MAJOR};
  PetscCall(AIJTCUHostRun(block, plan, &d, &o, &err));
  if (err && d.path == MAT_AIJTCU_PATH_TCU) { /* bricks without memory: C is as it was */
    PetscCall(PetscInfo(block, "aijtcu: no product on the tcu path, the CSR path instead: %s\n", HrpbErrorString(err)));
    d.path = MAT_AIJTCU_PATH_CSR;
    PetscCall(AIJTCUHostRun(block, plan, &d, &o, &err));
  }
  PetscCall(MatDenseRestoreArray(C, &o.Y.array));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_OffDiagonal, block, C, 0, 0));
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_MEM, "Product of an off-diagonal block: %s", HrpbErrorString(err));
  if (d.path == MAT_AIJTCU_PATH_TCU) AIJTCUGetCounts(plan)->tcu++;
  else AIJTCUGetCounts(plan)->csr++;
  PetscCall(MatGetInfo(block, MAT_LOCAL, &info));
  PetscCall(PetscLogFlops(2 * info.nz_used * (PetscLogDouble)N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B of sequential matrices, from its making to its end: C may belong to another product next time */
static PetscErrorCode AIJTCUMultiplyDiagonal(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatProductClear(C));
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductClear(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was begun is ended, also after an error: other processes wait for their rows */
static PetscErrorCode AIJTCUMultiplyWithHalo(Mat A, AIJTCUHalo *h, Mat B, Mat C)
{
  const PetscInt     N = B->cmap->N;
  const PetscScalar *b;
  Mat                blocks[2];
  PetscInt           ldb;
  PetscErrorCode     ierr, end;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetArrayRead(B, &b));
  ierr = AIJTCUHaloBegin(A, h, b, ldb, N);
  PetscCall(MatDenseRestoreArrayRead(B, &b));
  PetscCall(ierr);
  ierr = AIJTCUMultiplyDiagonal(blocks[0], B, C);
  end  = AIJTCUHaloEnd(A, h, N);
  PetscCall(ierr);
  PetscCall(end);
  PetscCall(AIJTCUAddGhosts(blocks[1], h, N, C));
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
  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUHaloPrepare(A, plan, N, usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Halo(Mat C)
{
  Mat         A = C->product->A, B = C->product->B, blocal, clocal;
  AIJTCUPlan *plan;
  PetscBool   usable = PETSC_FALSE, changed;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUProductSymmetryChanged(C, &changed));
  if (plan && !changed) PetscCall(AIJTCUPrepareHalo(A, plan, B->cmap->N, &usable));
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
  PetscBool   mpidense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->B, MATMPIDENSE, &mpidense));
  if (plan->device) why = "the matrix is on a device";
  else if (AIJTCUGetOptions(plan)->path == MAT_AIJTCU_PATH_CUSPARSE) why = "as set";
  else if (!mpidense || !C->product->A->assembled) why = "the operands are not parallel and assembled";
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
