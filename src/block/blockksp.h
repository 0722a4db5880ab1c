/*
   Block forms of PETSc's Krylov methods: what the files that solve share.

   A method is one file with one object, an AIJTCUBlockMethod. methods.c has the one array of them. PETSc's creator of
   the method's type is wrapped: enter.c. The object has PETSc's own function for a solve with one right-hand side, and
   ours for a block.
*/
#pragma once

#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/kspimpl.h>
  #include <petsc/private/pcimpl.h>

/* Which scalars of a solve are whose: a method's own begin at AIJTCU_SCALARS_OWN */
enum {
  AIJTCU_SCALARS_ACTIVE, /* 1 where a column is worked on, 0 where it has stopped */
  AIJTCU_SCALARS_MINUS,  /* -1 */
  AIJTCU_SCALARS_ZERO,
  AIJTCU_SCALARS_OWN
};

/* Which work blocks are whose */
enum {
  AIJTCU_BLOCK_TEMP, /* for a method once it has begun; never the result of a product with A */
  AIJTCU_BLOCK_RHS,  /* B without what is not in the range of A; B of a narrow block, where a method still needs it */
  AIJTCU_BLOCK_X,    /* X of a narrow block */
  AIJTCU_BLOCK_OWN
};

/* How each column fares */
typedef struct {
  PetscInt            N, allocated, nactive;
  PetscBool           narrow;  /* N is less than at the beginning, see narrow.c */
  PetscBool           changed; /* active here is newer than the scalars of the solve */
  PetscInt            first;   /* which of all right-hand sides the first column of the block was */
  PetscInt           *column;  /* which column of the block at the beginning each is */
  PetscInt           *from;    /* for narrow.c */
  PetscInt            waited;  /* for as many iterations the block could have been narrow */
  PetscReal           largest; /* norm of those that have left */
  PetscScalar        *active;
  PetscInt           *its;
  PetscReal          *rnorm;
  PetscReal          *rnorm0; /* what the norms of the residual are compared with; set at the first test, or before */
  KSPConvergedReason *reason;
  PetscReal          *norm; /* for the method: norms to test */
  PetscScalar        *host; /* scalars of the solve on the host */
  PetscInt            nhost;
  PetscBool           rnorm0_set;
} AIJTCUColumns;

/* How all columns of the last KSPMatSolve() fared, which may have been solved in several batches */
typedef struct {
  PetscInt            N, allocated;
  PetscInt           *its;
  PetscReal          *rnorm, *rnorm0;
  KSPConvergedReason *reason;
} AIJTCUResults;

/* A product with A or its transpose that is set up once. PETSc keeps what it needs in the matrix of the result */
typedef struct {
  Mat              result; /* a reference */
  PetscInt         N;      /* its columns */
  PetscBool        transposed;
  PetscInt         decide; /* columns that it was decided for: AIJTCUWholeColumns() */
  PetscObjectId    id;
  PetscObjectState nonzerostate;
} AIJTCUBlockProduct;

/* What a solve needs: arrays of scalars, and work blocks */
typedef struct {
  PetscInt nscalars, nblocks;
  PetscInt nsquares; /* matrices with as many rows and columns as the block has columns, behind the scalars */
} AIJTCUBlockNeeds;

/* Where the blocks of the last solve were: of B and X. All processes have the same answer */
typedef struct {
  PetscBool        given_device[2]; /* the other place where it is bound to the host: then it is moved */
  PetscBool        device; /* where A works */
  AIJTCUBlockNeeds needs;
} AIJTCUBlockPlace;

typedef struct _AIJTCUBlockMethod AIJTCUBlockMethod;

typedef struct {
  const AIJTCUBlockMethod *method;
  void                    *data; /* of the method: what was set, see AIJTCUBlockMethod.compose */

  /* What the original creator has set */
  PetscErrorCode (*setup)(KSP);
  PetscErrorCode (*reset)(KSP);
  PetscErrorCode (*destroy)(KSP);
  PetscErrorCode (*matsolve)(KSP, Mat, Mat);
  PetscErrorCode (*solve)(KSP);
  PetscBool setupnewmatrix;

  PetscBool ours; /* blocks of this operator are */

  /* Kept from solve to solve, until KSPReset() */
  AIJTCUBlockCtx     ctx;
  AIJTCUBlockPlace   place;
  Mat                moved[2];   /* B and X where A works, if they are not there */
  Mat                whole;      /* X of all columns, where the block is narrow; not a reference */
  AIJTCUBlockProduct product[4]; /* at most two blocks are results of products in a method, and they may be narrow */
  AIJTCUColumns      columns;
  PetscInt           most; /* columns for which there was memory after there was none for more; 0 for any number */
  AIJTCUResults      results;
} AIJTCUBlockKSP;

