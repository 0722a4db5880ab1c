/*
   Products of a MATAIJTCU: which product, which path; the one place that calls a kernel.

   A B with B dense takes the path that AIJTCUChoosePath() says: kernels for bricks or, on a device, for CSR. Everything else goes to the parent, as does the scalar
   path on the host: PETSc's own selection
   runs again while our operands look like their parents, and the functions that it selects are later called in the same view.
   Callers such as SLEPc make, set up, run and clear a product at every call: what can be kept hangs on A (the plan) or C (two pointers).
*/
#include "aijtcuimpl.h"

#define PRODUCT_KEY "MatAIJTCUProduct"

typedef struct {
  PetscErrorCode (*symbolic)(Mat); /* what the parent selected */
  PetscErrorCode (*numeric)(Mat);
  AIJTCUPatternKey key;   /* of A in the symbolic phase, */
  PetscObjectState state; /* and that of its values */
} AIJTCUParentProduct;

static PetscErrorCode AIJTCUParentProductDestroy(PetscCtxRt ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*(AIJTCUParentProduct **)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUParentProductGet(Mat C, AIJTCUParentProduct **pp)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)C, PRODUCT_KEY, (PetscObject *)&container));
  if (!container) {
    PetscCall(PetscNew(pp));
    PetscCall(AIJTCUComposeData((PetscObject)C, PRODUCT_KEY, *pp, AIJTCUParentProductDestroy));
  } else PetscCall(PetscContainerGetPointer(container, pp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A B, or A^T B with A known to be symmetric, with B dense: the products that kernels can do. The same answer on every process */
static PetscErrorCode AIJTCUIsDenseProduct(Mat C, PetscBool *is, PetscBool *bysymmetry)
{
  Mat_Product *product = C->product;
  PetscBool    set, symmetric, congruent;

  PetscFunctionBegin;
  *is = *bysymmetry = PETSC_FALSE;
  if (product->type != MATPRODUCT_AB && product->type != MATPRODUCT_AtB) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)product->B, is, MATSEQDENSE, MATMPIDENSE, ""));
  if (*is && product->type == MATPRODUCT_AtB) {
    const Mat A = product->A;

    PetscCall(MatIsSymmetricKnown(A, &set, &symmetric));
    PetscCall(PetscLayoutCompare(A->rmap, A->cmap, &congruent));
    *bysymmetry = *is = (PetscBool)(set && symmetric && congruent);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B was set up as A B and A is not known to be symmetric any more, or the other way round: assembly drops what was known */
static PetscErrorCode AIJTCUSymmetryChanged(Mat C, PetscBool *changed)
{
  PetscBool dense, bysymmetry;

  PetscFunctionBegin;
  *changed = PETSC_FALSE;
  if (C->product->type != MATPRODUCT_AtB) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUIsDenseProduct(C, &dense, &bysymmetry));
  *changed = (PetscBool)(bysymmetry != C->product->symbolic_used_the_fact_A_is_symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Call a function of the parents on the product C. With a symmetric A the parent, too, is given A B rather than A^T B: as fast, and
   the same bits every time (cuSPARSE transposes with atomics)
*/
static PetscErrorCode AIJTCUCallParents(Mat C, PetscErrorCode (*f)(Mat))
{
  Mat_Product   *product    = C->product;
  Mat            operand[3] = {product->A, product->B, product->C};
  AIJTCUPlan    *plan[3]    = {NULL, NULL, NULL};
  PetscBool      dense, bysymmetry;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUIsDenseProduct(C, &dense, &bysymmetry));
  for (PetscInt i = 0; i < 3 && !ierr; i++) {
    if (operand[i]) ierr = AIJTCUParentViewBegin(operand[i], &plan[i]);
    /* PETSc's first question is whether the operands have the same function here; the end of the view puts ours back */
    if (plan[i] && plan[i]->own_name) operand[i]->ops->productsetfromoptions = plan[i]->parent.productsetfromoptions;
  }
  if (bysymmetry) {
    product->type                                  = MATPRODUCT_AB;
    product->symbolic_used_the_fact_A_is_symmetric = PETSC_TRUE;
  }
  if (!ierr) ierr = (*f)(C);
  if (bysymmetry && C->product) C->product->type = MATPRODUCT_AtB;
  for (PetscInt i = 2; i >= 0; i--) { /* all, also after an error */
    const PetscErrorCode end = plan[i] ? AIJTCUParentViewEnd(operand[i], plan[i]) : PETSC_SUCCESS;

    if (!ierr) ierr = end;
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Parent(Mat);

static PetscErrorCode MatProductSymbolic_AIJTCU_Parent(Mat C)
{
  AIJTCUParentProduct *pp;

  PetscFunctionBegin;
  PetscCall(AIJTCUParentProductGet(C, &pp));
  PetscCall(AIJTCUCallParents(C, pp->symbolic));
  PetscCall(AIJTCUParentProductGet(C, &pp)); /* again: MatHeaderReplace() may have given C another header */
  PetscCall(AIJTCUPatternKeyGet(C->product->A, &pp->key));
  PetscCall(PetscObjectStateGet((PetscObject)C->product->A, &pp->state));
  pp->numeric            = C->ops->productnumeric;
  C->ops->productnumeric = MatProductNumeric_AIJTCU_Parent;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the parent would have done with this product of a matrix whose operations and name are the parent's */
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
  f = (PetscErrorCode (*)(Mat))plan->composed[cuda ? AIJTCU_PRODUCT_DENSECUDA : AIJTCU_PRODUCT_DENSE];
  if (!f) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "MatProductSetFromOptions_%s_%s_C", ((PetscObject)A)->type_name, ((PetscObject)B)->type_name));
    PetscCall(PetscObjectQueryFunction((PetscObject)B, key, &f));
  }
  if (f) PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSetFromOptions_AIJTCU_Parent(Mat C)
{
  AIJTCUParentProduct *pp;
  AIJTCUPlan          *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(C->product->A, &plan));
  PetscCall(AIJTCUCallParents(C, plan && !plan->own_name ? AIJTCUComposedSetFromOptions : MatProductSetFromOptions));
  PetscCall(AIJTCUParentProductGet(C, &pp));
  pp->symbolic            = C->ops->productsymbolic;
  C->ops->productsymbolic = pp->symbolic ? MatProductSymbolic_AIJTCU_Parent : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetUpAnew(Mat C)
{
  Mat_Product         *product = C->product;
  AIJTCUParentProduct *pp;
  PetscErrorCode       ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUParentProductGet(C, &pp));
  pp->numeric = NULL; /* until all is done: what was set up before is gone */
  if (product->destroy) ierr = (*product->destroy)(AIJTCU_PRODUCT_DATA(product));
  if (!ierr) ierr = MatDestroy(&product->Dwork); /* A P, of P^T A P, and the like */
  product->destroy                               = NULL;
  product->data                                  = NULL;
  product->symbolic_used_the_fact_A_is_symmetric = PETSC_FALSE;
  PetscCall(ierr);
  PetscCall(MatProductSetFromOptions_AIJTCU_Parent(C));
  PetscCheck(C->ops->productsymbolic, PetscObjectComm((PetscObject)C), PETSC_ERR_SUP, "No product of a %s with a %s", ((PetscObject)product->A)->type_name, ((PetscObject)product->B)->type_name);
  PetscCall((*C->ops->productsymbolic)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set the parent's product up anew; after an error the next numeric phase tries again */
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

/* PETSc lends a shell's product to the matrix inside of it for a numeric phase (MatProductNumericPhase_CF()): with what the symbolic phase made, which it keeps, and without what belongs to it */
static PetscBool AIJTCUProductIsLent(const Mat_Product *product)
{
  return (PetscBool)!product->setfromoptionscalled;
}

/* A numeric phase for which the parent's product is set up anew. Of one that is lent all is given back as it was, so that the next one is set up anew as well */
static PetscErrorCode AIJTCUComputeAnew(Mat C)
{
  Mat_Product         *product = C->product, lent = *product;
  AIJTCUParentProduct *pp, kept;
  PetscErrorCode (*numeric)(Mat) = C->ops->productnumeric;
  PetscErrorCode ierr, end       = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (!AIJTCUProductIsLent(product)) {
    PetscCall(AIJTCURestart(C));
    PetscCall((*C->ops->productnumeric)(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUParentProductGet(C, &pp));
  kept                          = *pp;
  product->data                 = NULL;
  product->Dwork                = NULL;
  product->setfromoptionscalled = PETSC_TRUE;
  ierr                          = AIJTCURestart(C);
  if (!ierr) ierr = (*C->ops->productnumeric)(C);
  if (product->destroy) end = (*product->destroy)(AIJTCU_PRODUCT_DATA(product));
  if (!end) end = MatDestroy(&product->Dwork);
  if (!end) end = PetscFree(product->alg);
  *product               = lent;
  C->ops->productnumeric = numeric;
  PetscCall(AIJTCUParentProductGet(C, &pp));
  *pp = kept;
  PetscCall(ierr);
  PetscCall(end);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The parent makes a dense C of the host one of the device, and back when it is done. In the next numeric phase it forgets the former, and the device writes to an address of the host. So the numeric phase f gets a C of the
   device, and who has it on the host gets it back there, also after an error
*/
static PetscErrorCode AIJTCUCallNumeric(Mat C, const AIJTCUPlan *plan, PetscErrorCode (*f)(Mat))
{
  PetscBool      bound, move = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(C->product->A, &bound));
  if (plan && plan->device && !bound) PetscCall(PetscObjectTypeCompare((PetscObject)C, MATSEQDENSE, &move));
  if (move) PetscCall(MatConvert(C, MATSEQDENSECUDA, MAT_INPLACE_MATRIX, &C));
  ierr = AIJTCUCallParents(C, f);
  if (move) PetscCall(MatConvert(C, MATSEQDENSE, MAT_INPLACE_MATRIX, &C)); /* nothing where the parent has done so */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether what the parent's symbolic phase made for a product with a dense matrix is of another A than that of now: the descriptors of cuSPARSE, the product inside of P^T A P, the MATMAIJ of A^T B and A B^T, which refers to A,
   or, of a parallel matrix of a device, bound to the CPU or not, is a copy of it with the values of then. The parent does not ask. A B of a parallel matrix, one of ours, keeps nothing of A
*/
static PetscErrorCode AIJTCUSymbolicIsStale(Mat C, const AIJTCUPlan *plan, const AIJTCUParentProduct *pp, PetscBool ours, PetscBool *stale)
{
  const MatProductType type     = C->product->type;
  const PetscBool      parallel = (PetscBool)(plan->kind == AIJTCU_KIND_MPI), copied = (PetscBool)(parallel && plan->device && (type == MATPRODUCT_AtB || type == MATPRODUCT_ABt));
  AIJTCUPatternKey     key;
  PetscObjectState     state;
  PetscBool            bydense;

  PetscFunctionBegin;
  *stale = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &bydense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!bydense || (ours && parallel)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPatternKeyGet(C->product->A, &key));
  PetscCall(PetscObjectStateGet((PetscObject)C->product->A, &state));
  *stale = (PetscBool)(!AIJTCUPatternKeyEqual(&key, &pp->key) || (copied && state != pp->state));
  if (parallel) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, stale, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)C)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Parent(Mat C)
{
  Mat                  A = C->product->A;
  AIJTCUParentProduct *pp, kept;
  AIJTCUPlan          *plan;
  PetscBool            dense, bysymmetry, changed, stale, device;
  PetscLogEvent        event = MAT_AIJTCU_CSR;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUIsDenseProduct(C, &dense, &bysymmetry));
  PetscCall(AIJTCUSymmetryChanged(C, &changed));
  PetscCall(AIJTCUParentProductGet(C, &pp));
  stale = (PetscBool)(changed || !pp->numeric);
  if (!stale && plan) PetscCall(AIJTCUSymbolicIsStale(C, plan, pp, dense, &stale));
  if (stale && AIJTCUProductIsLent(C->product)) {
    PetscCall(AIJTCUComputeAnew(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (stale) PetscCall(AIJTCURestart(C));
  PetscCall(AIJTCUParentProductGet(C, &pp));
  if (plan && dense) {
    if (plan->kind == AIJTCU_KIND_MPI) PetscCall(AIJTCUAttachBlocks(A)); /* A may have got new blocks since the symbolic phase */
    else {
      PetscCall(AIJTCUOnDevice(A, plan, &device));
      if (device || AIJTCUGetOptions(plan)->path == MAT_AIJTCU_PATH_CUSPARSE) {
        AIJTCUGetCounts(plan)->cusparse++;
        event = MAT_AIJTCU_CuSPARSE;
      } else AIJTCUGetCounts(plan)->csr++; /* on the host this is the scalar path */
      PetscCall(PetscLogEventBegin(event, A, 0, 0, 0));
    }
  }
  kept                   = *pp;
  C->ops->productnumeric = pp->numeric;
  ierr                   = AIJTCUCallNumeric(C, plan, pp->numeric);
  PetscCall(AIJTCUParentProductGet(C, &pp)); /* again, as after the symbolic phase */
  *pp                    = kept;
  pp->numeric            = C->ops->productnumeric; /* some set it anew while they run */
  C->ops->productnumeric = MatProductNumeric_AIJTCU_Parent;
  PetscCall(ierr);
  if (plan && dense && plan->kind != AIJTCU_KIND_MPI) PetscCall(PetscLogEventEnd(event, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BRICKS
static PetscErrorCode AIJTCUHostMultiply(const AIJTCUPlan *plan, Mat B, Mat C)
{
  const PetscScalar *b;
  PetscScalar       *c;
  PetscInt           ldb, ldc;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArrayRead(B, &b));
  PetscCall(MatDenseGetArrayWrite(C, &c));
  HrpbMultiplyHost(&plan->hrpb, plan->values, B->cmap->n, b, ldb, c, ldc);
  PetscCall(MatDenseRestoreArrayWrite(C, &c));
  PetscCall(MatDenseRestoreArrayRead(B, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B on the path, if that can be: done says so, and the log why not */
static PetscErrorCode AIJTCUMultiply(Mat A, AIJTCUPlan *plan, MatAIJTCUPath path, Mat B, Mat C, PetscBool *done)
{
  const PetscBool     tcu   = (PetscBool)(path == MAT_AIJTCU_PATH_TCU);
  const PetscLogEvent event = tcu ? MAT_AIJTCU_Tcu : MAT_AIJTCU_CSR;
  PetscLogDouble      flops;

  PetscFunctionBegin;
  if (tcu) PetscCall(AIJTCUPlanUpdate(A, plan, done));
  else PetscCall(AIJTCUPlanUpdateScalar(A, plan, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  flops = 2.0 * (PetscLogDouble)(tcu ? plan->hrpb.nnz : plan->csr.nnz) * (PetscLogDouble)B->cmap->n;
  PetscCall(PetscLogEventBegin(event, A, B, C, 0));
  if (tcu && !plan->on_device) {
    PetscCall(AIJTCUHostMultiply(plan, B, C));
    PetscCall(PetscLogFlops(flops));
  }
  #if AIJTCU_HAVE_DEVICE
  else {
    HrpbError err;

    PetscCall(AIJTCUDeviceMultiply(A, plan, path, B, C, &err));
    *done = (PetscBool)!err;
    if (err) PetscCall(PetscInfo(A, "aijtcu: no product on the %s path, %s instead: %s\n", MatAIJTCUPaths[path], tcu ? "the scalar path" : "the parent's product", HrpbErrorString(err)));
    else PetscCall(PetscLogGpuFlops(flops));
  }
  #endif
  PetscCall(PetscLogEventEnd(event, A, B, C, 0));
  if (*done && tcu) AIJTCUGetCounts(plan)->tcu++;
  else if (*done) AIJTCUGetCounts(plan)->csr++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The path, the scalar one where there are no bricks, the parent's product where there is neither */
static PetscErrorCode AIJTCUNumeric(Mat C, MatAIJTCUPath path)
{
  Mat         A = C->product->A, B = C->product->B;
  AIJTCUPlan *plan;
  PetscBool   done = PETSC_FALSE, changed;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUSymmetryChanged(C, &changed));
  PetscCheck(A->rmap->n == C->rmap->n && A->cmap->n == B->rmap->n && B->cmap->n == C->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Local sizes do not fit: A %" PetscInt_FMT " x %" PetscInt_FMT ", B %" PetscInt_FMT " x %" PetscInt_FMT ", C %" PetscInt_FMT " x %" PetscInt_FMT, A->rmap->n, A->cmap->n,
             B->rmap->n, B->cmap->n, C->rmap->n, C->cmap->n);
  if (plan && !changed) {
    PetscCall(AIJTCUMultiply(A, plan, path, B, C, &done));
    if (!done && path == MAT_AIJTCU_PATH_TCU) PetscCall(AIJTCUMultiply(A, plan, MAT_AIJTCU_PATH_CSR, B, C, &done));
  }
  if (!done) {
    PetscCall(AIJTCUComputeAnew(C)); /* also where A, or what is known of it, changed since the product was set up */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Bricks(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUNumeric(C, MAT_AIJTCU_PATH_TCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Scalar(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUNumeric(C, MAT_AIJTCU_PATH_CSR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C gets the type that the parent's product gives it, so that a caller sees no difference between the paths */
static PetscErrorCode AIJTCUSymbolic(Mat C, PetscErrorCode (*numeric)(Mat))
{
  Mat         A = C->product->A, B = C->product->B;
  AIJTCUPlan *plan;
  PetscBool   cdense, bcuda, bound;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatSetSizes(C, A->rmap->n, B->cmap->n, A->rmap->N, B->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(C, A, B));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATSEQDENSE, &cdense));
  if (!cdense) {
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQDENSECUDA, &bcuda));
    PetscCall(MatSetType(C, plan->device && !bound ? MATSEQDENSECUDA : ((PetscObject)B)->type_name));
    if (bcuda || !plan->device) PetscCall(MatSetVecType(C, B->defaultvectype));
  }
  PetscCall(MatSetUp(C));
  if (C->product->type == MATPRODUCT_AtB) C->product->symbolic_used_the_fact_A_is_symmetric = PETSC_TRUE;
  C->ops->productnumeric = numeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJTCU_Bricks(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSymbolic(C, MatProductNumeric_AIJTCU_Bricks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJTCU_Scalar(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSymbolic(C, MatProductNumeric_AIJTCU_Scalar));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   In a view of the parents nothing is found here: what is asked then is what they would do. PETSc stops looking at the first matrix
   with a function for any type, so ask the others
*/
static PetscErrorCode AIJTCUAskOthers(Mat C)
{
  Mat others[2] = {C->product->B, C->product->C};
  PetscErrorCode (*f)(Mat);

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 2 && !C->ops->productsymbolic; i++) {
    if (!others[i]) continue;
    PetscCall(PetscObjectQueryFunction((PetscObject)others[i], "MatProductSetFromOptions_anytype_C", &f));
    if (f && f != MatProductSetFromOptions_AIJTCU) PetscCall((*f)(C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc makes an AIJ of a MATMAIJ of an aijcusparse, by its exact name, for there are no products of the two: P, which is of ours, as the interpolation of a DMDA, is made one here */
static PetscErrorCode AIJTCUExpandMAIJ(Mat P, Mat A, AIJTCUPlan *plan)
{
  PetscBool device, is;

  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &is, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(P, MATAIJ, MAT_INPLACE_MATRIX, &P));
  PetscCall(MatConvert(P, ((PetscObject)A)->type_name, MAT_INPLACE_MATRIX, &P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called by PETSc for every product in which a MATAIJTCU takes part, or a matrix of a parent type with a plan and a dense one */
PetscErrorCode MatProductSetFromOptions_AIJTCU(Mat C)
{
  Mat         operand[3] = {C->product->A, C->product->B, C->product->C};
  AIJTCUPlan *plan[3]    = {NULL, NULL, NULL};
  PetscBool   dense, bysymmetry;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; i++) {
    if (operand[i]) PetscCall(AIJTCUGetPlan(operand[i], &plan[i]));
    if (plan[i] && plan[i]->view_depth) {
      PetscCall(AIJTCUAskOthers(C));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCheck(plan[0] || plan[1] || plan[2], PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "A function of aijtcu was copied to a matrix without a plan");
  PetscCall(AIJTCUIsDenseProduct(C, &dense, &bysymmetry));
  if (dense && plan[0]) {
    if (plan[0]->kind == AIJTCU_KIND_MPI) PetscCall(AIJTCUAttachBlocks(operand[0])); /* its product is made of products of the blocks */
    else {
      MatAIJTCUPath path;
      const char   *reason;
#if AIJTCU_HAVE_BRICKS
      PetscBool     device;
#endif

#if AIJTCU_HAVE_DEVICE
      PetscCall(AIJTCUTuneUpdate(operand[0], plan[0], operand[1]->cmap->n));
#endif
      PetscCall(AIJTCUChoosePath(operand[0], plan[0], operand[1]->cmap->n, &path, &reason));
      PetscCall(AIJTCURecordChoice(operand[0], operand[1]->cmap->n, path, reason));
      if (path == MAT_AIJTCU_PATH_CSR) PetscCall(PetscInfo(operand[0], "aijtcu: product with %" PetscInt_FMT " columns on the scalar path: %s\n", operand[1]->cmap->n, reason));
#if AIJTCU_HAVE_BRICKS
      if (path == MAT_AIJTCU_PATH_TCU) {
        C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Bricks;
        PetscFunctionReturn(PETSC_SUCCESS);
      }
      PetscCall(AIJTCUOnDevice(operand[0], plan[0], &device));
      if (path == MAT_AIJTCU_PATH_CSR && device) {
        C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Scalar;
        PetscFunctionReturn(PETSC_SUCCESS);
      }
#endif
    }
  }
  if (!dense && plan[0] && plan[0]->own_name) PetscCall(AIJTCUExpandMAIJ(operand[1], operand[0], plan[0]));
  PetscCall(MatProductSetFromOptions_AIJTCU_Parent(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
