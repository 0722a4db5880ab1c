/*
   Our product of a parallel matrix with a dense B, A B or A^T B. A_d and A_o are the diagonal and the off-diagonal block
   of this process.

     A B     C = A_d B + A_o G, with the rows G of B that others own (halo.h)
     A^T B   C = A_d^T B + what others have for the rows here; A_o^T B is what this process has for rows of others

   The diagonal block's product is one of product.c or the parent's, while rows are under way. That of the off-diagonal
   block is in productghosts.c. A^T B of a symmetric A is A B.

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
  ierr = AIJTCUHaloBegin(A, h, AIJTCU_HALO_ROWS, b, ldb, B->cmap->N);
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
  if (!ierr) ierr = AIJTCUMultiplyLocal(blocks[0], B, C);
  end = AIJTCUHaloEnd(A, h, AIJTCU_HALO_ROWS, B->cmap->N);
  PetscCall(ierr);
  PetscCall(end);
  PetscCall(AIJTCUAddGhosts(blocks[1], h, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMultiplyTransposedLocal(Mat block, Mat B, Mat C)
{
  AIJTCUPlan *plan;
  Mat         T;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(block, &plan));
  PetscCall(AIJTCUTransposedGet(block, plan, &T));
  PetscCall(AIJTCUMultiplyLocal(T, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMultiplyTransposedWithHalo(Mat A, AIJTCUHalo *h, Mat B, Mat C)
{
  Mat            blocks[2];
  PetscErrorCode ierr, begin, end;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  ierr  = AIJTCUSumGhosts(blocks[1], h, B);
  begin = AIJTCUHaloBegin(A, h, AIJTCU_HALO_GHOSTS, NULL, 0, B->cmap->N);
  if (!ierr) ierr = begin;
  if (!ierr) ierr = AIJTCUMultiplyTransposedLocal(blocks[0], B, C);
  end = AIJTCUHaloEnd(A, h, AIJTCU_HALO_GHOSTS, B->cmap->N);
  PetscCall(ierr);
  PetscCall(end);
  PetscCall(AIJTCUHaloAdd(A, h, B->cmap->N, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of B are those that op(A) has as columns */
static PetscErrorCode AIJTCUCheckLayouts(Mat A, PetscBool transposed, Mat B)
{
  const PetscLayout layout = transposed ? A->rmap : A->cmap;

  PetscFunctionBegin;
  PetscCheck(layout->rstart == B->rmap->rstart && layout->rend == B->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
    "Matrix local dimensions are incompatible: %s %" PetscInt_FMT " to %" PetscInt_FMT " of A, rows %" PetscInt_FMT " to %" PetscInt_FMT " of B", transposed ? "rows" : "columns",
    layout->rstart, layout->rend, B->rmap->rstart, B->rmap->rend);
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

/* A^T B is A B while A is known to be symmetric. Then both have the same layouts */
static PetscErrorCode MatProductNumeric_AIJTCU_Halo(Mat C)
{
  Mat         A = C->product->A, B = C->product->B, blocal, clocal;
  AIJTCUPlan *plan;
  PetscBool   usable = PETSC_FALSE, transposed, btogether, ctogether;
  PetscInt    m;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUProductIsTransposed(C, &transposed));
  if (plan) {
    PetscCall(AIJTCUTogether(A, plan, B, &btogether));
    PetscCall(AIJTCUTogether(A, plan, C, &ctogether));
    if (btogether && ctogether) PetscCall(AIJTCUPrepareHalo(A, plan, B->cmap->N, &usable));
  }
  if (!usable) {
    PetscCall(AIJTCUDelegateNumeric(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  m = transposed ? A->cmap->n : A->rmap->n;
  PetscCall(AIJTCUCheckLayouts(A, transposed, B));
  PetscCheck(m == C->rmap->n && B->cmap->N == C->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
    "Sizes do not fit: A has %" PetscInt_FMT " local %s and C %" PetscInt_FMT " rows, B %" PetscInt_FMT " columns and C %" PetscInt_FMT,
    m, transposed ? "columns" : "rows", C->rmap->n, B->cmap->N, C->cmap->N);
  PetscCall(MatDenseGetLocalMatrix(B, &blocal));
  PetscCall(MatDenseGetLocalMatrix(C, &clocal));
  if (transposed) PetscCall(AIJTCUMultiplyTransposedWithHalo(A, &plan->halo, blocal, clocal));
  else PetscCall(AIJTCUMultiplyWithHalo(A, &plan->halo, blocal, clocal));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C gets the type and the layout that the parent's product gives it */
static PetscErrorCode MatProductSymbolic_AIJTCU_Halo(Mat C)
{
  Mat         A = C->product->A, B = C->product->B;
  PetscLayout rows;
  PetscBool   cdense, transposed;

  PetscFunctionBegin;
  PetscCall(AIJTCUProductIsTransposed(C, &transposed));
  rows = transposed ? A->cmap : A->rmap;
  PetscCall(AIJTCUCheckLayouts(A, transposed, B));
  PetscCall(MatSetSizes(C, rows->n, B->cmap->n, rows->N, B->cmap->N));
  if (!transposed) PetscCall(MatSetBlockSizesFromMats(C, A, B));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATMPIDENSE, &cdense));
  if (!cdense) {
    PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
    PetscCall(MatSetVecType(C, B->defaultvectype));
  }
  PetscCall(MatSetUp(C));
  PetscCall(MatSetOption(C, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  if (C->product->type == MATPRODUCT_AtB && !transposed) C->product->symbolic_used_the_fact_A_is_symmetric = PETSC_TRUE;
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
