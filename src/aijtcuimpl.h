/*
   Inside of MATAIJTCU: the plan that hangs on a matrix, and what the files of src/ offer each other.
*/
#pragma once

#include <petscaijtcu.h>
#include <petsc/private/matimpl.h>
#include <petsc/private/vecimpl.h>
#include "plan/artifacts.h"

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

/* The library has kernels for a device */
#if AIJTCU_HAVE_BRICKS && PetscDefined(HAVE_CUDA) && (!PETSC_VERSION_LT(3, 26, 0) || !PetscDefined(USE_64BIT_INDICES))
  #define AIJTCU_HAVE_DEVICE 1
#else
  #define AIJTCU_HAVE_DEVICE 0
#endif

/* Whole blocks are solved: src/block/. KSP_RemoveNullSpaceMat() and a new set-up for every operator need 3.26 */
#if AIJTCU_HAVE_BRICKS && !PETSC_VERSION_LT(3, 26, 0)
  #define AIJTCU_HAVE_BLOCK 1
#else
  #define AIJTCU_HAVE_BLOCK 0
#endif

#if AIJTCU_HAVE_BRICKS
_Static_assert(sizeof(HrpbInt) == sizeof(PetscInt) && sizeof(HrpbScalar) == sizeof(PetscScalar), "compile with HRPB_USE_INT64 and HRPB_USE_SINGLE as PETSc is configured");
#endif

/*
   What identifies a nonzero pattern.

   The nonzero state alone can repeat: MatHeaderMerge() keeps what is composed but exchanges the data. An id alone can
   meet an old object state again: MatHeaderReplace() moves the id to another matrix, which keeps its own count of
   states.
*/
typedef struct {
  const void      *mat;
  PetscObjectId    id;
  PetscObjectState nonzerostate;
  const void      *data;
  PetscObjectId    block[2]; /* of a parallel matrix: other blocks may leave its own state as it was */
  PetscObjectState block_nonzerostate[2];
} AIJTCUPatternKey;

/*
   What a product was set up with. A matrix that was converted, and back, has another plan, and nothing of before on a
   device
*/
typedef struct {
  AIJTCUPatternKey pattern;
  PetscObjectState values; /* of A and of the blocks of a parallel one, whose arrays may be written alone */
  PetscInt64       plan;   /* its number, 0 for none */
} AIJTCUOperandKey;

typedef enum {
  AIJTCU_KIND_SEQ,
  AIJTCU_KIND_MPI
} AIJTCUKind;

typedef void (*AIJTCUFn)(void);
typedef struct _n_AIJTCUChoice   AIJTCUChoice;
typedef struct _n_AIJTCULaunches *AIJTCULaunches;

enum { /* composed functions that are wrapped, see AIJTCUWrapComposed() */
  AIJTCU_SET_PREALLOCATION_COO,
  AIJTCU_SET_VALUES_COO,
  AIJTCU_COPY_SUBARRAY,
  AIJTCU_STORE_VALUES,
  AIJTCU_RETRIEVE_VALUES,
  AIJTCU_PRODUCT_ANY,
  AIJTCU_CONVERT, /* the first of seven */
  AIJTCU_CONVERT_LAST = AIJTCU_CONVERT + 6,
  AIJTCU_PRODUCT_DENSE,
  AIJTCU_PRODUCT_DENSECUDA,
  AIJTCU_NCOMPOSED
};

struct _n_AIJTCUPlan {
  AIJTCUKind     kind;
  /* it carries our type name. If not, it carries its parent's: a block of a parallel matrix, or -mat_aijtcu_attach */
  PetscBool      own_name;
  PetscBool      device;    /* the parent is an aijcusparse type */
  PetscInt64     number;    /* from 1 on; no other plan has had it */
  PetscContainer container; /* the container that holds this plan; not a reference */

  /* The parent's view of the matrix: see AIJTCUParentViewBegin() */
  char          *other_name;  /* the parent's name outside of a view, our own inside */
  char          *parent_type; /* the parent's name, to compare with */
  PetscInt       view_depth;
  struct _MatOps parent;     /* the operations that ours wrap; valid outside of a view */
  AIJTCUFn       composed[AIJTCU_NCOMPOSED]; /* the composed functions that ours wrap */

