/*
   Functions that set what options set, and get it. options.c knows which values are right.
*/
#include "typeimpl.h"

/*
   The options of A, to be set. Other matrices have none and are left alone, as by PETSc's type-specific setters. A
   block of a parallel matrix has those of the whole.
*/
static PetscErrorCode AIJTCUOptionsToSet(Mat A, AIJTCUOptions **o)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  *o = NULL;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan) *o = plan->id.owner ? &plan->id.owner->id.options : &plan->id.options;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGetOwnPlan(Mat A, AIJTCUPlan **plan)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(AIJTCUGetPlan(A, plan));
  PetscCheck(*plan, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "Matrix of type %s has no aijtcu plan: it must be of type %s",
             ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "(not set)", MATAIJTCU);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUOptionsToGet(Mat A, const AIJTCUOptions **o)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  *o = NULL;
  PetscCall(AIJTCUGetOwnPlan(A, &plan));
  *o = AIJTCUGetOptions(plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetEnum(Mat A, AIJTCUEnum which, PetscEnum value)
{
  AIJTCUOptions *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToSet(A, &o));
  PetscValidLogicalCollectiveEnum(A, value, 2);
  PetscCall(AIJTCUCheckEnum(A, which, value));
  if (o) *AIJTCUEnumOf(o, which) = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGetEnum(Mat A, AIJTCUEnum which, PetscEnum *value)
{
  const AIJTCUOptions *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToGet(A, &o));
  PetscAssertPointer(value, 2);
  *value = *AIJTCUEnumOf((AIJTCUOptions *)o, which);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetPath - Sets which path the products of a `MATAIJTCU` with dense matrices take

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- path - `MAT_AIJTCU_PATH_AUTO` (default), `MAT_AIJTCU_PATH_TCU`, `MAT_AIJTCU_PATH_CSR` or `MAT_AIJTCU_PATH_CUSPARSE`

  Options Database Key:
. -mat_aijtcu_path (auto|tcu|csr|cusparse) - the path

  Level: intermediate

  Notes:
  Holds for products that are set up afterwards.

  The CSR path needs no bricks. On a device it is a kernel that reads the matrix as it is, on the host the product of
  the parent type. `MAT_AIJTCU_PATH_CUSPARSE` is the product of the parent type everywhere: on a device that of
  cuSPARSE.

  Where bricks cannot be had, a product takes the CSR path, even if another path is set. Reasons are rows that are not
  sorted, no memory, or a device without tensor cores that pay for the precision. Where the CSR path cannot be had
  either, it takes the product of the parent type. Reasons are no memory, or a device for which the
  library was not compiled. `-info` says why.

.seealso: `MATAIJTCU`, `MatAIJTCUGetPath()`, `MatAIJTCUSetSynergyThreshold()`
@*/
PetscErrorCode MatAIJTCUSetPath(Mat A, MatAIJTCUPath path)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_PATH, (PetscEnum)path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetPath - Gets what `MatAIJTCUSetPath()` or `-mat_aijtcu_path` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. path - the path

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetPath()`
@*/
PetscErrorCode MatAIJTCUGetPath(Mat A, MatAIJTCUPath *path)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_PATH, (PetscEnum *)path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetFormat - Sets the format of the bricks of a `MATAIJTCU`

  Logically Collective

  Input Parameters:
+ A      - the matrix; other types are left alone
- format - the format; four zeros or `NULL` (default) for none, so that a device chooses it

  Options Database Key:
. -mat_aijtcu_format brick,panel,block,window - rows of a brick, rows of a panel, columns of a block, columns of a
                                                window

  Level: intermediate

  Notes:
  A brick is a small dense piece of the matrix with 8 or 16 rows and 4 columns. A strip is as many rows as a brick has;
  a panel is some strips. The columns of a panel that have a nonzero, its active ones, are taken together in windows of
  consecutive columns, and the windows in blocks. A device brings the rows of the dense matrix that a block needs into
  shared memory, window by window, and multiplies the bricks of the block with them.

  Wide windows take fewer copies. They suit matrices whose columns come in runs, such as those with several unknowns a
  node; in other matrices they stage rows that nothing uses. Tall panels use a staged row for several strips.

  While no format is set a device chooses one from the size of the matrix and from how its columns are spread; see
  `MatAIJTCUSetTune()` for a choice by timing. The host takes 8,64,32,1. `MatView()` says what bricks have.

  Bricks that exist are built anew at the next product.

  A device stages rows of the dense matrix in shared memory where blocks have up to 64 columns (128 in single precision
  with bricks of 16 rows), panels 8 strips at most, and windows 16 bytes or more. Windows may also be single columns,
  with panels of 2 strips at least. Bricks of other formats gather single rows from a copy of the dense matrix.

  Numbers that are not allowed (see `MatAIJTCUFormat`) are a `PETSC_ERR_ARG_OUTOFRANGE`.

.seealso: `MATAIJTCU`, `MatAIJTCUGetFormat()`, `MatAIJTCUFormat`
@*/
PetscErrorCode MatAIJTCUSetFormat(Mat A, const MatAIJTCUFormat *format)
{
  const MatAIJTCUFormat none = {0, 0, 0, 0};
  AIJTCUOptions        *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToSet(A, &o));
  if (!format) format = &none;
  PetscValidLogicalCollectiveInt(A, format->brick_rows, 2);
  PetscValidLogicalCollectiveInt(A, format->panel_rows, 2);
  PetscValidLogicalCollectiveInt(A, format->block_cols, 2);
  PetscValidLogicalCollectiveInt(A, format->window_cols, 2);
  PetscCall(AIJTCUCheckFormat(A, format));
  if (o) o->format = *format;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetFormat - Gets what `MatAIJTCUSetFormat()` or `-mat_aijtcu_format` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. format - the format; four zeros while none is set

  Level: intermediate

  Note:
  `MatView()` with the format info says what bricks have where a device chose it.

.seealso: `MATAIJTCU`, `MatAIJTCUSetFormat()`, `MatAIJTCUFormat`
@*/
PetscErrorCode MatAIJTCUGetFormat(Mat A, MatAIJTCUFormat *format)
{
  const AIJTCUOptions *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToGet(A, &o));
  PetscAssertPointer(format, 2);
  *format = o->format;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetPrecision - Sets how exactly the bricks of a `MATAIJTCU` are multiplied on a device

  Logically Collective

  Input Parameters:
+ A         - the matrix; other types are left alone
- precision - `MAT_AIJTCU_PRECISION_FULL` (default) or `MAT_AIJTCU_PRECISION_TF32`

  Options Database Key:
. -mat_aijtcu_precision (full|tf32) - the precision

  Level: intermediate

  Notes:
  The full precision is that of `PetscScalar`. TF32 keeps 11 bits of each factor, a relative error of about 5e-4 in an
  entry of the product; sums are in single precision.

  Bricks on the host are always multiplied in full precision, and so is everything on the CSR path.

  `MAT_AIJTCU_PRECISION_TF32` in double precision is a `PETSC_ERR_SUP`.

.seealso: `MATAIJTCU`, `MatAIJTCUGetPrecision()`, `MatAIJTCUPrecision`
@*/
PetscErrorCode MatAIJTCUSetPrecision(Mat A, MatAIJTCUPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_PRECISION, (PetscEnum)precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetPrecision - Gets what `MatAIJTCUSetPrecision()` or `-mat_aijtcu_precision` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. precision - the precision

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetPrecision()`
@*/
PetscErrorCode MatAIJTCUGetPrecision(Mat A, MatAIJTCUPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_PRECISION, (PetscEnum *)precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetReorder - Sets whether the bricks of a `MATAIJTCU` may be of the reordered matrix

  Logically Collective

  Input Parameters:
+ A       - the matrix; other types are left alone
- reorder - `MAT_AIJTCU_REORDER_AUTO` (default), `MAT_AIJTCU_REORDER_NEVER` or `MAT_AIJTCU_REORDER_ALWAYS`

  Options Database Key:
. -mat_aijtcu_reorder (auto|never|always) - whether they may

  Level: intermediate

  Notes:
  Reordering helps matrices whose unknowns are numbered without regard to which are neighbours. On a device the rows and
  columns of a square matrix (or diagonal block of a parallel one) are put in the order of Cuthill and McKee, in which
  bricks are full. This happens once for a nonzero pattern. Each product then takes B to that order and C back. The
  matrix itself, B and C keep theirs. The entries of C are the same but for rounding.

  By default a matrix is reordered where `auto` chooses the path, columns are scattered or panels of 128 rows need more
  than 16 rows of B for each of their rows, rows share columns with their neighbours, and a model of the times says that
  it pays within the products that are expected, 50 unless `MatAIJTCUSetExpectedProducts()` says otherwise.
  `MAT_AIJTCU_REORDER_ALWAYS` holds for all bricks on a device. A matrix of a long and thin graph (thousands of levels),
  or with 2^31 nonzeros, is not reordered.

  The order takes two whole numbers for each nonzero on the device, six while it is found. A product takes a copy of B
  and one of C. The order is kept until the pattern changes, or until bricks are used under `MAT_AIJTCU_REORDER_NEVER`.

  Sums of numbers next to the largest one may overflow in one order and not in another.

  Source:
  E. Cuthill and J. McKee, Reducing the bandwidth of sparse symmetric matrices (1969).

.seealso: `MATAIJTCU`, `MatAIJTCUGetReorder()`, `MatAIJTCUSetExpectedProducts()`, `MatAIJTCUReorder`, `MatAIJTCUSynergy`
@*/
PetscErrorCode MatAIJTCUSetReorder(Mat A, MatAIJTCUReorder reorder)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_REORDER, (PetscEnum)reorder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetReorder - Gets what `MatAIJTCUSetReorder()` or `-mat_aijtcu_reorder` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. reorder - whether bricks may be of the reordered matrix

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetReorder()`
@*/
PetscErrorCode MatAIJTCUGetReorder(Mat A, MatAIJTCUReorder *reorder)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_REORDER, (PetscEnum *)reorder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetTune - Sets whether a `MATAIJTCU` on a device chooses path and format by timing

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- tune - `MAT_AIJTCU_TUNE_NONE` (default) or `MAT_AIJTCU_TUNE_PROXY`

  Options Database Key:
. -mat_aijtcu_tune (none|proxy) - whether it does

  Level: intermediate

  Notes:
  With `MAT_AIJTCU_TUNE_PROXY` the first product of a nonzero pattern with N columns times the CSR path and bricks of
  several formats. It does so when it is set up, on a proxy: a few segments of rows that stand for all. Segments with
  like entries form groups, and each group is represented in proportion. The fastest variant is kept for all products
  with N columns until the pattern changes. New values change nothing. Among variants within 2 % of the fastest the same
  one is always taken: the model's choice, if it is one of them.

  Variants that the model of the times has more than 1.3 times as slow as another are not timed. Where only the model's
  own choice is left, nothing is timed, and products take it.

  Bricks have one format for a pattern. A further N is tuned between that format, once one has won, and the CSR path.
  There may be eight N; others take what the nearest of them takes. With another precision, or another value of
  `MatAIJTCUSetReorder()`, all begins anew.

  Times differ from run to run. So the choice may differ, too, and with it the rounding of products.
  `MatAIJTCUGetTuning()`, `MatView()` with the format info, -mat_aijtcu_view_choice and -info tell the choice. The last
  three print it as options that replay it. For a sequential matrix they replay it exactly. For a parallel one they are
  the choice of a block of one process, and apply to all blocks. Each of these may have taken another path and another
  format.

  Tuning applies where `auto` chooses by time: the matrix is on a device, the path is `MAT_AIJTCU_PATH_AUTO`, and
  neither a format nor a threshold nor `MAT_AIJTCU_REORDER_ALWAYS` is set. In three cases the model decides, as without
  tuning: there is a reordering in which columns come in runs, memory is short, or the proxy has less than half or more
  than twice its share of the entries.

  The proxy has enough rows to keep the device as busy as a large matrix does. A matrix with less than twice as many
  rows (200000 on an H200) is its own proxy: each product is short then, but tuning takes as long as some tens of them,
  because bricks are built in each format that is timed.
  Tuning needs memory for the proxy, and for one or two dense matrices with as many rows as A has columns; they have 256
  columns at most, fewer where these would take more than -mat_aijtcu_workspace_max.

  Source:
  LO-SpMM, section 5: proxies of products, and 5.2: their occupancy.

.seealso: `MATAIJTCU`, `MatAIJTCUGetTune()`, `MatAIJTCUGetTuning()`, `MatAIJTCUTune`, `MatAIJTCUSetPath()`
@*/
PetscErrorCode MatAIJTCUSetTune(Mat A, MatAIJTCUTune tune)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_TUNE, (PetscEnum)tune));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetTune - Gets what `MatAIJTCUSetTune()` or `-mat_aijtcu_tune` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. tune - whether path and format are chosen by timing

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetTune()`, `MatAIJTCUGetTuning()`
@*/
PetscErrorCode MatAIJTCUGetTune(Mat A, MatAIJTCUTune *tune)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_TUNE, (PetscEnum *)tune));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetMult - Sets what multiplies a `MATAIJTCU` on a device with one vector

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- mult - `MAT_AIJTCU_MULT_AUTO` (default), `MAT_AIJTCU_MULT_CUSPARSE`, `MAT_AIJTCU_MULT_CSR`,
         `MAT_AIJTCU_MULT_NODES` or `MAT_AIJTCU_MULT_CSR16`

  Options Database Key:
