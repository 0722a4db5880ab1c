/*
   Inside of MATAIJTCU: the plan that hangs on a matrix, and what the files of src/ offer each other.
*/
#pragma once

#include <petscaijtcu.h>
#include <petsc/private/matimpl.h>
#include <petsc/private/vecimpl.h>
#include <hrpbdevice.h>
#include <csrdevice.h>
#include <clusterdevice.h>
#include <proxydevice.h>

#if PETSC_VERSION_LT(3, 24, 0) || !PETSC_VERSION_LT(3, 27, 0)
  #error "petsc-aijtcu needs PETSc 3.24, 3.25 or 3.26"
#endif
#if PETSC_VERSION_LT(3, 25, 0)
typedef void **PetscCtxRt; /* what a container's destructor gets */
  #define AIJTCU_PRODUCT_DATA(product) ((product)->data) /* what Mat_Product's destroy gets */
#else
  #define AIJTCU_PRODUCT_DATA(product) (&(product)->data)
#endif
#if PETSC_VERSION_LT(3, 26, 0)
typedef int AIJTCUDeviceInt; /* what MatSeqAIJCUSPARSEGetIJ() gives */
#else
typedef PetscInt AIJTCUDeviceInt;
#endif

/* Bricks hold real scalars of the precisions tensor cores have; anything else always takes the scalar path */
#if !PetscDefined(USE_COMPLEX) && (PetscDefined(USE_REAL_DOUBLE) || PetscDefined(USE_REAL_SINGLE))
  #define AIJTCU_HAVE_BRICKS 1
#else
  #define AIJTCU_HAVE_BRICKS 0
#endif

/* And there are kernels for a device */
#if AIJTCU_HAVE_BRICKS && PetscDefined(HAVE_CUDA) && (!PETSC_VERSION_LT(3, 26, 0) || !PetscDefined(USE_64BIT_INDICES))
  #define AIJTCU_HAVE_DEVICE 1
#else
  #define AIJTCU_HAVE_DEVICE 0
#endif

/* Never taken by default: the threshold where no brick kernel is known to beat the scalar path */
#define AIJTCU_THRESHOLD_NEVER ((PetscReal)2.0)

#if AIJTCU_HAVE_BRICKS
_Static_assert(sizeof(HrpbInt) == sizeof(PetscInt) && sizeof(HrpbScalar) == sizeof(PetscScalar), "compile with HRPB_USE_INT64 and HRPB_USE_SINGLE as PETSc is configured");
#endif

typedef struct {
  MatAIJTCUPath      path;
  MatAIJTCUFormat    format; /* zeros while none is set: see AIJTCUGetFormat() */
  MatAIJTCUPrecision precision;
  MatAIJTCUReorder   reorder;
  MatAIJTCUTune      tune;
  PetscReal          threshold; /* PETSC_DEFAULT: what the back end's kernels deserve, see AIJTCUThreshold() */
} AIJTCUOptions;

/*
   What identifies a nonzero pattern. The nonzero state alone can repeat: MatHeaderMerge() keeps what is composed but exchanges the data.
   An id alone can meet an old object state again: MatHeaderReplace() moves the id to another matrix, which keeps its own count of states
*/
typedef struct {
  const void      *mat;
  PetscObjectId    id;
  PetscObjectState nonzerostate;
  const void      *data;
} AIJTCUPatternKey;

typedef enum {
  AIJTCU_KIND_SEQ,
  AIJTCU_KIND_MPI
} AIJTCUKind;

typedef void (*AIJTCUFn)(void);

enum { /* composed functions that are wrapped, see AIJTCUWrapComposed() */
  AIJTCU_SET_PREALLOCATION_COO,
  AIJTCU_SET_VALUES_COO,
  AIJTCU_COPY_SUBARRAY,
  AIJTCU_STORE_VALUES,
  AIJTCU_RETRIEVE_VALUES,
  AIJTCU_PRODUCT_ANY,
  AIJTCU_CONVERT, /* and the next four */
  AIJTCU_CONVERT_LAST = AIJTCU_CONVERT + 4,
  AIJTCU_PRODUCT_DENSE,
  AIJTCU_PRODUCT_DENSECUDA,
  AIJTCU_NCOMPOSED
};