  /* A block reads the options of the parallel matrix that it belongs to, and adds to its counts */
  AIJTCUPlan     *owner;
  PetscBool       off_diagonal, is_transpose; /* of the parallel matrix; of a matrix or a block */
  char           *prefix; /* the options prefix of a parallel matrix, or NULL. Its blocks have none of their own */
  AIJTCUOptions   options;
  MatAIJTCUCounts counts;
  AIJTCUChoice   *counted; /* of a parallel matrix: what record.c counted last */

  /* Artifacts of the pattern that pattern_key names: see AIJTCUPlanSync() */
  AIJTCUPatternKey pattern_key;
  AIJTCUSurvey     survey;
  AIJTCUCsr        csr;
  AIJTCUVector     vector;
  AIJTCUTranspose  transpose;
  AIJTCUTransposed transposed;
  AIJTCUOrder      order;
  AIJTCUBricks     bricks;
  AIJTCUTunings    tunings;
#if AIJTCU_HAVE_HALO
  AIJTCUHalo       halo;
#endif
  AIJTCUAnswer     answer; /* the last decision of AIJTCUPlanPrepare(): goes when an artifact comes or goes */
  AIJTCULaunches   launches; /* on a device: products that may come again */
};

/* identity.c: how a plan hangs on a matrix, with a table of what stands in for the parent's functions */
enum { /* which matrices a function is for, and how it is put there: sums of these */
  AIJTCU_FOR_OWN        = 1,  /* matrices with our name */
  AIJTCU_FOR_OTHERS     = 2,  /* matrices without it */
  AIJTCU_FOR_DEVICE     = 4,  /* matrices whose parent is an aijcusparse type */
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
#define AIJTCU_OP(op, own, where) {offsetof(struct _MatOps, op) + 0 * sizeof((own) == ((struct _MatOps *)NULL)->op), (AIJTCUFn)(own), where}
typedef struct {
  const char *format; /* of the key for PetscObjectQueryFunction(). %s is seq or mpi, as in names of types */
  AIJTCUFn    own;
  int         where;
} AIJTCUComposed;
typedef struct {
  const AIJTCUOp       *ops;
  const AIJTCUComposed *composed; /* [AIJTCU_NCOMPOSED] */
  PetscErrorCode (*view)(Mat, PetscViewer);
  PetscErrorCode (*initialize)(AIJTCUPlan *); /* sets the members of a plan that identity.c does not set */
  PetscErrorCode (*reset)(AIJTCUPlan *);
} AIJTCUClass;

PETSC_INTERN void           AIJTCUSetClass(const AIJTCUClass *);
PETSC_INTERN PetscErrorCode AIJTCUGetPlan(Mat, AIJTCUPlan **); /* NULL where there is none */
PETSC_INTERN PetscErrorCode AIJTCUComposeData(PetscObject, const char[], void *, PetscErrorCode (*)(PetscCtxRt));
PETSC_INTERN PetscErrorCode AIJTCUComposedData(PetscObject, const char[], size_t, void **);
PETSC_INTERN PetscErrorCode AIJTCUAttach(Mat, AIJTCUKind, PetscBool, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUDetach(Mat);
PETSC_INTERN PetscErrorCode AIJTCUInherit(Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUAttachBlocks(Mat);
PETSC_INTERN PetscErrorCode AIJTCUWrapComposed(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUUnwrapComposed(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUParentViewBegin(Mat, AIJTCUPlan **);
PETSC_INTERN PetscErrorCode AIJTCUParentViewEnd(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUHasDevice(MPI_Comm, PetscBool *);

/* blocks.c */
PETSC_INTERN PetscErrorCode AIJTCULocalBlocks(Mat, Mat[2], const PetscInt **);

/* agree.c */
PETSC_INTERN PetscErrorCode AIJTCUAgree(MPI_Comm, PetscErrorCode, PetscBool, PetscBool *);

/* aijtcu.c: creation and conversion */
PETSC_INTERN PetscErrorCode MatConvert_AIJTCU_Any(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_AIJ_AIJTCU(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJTCU(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJTCU(Mat);

/* parent.c: the parent types */
PETSC_INTERN PetscErrorCode AIJTCUParentsSetUp(PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUParentCreate(Mat, AIJTCUKind, PetscBool);

/* Calls a function of the parent type while A looks like a matrix of that type. The view ends after an error, too */
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
   The same for a call that copies A's composed functions into another matrix, such as MatDuplicate(). Our functions
   are taken away during the call, so they are not copied.
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

/* upstream.c: workarounds for defects of PETSc; knows nothing of plans */
PETSC_INTERN void           AIJTCUKeepDestroy(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN void           AIJTCUGiveDestroyBack(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode (*AIJTCUKeptDestroy(Mat))(Mat);
PETSC_INTERN PetscErrorCode AIJTCUCallWithVecs(Mat, PetscInt, PetscInt, const Vec[], PetscErrorCode (*)(Mat, const Vec[]));
PETSC_INTERN PetscErrorCode AIJTCUMultTransposeAddInPlace(Mat, PetscErrorCode (*)(Mat, Vec, Vec, Vec), Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode AIJTCUValuesToHost(Mat, PetscBool);
#if PetscDefined(HAVE_CUDA)
PETSC_INTERN PetscErrorCode AIJTCUZeroOnHost(Mat, PetscBool *);
#endif
PETSC_INTERN PetscErrorCode AIJTCUILUFactorInPlace(Mat, IS, IS, const MatFactorInfo *);
PETSC_INTERN PetscErrorCode AIJTCUSubMatricesFilled(PetscInt, Mat[]);
PETSC_INTERN PetscErrorCode AIJTCUConvertNew(Mat, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUGetBlockDiagonal(Mat, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUGetVBlockDiagonal(Mat, Mat *);

#if AIJTCU_HAVE_BLOCK
typedef struct { /* what KSPCHEBYSHEV works with */
  PetscReal        emin, emax;
  KSPChebyshevKind kind;
  const PetscReal *betas;
} AIJTCUChebyshev;
PETSC_INTERN PetscErrorCode AIJTCUChebyshevGet(KSP, AIJTCUChebyshev *, PetscBool *);

  #if AIJTCU_HAVE_DEVICE
typedef enum {
  AIJTCU_FACTOR_LU,  /* L, whose diagonal is ones, below U in one matrix */
  AIJTCU_FACTOR_LLT, /* L, with numbers above it that do not belong to it */
  AIJTCU_FACTOR_UTDU /* U, whose diagonal is ones, and the inverse of D */
} AIJTCUTrianglesKind;
typedef struct { /* triangular factors on a device, in CSR */
  AIJTCUTrianglesKind   kind;
  size_t             index_size; /* of an entry of these: */
  const void        *rowptr, *colidx;
  const PetscScalar *values, *diagonal;
  PetscBool          permuted; /* rows or columns were, before the matrix was factored */
} AIJTCUTriangles;
PETSC_INTERN PetscErrorCode AIJTCUFactorGet(Mat, AIJTCUTriangles *, PetscBool *);
  #endif
#endif

/* upstreamproduct.c: workarounds for defects in products */
PETSC_INTERN PetscErrorCode AIJTCUProductIsStale(Mat, PetscBool, PetscBool, const AIJTCUOperandKey *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductWithDeviceC(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode AIJTCUProductIsSparse(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductOfReplaced(Mat);
PETSC_INTERN PetscErrorCode AIJTCUExpandMAIJ(Mat, MatType);
PETSC_INTERN PetscErrorCode AIJTCUSetUpDense(Mat);

/* wrap.c: what stands in for the parent's functions */
PETSC_INTERN const AIJTCUClass AIJTCUWrappers;

/* mult.c: products with one vector */
PETSC_INTERN PetscErrorCode MatMult_AIJTCU(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_AIJTCU(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_AIJTCU(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_AIJTCU(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_AIJTCU(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_AIJTCU(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatSOR_AIJTCU(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt, Vec);
PETSC_INTERN PetscErrorCode MatMultDiagonalBlock_AIJTCU(Mat, Vec, Vec);

/* optioncheck.c */
typedef enum {
  AIJTCU_OPTION_NAME,
  AIJTCU_OPTION_WHOLE,
  AIJTCU_OPTION_REAL,
  AIJTCU_OPTION_LOGICAL
} AIJTCUOptionKind;

PETSC_INTERN PetscErrorCode AIJTCUCheckOption(MPI_Comm, PetscOptionItems, AIJTCUOptionKind, const char[], const char[]);

/* options.c */
PETSC_INTERN PetscErrorCode       AIJTCUOptionsInitialize(AIJTCUOptions *);
PETSC_INTERN HrpbParams           AIJTCUGetFormat(const AIJTCUPlan *);
PETSC_INTERN PetscErrorCode       AIJTCUSetFromOptions(Mat, AIJTCUPlan *, PetscOptionItems);
PETSC_INTERN const AIJTCUOptions *AIJTCUGetOptions(const AIJTCUPlan *);
PETSC_INTERN MatAIJTCUCounts     *AIJTCUGetCounts(AIJTCUPlan *);

/* deprecated.c: options under their old names */
PETSC_INTERN PetscErrorCode AIJTCUDeprecatedOptions(Mat, PetscOptionItems, const MatAIJTCUFormat *);

/*
   plan.c. An operation asks for a decision when it is set up, and has it prepared each time it runs. The path stays as
   decided. What follows from the path is that of the matrix and the options at the time of the run. Where bricks
   cannot be had, the operation sets the path to CSR and has that prepared (product.c).

   AIJTCUPlanDecide()   path and reason; fetches the facts that they need
   AIJTCUPlanPrepare()  builds or renews what the path needs; says whether there is something to multiply with
   AIJTCUPlanPeek()     for views: fetches nothing; says whether the path is known
   AIJTCUPlanKnow()     fetches all facts; gives the whole decision
*/
PETSC_INTERN PetscInt       AIJTCUDecideColumns; /* products with fewer columns are decided as with so many */
PETSC_INTERN PetscErrorCode AIJTCUPlanKnow(Mat, AIJTCUPlan *, SpmmOp, PetscInt, AIJTCUFacts *, AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUPlanDecide(Mat, AIJTCUPlan *, SpmmOp, PetscInt, AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUPlanPrepare(Mat, AIJTCUPlan *, AIJTCUDecision *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPlanPeek(Mat, AIJTCUPlan *, SpmmOp, PetscInt, AIJTCUDecision *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPlanSync(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUPlanTransposed(Mat, AIJTCUPlan *, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUPlanTuned(Mat, AIJTCUPlan *, SpmmOp, PetscInt, const AIJTCUTuned **);
PETSC_INTERN PetscInt64     AIJTCUPlanDeviceBytes(const AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUPatternKeyGet(Mat, AIJTCUPatternKey *);
PETSC_INTERN PetscBool      AIJTCUPatternKeyEqual(const AIJTCUPatternKey *, const AIJTCUPatternKey *);
PETSC_INTERN PetscErrorCode AIJTCUOperandKeyGet(Mat, AIJTCUOperandKey *);

/* facts.c */
PETSC_INTERN PetscErrorCode AIJTCUOnDevice(Mat, const AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUFactsGet(Mat, const AIJTCUPlan *, AIJTCUFacts *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceFactsGet(const AIJTCUPlan *, AIJTCUDeviceFacts *);
PETSC_INTERN PetscErrorCode AIJTCUThreshold(const AIJTCUPlan *, PetscReal *);

/* query.c */
PETSC_INTERN PetscErrorCode AIJTCUGetBlocks(Mat, Mat[2]);
PETSC_INTERN PetscErrorCode AIJTCUSynergyFromCounts(PetscInt64, PetscInt64, PetscInt64, MatAIJTCUSynergy *);
PETSC_INTERN PetscErrorCode AIJTCULocalCounts(Mat, PetscInt64 *, PetscInt64 *, PetscInt64 *);

#if AIJTCU_HAVE_BRICKS
/* host.c */
PETSC_INTERN PetscErrorCode AIJTCUHostRun(Mat, const AIJTCUPlan *, const AIJTCUDecision *, const SpmmOperands *, HrpbError *);
#endif

#if AIJTCU_HAVE_DEVICE
/* The device's copy of a matrix, with the offsets of all rows, and the stream for work on it */
typedef struct {
  const HrpbInt      *rowptr, *colidx;
  const HrpbScalar   *values;
  struct CUstream_st *stream;
} AIJTCUDeviceCSR;

/* Which part of AIJTCUDeviceCSR is needed */
typedef enum {
  AIJTCU_CSR_NOTHING,
  AIJTCU_CSR_PATTERN,
  AIJTCU_CSR_VALUES
} AIJTCUNeed;

typedef PetscErrorCode (*AIJTCUDeviceFn)(Mat, AIJTCUPlan *, const AIJTCUDeviceCSR *, void *, HrpbError *);

/*
   device.c: products on a GPU. Two failures come back in the HrpbError: no memory, and no kernel. Any other failure is
   a PETSc error.
*/
PETSC_INTERN PetscErrorCode AIJTCUCheckDevice(HrpbError);
PETSC_INTERN void           AIJTCUDeviceForgetValues(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCall(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCallForMemory(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceAsk(size_t, PetscBool *);
PETSC_INTERN PetscInt       AIJTCUDeviceLDA(PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCopyColumns(PetscScalar *, PetscInt, const PetscScalar *, PetscInt, PetscInt, PetscInt, PetscBool, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceMultiply(Mat, AIJTCUPlan *, const AIJTCUDecision *, Mat, Mat, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceAdd(Mat, AIJTCUPlan *, const AIJTCUDecision *, const PetscScalar *, PetscInt, Mat, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceBring(Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUDeviceToRows(Mat, AIJTCUPlan *, const AIJTCUDecision *, Mat, PetscScalar *, HrpbError *);

/* A call of the kernels: errors of CUDA end here */
  #define AIJTCUCallDevice(err, call) \
    do { \
      (err) = (call); \
      PetscCall(AIJTCUCheckDevice(err)); \
    } while (0)

/* launch.c: products that come again */
PETSC_INTERN PetscErrorCode AIJTCULaunch(AIJTCUPlan *, const SpmmKernel *, const SpmmMatrix *, const HrpbReordered *, const SpmmOperands *, void *, struct CUstream_st *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCULaunchWithWork(AIJTCUPlan *, const SpmmKernel *, const SpmmMatrix *, const SpmmOperands *, struct CUstream_st *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCULaunchesDestroy(AIJTCULaunches *);

/* workspace.c: what all plans on a device share */
typedef struct { /* two slots: one piece is multiplied while others are copied */
  struct CUstream_st *in, *out;
  /* Events of the last piece in a slot: its columns of B arrived, its product was made, its columns of C left */
  struct CUevent_st  *arrived[2], *multiplied[2], *left[2];
} AIJTCUTransfers;

PETSC_INTERN PetscErrorCode AIJTCUGetTransfers(AIJTCUTransfers **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceBegin(struct CUstream_st **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceEnd(struct CUstream_st *);

  /* A call that works on a stream. The work ends after an error, too */
  #define AIJTCUCallOnStream(stream, call) \
    do { \
      PetscErrorCode ierr_ = AIJTCUDeviceBegin(&(stream)); \
\
      if (!ierr_) ierr_ = (call); \
      PetscCall(AIJTCUDeviceEnd(stream)); \
      PetscCall(ierr_); \
    } while (0)

PETSC_INTERN PetscErrorCode AIJTCUAllocated(int, void **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceRuns(PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceMalloc(size_t, struct CUstream_st *, void **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceList(const PetscInt[], PetscInt, struct CUstream_st *, PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUWorkspaceGet(size_t, struct CUstream_st *, void **);
PETSC_INTERN struct CUstream_st *AIJTCUDeviceStreamBehind(void);
PETSC_INTERN PetscBool           AIJTCUForgetError(int);
PETSC_INTERN PetscErrorCode AIJTCUWorkspaceFits(size_t, PetscBool *);
PETSC_INTERN void           AIJTCUWorkspaceUser(PetscBool);
PETSC_INTERN PetscReal      AIJTCUWorkspaceMax; /* MiB; zero or less for the default */
#endif

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE
/* block/matsolve.c */
PETSC_INTERN PetscErrorCode AIJTCUMatSolveEnter(Mat, IS, IS);
#endif

/* factor.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterFactors(void);

/* delegate.c: products that the parent type makes */
PETSC_INTERN PetscErrorCode AIJTCUProductIsDense(Mat, PetscBool *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductIsTransposed(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductSymmetryChanged(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUDelegate(Mat);
PETSC_INTERN PetscErrorCode AIJTCUNumericEnd(Mat, PetscErrorCode (*)(Mat), PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUDelegateInView(Mat, PetscErrorCode (*)(Mat));

/* product.c */
PETSC_INTERN PetscErrorCode AIJTCUSetUpProduct(Mat, AIJTCUPlan *, PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUMultiplyLocal(Mat, Mat, Mat);

/* productghosts.c: what the off-diagonal block of a parallel matrix has to do with a product */
#if AIJTCU_HAVE_HALO
PETSC_INTERN PetscErrorCode AIJTCUAddGhosts(Mat, const AIJTCUHalo *, Mat);
PETSC_INTERN PetscErrorCode AIJTCUSumGhosts(Mat, AIJTCUHalo *, Mat);
#endif

/* productpieces.c: the operands of a parallel product where A is, in pieces of columns */
#if AIJTCU_HAVE_HALO
typedef struct {
  PetscInt     N, width; /* columns: all, and of the widest piece */
  Mat          local[2]; /* this process's rows of B and C */
  PetscBool    away[2];  /* they are on the host, and A on a device */
  PetscScalar *room[2];  /* for one piece on the device */
} AIJTCUPieces;

PETSC_INTERN PetscErrorCode AIJTCUPiecesBegin(Mat, const AIJTCUHalo *, Mat, Mat, AIJTCUPieces *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPiecesCall(const AIJTCUPieces *, PetscErrorCode (*)(void *, PetscInt, Mat, Mat), void *);
PETSC_INTERN void           AIJTCUPiecesEnd(AIJTCUPieces *);
#endif

/* productmpi.c: the product of a parallel matrix that keeps its halo */
PETSC_INTERN PetscErrorCode AIJTCUSetUpProductMPI(Mat, AIJTCUPlan *);

/* select.c */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJTCU(Mat);

/* block/methods.c: block forms of Krylov methods; what they share is in block/blockksp.h */
PETSC_INTERN PetscErrorCode AIJTCUBlockRegister(void);
typedef enum {
  AIJTCU_BLOCK_SOLVERS_AUTO, /* where the operator is on a device */
  AIJTCU_BLOCK_SOLVERS_ALWAYS,
  AIJTCU_BLOCK_SOLVERS_OFF
} AIJTCUBlockSolversMode;
PETSC_INTERN AIJTCUBlockSolversMode AIJTCUBlockSolvers; /* -mat_aijtcu_block_solvers */

/* record.c: -mat_aijtcu_view_choice */
PETSC_INTERN PetscErrorCode AIJTCURecordChoice(Mat, PetscInt, MatAIJTCUPath, const char[]);
PETSC_INTERN PetscErrorCode AIJTCURecordWhole(Mat, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUViewChoiceSetUp(PetscBool);

/* view.c */
PETSC_INTERN PetscErrorCode AIJTCUView(Mat, PetscViewer);

PETSC_INTERN PetscLogEvent MAT_AIJTCU_Analyse, MAT_AIJTCU_Reorder, MAT_AIJTCU_Tune, MAT_AIJTCU_Build, MAT_AIJTCU_Refresh, MAT_AIJTCU_Tcu, MAT_AIJTCU_CSR, MAT_AIJTCU_CuSPARSE, MAT_AIJTCU_Sampled, MAT_AIJTCU_Pack, MAT_AIJTCU_Exchange, MAT_AIJTCU_OffDiagonal;
