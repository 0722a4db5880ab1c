/*
   Arithmetic with blocks of dense vectors, column by column: what Krylov methods do between two products.

   A block is column-major and has n rows and N columns. Each column has coefficients of its own: an array of N scalars,
   which lies where the blocks are. NULL stands for ones. A coefficient of zero leaves its term out. The term is not
   read then, so a NaN in it goes nowhere. So a column whose coefficients are zero stands still.

   Of complex numbers X^T stands for the conjugate transpose, and so does a product of columns: x y is the sum of
   conj(x) y. Symmetric is then Hermitian. That is so but for scale(), whose transpose conjugates nothing.

   There is one table of these functions for the host and one for a device. On a device all arrays are there, work goes
   to a stream, and a function waits for nothing. Sums have a fixed order. It depends on n alone, so a column has the
   same bits in every block, wherever it begins.
*/
#pragma once

#include "../format/hrpbdevice.h"
#include "number.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct BlockIn {
  const BlockNumber *array;
  int64_t            ld; /* at least n */
} BlockIn;

typedef struct BlockOut {
  BlockNumber *array;
  int64_t      ld;
} BlockOut;

/* What all blocks of a call have in common */
typedef struct {
  int64_t    n, N;
  void      *work;   /* as many bytes as work() says for calls with sums */
  HrpbStream stream; /* not used on the host */
} BlockShape;

/*
   Step lengths of conjugate gradients, of sums of each column: now is r^T M r, curvature p^T A p, and before are those
   of the iteration before. kept gets N numbers now, then N curvatures: what is finite and has the sign of before, else
   zero; complex r^T M r where it is finite. step_j is their quotient. All are zero where active_j is zero
*/
typedef struct {
  const BlockNumber *active, *now, *before, *curvature, *curvature_before;
  BlockNumber       *kept, *step;
} BlockLengths;

/* The sums of a step of conjugate gradients, N of each */
typedef enum {
  BLOCK_STEP_PLAIN,  /* R_j R_j */
  BLOCK_STEP_WITH_R, /* with Z = D R: R_j Z_j, then R_j R_j */
  BLOCK_STEP_WITH_Z  /* R_j Z_j, then Z_j Z_j */
} BlockStepKind;

/* R_j -= step_j W_j */
typedef struct {
  BlockStepKind      kind;
  BlockLengths       lengths;
  BlockIn            W;
  BlockOut           R;
  const BlockNumber *D; /* a diagonal. Without rows it may be NULL */
} BlockStep;

/*
   X_j += step_j P_j, the step before; then P_j = D R_j + now_j / before_j P_j, the next direction, or zero where
   active_j, which is one or zero, is zero. Where the array of X is NULL, it is left out
*/
typedef struct {
  const BlockNumber *active, *now, *before, *step;
  BlockIn            R;
  const BlockNumber *D; /* a diagonal. Without rows it may be NULL */
  BlockOut           P, X;
} BlockDirection;

/*
   An iteration of conjugate gradients but for the product W = A P, with M a diagonal D and all rows in this process:
   the curvatures W_j P_j, R_j -= step_j W_j and its sums, X_j += step_j P_j, and the next P_j, which is D R_j plus
   sums_j / lengths.now_j P_j, or zero where active_j is zero
*/
typedef struct {
  BlockStepKind      kind; /* with Z or with R */
  BlockLengths       lengths;
  BlockNumber       *curvature, *sums; /* of the lengths; 2 N, as of a step */
  BlockIn            W;
  const BlockNumber *D;
  BlockOut           R, P, X;
  uint32_t          *turn; /* a number that is zero at first, and that nothing else changes */
} BlockIteration;

/*
   A step of a smoother: Y = a Y0 + b X + c D (B - W), with the same numbers a, b, c for all columns. A term whose
   number is zero is left out, and so is W where its array is NULL. Y may be Y0 or X. D is as in scale()
*/
typedef struct {
  BlockNumber        a, b, c;
  BlockIn            Y0, X, B, W;
  const BlockNumber *D; /* without rows it may be NULL */
  int32_t            dblock;
  BlockOut           Y;
} BlockSmooth;

/* Square matrices of N rows, each column after the other, where the blocks are */
typedef struct {
  int64_t            rank; /* rows and columns that are inverted: the first of H */
  const BlockNumber *H, *C, *active;
  BlockNumber       *inverse, *step; /* the inverse of (H + H^T) / 2, zero behind the rank; inverse C, active_j */
  BlockNumber       *pivots;         /* N of the elimination */
} BlockInvert;

/*
   (G + G^T) / 2 = zeta^T zeta by Cholesky with pivots, of numbers that were one before. The columns are scaled for the
   choice of the pivots. F^T G F is one up to the rank, and columns of F and rows of zeta behind it are zero. dropped_j
   is the norm of what column j has lost. rank is one number: -1 where the diagonal has a negative number that is no
   rounding, NaN where G has one that is not finite. Then all others are zero or anything
*/
typedef struct {
  const BlockNumber *G;
  BlockNumber       *C, *F, *zeta, *dropped, *rank; /* C becomes zeta C */
} BlockFactor;