. -mat_aijtcu_mult (auto|cusparse|csr|nodes|csr16) - what multiplies

  Level: intermediate

  Notes:
  Holds for `MatMult()`, `MatMultAdd()` and products with the transpose. Everything on the host is the parent's.

  The transpose of a matrix that is eternally symmetric (`MatSetOption()` with MAT_SYMMETRIC and MAT_SYMMETRY_ETERNAL)
  is the matrix itself. That of another is made for the first product with it, and takes more device memory than the
  matrix. With `MAT_AIJTCU_MULT_CUSPARSE` there is none: the product of the parent is slow, and adds in any order.

  Our kernels read the matrix as it is. They give the same bits in every run, and all of them give the same.

  By default two things are made after some tens of products with a nonzero pattern. Nodes are looked for: rows of
  several unknowns at a node of a mesh have the same columns, which are then read once. That takes 32 bits for each
  node. And columns are shortened to 16 bits, if groups of rows have columns that lie within 65536. That takes device
  memory of 16 bits for each nonzero. New values cost nothing, because values are those of the matrix.

  Rows whose lengths differ much are sorted by their lengths from the first product on.

.seealso: `MATAIJTCU`, `MatAIJTCUGetMult()`, `MatAIJTCUMult`
@*/
PetscErrorCode MatAIJTCUSetMult(Mat A, MatAIJTCUMult mult)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_MULT, (PetscEnum)mult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetMult - Gets what `MatAIJTCUSetMult()` or `-mat_aijtcu_mult` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. mult - what multiplies with one vector

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetMult()`
@*/
PetscErrorCode MatAIJTCUGetMult(Mat A, MatAIJTCUMult *mult)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_MULT, (PetscEnum *)mult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetSparse - Sets who makes products of a `MATAIJTCU` on a device with sparse matrices

  Logically Collective

  Input Parameters:
+ A      - the matrix; other types are left alone
- sparse - `MAT_AIJTCU_SPARSE_AUTO` (default), `MAT_AIJTCU_SPARSE_CUSPARSE` or `MAT_AIJTCU_SPARSE_HASH`

  Options Database Key:
. -mat_aijtcu_sparse (auto|cusparse|hash) - who makes them

  Level: intermediate

  Notes:
  Holds for products that are set up afterwards: A B, A^T B and P^T A P, and R A R^T and A B C of matrices of one
  process. Other products of sparse matrices, and those on the host, are the parent's. Other parallel products of
  matrices on a device are made on the host.

  Our kernels make the pattern and the values on the device. They give the same bits in every run, and the pattern that
  `MATAIJ` has. The result is a `MATAIJTCU`. Its values come to the host only if somebody asks for them there. With
  MAT_REUSE_MATRIX only values are made. Until then the product keeps A P, for example, and the transpose of P on the
  device. Where memory is short, the parent makes the product.

  `MatCreateGraph()`, which multigrid coarsens, goes the same way. In parallel this holds for matrices with blocks, if
  the graph is neither scaled nor symmetrized.

.seealso: `MATAIJTCU`, `MatAIJTCUGetSparse()`, `MatAIJTCUSparse`, `MatPtAP()`, `MatMatMult()`
@*/
PetscErrorCode MatAIJTCUSetSparse(Mat A, MatAIJTCUSparse sparse)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_SPARSE, (PetscEnum)sparse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetSparse - Gets what `MatAIJTCUSetSparse()` or `-mat_aijtcu_sparse` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. sparse - who makes products with sparse matrices

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetSparse()`
@*/
PetscErrorCode MatAIJTCUGetSparse(Mat A, MatAIJTCUSparse *sparse)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_SPARSE, (PetscEnum *)sparse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetMGPrecision - Sets the precision of `PCMG` and `PCGAMG` of a `MATAIJTCU` for one vector on a device

  Logically Collective

  Input Parameters:
