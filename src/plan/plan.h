/*
   The plan of a matrix: what is known of it, what is decided, and what is built for its products.
*/
#pragma once

#include "../identity/identity.h"
#include "../device/device.h"
#include "../halo/halo.h"
#include "artifacts.h"

typedef struct _n_AIJTCUChoice AIJTCUChoice;

struct _n_AIJTCUPlan {
  AIJTCUIdentity id;
  PetscBool      is_transpose; /* its matrix is the transpose of one, or of a block */
  AIJTCUChoice  *counted;      /* of a parallel matrix: what record.c counted last */
  PetscInt       columns;      /* of the last product that was decided, or 0 */

  const AIJTCUOptions *options; /* in force: its own or its owner's. Of the last AIJTCUPlanSync(), as what follows is */

  /* Artifacts of the pattern that pattern_key names: see AIJTCUPlanSync() */
  AIJTCUPatternKey pattern_key;
  AIJTCUSurvey     survey;
  AIJTCUReal       real;
  AIJTCUCsr        csr;
  AIJTCUVector     vector;
  AIJTCUTranspose  transpose;
  AIJTCUTransposed transposed;
  AIJTCUOrder      order;
  AIJTCUBricks     bricks;
  AIJTCUTunings    tunings;
#if AIJTCU_HAVE_HALO
  AIJTCUHalo *halo;       /* of a parallel matrix, NULL while there is none */
  AIJTCUState transposes; /* of both blocks of a parallel matrix, on all processes: productmpi.c */
#endif
  AIJTCUAnswer   answer;   /* the last decision of AIJTCUPlanOrder(): goes when an artifact comes or goes */
  AIJTCULaunches launches; /* on a device: products that may come again */
  AIJTCURefusal  refused;  /* artifacts, for lack of memory: how long they are not asked for again */
  PetscBool      forgives; /* some are */
};

