/*
   Products of matrices on a device that PETSc lacks, or gets wrong, are made on the host.

   A product of a MATAIJCUSPARSE with a matrix of the host is of old values, or an error

     A MATSEQAIJ with a MATSEQAIJCUSPARSE goes to the products of MATSEQAIJ. Some of these read a->a, on the host, where
     old values may be: MatTransposeMatMultNumeric_SeqAIJ_SeqAIJ() and others. MatMatTransposeMult() is a crash:
     MatMatTransposeMultSymbolic_SeqAIJ_SeqAIJ() gives the transpose another type by MatSetType(), which frees its
     pattern. A dense matrix times a MATAIJCUSPARSE is an error, and so are products with a MATMPIAIJ.

       MatScale(A, 2);  // a MATSEQAIJCUSPARSE: on the device
       MatProductCreate(R, A, NULL, &C);  // R is a MATSEQAIJ
       MatProductSetType(C, MATPRODUCT_AtB); MatProductSetAlgorithm(C, "outerproduct"); MatProductSetFromOptions(C);
       MatProductSymbolic(C); MatProductNumeric(C);  // is R^T A with the A of before

     What would help: MatSeqAIJGetArrayRead() and MatSeqAIJGetArrayWrite() in place of a->a.

   P^T A P, R A R^T and A B C of matrices on a device have values that were never computed

     MatProductSymbolic_SeqAIJCUSPARSE_SeqAIJCUSPARSE() computes values, too. Where the product was asked for by
     MatPtAP() or its like (api_user), and both operands have their values on host and device, it says that the numeric
     phase need not. In a product of three matrices the second operand is a product itself, whose values come in the
     numeric phase. If its own operands are on the device alone, as after MatScale(), its offloadmask is
     PETSC_OFFLOAD_UNALLOCATED after its symbolic phase: MatSeqAIJCUSPARSECopyToGPU() copies memory that nobody has set,
     says that host and device have the values, and the outer product keeps what it makes of these.

       MatScale(A, 2);  // on the device
       MatMult(P, x, y);
       MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C);  // has the right pattern, and wrong values

     What would help: api_user = PETSC_FALSE for the products in MatProductSymbolic_ABC_Basic() and
     MatProductSymbolic_MPIAIJBACKEND().

   A B C with a dense C calls a function that is not there

     MatProductNumeric_ABC_Unsafe() calls ops->matmultnumeric of the result. The products of a MATAIJCUSPARSE set
     ops->productnumeric. PETSc is here for matrices on a device alone: MatMatMatMult(A, B, C) with a dense C.

     What would help: ops->productnumeric in MatProductNumeric_ABC_Unsafe() and its like.

   A^T B of a MATMPIAIJCUSPARSE with a dense B has other last bits each time, and may lack an entry

     MatTransposeMatMultSymbolic_MPIAIJ_MPIDense() makes a MATMAIJ, whose entries are copied for each column of B. The
     numeric phase brings B to the host, and multiplies with one vector on the device, also where all is bound to the
     host. PetscSF adds there what other processes send, in the order in which it comes. cuSPARSE's product with the
     transpose of a block of 32 rows may leave out the last one (src/LIMITS.md): C has what was in its memory.

       MatBindToCPU(A, PETSC_TRUE);  // a MATMPIAIJCUSPARSE
       MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C);  // once more: not the same bits

     What would help: a MATMAIJ that shares the entries of A on the host.

   Needed: 3.24 to 3.26. Gone when: "product with a matrix of the host" of upstream.c, for the first of them. Ours:
   sparseproduct.c, sequences.c, -each ("identity", "D-A"), and halo.c, with a GPU.

   Each phase makes the whole product of stand-ins for the operands, which share the operands' arrays on the host.
   Nothing is kept, so nothing of it can be old
*/
#include "upstream.h"

/* An operand, and its stand-in on the host */
typedef struct {
  Mat                of, mat;
  const PetscScalar *array; /* of a dense matrix */
} AIJTCUHostOperand;

