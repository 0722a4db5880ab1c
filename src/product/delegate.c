/*
   Products that the parent type makes.

   PETSc's own selection runs again while the operands look like matrices of their parent types. The functions that it
   selects are called in the same view. Composed with C are their pointers, and a note of the A that they were set up
   for.

   A product is set up anew where what the parent's symbolic phase has made does not fit any more.
   AIJTCUProductIsStale() says why PETSc does not do so itself.

   PETSc lends a shell's product to the matrix inside of it for one numeric phase (MatProductNumericPhase_CF()). PETSc
   keeps what the symbolic phase of such a product made, so the product must be given back as it was.
*/
#include "productimpl.h"

#define PRODUCT_KEY "MatAIJTCUProduct"

typedef struct {
  PetscErrorCode (*symbolic)(Mat); /* the functions that the parent selected */
  PetscErrorCode (*numeric)(Mat);
  AIJTCUOperandKey key;        /* A in the symbolic phase */
  PetscObjectId    operand[3]; /* the operands then, 0 for one that is not there */
} AIJTCUDelegated;

/* Ask again after each call of the parent: MatHeaderReplace() may have given C another header */
static PetscErrorCode AIJTCUDelegatedGet(Mat C, AIJTCUDelegated **dp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUComposedData((PetscObject)C, PRODUCT_KEY, sizeof(**dp), (void **)dp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUOperandIds(Mat C, PetscObjectId id[3])
{
  const Mat operand[3] = {C->product->A, C->product->B, C->product->C};

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    id[i] = 0;
    if (operand[i]) PetscCall(PetscObjectGetId((PetscObject)operand[i], &id[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a product is A B with a dense B, or A^T B with A eternally symmetric as well. Kernels can do these. Where A
   is known to be symmetric now it need not be: PETSc keeps that after MatZeroRows(), MatCopy(), and MatAXPY() with the
   same pattern. The answer is the same on every process.
*/
PetscErrorCode AIJTCUProductIsDense(Mat C, PetscBool *is, PetscBool *bysymmetry)
{
  Mat_Product *product = C->product;
  PetscBool    congruent;

  PetscFunctionBegin;
  *is = *bysymmetry = PETSC_FALSE;
  if (product->type != MATPRODUCT_AB && product->type != MATPRODUCT_AtB) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)product->B, is, MATSEQDENSE, MATMPIDENSE, ""));
  if (*is && product->type == MATPRODUCT_AtB) {
    const Mat A = product->A;

    PetscCall(PetscLayoutCompare(A->rmap, A->cmap, &congruent));
    *bysymmetry = *is = (PetscBool)(AIJTCUIsSymmetricForEver(A) && congruent);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product is A^T B with a dense B, and whether it is A B then, because A is eternally symmetric */
static PetscErrorCode AIJTCUProductIsDenseAtB(Mat C, PetscBool *is, PetscBool *bysymmetry)
{
  PetscBool dense;

  PetscFunctionBegin;
  *is = *bysymmetry = PETSC_FALSE;
  if (C->product->type != MATPRODUCT_AtB) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, is, MATSEQDENSE, MATMPIDENSE, ""));
  if (*is) PetscCall(AIJTCUProductIsDense(C, &dense, bysymmetry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product is A^T B with a dense B, and A not eternally symmetric */
PetscErrorCode AIJTCUProductIsTransposed(Mat C, PetscBool *is)
{
  PetscBool bysymmetry;

  PetscFunctionBegin;
  PetscCall(AIJTCUProductIsDenseAtB(C, is, &bysymmetry));
  if (bysymmetry) *is = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether what is known of A's symmetry has changed. A^T B may have been set up as A B, and A is not eternally
   symmetric any more, or the other way round.
*/
PetscErrorCode AIJTCUProductSymmetryChanged(Mat C, PetscBool *changed)
{
  PetscBool is, bysymmetry;

  PetscFunctionBegin;
  PetscCall(AIJTCUProductIsDenseAtB(C, &is, &bysymmetry));
  *changed = (PetscBool)(is && bysymmetry != C->product->symbolic_used_the_fact_A_is_symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Call a function of the parents on the product C. C is in the view as well: numeric phases compare its name. With a
   symmetric A the parent, too, makes A B in place of A^T B. That is as fast, and gives the same bits every time, while
   cuSPARSE transposes with atomics.
*/
static PetscErrorCode AIJTCUCallParents(Mat C, PetscErrorCode (*f)(Mat))
{
  Mat_Product    *product  = C->product;
  Mat             inview[] = {product->A, product->B, product->C, C};
  AIJTCUIdentity *plan[4]  = {NULL, NULL, NULL, NULL};
  PetscBool       dense, bysymmetry;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUProductIsDense(C, &dense, &bysymmetry));
  for (int i = 0; i < 4; i++) {
    if (inview[i]) PetscCall(AIJTCUParentViewBegin(inview[i], &plan[i]));
    /* PETSc asks first whether the operands have the same function here. The end of the view puts ours back */
    if (plan[i] && plan[i]->own_name) inview[i]->ops->productsetfromoptions = plan[i]->parent.productsetfromoptions;
  }
  if (bysymmetry) {
    product->type                                  = MATPRODUCT_AB;
    product->symbolic_used_the_fact_A_is_symmetric = PETSC_TRUE;
  }
  ierr = (*f)(C);
  if (bysymmetry && C->product) C->product->type = MATPRODUCT_AtB;
  for (int i = 3; i >= 0; i--) { /* after an error, too */
    if (plan[i]) PetscCall(AIJTCUParentViewEnd(inview[i], plan[i]));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What the parent made of an aijtcu and another sparse matrix is an aijtcu, with the options of the first operand that
   is one. A dense C, or one of a type that the parent does not have here, stays what it is
*/
static PetscErrorCode AIJTCUInheritFromOperands(Mat C)
{
  const Mat operand[3] = {C->product->A, C->product->B, C->product->C};

  PetscFunctionBegin;
  PetscCall(AIJTCUInheritFromFirst(operand, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Delegated(Mat);

static PetscErrorCode MatProductSymbolic_AIJTCU_Delegated(Mat C)
{
  AIJTCUDelegated *dp;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  C->ops->productsymbolic = dp->symbolic; /* that of a scaled MATTRANSPOSEVIRTUAL looks for itself there */
  ierr                    = AIJTCUCallParents(C, dp->symbolic);
  C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Delegated;
  PetscCall(ierr);
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  PetscCall(AIJTCUOperandKeyGet(C->product->A, &dp->key));
  PetscCall(AIJTCUOperandIds(C, dp->operand));
  dp->numeric            = C->ops->productnumeric;
  C->ops->productnumeric = MatProductNumeric_AIJTCU_Delegated;
  PetscCall(AIJTCUInheritFromOperands(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Call what the parent would have for a matrix whose operations and name are the parent's */
static PetscErrorCode AIJTCUComposedSetFromOptions(Mat C)
{
  Mat         A = C->product->A, B = C->product->B;
  AIJTCUPlan *plan;
  char        key[128];
  PetscBool   cuda;
  PetscErrorCode (*f)(Mat) = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &cuda, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  f = (PetscErrorCode (*)(Mat))plan->id.composed[cuda ? AIJTCU_PRODUCT_DENSECUDA : AIJTCU_PRODUCT_DENSE];
  if (!f) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "MatProductSetFromOptions_%s_%s_C", ((PetscObject)A)->type_name, ((PetscObject)B)->type_name));
    PetscCall(PetscObjectQueryFunction((PetscObject)B, key, &f));
  }
  if (f) PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSelect(Mat C)
{
  AIJTCUDelegated *dp;
  AIJTCUPlan      *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(C->product->A, &plan));
  PetscCall(AIJTCUCallParents(C, plan && !plan->id.own_name ? AIJTCUComposedSetFromOptions : MatProductSetFromOptions));
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  if (C->ops->productsymbolic != MatProductSymbolic_AIJTCU_Delegated) dp->symbolic = C->ops->productsymbolic;
  C->ops->productsymbolic = C->ops->productsymbolic ? MatProductSymbolic_AIJTCU_Delegated : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* plan: that of A, or NULL */
static inline PetscBool AIJTCUIsOfDevice(const AIJTCUPlan *plan)
{
  return (PetscBool)(plan && plan->id.own_name && plan->id.device);
}

/* The first operand of C that is an aijtcu of a device, or NULL */
static PetscErrorCode AIJTCUOperandOfDevice(Mat C, Mat *A)
{
  const Mat   operand[3] = {C->product->A, C->product->B, C->product->C};
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  *A = NULL;
  for (int i = 0; i < 3 && !*A; i++) {
    if (!operand[i]) continue;
    PetscCall(AIJTCUGetPlan(operand[i], &plan));
    if (AIJTCUIsOfDevice(plan)) *A = operand[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the operands of C: whether an aijtcu of a device is not bound to the host, and whether one is of another type */
static PetscErrorCode AIJTCUOperandsTypes(Mat C, PetscBool *there, PetscBool *other)
{
  const Mat   operand[3] = {C->product->A, C->product->B, C->product->C};
  AIJTCUPlan *plan;
  PetscBool   device;

  PetscFunctionBegin;
  *there = *other = PETSC_FALSE;
  for (int i = 0; i < 3; i++) {
    if (!operand[i]) continue;
    PetscCall(AIJTCUGetPlan(operand[i], &plan));
    if (AIJTCUIsOfDevice(plan)) {
      PetscCall(AIJTCUAtDevice(operand[i], plan, &device));
      if (device) *there = PETSC_TRUE;
    } else *other = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether C is A^T B of a parallel A of a device with a dense B. What ours does not make of these the host makes, in
   place of the parent (src/upstream/hostproduct.c), unless the path is the parent's. A B by symmetry is none of these
*/
static PetscErrorCode AIJTCUProductIsParallelAtB(Mat C, PetscBool *is)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(C->product->A, &plan));
  PetscCall(AIJTCUProductIsTransposed(C, is));
  if (!AIJTCUIsOfDevice(plan) || plan->id.kind != AIJTCU_KIND_MPI || AIJTCUGetOptions(plan)->path == MAT_AIJTCU_PATH_CUSPARSE) *is = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether C is a product of matrices of a device that is not left to the parents: all but A B and A^T B with a sparse A
   and a dense B, and products of sparse matrices of one type that are bound to the host. Of these A^T B in parallel is
   not left to them, either. The same on all processes
*/
static PetscErrorCode AIJTCUProductIsForHost(Mat C, PetscBool *is)
{
  const Mat_Product *product = C->product;
  const PetscBool    two     = (PetscBool)(product->type == MATPRODUCT_AB || product->type == MATPRODUCT_AtB);
  Mat                A;
  PetscBool          sparse, dense, there, other, all, parallel;

  PetscFunctionBegin;
  PetscCall(AIJTCUOperandOfDevice(C, &A));
  PetscCall(AIJTCUOperandsTypes(C, &there, &other));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)product->A, &sparse, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)product->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCall(AIJTCUProductIsSparse(C, &all));
  PetscCall(AIJTCUProductIsParallelAtB(C, &parallel));
  *is = (PetscBool)(parallel || (A && (there || other || !all) && !(two && sparse && dense)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sparse C becomes an aijtcu */
static PetscErrorCode MatProductSymbolic_AIJTCU_Host(Mat C)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(AIJTCUOperandOfDevice(C, &A));
  PetscCheck(A, PetscObjectComm((PetscObject)C), PETSC_ERR_ARG_WRONGSTATE, "No operand is an aijtcu of a device any more: call MatProductSetFromOptions() again");
  PetscCall(AIJTCUHostProductSymbolic(C, ((PetscObject)A)->type_name));
  PetscCall(AIJTCUInheritFromOperands(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product of a parallel matrix is made of products of its blocks. Let these be ours */
PetscErrorCode AIJTCUDelegate(Mat C)
{
  Mat         A = C->product->A;
  AIJTCUPlan *plan;
  PetscBool   dense, bysymmetry, host = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUProductIsDense(C, &dense, &bysymmetry));
  if (plan && dense && plan->id.kind == AIJTCU_KIND_MPI) {
    PetscCall(AIJTCUAttachBlocks(A));
    PetscCall(AIJTCURecordWhole(A, PETSC_FALSE, C->product->B->cmap->N));
  }
  PetscCall(AIJTCUProductIsForHost(C, &host));
  if (host) {
    if (plan && plan->id.own_name) PetscCall(AIJTCUExpandMAIJ(C->product->B, ((PetscObject)A)->type_name));
    C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Host;
  } else PetscCall(AIJTCUSelect(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In a view of the parents nothing of ours may be found: the question is then what they would do. PETSc stops looking
   at the first matrix with a function for any type, so ask the other operands.
*/
PetscErrorCode AIJTCUDelegateInView(Mat C, PetscErrorCode (*own)(Mat))
{
  Mat others[2] = {C->product->B, C->product->C};
  PetscErrorCode (*f)(Mat);

  PetscFunctionBegin;
  for (int i = 0; i < 2 && !C->ops->productsymbolic; i++) {
    if (!others[i]) continue;
    PetscCall(PetscObjectQueryFunction((PetscObject)others[i], "MatProductSetFromOptions_anytype_C", &f));
    if (f && f != own) PetscCall((*f)(C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AIJTCUProductIsLent(const Mat_Product *product)
{
  return (PetscBool)!product->setfromoptionscalled;
}

/* Set the parent's product up anew, as if it had not been set up before */
static PetscErrorCode AIJTCUSetUpAnew(Mat C)
{
  Mat_Product     *product = C->product;
  AIJTCUDelegated *dp;
  PetscBool        parallel;

  PetscFunctionBegin;
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  dp->numeric = NULL; /* marked as not set up until all is done: the old set-up is gone */
  if (product->destroy) PetscCall((*product->destroy)(AIJTCU_PRODUCT_DATA(product)));
  PetscCall(MatDestroy(&product->Dwork)); /* the A P of P^T A P, for example */
  product->destroy                               = NULL;
  product->data                                  = NULL;
  product->symbolic_used_the_fact_A_is_symmetric = PETSC_FALSE;
  PetscCall(AIJTCUProductIsParallelAtB(C, &parallel));
  if (parallel) C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Host;
  else PetscCall(AIJTCUSelect(C));
  PetscCheck(C->ops->productsymbolic, PetscObjectComm((PetscObject)C), PETSC_ERR_SUP, "No product of a %s with a %s",
             ((PetscObject)product->A)->type_name, ((PetscObject)product->B)->type_name);
  PetscCall((*C->ops->productsymbolic)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same. After an error the numeric phase of before is there, which tries again */
static PetscErrorCode AIJTCURestart(Mat C)
{
  PetscErrorCode (*numeric)(Mat) = C->ops->productnumeric;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUSetUpAnew(C);
  if (ierr) C->ops->productnumeric = numeric;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Numeric phase in which the parent's product is set up anew. self is the numeric phase that asks for it. Where that is
   part of another one, as of a scaled MATTRANSPOSEVIRTUAL, the product's data are lent by the other
*/
static PetscErrorCode AIJTCUDelegateNumeric(Mat C, PetscErrorCode (*self)(Mat))
{
  Mat_Product     *product = C->product, lent = *product;
  AIJTCUDelegated *dp, kept;
  PetscErrorCode (*numeric)(Mat) = C->ops->productnumeric;
  PetscErrorCode ierr, end       = PETSC_SUCCESS;
  char          *alg;

  PetscFunctionBegin;
  if (numeric == self && !AIJTCUProductIsLent(product)) {
    PetscCall(AIJTCURestart(C));
    PetscCall((*C->ops->productnumeric)(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /*
     What is lent is given back as it was, also after an error, so that the next numeric phase is set up anew as well.
  */
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  PetscCall(PetscStrallocpy(lent.alg, &alg));
  kept                          = *dp;
  product->destroy              = NULL;
  product->data                 = NULL;
  product->Dwork                = NULL;
  product->alg                  = alg;
  product->setfromoptionscalled = PETSC_TRUE;
  ierr                          = AIJTCURestart(C);
  if (!ierr) ierr = (*C->ops->productnumeric)(C);
  if (product->destroy) end = (*product->destroy)(AIJTCU_PRODUCT_DATA(product));
  if (!end) end = MatDestroy(&product->Dwork);
  if (!end) end = PetscFree(product->alg);
  if (!ierr) ierr = end;
  *product               = lent;
  C->ops->productnumeric = numeric;
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  *dp = kept;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   End of a numeric phase of ours, self. C is assembled if the product was done. Otherwise the parent makes the product
*/
PetscErrorCode AIJTCUNumericEnd(Mat C, PetscErrorCode (*self)(Mat), PetscBool done)
{
  PetscFunctionBegin;
  if (!done) {
    PetscCall(AIJTCUDelegateNumeric(C, self));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNumericInView(Mat C)
{
  AIJTCUDelegated *dp;

  PetscFunctionBegin;
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  C->ops->productnumeric = dp->numeric;
  PetscCall(AIJTCUCallParents(C, dp->numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCallNumeric(Mat C, const AIJTCUPlan *plan)
{
  AIJTCUDelegated *dp, kept;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  kept = *dp;
  ierr = plan && plan->id.device ? AIJTCUProductWithDeviceC(C, AIJTCUNumericInView) : AIJTCUNumericInView(C);
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  *dp                    = kept;
  /* Some set it anew while they run. It is still ours where an error came before the parent's was called */
  if (C->ops->productnumeric != MatProductNumeric_AIJTCU_Delegated) dp->numeric = C->ops->productnumeric;
  C->ops->productnumeric = MatProductNumeric_AIJTCU_Delegated;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Count the product of a sequential matrix with a dense one: on a device as cuSPARSE's, on the host as one of the CSR
   path, because there the parent makes that product.
*/
static PetscErrorCode AIJTCUCallNumericCounted(Mat C, AIJTCUPlan *plan)
{
  Mat           A     = C->product->A;
  PetscLogEvent event = MAT_AIJTCU_CSR;
  PetscBool     device;

  PetscFunctionBegin;
  PetscCall(AIJTCUAtDevice(A, plan, &device));
  if (device || AIJTCUGetOptions(plan)->path == MAT_AIJTCU_PATH_CUSPARSE) {
    AIJTCUCount(plan, cusparse);
    event = MAT_AIJTCU_CuSPARSE;
  } else AIJTCUCount(plan, csr);
  PetscCall(PetscLogEventBegin(event, A, 0, 0, 0));
  PetscCall(AIJTCUCallNumeric(C, plan));
  PetscCall(PetscLogEventEnd(event, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product of sparse matrices on a device has other operands than those it was set up with */
static PetscErrorCode AIJTCUSparseOperandsReplaced(Mat C, const AIJTCUPlan *plan, PetscBool *replaced)
{
  AIJTCUDelegated *dp;
  PetscObjectId    now[3];

  PetscFunctionBegin;
  *replaced = PETSC_FALSE;
  if (!plan || !plan->id.device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  PetscCall(AIJTCUOperandIds(C, now));
  if (dp->numeric && memcmp(now, dp->operand, sizeof(now))) PetscCall(AIJTCUProductIsSparse(C, replaced));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNumericDelegated(Mat C, PetscBool nested)
{
  Mat              A = C->product->A;
  AIJTCUDelegated *dp;
  AIJTCUPlan      *plan;
  AIJTCUOperandKey now;
  PetscBool        dense, bysymmetry, parallel, stale;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUSparseOperandsReplaced(C, plan, &stale));
  if (stale) {
    PetscCall(AIJTCUProductOfReplaced(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  parallel = (PetscBool)(plan && plan->id.kind == AIJTCU_KIND_MPI);
  PetscCall(AIJTCUProductIsDense(C, &dense, &bysymmetry));
  PetscCall(AIJTCUProductSymmetryChanged(C, &stale));
  PetscCall(AIJTCUDelegatedGet(C, &dp));
  if (!dp->numeric) stale = PETSC_TRUE;
  if (!stale && plan) {
    PetscCall(AIJTCUOperandKeyGet(A, &now));
    PetscCall(AIJTCUProductIsStale(C, parallel, plan->id.device, &dp->key, &now, &stale));
  }
  if (stale && (nested || AIJTCUProductIsLent(C->product))) {
    PetscCall(AIJTCUDelegateNumeric(C, MatProductNumeric_AIJTCU_Delegated));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (stale) PetscCall(AIJTCURestart(C));
  if (C->ops->productnumeric != MatProductNumeric_AIJTCU_Delegated && !nested) { /* the host makes it now */
    PetscCall((*C->ops->productnumeric)(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (dense && parallel) PetscCall(AIJTCUAttachBlocks(A)); /* A may have got new blocks since the symbolic phase */
  if (plan && dense && !parallel) PetscCall(AIJTCUCallNumericCounted(C, plan));
  else PetscCall(AIJTCUCallNumeric(C, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where this is part of another numeric phase, see AIJTCUDelegateNumeric(), that one stays C's */
static PetscErrorCode MatProductNumeric_AIJTCU_Delegated(Mat C)
{
  PetscErrorCode (*outer)(Mat) = C->ops->productnumeric;
  const PetscBool nested       = (PetscBool)(outer != MatProductNumeric_AIJTCU_Delegated);
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  ierr = AIJTCUNumericDelegated(C, nested);
  if (nested) C->ops->productnumeric = outer;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
