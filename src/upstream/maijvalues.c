/*
   Products of a MATMAIJ use old values of a matrix on a device

     MatMult_SeqMAIJ_2() and the like, and MatPtAP() of a MATAIJ with a MATMAIJ, read a->a of the matrix that
     MatCreateMAIJ() got, or of its blocks. Of a MATSEQAIJCUSPARSE the newest values may be on the device. A matrix
     whose type has the exact name of an aijcusparse is converted to MATAIJ first, and so escapes.

       MatCreateMAIJ(A, 2, &M);  // A is of a type that is derived from MATAIJCUSPARSE
       MatScale(A, 2);           // on the device
       MatMult(M, x, y);         // with A as it was

     What would help: MatSeqAIJGetArrayRead() in place of a->a.

   Needed: 3.24 to 3.26. Gone when: "MatMult() of a MATMAIJ" of upstream.c. Ours: maij.c, with a GPU.

   MatCreateMAIJ() sets a MATMAIJ's operations after its constructor has run, and calls nothing of ours then. So the
   constructor, which is registered anew here, starts a log handler. At the next event of the program, at the latest
   that of a product, the operations are there. They are wrapped then, and the handler stops. The wrappers bring the
   values to the host. A PETSc without logging has no events: values may be old there
*/
#include "upstream.h"

#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_LOG)

  #define MAIJ_KEY "AIJTCU_MAIJ"

typedef struct AIJTCUMAIJ {
  Mat                M;
  struct AIJTCUMAIJ *next; /* of those that wait for an event */
  struct _MatOps     ops;  /* PETSc's operations: products with vectors */
  PetscErrorCode (*product)(Mat);
  PetscErrorCode (*symbolic)(Mat);
} AIJTCUMAIJ;

static AIJTCUMAIJ     *AIJTCUMAIJWaiting;
static PetscLogHandler AIJTCUMAIJHandler;