/* Products X^T Y of two blocks that are symmetric but for rounding, and what comes behind them */
typedef enum {
  BLOCK_GRAM_PLAIN,  /* nothing */
  BLOCK_GRAM_WITH_X, /* X^T X */
  BLOCK_GRAM_WITH_Y  /* Y^T Y */
} BlockGramKind;

typedef struct {
  BlockGramKind      kind;
  BlockIn            X, Y; /* where the array of Y is NULL, Y is D X */
  const BlockNumber *D;    /* a diagonal, or NULL. Without rows it may be NULL */
} BlockGram;

/* A term of a sum of blocks: sign X K, where K is a square matrix of N rows, or its transpose */
typedef struct {
  HrpbScalar         sign;
  BlockIn            X;
  const BlockNumber *D; /* a diagonal: sign D X K. Or NULL */
  const BlockNumber *K;
  bool               transpose;
} BlockTerm;

/* Operations on arrays of N scalars */
typedef enum {
  BLOCK_MULTIPLY,         /* x y */
  BLOCK_DIVIDE,           /* x / y, or zero where y is zero */
  BLOCK_CONJUGATE_DIVIDE, /* conj(x) / y, or zero where y is zero */
  BLOCK_SAME_SIGN,        /* x where it is finite and has the sign of y, else zero; of complex numbers the real part */
  BLOCK_FINITE            /* x where it is finite, else zero */
} BlockScalarOp;

typedef struct {
  /* Bytes of workspace for nx arrays of sums */
  size_t (*work)(int64_t n, int64_t N, int64_t nx);

  /* dots[i N + j] = the sum over column j of X[i] times Y. Y may be among X */
  HrpbError (*dots)(const BlockShape *, int64_t nx, const BlockIn X[], BlockIn Y, BlockNumber *dots);

  /* Y_j = a_j X_j + b_j Y_j */
  HrpbError (*axpby)(const BlockShape *, BlockOut Y, const BlockNumber *a, BlockIn X, const BlockNumber *b);

  /* Y_j += sign (the sum over i of coef[i N + j] X[i]_j) */
  HrpbError (*maxpy)(const BlockShape *, BlockOut Y, HrpbScalar sign, int64_t nx, const BlockNumber *coef, const BlockIn X[]);

  /* A step with its lengths, and its sums if that is not NULL. They have the bits of dots() of scale() */
  HrpbError (*cg_step)(const BlockShape *, const BlockStep *, BlockNumber *sums);

  /* P has the bits of axpby() of scale(), and X those of maxpy() */
  HrpbError (*cg_direction)(const BlockShape *, const BlockDirection *);

  /* The bits of dots(), cg_step() and cg_direction(). It needs the workspace of three arrays of sums */
  HrpbError (*cg_iterate)(const BlockShape *, const BlockIteration *);

  /* R_j = Y_j - a_j X_j, and sums of R_j R_j if they are not NULL, with the bits of dots(). R is neither X nor Y */
  HrpbError (*residual)(const BlockShape *, BlockIn Y, const BlockNumber *a, BlockIn X, BlockOut R, BlockNumber *sums);

  HrpbError (*smooth)(const BlockShape *, const BlockSmooth *);

  HrpbError (*copy)(const BlockShape *, BlockIn X, BlockOut Y);
  HrpbError (*zero)(const BlockShape *, BlockOut Y);

  /*
     Column to[k] of Y = column from[k] of X, for the N columns k one after the other. NULL stands for k. The numbers of
     columns are on the host. Y may be X, if no column is written before it is read
  */
  HrpbError (*move)(const BlockShape *, const HrpbInt *from, const HrpbInt *to, BlockIn X, BlockOut Y);

  /* out_j = x_j op y_j where active_j is not zero, else 0. out may be x or y */
  HrpbError (*scalars)(const BlockShape *, BlockScalarOp op, const BlockNumber *active, BlockNumber *out, const BlockNumber *x,
    const BlockNumber *y);

  /*
     Invert a positive definite matrix. It is one if all pivots are positive; those behind the rank are one. With any
     other, inverse and step are zero, and one of the pivots is not positive, or NaN. At most 32768 rows
  */
  HrpbError (*invert)(const BlockShape *, const BlockInvert *);

  /*
     Y = D X, or D^T X, with a diagonal D (dblock 1), or blocks of dblock rows along it. They lie one after the other,
     each column-major. n is a multiple of dblock. Y may be X where dblock is 1
  */
  HrpbError (*scale)(const BlockShape *, const BlockNumber *D, int32_t dblock, bool transpose, BlockIn X, BlockOut Y);

  /*
     What these take has at most so many columns. For more, the BLAS is as fast. Where it is zero there are none of
     them. gram_work() says how many bytes of workspace gram() and combine_gram() need
  */
  int64_t square;
  size_t (*gram_work)(int64_t n, int64_t N, BlockGramKind);

  /* One or two square matrices of N rows, the second behind the first. They are symmetric */
  HrpbError (*gram)(const BlockShape *, const BlockGram *, BlockNumber *G);

  /* Y = the sum of one or two terms, or Y += one. Only the first may have a diagonal. Y is in no term */
  HrpbError (*combine)(const BlockShape *, bool add, int32_t nterms, const BlockTerm[], BlockOut Y);

  /*
     Y = the sum of two terms without a diagonal, then gram() of Y and D Y, in one pass. Y has the bits of combine(). D
     is a diagonal. Without rows it may be NULL
  */
  HrpbError (*combine_gram)(const BlockShape *, const BlockTerm[2], BlockOut Y, BlockGramKind, const BlockNumber *D, BlockNumber *G);

  HrpbError (*factor)(const BlockShape *, const BlockFactor *);
} BlockOps;