struct _AIJTCUBlockMethod {
  KSPType name;
  KSPType base;                                                  /* PETSc's type that it is made of; NULL: the same */
  PetscErrorCode (*create)(KSP);                                 /* registered in place of PETSc's creator */
  PetscErrorCode (**original)(KSP);                              /* PETSc's creator */
  size_t size;                                                   /* of the method's data; they begin as zeros */
  PetscErrorCode (*compose)(KSP, AIJTCUBlockKSP *);              /* after original(): sees what is set; or NULL */
  PetscErrorCode (*setup)(KSP, AIJTCUBlockKSP *);                /* around PETSc's set-up; or NULL */
  PetscErrorCode (*lacks)(KSP, AIJTCUBlockKSP *, const char **); /* why the block form cannot do what is set; or NULL */
  AIJTCUBlockNeeds (*needs)(KSP);
  PetscErrorCode (*solve)(KSP, AIJTCUBlockKSP *, Mat, Mat);
  PetscErrorCode (*vector)(KSP, AIJTCUBlockKSP *, PetscBool *); /* KSPSolve() on a device, if it can; or NULL */
  PetscErrorCode (*reset)(AIJTCUBlockKSP *); /* gives back what the data keep; or NULL */
  PetscBool matsolve;                        /* what the block form lacks is left to PETSc's matsolve */
};

/* enter.c */
PETSC_INTERN PetscErrorCode AIJTCUBlockCreateKSP(KSP, const AIJTCUBlockMethod *);
PETSC_INTERN PetscErrorCode AIJTCUBlockGetData(KSP, void *); /* of the method */
PETSC_INTERN PetscErrorCode AIJTCUBlockEnter(KSP, AIJTCUBlockKSP *);
PETSC_INTERN PetscErrorCode AIJTCUBlockGetKSP(KSP, AIJTCUBlockKSP **); /* NULL where there is none */

