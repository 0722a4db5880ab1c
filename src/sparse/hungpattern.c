/*
   A pattern of the device that hangs on a matrix without entries.

   PCGAMG makes a graph of each level, coarsens it, and throws it away. Where all of that is done on the device nobody
   reads the graph on the host. The matrix that PCGAMG gets for it is empty then. It has its entries, on the host, only
   if the device could not do the rest, or if somebody asks for a row. How long its rows are PCGAMG asks in any case.

   Such a pattern is symmetric. Its arrays are its own, or those of the matrix that it was made of.
*/
#include "coarsen.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

  #define PATTERN_KEY "MatAIJTCUPattern"

typedef struct {
  SparseMatrix pattern;
  SparseGraph  own;                                       /* without values. Nothing if the arrays are those of `of` */
  Mat          of;                                        /* what it was made of */
  HrpbInt     *rowptr;                                    /* on the host, once a row was asked for */
  PetscErrorCode (*getinfo)(Mat, MatInfoType, MatInfo *); /* those of the empty matrix */
  PetscErrorCode (*getrow)(Mat, PetscInt, PetscInt *, PetscInt **, PetscScalar **);
} AIJTCUHung;

/* The pattern whose rows were asked for last. PCGAMG asks for all of them, one after the other */
static struct {
  PetscObjectId id; /* of the matrix; 0 for none */
  HrpbInt      *rowptr;
} asked;

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
  if (asked.rowptr == hung->rowptr) asked.id = 0;
  PetscCall(PetscFree(hung->rowptr));
  PetscCall(PetscFree(hung));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHungGet(Mat C, AIJTCUHung **hung)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)C, PATTERN_KEY, (void **)hung));
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

/* PCGAMG asks how long rows are. Who asks for more gets all of the graph on the host */
static PetscErrorCode MatGetRow_AIJTCU_Hung(Mat C, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values)
{
  AIJTCUHung *hung;

  PetscFunctionBegin;
  if (columns || values) {
    PetscCall(AIJTCUHungToHost(C));
    PetscUseTypeMethod(C, getrow, row, n, columns, values);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (asked.id != ((PetscObject)C)->id) {
    PetscCall(AIJTCUHungGet(C, &hung));
    if (!hung->rowptr) PetscCall(AIJTCUHungRows(hung));
    asked.rowptr = hung->rowptr;
    asked.id     = ((PetscObject)C)->id;
  }
  if (n) *n = (PetscInt)(asked.rowptr[row + 1] - asked.rowptr[row]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Let C be an empty matrix that a pattern of the device hangs on, which was made of another matrix. Its arrays are
   those of the graph `own`, which is taken over, also after an error; or, if that is empty, of the other matrix
*/
PetscErrorCode AIJTCUHangPattern(Mat C, Mat of, const SparseMatrix *pattern, SparseGraph own)
{
  const PetscInt n = (PetscInt)pattern->nrows;
  AIJTCUHung    *hung;

  PetscFunctionBegin;
  PetscCall(PetscNew(&hung));
  if (own.rowptr) AIJTCUWorkspaceUser(PETSC_TRUE);
  hung->own     = own;
  hung->pattern = *pattern;
  hung->of      = of;
  PetscCall(PetscObjectReference((PetscObject)of));
  PetscCall(AIJTCUComposeData((PetscObject)C, PATTERN_KEY, hung, AIJTCUHungDestroy));
  PetscCall(MatSetSizes(C, n, n, n, n));
  PetscCall(MatSetType(C, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocation(C, 0, NULL));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  hung->getinfo   = C->ops->getinfo;
  hung->getrow    = C->ops->getrow;
  C->ops->getinfo = MatGetInfo_AIJTCU_Hung;
  C->ops->getrow  = MatGetRow_AIJTCU_Hung;
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

/* Give the matrix its entries on the host. Each is one */
PetscErrorCode AIJTCUHungToHost(Mat C)
{
  const SparseMatrix *p;
  AIJTCUHung         *hung;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungGet(C, &hung));
  if (!hung) PetscFunctionReturn(PETSC_SUCCESS);
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
