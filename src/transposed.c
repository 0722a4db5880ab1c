/*
   The transpose of a sequential matrix, as a matrix: for products A^T B with a block B.

   It is multiplied like any other matrix: it has a plan, and reads the options of the matrix that it belongs to. So A^T B
   has the same bits on every run, while cuSPARSE's transposed product adds with atomics. The pattern is transposed once,
   on the host. New values go from where those of the matrix are to where they belong, by MatSetValuesCOO().
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_BRICKS
/* The pattern of T, from A's row pointers and columns. The entries are in the order of A's */
static PetscErrorCode AIJTCUTransposedCOO(Mat A, const PetscInt rowptr[], const PetscInt colidx[], Mat T)
{
  const PetscCount nnz = A->rmap->n ? rowptr[A->rmap->n] : 0;
  PetscInt        *rows, *cols;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(nnz, &rows, nnz, &cols));
  for (PetscInt i = 0; i < A->rmap->n; i++) {
    for (PetscInt k = rowptr[i]; k < rowptr[i + 1]; k++) {
      rows[k] = colidx[k];
      cols[k] = i;
    }
  }
  ierr = MatSetPreallocationCOO(T, nnz, rows, cols);
  PetscCall(PetscFree2(rows, cols));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposedPattern(Mat A, Mat T)
{
  const PetscInt *rowptr, *colidx;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostGetCSR(A, &rowptr, &colidx));
  ierr = AIJTCUTransposedCOO(A, rowptr, colidx, T);
  PetscCall(AIJTCUHostRestoreCSR(A, &rowptr, &colidx));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposedCreate(Mat A, AIJTCUPlan *plan, Mat *T)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, T));
  PetscCall(MatSetSizes(*T, A->cmap->n, A->rmap->n, A->cmap->n, A->rmap->n));
  PetscCall(MatSetType(*T, plan->parent_type));
  PetscCall(AIJTCUTransposedPattern(A, *T));
  PetscCall(PetscInfo(A, "aijtcu: the transpose is made for products with blocks\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let the transpose, which is where A is, have its values */
static PetscErrorCode AIJTCUTransposedValues(Mat A, PetscBool device, Mat T)
{
  const PetscScalar *values;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (device) {
    AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &values));
    ierr = MatSetValuesCOO(T, values, INSERT_VALUES);
    AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, &values));
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #else
  (void)device;
  #endif
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  ierr = MatSetValuesCOO(T, values, INSERT_VALUES);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make it, if there is none. It reads the options of A's owner, which may have changed */
static PetscErrorCode AIJTCUTransposedHave(Mat A, AIJTCUPlan *plan)
{
  AIJTCUTransposed *t   = &plan->transposed;
  Mat               T   = t->mat;
  PetscErrorCode    ierr = PETSC_SUCCESS;
  AIJTCUPlan       *tplan;

  PetscFunctionBegin;
  if (!T) {
    PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
    ierr = AIJTCUTransposedCreate(A, plan, &T);
    PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  }
  if (!ierr) ierr = AIJTCUAttach(T, AIJTCU_KIND_SEQ, PETSC_FALSE, plan->owner ? plan->owner : plan);
  if (ierr && !t->mat) (void)MatDestroy(&T);
  PetscCall(ierr);
  t->mat = T;
  PetscCall(AIJTCUGetPlan(T, &tplan));
  tplan->off_diagonal = plan->off_diagonal;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The transpose of A as it is now, and where A is. It belongs to A's plan. An object's state is never zero. Values that
   were written on the host without a new state are on their way to the device: see AIJTCUDeviceCall()
*/
PetscErrorCode AIJTCUTransposedGet(Mat A, AIJTCUPlan *plan, Mat *T)
{
  AIJTCUTransposed *t = &plan->transposed;
  PetscObjectState  state;
  PetscBool         device, bound, tbound;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUTransposedHave(A, plan));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatBoundToCPU(t->mat, &tbound));
  if (state != t->values_state || bound != tbound || (device && A->offloadmask == PETSC_OFFLOAD_CPU)) {
    t->values_state = 0;
    if (bound != tbound) PetscCall(MatBindToCPU(t->mat, bound));
    PetscCall(PetscLogEventBegin(MAT_AIJTCU_Refresh, A, 0, 0, 0));
    PetscCall(AIJTCUTransposedValues(A, device, t->mat));
    PetscCall(PetscLogEventEnd(MAT_AIJTCU_Refresh, A, 0, 0, 0));
    t->values_state = state;
  }
  *T = t->mat;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* An error is not looked at: the rest of the plan must go, too */
void AIJTCUTransposedDestroy(AIJTCUTransposed *t)
{
  (void)MatDestroy(&t->mat);
  memset(t, 0, sizeof(*t));
}