/*
   operator.c. Products with A and applications of the preconditioner, as KSP_MatMult(), KSP_PCApply() and their kin do
   them for a vector.
*/
PETSC_INTERN PetscErrorCode AIJTCUBlockWhere(KSP, AIJTCUBlockKSP *, Mat, Mat, Mat[2], PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUBlockDone(AIJTCUBlockKSP *, Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUBlockReset(AIJTCUBlockKSP *);
PETSC_INTERN PetscErrorCode AIJTCUBlockForgetOthers(AIJTCUBlockKSP *, Mat);
PETSC_INTERN PetscErrorCode AIJTCUBlockMatMult(KSP, AIJTCUBlockKSP *, Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUBlockPCApply(KSP, Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUPCBlocks(KSP, PetscInt *, Vec *);
PETSC_INTERN PetscErrorCode AIJTCUBlockPCDiagonal(KSP, AIJTCUBlockKSP *, Vec *);
PETSC_INTERN PetscErrorCode AIJTCUBlockSmootherDiagonal(KSP, AIJTCUBlockKSP *, PetscInt *, Vec *);
PETSC_INTERN PetscErrorCode AIJTCUBlockBAorAB(KSP, AIJTCUBlockKSP *, Mat, Mat, Mat, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUBlockResidual(KSP, AIJTCUBlockKSP *, PetscBool, Mat, Mat, Mat, Mat *);

/* columns.c */
PETSC_INTERN PetscErrorCode AIJTCUColumnsBegin(KSP, AIJTCUBlockKSP *, PetscInt, PetscInt, Mat);
PETSC_INTERN PetscErrorCode AIJTCUColumnsSave(AIJTCUBlockKSP *);
PETSC_INTERN PetscErrorCode AIJTCUColumnsActive(AIJTCUBlockKSP *, const PetscScalar **);
PETSC_INTERN PetscErrorCode AIJTCUColumnsScaled(AIJTCUBlockKSP *, PetscInt, const PetscScalar[], PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUColumnsNorms(AIJTCUBlockKSP *, Mat, PetscInt, const PetscReal **);
PETSC_INTERN PetscErrorCode AIJTCUColumnsFetchBegin(AIJTCUBlockKSP *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUColumnsFetchEnd(AIJTCUBlockKSP *, PetscInt, PetscInt, PetscInt, PetscInt, const PetscScalar **);
PETSC_INTERN PetscErrorCode AIJTCUColumnsFetch(AIJTCUBlockKSP *, PetscInt, PetscInt, const PetscScalar **);
PETSC_INTERN PetscErrorCode AIJTCUColumnTest(KSP, AIJTCUBlockKSP *, PetscInt, PetscInt, PetscReal, KSPConvergedReason *);
PETSC_INTERN PetscErrorCode AIJTCUColumnsTest(KSP, AIJTCUBlockKSP *, PetscInt, PetscInt, const PetscReal[]);
PETSC_INTERN PetscErrorCode AIJTCUColumnsTestAgain(KSP, AIJTCUBlockKSP *, PetscInt, PetscInt, const PetscReal[], PetscReal *);
PETSC_INTERN PetscErrorCode AIJTCUColumnStop(KSP, AIJTCUBlockKSP *, PetscInt, PetscInt, KSPConvergedReason);
PETSC_INTERN PetscErrorCode AIJTCUColumnStopNaN(KSP, AIJTCUBlockKSP *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUColumnsStop(KSP, AIJTCUBlockKSP *, PetscInt, KSPConvergedReason);
PETSC_INTERN PetscErrorCode AIJTCUColumnsSmoothed(KSP, AIJTCUBlockKSP *, Mat);
PETSC_INTERN PetscErrorCode AIJTCUColumnsEnd(KSP, AIJTCUBlockKSP *, Mat);
PETSC_INTERN PetscErrorCode AIJTCUColumnsFree(AIJTCUColumns *);
PETSC_INTERN PetscErrorCode AIJTCUColumnByColumn(KSP, AIJTCUBlockKSP *, Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUResultsBegin(AIJTCUResults *, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUResultsGive(KSP, const AIJTCUResults *);
PETSC_INTERN PetscErrorCode AIJTCUResultsFree(AIJTCUResults *);

/* narrow.c */
enum {
  AIJTCU_PATIENCE = 4 /* iterations of a method that may narrow in each */
};

PETSC_INTERN PetscErrorCode AIJTCUColumnsNarrow(KSP, AIJTCUBlockKSP *, PetscInt, Mat *, PetscInt, const PetscInt[], const PetscInt *[]);
PETSC_INTERN PetscErrorCode AIJTCUColumnsWiden(AIJTCUBlockKSP *);

/* cg.c: settings of PETSc's cg that a block form lacks, for all methods that are made of it */
typedef struct {
  PetscReal radius, target;
  PetscBool single_reduction;
  PetscErrorCode (*set_radius)(KSP, PetscReal);
  PetscErrorCode (*set_target)(KSP, PetscReal);
  PetscErrorCode (*set_single_reduction)(KSP, PetscBool);
} AIJTCUCGSettings;

  #if AIJTCU_HAVE_DEVICE_REAL
/* noise.c */
PETSC_INTERN PetscErrorCode AIJTCUNoiseGet(Mat, Vec *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUSetUpWithNoise(KSP, PetscErrorCode (*)(KSP), Vec *);

/* cgvector.c */
typedef struct _n_AIJTCUCGVector *AIJTCUCGVector;
PETSC_INTERN PetscErrorCode AIJTCUCGVectorSolve(KSP, AIJTCUCGVector *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUCGVectorDestroy(AIJTCUCGVector *);
  #endif

PETSC_INTERN PetscErrorCode AIJTCUComposeCG(KSP, AIJTCUBlockKSP *);
PETSC_INTERN PetscErrorCode AIJTCULacksCG(KSP, AIJTCUBlockKSP *, const char **);

/* The methods */
PETSC_INTERN const AIJTCUBlockMethod AIJTCUBlockCG, AIJTCUBlockChebyshev, AIJTCUBlockRichardson, AIJTCUBlockGMRES, AIJTCUBlockFGMRES, AIJTCUBlockBCGS, AIJTCUBlockBCG;
#endif
