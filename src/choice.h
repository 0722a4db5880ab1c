/*
   The decision how a product is made: from what is set and what is known of a matrix to a path, a kernel and a format.

   Everything here is a value. Nothing refers to a Mat, allocates memory or calls PETSc or CUDA, so a test can ask with
   facts that it makes up: test/aijtcu/tests/choice.c.
*/
#pragma once

#include <petscaijtcu.h>
#include <spmm.h>

/* Bricks hold real scalars of the precisions that tensor cores have */
#if !PetscDefined(USE_COMPLEX) && (PetscDefined(USE_REAL_DOUBLE) || PetscDefined(USE_REAL_SINGLE))
  #define AIJTCU_HAVE_BRICKS 1
#else
  #define AIJTCU_HAVE_BRICKS 0
#endif

/* What a user can set */
typedef struct {
  MatAIJTCUPath      path;
  MatAIJTCUFormat    format; /* zeros while none is set */
  MatAIJTCUPrecision precision;
  MatAIJTCUReorder   reorder;
  MatAIJTCUTune      tune;
  PetscReal          threshold; /* PETSC_DEFAULT while none is set */
} AIJTCUOptions;

/* Why a product takes its path. AIJTCUReasons has the words that -mat_aijtcu_view_choice and -info print */
typedef enum {
  AIJTCU_REASON_UNKNOWN,
  AIJTCU_REASON_SET,
  AIJTCU_REASON_SCALAR_TYPE,
  AIJTCU_REASON_NO_DEVICE,
  AIJTCU_REASON_NO_KERNEL,
  AIJTCU_REASON_THRESHOLD_ABOVE_ONE,
  AIJTCU_REASON_BOUND,
  AIJTCU_REASON_ANY_ALPHA,
  AIJTCU_REASON_ALPHA_HIGH,
  AIJTCU_REASON_ALPHA_LOW,
  AIJTCU_REASON_TUNED,
  AIJTCU_REASON_NO_ENTRIES,
  AIJTCU_REASON_FEW_ENTRIES,
  AIJTCU_REASON_SHORT_ROWS,
  AIJTCU_REASON_NO_SURVEY,
  AIJTCU_REASON_SCATTERED,
  AIJTCU_REASON_REORDERED_FASTER,
  AIJTCU_REASON_BRICKS_SLOWER,
  AIJTCU_REASON_BRICKS_FASTER,
  AIJTCU_REASON_NO_CSR_KERNEL,
  AIJTCU_NREASONS
} AIJTCUReason;
PETSC_EXTERN const char *const AIJTCUReasons[AIJTCU_NREASONS];

/* A fact that a decision lacks */
typedef enum {
  AIJTCU_NEED_NOTHING,
  AIJTCU_NEED_CSR,    /* the schedule of the kernels for CSR */
  AIJTCU_NEED_SURVEY, /* counts of active columns */
  AIJTCU_NEED_ORDER,  /* a reordering, found through at most AIJTCUDecision.levels levels */
  AIJTCU_NEED_TUNING  /* times of a proxy */
} AIJTCUNeedFact;

/*
   Unless need is AIJTCU_NEED_NOTHING, what comes after the path is not known. Nor is the path itself, if it is
   MAT_AIJTCU_PATH_AUTO
*/
typedef struct {
  SpmmOp            op;
  PetscInt          N;         /* columns of the dense operand */
  MatAIJTCUPath     path;      /* MAT_AIJTCU_PATH_AUTO while it is not known */
  AIJTCUReason      reason;    /* of the path */
  const SpmmKernel *kernel;    /* NULL: the parent's product */
  HrpbParams        format;    /* of the bricks; zeros on another path */
  PetscBool         reordered; /* the bricks are of the reordered matrix */
  AIJTCUNeedFact    need;
  PetscInt          levels; /* of AIJTCU_NEED_ORDER */
} AIJTCUDecision;

/*
   AIJTCU_LEAST_SHARED: percent of a row's columns that its neighbours must have, too, unless a reordering is forced. It is
   about 40 in meshes, and 7 where edges are drawn by chance
*/
enum {
  AIJTCU_NFORMATS      = 5,                   /* of bricks among which a device chooses */
  AIJTCU_MOST_VARIANTS = AIJTCU_NFORMATS + 1, /* and CSR */
  AIJTCU_MOST_TUNED    = 8,                   /* numbers of columns */
  AIJTCU_LEAST_SHARED  = 20
};