/* What products with N columns take, where that was tuned: see tune.c */
enum {
  AIJTCU_MOST_TUNED    = 8, /* numbers of columns */
  AIJTCU_MOST_VARIANTS = 8
};
typedef struct {
  PetscInt         N;
  MatAIJTCUPath    path;
  PetscBool        clustered; /* bricks in another order, which is the model's choice */
  HrpbParams       format;    /* of the bricks; zeros where the model chose */
  const char      *reason;    /* a static string */
  MatAIJTCUVariant variant[AIJTCU_MOST_VARIANTS];
  MatAIJTCUTuning  tuning;
} AIJTCUTuned;

typedef struct _n_AIJTCUPlan AIJTCUPlan;
struct _n_AIJTCUPlan {
  AIJTCUKind     kind;
  PetscBool      own_name;  /* carries our type name; otherwise its parent's: a block inside a parallel matrix, or -mat_aijtcu_attach */
  PetscBool      device;    /* the parent is an aijcusparse type */
  PetscContainer container; /* that holds this plan; not a reference */

  /* The parent's view of the matrix: see AIJTCUParentViewBegin() */
  char          *other_name;  /* the parent's name outside of a view, our own inside */
  char          *parent_name; /* inside of a view: the name that A carries */
  PetscInt       view_depth;
  struct _MatOps parent;     /* the operations that ours wrap; outside of a view */
  AIJTCUFn       composed[AIJTCU_NCOMPOSED]; /* the composed functions that ours wrap */

  /* A block reads the options of, and counts for, the parallel matrix it belongs to */
  AIJTCUPlan     *owner;
  char           *prefix; /* of the options of a parallel matrix, for its blocks, which have none of their own; NULL for none */
  AIJTCUOptions   options;
  MatAIJTCUCounts counts;

  /* Synergy of the pattern that analysis_key names */
  PetscBool        analysed;
  AIJTCUPatternKey analysis_key;
  PetscBool        analysed_device;
  HrpbSurvey       survey; /* on the host without what concerns staging */

  /* Bricks of the pattern that pattern_key names, with the parameters in hrpb.params */
  PetscBool        built;
  PetscBool        refused; /* that pattern could not be built: scalar path until it changes */
  AIJTCUPatternKey pattern_key;
  PetscObjectState values_state;
  PetscBool        on_device;    /* where the bricks are, */
  PetscBool        asked_device; /* and where they should have been built if they were refused */
  HrpbParams       params;
  HrpbParams       wanted; /* what the options said: params, or zeros where the device chose those */
#if AIJTCU_HAVE_BRICKS
  Hrpb         hrpb;
  HrpbScalar  *values;
  HrpbSchedule schedule;       /* on the device only, as is what follows: */
  int32_t     *map;            /* where the values come from, once they have changed; NULL if there is none, */
  PetscBool    map_tried;      /* which may be because there was no memory for it */
  PetscBool    workspace_user; /* counted by AIJTCUWorkspaceUser() */

  /* The matrix in another order on a device, of the pattern that cluster_key names, if that was tried */
  PetscBool        cluster_tried;
  PetscInt         cluster_levels; /* that it might have, */
  PetscBool        cluster_forced; /* and whether it was made whatever neighbours share; */
  PetscReal        cluster_shared; /* so many percent of their columns */
  AIJTCUPatternKey cluster_key;
  HrpbClustered    clustered; /* n is zero where there is none; counted by AIJTCUWorkspaceUser(), too */
  HrpbSurvey       clustered_survey;
  PetscBool        bricks_clustered; /* the bricks are of it, or were to be if they were refused */

