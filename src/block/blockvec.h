/*
   Blocks of vectors, for methods that solve with all columns at once.

   A block is a dense Mat, as KSPMatSolve() has it. The columns are independent of each other. Scalars of a method, such
   as step lengths, are arrays of N numbers, one for each column, and lie where the blocks are. So on a device they need
   not come to the host.
*/
#pragma once

#include "block.h"
#include "../device/device.h"
#include "../identity/identity.h"
#include "../plan/plan.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_BLOCK
  #include <petscksp.h>
  #include <block/blockops.h>

_Static_assert(sizeof(BlockNumber) == sizeof(PetscScalar), "compile with HRPB_USE_SINGLE and HRPB_USE_COMPLEX as PETSc is configured");

/* What one solve works with: where its blocks are, arrays of scalars, work blocks */
typedef struct _n_AIJTCUBlockCtx *AIJTCUBlockCtx;

typedef struct { /* sign X K, or with the transpose of K, a square matrix of N rows. Of complex numbers: conjugated */
  PetscReal          sign;
  Mat                X;
  PetscBool          transpose;
  const PetscScalar *K;
} AIJTCUBlockTerm;

/*
   vec.c: the arithmetic. kernels/block/blockops.h says what each function computes. On a device none waits for the
   device, except AIJTCUBlockToHost() and its second half, and on more than one rank those with sums.

   AIJTCUBlockCtxSetUp() may be called again, for blocks of another shape, too. It keeps what fits: with the same shape
   it allocates nothing. The scalars are zero after it, and work blocks hold anything. If usable is false, the blocks
   are where this cannot work, or memory is short; all ranks get the same answer.
*/
PETSC_EXTERN PetscErrorCode AIJTCUBlockCtxCreate(AIJTCUBlockCtx *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCtxSetUp(AIJTCUBlockCtx, Mat, PetscInt, PetscBool *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCtxDestroy(AIJTCUBlockCtx *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockWork(AIJTCUBlockCtx, PetscInt, Mat *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCtxIsAlone(AIJTCUBlockCtx, PetscBool *);
PETSC_EXTERN PetscScalar   *AIJTCUBlockScalars(AIJTCUBlockCtx, PetscInt);

/*
   A context can be narrowed, also several times. Work blocks are then the first columns of what they were. Those whose
   numbers are given keep the columns that are given, in ascending order, and so do all scalars. Work blocks and scalars
   must be asked for anew. AIJTCUBlockCtxWiden() gives all columns back, in which there is anything then
*/
PETSC_EXTERN PetscErrorCode AIJTCUBlockCtxNarrow(AIJTCUBlockCtx, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCtxWiden(AIJTCUBlockCtx);

/* Column to[k] of Y = column from[k] of X, for as many k as are given; NULL stands for k */
PETSC_EXTERN PetscErrorCode AIJTCUBlockMove(AIJTCUBlockCtx, PetscInt, const PetscInt[], Mat, const PetscInt[], Mat);

/* Sums are over all ranks. Those of one call are one reduction */
PETSC_EXTERN PetscErrorCode AIJTCUBlockDots(AIJTCUBlockCtx, PetscInt, const Mat[], Mat, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockDotsLocal(AIJTCUBlockCtx, PetscInt, const Mat[], Mat, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockAXPBY(AIJTCUBlockCtx, Mat, const PetscScalar *, Mat, const PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockMAXPY(AIJTCUBlockCtx, Mat, PetscReal, PetscInt, const PetscScalar *, const Mat[]);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCGStep(AIJTCUBlockCtx, const BlockLengths *, Mat, Mat, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCGStepScaled(AIJTCUBlockCtx, const BlockLengths *, Mat, Mat, Vec, PetscBool, PetscBool, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCGDirection(AIJTCUBlockCtx, const PetscScalar *, const PetscScalar *, const PetscScalar *, Mat, Vec, Mat);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCGIterate(AIJTCUBlockCtx, const BlockLengths *, PetscBool, PetscScalar *, PetscScalar *, PetscScalar *, Mat, Vec, Mat, Mat, Mat);
PETSC_EXTERN PetscErrorCode AIJTCUBlockSmooth(AIJTCUBlockCtx, Mat, PetscScalar, Mat, PetscScalar, Mat, PetscScalar, PetscInt, Vec, Mat, Mat);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCtxTakes(AIJTCUBlockCtx, Vec, PetscBool *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCopy(AIJTCUBlockCtx, Mat, Mat);
PETSC_EXTERN PetscErrorCode AIJTCUBlockZero(AIJTCUBlockCtx, Mat);
PETSC_EXTERN PetscErrorCode AIJTCUBlockScalarOp(AIJTCUBlockCtx, BlockScalarOp, const PetscScalar *, PetscScalar *, const PetscScalar *, const PetscScalar *);

/* The square of the modulus of a scalar */
static inline PetscReal AIJTCUSquareOf(PetscScalar x)
{
  return PetscSqr(PetscRealPart(x)) + PetscSqr(PetscImaginaryPart(x));
}

/*
   Square matrices of N rows are N arrays of scalars, each column after the other. A context combines where kernels of
   ours do it, which also multiply with a diagonal: on a device, for few columns of real numbers in double. Else the
   BLAS does it
*/
PETSC_EXTERN PetscBool      AIJTCUBlockCtxCombines(AIJTCUBlockCtx);
PETSC_EXTERN PetscErrorCode AIJTCUBlockGram(AIJTCUBlockCtx, BlockGramKind, Mat, Mat, Vec, PetscBool, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCombine(AIJTCUBlockCtx, Mat, PetscBool, PetscInt, const AIJTCUBlockTerm[], Vec);
PETSC_EXTERN PetscErrorCode AIJTCUBlockCombineGram(AIJTCUBlockCtx, Mat, const AIJTCUBlockTerm[2], BlockGramKind, Vec, PetscBool, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockInvert(AIJTCUBlockCtx, PetscInt, const PetscScalar *, const PetscScalar *, const PetscScalar *, PetscScalar *, PetscScalar *, PetscScalar *);
PETSC_EXTERN PetscBool      AIJTCUBlockCtxFactors(AIJTCUBlockCtx);
PETSC_EXTERN PetscErrorCode AIJTCUBlockFactor(AIJTCUBlockCtx, const BlockFactor *);

/* Y = D X or D^T X, with a diagonal or blocks along it, without a context. D has the rows of this process */
PETSC_INTERN PetscErrorCode AIJTCUBlockScale(Vec, PetscInt, PetscBool, Mat, Mat);

/* Arrays of scalars that lie one after the other, to the host and back: the number of arrays comes first */
PETSC_EXTERN PetscErrorCode AIJTCUBlockToHostBegin(AIJTCUBlockCtx, PetscInt, const PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockToHostEnd(AIJTCUBlockCtx, PetscInt, const PetscScalar *, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockSum(AIJTCUBlockCtx, PetscInt, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockToHost(AIJTCUBlockCtx, PetscInt, const PetscScalar *, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockToScalars(AIJTCUBlockCtx, PetscInt, const PetscScalar *, PetscScalar *);
PETSC_EXTERN PetscErrorCode AIJTCUBlockSumsToScalars(AIJTCUBlockCtx, PetscInt, const PetscScalar *, PetscScalar *);

/* pcjacobi.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterJacobi(void);
PETSC_INTERN PetscErrorCode AIJTCUJacobiGetDiagonal(PC, PetscInt *, Vec *);

/* chebyshev.c */
PETSC_INTERN PetscReal AIJTCUChebyshevOmega(PetscReal, PetscReal[2]);

/* pcmg.c: PCMG and PCGAMG of a block */
PETSC_INTERN PetscErrorCode AIJTCURegisterMG(void);

  #if AIJTCU_HAVE_DEVICE_REAL
/* pcmgvector.c: the same of one vector */
typedef struct _n_AIJTCUMGVector *AIJTCUMGVector;
typedef struct { /* a level: its operator, smoothers, and transfers to and from the coarser one */
  Mat       A, down, up;
  PetscBool down_transposed, up_transposed;
  KSP       smoother[2]; /* before and after */
  PetscInt  cycles;
} AIJTCUMGVectorLevel;
PETSC_INTERN PetscErrorCode AIJTCUMGVectorApply(PC, AIJTCUMGVector *, PetscInt, const AIJTCUMGVectorLevel[], Mat, PetscInt, PetscBool, Vec, Vec, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUMGVectorDestroy(AIJTCUMGVector *);
PETSC_INTERN PetscBool      AIJTCUKSPIsWatched(KSP);

/* gamgnoise.c */
PETSC_INTERN PetscErrorCode AIJTCUEstimateHere(PC);
  #endif

/* pcasm.c: PCASM and PCGASM of a block */
PETSC_INTERN PetscErrorCode AIJTCURegisterSchwarz(void);
#endif
