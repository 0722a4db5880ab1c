/*
   Our product of a parallel matrix with a dense B, A B or A^T B. A_d and A_o are the diagonal and the off-diagonal
   block of this process.

     A B     C = A_d B + A_o G, with the rows G of B that others own (src/halo)
     A^T B   C = A_d^T B + what others have for the rows here; A_o^T B is what this process has for rows of others

   The diagonal block's product is one of product.c or the parent's, while rows are under way. That of the off-diagonal
   block is in productghosts.c. Operands of the host, and those that memory is short for, come in pieces of columns
   (productpieces.c). A^T B of an A that is eternally symmetric is A B.

   Setting up and multiplying are collective, and so is every answer that lets the parent make the product. After these
   a process that fails still sends its rows.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_HALO

/* Let the rows of B go that others need */
static PetscErrorCode AIJTCUSendRows(Mat A, AIJTCUHalo *h, Mat B)
{
  const PetscScalar *b;
  PetscInt64         ldb;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCURealLDA(B, &ldb));
  if (AIJTCUHaloIsOnHost(h)) PetscCall(MatDenseGetArrayRead(B, &b));
  else PetscCall(MatDenseGetArrayReadAndMemType(B, &b, NULL));
  ierr = AIJTCUHaloBegin(A, h, AIJTCU_HALO_ROWS, (const HrpbScalar *)b, ldb, B->cmap->N);
  if (AIJTCUHaloIsOnHost(h)) PetscCall(MatDenseRestoreArrayRead(B, &b));
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
  PetscCheck(T, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for the transpose of a diagonal block");
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

/*
   Whether op(A), B, and C if there is one, fit. Each process knows the layouts of all, so that all find the same,
   before any of them waits for another
*/
static PetscErrorCode AIJTCUCheckLayouts(Mat A, PetscBool transposed, Mat B, Mat C)
{
  const MPI_Comm    comm  = PetscObjectComm((PetscObject)A);
  const PetscLayout inner = transposed ? A->rmap : A->cmap, outer = transposed ? A->cmap : A->rmap;
  PetscBool         fits;

  PetscFunctionBegin;
  PetscCall(PetscLayoutCompare(inner, B->rmap, &fits));
  PetscCheck(fits, comm, PETSC_ERR_ARG_SIZ, "Local sizes do not fit on some process: of A %" PetscInt_FMT " %s here, of B %" PetscInt_FMT " rows",
    inner->n, transposed ? "rows" : "columns", B->rmap->n);
  if (!C) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLayoutCompare(outer, C->rmap, &fits));
  PetscCheck(fits && B->cmap->N == C->cmap->N, comm, PETSC_ERR_ARG_SIZ,
    "Sizes do not fit on some process: A has %" PetscInt_FMT " %s here and C %" PetscInt_FMT " rows, B %" PetscInt_FMT " columns and C %" PetscInt_FMT,
    outer->n, transposed ? "columns" : "rows", C->rmap->n, B->cmap->N, C->cmap->N);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have the halo of A's pattern, with room for N columns */
static PetscErrorCode AIJTCUPrepareHalo(Mat A, AIJTCUPlan *plan, PetscInt N, PetscBool *usable)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUHaloPrepare(A, plan->id.device, AIJTCUGetOptions(plan)->halo, N, &plan->halo, usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether A is where its parent type has it. A matrix of a device that is bound to the host is the parent's. Whether
   kernels run is found out with the halo: processes may differ in that
*/
static PetscErrorCode AIJTCUIsAtHome(Mat A, const AIJTCUPlan *plan, PetscBool *is)
{
  AIJTCUPlace place;

  PetscFunctionBegin;
  PetscCall(AIJTCUWhere(A, plan, &place));
  *is = (PetscBool)(place != AIJTCU_PLACE_BOUND);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the blocks of this process have their transposes */
static PetscErrorCode AIJTCUHaveTransposes(Mat A, PetscBool *have)
{
  Mat blocks[2];

  PetscFunctionBegin;
  *have = PETSC_TRUE;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  for (int i = 0; i < 2 && *have; i++) {
    AIJTCUPlan *plan;
    Mat         T;

    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    PetscCall(AIJTCUPlanTransposed(blocks[i], plan, &T));
    *have = (PetscBool)(T != NULL);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have them on all processes, or do without on all. It is found out once for a pattern, unless
   there is no memory now. Collective */
static PetscErrorCode AIJTCUPrepareTransposes(Mat A, AIJTCUPlan *plan, PetscBool *usable)
{
  PetscFunctionBegin;
  if (plan->transposes == AIJTCU_EMPTY || (plan->transposes == AIJTCU_REFUSED && !AIJTCURefusalHolds(&plan->refused))) {
    PetscBool            mine = PETSC_FALSE, all;
    const PetscErrorCode ierr = AIJTCUHaveTransposes(A, &mine);

    PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)A), ierr, mine, &all));
    plan->transposes = all ? AIJTCU_READY : AIJTCU_REFUSED;
    if (!all) AIJTCURefusalBegin(&plan->refused);
    if (!all) PetscCall(PetscInfo(A, "aijtcu: no transpose on some process, the parent's product instead\n"));
  }
  *usable = (PetscBool)(plan->transposes == AIJTCU_READY);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat         A;
  AIJTCUHalo *halo;
  PetscBool   transposed;
} AIJTCUProductMPI;

/* A piece of N columns. Without B and C, after an error, this process only keeps its part of the exchange */
static PetscErrorCode AIJTCUProductMPIPiece(void *ctx, PetscInt N, Mat B, Mat C)
{
  const AIJTCUProductMPI *p = (const AIJTCUProductMPI *)ctx;

  PetscFunctionBegin;
  if (!B) PetscCall(AIJTCUHaloEnd(p->A, p->halo, p->transposed ? AIJTCU_HALO_GHOSTS : AIJTCU_HALO_ROWS, N));
  else if (p->transposed) PetscCall(AIJTCUMultiplyTransposedWithHalo(p->A, p->halo, B, C));
  else PetscCall(AIJTCUMultiplyWithHalo(p->A, p->halo, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make the product, where that is possible on all processes */
static PetscErrorCode AIJTCUMultiplyInPieces(Mat A, AIJTCUHalo *h, PetscBool transposed, Mat B, Mat C, PetscBool *done)
{
  AIJTCUProductMPI product = {A, h, transposed};
  AIJTCUPieces     pieces;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  ierr = AIJTCUPiecesBegin(A, h, B, C, &pieces, done);
  if (!ierr && *done) ierr = AIJTCUPiecesCall(A, &pieces, AIJTCUProductMPIPiece, &product);
  AIJTCUPiecesEnd(&pieces);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B is A B where A is eternally symmetric. Then both have the same layouts */
static PetscErrorCode MatProductNumeric_AIJTCU_Halo(Mat C)
{
  Mat         A = C->product->A, B = C->product->B;
  AIJTCUPlan *plan;
  PetscBool   done = PETSC_FALSE, transposed;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUProductIsTransposed(C, &transposed));
  PetscCall(AIJTCUCheckLayouts(A, transposed, B, C));
  if (plan) PetscCall(AIJTCUIsAtHome(A, plan, &done));
  if (done) PetscCall(AIJTCUPrepareHalo(A, plan, B->cmap->N, &done));
  if (done && transposed) PetscCall(AIJTCUPrepareTransposes(A, plan, &done));
  if (done) PetscCall(AIJTCUMultiplyInPieces(A, plan->halo, transposed, B, C, &done));
  PetscCall(AIJTCUNumericEnd(C, MatProductNumeric_AIJTCU_Halo, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   C gets the type and the layout that the parent's product gives it. Columns that it has stay with their processes: who
   has which says nothing of a dense matrix, and blocks of a matrix's columns differ in it
*/
static PetscErrorCode MatProductSymbolic_AIJTCU_Halo(Mat C)
{
  Mat            A = C->product->A, B = C->product->B;
  const PetscInt columns = C->cmap->n >= 0 && C->cmap->N == B->cmap->N ? C->cmap->n : B->cmap->n;
  PetscLayout    rows;
  PetscBool      cdense, transposed;

  PetscFunctionBegin;
  PetscCall(AIJTCUProductIsTransposed(C, &transposed));
  rows = transposed ? A->cmap : A->rmap;
  PetscCall(MatSetSizes(C, rows->n, columns, rows->N, B->cmap->N));
  if (!transposed) PetscCall(MatSetBlockSizesFromMats(C, A, B));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATMPIDENSE, &cdense));
  if (!cdense) {
    PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
    PetscCall(MatSetVecType(C, B->defaultvectype));
  }
  PetscCall(AIJTCUSetUpDense(C));
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
  PetscBool   mpidense, home = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->B, MATMPIDENSE, &mpidense));
  if (AIJTCUGetOptions(plan)->path == MAT_AIJTCU_PATH_CUSPARSE) why = "as set";
  else if (!mpidense) why = "the dense operand is not parallel";
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
  PetscBool takes, transposed;

  PetscFunctionBegin;
  PetscCall(AIJTCUHaloTakes(C, plan, &takes));
  PetscCall(AIJTCUProductIsTransposed(C, &transposed));
  if (takes) PetscCall(AIJTCUCheckLayouts(A, transposed, C->product->B, NULL));
  if (takes) PetscCall(AIJTCUPrepareHalo(A, plan, C->product->B->cmap->N, &takes));
  if (!takes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUAttachBlocks(A));
  PetscCall(AIJTCURecordWhole(A, transposed, C->product->B->cmap->N));
  C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Halo;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode AIJTCUSetUpProductMPI(Mat C, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  (void)plan;
  PetscCall(PetscInfo(C->product->A, "aijtcu: no halo, the parent's product instead: it needs PETSc 3.26, double or single precision, and MPI\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
