/*
   A pattern of the device that hangs on a matrix without entries.

   PCGAMG makes a graph of each level, coarsens it, and throws it away. Where all of that is done on the device nobody
   reads the graph on the host. The matrix that PCGAMG gets for it is empty then. It has its entries, on the host, only
   if the device could not do the rest, or if somebody asks for a row. How long its rows are PCGAMG asks in any case.

   Such a pattern is symmetric. Its arrays are its own, or those of the matrix that it was made of. On several processes
   each has the pattern of its rows. Columns are those of its own rows, and then ghosts.
*/
#include "coarsen.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

  #define PATTERN_KEY "MatAIJTCUPattern"

typedef struct {
  SparseMatrix pattern;
  SparseGraph  own;                                       /* without values. Nothing if the arrays are those of `of` */
  Mat          of;                                        /* what it was made of */
  PetscInt    *ghosts;                                    /* on several processes. They ascend */
  HrpbInt     *rowptr;                                    /* on the host, once a row was asked for */
  PetscErrorCode (*getinfo)(Mat, MatInfoType, MatInfo *); /* those of the empty matrix */
  PetscErrorCode (*getrow)(Mat, PetscInt, PetscInt *, PetscInt **, PetscScalar **);
} AIJTCUHung;

static PetscErrorCode AIJTCUHungDestroy(PetscCtxRt ctx)
{
  AIJTCUHung *hung = *(AIJTCUHung **)ctx;
  HrpbError   err;

  PetscFunctionBegin;
  if (hung->own.rowptr) {
    AIJTCUCallDevice(err, SparseGraphDestroy(&hung->own, HRPB_SUCCESS, AIJTCUDeviceStreamBehind()));
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
  PetscCall(MatDestroy(&hung->of));
  PetscCall(PetscFree(hung->rowptr));
  PetscCall(PetscFree(hung->ghosts));
  PetscCall(PetscFree(hung));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHungGet(Mat C, AIJTCUHung **hung)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)C, PATTERN_KEY, (void **)hung));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a pattern of several processes hangs on a matrix */
