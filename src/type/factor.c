/*
   Factorizations of a MATSEQAIJTCU: those of cuSPARSE on a device, and PETSc's LU and ILU.

   PETSc finds those of cuSPARSE by the exact name of the parent type. In debug builds they also compare the name of the
   matrix that they factor. So our entry replaces the parent's. It lets an aijtcu look like its parent while a factor is
   made, analysed and computed, and passes everything else on. A factor takes vectors of the host, as its matrix does.

   PETSc's ILU(0) copies the composed functions of the matrix into the factor. Ours would stay there when PETSc destroys
   it. So our entry replaces PETSc's there, too, and takes them away meanwhile. PETSc's LU and ILU shall solve for dense
   matrices of a device: src/upstream/densesolve.c.

   Submatrices of an aijtcu, as PCASM and PCBJACOBI have them, may be of the parent type. Their factors are wrapped as
   well.

   cuSPARSE's LU is computed on the host. One of a few rows stays there, as that of the coarse matrix of multigrid,
   unless cusparse is asked for. For solves on the device cuSPARSE loads kernels, which takes it 20 to 40 ms. Such
   solves wait for one row after the other.
*/
#include "typeimpl.h"

typedef PetscErrorCode (*GetFactorFn)(Mat, MatFactorType, Mat *);
typedef PetscErrorCode (*SymbolicFn)(Mat, Mat, IS, IS, const MatFactorInfo *);

static GetFactorFn petsc_getfactor[MAT_FACTOR_NUM_TYPES];
static SymbolicFn  petsc_lusymbolic, petsc_ilusymbolic; /* one for all matrices of MATSEQAIJ */

#define PART_KEY "MatAIJTCUPart" /* composed with what was taken out of an aijtcu */

