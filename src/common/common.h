/*
   What everybody uses: what this PETSc has, agreement of processes, local blocks, keys of patterns, names and settings.
   Nothing here knows of a plan.
*/
#pragma once

#include <petscaijtcu.h>
#include <petsc/private/matimpl.h>
#include <petsc/private/vecimpl.h>
#include <spmm.h>

#if PETSC_VERSION_LT(3, 24, 0) || !PETSC_VERSION_LT(3, 27, 0)
  #error "petsc-aijtcu needs PETSc 3.24, 3.25 or 3.26"
#endif
#if PETSC_VERSION_LT(3, 25, 0)
typedef void **PetscCtxRt;                               /* what a container's destructor gets */
typedef void  *AIJTCUProductData;                        /* what Mat_Product's destroy gets, the same */
  #define AIJTCU_PRODUCT_DATA(product) ((product)->data) /* of a product */
  #define AIJTCU_PRODUCT_GIVEN(data)   (data)            /* and what it has then */
#else
typedef PetscCtxRt AIJTCUProductData;
  #define AIJTCU_PRODUCT_DATA(product) (&(product)->data)
  #define AIJTCU_PRODUCT_GIVEN(data)   (*(void **)(data))
#endif
#if PETSC_VERSION_LT(3, 26, 0)
typedef int AIJTCUDeviceInt; /* what MatSeqAIJCUSPARSEGetIJ() gives */
#else
typedef PetscInt AIJTCUDeviceInt;
#endif

/* Bricks hold real numbers of the precisions that tensor cores have */
#if PetscDefined(USE_REAL_DOUBLE) || PetscDefined(USE_REAL_SINGLE)
  #define AIJTCU_HAVE_BRICKS 1
#else
  #define AIJTCU_HAVE_BRICKS 0
#endif

/* The library has kernels for a device */
#if AIJTCU_HAVE_BRICKS && PetscDefined(HAVE_CUDA) && (!PETSC_VERSION_LT(3, 26, 0) || !PetscDefined(USE_64BIT_INDICES))
  #define AIJTCU_HAVE_DEVICE 1
#else
  #define AIJTCU_HAVE_DEVICE 0
#endif

/* Parallel products are ours */
#if AIJTCU_HAVE_BRICKS && !PETSC_VERSION_LT(3, 26, 0) && !PetscDefined(HAVE_MPIUNI)
  #define AIJTCU_HAVE_HALO 1
#else
  #define AIJTCU_HAVE_HALO 0
#endif

/* The device's kernels for real scalars alone: sampled products, and those of sparse matrices */
#if AIJTCU_HAVE_DEVICE && !PetscDefined(USE_COMPLEX)
  #define AIJTCU_HAVE_DEVICE_REAL 1
#else
  #define AIJTCU_HAVE_DEVICE_REAL 0
#endif

/* Whole blocks are solved: src/block/. KSP_RemoveNullSpaceMat() and a new set-up for every operator need 3.26 */
#if AIJTCU_HAVE_BRICKS && !PETSC_VERSION_LT(3, 26, 0)
  #define AIJTCU_HAVE_BLOCK 1
#else
  #define AIJTCU_HAVE_BLOCK 0
#endif

/*
   Kernels multiply real matrices. A complex scalar is AIJTCU_PARTS real ones, and a complex matrix is a real one of so
   many times the rows and columns (kernels/real): a dense one with the same array, a sparse one by AIJTCUDeviceCSR
   and AIJTCUHostCSR. What goes to kernels is HrpbScalar, and counts real rows
*/
enum {
  AIJTCU_PARTS = PetscDefined(USE_COMPLEX) ? 2 : 1
};
#if AIJTCU_HAVE_BRICKS
_Static_assert(sizeof(HrpbInt) == sizeof(PetscInt) && AIJTCU_PARTS * sizeof(HrpbScalar) == sizeof(PetscScalar), "compile with HRPB_USE_INT64 and HRPB_USE_SINGLE as PETSc is configured");
#endif

/* What a user can set on a matrix */
typedef struct {
  MatAIJTCUPath        path;
  MatAIJTCUFormat      format; /* zeros while none is set */
  MatAIJTCUPrecision   precision;
  MatAIJTCUReorder     reorder;
  MatAIJTCUTune        tune;
  MatAIJTCUMult        mult;
  MatAIJTCUSparse      sparse;
  MatAIJTCUMGPrecision mg_precision;
  MatAIJTCUHalo        halo;
  PetscInt             products;  /* that are expected with a pattern; PETSC_DEFAULT while nobody said how many */
  PetscReal            threshold; /* PETSC_DEFAULT while none is set */
} AIJTCUOptions;

/* State of what is made once for a pattern */
typedef enum {
  AIJTCU_EMPTY, /* not tried yet */
  AIJTCU_READY,
  AIJTCU_REFUSED /* cannot be had for this pattern, or not now: see AIJTCUPlanForgive() */
} AIJTCUState;