+ A         - the matrix that the preconditioner is made of; other types are left alone
- precision - `MAT_AIJTCU_MG_PRECISION_FULL` (default) or `MAT_AIJTCU_MG_PRECISION_SINGLE`

  Options Database Key:
. -mat_aijtcu_mg_precision (full|single) - which precision

  Level: intermediate

  Notes:
  In single precision a cycle reads copies of the levels' values that have half the size, and its vectors are in single
  precision, too. The coarse solve, the right-hand side, the solution and the Krylov method stay in double. The copies
  are made with the first cycle, and again when values change. They take half of the memory of the values.

  The preconditioner is then right to about six digits. So `KSPCG` takes about as many iterations, to any tolerance
  that it reaches in double.

  Levels and right-hand sides are scaled by powers of two, so their numbers need not be within what single precision
  has. Where those of one level are too far apart, where memory is short, and for all other cycles than the one that
  this library has for one vector, the cycle is in full precision, and `-info` says why.

.seealso: `MATAIJTCU`, `MatAIJTCUGetMGPrecision()`, `MatAIJTCUMGPrecision`, `PCMG`, `PCGAMG`
@*/
PetscErrorCode MatAIJTCUSetMGPrecision(Mat A, MatAIJTCUMGPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_MG_PRECISION, (PetscEnum)precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetMGPrecision - Gets what `MatAIJTCUSetMGPrecision()` or `-mat_aijtcu_mg_precision` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. precision - the precision of a multigrid cycle for one vector

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetMGPrecision()`
@*/
PetscErrorCode MatAIJTCUGetMGPrecision(Mat A, MatAIJTCUMGPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_MG_PRECISION, (PetscEnum *)precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetExpectedProducts - Says how often a `MATAIJTCU` will be multiplied with blocks of dense vectors

  Logically Collective

  Input Parameters:
+ A        - the matrix; other types are left alone
- products - number of products with one nonzero pattern, 1 or more, or `PETSC_DEFAULT`, which says none

  Options Database Key:
. -mat_aijtcu_products n - the number

  Level: intermediate

  Notes:
  On a device bricks take as long to build as some products, and a reordering as some tens of products. `auto` prepares
  them only where a model of the times says that it pays within this number of products. A number of 1 prepares nothing
  that a single product does not pay for. While none is said, reorderings must pay within 50 products. Bricks are then
  built wherever products with them are faster. Programs that iterate long gain by a larger number.

  The number does not change what a product computes, but which kernel computes it. It holds for products that are set
  up afterwards. More or fewer products than were expected are no error.

.seealso: `MATAIJTCU`, `MatAIJTCUGetExpectedProducts()`, `MatAIJTCUSetReorder()`
@*/
PetscErrorCode MatAIJTCUSetExpectedProducts(Mat A, PetscInt products)
{
  AIJTCUOptions *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToSet(A, &o));
  PetscValidLogicalCollectiveInt(A, products, 2);
  PetscCall(AIJTCUCheckProducts(A, products));
  if (o) o->products = products;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetExpectedProducts - Gets what `MatAIJTCUSetExpectedProducts()` or `-mat_aijtcu_products` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. products - number of products, `PETSC_DEFAULT` while none is said

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetExpectedProducts()`
@*/
PetscErrorCode MatAIJTCUGetExpectedProducts(Mat A, PetscInt *products)
{
  const AIJTCUOptions *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToGet(A, &o));
  PetscAssertPointer(products, 2);
  *products = o->products;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetHalo - Sets how the processes of a `MATAIJTCU` exchange the rows of a dense matrix that its products need

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- halo - `MAT_AIJTCU_HALO_AUTO` (default), `MAT_AIJTCU_HALO_MPI` or `MAT_AIJTCU_HALO_NCCL`

  Options Database Key:
. -mat_aijtcu_halo (auto|mpi|nccl) - the way

  Level: advanced

  Notes:
  A `MATMPIAIJTCU` finds once for a nonzero pattern which rows of B go to which process. A product then makes no
  `PetscSF` and no communicator, whatever its number of columns, and sends these rows only. Buffers for them are kept
  with the matrix. A product with more columns than any before makes them larger. Where one process has no memory for
  that, all make the product of the parent type; `-info` says so.

  With `MAT_AIJTCU_HALO_AUTO` processes on one machine lend each other memory of their devices (CUDA's IPC), and copy
  the rows from there. Between others, and with `MAT_AIJTCU_HALO_MPI`, messages go: from memory of the device if PETSc
  says that MPI takes it (`-use_gpu_aware_mpi`), else through page-locked memory of the host. `-info` says how many
  neighbours there are of each kind. `MatDestroy()` then waits for all processes of the matrix, as memory that is lent
  must come back first.

  With `MAT_AIJTCU_HALO_NCCL` NCCL sends from device to device, also between machines. The library must have been built
  where `nccl.h` was found, and finds `libnccl.so.2` when it runs; each process needs a GPU of its own. The first
  product is an error where one of these is missing. `MAT_AIJTCU_HALO_AUTO` does not take it.

  For A^T B, and so for the restriction of multigrid, the same rows have sums that go back the same way. Their owners
  add them in the order of the processes.

  All ways give the same bits.

  With a matrix on a device, dense matrices on the host are copied in once and out once. A matrix of a device that is
  bound to the host makes the product of the parent type. So does one with PETSc before 3.26, and with
  `MAT_AIJTCU_PATH_CUSPARSE`.

.seealso: `MATAIJTCU`, `MatAIJTCUGetHalo()`, `MatAIJTCUHalo`
@*/
PetscErrorCode MatAIJTCUSetHalo(Mat A, MatAIJTCUHalo halo)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetEnum(A, AIJTCU_ENUM_HALO, (PetscEnum)halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetHalo - Gets what `MatAIJTCUSetHalo()` or `-mat_aijtcu_halo` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. halo - how processes exchange rows

  Level: advanced

.seealso: `MATAIJTCU`, `MatAIJTCUSetHalo()`
@*/
PetscErrorCode MatAIJTCUGetHalo(Mat A, MatAIJTCUHalo *halo)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetEnum(A, AIJTCU_ENUM_HALO, (PetscEnum *)halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetSynergyThreshold - Sets the least alpha for which `MAT_AIJTCU_PATH_AUTO` takes bricks

  Logically Collective

  Input Parameters:
+ A     - the matrix; other types are left alone
- alpha - a fraction; 0 for always, more than 1 for never, `PETSC_DEFAULT` (default) to let the model choose

  Options Database Key:
. -mat_aijtcu_synergy_threshold alpha - the threshold

  Level: intermediate

  Notes:
  Alpha is that of `MatAIJTCUSynergy`: nonzeros for each slot of the active columns of strips of 16 rows (cuTeSpMM,
  section 4). A threshold that is set decides by alpha alone, on the host and on a device that has tensor cores for the
  precision, for every number of columns but one: that takes a kernel for one vector, unless the threshold is 0. Each
  block of a parallel matrix has an alpha of its own. -mat_aijtcu_view_choice shows it.

  Where alpha is below the threshold, and another order of the rows may help, that order is searched for, and bricks of
  the reordered matrix are taken if its alpha reaches the threshold. `MatAIJTCUSetReorder()` takes that away. Nothing is
  tuned while a threshold is set.

  By default a model compares the times of bricks and of the CSR path for the matrix and the number of columns, on a
  device whose tensor cores suit the precision. On the host there are no bricks then: they are a reference there, slower
  than the product of the parent type.

.seealso: `MATAIJTCU`, `MatAIJTCUGetSynergyThreshold()`, `MatAIJTCUGetSynergy()`
@*/
PetscErrorCode MatAIJTCUSetSynergyThreshold(Mat A, PetscReal alpha)
{
  AIJTCUOptions *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToSet(A, &o));
  PetscValidLogicalCollectiveReal(A, alpha, 2);
  PetscCall(AIJTCUCheckThreshold(A, alpha));
  if (o) o->threshold = alpha;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetSynergyThreshold - Gets what `MatAIJTCUSetSynergyThreshold()` or `-mat_aijtcu_synergy_threshold` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. alpha - the threshold; `PETSC_DEFAULT` while none is set

  Level: intermediate

  Note:
  The threshold of `MatAIJTCUSynergy` is the one in force, where none is set, too.

.seealso: `MATAIJTCU`, `MatAIJTCUSetSynergyThreshold()`, `MatAIJTCUGetSynergy()`
@*/
PetscErrorCode MatAIJTCUGetSynergyThreshold(Mat A, PetscReal *alpha)
{
  const AIJTCUOptions *o;

  PetscFunctionBegin;
  PetscCall(AIJTCUOptionsToGet(A, &o));
  PetscAssertPointer(alpha, 2);
  *alpha = o->threshold;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetCounts - Gets how often plans of a `MATAIJTCU` were built, refreshed and used on this process

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. counts - the counts

  Level: developer

.seealso: `MATAIJTCU`, `MatAIJTCUCounts`
@*/
PetscErrorCode MatAIJTCUGetCounts(Mat A, MatAIJTCUCounts *counts)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, &plan));
  PetscAssertPointer(counts, 2);
  *counts = *AIJTCUGetCounts(plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}
