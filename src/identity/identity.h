/*
   How a plan hangs on a matrix of a parent type, and how that matrix looks like one of the parent's while the parent
   works on it.
*/
#pragma once

#include "../common/common.h"

typedef struct _n_AIJTCUPlan AIJTCUPlan;

typedef enum {
  AIJTCU_KIND_SEQ,
  AIJTCU_KIND_MPI
} AIJTCUKind;

typedef void (*AIJTCUFn)(void);

enum { /* composed functions that are wrapped, see AIJTCUWrapComposed() */
  AIJTCU_SET_PREALLOCATION_COO,
  AIJTCU_SET_VALUES_COO,
  AIJTCU_COPY_SUBARRAY,
  AIJTCU_SET_PREALLOCATION_SEQ,
  AIJTCU_SET_PREALLOCATION_MPI,
  AIJTCU_RESET_PREALLOCATION,
  AIJTCU_RESET_HASH,
  AIJTCU_LOCAL_MERGE,
  AIJTCU_STORE_VALUES,
  AIJTCU_RETRIEVE_VALUES,
  AIJTCU_PRODUCT_ANY,
  AIJTCU_CONVERT, /* the first of seven */
  AIJTCU_CONVERT_LAST = AIJTCU_CONVERT + 6,
  AIJTCU_PRODUCT_DENSE,
  AIJTCU_PRODUCT_DENSECUDA,
  AIJTCU_NCOMPOSED
};

/* The first member of each plan. plan/plan.h has the others, of which nothing is known here */
typedef struct {
  AIJTCUKind kind;
  /* it carries our type name. If not, it carries its parent's: a block of a parallel matrix, or -mat_aijtcu_attach */
  PetscBool      own_name;
  PetscBool      device;    /* the parent is an aijcusparse type */
  PetscInt64     number;    /* from 1 on; no other plan has had it */
  PetscContainer container; /* the container that holds this plan; not a reference */

  /* The parent's view of the matrix: see AIJTCUParentViewBegin() */
  char          *other_name;  /* the parent's name outside of a view, our own inside */
  char          *parent_type; /* the parent's name, to compare with */
  PetscInt       view_depth;
  struct _MatOps parent;                     /* the operations that ours wrap; valid outside of a view */
  AIJTCUFn       composed[AIJTCU_NCOMPOSED]; /* the composed functions that ours wrap */

  /* A block reads the options of the parallel matrix that it belongs to, and adds to its counts */
  AIJTCUPlan     *owner;
  PetscBool       off_diagonal; /* of the parallel matrix */
  char           *prefix;       /* the options prefix of a parallel matrix, or NULL. Blocks have none of their own */
  AIJTCUOptions   options;
  MatAIJTCUCounts counts;
} AIJTCUIdentity;

/* What stands in for the parent's functions */
enum {                       /* which matrices a function is for, and how it is put there: sums of these */
  AIJTCU_FOR_OWN        = 1, /* matrices with our name */
  AIJTCU_FOR_OTHERS     = 2, /* matrices without it */
  AIJTCU_FOR_DEVICE     = 4, /* matrices whose parent is an aijcusparse type */
  AIJTCU_FOR_SEQ        = 8,
  AIJTCU_FOR_MPI        = 16,
  AIJTCU_ADDED          = 32, /* put there even if the parent has none */
  AIJTCU_BY_PARENT_TYPE = 64  /* the key of a composed function has the parent's name in it */
};
typedef struct {
  size_t   slot; /* offset of an operation in struct _MatOps */
  AIJTCUFn own;  /* NULL ends the table */
  int      where;
} AIJTCUOp;
/* The comparison in this macro lets the compiler check that own has the type of the operation op */
#define AIJTCU_OP(op, own, where)                                                                            \
  {                                                                                                          \
    offsetof(struct _MatOps, op) + 0 * sizeof((own) == ((struct _MatOps *)NULL)->op), (AIJTCUFn)(own), where \
  }
typedef struct {
  const char *format; /* of the key for PetscObjectQueryFunction(). %s is seq or mpi, as in names of types */
  AIJTCUFn    own;
  int         where;
} AIJTCUComposed;
typedef struct {
  const AIJTCUOp       *ops;
  const AIJTCUComposed *composed; /* [AIJTCU_NCOMPOSED] */
  PetscErrorCode (*view)(Mat, PetscViewer);
  PetscErrorCode (*leave)(Mat); /* called before a matrix of ours is destroyed */
  size_t size;                  /* of a plan, which begins as zeros */
  PetscErrorCode (*initialize)(AIJTCUPlan *);
  PetscErrorCode (*reset)(AIJTCUPlan *);
} AIJTCUClass;

