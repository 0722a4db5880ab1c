/*
   Our product of a parallel matrix with a dense B, A B or A^T B. A_d and A_o are the diagonal and the off-diagonal
   block of this process.

     A B     C = A_d B + A_o G, with the rows G of B that others own (halo.h)
     A^T B   C = A_d^T B + what others have for the rows here; A_o^T B is what this process has for rows of others

   The diagonal block's product is one of product.c or the parent's, while rows are under way. That of the off-diagonal
   block is in productghosts.c. A^T B of a symmetric A is A B.

   Setting up and multiplying are collective, and so is every answer that lets the parent make the product. After these
   a process that fails still sends its rows.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_HALO

/* Whether a sequential dense matrix gives an array on a device. PETSc then unbinds one that is bound to the host */
static PetscErrorCode AIJTCUDenseOnDevice(Mat M, PetscBool *on)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)M, MATSEQDENSECUDA, on));
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
  PetscCall(AIJTCUPlanTransposed(block, plan, &T));
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

/* Whether A is where its parent type has it. A matrix of a device that is bound to the host is the parent's */
static PetscErrorCode AIJTCUIsAtHome(Mat A, const AIJTCUPlan *plan, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, is));
  if (!plan->device) *is = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The local matrix of a dense one, where A is: itself, or a new one. Its contents are not brought */
static PetscErrorCode AIJTCULocalWhereA(const AIJTCUHalo *h, Mat dense, Mat *local, Mat *there)
{
  PetscBool on = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLocalMatrix(dense, local));
  *there = *local;
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUDenseOnDevice(*local, &on));
  #if AIJTCU_HAVE_DEVICE
  if (!on) {
    *there = NULL;
    PetscCall(MatCreateSeqDenseCUDA(PETSC_COMM_SELF, (*local)->rmap->n, (*local)->cmap->n, NULL, there));
  }
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multiply with matrices that are where A is. B comes in once, and C goes out once */
static PetscErrorCode AIJTCUMultiplyWhereA(Mat A, AIJTCUHalo *h, PetscBool transposed, Mat B, Mat C)
{
  Mat            local[2] = {NULL, NULL}, at[2] = {NULL, NULL};
  PetscErrorCode ierr, end                      = PETSC_SUCCESS;

  PetscFunctionBegin;
  ierr = AIJTCULocalWhereA(h, B, &local[0], &at[0]);
  if (!ierr) ierr = AIJTCULocalWhereA(h, C, &local[1], &at[1]);
  #if AIJTCU_HAVE_DEVICE
  if (!ierr && at[0] != local[0]) ierr = AIJTCUDeviceBring(local[0], at[0]);
  #endif
  /* After an error others still wait for rows from here */
  if (ierr) end = AIJTCUHaloEnd(A, h, transposed ? AIJTCU_HALO_GHOSTS : AIJTCU_HALO_ROWS, B->cmap->N);
  else if (transposed) ierr = AIJTCUMultiplyTransposedWithHalo(A, h, at[0], at[1]);
  else ierr = AIJTCUMultiplyWithHalo(A, h, at[0], at[1]);
  #if AIJTCU_HAVE_DEVICE
  if (!ierr && at[1] != local[1]) ierr = AIJTCUDeviceBring(at[1], local[1]);
  #endif
  for (int i = 0; i < 2; i++) {
    if (at[i] != local[i]) PetscCall(MatDestroy(&at[i]));
  }
  PetscCall(ierr);
  PetscCall(end);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B is A B while A is known to be symmetric. Then both have the same layouts */
static PetscErrorCode MatProductNumeric_AIJTCU_Halo(Mat C)
{
  Mat         A = C->product->A, B = C->product->B;
  AIJTCUPlan *plan;
  PetscBool   usable = PETSC_FALSE, transposed;
  PetscInt    m;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUProductIsTransposed(C, &transposed));
  if (plan) PetscCall(AIJTCUIsAtHome(A, plan, &usable));
  if (usable) PetscCall(AIJTCUPrepareHalo(A, plan, B->cmap->N, &usable));
  if (!usable) {
    PetscCall(AIJTCUDelegateNumeric(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  m = transposed ? A->cmap->n : A->rmap->n;
  PetscCall(AIJTCUCheckLayouts(A, transposed, B));
  PetscCheck(m == C->rmap->n && B->cmap->N == C->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
    "Sizes do not fit: A has %" PetscInt_FMT " local %s and C %" PetscInt_FMT " rows, B %" PetscInt_FMT " columns and C %" PetscInt_FMT,
    m, transposed ? "columns" : "rows", C->rmap->n, B->cmap->N, C->cmap->N);
  PetscCall(AIJTCUMultiplyWhereA(A, &plan->halo, transposed, B, C));
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
  PetscBool   mpidense, home;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->B, MATMPIDENSE, &mpidense));
  if (AIJTCUGetOptions(plan)->path == MAT_AIJTCU_PATH_CUSPARSE) why = "as set";
  else if (!mpidense || !C->product->A->assembled) why = "the operands are not parallel and assembled";
  else {
    PetscCall(AIJTCUIsAtHome(C->product->A, plan, &home));
    if (!home) why = "the matrix is bound to the host";
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