PetscErrorCode AIJTCUHungIsParallel(Mat C, PetscBool *is)
{
  AIJTCUHung *hung;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(AIJTCUHungGet(C, &hung));
  if (hung) PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATMPIAIJ, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the graph would say that has its entries. PCGAMG tells how many edges it has */
static PetscErrorCode MatGetInfo_AIJTCU_Hung(Mat C, MatInfoType type, MatInfo *info)
{
  AIJTCUHung *hung;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungGet(C, &hung));
  PetscCall((*hung->getinfo)(C, type, info));
  info->nz_used = info->nz_allocated = (PetscLogDouble)hung->pattern.nnz;
  info->nz_unneeded                  = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHungRows(AIJTCUHung *hung)
{
  const int64_t n      = hung->pattern.nrows + 1;
  cudaStream_t  stream = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &hung->rowptr));
  AIJTCUCallOnStream(stream, AIJTCUSparseBring(hung->rowptr, hung->pattern.rowptr, sizeof(*hung->rowptr) * (size_t)n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The row pointers of the pattern that hangs on a matrix, on the host, or NULL. They are numbered from its first row on
*/
PetscErrorCode AIJTCUHungRowPointers(Mat C, const HrpbInt *rowptr[])
{
  AIJTCUHung *hung;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungGet(C, &hung));
  if (hung && !hung->rowptr) PetscCall(AIJTCUHungRows(hung));
  *rowptr = hung ? hung->rowptr : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How long a row is. Who asks for more gets all of the graph on the host, if it is that of one process */
static PetscErrorCode MatGetRow_AIJTCU_Hung(Mat C, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values)
{
  const HrpbInt *rowptr;
  PetscBool      parallel;

  PetscFunctionBegin;
  if (columns || values) {
    PetscCall(AIJTCUHungIsParallel(C, &parallel));
    PetscCheck(!parallel, PETSC_COMM_SELF, PETSC_ERR_SUP, "Graph is on devices: its rows have lengths alone");
    PetscCall(AIJTCUHungToHost(C));
    PetscUseTypeMethod(C, getrow, row, n, columns, values);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUHungRowPointers(C, &rowptr));
  row -= C->rmap->rstart;
  if (n) *n = (PetscInt)(rowptr[row + 1] - rowptr[row]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Let C be an empty matrix that a pattern of the device hangs on, which was made of another matrix. Its arrays are
   those of the graph `own`, which is taken over, also after an error; or, if that is empty, of the other matrix. So are
   ghosts, on several processes, or NULL. Collective
*/
PetscErrorCode AIJTCUHangPattern(Mat C, Mat of, const SparseMatrix *pattern, SparseGraph own, PetscInt ghosts[])
{
  const PetscInt n = (PetscInt)pattern->nrows;
  AIJTCUHung    *hung;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCall(PetscNew(&hung));
  if (own.rowptr) AIJTCUWorkspaceUser(PETSC_TRUE);
  hung->own     = own;
  hung->pattern = *pattern;
  hung->of      = of;
  hung->ghosts  = ghosts;
  PetscCall(PetscObjectReference((PetscObject)of));
  PetscCall(AIJTCUComposeData((PetscObject)C, PATTERN_KEY, hung, AIJTCUHungDestroy));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)C), &size));
  PetscCall(MatSetSizes(C, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(C, size > 1 ? MATMPIAIJ : MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocation(C, 0, NULL));
  PetscCall(MatMPIAIJSetPreallocation(C, 0, NULL, 0, NULL));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  hung->getinfo   = C->ops->getinfo;
  hung->getrow    = C->ops->getrow;
  C->ops->getinfo    = MatGetInfo_AIJTCU_Hung;
  C->ops->getrow     = MatGetRow_AIJTCU_Hung;
  C->ops->restorerow = NULL; /* of parallel matrices, which ask whether there is a row */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern that hangs on a matrix, and what it was made of; or NULL. Each may be left out */
PetscErrorCode AIJTCUHungPattern(Mat C, const SparseMatrix **pattern, Mat *of)
{
  AIJTCUHung *hung;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungGet(C, &hung));
  if (pattern) *pattern = hung ? &hung->pattern : NULL;
  if (of) *of = hung ? hung->of : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ghosts of a pattern that hangs on a matrix of several processes */
PetscErrorCode AIJTCUHungGhosts(Mat C, PetscInt *n, const PetscInt *ghosts[])
{
  AIJTCUHung *hung;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungGet(C, &hung));
  *n      = (PetscInt)(hung->pattern.ncols - hung->pattern.nrows);
  *ghosts = hung->ghosts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The entries of the columns that are rows, too, or those of ghosts, as a matrix of ones with the numbers of all
   processes
*/
static PetscErrorCode AIJTCUHungBlock(const AIJTCUHung *hung, const HrpbInt rowptr[], const HrpbInt colidx[],
  PetscBool ghosts, PetscInt ncols, Mat *block)
{
  const PetscInt n = (PetscInt)hung->pattern.nrows;
  PetscInt      *i, *j, count = 0;
  PetscScalar   *values;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &i, hung->pattern.nnz, &j, hung->pattern.nnz, &values));
  i[0] = 0;
  for (PetscInt row = 0; row < n; row++) {
    for (HrpbInt k = rowptr[row]; k < rowptr[row + 1]; k++) {
      if ((PetscBool)(colidx[k] >= n) != ghosts) continue;
      values[count] = 1;
      j[count++]    = ghosts ? hung->ghosts[colidx[k] - n] : (PetscInt)colidx[k];
    }
    i[row + 1] = count;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, block));
  PetscCall(MatSetSizes(*block, n, ncols, n, ncols));
  PetscCall(MatSetType(*block, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*block, i, j, values));
  PetscCall(PetscFree3(i, j, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHungBring(const SparseMatrix *p, HrpbInt rowptr[], HrpbInt colidx[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSparseBring(rowptr, p->rowptr, sizeof(*rowptr) * (size_t)(p->nrows + 1), stream));
  if (p->nnz) PetscCall(AIJTCUSparseBring(colidx, p->colidx, sizeof(*colidx) * (size_t)p->nnz, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal and the off-diagonal block of a process */
static PetscErrorCode AIJTCUHungToBlocks(Mat C, AIJTCUHung *hung, Mat block[2])
{
  const SparseMatrix *p      = &hung->pattern;
  cudaStream_t        stream = NULL;
  HrpbInt            *rowptr, *colidx;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(p->nrows + 1, &rowptr, p->nnz, &colidx));
  AIJTCUCallOnStream(stream, AIJTCUHungBring(p, rowptr, colidx, stream));
  for (int b = 0; b < 2; b++) PetscCall(AIJTCUHungBlock(hung, rowptr, colidx, (PetscBool)b, b ? C->cmap->N : C->cmap->n, &block[b]));
  PetscCall(PetscFree2(rowptr, colidx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on several processes: a matrix that has them takes the place of C. Collective */
static PetscErrorCode AIJTCUHungToHosts(Mat C, AIJTCUHung *hung)
{
  Mat            block[2] = {NULL, NULL}, D;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUAgree(PetscObjectComm((PetscObject)C), AIJTCUHungToBlocks(C, hung, block), PETSC_TRUE, NULL);
  if (ierr) {
    for (int b = 0; b < 2; b++) PetscCall(MatDestroy(&block[b]));
    PetscCall(ierr);
  }
  PetscCall(MatCreateMPIAIJWithSeqAIJ(PetscObjectComm((PetscObject)C), C->rmap->N, C->cmap->N, block[0], block[1], NULL, &D));
  PetscCall(MatPropagateSymmetryOptions(C, D));
  PetscCall(MatHeaderReplace(C, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Give the matrix its entries on the host. Each is one. Collective */
PetscErrorCode AIJTCUHungToHost(Mat C)
{
  const SparseMatrix *p;
  AIJTCUHung         *hung;
  PetscBool           parallel;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungGet(C, &hung));
  if (!hung) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUHungIsParallel(C, &parallel));
  if (parallel) {
    PetscCall(AIJTCUHungToHosts(C, hung));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p               = &hung->pattern;
  C->ops->getinfo = hung->getinfo;
  C->ops->getrow  = hung->getrow;
  PetscCall(AIJTCUSparsePattern(C, p->nrows, p->nnz, p->rowptr, p->colidx));
  if (!C->structure_only) {
    PetscScalar *values;

    PetscCall(MatSeqAIJGetArrayWrite(C, &values));
    for (int64_t k = 0; k < p->nnz; k++) values[k] = 1;
    PetscCall(MatSeqAIJRestoreArrayWrite(C, &values));
  }
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscObjectCompose((PetscObject)C, PATTERN_KEY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