static PetscErrorCode AIJTCUIsPart(Mat A, PetscBool *is)
{
  PetscBool *part;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)A, PART_KEY, (void **)&part));
  *is = (PetscBool)(part != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLUFactorSymbolic_AIJTCU_PETSc(Mat F, Mat A, IS r, IS c, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall((*petsc_lusymbolic)(F, A, r, c, info));
#if PetscDefined(HAVE_CUDA)
  PetscCall(AIJTCUDenseSolveEnter(F));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatILUFactorSymbolic_AIJTCU_PETSc(Mat F, Mat A, IS r, IS c, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  AIJTCUCallParentBare(A, (*petsc_ilusymbolic)(F, A, r, c, info));
#if PetscDefined(HAVE_CUDA)
  PetscCall(AIJTCUDenseSolveEnter(F));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetFactor_AIJTCU_PETSc(Mat A, MatFactorType ftype, Mat *F)
{
  AIJTCUPlan *plan;
  PetscBool   part;

  PetscFunctionBegin;
  PetscCall((*petsc_getfactor[ftype])(A, ftype, F));
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUIsPart(A, &part));
  if ((!plan && !part) || !*F) PetscFunctionReturn(PETSC_SUCCESS);
#define WRAP(op, kept, own) \
  if ((*F)->ops->op) { \
    kept          = (*F)->ops->op; \
    (*F)->ops->op = own; \
  }
  WRAP(lufactorsymbolic, petsc_lusymbolic, MatLUFactorSymbolic_AIJTCU_PETSc)
  WRAP(ilufactorsymbolic, petsc_ilusymbolic, MatILUFactorSymbolic_AIJTCU_PETSc)
#undef WRAP
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
  #define FACTOR_KEY "MatAIJTCUFactor"

enum {
  FEW = 128 /* rows */
};

static GetFactorFn         parent_getfactor[MAT_FACTOR_NUM_TYPES];
static const MatFactorType ftypes[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};

/* The parent's operations of a factor, where ours are in their place */
static PetscErrorCode AIJTCUFactorOps(Mat F, struct _MatOps **ops)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUComposedData((PetscObject)F, FACTOR_KEY, sizeof(**ops), (void **)ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFactorWrap(Mat, IS, IS);

  /* r and c are the orders of rows and columns, NULL if they stay */
  #define STEP(op, name, formal, actual, r, c) \
    static PetscErrorCode name##_Parent formal \
    { \
      struct _MatOps *ops; \
\
      PetscFunctionBegin; \
      PetscCall(AIJTCUFactorOps(F, &ops)); \
      AIJTCUCallParentBare(A, (*ops->op)actual); \
      PetscFunctionReturn(PETSC_SUCCESS); \
    } \
    static PetscErrorCode name formal \
    { \
      PetscObjectState state; \
\
      PetscFunctionBegin; \
      PetscCall(PetscObjectStateGet((PetscObject)A, &state)); \
      AIJTCUCallUnbound(A, PETSC_FALSE, name##_Parent actual); \
      PetscCall(PetscObjectStateSet((PetscObject)A, state)); /* its values are what they were */ \
      PetscCall(AIJTCUFactorWrap(F, r, c)); \
      PetscFunctionReturn(PETSC_SUCCESS); \
    }
STEP(lufactorsymbolic, MatLUFactorSymbolic_AIJTCU, (Mat F, Mat A, IS r, IS c, const MatFactorInfo *info), (F, A, r, c, info), r, c)
STEP(ilufactorsymbolic, MatILUFactorSymbolic_AIJTCU, (Mat F, Mat A, IS r, IS c, const MatFactorInfo *info), (F, A, r, c, info), r, c)
STEP(choleskyfactorsymbolic, MatCholeskyFactorSymbolic_AIJTCU, (Mat F, Mat A, IS r, const MatFactorInfo *info), (F, A, r, info), r, r)
STEP(iccfactorsymbolic, MatICCFactorSymbolic_AIJTCU, (Mat F, Mat A, IS r, const MatFactorInfo *info), (F, A, r, info), r, r)
STEP(lufactornumeric, MatLUFactorNumeric_AIJTCU_Once, (Mat F, Mat A, const MatFactorInfo *info), (F, A, info), NULL, NULL)
STEP(choleskyfactornumeric, MatCholeskyFactorNumeric_AIJTCU, (Mat F, Mat A, const MatFactorInfo *info), (F, A, info), NULL, NULL)
  #undef STEP

static PetscErrorCode MatLUFactorNumeric_AIJTCU(Mat F, Mat A, const MatFactorInfo *info)
{
  const PetscBool again = (PetscBool)(F->ops->solvetranspose != NULL); /* the first numeric phase sets it */

  PetscFunctionBegin;
  PetscCall(MatLUFactorNumeric_AIJTCU_Once(F, A, info));
  #if AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCUFactorTransposeAnew(F, again));
  #else
  (void)again;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #define SOLVE(op, name) \
    static PetscErrorCode name##_Parent(Mat F, const Vec v[]) \
    { \
      struct _MatOps *ops; \
\
      PetscFunctionBegin; \
      PetscCall(AIJTCUFactorOps(F, &ops)); \
      PetscCall((*ops->op)(F, v[0], v[1])); \
      PetscFunctionReturn(PETSC_SUCCESS); \
    } \
    static PetscErrorCode name(Mat F, Vec b, Vec x) \
    { \
      const Vec v[] = {b, x}; \
\
      PetscFunctionBegin; \
      PetscCall(AIJTCUCallWithVecs(F, 1, 2, v, name##_Parent)); \
      PetscFunctionReturn(PETSC_SUCCESS); \
    }
SOLVE(solve, MatSolve_AIJTCU)
SOLVE(solvetranspose, MatSolveTranspose_AIJTCU)
  #undef SOLVE

/* Every step of the parent may set the operations of the next */
static PetscErrorCode AIJTCUFactorWrap(Mat F, IS r, IS c)
{
  struct _MatOps *ops;

  PetscFunctionBegin;
  PetscCall(AIJTCUFactorOps(F, &ops));
  #define WRAP(op, own) \
    if (F->ops->op && F->ops->op != own) { \
      ops->op    = F->ops->op; \
      F->ops->op = own; \
    }
  WRAP(lufactorsymbolic, MatLUFactorSymbolic_AIJTCU)
  WRAP(ilufactorsymbolic, MatILUFactorSymbolic_AIJTCU)
  WRAP(choleskyfactorsymbolic, MatCholeskyFactorSymbolic_AIJTCU)
  WRAP(iccfactorsymbolic, MatICCFactorSymbolic_AIJTCU)
  if (F->ops->lufactornumeric != MatLUFactorNumeric_AIJTCU) PetscCall(AIJTCUDenseSolveEnter(F));
  WRAP(lufactornumeric, MatLUFactorNumeric_AIJTCU)
  WRAP(choleskyfactornumeric, MatCholeskyFactorNumeric_AIJTCU)
  WRAP(solve, MatSolve_AIJTCU)
  WRAP(solvetranspose, MatSolveTranspose_AIJTCU)
  #undef WRAP
  #if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCUMatSolveEnter(F, r, c));
  #else
  (void)r;
  (void)c;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGetFactorBare(Mat A, const AIJTCUPlan *plan, GetFactorFn getfactor, MatFactorType ftype, Mat *F)
{
  PetscFunctionBegin;
  if (plan) AIJTCUCallParentBare(A, (*getfactor)(A, ftype, F));
  else PetscCall((*getfactor)(A, ftype, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetFactor_AIJTCU(Mat A, MatFactorType ftype, Mat *F)
{
  const PetscBool bound = A->boundtocpu, symmetric = (PetscBool)(ftype == MAT_FACTOR_CHOLESKY || ftype == MAT_FACTOR_ICC);
  GetFactorFn     getfactor = parent_getfactor[ftype];
  AIJTCUPlan     *plan;
  PetscBool       part;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUIsPart(A, &part));
  /* The default of a host matrix is PETSc's own solver */
  if (plan && !plan->id.device) PetscCall(MatSolverTypeGet(MATSOLVERPETSC, MATSEQAIJ, ftype, NULL, NULL, &getfactor));
  /* Of a bound matrix PETSc makes Cholesky and ICC of the host in a matrix of another kind: solutions are zero */
  if (symmetric && (plan || part)) A->boundtocpu = PETSC_FALSE;
  ierr = AIJTCUGetFactorBare(A, plan, getfactor, ftype, F);
  A->boundtocpu = bound;
  PetscCall(ierr);
  if ((plan || part) && *F) PetscCall(AIJTCUFactorWrap(*F, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where no package is asked for */
static PetscErrorCode MatGetFactor_AIJTCU_Default(Mat A, MatFactorType ftype, Mat *F)
{
  PetscFunctionBegin;
  if (ftype == MAT_FACTOR_LU && A->rmap->n <= FEW) PetscCall(MatCUSPARSESetUseCPUSolve(A, PETSC_TRUE));
  PetscCall(MatGetFactor_AIJTCU(A, ftype, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* B was taken out of an aijtcu */
PetscErrorCode AIJTCUMarkPart(Mat B)
{
#if PetscDefined(HAVE_CUDA)
  AIJTCUPlan *plan;
  PetscBool   device, *part;
#endif

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(AIJTCUGetPlan(B, &plan));
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJCUSPARSE, &device));
  if (plan || !device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUComposedData((PetscObject)B, PART_KEY, sizeof(*part), (void **)&part));
  *part = PETSC_TRUE;
#else
  (void)B;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCURegisterFactors(void)
{
  const MatFactorType lu[] = {MAT_FACTOR_LU, MAT_FACTOR_ILU};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(lu); i++) {
    GetFactorFn getfactor;

    PetscCall(MatSolverTypeGet(MATSOLVERPETSC, MATSEQAIJ, lu[i], NULL, NULL, &getfactor));
    if (!getfactor || getfactor == MatGetFactor_AIJTCU_PETSc) continue;
    petsc_getfactor[lu[i]] = getfactor;
    PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, MATSEQAIJ, lu[i], MatGetFactor_AIJTCU_PETSc));
  }
#if PetscDefined(HAVE_CUDA)
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ftypes); i++) {
    GetFactorFn getfactor;

    PetscCall(MatSolverTypeGet(MATSOLVERCUSPARSE, MATSEQAIJCUSPARSE, ftypes[i], NULL, NULL, &getfactor));
    if (!getfactor) continue;
    if (getfactor != MatGetFactor_AIJTCU) parent_getfactor[ftypes[i]] = getfactor;
    /* Found when cusparse is asked for */
    PetscCall(MatSolverTypeRegister(MATSOLVERCUSPARSE, MATSEQAIJCUSPARSE, ftypes[i], MatGetFactor_AIJTCU));
    /* Found when no package is asked for */
    PetscCall(MatSolverTypeRegister(MATSOLVERCUSPARSE, MATSEQAIJTCU, ftypes[i], MatGetFactor_AIJTCU_Default));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