/* What products with a number of columns take, where that was tuned: see tune.c */
typedef struct {
  AIJTCUDecision   choice; /* its format is zeros where the model chose */
  MatAIJTCUVariant variant[AIJTCU_MOST_VARIANTS];
  MatAIJTCUTuning  tuning;
} AIJTCUTuned;

/* What became of a thing that is made once for a pattern */
typedef enum {
  AIJTCU_EMPTY, /* not tried */
  AIJTCU_READY,
  AIJTCU_REFUSED /* not to be had for this pattern */
} AIJTCUState;

/*
   What is known of a matrix. Of what is AIJTCU_EMPTY nothing else is to be read. Nonzeros are known with the survey and
   with the schedule. A survey that was refused is zeros, and that of the host lacks what concerns staging.

   A search for an order ends after order_levels levels, and where neighbours share too little, unless it is forced.

   What was tuned holds while precision and reorder are set as they were. Bricks have one format for all numbers of
   columns: the first that won, zeros while none has.
*/
typedef struct {
  PetscBool device;    /* its parent type is one of a device, */
  PetscBool bound;     /* but it is bound to the host */
  PetscBool on_device; /* it is on a device now, and this library has kernels there */

  SpmmFacts   matrix;       /* its sizes, */
  AIJTCUState survey_state; /* its survey, */
  AIJTCUState csr_state;    /* and the numbers of its CSR schedule */

  AIJTCUState order_state;
  PetscInt    order_levels; /* of the search, at most */
  PetscBool   order_forced;
  PetscReal   order_shared; /* percent of their columns that neighbours share */
  PetscInt    order_found;  /* levels that it took */
  HrpbSurvey  order_survey; /* of the reordered matrix */

  AIJTCUState bricks_state; /* those that are where the matrix is */
  HrpbParams  bricks_format;
  PetscBool   bricks_reordered;
  uint32_t    bricks_max_pattern, bricks_max_values; /* of their largest block */

  /*
     What was tuned while precision and reorder were set to these. Bricks have one format for all: the first that won,
     zeros while none has
  */
  PetscInt           ntuned;
  const AIJTCUTuned *tuned; /* [ntuned] */
  HrpbParams         tuned_format;
  MatAIJTCUPrecision tuned_precision;
  MatAIJTCUReorder   tuned_reorder;
  PetscBool          untuned; /* the model is asked, before there is a tuning */
} AIJTCUFacts;

/* What is known of the current device */
typedef struct {
  PetscBool         pays[HRPB_TF32 + 1]; /* it has tensor cores that pay for a precision */
  const SpmmDevice *device;
} AIJTCUDeviceFacts;

/* This and the reasons can be seen outside of the library, by their test */
PETSC_EXTERN AIJTCUDecision AIJTCUDecide(SpmmOp, const AIJTCUOptions *, const AIJTCUFacts *, PetscInt, const AIJTCUDeviceFacts *);

PETSC_INTERN AIJTCUDecision AIJTCUDecideOn(const AIJTCUDecision *, const AIJTCUOptions *, const AIJTCUFacts *, const AIJTCUDeviceFacts *);
PETSC_INTERN HrpbParams     AIJTCUDecideFormat(const AIJTCUOptions *, const AIJTCUFacts *, const AIJTCUDeviceFacts *);
PETSC_INTERN PetscBool      AIJTCUTuningIsValid(const AIJTCUOptions *, const AIJTCUFacts *, const AIJTCUDeviceFacts *);
PETSC_INTERN PetscInt       AIJTCUTuningFind(SpmmOp, const AIJTCUOptions *, const AIJTCUFacts *, PetscInt, const AIJTCUDeviceFacts *);
PETSC_INTERN HrpbParams     AIJTCUFormat(int);
PETSC_INTERN HrpbParams     AIJTCUFormatSet(const AIJTCUOptions *);
PETSC_INTERN PetscBool      AIJTCUFormatIsCandidate(const AIJTCUFacts *, const HrpbParams *);
PETSC_INTERN PetscBool      AIJTCUFormatsEqual(const HrpbParams *, const HrpbParams *);
PETSC_INTERN HrpbPrecision  AIJTCUPrecision(const AIJTCUOptions *);
PETSC_INTERN PetscReal      AIJTCUThresholdInForce(const AIJTCUOptions *, PetscBool, const AIJTCUDeviceFacts *);