extern const BlockOps BlockOpsHost, BlockOpsDevice;

/* cg_iterate() by the operations that it stands for */
HRPB_INLINE HrpbError BlockCGIterateApart(const BlockOps *ops, const BlockShape *s, const BlockIteration *t)
{
  const BlockStep      step      = {t->kind, t->lengths, t->W, t->R, t->D};
  const BlockDirection direction = {t->lengths.active, t->sums, t->lengths.now, t->lengths.step, {t->R.array, t->R.ld}, t->D, t->P, t->X};
  const BlockIn        P         = {t->P.array, t->P.ld};
  HrpbError            err       = ops->dots(s, 1, &t->W, P, t->curvature);

  if (!err) err = ops->cg_step(s, &step, t->sums);
  return err ? err : ops->cg_direction(s, &direction);
}

HRPB_INLINE bool BlockIsFinite(BlockNumber x)
{
  return x - x == 0;
}

/* x where it is finite and has the sign of y. Looks at signs, because a product of small numbers is zero */
HRPB_INLINE BlockNumber BlockSameSign(BlockNumber x, BlockNumber y)
{
#if defined(HRPB_USE_COMPLEX)
  const HrpbScalar a = BlockReal(x), b = BlockReal(y);

  return !BlockIsFinite(x) || (a > 0 && b < 0) || (a < 0 && b > 0) ? 0 : x;
#else
  return BlockIsFinite(x) && ((x > 0 && y > 0) || (x < 0 && y < 0)) ? x : 0;
#endif
}

/* What an operation on scalars gives */
HRPB_INLINE BlockNumber BlockScalar(BlockScalarOp op, BlockNumber x, BlockNumber y)
{
  if (op == BLOCK_MULTIPLY) return x * y;
  if (op == BLOCK_DIVIDE) return y == 0 ? 0 : x / y;
  if (op == BLOCK_CONJUGATE_DIVIDE) return y == 0 ? 0 : BlockConj(x) / y;
  if (op == BLOCK_FINITE) return BlockIsFinite(x) ? x : 0;
  return BlockSameSign(x, y);
}

/* Of column j, whose curvature need not be in memory yet. The numbers that are kept go to kept */
HRPB_INLINE BlockNumber BlockStepLengthWith(const BlockLengths *l, int64_t j, BlockNumber curvature, BlockNumber kept[2])
{
#if defined(HRPB_USE_COMPLEX)
  const BlockScalarOp op = BLOCK_FINITE; /* PETSc looks at the sign of r^T M r in real arithmetic alone */
#else
  const BlockScalarOp op = BLOCK_SAME_SIGN;
#endif
  const bool active = l->active[j] != 0;

  kept[0] = active ? BlockScalar(op, l->now[j], l->before[j]) : 0;
  kept[1] = active ? BlockSameSign(curvature, l->curvature_before == l->curvature ? curvature : l->curvature_before[j]) : 0;
  return BlockScalar(BLOCK_DIVIDE, kept[0], kept[1]);
}

HRPB_INLINE BlockNumber BlockStepLength(const BlockLengths *l, int64_t j, BlockNumber kept[2])
{
  return BlockStepLengthWith(l, j, l->curvature[j], kept);
}

/*
   An entry x of a symmetric matrix after a sweep, with its row's and its column's entry of the pivot's column, and one
   over the pivot. Symmetric real entries get the same bits
*/
HRPB_INLINE BlockNumber BlockSweep(BlockNumber x, BlockNumber row, BlockNumber column, HrpbScalar over, bool in_row, bool in_column)
{
  if (in_row && in_column) return -over;
  if (in_row) return BlockConj(column) * over;
  if (in_column) return row * over;
  return x - row * BlockConj(column) * over;
}

#ifdef __cplusplus
}
#endif
