/*
   The decision how a product is made: from what is set and what is known of a matrix to a path, a kernel and a format.

   Everything here is a value. Nothing refers to a Mat, allocates memory or calls PETSc or CUDA, so a test can ask with
   facts that it makes up: test/aijtcu/tests/choice.c.
*/
#pragma once

#include "../common/common.h"

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
  AIJTCU_REASON_ALPHA_REORDERED,
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
  AIJTCU_REASON_ADDS,
  AIJTCU_REASON_ONE_COLUMN,
  AIJTCU_NREASONS
} AIJTCUReason;
PETSC_EXTERN const char *const AIJTCUReasons[AIJTCU_NREASONS];

/* A fact that a decision lacks. They are asked for in this sequence, which is that of their cost but for the tuning */
typedef enum {
  AIJTCU_NEED_NOTHING,
  AIJTCU_NEED_VECTOR,    /* what kernels for one vector need */
  AIJTCU_NEED_TRANSPOSE, /* the transpose for these kernels */
  AIJTCU_NEED_TUNING,    /* times measured on a proxy */
  AIJTCU_NEED_CSR,       /* the schedule of the CSR kernels */
  AIJTCU_NEED_PANELS,    /* panels for sampled products in that schedule */
  AIJTCU_NEED_SURVEY,    /* counts of active columns */
  AIJTCU_NEED_ORDER,     /* a reordering. The search takes at most AIJTCUDecision.levels levels */
  AIJTCU_NNEEDS
} AIJTCUNeedFact;

/*
   What is wanted of a matrix. What is not said is zero: plain operands, a path that is not decided yet.

   A product that is a part of a wider one is decided as for all columns of that. So it has the bits of the whole, in
   however many parts it comes. Kernels are for the columns that it has.
*/
typedef struct {
  SpmmOp        op;
  PetscInt      N;      /* columns of the dense operand */
  PetscInt      decide; /* columns to decide for, where these are more */
  PetscInt      K;      /* columns that are multiplied with each other, with SPMM_OP_FUSED */
  SpmmLayout    X, Y;   /* of operand and result */
  SpmmUpdate    update;
  PetscBool     softmax; /* with SPMM_OP_FUSED */
  MatAIJTCUPath path;    /* MAT_AIJTCU_PATH_AUTO, or as decided before, for this reason */
  AIJTCUReason  reason;
  PetscBool     host;       /* it is made on the host, wherever the matrix is */
  PetscBool     transposed; /* with the transpose, with SPMM_OP_VECTOR, */
  PetscBool     conjugated; /* and, where scalars are complex, with its conjugate */
  PetscBool     untuned;    /* leave tuning aside and ask the model */
} AIJTCUAsk;

/*
   Where need is not AIJTCU_NEED_NOTHING, the members after the path are not valid. A path of MAT_AIJTCU_PATH_AUTO is
   not valid then either.
*/
typedef struct {
  SpmmOp            op;
  PetscInt          N;         /* columns that it was decided for */
  MatAIJTCUPath     path;      /* MAT_AIJTCU_PATH_AUTO while it is not known */
  AIJTCUReason      reason;    /* why this path */
  const SpmmKernel *kernel;    /* NULL for the parent's product, or where there is none */
  HrpbParams        format;    /* format of the bricks; zeros on another path */
  PetscBool         reordered; /* the bricks are of the reordered matrix */
  PetscBool         there;     /* these bricks are there, built or refused */
  HrpbPrecision     precision; /* of products with them */
  double            seconds;   /* of the kernel, by its model, or 0 */
  AIJTCUNeedFact    need;
  PetscInt          levels; /* levels of a search, with AIJTCU_NEED_ORDER */
} AIJTCUDecision;

/*
   AIJTCU_LEAST_SHARED: percent of a row's columns that its neighbours must have, too. A forced reordering ignores it.
   Meshes have about 40, graphs with random edges 7.
*/
enum {
  AIJTCU_MOST_VARIANTS = 5, /* ways to multiply among which tuning chooses */
  AIJTCU_MOST_TUNED    = 8, /* numbers of columns that one pattern can be tuned for */
  AIJTCU_LEAST_SHARED  = 20
};

/* A way to multiply among which tuning chooses */
typedef struct {
  HrpbParams format; /* of bricks; zeros for the CSR path */
  PetscBool  timed;  /* whether to time it: the model does not foretell that another is much faster */
  double     share;  /* of the time of the kernel that is timed, which a kernel of complex numbers stands in for */
} AIJTCUVariant;

