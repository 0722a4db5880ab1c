/*
   MatMatSolve() with PETSc's LU or ILU is an error with dense matrices of the device

     MatMatSolve_SeqAIJ() and MatMatSolveTranspose_SeqAIJ() ask for the exact type MATSEQDENSE. PCMatApply() with lu and
     ilu, and KSPMatSolve(), come there with -pc_factor_mat_solver_type petsc. A factor that was made while its matrix
     was bound to the host has these functions, too. MatSolve() takes vectors of a device.

       MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_LU, &F);  // a MATSEQAIJCUSPARSE
       MatLUFactorSymbolic(F, A, rows, columns, &info); MatLUFactorNumeric(F, A, &info);
       MatCreateDenseFromVecType(PETSC_COMM_SELF, VECCUDA, n, N, n, N, PETSC_DECIDE, NULL, &B);
       MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X);
       MatMatSolve(F, B, X);  // B matrix must be a SeqDense matrix

     What would help: PetscObjectBaseTypeCompare(). The arrays are asked for by MatDenseGetArrayRead() already.

   Needed: 3.24 to 3.26. Gone when: "MatMatSolve() with dense matrices of the device" of upstream.c. Ours: matsolve.c,
   with a GPU.

   A factor of ours solves for stand-ins with the arrays that the matrices have on the host. Each numeric phase sets
   functions anew, so it is ours, too
*/
#include "upstream.h"

#if PetscDefined(HAVE_CUDA)
  #define DENSESOLVE_KEY "MatAIJTCUDenseSolve"

typedef PetscErrorCode (*AIJTCUMatSolveFn)(Mat, Mat, Mat);

/* PETSc's functions */
typedef struct {
  PetscErrorCode (*lufactornumeric)(Mat, Mat, const MatFactorInfo *);
  AIJTCUMatSolveFn matsolve, matsolvetranspose;
} AIJTCUDenseSolve;

static PetscErrorCode AIJTCUDenseSolveGet(Mat F, AIJTCUDenseSolve **s)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUComposedData((PetscObject)F, DENSESOLVE_KEY, sizeof(**s), (void **)s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B and X may be one matrix */
static PetscErrorCode AIJTCUDenseSolveOnHost(Mat F, AIJTCUMatSolveFn solve, Mat B, Mat X)
{
  const PetscScalar *b = NULL;
  PetscScalar       *x;
  Mat                of_b, of_x;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  if (X != B) PetscCall(MatDenseGetArrayRead(B, &b));
  PetscCall(MatDenseGetArray(X, &x));
  PetscCall(AIJTCUDenseStandIn(X, x, &of_x));
  if (X == B) of_b = of_x;
  else PetscCall(AIJTCUDenseStandIn(B, (PetscScalar *)b, &of_b));
  ierr = (*solve)(F, of_b, of_x);
  if (X != B) PetscCall(MatDestroy(&of_b));
  PetscCall(MatDestroy(&of_x));
  PetscCall(MatDenseRestoreArray(X, &x));
  if (X != B) PetscCall(MatDenseRestoreArrayRead(B, &b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDenseSolveAny(Mat F, AIJTCUMatSolveFn solve, Mat B, Mat X)
{
  PetscBool b, x;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQDENSE, &b));
  PetscCall(PetscObjectTypeCompare((PetscObject)X, MATSEQDENSE, &x));
  if (b && x) PetscCall((*solve)(F, B, X));
  else PetscCall(AIJTCUDenseSolveOnHost(F, solve, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatSolve_AIJTCU_Dense(Mat F, Mat B, Mat X)
{
  AIJTCUDenseSolve *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUDenseSolveGet(F, &s));
  PetscCall(AIJTCUDenseSolveAny(F, s->matsolve, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatSolveTranspose_AIJTCU_Dense(Mat F, Mat B, Mat X)
{
  AIJTCUDenseSolve *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUDenseSolveGet(F, &s));
  PetscCall(AIJTCUDenseSolveAny(F, s->matsolvetranspose, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* op of a factor becomes own, and is kept */
  #define WRAP(op, own) \
    if (F->ops->op && F->ops->op != own) { \
      s->op      = F->ops->op; \
      F->ops->op = own; \
    }

static PetscErrorCode MatLUFactorNumeric_AIJTCU_Dense(Mat F, Mat A, const MatFactorInfo *info)
{
  AIJTCUDenseSolve *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUDenseSolveGet(F, &s));
  F->ops->matsolve          = NULL; /* what is there then is PETSc's */
  F->ops->matsolvetranspose = NULL;
  PetscCall((*s->lufactornumeric)(F, A, info));
  WRAP(matsolve, MatMatSolve_AIJTCU_Dense)
  WRAP(matsolvetranspose, MatMatSolveTranspose_AIJTCU_Dense)
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* F has just been made, or its symbolic phase: what it has for the numeric phase of an LU or ILU is wrapped */
PetscErrorCode AIJTCUDenseSolveEnter(Mat F)
{
  AIJTCUDenseSolve *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUDenseSolveGet(F, &s));
  WRAP(lufactornumeric, MatLUFactorNumeric_AIJTCU_Dense)
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #undef WRAP
#endif
