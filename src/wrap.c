/*
   The operations of the parent types that a MATAIJTCU wraps, in one table.

   On a device, every operation whose implementation compares the exact type name somewhere (some in debug builds of PETSc only) is
   called through the parent's view, and those that take vectors accept vectors of the host. On the host next to nothing compares, so
   little more is wrapped than what must know the plan.
*/
#include "aijtcuimpl.h"

/* An operation of the parent on vectors that are where A is */
#define PARENT(op, name, ...) \
  static PetscErrorCode name##_Parent(Mat A, const Vec v[]) \
  { \
    PetscFunctionBegin; \
    AIJTCUCallParentOp(A, op, A, __VA_ARGS__); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
/* y = op(A) x, and z = y + op(A) x */
#define MULT(op, name) \
  PARENT(op, name, v[0], v[1]) \
  static PetscErrorCode name(Mat A, Vec x, Vec y) \
  { \
    const Vec v[] = {x, y}; \
\
    PetscFunctionBegin; \
    PetscCall(AIJTCUCallWithVecs(A, 1, 2, v, name##_Parent)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define MULTADD(op, name) \
  PARENT(op, name, v[0], v[1], v[2]) \
  static PetscErrorCode name(Mat A, Vec x, Vec y, Vec z) \
  { \
    const Vec v[] = {x, y, z}; \
\
    PetscFunctionBegin; \
    PetscCall(AIJTCUCallWithVecs(A, 2, 3, v, name##_Parent)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
MULT(mult, MatMult_AIJTCU)
MULT(multtranspose, MatMultTranspose_AIJTCU)
MULT(multhermitiantranspose, MatMultHermitianTranspose_AIJTCU)
MULTADD(multadd, MatMultAdd_AIJTCU)
MULTADD(multtransposeadd, MatMultTransposeAdd_AIJTCU)
MULTADD(multhermitiantransposeadd, MatMultHermitianTransposeAdd_AIJTCU)
#undef MULT
#undef MULTADD

static PetscErrorCode MatScale_AIJTCU(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(A, scale, A, a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PARENT(diagonalscale, MatDiagonalScale_AIJTCU, v[0], v[1])
static PetscErrorCode MatDiagonalScale_AIJTCU(Mat A, Vec l, Vec r)
{
  const Vec v[] = {l, r};

  PetscFunctionBegin;
  PetscCall(AIJTCUCallWithVecs(A, 2, 2, v, MatDiagonalScale_AIJTCU_Parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_AIJTCU_Y(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(Y, axpy, Y, a, X, str);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_AIJTCU(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscFunctionBegin;
  AIJTCUCallParent(X, MatAXPY_AIJTCU_Y(Y, a, X, str)); /* names of both are compared */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroEntries_AIJTCU(Mat A)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(A, zeroentries, A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PARENT(getdiagonal, MatGetDiagonal_AIJTCU, v[0])
static PetscErrorCode MatGetDiagonal_AIJTCU(Mat A, Vec d)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCallWithVecs(A, 0, 1, &d, MatGetDiagonal_AIJTCU_Parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#undef PARENT

static PetscErrorCode MatAssemblyEnd_AIJTCU(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(A, assemblyend, A, type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetOption_AIJTCU(Mat A, MatOption op, PetscBool flg)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(A, setoption, A, op, flg);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_AIJTCU(Mat A, PetscBool flg)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUUnwrapComposed(A, plan)); /* the parent composes and removes these */
  AIJTCUCallParentOp(A, bindtocpu, A, flg);
  PetscCall(AIJTCUWrapComposed(A, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_AIJTCU(Mat A, MatDuplicateOption op, Mat *B)
{
  AIJTCUPlan *plan, *bplan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParentBare(A, (*plan->parent.duplicate)(A, op, B));
  if (plan->owner || plan->view_depth) PetscFunctionReturn(PETSC_SUCCESS); /* the parent wants one of its own */
  PetscCall(AIJTCUAttach(*B, plan->kind, plan->own_name, NULL));
  PetscCall(AIJTCUGetPlan(*B, &bplan));
  bplan->options = plan->options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_AIJTCU(Mat A, PetscOptionItems PetscOptionsObject)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan->parent.setfromoptions) AIJTCUCallParentOp(A, setfromoptions, A, PetscOptionsObject);
  PetscCall(AIJTCUSetFromOptions(A, plan, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_AIJTCU(Mat A, PetscViewer viewer)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan) {
    AIJTCUCallParentOp(A, view, A, viewer);
    PetscCall(AIJTCUView(A, viewer));
  } else PetscUseTypeMethod(A, viewnative, viewer); /* MatDuplicate() passes this operation on, also to a matrix of the parent type */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Once, when the plan is attached, and not again at the end of each view: a view operation that the user (or a DMDA) sets later is to stay,
   with ours as the native one behind it
*/
void AIJTCUWrapView(Mat A, AIJTCUPlan *plan)
{
  if (A->ops->view == MatView_AIJTCU) A->ops->view = A->ops->viewnative; /* passed on by MatDuplicate() */
  plan->parent.view = A->ops->view;
  A->ops->view      = MatView_AIJTCU;
}

/* PETSc's aij have these two factorizations in place. LU puts a factor into the matrix's header, which is of the parent type from then on */
static PetscErrorCode MatLUFactor_AIJTCU(Mat A, IS r, IS c, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDetach(A));
  PetscUseTypeMethod(A, lufactor, r, c, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ILU overwrites the values on the host, and the matrix keeps its type: of one on a device PETSc then destroys what it has there as if it were a factor's. So that becomes a seqaij; not for what PETSc refuses */
static PetscErrorCode MatILUFactor_AIJTCU(Mat A, IS r, IS c, const MatFactorInfo *info)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan->device && info->levels == 0) {
    PetscCall(MatConvert(A, MATSEQAIJ, MAT_INPLACE_MATRIX, &A));
    PetscCall((*A->ops->ilufactor)(A, r, c, info));
  } else AIJTCUCallParentOp(A, ilufactor, A, r, c, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Every way out of the type ends here or in AIJTCUDetach(): MatDestroy(), MatSetType() to another type, the old matrix of MatHeaderReplace().

   The parent's function stands in the table of operations itself, in the slot `create`, which no matrix type of PETSc sets or calls. It cannot be kept in the plan:
   MatHeaderMerge() takes a matrix's name and all that is composed with it away before it calls destroy, and leaves the table. What copies a table copies both.
   The matrix stays one of ours then, with new contents, and its plan
*/
static PetscErrorCode MatDestroy_AIJTCU(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = A->ops->create;

  PetscFunctionBegin;
  PetscCall(AIJTCUDetach(A)); /* takes the function out of the slot */
  if (destroy) PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A function that a program has put before ours, and that calls ours, stays in front */
static void AIJTCUWrapDestroy(Mat A)
{
  if (A->ops->destroy == MatDestroy_AIJTCU) return;
  if (A->ops->create && A->ops->destroy != A->ops->create) return;
  A->ops->create  = A->ops->destroy;
  A->ops->destroy = MatDestroy_AIJTCU;
}

static void AIJTCUUnwrapDestroy(Mat A)
{
  if (A->ops->destroy != MatDestroy_AIJTCU) return;
  A->ops->destroy = A->ops->create;
  A->ops->create  = NULL;
}

/* Make a new parallel matrix of the type of A, or destroy it */
static PetscErrorCode AIJTCUConvertNew(Mat A, Mat *B)
{
  const char    *type = ((PetscObject)A)->type_name;
  PetscBool      same;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscObjectTypeCompare((PetscObject)*B, type, &same);
  if (!ierr && !same) ierr = MatConvert(*B, type, MAT_INPLACE_MATRIX, B);
  if (ierr) PetscCall(MatDestroy(B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A parallel one is put together from submatrices of the blocks where rows stay on their processes, and is of the type that belongs to these, the parent's. PETSc finds by what is composed with it how to fill it again */
static PetscErrorCode MatCreateSubMatrix_AIJTCU(Mat A, IS rows, IS cols, MatReuse reuse, Mat *B)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall((*plan->parent.createsubmatrix)(A, rows, cols, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(AIJTCUConvertNew(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's is of type mpiaij, of a device's matrix, too */
static PetscErrorCode MatPermute_AIJTCU(Mat A, IS rows, IS cols, Mat *B)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall((*plan->parent.permute)(A, rows, cols, B));
  PetscCall(AIJTCUConvertNew(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*AIJTCUSubMatricesFn)(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);

/* PETSc's create fills sequential submatrices that there are already on the host and does not say so: their values on a device, of an aijcusparse, too, would stay */
static PetscErrorCode AIJTCUCreateSubMatrices(AIJTCUSubMatricesFn create, Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[])
{
  PetscBool sequential;

  PetscFunctionBegin;
  PetscCall((*create)(A, n, rows, cols, reuse, B));
  for (PetscInt i = 0; i < n && reuse == MAT_REUSE_MATRIX; i++) {
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)(*B)[i], MATSEQAIJ, &sequential));
    if (!sequential) continue;
#if PetscDefined(HAVE_DEVICE)
    (*B)[i]->offloadmask = PETSC_OFFLOAD_CPU;
#endif
    PetscCall(PetscObjectStateIncrease((PetscObject)(*B)[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrices_AIJTCU(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUCreateSubMatrices(plan->parent.createsubmatrices, A, n, rows, cols, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As PCGASM has them, of some processes each */
static PetscErrorCode MatCreateSubMatricesMPI_AIJTCU(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUCreateSubMatrices(plan->parent.createsubmatricesmpi, A, n, rows, cols, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring the newest values to the host; if they are to be written there they count as changed, and the device takes them again */
static PetscErrorCode AIJTCUValuesToHost(Mat A, PetscBool write)
{
  Mat blocks[2] = {NULL, NULL};

  PetscFunctionBegin;
  if (A->assembled) PetscCall(AIJTCUGetBlocks(A, blocks));
  for (PetscInt i = 0; i < 2; i++) {
    const PetscScalar *read;
    PetscScalar       *written;

    if (!blocks[i]) continue;
    if (write) {
      PetscCall(MatSeqAIJGetArray(blocks[i], &written));
      PetscCall(MatSeqAIJRestoreArray(blocks[i], &written));
    } else {
      PetscCall(MatSeqAIJGetArrayRead(blocks[i], &read));
      PetscCall(MatSeqAIJRestoreArrayRead(blocks[i], &read));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's looks at the values on the host, and changes them there, wherever the newest are: those of an aijcusparse on a device are lost */
static PetscErrorCode MatEliminateZeros_AIJTCU(Mat A, PetscBool keep)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUValuesToHost(A, PETSC_TRUE));
  AIJTCUCallParentOp(A, eliminatezeros, A, keep);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of diagonal blocks as CSR; at is for the numbers of rows */
static PetscErrorCode AIJTCUGetBlocksCSR(Mat local, PetscInt nblocks, const PetscInt sizes[], PetscInt bs, PetscInt at[], PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt first = 0;

  PetscFunctionBegin;
  i[0] = 0;
  for (PetscInt b = 0; b < nblocks; b++) {
    const PetscInt size = sizes ? sizes[b] : bs;

    for (PetscInt row = first; row < first + size; row++) {
      at[row]    = row;
      i[row + 1] = i[row] + size;
      for (PetscInt k = 0; k < size; k++) j[i[row] + k] = first + k;
    }
    PetscCall(MatGetValues(local, size, at + first, size, at + first, v + i[first]));
    first += size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetBlocksCSR(Mat D, PetscInt bs, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscFunctionBegin;
  PetscCall(MatSetType(D, MATSEQAIJ));
  PetscCall(MatSetBlockSize(D, bs));
  PetscCall(MatSeqAIJSetPreallocationCSR(D, i, j, v));
  PetscCall(MatConvert(D, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The diagonal blocks, of so many rows each or of bs rows, as a matrix of the parent's type on this process: by its name PCPBJACOBI and PCVPBJACOBI go to the device. They are inverted on the host there, as the parent's are
*/
static PetscErrorCode AIJTCUGetDiagonalBlocks(Mat A, PetscInt nblocks, const PetscInt sizes[], PetscInt bs, Mat *D)
{
  Mat            local;
  PetscInt       n, rows = 0, nnz = 0, *at, *i, *j;
  PetscScalar   *v;
  PetscErrorCode ierr, freed;

  PetscFunctionBegin;
  *D = NULL;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetDiagonalBlock(A, &local));
  for (PetscInt b = 0; b < nblocks; b++) {
    const PetscInt size = sizes ? sizes[b] : bs;

    rows += size;
    nnz += size * size;
  }
  PetscCheck(rows == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The diagonal blocks have %" PetscInt_FMT " rows, and the matrix %" PetscInt_FMT " on this process", rows, n);
  PetscCall(PetscMalloc4(n, &at, n + 1, &i, nnz, &j, nnz, &v));
  ierr = AIJTCUGetBlocksCSR(local, nblocks, sizes, bs, at, i, j, v);
  if (!ierr) ierr = MatCreate(PETSC_COMM_SELF, D);
  if (!ierr) ierr = MatSetSizes(*D, n, n, n, n);
  if (!ierr) ierr = MatSetErrorIfFailure(*D, A->erroriffailure);
  if (!ierr) ierr = AIJTCUSetBlocksCSR(*D, bs, i, j, v);
  freed = PetscFree4(at, i, j, v);
  if (!ierr) ierr = freed;
  if (ierr) PetscCall(MatDestroy(D));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetBlockDiagonal_AIJTCU(Mat A, Mat *D)
{
  PetscInt n, bs;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(AIJTCUGetDiagonalBlocks(A, n / bs, NULL, bs, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetVBlockDiagonal_AIJTCU(Mat A, Mat *D)
{
  PetscInt        nblocks;
  const PetscInt *sizes;

  PetscFunctionBegin;
  PetscCall(MatGetVariableBlockSizes(A, &nblocks, &sizes));
  PetscCheck(!A->rmap->n || nblocks, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Must call MatSetVariableBlockSizes() before");
  PetscCall(AIJTCUGetDiagonalBlocks(A, nblocks, sizes, 1, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The table: W(operation, wrapper). All: what copies, composes or removes what we composed. Added: there also if the parent has none.
   The others are for a matrix with our name. Own: what must know the plan. Device: what takes vectors, or values of the host. Device and Seq_Device: where names
   are compared. MPI: what makes others from blocks. Device_Added: hooks that stand for the name */
#define AIJTCU_OPS_ALL(W) \
  W(duplicate, MatDuplicate_AIJTCU) \
  W(bindtocpu, MatBindToCPU_AIJTCU)
#define AIJTCU_OPS_ADDED(W) W(setfromoptions, MatSetFromOptions_AIJTCU)
#define AIJTCU_OPS_OWN(W) \
  W(lufactor, MatLUFactor_AIJTCU) \
  W(ilufactor, MatILUFactor_AIJTCU) \
  W(productsetfromoptions, MatProductSetFromOptions_AIJTCU)
#define AIJTCU_OPS_OWN_ADDED(W) W(convert, MatConvert_AIJTCU_Any)
#define AIJTCU_OPS_DEVICE(W) \
  W(mult, MatMult_AIJTCU) \
  W(multadd, MatMultAdd_AIJTCU) \
  W(multtranspose, MatMultTranspose_AIJTCU) \
  W(multtransposeadd, MatMultTransposeAdd_AIJTCU) \
  W(multhermitiantranspose, MatMultHermitianTranspose_AIJTCU) \
  W(multhermitiantransposeadd, MatMultHermitianTransposeAdd_AIJTCU) \
  W(getdiagonal, MatGetDiagonal_AIJTCU) \
  W(diagonalscale, MatDiagonalScale_AIJTCU) \
  W(eliminatezeros, MatEliminateZeros_AIJTCU)
#define AIJTCU_OPS_MPI(W) \
  W(permute, MatPermute_AIJTCU) \
  W(createsubmatrix, MatCreateSubMatrix_AIJTCU) \
  W(createsubmatrices, MatCreateSubMatrices_AIJTCU) \
  W(createsubmatricesmpi, MatCreateSubMatricesMPI_AIJTCU)
#define AIJTCU_OPS_DEVICE_ADDED(W) \
  W(getblockdiagonal, MatGetBlockDiagonal_AIJTCU) \
  W(getvblockdiagonal, MatGetVBlockDiagonal_AIJTCU)
#define AIJTCU_OPS_SEQ_DEVICE(W) \
  W(scale, MatScale_AIJTCU) \
  W(axpy, MatAXPY_AIJTCU) \
  W(zeroentries, MatZeroEntries_AIJTCU) \
  W(assemblyend, MatAssemblyEnd_AIJTCU) \
  W(setoption, MatSetOption_AIJTCU)

/* Absent operations stay absent. While values are collected in a hash table PETSc has put the operations aside, ours among them */
PetscErrorCode AIJTCUWrapOps(Mat A, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  if (A->hash_active) PetscFunctionReturn(PETSC_SUCCESS);
#define WRAP(op, own) \
  if (A->ops->op && A->ops->op != own) { \
    plan->parent.op = A->ops->op; \
    A->ops->op      = own; \
  }
  AIJTCU_OPS_ALL(WRAP)
  if (plan->own_name) { AIJTCU_OPS_OWN(WRAP) }
  if (plan->own_name && plan->kind == AIJTCU_KIND_MPI) { AIJTCU_OPS_MPI(WRAP) }
  if (plan->own_name && plan->device) { AIJTCU_OPS_DEVICE(WRAP) }
  if (plan->own_name && plan->device && plan->kind == AIJTCU_KIND_SEQ) { AIJTCU_OPS_SEQ_DEVICE(WRAP) }
#undef WRAP
#define ADD(op, own) /* also where the parent has none */ \
  if (A->ops->op != own) { \
    plan->parent.op = A->ops->op; \
    A->ops->op      = own; \
  }
  AIJTCU_OPS_ADDED(ADD)
  if (plan->own_name) { AIJTCU_OPS_OWN_ADDED(ADD) }
  if (plan->own_name && plan->device) { AIJTCU_OPS_DEVICE_ADDED(ADD) }
#undef ADD
  AIJTCUWrapDestroy(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void AIJTCUUnwrapOps(Mat A, AIJTCUPlan *plan)
{
  if (A->hash_active) return;
#define UNWRAP(op, own) \
  if (A->ops->op == own) A->ops->op = plan->parent.op;
  AIJTCU_OPS_ALL(UNWRAP)
  AIJTCU_OPS_ADDED(UNWRAP)
  AIJTCU_OPS_OWN(UNWRAP)
  AIJTCU_OPS_OWN_ADDED(UNWRAP)
  AIJTCU_OPS_MPI(UNWRAP)
  AIJTCU_OPS_DEVICE(UNWRAP)
  AIJTCU_OPS_DEVICE_ADDED(UNWRAP)
  AIJTCU_OPS_SEQ_DEVICE(UNWRAP)
#undef UNWRAP
  if (A->ops->view == MatView_AIJTCU) A->ops->view = plan->parent.view;
  AIJTCUUnwrapDestroy(A);
}

static PetscErrorCode MatSetPreallocationCOO_AIJTCU(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, PetscCount, PetscInt[], PetscInt[]))plan->composed[AIJTCU_SET_PREALLOCATION_COO])(A, n, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_AIJTCU(Mat A, const PetscScalar v[], InsertMode mode)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, const PetscScalar[], InsertMode))plan->composed[AIJTCU_SET_VALUES_COO])(A, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJCopySubArray_AIJTCU(Mat A, PetscInt n, const PetscInt idx[], PetscScalar v[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, PetscInt, const PetscInt[], PetscScalar[]))plan->composed[AIJTCU_COPY_SUBARRAY])(A, n, idx, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As MatEliminateZeros(): of an aijcusparse on a device, PETSc stores old values, and those that it retrieves stay unseen there */
static PetscErrorCode MatStoreValues_AIJTCU(Mat A)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE));
  PetscCall(((PetscErrorCode (*)(Mat))plan->composed[AIJTCU_STORE_VALUES])(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRetrieveValues_AIJTCU(Mat A)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUValuesToHost(A, PETSC_TRUE)); /* of a matrix of the host, too: before 3.26 PETSc does not say that values have changed, neither for blocks nor for the whole */
  PetscCall(((PetscErrorCode (*)(Mat))plan->composed[AIJTCU_RETRIEVE_VALUES])(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The composed functions that are wrapped or added, with the exact names under which PETSc looks for them. Those that compare names,
   of a sequential matrix on a device, or go by them; those that take values of the host. The products of an aijtcu, for which PETSc finds no function under the names of the types, and
   conversions to it. Without our name: the products with dense matrices
*/
static PetscErrorCode AIJTCUComposed(const AIJTCUPlan *plan, PetscInt which, char key[], size_t len, AIJTCUFn *own)
{
  const struct {
    const char *format; /* of the key; what is left open is the prefix of the type names, and for products the type name before it */
    AIJTCUFn    own;
  } table[AIJTCU_NCOMPOSED] = {
    {"MatSetPreallocationCOO_C",                        (AIJTCUFn)MatSetPreallocationCOO_AIJTCU  },
    {"MatSetValuesCOO_C",                               (AIJTCUFn)MatSetValuesCOO_AIJTCU         },
    {"MatSeqAIJCopySubArray_C",                         (AIJTCUFn)MatSeqAIJCopySubArray_AIJTCU   },
    {"MatStoreValues_C",                                (AIJTCUFn)MatStoreValues_AIJTCU          },
    {"MatRetrieveValues_C",                             (AIJTCUFn)MatRetrieveValues_AIJTCU       },
    {"MatProductSetFromOptions_anytype_C",              (AIJTCUFn)MatProductSetFromOptions_AIJTCU},
    {"MatConvert_%saij_%saijcusparsetcu_C",             (AIJTCUFn)MatConvert_AIJ_AIJTCU          },
    {"MatConvert_%saij_%saijtcu_C",                     (AIJTCUFn)MatConvert_AIJ_AIJTCU          },
    {"MatConvert_%saijcusparse_%saijcusparsetcu_C",     (AIJTCUFn)MatConvert_AIJ_AIJTCU          },
    {"MatConvert_%saijcusparse_%saijtcu_C",             (AIJTCUFn)MatConvert_AIJ_AIJTCU          },
    {"MatConvert_%saijcusparsetcu_%saijtcu_C",          (AIJTCUFn)MatConvert_AIJ_AIJTCU          },
    {"MatProductSetFromOptions_%s_%sdense_C",           (AIJTCUFn)MatProductSetFromOptions_AIJTCU},
    {"MatProductSetFromOptions_%s_%sdensecuda_C",       (AIJTCUFn)MatProductSetFromOptions_AIJTCU}
  };
  const char *prefix = plan->kind == AIJTCU_KIND_MPI ? "mpi" : "seq";
  PetscBool   has;

  PetscFunctionBegin;
  if (which == AIJTCU_SET_PREALLOCATION_COO) has = PETSC_TRUE; /* makes blocks by the name of the whole, or sets the operations anew */
  else if (which >= AIJTCU_PRODUCT_DENSE) has = (PetscBool)!plan->own_name;
  else if (which >= AIJTCU_PRODUCT_ANY) has = plan->own_name;
  else if (which == AIJTCU_RETRIEVE_VALUES) has = plan->own_name;
  else if (which == AIJTCU_STORE_VALUES) has = (PetscBool)(plan->own_name && plan->device);
  else has = (PetscBool)(plan->own_name && plan->device && plan->kind == AIJTCU_KIND_SEQ);
  *own = has ? table[which].own : NULL;
  if (has) PetscCall(PetscSNPrintf(key, len, table[which].format, which >= AIJTCU_PRODUCT_DENSE ? plan->parent_type : prefix, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUWrapComposed(Mat A, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  for (PetscInt which = 0; which < AIJTCU_NCOMPOSED; which++) {
    char     key[128];
    AIJTCUFn own, now;

    PetscCall(AIJTCUComposed(plan, which, key, sizeof(key), &own));
    if (!own) continue;
    PetscCall(PetscObjectQueryFunction((PetscObject)A, key, &now));
    if (now == own || (!now && which < AIJTCU_PRODUCT_ANY)) continue;
    plan->composed[which] = now;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, key, own));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUUnwrapComposed(Mat A, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  for (PetscInt which = 0; which < AIJTCU_NCOMPOSED; which++) {
    char     key[128];
    AIJTCUFn own, now;

    PetscCall(AIJTCUComposed(plan, which, key, sizeof(key), &own));
    if (!own) continue;
    PetscCall(PetscObjectQueryFunction((PetscObject)A, key, &now));
    if (now == own) PetscCall(PetscObjectComposeFunction((PetscObject)A, key, plan->composed[which]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
