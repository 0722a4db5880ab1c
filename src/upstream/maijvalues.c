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
   constructor, which is registered anew here, stands in front of a log handler. At the next event of the program, at
   the latest that of a product, the operations are there. They are wrapped then, and the handler has its place back.
   The wrappers bring the values to the host. PETSc has chosen some operations before their event: that one sees to
   them. A PETSc without logging has no events, and -log_exclude turns some off: values may be old there.

   The constructor calls nothing that may fail, unless many wait: MatCreateMAIJ() would lose what it has made
*/
#include "upstream.h"

#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_LOG)

  #define MAIJ_KEY "AIJTCU_MAIJ"

typedef struct {
  struct _MatOps ops; /* PETSc's operations: products with vectors */
  PetscErrorCode (*product)(Mat);
  PetscErrorCode (*symbolic)(Mat);
} AIJTCUMAIJ;

static PetscErrorCode (*AIJTCUMAIJCreate)(Mat); /* PETSc's constructor */
static Mat                AIJTCUMAIJWaiting[64];
static int                AIJTCUMAIJWaits;
static PetscLogHandlerHot AIJTCUMAIJBehind; /* the handler, or an empty place */

  #define AIJTCU_MAIJ_PLACE PetscLogHandlers[PETSC_LOG_HANDLER_MAX - 1]

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

/* C has got its symbolic phase from PETSc */
static void AIJTCUMAIJWrapProduct(Mat C, AIJTCUMAIJ *maij)
{
  maij->symbolic          = C->ops->productsymbolic;
  C->ops->productsymbolic = AIJTCUMAIJProductSymbolic;
}

/*
   In parallel PETSc may make a MATMPIAIJ of P here, and go on with that. MatProductSetFromOptions() calls this twice:
   the second time nothing is left to do then
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
  AIJTCUMAIJWrapProduct(C, maij);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatCreateMAIJ() composes last says that M is made. settled: nothing more is to be done for M */
static PetscErrorCode AIJTCUMAIJWrap(Mat M, PetscBool *settled)
{
  const char *const products[] = {"MatProductSetFromOptions_seqaij_seqmaij_C", "MatProductSetFromOptions_mpiaij_mpimaij_C"};
  PetscErrorCode (*product)(Mat) = NULL;
  AIJTCUMAIJ *maij;
  PetscBool   is;
  int         i = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)M, &is, MATSEQMAIJ, MATMPIMAIJ, ""));
  *settled = (PetscBool)!is;
  for (; is && i < 2 && !product; i++) PetscCall(PetscObjectQueryFunction((PetscObject)M, products[i], &product));
  if (!product) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&maij));
  maij->product = product;
  maij->ops     = M->ops[0];
  PetscCall(AIJTCUComposeData((PetscObject)M, MAIJ_KEY, maij, PetscCtxDestroyDefault));
  PetscCall(PetscObjectComposeFunction((PetscObject)M, products[i - 1], AIJTCUMAIJProduct));
  M->ops->mult             = AIJTCUMAIJMult;
  M->ops->multtranspose    = AIJTCUMAIJMultTranspose;
  M->ops->multadd          = AIJTCUMAIJMultAdd;
  M->ops->multtransposeadd = AIJTCUMAIJMultTransposeAdd;
  *settled                 = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJWrapWaiting(void)
{
  PetscFunctionBegin;
  for (int k = AIJTCUMAIJWaits - 1; k >= 0; k--) {
    PetscBool settled = PETSC_FALSE;

    PetscCall(AIJTCUMAIJWrap(AIJTCUMAIJWaiting[k], &settled));
    if (settled) AIJTCUMAIJWaiting[k] = AIJTCUMAIJWaiting[--AIJTCUMAIJWaits];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What PETSc has chosen before the event: the transposed products of a matrix, and the symbolic phase of P^T A P, which
   only a MATAIJ A has from P
*/
static PetscErrorCode AIJTCUMAIJChosenBefore(PetscLogEvent event, Mat A)
{
  AIJTCUMAIJ *maij = NULL;
  PetscBool   is;

  PetscFunctionBegin;
  if (event == MAT_MultTranspose || event == MAT_MultTransposeAdd) {
    PetscCall(AIJTCUMAIJGet(A, &maij));
    if (maij) PetscCall(AIJTCUMAIJToHost(A, &maij));
  } else if (event == MAT_PtAPSymbolic) {
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A->product->A, &is, MATSEQAIJ, MATMPIAIJ, ""));
    if (is) PetscCall(AIJTCUMAIJGet(A->product->B, &maij));
    if (maij && A->ops->productsymbolic != AIJTCUMAIJProductSymbolic) AIJTCUMAIJWrapProduct(A, maij);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the begin of an event, whichever */
static PetscErrorCode AIJTCUMAIJEvent(PetscLogHandler handler, PetscLogEvent event, PetscObject o1, PetscObject o2, PetscObject o3, PetscObject o4)
{
  const PetscLogHandlerHot behind = AIJTCUMAIJBehind;

  PetscFunctionBegin;
  PetscCall(AIJTCUMAIJWrapWaiting());
  PetscCall(AIJTCUMAIJChosenBefore(event, (Mat)o1));
  if (!AIJTCUMAIJWaits) AIJTCU_MAIJ_PLACE = behind;
  if (behind.eventBegin) PetscCall((*behind.eventBegin)(handler, event, o1, o2, o3, o4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMAIJGone(PetscLogHandler handler, PetscObject obj)
{
  PetscFunctionBegin;
  for (int k = AIJTCUMAIJWaits - 1; k >= 0; k--) {
    if ((PetscObject)AIJTCUMAIJWaiting[k] == obj) AIJTCUMAIJWaiting[k] = AIJTCUMAIJWaiting[--AIJTCUMAIJWaits];
  }
  if (AIJTCUMAIJBehind.objectDestroy) PetscCall((*AIJTCUMAIJBehind.objectDestroy)(handler, obj));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCreateMAIJ(Mat M)
{
  PetscFunctionBegin;
  PetscCall((*AIJTCUMAIJCreate)(M));
  if (AIJTCU_MAIJ_PLACE.eventBegin != AIJTCUMAIJEvent) {
    AIJTCUMAIJWaits                 = 0; /* nobody has told of their end, if another handler took the place */
    AIJTCUMAIJBehind                = AIJTCU_MAIJ_PLACE;
    AIJTCU_MAIJ_PLACE.eventBegin    = AIJTCUMAIJEvent;
    AIJTCU_MAIJ_PLACE.objectDestroy = AIJTCUMAIJGone;
  }
  if (AIJTCUMAIJWaits == (int)PETSC_STATIC_ARRAY_LENGTH(AIJTCUMAIJWaiting)) PetscCall(AIJTCUMAIJWrapWaiting());
  /* where it is full still, the others were made without MatCreateMAIJ(), and have no operations */
  if (AIJTCUMAIJWaits < (int)PETSC_STATIC_ARRAY_LENGTH(AIJTCUMAIJWaiting)) AIJTCUMAIJWaiting[AIJTCUMAIJWaits++] = M;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

PetscErrorCode AIJTCURegisterMAIJ(void)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_LOG)
  AIJTCUMAIJWaits = 0;
  PetscCall(PetscFunctionListFind(MatList, MATMAIJ, &AIJTCUMAIJCreate));
  PetscCall(MatRegister(MATSEQMAIJ, AIJTCUCreateMAIJ));
  PetscCall(MatRegister(MATMPIMAIJ, AIJTCUCreateMAIJ));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
