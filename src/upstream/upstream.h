/*
   Workarounds for defects of PETSc, SLEPc and cuSPARSE. Nothing here knows of a plan. Each file has the text to send.
*/
#pragma once

#include "../common/common.h"
#if AIJTCU_HAVE_BLOCK
  #include <petscksp.h>
#endif

/* hostvectors.c */
PETSC_INTERN PetscErrorCode AIJTCUCopyOnHost(Vec, Vec);
PETSC_INTERN PetscErrorCode AIJTCUCallWithVecs(Mat, PetscInt, PetscInt, const Vec[], PetscErrorCode (*)(Mat, const Vec[]));
#if AIJTCU_HAVE_BLOCK
PETSC_INTERN PetscErrorCode AIJTCUPCCallWithVecs(PC, Vec, Vec, PetscErrorCode (*)(PC, Vec, Vec));
#endif

/* headermerge.c */
PETSC_INTERN void AIJTCUKeepDestroy(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN void AIJTCUGiveDestroyBack(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode (*AIJTCUKeptDestroy(Mat))(Mat);

/* Files: multtransposeadd.c, valuestohost.c, zeroentries.c, unsetvalues.c, ilufactor.c, submatrices.c, newtype.c */
PETSC_INTERN PetscErrorCode AIJTCUMultTransposeAddInPlace(Mat, PetscErrorCode (*)(Mat, Vec, Vec, Vec), Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode AIJTCUValuesToHost(Mat, PetscBool);
#if PetscDefined(HAVE_CUDA)
PETSC_INTERN PetscErrorCode AIJTCUZeroOnHost(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUCallWithoutValues(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode AIJTCUNeverOnDevice(Mat, PetscBool *);
#endif
PETSC_INTERN PetscErrorCode AIJTCUILUFactorInPlace(Mat, IS, IS, const MatFactorInfo *);
PETSC_INTERN PetscErrorCode AIJTCUSubMatricesFilled(PetscInt, Mat[]);
PETSC_INTERN PetscErrorCode AIJTCUConvertNew(Mat, Mat *);

#if PetscDefined(HAVE_CUDA)
/* densesolve.c */
PETSC_INTERN PetscErrorCode AIJTCUDenseSolveEnter(Mat);

/* coo.c */
PETSC_INTERN PetscErrorCode AIJTCUBlocksToDevice(Mat);
#endif

/* unbound.c */
PETSC_INTERN PetscErrorCode AIJTCUUnbind(Mat, PetscBool, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUFreeDuplicate(Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUFreeShared(Mat);

/* A call for A as it is when it is not bound to the host. It is bound again after that, after an error, too */
#define AIJTCUCallUnbound(A, lost, call)              \
  do {                                                \
    PetscBool      bound_;                            \
    PetscErrorCode ierr_, again_ = PETSC_SUCCESS;     \
    PetscCall(AIJTCUUnbind(A, lost, &bound_));        \
    ierr_ = (call);                                   \
    if (bound_) again_ = MatBindToCPU(A, PETSC_TRUE); \
    PetscCall(ierr_);                                 \
    PetscCall(again_);                                \
  } while (0)

/* wholematrix.c */
PETSC_INTERN PetscErrorCode AIJTCUCreateSubMatrices(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[], PetscErrorCode (*)(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]));

/* blocksizes.c */
PETSC_INTERN PetscErrorCode AIJTCUGiveBlockSizes(Mat);

/* ours.c */
PETSC_INTERN void           AIJTCUKnowOurs(PetscErrorCode (*)(Mat, PetscBool *));
PETSC_INTERN PetscErrorCode AIJTCUPCHasOurs(PC, PetscBool *);

/* maijvalues.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterMAIJ(void);

/* hostpointers.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterHostPointers(void);

/* hostrandom.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterRandom(void);

/* convertis.c */
PETSC_INTERN PetscErrorCode AIJTCUConvertFirst(MatType, Mat *);

/* convertedstate.c */
PETSC_INTERN PetscErrorCode AIJTCURaiseNonzeroState(Mat, PetscObjectState);

/* hermitianscale.c */
PETSC_INTERN void AIJTCUForgetHermitian(Mat, PetscScalar);

/* storedvalues.c */
PETSC_INTERN PetscErrorCode AIJTCUStoredValuesFit(Mat);
PETSC_INTERN PetscErrorCode AIJTCUStoredValuesKeep(Mat);

/* hash.c */
PETSC_INTERN PetscErrorCode AIJTCUForgetHash(Mat);
PETSC_INTERN PetscErrorCode AIJTCUResetBlocks(Mat);
PETSC_INTERN PetscErrorCode AIJTCUBlockToDevice(Mat);
PETSC_INTERN PetscErrorCode AIJTCUBindAgain(Mat);

/* hashscalars.c */
PETSC_INTERN PetscErrorCode AIJTCUSetUpHash(Mat);

/* writeonly.c */
PETSC_INTERN PetscErrorCode AIJTCUNormOfColumns(Mat, PetscReal *);
PETSC_INTERN PetscErrorCode AIJTCUAlsoOnHost(Vec);

/* bounddense.c */
PETSC_INTERN PetscErrorCode AIJTCUDenseStandIn(Mat, PetscScalar *, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUBoundBegin(Mat, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUBoundEnd(Mat, Mat *);
PETSC_INTERN PetscErrorCode AIJTCURegisterPreonly(void);

/* splitblocks.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterSplit(void);

/* cayleyshell.c: the library for SLEPc's solvers calls it */
PETSC_EXTERN PetscErrorCode AIJTCUShellVecsOf(Mat, Mat);

/* fdcoloring.c */
PETSC_INTERN PetscErrorCode AIJTCUBindColoring(MatFDColoring, Vec);

/* oldpattern.c */
typedef struct { /* of the blocks of a matrix on this process */
  PetscObjectId    id[2];
  PetscObjectState state[2];
} AIJTCUPatterns;
PETSC_INTERN PetscErrorCode AIJTCUForgetDevice(Mat);
PETSC_INTERN PetscErrorCode AIJTCUAssembledPatterns(Mat, AIJTCUPatterns *);
PETSC_INTERN PetscErrorCode AIJTCUTakePatterns(Mat, const AIJTCUPatterns *);

/* compressedrows.c */
PETSC_INTERN PetscErrorCode AIJTCURowsAreCompressed(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHostDiagonal(Mat, Vec);
PETSC_INTERN PetscErrorCode AIJTCUHostAddSubset(Mat, PetscScalar, Mat);

/* columnindices.c */
PETSC_INTERN PetscErrorCode AIJTCUColumnsAreThere(Mat, PetscInt, PetscInt *);

/* blockdiagonal.c */
PETSC_INTERN PetscErrorCode AIJTCUGetBlockDiagonal(Mat, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUGetVBlockDiagonal(Mat, Mat *);

#if AIJTCU_HAVE_BLOCK
/* kspfits.c */
typedef struct {
  PetscBool asked, fits;
} AIJTCUKSPTrial;
PETSC_INTERN PetscErrorCode AIJTCUKSPFits(PetscErrorCode (*)(KSP, PetscBool *), AIJTCUKSPTrial *, PetscBool *);

/* chebyshevbounds.c */
typedef struct { /* what KSPCHEBYSHEV works with */
  PetscReal        emin, emax;
  KSPChebyshevKind kind;
  const PetscReal *betas;
} AIJTCUChebyshev;
PETSC_INTERN PetscErrorCode AIJTCUChebyshevGet(KSP, AIJTCUChebyshev *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUChebyshevMakesNoise(KSP, PetscBool *);

/* gamggraph.c */
typedef struct { /* what PCGAMGAGG is set to: a copy of the begin of PETSc's struct */
  PetscInt  nsmooths;
  PetscInt  aggressive_coarsening_levels;
  PetscInt  aggressive_mis_k;
  PetscBool use_aggressive_square_graph;
  PetscBool use_minimum_degree_ordering;
} AIJTCUAggregation;
PETSC_INTERN PetscErrorCode AIJTCUGAMGAggregation(PC, const AIJTCUAggregation **);

/* cgtype.c */
PETSC_INTERN PetscErrorCode AIJTCUCGIsHermitian(KSP, PetscBool *);

  #if AIJTCU_HAVE_DEVICE_REAL
/* cgdata.c */
typedef struct { /* the data of KSPCG */
  KSPCGType    type;
  PetscScalar *e, *d; /* of the tridiagonal matrix, [max_it + 1] and [max_it] where eigenvalues are computed */
  PetscReal   *ee, *dd;
  PetscReal    radius, obj, obj_min;
  PetscBool    single_reduction;
} AIJTCUCGData;
PETSC_INTERN PetscErrorCode AIJTCUCGGetData(KSP, AIJTCUCGData **);
  #endif

  #if AIJTCU_HAVE_DEVICE
/* cusparsefactor.c */
typedef enum {
  AIJTCU_FACTOR_LU,  /* L, whose diagonal is ones, below U in one matrix */
  AIJTCU_FACTOR_LLT, /* L, with numbers above it that do not belong to it */
  AIJTCU_FACTOR_UTDU /* U, whose diagonal is ones, and the inverse of D */
} AIJTCUTrianglesKind;
typedef struct { /* triangular factors on a device, in CSR */
  AIJTCUTrianglesKind kind;
  size_t              index_size; /* of an entry of these: */
  const void         *rowptr, *colidx;
  const PetscScalar  *values, *diagonal;
  PetscBool           permuted; /* rows or columns were, before the matrix was factored */
} AIJTCUTriangles;
PETSC_INTERN PetscErrorCode AIJTCUFactorGet(Mat, AIJTCUTriangles *, PetscBool *);
  #endif
#endif

#if AIJTCU_HAVE_DEVICE
/* oldtranspose.c */
PETSC_INTERN PetscErrorCode AIJTCUFactorTransposeAnew(Mat, PetscBool);
#endif

/* hostproduct.c */
PETSC_INTERN PetscErrorCode AIJTCUHostProductSymbolic(Mat, MatType);
PETSC_INTERN PetscErrorCode AIJTCUProductTakes(Mat, MatType, Mat *);

/* Of products, a file each: staleproduct.c, devicec.c, replacedoperands.c, expandmaij.c, setupdense.c */
PETSC_INTERN PetscErrorCode AIJTCUProductIsStale(Mat, PetscBool, PetscBool, const AIJTCUOperandKey *, const AIJTCUOperandKey *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductWithDeviceC(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode AIJTCUProductIsSparse(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductOfReplaced(Mat);
PETSC_INTERN PetscErrorCode AIJTCUExpandMAIJ(Mat, MatType);
PETSC_INTERN PetscErrorCode AIJTCUSetUpDense(Mat);
