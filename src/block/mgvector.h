/*
   What the files of a multigrid cycle for one vector share: its levels, and the list of its launches. See pcmgvector.c.
*/
#pragma once

#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petsc/private/pcmgimpl.h>
  #include <vector/single.h>

/* A smoother. It is compared byte by byte, so it is zeroed before it is filled */
typedef struct {
  PetscInt           steps, dblock;
  PetscReal          emin, emax;
  const PetscScalar *D;
  PetscObjectId      id; /* of D, and the state of its values */
  PetscObjectState   state;
} AIJTCUMGSmoother;

/* A product: as the plan has it, and as the cycle makes it, with values in the precision of the cycle */
typedef struct {
  AIJTCUVectorProduct given;
  const SpmmKernel   *kernel;
  SpmmMatrix          A;
} AIJTCUMGProduct;

/* What vectors and D are of the precision of the cycle */
typedef struct {
  AIJTCUMGProduct  A, down, up;
  AIJTCUMGSmoother smoother[2];
  PetscInt         rows, cycles;
  const void      *D[2];
  void            *b, *x, *t, *w;
} AIJTCUMGRows;

typedef enum {
  AIJTCU_MG_PRODUCT,
  AIJTCU_MG_STEP,
  AIJTCU_MG_TO_DOUBLE, /* in a cycle of single precision: operands of a coarse solve in double */
  AIJTCU_MG_TO_SINGLE
} AIJTCUMGWork;

/* A piece of work: y = A x and its updates, or a step of a smoother, or the other precision of a vector x */
typedef struct {
  AIJTCUMGWork           work;
  const AIJTCUMGProduct *product;
  SpmmOperands           operands;
  PetscInt               rows;
  BlockSmooth            smooth;
  const void            *x;
  void                  *y;
} AIJTCUMGLaunch;

/*
   In single precision the numbers of a level are those of double times a power of two:

     A 2^-e,  D 2^e,  b 2^-t,  x 2^(e - t)

   t is the same on all levels but for the scale of restrictions. It is that of the right-hand side, which each cycle
   finds, on the finest. So steps of smoothers have the numbers that they have in double
*/
typedef struct {
  void          *copies;  /* values and diagonals, one allocation. NULL: the cycle is in double */
  VectorLargest *largest; /* of the right-hand side, on the device */
  int            e[PETSC_MG_MAXLEVELS];
} AIJTCUMGSingle;

struct _n_AIJTCUMGVector {
  PetscInt        nlevels, cycles;
  PetscBool       wants_single; /* even if it is not */
  AIJTCUMGSingle  single;
  AIJTCUMGRows    level[PETSC_MG_MAXLEVELS];
  AIJTCUMGProduct coarse;
  void           *memory, *work;
  AIJTCUMGLaunch *list;
  PetscInt        n, most;
  PetscInt64      applied;
  SpmmGraph       graph;
  PetscLogDouble  flops;
};

/* pcmgsingle.c. why says that there is none, with nothing changed */
PETSC_INTERN PetscErrorCode AIJTCUMGSingleCreate(AIJTCUMGVector, struct CUstream_st *, const char **);
PETSC_INTERN PetscErrorCode AIJTCUMGSingleDestroy(AIJTCUMGSingle *);
PETSC_INTERN HrpbError      AIJTCUMGSingleRun(const AIJTCUMGSingle *, const AIJTCUMGLaunch *, struct CUstream_st *);
PETSC_INTERN HrpbError      AIJTCUMGSingleTake(const AIJTCUMGSingle *, PetscInt, const PetscScalar *, void *, struct CUstream_st *);
PETSC_INTERN HrpbError      AIJTCUMGSingleGive(const AIJTCUMGSingle *, PetscInt, PetscInt, const void *, PetscScalar *, struct CUstream_st *);
#endif
