/*
   Factors of MATSOLVERCUSPARSE solve with one vector at a time

     MatSolve_SeqAIJCUSPARSE_LU() and its kin call cusparseSpSV_solve(), and ops->matsolve is NULL. MatMatSolve() and
     PCMatApply() of PCLU, PCILU, PCCHOLESKY, PCICC and PCBJACOBI go column by column then, in which a triangular solve
     waits for the rows before it again for each column.

     What would help: ops->matsolve with cusparseSpSM_solve().

   Needed: 3.26. Gone when: MatHasOperation(F, MATOP_MAT_SOLVE, &has) says so for a factor of an aijcusparse. Ours:
   blocksolve.c.

   The struct that is read is in cusparsefactor.h. Small factors of numbers that are known must be found in it
*/
#include "cusparsefactor.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/* Whether n numbers on the device are these */
static PetscErrorCode AIJTCUFactorHas(const void *there, const void *here, size_t bytes, PetscBool *has)
{
  struct cudaPointerAttributes attributes;
  char                         buffer[64];

  PetscFunctionBegin;
  *has = PETSC_FALSE;
  if (!there || AIJTCUForgetError(cudaPointerGetAttributes(&attributes, there)) || attributes.type != cudaMemoryTypeDevice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpy(buffer, there, bytes, cudaMemcpyDeviceToHost));
  *has = (PetscBool)!memcmp(buffer, here, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the matrix 4 2, 2 5: LU of it lies in place, and U^T D U beside the inverse of D */
static PetscErrorCode AIJTCUFactorFits(Mat F, PetscBool *fits)
{
  const AIJTCUFactorData *data      = (const AIJTCUFactorData *)F->spptr;
  const int               rowptr[3] = {0, 2, 4}, colidx[4] = {0, 1, 0, 1};
  const PetscInt          upper_rowptr[3] = {0, 2, 3}, upper_colidx[3] = {0, 1, 1};
  const PetscScalar       values[4] = {4, 2, 0.5, 4}, upper[3] = {1, 0.5, 1}, diagonal[2] = {0.25, 0.25};
  PetscBool               has[4];

  PetscFunctionBegin;
  has[3] = PETSC_TRUE;
  if (F->factortype == MAT_FACTOR_ILU) {
    PetscCall(AIJTCUFactorHas(data->rowptr32, rowptr, sizeof(rowptr), &has[0]));
    PetscCall(AIJTCUFactorHas(data->colidx32, colidx, sizeof(colidx), &has[1]));
    PetscCall(AIJTCUFactorHas(data->values, values, sizeof(values), &has[2]));
  } else {
    PetscCall(AIJTCUFactorHas(data->rowptr, upper_rowptr, sizeof(upper_rowptr), &has[0]));
    PetscCall(AIJTCUFactorHas(data->colidx, upper_colidx, sizeof(upper_colidx), &has[1]));
    PetscCall(AIJTCUFactorHas(data->values, upper, sizeof(upper), &has[2]));
    PetscCall(AIJTCUFactorHas(data->diagonal, diagonal, sizeof(diagonal), &has[3]));
  }
  *fits = (PetscBool)(*fits && has[0] && has[1] && has[2] && has[3]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The flags are these, from the one for what a transpose has to the one of the factor */
static PetscBool AIJTCUFactorFlags(Mat F, PetscBool created, PetscBool analysed)
{
  const AIJTCUFactorData *data = (const AIJTCUFactorData *)F->spptr;

  return (PetscBool)(data->transpose_created == created && data->transpose_analysed == analysed && data->analysed == PETSC_TRUE);
}

/* A solve with the transpose leaves its mark on the flags */
static PetscErrorCode AIJTCUFactorTryTranspose(Mat F, PetscBool *fits)
{
  Vec b, x;

  PetscFunctionBegin;
  *fits = AIJTCUFactorFlags(F, PETSC_FALSE, PETSC_FALSE);
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(F, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(MatSolveTranspose(F, b, x));
  *fits = AIJTCUFactorFlags(F, PETSC_TRUE, PETSC_TRUE);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFactorTry(Mat A, MatFactorType type, Mat *F, IS rows, AIJTCUFactorFit *fit)
{
  MatFactorInfo info;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 1;
  PetscCall(MatGetFactor(A, MATSOLVERCUSPARSE, type, F));
  if (type == MAT_FACTOR_ILU) {
    PetscCall(MatILUFactorSymbolic(*F, A, rows, rows, &info));
    PetscCall(MatLUFactorNumeric(*F, A, &info));
  } else {
    PetscCall(MatCholeskyFactorSymbolic(*F, A, rows, &info));
    PetscCall(MatCholeskyFactorNumeric(*F, A, &info));
  }
  PetscCall(AIJTCUFactorFits(*F, &fit->arrays));
  if (type == MAT_FACTOR_ILU && fit->arrays) PetscCall(AIJTCUFactorTryTranspose(*F, &fit->flags));
  PetscCall(MatDestroy(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFactorsTry(AIJTCUFactorFit *fit)
{
  const PetscInt    i[2] = {0, 1};
  const PetscScalar v[4] = {4, 2, 2, 5};
  Mat               A, F;
  IS                rows;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJCUSPARSE(PETSC_COMM_SELF, 2, 2, 2, NULL, &A));
  PetscCall(MatSetValues(A, 2, i, 2, i, v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 2, 0, 1, &rows));
  PetscCall(ISSetPermutation(rows));
  fit->arrays = PETSC_TRUE;
  PetscCall(AIJTCUFactorTry(A, MAT_FACTOR_ILU, &F, rows, fit));
  PetscCall(AIJTCUFactorTry(A, MAT_FACTOR_CHOLESKY, &F, rows, fit));
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What of the struct is where it is believed to be */
PetscErrorCode AIJTCUFactorAsk(AIJTCUFactorFit *fit)
{
  static AIJTCUFactorFit found;
  static PetscBool       asked;

  PetscFunctionBegin;
  if (!asked) PetscCall(AIJTCUFactorsTry(&found));
  asked = PETSC_TRUE;
  *fit  = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_BLOCK
/* What is on the device of a factor of MATSOLVERCUSPARSE. known says whether all of it is there */
PetscErrorCode AIJTCUFactorGet(Mat F, AIJTCUTriangles *f, PetscBool *known)
{
  const AIJTCUFactorData *data = (const AIJTCUFactorData *)F->spptr;
  AIJTCUFactorFit         fit;

  PetscFunctionBegin;
  /* What is on the device is old where the factor was computed for solves on the host: MatCUSPARSESetUseCPUSolve() */
  *known = (PetscBool)(F->offloadmask != PETSC_OFFLOAD_CPU);
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUFactorAsk(&fit));
  *known = fit.arrays;
  if (!fit.arrays) PetscFunctionReturn(PETSC_SUCCESS);
  *f = (AIJTCUTriangles){.kind = AIJTCU_FACTOR_LU, .values = data->values, .diagonal = data->diagonal, .permuted = (PetscBool)(data->rperm || data->cperm)};
  if (data->rowptr32) {
    f->rowptr     = data->rowptr32;
    f->colidx     = data->colidx32;
    f->index_size = sizeof(*data->rowptr32);
  } else {
    f->rowptr     = data->rowptr;
    f->colidx     = data->colidx;
    f->index_size = sizeof(*data->rowptr);
  }
  if (F->factortype == MAT_FACTOR_CHOLESKY || F->factortype == MAT_FACTOR_ICC) f->kind = data->rowptr32 ? AIJTCU_FACTOR_LLT : AIJTCU_FACTOR_UTDU;
  *known = (PetscBool)(f->rowptr && f->colidx && f->values && (f->kind != AIJTCU_FACTOR_UTDU || f->diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif
#endif