/*
   workorder.c. An operation asks for a path when it is set up, and for a work order each time it runs. The path stays
   as decided. What follows from the path is that of the matrix and the options at the time of the run. Where bricks
   cannot be had, the operation asks for the CSR path (product.c).

   AIJTCUPlanDecide()   writes path and reason into the ask; fetches the facts that they need
   AIJTCUPlanOrder()    builds or renews what the path needs; writes an order, in which a kernel may be missing
   AIJTCUPlanPeek()     for views: fetches nothing; says whether the path is known
   AIJTCUPlanKnow()     fetches all facts; gives the whole decision
   AIJTCUPlanCompare()  the times that the model compares, and alpha; fetches what they need if it is to
   AIJTCUPlanSurvey()   counts active columns, if they are not known
   AIJTCUPlanTuned()    what was tuned, or NULL
   AIJTCUPlanKernel()   what runs for a decision: for that of a complex matrix another kernel may stand in
*/
PETSC_INTERN PetscErrorCode AIJTCUPlanDecide(Mat, AIJTCUPlan *, AIJTCUAsk *);
PETSC_INTERN PetscErrorCode AIJTCUPlanOrder(Mat, AIJTCUPlan *, const AIJTCUAsk *, AIJTCUWorkOrder *);
PETSC_INTERN PetscErrorCode AIJTCUPlanKnow(Mat, AIJTCUPlan *, const AIJTCUAsk *, AIJTCUFacts *, AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUPlanCompare(Mat, AIJTCUPlan *, PetscInt, PetscBool, AIJTCUComparison *);
PETSC_INTERN PetscErrorCode AIJTCUPlanPeek(Mat, AIJTCUPlan *, const AIJTCUAsk *, AIJTCUDecision *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPlanSurvey(Mat, AIJTCUPlan *);
PETSC_INTERN const SpmmKernel *AIJTCUPlanKernel(const AIJTCUPlan *, const AIJTCUAsk *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUPlanTuned(Mat, AIJTCUPlan *, SpmmOp, PetscInt, const AIJTCUTuned **);

/* plan.c */
PETSC_INTERN PetscErrorCode AIJTCUPlanSync(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUPlanForgive(AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUPlanTransposed(Mat, AIJTCUPlan *, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *);
PETSC_INTERN PetscInt64     AIJTCUPlanDeviceBytes(const AIJTCUPlan *);
PETSC_INTERN HrpbParams     AIJTCUGetFormat(const AIJTCUPlan *);

#if AIJTCU_HAVE_BRICKS
/* arrays.c: the arrays of a matrix as kernels see it. On the host: */
typedef struct {
  int64_t           nrows, ncols;
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values;
  HrpbInt          *own_rowptr, *own_colidx; /* NULL where the arrays are those of A */
  HrpbScalar       *own_values;
} AIJTCUHostCSR;

PETSC_INTERN PetscErrorCode AIJTCUHostCSRGet(Mat, PetscBool, AIJTCUHostCSR *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUHostCSRRestore(Mat, AIJTCUHostCSR *);
#endif

#if AIJTCU_HAVE_DEVICE
typedef PetscErrorCode (*AIJTCUDeviceFn)(Mat, AIJTCUPlan *, const AIJTCUDeviceCSR *, void *, HrpbError *);

/* On a device: arrays.c */
PETSC_INTERN void           AIJTCUDeviceForgetValues(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUPatternToDevice(Mat);
PETSC_INTERN PetscErrorCode AIJTCUPatternAlone(Mat);
PETSC_INTERN void           AIJTCUOrderTakeCSR(AIJTCUWorkOrder *, const AIJTCUDeviceCSR *);
PETSC_INTERN PetscErrorCode AIJTCUOrderRun(Mat, AIJTCUPlan *, AIJTCUWorkOrder *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceFetch(Mat);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCall(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCallForMemory(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
#endif

/*
   facts.c. On a device, where none of our kernels run, a matrix is as one of the parent type. Processes agree about
   where a matrix is, but each has a device of its own that may or may not run kernels
*/
typedef enum {
  AIJTCU_PLACE_HOST,  /* its type is one of the host, */
  AIJTCU_PLACE_BOUND, /* or it is bound to the host */
  AIJTCU_PLACE_IDLE,  /* on a device that runs none of our kernels */
  AIJTCU_PLACE_DEVICE
} AIJTCUPlace;
PETSC_INTERN PetscErrorCode AIJTCUWhere(Mat, const AIJTCUPlan *, AIJTCUPlace *);
PETSC_INTERN PetscErrorCode AIJTCUAtDevice(Mat, const AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUOnDevice(Mat, const AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUFactsGet(Mat, const AIJTCUPlan *, const AIJTCUAsk *, AIJTCUFacts *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceFactsGet(const AIJTCUPlan *, AIJTCUDeviceFacts *);
PETSC_INTERN PetscErrorCode AIJTCUThreshold(const AIJTCUPlan *, PetscReal *);

#if AIJTCU_HAVE_DEVICE
/*
   vectorproduct.c. A product with one vector, or with the transpose, for who launches it himself: its order has all but
   the vectors. It is current until the matrix changes, or what is made of it. An order that adds takes what one without
   does
*/
typedef struct {
  Mat              mat; /* not a reference */
  PetscBool        transposed;
  PetscInt64       plan; /* its number */
  PetscObjectState state;
  AIJTCUWorkOrder  order;
  VectorPlan       vector; /* as it was */
} AIJTCUVectorProduct;
PETSC_INTERN PetscErrorCode AIJTCUVectorProductGet(Mat, PetscBool, AIJTCUVectorProduct *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUVectorProductIsCurrent(const AIJTCUVectorProduct *, PetscBool *);
#endif

/* Bytes on the device */
PETSC_INTERN PetscInt64 AIJTCUBricksBytes(const AIJTCUBricks *);
PETSC_INTERN PetscInt64 AIJTCUOrderBytes(const AIJTCUPlan *);

/* tune.c */
PETSC_INTERN PetscErrorCode AIJTCUTuningOptions(Mat, const AIJTCUTuned *, char **);

/* record.c: -mat_aijtcu_view_choice */
PETSC_INTERN PetscErrorCode AIJTCURecordChoice(Mat, PetscInt, MatAIJTCUPath, const char[]);
PETSC_INTERN PetscErrorCode AIJTCURecordWhole(Mat, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUViewChoiceSetUp(PetscBool);