static PetscErrorCode AIJTCUMAIJGet(Mat M, AIJTCUMAIJ **maij)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)M, MAIJ_KEY, maij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values that M reads come to the host. On one process the matrix inside of a MATMPIMAIJ may be a MATMAIJ, too */
static PetscErrorCode AIJTCUMAIJToHost(Mat M, AIJTCUMAIJ **maij)
{
  PetscBool is;
  Mat       A = M;

  PetscFunctionBegin;
  do {
    PetscCall(MatMAIJGetAIJ(A, &A));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is, MATSEQMAIJ, MATMPIMAIJ, ""));
  } while (is);
  PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE));
  PetscCall(AIJTCUMAIJGet(M, maij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJMult(Mat M, Vec x, Vec y)
{
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJToHost(M, &maij));
  PetscCall((*maij->ops.mult)(M, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJMultTranspose(Mat M, Vec x, Vec y)
{
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJToHost(M, &maij));
  PetscCall((*maij->ops.multtranspose)(M, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJMultAdd(Mat M, Vec x, Vec y, Vec z)
{
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJToHost(M, &maij));
  PetscCall((*maij->ops.multadd)(M, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJMultTransposeAdd(Mat M, Vec x, Vec y, Vec z)
{
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJToHost(M, &maij));
  PetscCall((*maij->ops.multtransposeadd)(M, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P with a MATAIJ A */
static PetscErrorCode AIJTCUMAIJProductNumeric(Mat C)
{
  Mat         P = C->product->B;
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJToHost(P, &maij));
  PetscCall((*C->ops->ptapnumeric)(C->product->A, P, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJProductSymbolic(Mat C)
{
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJGet(C->product->B, &maij));
  PetscCall((*maij->symbolic)(C));
  C->ops->productnumeric = AIJTCUMAIJProductNumeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In parallel PETSc may make a MATMPIAIJ of P here, and go on with that. MatProductSetFromOptions() calls this twice: the
   second time nothing is left to do then
*/
static PetscErrorCode AIJTCUMAIJProduct(Mat C)
{
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJGet(C->product->B, &maij));
  if (!maij) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*maij->product)(C));
  PetscCall(AIJTCUMAIJGet(C->product->B, &maij));
  if (!maij) PetscFunctionReturn(PETSC_SUCCESS);
  maij->symbolic          = C->ops->productsymbolic;
  C->ops->productsymbolic = AIJTCUMAIJProductSymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatCreateMAIJ() composes last says that M is made */
static PetscErrorCode AIJTCUMAIJWrap(AIJTCUMAIJ *maij, PetscBool *made)
{
  const char *const products[] = {"MatProductSetFromOptions_seqaij_seqmaij_C", "MatProductSetFromOptions_mpiaij_mpimaij_C"};
  Mat               M          = maij->M;

  PetscFunctionBegin;
  *made = PETSC_FALSE;
  for (int i = 0; i < 2 && !*made; i++) {
    PetscCall(PetscObjectQueryFunction((PetscObject)M, products[i], &maij->product));
    if (!maij->product) continue;
    PetscCall(PetscObjectComposeFunction((PetscObject)M, products[i], AIJTCUMAIJProduct));
    maij->ops                = M->ops[0];
    M->ops->mult             = AIJTCUMAIJMult;
    M->ops->multtranspose    = AIJTCUMAIJMultTranspose;
    M->ops->multadd          = AIJTCUMAIJMultAdd;
    M->ops->multtransposeadd = AIJTCUMAIJMultTransposeAdd;
    *made                    = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the begin of an event, whichever */
static PetscErrorCode AIJTCUMAIJEvent(PetscLogEvent event, int unused, PetscObject o1, PetscObject o2, PetscObject o3, PetscObject o4)
{
  AIJTCUMAIJ **at = &AIJTCUMAIJWaiting;

  PetscFunctionBegin;
  (void)event, (void)unused, (void)o1, (void)o2, (void)o3, (void)o4;
  while (*at) {
    PetscBool made;

    PetscCall(AIJTCUMAIJWrap(*at, &made));
    if (made) *at = (*at)->next;
    else at = &(*at)->next;
  }
  if (!AIJTCUMAIJWaiting) PetscCall(PetscLogHandlerStop(AIJTCUMAIJHandler));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJDestroy(PetscCtxRt ctx)
{
  AIJTCUMAIJ *maij = *(AIJTCUMAIJ **)ctx;

  PetscFunctionBegin;
  for (AIJTCUMAIJ **at = &AIJTCUMAIJWaiting; *at; at = &(*at)->next) {
    if (*at == maij) {
      *at = maij->next;
      break;
    }
  }
  PetscCall(PetscFree(maij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJFinalize(void)
{
  PetscFunctionBegin;
  AIJTCUMAIJWaiting = NULL; /* what was never destroyed */
  PetscCall(PetscLogHandlerStop(AIJTCUMAIJHandler));
  PetscCall(PetscLogHandlerDestroy(&AIJTCUMAIJHandler));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constructor: PETSc's own is that of MATMAIJ */
static PetscErrorCode AIJTCUCreateMAIJ(Mat M)
{
  PetscErrorCode (*create)(Mat);
  AIJTCUMAIJ *maij;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(MatList, MATMAIJ, &create));
  PetscCall((*create)(M));
  if (!AIJTCUMAIJHandler) {
    PetscCall(PetscLogHandlerCreateLegacy(PETSC_COMM_SELF, AIJTCUMAIJEvent, NULL, NULL, NULL, &AIJTCUMAIJHandler));
    PetscCall(PetscRegisterFinalize(AIJTCUMAIJFinalize));
  }
  PetscCall(PetscLogHandlerStart(AIJTCUMAIJHandler));
  PetscCall(PetscNew(&maij));
  maij->M           = M;
  maij->next        = AIJTCUMAIJWaiting;
  AIJTCUMAIJWaiting = maij;
  PetscCall(AIJTCUComposeData((PetscObject)M, MAIJ_KEY, maij, AIJTCUMAIJDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

PetscErrorCode AIJTCURegisterMAIJ(void)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_LOG)
  PetscCall(MatRegister(MATSEQMAIJ, AIJTCUCreateMAIJ));
  PetscCall(MatRegister(MATMPIMAIJ, AIJTCUCreateMAIJ));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
