/*
   The functions of the parent types that a MATAIJTCU wraps: thin wrappers, and two tables of them at the end. Where
   PETSc is wrong and a wrapper must do more than call the parent, the work is in src/upstream/.

   On a device, an operation is called through the parent's view if its implementation compares the exact type name
   somewhere. Some do so in debug builds of PETSc only. Operations that take vectors accept vectors of the host. On the
   host next to nothing compares names, so little is wrapped except what must know the plan.
*/
#include "typeimpl.h"

/* An operation of the parent, on vectors that are where A is */
#define PARENT(op, name, ...) \
  static PetscErrorCode name##_Parent(Mat A, const Vec v[]) \
  { \
    PetscFunctionBegin; \
    AIJTCUCallParentOp(A, op, A, __VA_ARGS__); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
static PetscErrorCode MatScale_AIJTCU(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(A, scale, A, a);
  AIJTCUForgetHermitian(A, a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_AIJTCU(Mat A, PetscScalar a)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall((*plan->id.parent.shift)(A, a)); /* may insert a diagonal */
  AIJTCUForgetHermitian(A, a);
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

/* X is in its parent's view, whose end puts our operation back. The parent asks X's whether X is bound to the host */
static PetscErrorCode MatAXPY_AIJTCU_Y(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  AIJTCUIdentity *x;
  PetscBool       bound;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(X, &x));
  PetscCall(MatBoundToCPU(X, &bound));
  if (x && bound) X->ops->axpy = x->parent.axpy;
  AIJTCUCallParentOp(Y, axpy, Y, a, X, str);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_AIJTCU(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  AIJTCUPlan *plan;
  PetscBool   done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(Y, &plan));
  AIJTCUForgetHermitian(Y, a);
  if (str == SUBSET_NONZERO_PATTERN && plan->id.device) PetscCall(AIJTCUAddSubset(Y, a, X, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  /* that of a parallel matrix makes one of Y's type */
  if (plan->id.kind == AIJTCU_KIND_MPI || !plan->id.device) PetscCall((*plan->id.parent.axpy)(Y, a, X, str));
  else if (str == SUBSET_NONZERO_PATTERN) PetscCall(AIJTCUHostAddSubset(Y, a, X));
  else AIJTCUCallParent(X, MatAXPY_AIJTCU_Y(Y, a, X, str)); /* the parent compares the names of both */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroEntries_AIJTCU(Mat A)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(AIJTCUZeroOnHost(A, &done));
#endif
  if (!done) AIJTCUCallParentOp(A, zeroentries, A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PARENT(getdiagonal, MatGetDiagonal_AIJTCU, v[0])
static PetscErrorCode MatGetDiagonal_AIJTCU(Mat A, Vec d)
{
  AIJTCUPlan *plan;
  PetscBool   compressed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan->id.kind == AIJTCU_KIND_MPI) PetscCall(AIJTCUAttachBlocks(A)); /* the parent asks the diagonal block */
  else AIJTCUCallParent(A, AIJTCURowsAreCompressed(A, &compressed));
  if (compressed) PetscCall(AIJTCUHostDiagonal(A, d));
  else PetscCall(AIJTCUCallWithVecs(A, 0, 1, &d, MatGetDiagonal_AIJTCU_Parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#undef PARENT

static PetscErrorCode MatAssemblyEnd_AIJTCU(Mat A, MatAssemblyType type)
{
  AIJTCUPatterns before;

  PetscFunctionBegin;
  PetscCall(AIJTCUAssembledPatterns(A, &before));
  AIJTCUCallParentOp(A, assemblyend, A, type);
  if (type == MAT_FINAL_ASSEMBLY) PetscCall(AIJTCUTakePatterns(A, &before));
  if (type == MAT_FINAL_ASSEMBLY) PetscCall(AIJTCUBindAgain(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_AIJTCU(Mat A, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  if (type == NORM_1) PetscCall(AIJTCUNormOfColumns(A, norm));
  else AIJTCUCallParentOp(A, norm, A, type, norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowSumAbs_AIJTCU(Mat A, Vec v)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(A, getrowsumabs, A, v);
  PetscCall(AIJTCUAlsoOnHost(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent asks whether the operation is its own. MatFDColoringUseDM() puts another one there */
static PetscErrorCode MatFDColoringApply_AIJTCU(Mat A, MatFDColoring coloring, Vec x, void *ctx)
{
  AIJTCUPlan    *plan;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUBindColoring(coloring, x));
  A->ops->fdcoloringapply = plan->id.parent.fdcoloringapply;
  ierr                    = (*A->ops->fdcoloringapply)(A, coloring, x, ctx);
  A->ops->fdcoloringapply = MatFDColoringApply_AIJTCU;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent reads values into the array on the host */
static PetscErrorCode MatLoad_AIJTCU(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUForgetDevice(A));
  AIJTCUCallParentOp(A, load, A, viewer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent reads the array on the host, wherever the newest values are */
static PetscErrorCode MatGetColumnReductions_AIJTCU(Mat A, PetscInt type, PetscReal *reductions)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE));
  AIJTCUCallParentOp(A, getcolumnreductions, A, type, reductions);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetMultiProcBlock_AIJTCU(Mat A, MPI_Comm comm, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (A->assembled) PetscCall(AIJTCUAttachBlocks(A)); /* B has vectors of the host: unbound.c */
  PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE));
  AIJTCUCallParentOp(A, getmultiprocblock, A, comm, reuse, B);
  PetscCall(AIJTCUFreeShared(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No AIJ type has this operation: MatIsHermitian() calls a function that reads the array there, too */
static PetscErrorCode MatIsHermitian_AIJTCU(Mat A, PetscReal tolerance, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE));
  PetscCall(MatIsHermitianTranspose(A, A, tolerance, is));
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
  PetscCall(AIJTCUUnwrapComposed(A)); /* the parent composes and removes these */
  AIJTCUCallParentOp(A, bindtocpu, A, flg);
  /* The host's values may be newer, and nothing says so */
  if (!flg && plan->id.device) PetscCall(AIJTCUValuesToHost(A, PETSC_TRUE));
  PetscCall(AIJTCUWrapComposed(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix whose values are still collected in a hash table has no pattern to copy. PETSc puts the operations of such a
   matrix aside when it is set up, so the new one has ours before that
*/
static PetscErrorCode AIJTCUDuplicateHash(Mat A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetLayouts(*B, A->rmap, A->cmap));
  PetscCall(MatSetType(*B, ((PetscObject)A)->type_name));
  PetscCall(MatSetOption(*B, MAT_STRUCTURE_ONLY, A->structure_only));
  PetscCall(MatSetUp(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_AIJTCU(Mat A, MatDuplicateOption op, Mat *B)
{
  AIJTCUPlan *plan, *bplan;
  PetscBool   ours;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  ours = (PetscBool)(!plan->id.owner && !plan->id.view_depth); /* otherwise the parent wants its own type */
  if (A->hash_active && ours && plan->id.own_name) PetscCall(AIJTCUDuplicateHash(A, B));
  else AIJTCUCallParentBare(A, (*plan->id.parent.duplicate)(A, op, B));
  PetscCall(AIJTCUFreeDuplicate(A, *B));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUAttach(*B, plan->id.kind, plan->id.own_name, NULL));
  PetscCall(AIJTCUGetPlan(*B, &bplan));
  bplan->id.options = plan->id.options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_AIJTCU(Mat A, PetscOptionItems PetscOptionsObject)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan->id.parent.setfromoptions) AIJTCUCallParentOp(A, setfromoptions, A, PetscOptionsObject);
  PetscCall(AIJTCUSetFromOptions(A, plan, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUZeroRowsColumns(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  PetscFunctionBegin;
  AIJTCUCallParentOp(A, zerorowscolumns, A, n, rows, diagonal, x, b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroRowsColumns_AIJTCU(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  PetscFunctionBegin;
  AIJTCUCallUnbound(A, PETSC_FALSE, AIJTCUZeroRowsColumns(A, n, rows, diagonal, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_AIJTCU(Mat A, PetscViewer viewer)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan) {
    AIJTCUCallParentOp(A, view, A, viewer);
  } else { /* MatDuplicate() copies this operation, also into a matrix of the parent type */
    PetscUseTypeMethod(A, viewnative, viewer);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   LU in place puts a factor into the matrix's header, which is of the parent type from then on. PETSc's aij types have
   two factorizations in place: this one and ILU.
*/
static PetscErrorCode MatLUFactor_AIJTCU(Mat A, IS r, IS c, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDetach(A));
  PetscUseTypeMethod(A, lufactor, r, c, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatILUFactor_AIJTCU(Mat A, IS r, IS c, const MatFactorInfo *info)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan->id.device && info->levels == 0) PetscCall(AIJTCUILUFactorInPlace(A, r, c, info));
  else AIJTCUCallParentOp(A, ilufactor, A, r, c, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc composes with a submatrix the data that it needs to fill it again */
static PetscErrorCode MatCreateSubMatrix_AIJTCU(Mat A, IS rows, IS cols, MatReuse reuse, Mat *B)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall((*plan->id.parent.createsubmatrix)(A, rows, cols, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(AIJTCUConvertNew(A, B));
    PetscCall(AIJTCUInherit(A, *B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc makes the transpose by A's name, so only the options are left to do for B. In place A keeps its plan */
static PetscErrorCode MatTranspose_AIJTCU(Mat A, MatReuse reuse, Mat *B)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(AIJTCUValuesToHost(*B, PETSC_TRUE));
  PetscCall((*plan->id.parent.transpose)(A, reuse, B));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(AIJTCUInherit(A, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc makes the graph by A's name */
static PetscErrorCode MatCreateGraph_AIJTCU(Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt n, PetscInt at[], Mat *G)
{
  AIJTCUIdentity *id;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(AIJTCUCreateGraph(A, symmetrize, scale, filter, n, at, G, &done));
  PetscCall(AIJTCUGetIdentity(A, &id));
  if (!done) {
    PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE));
    PetscCall((*id->parent.creategraph)(A, symmetrize, scale, filter, n, at, G));
    PetscCall(AIJTCUValuesToHost(*G, PETSC_FALSE)); /* coarsening reads them there */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatPermute_AIJTCU(Mat A, IS rows, IS cols, Mat *B)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall((*plan->id.parent.permute)(A, rows, cols, B));
  PetscCall(AIJTCUConvertNew(A, B));
  PetscCall(AIJTCUInherit(A, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rows of a parallel aijtcu that each process has got, put together to a whole: MatCreateRedundantMatrix(),
   PCTELESCOPE. PETSc makes the whole by the type of the rows, which is the parent's. Of one process it is a copy of
   them
*/
#define ROWS_KEY "MatAIJTCURows"
typedef struct {
  PetscErrorCode (*concatenate)(MPI_Comm, Mat, PetscInt, MatReuse, Mat *); /* the parent's */
  PetscErrorCode (*duplicate)(Mat, MatDuplicateOption, Mat *);
  AIJTCUOptions options;
} AIJTCURows;

static PetscErrorCode AIJTCUGetRows(Mat rows, AIJTCURows **r)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)rows, ROWS_KEY, r));
  PetscCheck(*r, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows of a parallel %s have lost what they came with", MATAIJTCU);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWholeOfRows(const AIJTCURows *r, Mat *M)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(MatConvert(*M, MATAIJTCU, MAT_INPLACE_MATRIX, M));
  PetscCall(AIJTCUGetPlan(*M, &plan));
  plan->id.options = r->options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_AIJTCURows(Mat rows, MatDuplicateOption op, Mat *M)
{
  AIJTCURows *r;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetRows(rows, &r));
  PetscCall((*r->duplicate)(rows, op, M));
  PetscCall(AIJTCUWholeOfRows(r, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateMPIMatConcatenateSeqMat_AIJTCURows(MPI_Comm comm, Mat rows, PetscInt n, MatReuse reuse, Mat *M)
{
  AIJTCURows *r;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetRows(rows, &r));
  PetscCall((*r->concatenate)(comm, rows, n, reuse, M));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(AIJTCUWholeOfRows(r, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMarkRows(const AIJTCUPlan *plan, Mat rows)
{
  AIJTCURows *r;
  AIJTCUPlan *attached;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(rows, &attached)); /* by -mat_aijtcu_attach: they stay what they are */
  if (attached || !rows->ops->creatempimatconcatenateseqmat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUComposedData((PetscObject)rows, ROWS_KEY, sizeof(*r), (void **)&r));
  r->options                               = plan->id.options;
  r->concatenate                           = rows->ops->creatempimatconcatenateseqmat;
  r->duplicate                             = rows->ops->duplicate;
  rows->ops->creatempimatconcatenateseqmat = MatCreateMPIMatConcatenateSeqMat_AIJTCURows;
  rows->ops->duplicate                     = MatDuplicate_AIJTCURows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of the block are made as those of an aijtcu are, so it has its plan before */
static PetscErrorCode MatGetDiagonalBlock_AIJTCU(Mat A, Mat *block)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (A->assembled) PetscCall(AIJTCUAttachBlocks(A));
  PetscCall((*plan->id.parent.getdiagonalblock)(A, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Those of a sequential matrix are of its type. Those of a parallel one are sequential, and of the parent type, as
   those of its diagonal block are
*/
static PetscErrorCode MatCreateSubMatrices_AIJTCU(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUCreateSubMatrices(A, n, rows, cols, reuse, B, plan->id.parent.createsubmatrices));
  if (reuse == MAT_INITIAL_MATRIX) {
    for (PetscInt i = 0; i < n; i++) {
      PetscCall(AIJTCUInherit(A, (*B)[i]));
      if (plan->id.kind == AIJTCU_KIND_MPI && plan->id.own_name) PetscCall(AIJTCUMarkRows(plan, (*B)[i]));
      PetscCall(AIJTCUMarkPart((*B)[i]));
    }
  } else if (plan->id.kind == AIJTCU_KIND_MPI) PetscCall(AIJTCUSubMatricesFilled(n, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Submatrices of some processes each, as PCGASM has them */
static PetscErrorCode MatCreateSubMatricesMPI_AIJTCU(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall((*plan->id.parent.createsubmatricesmpi)(A, n, rows, cols, reuse, B));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(AIJTCUSubMatricesFilled(n, *B));
  else {
    for (PetscInt i = 0; i < n; i++) PetscCall(AIJTCUMarkPart((*B)[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatEliminateZeros_AIJTCU(Mat A, PetscBool keep)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUValuesToHost(A, PETSC_TRUE));
  AIJTCUCallParentOp(A, eliminatezeros, A, keep);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetPreallocationCOO(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  AIJTCUIdentity *id;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &id));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, PetscCount, PetscInt[], PetscInt[]))id->composed[AIJTCU_SET_PREALLOCATION_COO])(A, n, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetPreallocationCOO_AIJTCU(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  AIJTCUIdentity *id;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &id));
  if (!id->device) PetscCall(AIJTCUSetPreallocationCOO(A, n, i, j));
  else AIJTCUCallUnbound(A, (PetscBool)!id->composed[AIJTCU_SET_PREALLOCATION_COO], AIJTCUSetPreallocationCOO(A, n, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetValuesCOO(Mat A, const PetscScalar v[], InsertMode mode)
{
  AIJTCUIdentity *id;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &id));
#if PetscDefined(HAVE_CUDA)
  PetscCall(AIJTCUBlocksToDevice(A));
#endif
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, const PetscScalar[], InsertMode))id->composed[AIJTCU_SET_VALUES_COO])(A, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_AIJTCU(Mat A, const PetscScalar v[], InsertMode mode)
{
  AIJTCUIdentity *id;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &id));
  AIJTCUCallUnbound(A, (PetscBool)!id->composed[AIJTCU_SET_VALUES_COO], AIJTCUSetValuesCOO(A, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqAIJCopySubArray_AIJTCU(Mat A, PetscInt n, const PetscInt idx[], PetscScalar v[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, PetscInt, const PetscInt[], PetscScalar[]))plan->id.composed[AIJTCU_COPY_SUBARRAY])(A, n, idx, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What makes A empty: nothing of it is on the device any more */
static PetscErrorCode MatSeqAIJSetPreallocation_AIJTCU(Mat A, PetscInt nz, const PetscInt nnz[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, PetscInt, const PetscInt[]))plan->id.composed[AIJTCU_SET_PREALLOCATION_SEQ])(A, nz, nnz));
  PetscCall(AIJTCUForgetDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJSetPreallocation_AIJTCU(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]))plan->id.composed[AIJTCU_SET_PREALLOCATION_MPI])(A, d_nz, d_nnz, o_nz, o_nnz));
  PetscCall(AIJTCUGiveBlockSizes(A));
  PetscCall(AIJTCUForgetDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatResetPreallocation_AIJTCU(Mat A)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan->id.kind == AIJTCU_KIND_MPI && A->assembled) PetscCall(AIJTCUAttachBlocks(A));
  /* Before: where the rows are as long as they were, PETSc zeroes the values, and they stay */
  PetscCall(AIJTCUForgetDevice(A));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat))plan->id.composed[AIJTCU_RESET_PREALLOCATION])(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatResetHash_AIJTCU(Mat A)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParent(A, ((PetscErrorCode (*)(Mat))plan->id.composed[AIJTCU_RESET_HASH])(A));
  PetscCall(AIJTCUResetBlocks(A));
  PetscCall(AIJTCUForgetDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJGetLocalMatMerge_AIJTCU(Mat A, MatReuse reuse, IS *columns, Mat *merged)
{
  AIJTCUIdentity *id;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetIdentity(A, &id));
  AIJTCUCallUnbound(A, PETSC_FALSE, ((PetscErrorCode (*)(Mat, MatReuse, IS *, Mat *))id->composed[AIJTCU_LOCAL_MERGE])(A, reuse, columns, merged));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatStoreValues_AIJTCU(Mat A)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUStoredValuesFit(A));
  PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE));
  PetscCall(((PetscErrorCode (*)(Mat))plan->id.composed[AIJTCU_STORE_VALUES])(A));
  PetscCall(AIJTCUStoredValuesKeep(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRetrieveValues_AIJTCU(Mat A)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUStoredValuesFit(A));
  PetscCall(AIJTCUValuesToHost(A, PETSC_TRUE));
  PetscCall(((PetscErrorCode (*)(Mat))plan->id.composed[AIJTCU_RETRIEVE_VALUES])(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The operations. Those without FOR_OWN are also for matrices that keep the parent's name: the blocks of a parallel
   matrix, and matrices with a plan from -mat_aijtcu_attach. On a device three kinds are wrapped:

   - operations that take vectors or values of the host
   - the block diagonals, by which PETSc would find the name
   - of a sequential matrix: operations that compare names
*/
static const AIJTCUOp ops[] = {
  /* these three copy, compose or remove what we composed, or read options */
  AIJTCU_OP(duplicate, MatDuplicate_AIJTCU, 0),
  AIJTCU_OP(bindtocpu, MatBindToCPU_AIJTCU, 0),
  AIJTCU_OP(setfromoptions, MatSetFromOptions_AIJTCU, AIJTCU_ADDED),
  AIJTCU_OP(lufactor, MatLUFactor_AIJTCU, AIJTCU_FOR_OWN),
  AIJTCU_OP(ilufactor, MatILUFactor_AIJTCU, AIJTCU_FOR_OWN),
  AIJTCU_OP(productsetfromoptions, MatProductSetFromOptions_AIJTCU, AIJTCU_FOR_OWN),
  AIJTCU_OP(convert, MatConvert_AIJTCU_Any, AIJTCU_FOR_OWN | AIJTCU_ADDED),
  AIJTCU_OP(transpose, MatTranspose_AIJTCU, 0),
  AIJTCU_OP(creategraph, MatCreateGraph_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE),
  AIJTCU_OP(permute, MatPermute_AIJTCU, AIJTCU_FOR_OWN),
  AIJTCU_OP(createsubmatrix, MatCreateSubMatrix_AIJTCU, AIJTCU_FOR_OWN),
  AIJTCU_OP(createsubmatrices, MatCreateSubMatrices_AIJTCU, 0),
  AIJTCU_OP(createsubmatricesmpi, MatCreateSubMatricesMPI_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_MPI),
  AIJTCU_OP(mult, MatMult_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(multadd, MatMultAdd_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(multtranspose, MatMultTranspose_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(multtransposeadd, MatMultTransposeAdd_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(multhermitiantranspose, MatMultHermitianTranspose_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(multhermitiantransposeadd, MatMultHermitianTransposeAdd_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(sor, MatSOR_AIJTCU, AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
  AIJTCU_OP(multdiagonalblock, MatMultDiagonalBlock_AIJTCU, AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
  AIJTCU_OP(getdiagonal, MatGetDiagonal_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(getdiagonalblock, MatGetDiagonalBlock_AIJTCU, AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
  AIJTCU_OP(getcolumnreductions, MatGetColumnReductions_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE),
  AIJTCU_OP(getmultiprocblock, MatGetMultiProcBlock_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
  AIJTCU_OP(ishermitian, MatIsHermitian_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_SEQ | AIJTCU_ADDED),
  AIJTCU_OP(norm, MatNorm_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
  AIJTCU_OP(getrowsumabs, MatGetRowSumAbs_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
  AIJTCU_OP(fdcoloringapply, MatFDColoringApply_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE),
  AIJTCU_OP(load, MatLoad_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE),
  AIJTCU_OP(diagonalscale, MatDiagonalScale_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE),
  AIJTCU_OP(eliminatezeros, MatEliminateZeros_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE),
  AIJTCU_OP(getblockdiagonal, AIJTCUGetBlockDiagonal, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_ADDED),
  AIJTCU_OP(getvblockdiagonal, AIJTCUGetVBlockDiagonal, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_ADDED),
  AIJTCU_OP(scale, MatScale_AIJTCU, PetscDefined(USE_COMPLEX) ? AIJTCU_FOR_OWN : AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_SEQ),
  AIJTCU_OP(shift, MatShift_AIJTCU, AIJTCU_FOR_OWN),
  AIJTCU_OP(axpy, MatAXPY_AIJTCU, PetscDefined(USE_COMPLEX) ? AIJTCU_FOR_OWN : AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE),
  AIJTCU_OP(zeroentries, MatZeroEntries_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(assemblyend, MatAssemblyEnd_AIJTCU, AIJTCU_FOR_DEVICE),
  AIJTCU_OP(zerorowscolumns, MatZeroRowsColumns_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
  AIJTCU_OP(setoption, MatSetOption_AIJTCU, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_SEQ),
#if PetscDefined(USE_COMPLEX)
  AIJTCU_OP(setup, AIJTCUSetUpHash, AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI),
#endif
  {0, NULL, 0}
};

/*
   The composed functions. MatSetPreallocationCOO() makes blocks by the name of the whole, or sets the operations anew.
   PETSc takes it and MatSetValuesCOO() from a sequential matrix that is bound to the host.
   The other functions of values are here for the same reasons as operations.

   Products of an aijtcu are found under a key for any type. Products of a matrix that keeps the parent's name are
   found under the keys of the parent's products.
*/
#define CONVERSION     (AIJTCU_FOR_OWN | AIJTCU_ADDED)
#define ON_ONE_PROCESS (CONVERSION | AIJTCU_FOR_SEQ) /* of a parallel matrix: PETSc asks a sequential one */
#define PRODUCT        (AIJTCU_FOR_OTHERS | AIJTCU_ADDED | AIJTCU_BY_PARENT_TYPE)
static const AIJTCUComposed composed[AIJTCU_NCOMPOSED] = {
  [AIJTCU_SET_PREALLOCATION_COO] = {"MatSetPreallocationCOO_C",                    (AIJTCUFn)MatSetPreallocationCOO_AIJTCU,   AIJTCU_ADDED                                      },
  [AIJTCU_SET_VALUES_COO]        = {"MatSetValuesCOO_C",                           (AIJTCUFn)MatSetValuesCOO_AIJTCU,          AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_ADDED  },
  [AIJTCU_COPY_SUBARRAY]         = {"MatSeqAIJCopySubArray_C",                     (AIJTCUFn)MatSeqAIJCopySubArray_AIJTCU,    AIJTCU_FOR_OWN | AIJTCU_FOR_DEVICE | AIJTCU_FOR_SEQ},
  [AIJTCU_SET_PREALLOCATION_SEQ] = {"MatSeqAIJSetPreallocation_C",                 (AIJTCUFn)MatSeqAIJSetPreallocation_AIJTCU, AIJTCU_FOR_DEVICE | AIJTCU_FOR_SEQ                },
  [AIJTCU_SET_PREALLOCATION_MPI] = {"MatMPIAIJSetPreallocation_C",                 (AIJTCUFn)MatMPIAIJSetPreallocation_AIJTCU, AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI                },
  [AIJTCU_RESET_PREALLOCATION]   = {"MatResetPreallocation_C",                     (AIJTCUFn)MatResetPreallocation_AIJTCU,    AIJTCU_FOR_DEVICE                                 },
  [AIJTCU_RESET_HASH]            = {"MatResetHash_C",                              (AIJTCUFn)MatResetHash_AIJTCU,             AIJTCU_FOR_DEVICE                                 },
  [AIJTCU_LOCAL_MERGE]           = {"MatMPIAIJGetLocalMatMerge_C",                 (AIJTCUFn)MatMPIAIJGetLocalMatMerge_AIJTCU, AIJTCU_FOR_DEVICE | AIJTCU_FOR_MPI                },
  [AIJTCU_STORE_VALUES]          = {"MatStoreValues_C",                            (AIJTCUFn)MatStoreValues_AIJTCU,           AIJTCU_FOR_OWN                                    },
  [AIJTCU_RETRIEVE_VALUES]       = {"MatRetrieveValues_C",                         (AIJTCUFn)MatRetrieveValues_AIJTCU,        AIJTCU_FOR_OWN                                    },
  [AIJTCU_PRODUCT_ANY]           = {"MatProductSetFromOptions_anytype_C",          (AIJTCUFn)MatProductSetFromOptions_AIJTCU, CONVERSION                                        },
  [AIJTCU_CONVERT]               = {"MatConvert_%saij_%saijcusparsetcu_C",         (AIJTCUFn)MatConvert_AIJ_AIJTCU,           CONVERSION                                        },
  [AIJTCU_CONVERT + 1]           = {"MatConvert_%saij_%saijtcu_C",                 (AIJTCUFn)MatConvert_AIJ_AIJTCU,           CONVERSION                                        },
  [AIJTCU_CONVERT + 2]           = {"MatConvert_%saijcusparse_%saijcusparsetcu_C", (AIJTCUFn)MatConvert_AIJ_AIJTCU,           CONVERSION                                        },
  [AIJTCU_CONVERT + 3]           = {"MatConvert_%saijcusparse_%saijtcu_C",         (AIJTCUFn)MatConvert_AIJ_AIJTCU,           CONVERSION                                        },
  [AIJTCU_CONVERT + 4]           = {"MatConvert_mpiaij_mpiaijtcu_C",               (AIJTCUFn)MatConvert_AIJ_AIJTCU,           ON_ONE_PROCESS                                    },
  [AIJTCU_CONVERT + 5]           = {"MatConvert_mpiaijcusparse_mpiaijtcu_C",       (AIJTCUFn)MatConvert_AIJ_AIJTCU,           ON_ONE_PROCESS                                    },
  [AIJTCU_CONVERT_LAST]          = {"MatConvert_%saijcusparsetcu_%saijtcu_C",      (AIJTCUFn)MatConvert_AIJ_AIJTCU,           CONVERSION                                        },
  [AIJTCU_PRODUCT_DENSE]         = {"MatProductSetFromOptions_%s_%sdense_C",       (AIJTCUFn)MatProductSetFromOptions_AIJTCU, PRODUCT                                           },
  [AIJTCU_PRODUCT_DENSECUDA]     = {"MatProductSetFromOptions_%s_%sdensecuda_C",   (AIJTCUFn)MatProductSetFromOptions_AIJTCU, PRODUCT                                           }
};
#undef CONVERSION
#undef ON_ONE_PROCESS
#undef PRODUCT

static PetscErrorCode AIJTCUPlanInitialize(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsInitialize(&plan->id.options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJTCUClass AIJTCUWrappers = {ops, composed, MatView_AIJTCU, AIJTCUViewFromOptions, sizeof(AIJTCUPlan), AIJTCUPlanInitialize, AIJTCUPlanReset};
