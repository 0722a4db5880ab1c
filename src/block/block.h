/*
   Block forms of PETSc's solvers and preconditioners: how they come into PETSc's lists, and into a factor. Vectors of a
   Rayleigh-Ritz method.
*/
#pragma once

#include "../common/common.h"

/* methods.c */
PETSC_INTERN PetscErrorCode AIJTCUBlockRegister(void);

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE
/* matsolve.c */
PETSC_INTERN PetscErrorCode AIJTCUMatSolveEnter(Mat, IS, IS);
#endif

#if AIJTCU_HAVE_BLOCK
/*
   basis.c: the vectors of a Rayleigh-Ritz method, where its matrix works: on the host, or on a device. src/eigen/, a
   library of its own, works with these.

   There are arrays of so many columns each, which lie as a dense matrix does. What is done with them is few and large
   operations: products of two arrays, arrays times small matrices, residuals. Small matrices are on the host, each
   column after the other. Sums are over all processes, and have the same bits in each run.
*/
typedef struct _n_AIJTCUBasis *AIJTCUBasis;

/* The arrays. Those of S, A S and B S have equally many columns; there need not be the latter, nor B Y */
enum {
  AIJTCU_BASIS_S,
  AIJTCU_BASIS_AS,
  AIJTCU_BASIS_BS,
  AIJTCU_BASIS_R,
  AIJTCU_BASIS_Y, /* what all is orthogonal to */
  AIJTCU_BASIS_BY,
  AIJTCU_BASIS_ARRAYS
};

typedef struct { /* columns of an array */
  int      array;
  PetscInt first, n;
} AIJTCUBasisPart;

/* Whether A is an aijtcu, or an aijcusparse that is attached, and where it works */
PETSC_EXTERN PetscErrorCode AIJTCUBasisTakes(Mat, PetscBool *, PetscBool *);

/*
   Arrays with so many columns, and rows as A has, with zeros in them. At most so many numbers come to the host at a
   time, and go there. *basis is NULL, on all processes, where there is no memory for them
*/
PETSC_EXTERN PetscErrorCode AIJTCUBasisCreate(Mat, const PetscInt[AIJTCU_BASIS_ARRAYS], PetscInt, AIJTCUBasis *);
PETSC_EXTERN PetscErrorCode AIJTCUBasisDestroy(AIJTCUBasis *);

/*
   A matrix of these columns. AIJTCUBasisRead() must follow where others have written them by that matrix, and
   AIJTCUBasisWritten() where this has
*/
PETSC_EXTERN PetscErrorCode AIJTCUBasisMat(AIJTCUBasis, AIJTCUBasisPart, Mat *);
PETSC_EXTERN PetscErrorCode AIJTCUBasisRead(Mat);
PETSC_EXTERN PetscErrorCode AIJTCUBasisWritten(Mat);

/*
   The products X^H Y. They stay until the next call of any of these functions. both: with columns of B S, or of S where
   there is no B S, as Y, and the same of A S: twice as many columns of products, those of A S each behind the other's
*/
PETSC_EXTERN PetscErrorCode AIJTCUBasisProducts(AIJTCUBasis, AIJTCUBasisPart X, AIJTCUBasisPart Y, PetscBool both, const PetscScalar *[]);

/* Y[i] = X[i] K, or with add Y[i] += X[i] K. No Y is an X */
PETSC_EXTERN PetscErrorCode AIJTCUBasisCombine(AIJTCUBasis, PetscInt, const AIJTCUBasisPart[], const PetscScalar *, PetscBool, const AIJTCUBasisPart[]);

/* R_j = Y_j - a_j X_j, and the squares of the norms of these columns */
PETSC_EXTERN PetscErrorCode AIJTCUBasisResidual(AIJTCUBasis, AIJTCUBasisPart, const PetscScalar[], AIJTCUBasisPart, AIJTCUBasisPart, const PetscScalar *[]);

/*
   The first eigenvalues of a Hermitian matrix of the host, whose upper triangle is taken, in ascending order, and their
   vectors in its place: on the device, where that is faster. solved says whether it was
*/
PETSC_EXTERN PetscErrorCode AIJTCUBasisEigen(AIJTCUBasis, PetscInt, PetscScalar *, PetscInt, PetscReal *, PetscBool *);

PETSC_EXTERN PetscErrorCode AIJTCUBasisCopy(AIJTCUBasis, AIJTCUBasisPart, AIJTCUBasisPart);
PETSC_EXTERN PetscErrorCode AIJTCUBasisZero(AIJTCUBasis, AIJTCUBasisPart);
PETSC_EXTERN PetscErrorCode AIJTCUBasisSetColumn(AIJTCUBasis, int, PetscInt, Vec);
PETSC_EXTERN PetscErrorCode AIJTCUBasisGetColumn(AIJTCUBasis, int, PetscInt, Vec);
#endif