/* A sequential matrix with the arrays of A, whose newest values are on the host then. Its blocks are single entries */
static PetscErrorCode AIJTCUHostShare(Mat A, Mat *H)
{
  const PetscInt    *rowptr, *colidx;
  const PetscScalar *values;
  PetscInt           n;
  PetscBool          have;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
  PetscCheck(have, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row pointers");
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  PetscCall(MatCreateSeqAIJWithArrays(PetscObjectComm((PetscObject)A), A->rmap->n, A->cmap->n, (PetscInt *)rowptr, (PetscInt *)colidx, (PetscScalar *)values, H));
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The two local blocks of a parallel matrix may have block sizes of their own, and their stand-ins must not */
static PetscErrorCode AIJTCUHostSparse(Mat A, Mat *H)
{
  Mat             block[2], share[2];
  const PetscInt *garray;
  PetscInt       *columns, rbs, cbs;

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, &garray));
  PetscCall(AIJTCUHostShare(block[0], &share[0]));
  if (block[0] == A) *H = share[0];
  else {
    PetscCall(AIJTCUHostShare(block[1], &share[1]));
    PetscCall(PetscMalloc1(block[1]->cmap->n, &columns));
    PetscCall(PetscArraycpy(columns, garray, block[1]->cmap->n));
    PetscCall(MatCreateMPIAIJWithSeqAIJ(PetscObjectComm((PetscObject)A), A->rmap->N, A->cmap->N, share[0], share[1], columns, H));
  }
  PetscCall(MatGetBlockSizes(A, &rbs, &cbs));
  PetscCall(MatSetBlockSizes(*H, rbs, cbs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is no aij and no dense matrix takes part as it is */
static PetscErrorCode AIJTCUHostOperandBegin(Mat A, AIJTCUHostOperand *o)
{
  PetscBool sparse, dense;
  PetscInt  lda;

  PetscFunctionBegin;
  *o = (AIJTCUHostOperand){A, NULL, NULL};
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &sparse, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (sparse) PetscCall(AIJTCUHostSparse(A, &o->mat));
  else if (dense) {
    PetscCall(MatDenseGetLDA(A, &lda));
    PetscCall(MatDenseGetArrayRead(A, &o->array));
    PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)A), VECSTANDARD, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N, lda, (PetscScalar *)o->array, &o->mat));
  } else {
    PetscCall(PetscObjectReference((PetscObject)A));
    o->mat = A;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHostOperandEnd(AIJTCUHostOperand *o)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&o->mat));
  if (o->array) PetscCall(MatDenseRestoreArrayRead(o->of, &o->array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHostMultiplyOperands(Mat C, const AIJTCUHostOperand o[], Mat *D)
{
  const Mat_Product *product = C->product;
  const char        *prefix;

  PetscFunctionBegin;
  PetscCall(MatProductCreate(o[0].mat, o[1].mat, o[2].mat, D));
  PetscCall(MatGetOptionsPrefix(C, &prefix));
  PetscCall(MatSetOptionsPrefix(*D, prefix));
  PetscCall(MatProductSetType(*D, product->type));
  PetscCall(MatProductSetAlgorithm(*D, product->alg));
  PetscCall(MatProductSetFill(*D, product->fill));
  (*D)->product->api_user = product->api_user;
  PetscCall(MatProductSetFromOptions(*D));
  PetscCall(MatProductSymbolic(*D));
  PetscCall(MatProductNumeric(*D));
  PetscCall(MatProductClear(*D)); /* it has references to the stand-ins */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product of C, on the host. D belongs to the caller */
static PetscErrorCode AIJTCUHostMultiplyAll(Mat C, Mat *D)
{
  const Mat         operand[3] = {C->product->A, C->product->B, C->product->C};
  AIJTCUHostOperand o[3];
  PetscErrorCode    ierr = PETSC_SUCCESS, end;
  int               n;

  PetscFunctionBegin;
  *D = NULL;
  for (n = 0; n < 3 && !ierr; n++) ierr = AIJTCUHostOperandBegin(operand[n], &o[n]);
  if (!ierr) ierr = AIJTCUHostMultiplyOperands(C, o, D);
  while (n--) {
    end = AIJTCUHostOperandEnd(&o[n]);
    if (!ierr) ierr = end;
  }
  if (ierr) PetscCall(MatDestroy(D));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Host(Mat C)
{
  Mat            D;
  PetscBool      dense;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostMultiplyAll(C, &D));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  ierr = dense ? AIJTCUCopyDense(D, C) : MatCopy(D, C, SAME_NONZERO_PATTERN);
  PetscCall(MatDestroy(&D));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first dense operand: C is of its type */
static PetscErrorCode AIJTCUHostDenseOperand(Mat C, Mat *like)
{
  const Mat operand[3] = {C->product->A, C->product->B, C->product->C};
  PetscBool dense      = PETSC_FALSE;

  PetscFunctionBegin;
  for (int i = 0; i < 3 && !dense; i++) {
    if (!operand[i]) continue;
    *like = operand[i];
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)operand[i], &dense, MATSEQDENSE, MATMPIDENSE, ""));
  }
  PetscCheck(dense, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "A dense product without a dense operand");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHostSetUpDense(Mat C, Mat D)
{
  Mat       like = NULL;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostDenseOperand(C, &like));
  PetscCall(MatSetSizes(C, D->rmap->n, D->cmap->n, D->rmap->N, D->cmap->N));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &is, MATSEQDENSE, MATMPIDENSE, ""));
  if (!is) {
    PetscCall(MatSetType(C, ((PetscObject)like)->type_name));
    PetscCall(MatSetVecType(C, like->defaultvectype));
  }
  PetscCall(MatSetUp(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C becomes a matrix of a type, takes all that the sparse D has, which is destroyed, and keeps its product */
PetscErrorCode AIJTCUProductTakes(Mat C, MatType type, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, (*D)->rmap->n, (*D)->cmap->n, (*D)->rmap->N, (*D)->cmap->N));
  PetscCall(MatSetType(C, type));
  PetscCall(MatConvert(*D, ((PetscObject)C)->type_name, MAT_INPLACE_MATRIX, D));
  PetscCall(MatHeaderMerge(C, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The symbolic phase. A sparse C becomes a matrix of a type */
PetscErrorCode AIJTCUHostProductSymbolic(Mat C, MatType type)
{
  Mat            D;
  PetscBool      dense;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscInfo(C, "aijtcu: product %s on the host: its operands, or their types, have none on a device\n", MatProductTypes[C->product->type]));
  PetscCall(AIJTCUHostMultiplyAll(C, &D));
  ierr = PetscObjectBaseTypeCompareAny((PetscObject)D, &dense, MATSEQDENSE, MATMPIDENSE, "");
  if (!ierr) ierr = dense ? AIJTCUHostSetUpDense(C, D) : AIJTCUProductTakes(C, type, &D);
  PetscCall(MatDestroy(&D));
  PetscCall(ierr);
  C->ops->productnumeric = MatProductNumeric_AIJTCU_Host;
  PetscFunctionReturn(PETSC_SUCCESS);
}
