/*
   What the files of src/eigen/ share: LOBPCG of SLEPc's EPS for an aijtcu, with whole blocks.

   This is a library of its own, libpetscaijtcueps, because it needs SLEPc. The first library loads it where a process
   has SLEPc.
*/
#pragma once

#include "../block/block.h"
#include <slepceps.h>

/* Private structs of SLEPc are used, which have another layout in other releases */
#if AIJTCU_HAVE_BLOCK && !SLEPC_VERSION_LT(3, 26, 0) && SLEPC_VERSION_LT(3, 27, 0)
  #define AIJTCU_HAVE_EIGEN 1
#else
  #define AIJTCU_HAVE_EIGEN 0
#endif

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscaijtcueps(void);

#if AIJTCU_HAVE_EIGEN
  #pragma GCC diagnostic push
  #pragma GCC diagnostic ignored "-Wunused-parameter" /* of complex scalars */
  #include <slepc/private/epsimpl.h>
  #pragma GCC diagnostic pop
  #include <slepc/private/bvimpl.h>
  #include <slepc/private/dsimpl.h>
  #include <slepc/private/stimpl.h>
  #include <petsc/private/kspimpl.h>
  #include <slepcblaslapack.h>

/*
   ritz.c: the small matrices of a Rayleigh-Ritz method with V = [X, P] and new vectors W, all on the host, each column
   after the other.

   V is orthonormal in the inner product, or nearly so. W is anything. Coefficients make W orthonormal, and orthogonal
   to V: W^ = (W - V a) T. What is the eigenproblem of [V, W^] gives the next X and P, as coefficients of [V, W].
*/
typedef struct _n_AIJTCURitz *AIJTCURitz;
struct _n_AIJTCURitz {
  AIJTCUBasis basis; /* not a reference */
  PetscInt    nx;    /* columns of X */
  PetscInt    np;    /* of P */
  PetscInt    nw;    /* of W, and */
  PetscInt    rank;  /* of W^ */
  PetscBool   largest;
  PetscInt   *vector; /* which vector of X each column of P belongs to: descending */

  /* About W */
  PetscBool nan;
  PetscBool failed;    /* the products of V are no inner products */
  PetscReal fraction;  /* the least part of the square of a vector that is not in V */
  PetscReal condition; /* of W^, with vectors of one length */
  PetscReal noise;     /* rounding of the eigenproblem, in parts of what couples a wanted vector of X to W^: least */
  PetscReal rounding;  /* of A W^, in parts of A */

  PetscReal error, errorP; /* how far A X and A P may be from products, in parts of A. Others set them to 0 */

  PetscReal   *theta; /* Ritz values, nx of them */
  PetscScalar *C;     /* coefficients of the next X and P: nx + np + nw rows */

  PetscBool     general; /* V^H B V is L L^H */
  PetscInt      order;   /* of the last eigenproblem */
  PetscScalar  *L, *H, *a, *T, *S, *F, *Z, *M[4];
  PetscReal    *values, *d, *length;
  PetscInt     *live, nlive, lwork, liwork;
  PetscScalar  *work, *vectors, *tau;
  PetscReal    *beside;
  PetscBLASInt *iwork;
};

PETSC_INTERN PetscErrorCode AIJTCURitzCreate(AIJTCUBasis, PetscInt, PetscBool, AIJTCURitz *);
PETSC_INTERN PetscErrorCode AIJTCURitzDestroy(AIJTCURitz *);
PETSC_INTERN PetscErrorCode AIJTCURitzStart(AIJTCURitz, const PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCURitzOrthonormal(AIJTCURitz, const PetscScalar *, PetscInt, PetscBool, PetscReal *, PetscInt *, PetscInt *);
PETSC_INTERN PetscErrorCode AIJTCURitzLeave(AIJTCURitz, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCURitzVectors(AIJTCURitz, PetscInt, const PetscScalar *, const PetscScalar *, const PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCURitzExplicit(AIJTCURitz, PetscBool);
PETSC_INTERN PetscErrorCode AIJTCURitzProject(AIJTCURitz, PetscInt, const PetscScalar *, const PetscScalar *, const PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCURitzSolve(AIJTCURitz, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCURitzNext(AIJTCURitz);

/* lobpcg.c */
PETSC_INTERN PetscInt       AIJTCULOBPCGGuards(PetscInt, PetscReal);
PETSC_INTERN PetscErrorCode AIJTCULOBPCGSolve(EPS, PetscBool *);

/* cayley.c */
PETSC_INTERN PetscErrorCode AIJTCUCayleyEnter(void);
#endif