/* What products with a number of columns take, where that was tuned: see tune.c */
typedef struct {
  AIJTCUDecision   choice; /* its format is zeros where the model chose */
  MatAIJTCUVariant variant[AIJTCU_MOST_VARIANTS];
  MatAIJTCUTuning  tuning;
} AIJTCUTuned;

/*
   What is known of a matrix. Where a state is AIJTCU_EMPTY, nothing else of that fact may be read. Nonzeros are known
   with the survey and with the schedule. A survey that was refused is zeros. A survey of the host lacks the facts
   about staging.

   A search for a reordering ends after order_levels levels. It also ends where neighbours share too little, unless the
   reordering is forced.
*/
typedef struct {
  PetscBool device;    /* its parent type is one of a device */
  PetscBool bound;     /* it is bound to the host */
  PetscBool on_device; /* it is on a device now, and this library has kernels there */

  SpmmFacts   matrix;          /* sizes, survey, and the numbers of the CSR schedule and of what serves one vector */
  AIJTCUState survey_state;    /* whether the survey in matrix is valid */
  AIJTCUState csr_state;       /* whether the numbers of the schedule in matrix are valid */
  AIJTCUState vector_state;    /* the same for one vector. Refused for a matrix without entries, too */
  AIJTCUState transpose_state; /* whether its transpose is there. Numbers are the transpose's where that is asked for */
  PetscBool   panels_sought;   /* whether the schedule has panels for sampled products, if there can be any */

  AIJTCUState order_state;
  PetscInt    order_levels; /* most levels of the search */
  PetscBool   order_forced;
  PetscReal   order_shared; /* percent of their columns that neighbours share */
  PetscInt    order_found;  /* levels that the search took */
  HrpbSurvey  order_survey; /* survey of the reordered matrix */

  AIJTCUState bricks_state; /* the bricks that are where the matrix is */
  HrpbParams  bricks_format;
  PetscBool   bricks_reordered;
  uint32_t    bricks_max_pattern, bricks_max_values; /* sizes of their largest block */

  /*
     The tunings that were made while precision and reorder were set to these. Bricks have one format for all of them:
     the first that won, zeros while none has.
  */
  PetscInt           ntuned;
  const AIJTCUTuned *tuned; /* [ntuned] */
  HrpbParams         tuned_format;
  MatAIJTCUPrecision tuned_precision;
  MatAIJTCUReorder   tuned_reorder;
} AIJTCUFacts;

/* What the model compares for a product, and what a threshold is compared with. Zeros where something is not known */
typedef struct {
  PetscReal alpha, alpha_reordered;
  PetscReal threshold;              /* as set; else the alpha at which bricks begin to pay, 0 for any, 2 for none */
  double    bricks, csr, reordered; /* seconds */
  double    dense;                  /* of a dense matrix of this size */
} AIJTCUComparison;

/* What is known of the current device */
typedef struct {
  PetscBool         pays[HRPB_TF32 + 1]; /* whether tensor cores pay for a precision */
  const SpmmDevice *device;
} AIJTCUDeviceFacts;

/* A test outside of the library uses these functions and the reasons */
PETSC_EXTERN AIJTCUDecision AIJTCUDecide(const AIJTCUAsk *, const AIJTCUOptions *, const AIJTCUFacts *, const AIJTCUDeviceFacts *);
PETSC_EXTERN PetscInt       AIJTCUVariants(const AIJTCUAsk *, const AIJTCUOptions *, const AIJTCUFacts *, const AIJTCUDeviceFacts *, AIJTCUVariant[AIJTCU_MOST_VARIANTS]);
PETSC_EXTERN AIJTCUComparison AIJTCUCompare(PetscInt, const AIJTCUOptions *, const AIJTCUFacts *, const AIJTCUDeviceFacts *);

PETSC_INTERN SpmmOperands  AIJTCUOperandsAsked(const AIJTCUAsk *);
PETSC_INTERN PetscBool     AIJTCUTuningIsValid(const AIJTCUOptions *, const AIJTCUFacts *, const AIJTCUDeviceFacts *);
PETSC_INTERN PetscInt      AIJTCUTuningFind(SpmmOp, const AIJTCUOptions *, const AIJTCUFacts *, PetscInt, const AIJTCUDeviceFacts *);
PETSC_INTERN HrpbParams    AIJTCUFormatSet(const AIJTCUOptions *);
PETSC_INTERN HrpbPrecision AIJTCUPrecision(const AIJTCUOptions *);
PETSC_INTERN PetscReal     AIJTCUThresholdInForce(const AIJTCUOptions *, PetscBool, const AIJTCUDeviceFacts *);