/* symmetry.c */
PETSC_INTERN PetscBool AIJTCUIsSymmetricForEver(Mat);
PETSC_INTERN PetscBool AIJTCUIsHermitianForEver(Mat);

/* agree.c */
PETSC_INTERN PetscErrorCode AIJTCUAgree(MPI_Comm, PetscErrorCode, PetscBool, PetscBool *);

/* refusal.c. Zeros: there is none */
typedef struct {
  PetscInt left, last; /* questions for which it holds, now and when it began */
} AIJTCURefusal;
PETSC_INTERN void      AIJTCURefusalBegin(AIJTCURefusal *);
PETSC_INTERN PetscBool AIJTCURefusalHolds(AIJTCURefusal *);

/* blocks.c */
PETSC_INTERN PetscErrorCode AIJTCULocalBlocks(Mat, Mat[2], const PetscInt **);

/* dense.c */
PETSC_INTERN PetscErrorCode AIJTCUCopyDense(Mat, Mat);

/* whole.c */
PETSC_INTERN PetscInt AIJTCUWholeColumns(PetscInt);
PETSC_INTERN PetscInt AIJTCUWholeBegin(PetscInt);
PETSC_INTERN void     AIJTCUWholeEnd(PetscInt);

/* compose.c */
PETSC_INTERN PetscErrorCode AIJTCUComposeData(PetscObject, const char[], void *, PetscErrorCode (*)(PetscCtxRt));
PETSC_INTERN PetscErrorCode AIJTCUComposedData(PetscObject, const char[], size_t, void **);

/* creators.c. A creator in a list such as KSPList, which must be set up; types of functions must agree */
PETSC_EXTERN PetscErrorCode AIJTCUReplaceCreator_Private(PetscFunctionList *, const char[], PetscErrorCodeFn *, PetscErrorCodeFn **);
#define AIJTCUReplaceCreator(list, name, ours, original) \
  ((void)sizeof(*(original) == (ours)), AIJTCUReplaceCreator_Private(&(list), name, (PetscErrorCodeFn *)(ours), (PetscErrorCodeFn **)(original)))

/* eigenlibrary.c */
PETSC_INTERN PetscErrorCode AIJTCUEigenLoad(void);

/*
   key.c. What identifies a nonzero pattern.

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
  PetscBool        bound;  /* to the host */
} AIJTCUOperandKey;

PETSC_INTERN PetscErrorCode AIJTCUPatternKeyGet(Mat, AIJTCUPatternKey *);
PETSC_INTERN PetscBool      AIJTCUPatternKeySame(const AIJTCUPatternKey *, const AIJTCUPatternKey *);
PETSC_INTERN PetscBool      AIJTCUPatternKeyEqual(const AIJTCUPatternKey *, const AIJTCUPatternKey *);
PETSC_INTERN PetscErrorCode AIJTCUValuesStateGet(Mat, PetscObjectState *);

/* totals.c: the whole program, on this process */
typedef struct {
  PetscInt64      matrices[2], attached; /* of our type, on the host and on a device; others, by -mat_aijtcu_attach */
  MatAIJTCUCounts counts[2];             /* of all plans, on the host and on a device */
  PetscInt64      solves, whole;         /* KSPMatSolve() that came to us, and those by whole blocks */
} AIJTCUTotals;

PETSC_INTERN AIJTCUTotals AIJTCUAll;

/* optioncheck.c */
typedef enum {
  AIJTCU_OPTION_NAME,
  AIJTCU_OPTION_WHOLE,
  AIJTCU_OPTION_REAL,
  AIJTCU_OPTION_LOGICAL
} AIJTCUOptionKind;

PETSC_INTERN PetscErrorCode AIJTCUCheckOption(MPI_Comm, PetscOptionItems, AIJTCUOptionKind, const char[], const char[]);

#if AIJTCU_HAVE_DEVICE
/* cuda.c */
PETSC_INTERN PetscBool AIJTCUForgetError(int);
#endif

/* names.c */
typedef enum {
  AIJTCU_BLOCK_SOLVERS_AUTO, /* where the operator is on a device */
  AIJTCU_BLOCK_SOLVERS_ALWAYS,
  AIJTCU_BLOCK_SOLVERS_OFF
} AIJTCUBlockSolversMode;
PETSC_INTERN AIJTCUBlockSolversMode AIJTCUBlockSolvers; /* -mat_aijtcu_block_solvers */
#if AIJTCU_HAVE_DEVICE
PETSC_INTERN PetscReal AIJTCUWorkspaceMax; /* -mat_aijtcu_workspace_max in MiB; zero or less for the default */
#endif
PETSC_INTERN PetscLogEvent MAT_AIJTCU_Analyse, MAT_AIJTCU_Reorder, MAT_AIJTCU_Tune, MAT_AIJTCU_Build, MAT_AIJTCU_Refresh, MAT_AIJTCU_Tcu, MAT_AIJTCU_CSR, MAT_AIJTCU_CuSPARSE, MAT_AIJTCU_Sampled, MAT_AIJTCU_Pack, MAT_AIJTCU_Exchange, MAT_AIJTCU_OffDiagonal;