PETSC_INTERN void           AIJTCUSetClass(const AIJTCUClass *);
PETSC_INTERN PetscErrorCode AIJTCUGetPlan(Mat, AIJTCUPlan **); /* NULL where there is none */
PETSC_INTERN PetscErrorCode AIJTCUGetIdentity(Mat, AIJTCUIdentity **);
PETSC_INTERN PetscErrorCode AIJTCUAttach(Mat, AIJTCUKind, PetscBool, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUDetach(Mat);
PETSC_INTERN PetscErrorCode AIJTCUInherit(Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUInheritFromFirst(const Mat[3], Mat);
PETSC_INTERN PetscErrorCode AIJTCUAttachBlocks(Mat);
PETSC_INTERN PetscErrorCode AIJTCUGetBlocks(Mat, Mat[2]);
PETSC_INTERN PetscErrorCode AIJTCUWrapComposed(Mat);
PETSC_INTERN PetscErrorCode AIJTCUUnwrapComposed(Mat);
PETSC_INTERN PetscErrorCode AIJTCUParentViewBegin(Mat, AIJTCUIdentity **);
PETSC_INTERN PetscErrorCode AIJTCUParentViewEnd(Mat, AIJTCUIdentity *);
PETSC_INTERN PetscErrorCode AIJTCUHasDevice(MPI_Comm, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUOperandKeyGet(Mat, AIJTCUOperandKey *);

/* A block has the options of the parallel matrix that it belongs to. A plan begins with its identity */
static inline const AIJTCUOptions *AIJTCUGetOptions(const AIJTCUPlan *plan)
{
  const AIJTCUIdentity *identity = (const AIJTCUIdentity *)plan;

  return identity->owner ? &((const AIJTCUIdentity *)identity->owner)->options : &identity->options;
}

/* The same for counts */
static inline MatAIJTCUCounts *AIJTCUGetCounts(AIJTCUPlan *plan)
{
  AIJTCUIdentity *identity = (AIJTCUIdentity *)plan;

  return identity->owner ? &((AIJTCUIdentity *)identity->owner)->counts : &identity->counts;
}

/* One more of a field of MatAIJTCUCounts */
#define AIJTCUCount(plan, field)                                        \
  do {                                                                  \
    AIJTCUGetCounts(plan)->field++;                                     \
    AIJTCUAll.counts[((const AIJTCUIdentity *)(plan))->device].field++; \
  } while (0)

/* Calls a function of the parent type while A looks like a matrix of that type. The view ends after an error, too */
#define AIJTCUCallParent(A, call)                \
  do {                                           \
    AIJTCUIdentity *plan_;                       \
    PetscErrorCode  ierr_;                       \
    PetscCall(AIJTCUParentViewBegin(A, &plan_)); \
    ierr_ = (call);                              \
    PetscCall(AIJTCUParentViewEnd(A, plan_));    \
    PetscCall(ierr_);                            \
  } while (0)

/* The same for the parent's operation that ours stands in for */
#define AIJTCUCallParentOp(A, op, ...)                        \
  do {                                                        \
    AIJTCUIdentity *wrapped_;                                 \
    PetscCall(AIJTCUGetIdentity(A, &wrapped_));               \
    AIJTCUCallParent(A, (*wrapped_->parent.op)(__VA_ARGS__)); \
  } while (0)

/*
   The same for a call that copies A's composed functions into another matrix, such as MatDuplicate(). Our functions
   are taken away during the call, so they are not copied.
*/
#define AIJTCUCallParentBare(A, call)            \
  do {                                           \
    AIJTCUIdentity *bare_;                       \
    PetscErrorCode  ierr_;                       \
    PetscCall(AIJTCUUnwrapComposed(A));          \
    PetscCall(AIJTCUParentViewBegin(A, &bare_)); \
    ierr_ = (call);                              \
    PetscCall(AIJTCUParentViewEnd(A, bare_));    \
    PetscCall(AIJTCUWrapComposed(A));            \
    PetscCall(ierr_);                            \
  } while (0)