  /* What was tuned for the pattern that tune_key names, with what tune_precision and tune_cluster were set. Bricks have one format for all numbers of columns: the one that won first, zeros while none has */
  PetscInt           ntuned;
  AIJTCUTuned       *tuned; /* [AIJTCU_MOST_TUNED] */
  AIJTCUPatternKey   tune_key;
  MatAIJTCUPrecision tune_precision;
  MatAIJTCUReorder   tune_cluster;
  HrpbParams         tune_format;

  /* Parts of long rows for the scalar path on a device, of the pattern that csr_key names; it reads the matrix itself */
  PetscBool        csr_scheduled; /* counted, too */
  PetscBool        csr_refused;
  AIJTCUPatternKey csr_key;
  CsrSchedule      csr;
#endif
};

/* aijtcu.c: the type's identity */
PETSC_INTERN PetscErrorCode AIJTCUGetPlan(Mat, AIJTCUPlan **); /* NULL where there is none */
PETSC_INTERN PetscErrorCode AIJTCUComposeData(PetscObject, const char[], void *, PetscErrorCode (*)(PetscCtxRt));
PETSC_INTERN PetscErrorCode AIJTCUAttach(Mat, AIJTCUKind, PetscBool, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUDetach(Mat);
PETSC_INTERN PetscErrorCode AIJTCUParentViewBegin(Mat, AIJTCUPlan **);
PETSC_INTERN PetscErrorCode AIJTCUParentViewEnd(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUHasDevice(MPI_Comm, PetscBool *);
PETSC_INTERN PetscErrorCode MatConvert_AIJTCU_Any(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_AIJ_AIJTCU(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJTCU(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJTCU(Mat);

/* parent.c: the parent types */
PETSC_INTERN PetscErrorCode AIJTCUParentsSetUp(PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUParentCreate(Mat, AIJTCUKind, PetscBool);

/*
   Call of a function of the parent type while A looks like a matrix of that type; the view is left on error too
*/
#define AIJTCUCallParent(A, call) \
  do { \
    AIJTCUPlan    *plan_; \
    PetscErrorCode ierr_; \
    PetscCall(AIJTCUParentViewBegin(A, &plan_)); \
    ierr_ = (call); \
    PetscCall(AIJTCUParentViewEnd(A, plan_)); \
    PetscCall(ierr_); \
  } while (0)

/* The same for the parent's operation that ours stands in for */
#define AIJTCUCallParentOp(A, op, ...) \
  do { \
    AIJTCUPlan *wrapped_; \
    PetscCall(AIJTCUGetPlan(A, &wrapped_)); \
    AIJTCUCallParent(A, (*wrapped_->parent.op)(__VA_ARGS__)); \
  } while (0)

/*
   The same for a call that copies A's composed functions into another matrix, as MatDuplicate() does: ours are not among them
*/
#define AIJTCUCallParentBare(A, call) \
  do { \
    AIJTCUPlan    *bare_; \
    PetscErrorCode ierr_; \
    PetscCall(AIJTCUGetPlan(A, &bare_)); \
    if (bare_) PetscCall(AIJTCUUnwrapComposed(A, bare_)); \
    PetscCall(AIJTCUParentViewBegin(A, &bare_)); \
    ierr_ = (call); \
    PetscCall(AIJTCUParentViewEnd(A, bare_)); \
    PetscCall(AIJTCUGetPlan(A, &bare_)); \
    if (bare_) PetscCall(AIJTCUWrapComposed(A, bare_)); \
    PetscCall(ierr_); \
  } while (0)

/* vectors.c */
PETSC_INTERN PetscErrorCode AIJTCUCallWithVecs(Mat, PetscInt, PetscInt, const Vec[], PetscErrorCode (*)(Mat, const Vec[]));

/* wrap.c: which operations are wrapped */
PETSC_INTERN PetscErrorCode AIJTCUWrapOps(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUUnwrapOps(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUWrapView(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUWrapComposed(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUUnwrapComposed(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUAttachBlocks(Mat);

/* options.c */
typedef enum {
  AIJTCU_OPTION_NAME,
  AIJTCU_OPTION_WHOLE,
  AIJTCU_OPTION_REAL,
  AIJTCU_OPTION_LOGICAL
} AIJTCUOptionKind;

PETSC_INTERN PetscErrorCode       AIJTCUCheckOption(MPI_Comm, PetscOptionItems, AIJTCUOptionKind, const char[], const char[]);
PETSC_INTERN PetscErrorCode       AIJTCUOptionsInitialize(AIJTCUOptions *);
PETSC_INTERN HrpbPrecision        AIJTCUGetPrecision(const AIJTCUPlan *);
PETSC_INTERN HrpbParams           AIJTCUGetFormat(const AIJTCUPlan *);
PETSC_INTERN PetscErrorCode       AIJTCUSetFromOptions(Mat, AIJTCUPlan *, PetscOptionItems);
PETSC_INTERN const AIJTCUOptions *AIJTCUGetOptions(const AIJTCUPlan *);
PETSC_INTERN MatAIJTCUCounts     *AIJTCUGetCounts(AIJTCUPlan *);

/* deprecated.c: options of before */
PETSC_INTERN PetscErrorCode AIJTCUDeprecatedOptions(Mat, PetscOptionItems, const MatAIJTCUFormat *);

/* plan.c */
PETSC_INTERN PetscErrorCode AIJTCUHostGetCSR(Mat, const PetscInt **, const PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUHostRestoreCSR(Mat, const PetscInt **, const PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUPlanUpdate(Mat, AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPlanUpdateScalar(Mat, AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUOnDevice(Mat, const AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPatternKeyGet(Mat, AIJTCUPatternKey *);
#if AIJTCU_HAVE_BRICKS
PETSC_INTERN PetscBool      AIJTCUParamsEqual(const HrpbParams *, const HrpbParams *);
#endif
PETSC_INTERN PetscBool      AIJTCUPatternKeyEqual(const AIJTCUPatternKey *, const AIJTCUPatternKey *);

#if AIJTCU_HAVE_DEVICE
/* The device's copy of a matrix, with the offsets of all rows, and the stream for work on it */
typedef struct {
  const HrpbInt      *rowptr, *colidx;
  const HrpbScalar   *values;
  struct CUstream_st *stream;
} AIJTCUDeviceCSR;

/* What of it is needed */
typedef enum {
  AIJTCU_CSR_NOTHING,
  AIJTCU_CSR_PATTERN,
  AIJTCU_CSR_VALUES
} AIJTCUNeed;

typedef PetscErrorCode (*AIJTCUDeviceFn)(Mat, AIJTCUPlan *, const AIJTCUDeviceCSR *, void *, HrpbError *);

/* device.c: products on a GPU; what fails for want of memory or of a kernel comes back in the HrpbError, anything else is an error */
PETSC_INTERN PetscErrorCode AIJTCUCheckDevice(HrpbError);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCall(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCallForMemory(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceSupports(const AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceBuild(Mat, AIJTCUPlan *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceRefresh(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUDeviceDestroy(AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceSchedule(Mat, AIJTCUPlan *, HrpbError *);
PETSC_INTERN void           AIJTCUDeviceUnschedule(AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceMultiply(Mat, AIJTCUPlan *, MatAIJTCUPath, Mat, Mat, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceSurvey(Mat, AIJTCUPlan *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCluster(Mat, AIJTCUPlan *, HrpbError *);
PETSC_INTERN void           AIJTCUDeviceUncluster(AIJTCUPlan *);

/* A call of the kernels: errors of CUDA end here */
  #define AIJTCUCallDevice(err, call) \
    do { \
      (err) = (call); \
      PetscCall(AIJTCUCheckDevice(err)); \
    } while (0)

/* workspace.c: what all plans on a device share */
typedef struct { /* two slots: one piece is multiplied while others come and go */
  struct CUstream_st *in, *out;
  struct CUevent_st  *arrived[2], *multiplied[2], *left[2]; /* the last piece in a slot: its columns of B, its product, its columns of C */
} AIJTCUTransfers;

PETSC_INTERN PetscErrorCode AIJTCUGetTransfers(AIJTCUTransfers **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceBegin(struct CUstream_st **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceEnd(struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceMalloc(size_t, struct CUstream_st *, void **);
PETSC_INTERN PetscErrorCode AIJTCUWorkspaceGet(size_t, struct CUstream_st *, void **);
PETSC_INTERN struct CUstream_st *AIJTCUDeviceStreamBehind(void);
PETSC_INTERN PetscBool           AIJTCUForgetError(int);
PETSC_INTERN PetscErrorCode AIJTCUWorkspaceFits(size_t, PetscBool *);
PETSC_INTERN void           AIJTCUWorkspaceUser(PetscBool);
PETSC_INTERN PetscReal      AIJTCUWorkspaceMax; /* MiB, or not positive for the default */
#endif

/* cluster.c */
#if AIJTCU_HAVE_DEVICE
enum {
  AIJTCU_MOST_LEVELS  = 4096, /* of a search for another order: some tenths of a second */
  AIJTCU_LEAST_SHARED = 20    /* percent of a row's columns that its neighbours must have, too, unless it is forced: about 40 in meshes, 7 where edges are drawn by chance */
};
PETSC_INTERN PetscBool      AIJTCUClusterForced(const AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUWantsCluster(Mat, AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUClusterUpdate(Mat, AIJTCUPlan *, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUClusterForBricks(Mat, AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscBool      AIJTCUClusterUsable(const AIJTCUPlan *);
PETSC_INTERN void           AIJTCUClusterReset(AIJTCUPlan *);
#endif

/* tune.c */
#if AIJTCU_HAVE_DEVICE
PETSC_INTERN PetscErrorCode AIJTCUTuneUpdate(Mat, AIJTCUPlan *, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUTuneFind(Mat, const AIJTCUPlan *, PetscInt, const AIJTCUTuned **);
PETSC_INTERN PetscErrorCode AIJTCUTuneFormat(Mat, const AIJTCUPlan *, HrpbParams *);
PETSC_INTERN PetscErrorCode AIJTCUTuneOptions(Mat, const AIJTCUTuned *, char **);
PETSC_INTERN PetscErrorCode AIJTCUTuneReset(AIJTCUPlan *);
#endif

/* synergy.c */
PETSC_INTERN PetscErrorCode AIJTCUAnalyse(Mat, AIJTCUPlan *);
PETSC_INTERN PetscBool      AIJTCUColumnsRun(const HrpbSurvey *);
#if AIJTCU_HAVE_DEVICE
PETSC_INTERN HrpbParams     AIJTCUDeviceFormat(Mat, const HrpbSurvey *);
#endif
PETSC_INTERN PetscErrorCode AIJTCUSynergyFromCounts(PetscInt64, PetscInt64, PetscInt64, MatAIJTCUSynergy *);
PETSC_INTERN PetscErrorCode AIJTCUGetBlocks(Mat, Mat[2]);
PETSC_INTERN PetscErrorCode AIJTCULocalCounts(Mat, PetscInt64 *, PetscInt64 *, PetscInt64 *);
PETSC_INTERN PetscErrorCode AIJTCUThreshold(const AIJTCUPlan *, PetscReal *);
PETSC_INTERN PetscErrorCode AIJTCUChoosePath(Mat, AIJTCUPlan *, PetscInt, MatAIJTCUPath *, const char **);

/* factor.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterFactors(void);

/* product.c */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJTCU(Mat);

/* view.c */
PETSC_INTERN PetscErrorCode AIJTCUView(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode AIJTCURecordChoice(Mat, PetscInt, MatAIJTCUPath, const char[]);
PETSC_INTERN PetscErrorCode AIJTCUViewChoiceSetUp(PetscBool);

PETSC_INTERN PetscLogEvent MAT_AIJTCU_Analyse, MAT_AIJTCU_Reorder, MAT_AIJTCU_Tune, MAT_AIJTCU_Build, MAT_AIJTCU_Refresh, MAT_AIJTCU_Tcu, MAT_AIJTCU_CSR, MAT_AIJTCU_CuSPARSE;
