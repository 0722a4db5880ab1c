static char help[] = "KSPMatSolve() with a MATAIJTCU, each column against KSPSolve() with a MATAIJ. Prints on error only.\n\
-taken: whether the solve is one of whole blocks, -auto: it is one if the operator is on a device; -whole: the reference is KSPMatSolve() with the MATAIJ;\n\
-within: most by which iterations may differ; -scenario: something else than one solve.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include <petscaijtcu.h>
#include "kind.h"
#include "phase.h"
#include "bits.h"
#include "interpose.h"
#include <petsc/private/matimpl.h>
#if PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
#endif

typedef enum {
  SPD,
  SKEWED,
  INDEFINITE,
  SINGULAR, /* with its null space */
  EMPTY     /* with an empty row, for which factors fail */
} Shape;
static const char *const Shapes[] = {"spd", "skewed", "indefinite", "singular", "empty", "Shape", "", NULL};

enum {
  N    = 6, /* columns */
  MANY = 40,
  ROWS = 97
};

/* Columns of B that are no random ones */
enum {
  EASY = 1, /* solved in few iterations */
  ZERO = 2,
  NAN_ = 4
};

typedef struct {
  Shape     shape;
  PetscBool nan, nonzero, taken, whole, transpose, fewer, dependent, solved, bound, bound_operator, once, plain;
  PetscInt  within;
  PetscReal tolerance;
} Params;

static PetscErrorCode SetSymmetry(Mat A, Shape shape)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, PetscDefined(USE_COMPLEX) ? MAT_HERMITIAN : MAT_SYMMETRIC, (PetscBool)(shape != SKEWED)));
  if (shape == SPD) PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid of two dimensions with coefficients that vary; Hermitian with complex scalars, but not symmetric. The first two unknowns are by themselves */
static PetscErrorCode CreateOperator(Shape shape, PetscReal shift, Mat *A)
{
  const PetscInt width = 10, n = ROWS;
  PetscInt       r0, r1;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 5, NULL, 5, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt neighbours[4] = {i - width, i - 1, i + 1, i + width};
    PetscReal      sum           = shape == SINGULAR ? 0 : 0.05 + shift;

    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt j = neighbours[k];
      PetscReal      v;

      if (j < 0 || j >= n || ((i < 2) != (j < 2) && shape != SINGULAR)) continue;
      v = 1 + ((i + j) % 5) / 3.;
      sum += v;
      if (shape == EMPTY && (i == 5 || j == 5)) continue;
      if (shape == SKEWED) v *= i < j ? 1.4 : 0.6;
      PetscCall(MatSetValue(*A, i, j, shape == SINGULAR ? -v : -v * Phase(i, j), INSERT_VALUES));
    }
    if (i < 2 && shape != SINGULAR) sum += 1;
    if (shape == EMPTY && i == 5) sum = 0;
    PetscCall(MatSetValue(*A, i, i, shape == INDEFINITE && i % 3 == 1 ? -sum : sum, INSERT_VALUES));
#if PetscDefined(USE_COMPLEX)
    if (shape == SKEWED) PetscCall(MatSetValue(*A, i, i, PetscCMPLX(sum, -0.4), INSERT_VALUES));
#endif
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(SetSymmetry(*A, shape));
  if (shape == SINGULAR) {
    MatNullSpace constant;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constant));
    PetscCall(MatSetNullSpace(*A, constant));
    PetscCall(MatSetTransposeNullSpace(*A, constant));
    PetscCall(MatNullSpaceDestroy(&constant));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couples the first unknown and the last */
static PetscErrorCode CreateCorner(Mat *A)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS, 2, NULL, 2, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    PetscCall(MatSetValue(*A, i, i, 0.1, INSERT_VALUES));
    if (!i) PetscCall(MatSetValue(*A, i, ROWS - 1, -0.1 * Phase(0, ROWS - 1), INSERT_VALUES));
    if (i == ROWS - 1) PetscCall(MatSetValue(*A, i, 0, -0.1 * Phase(ROWS - 1, 0), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateTested(Mat A, Mat *T)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJTCU, MAT_INITIAL_MATRIX, T));
  PetscCall(MatPropagateSymmetryOptions(A, *T));
  if (A->nullsp) PetscCall(MatSetNullSpace(*T, A->nullsp));
  if (A->transnullsp) PetscCall(MatSetTransposeNullSpace(*T, A->transnullsp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same numbers for every number of processes, of modulus 1 at most */
static PetscScalar Number(PetscInt i, PetscInt j)
{
  return Turned(PetscSinReal(17 * i + 31 * j * j + 3), i + 3 * j);
}

/* Number of a block whose columns are solved in numbers of iterations that differ much */
enum {
  SPREAD = 7
};

/* The type of the blocks */
static char dense[32] = MATDENSE;

/* With a leading dimension that is not the number of rows */
static PetscErrorCode CreateBlock(Mat A, PetscInt columns, PetscInt which, const Params *p, Mat *B)
{
  PetscInt     m, r0, r1, lda;
  PetscScalar *b;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  m = r1 - r0;
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, m, PETSC_DECIDE, A->rmap->N, columns));
  PetscCall(MatSetType(*B, dense));
  PetscCall(MatDenseSetLDA(*B, m + 3));
  PetscCall(MatSetUp(*B));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < columns; j++) {
    for (PetscInt i = r0; i < r1; i++) {
      PetscScalar v = Number(i, j + 100 * which);

      if (!which && j == EASY && i >= 2) v *= 1e-6;
      if (!which && j == ZERO) v = 0;
      if (which == SPREAD && i >= 2) v *= PetscPowReal(10, -3 * (PetscReal)(j % 4));
      if (which == SPREAD && j % 8 == 7) v = 0;
      if (!which && j == NAN_ && p->nan && i == A->rmap->N / 2) v = NAN;
      if (!which && p->dependent && j == columns - 1) v = Number(i, 0) - 3 * Number(i, 3);
      b[j * lda + i - r0] = v;
    }
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, const Params *p, KSP *ksp)
{
  Mat P = A;

  PetscFunctionBegin;
  if (p->plain) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &P));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, P));
  if (p->plain) PetscCall(MatDestroy(&P));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, p->nonzero));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with whole blocks so far, on all processes */
static PetscErrorCode CountProducts(Mat A, PetscInt64 *products)
{
  MatAIJTCUCounts counts;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetCounts(A, &counts));
  *products = counts.tcu + counts.csr + counts.cusparse;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, products, 1, MPIU_INT64, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveBlock(KSP ksp, const Params *p, Mat B, Mat X)
{
  PetscFunctionBegin;
  PetscCall(p->transpose ? KSPMatSolveTranspose(ksp, B, X) : KSPMatSolve(ksp, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What KSPSolve() with the reference, which is on the host, gives for each column */
typedef struct {
  Mat                X;
  PetscInt           its[MANY];
  KSPConvergedReason reason[MANY];
  PetscReal          rnorm[MANY];
} Reference;

static PetscErrorCode SolveReference(KSP ksp, const Params *p, Mat given, Mat X0, Reference *r)
{
  Vec b, x;
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatConvert(given, MATDENSE, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(X0, MATDENSE, MAT_INITIAL_MATRIX, &r->X));
  if (p->whole) PetscCall(SolveBlock(ksp, p, B, r->X));
  for (PetscInt j = 0; j < B->cmap->N; j++) {
    if (!p->whole) {
      PetscCall(MatDenseGetColumnVecRead(B, j, &b));
      PetscCall(MatDenseGetColumnVec(r->X, j, &x));
      PetscCall(p->transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
      PetscCall(MatDenseRestoreColumnVec(r->X, j, &x));
      PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
    }
    PetscCall(KSPGetIterationNumber(ksp, &r->its[j]));
    PetscCall(KSPGetConvergedReason(ksp, &r->reason[j]));
    PetscCall(KSPGetResidualNorm(ksp, &r->rnorm[j]));
  }
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* scale is added to the norm of the column, because the solution for a zero column is rounding */
static PetscErrorCode CompareColumn(const char what[], Mat X, Mat Y, PetscInt j, PetscReal tolerance, PetscReal scale)
{
  Vec       x, y, d;
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(X, j, &x));
  PetscCall(MatDenseGetColumnVecRead(Y, j, &y));
  PetscCall(VecDuplicate(y, &d));
  PetscCall(VecWAXPY(d, -1, x, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecNorm(d, NORM_2, &difference));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDenseRestoreColumnVecRead(Y, j, &y));
  PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
  if (!(difference <= tolerance * (norm + scale))) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: column %" PetscInt_FMT " differs by %g, of norm %g\n", what, j, (double)difference, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compare a block solve with the reference. A column of NaN has any result, but its reason */
static PetscErrorCode Compare(const char what[], KSP ksp, const Params *p, Mat X, const Reference *r)
{
  const KSPConvergedReason *reason;
  const PetscInt           *its;
  const PetscReal          *rnorm;
  PetscInt                  n, most = 0, least = 0, all, worst = 1;
  KSPConvergedReason        given;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUKSPGetColumns(ksp, &n, &reason, &its, &rnorm));
  PetscCall(KSPGetIterationNumber(ksp, &all));
  PetscCall(KSPGetConvergedReason(ksp, &given));
  if (!n && !p->taken) { /* PETSc has solved with the whole block, or with its columns, the last of which the KSP tells of */
    const PetscInt last = X->cmap->N - 1;

    for (PetscInt j = 0; j < X->cmap->N; j++) PetscCall(CompareColumn(what, X, r->X, j, p->tolerance, 0));
    if (all != r->its[last] || given != r->reason[last]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s after %" PetscInt_FMT " iterations\n", what, KSPConvergedReasons[given], all));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (n != X->cmap->N) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " columns are known\n", what, n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt j = 0; j < n; j++) {
    if (p->solved && j == ZERO) { /* what is left is rounding, on which cg iterates */
      most = PetscMax(most, its[j]);
      continue;
    }
    /* KSPSolve_BCGS() leaves the number of the solve before where the first norm is no number */
    if (reason[j] != r->reason[j] || (reason[j] != KSP_DIVERGED_NANORINF && !p->fewer && PetscAbsInt(its[j] - r->its[j]) > p->within)) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: column %" PetscInt_FMT " ends with %s after %" PetscInt_FMT " iterations, KSPSolve() with %s after %" PetscInt_FMT "\n", what, j, KSPConvergedReasons[reason[j]], its[j],
        KSPConvergedReasons[r->reason[j]], r->its[j]));
    }
    if (reason[j] != KSP_DIVERGED_NANORINF && reason[j] != KSP_DIVERGED_PC_FAILED) PetscCall(CompareColumn(what, X, r->X, j, p->tolerance, p->nonzero ? 1 : 0));
    if (rnorm[j] != rnorm[j] && reason[j] != KSP_DIVERGED_NANORINF && reason[j] != KSP_DIVERGED_PC_FAILED) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: column %" PetscInt_FMT " has a norm that is no number\n", what, j));
    if (PetscIsInfOrNanReal(r->rnorm[j]) && !PetscIsInfOrNanReal(rnorm[j])) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: column %" PetscInt_FMT " has the norm %g, which is no number in KSPSolve()\n", what, j, (double)rnorm[j]));
    most  = PetscMax(most, its[j]);
    least = PetscMax(least, r->its[j]);
    worst = reason[j] < 0 ? PetscMin(worst, (PetscInt)reason[j]) : worst;
  }
  if (p->fewer && most > least) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, with KSPSolve() %" PetscInt_FMT "\n", what, most, least));
  if (all != most || (worst < 0 ? (PetscInt)given != worst : given <= 0)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the KSP has %" PetscInt_FMT " iterations and reason %s\n", what, all, KSPConvergedReasons[given]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block solve, of which taken says whether it is one of whole blocks */
static PetscErrorCode SolveAndCompare(const char what[], KSP ksp, KSP ref, const Params *p, Mat T, Mat B, Mat X0)
{
  Reference  r;
  Mat        X;
  PetscInt64 before, after;
  PetscInt   its, references;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  if (p->bound) PetscCall(MatBindToCPU(X, PETSC_TRUE));
  PetscCall(SolveReference(ref, p, B, X0, &r));
  PetscCall(CountProducts(T, &before));
  PetscCall(SolveBlock(ksp, p, B, X));
  PetscCall(CountProducts(T, &after));
  PetscCall(KSPGetIterationNumber(ksp, &its)); /* a first iteration may need no product */
  /* With the transpose a product may be PETSc's */
  if (!p->transpose && (PetscBool)(after > before) != p->taken && (its > 1 || !p->taken)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt64_FMT " products with blocks\n", what, after - before));
  /* The block was solved at once: two products an iteration at most, of two blocks of a parallel matrix each */
  if (p->once && after - before > 4 * (its + 4)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt64_FMT " products with blocks in %" PetscInt_FMT " iterations\n", what, after - before, its));
  PetscCall(Compare(what, ksp, p, X, &r));
  PetscCall(PetscObjectGetReference((PetscObject)X, &references));
  if (references != 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the KSP holds X\n", what));
  PetscCall(MatDestroy(&r.X));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Solves one after the other give the same bits, with the same KSP and with another. On several processes the set-up of
   gamg does not
*/
static PetscErrorCode SameBitsEachTime(Mat T, const Params *p, Mat B, Mat X0)
{
  Mat         X[3];
  KSP         ksp[2];
  PetscBool   same[2];
  PetscMPIInt size;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(CreateSolver(T, p, &ksp[i]));
  for (int i = 0; i < 3; i++) {
    PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X[i]));
    PetscCall(SolveBlock(ksp[i / 2], p, B, X[i]));
  }
  for (int i = 0; i < 2; i++) PetscCall(SameBits(X[0], X[i + 1], &same[i]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, same, 2, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (!same[0] || (!same[1] && size == 1)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Other bits %s\n", same[0] ? "of another KSP" : "the second time"));
  for (int i = 0; i < 3; i++) PetscCall(MatDestroy(&X[i]));
  for (int i = 0; i < 2; i++) PetscCall(KSPDestroy(&ksp[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column that has ended is not worked on any more: it has the bits of a solve that ends then */
static PetscErrorCode ColumnsStay(Mat T, const Params *p, Mat B, Mat X0)
{
  Mat             X[2];
  KSP             ksp;
  const PetscInt *its;
  PetscInt        n, end = 0;
  Vec             x, y;
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(CreateSolver(T, p, &ksp));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X[i]));
    PetscCall(SolveBlock(ksp, p, B, X[i]));
    PetscCall(MatAIJTCUKSPGetColumns(ksp, &n, NULL, &its, NULL));
    if (!i && n) end = its[EASY];
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, end));
  }
  PetscCall(MatDenseGetColumnVecRead(X[0], EASY, &x));
  PetscCall(MatDenseGetColumnVecRead(X[1], EASY, &y));
  PetscCall(VecEqual(x, y, &same));
  PetscCall(MatDenseRestoreColumnVecRead(X[1], EASY, &y));
  PetscCall(MatDenseRestoreColumnVecRead(X[0], EASY, &x));
  if (end && !same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Column %d changes after it has ended\n", EASY));
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&X[i]));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operators that are exchanged between solves, types that change, new values, KSPReset() */
static PetscErrorCode Exchange(Mat A, Mat T, const Params *given, Mat B, Mat X0)
{
  Params    p = *given;
  Mat       A2, T2, A3, plain; /* the last works where PETSc works with such blocks */
  PetscInt  references;
  PetscBool device, device_blocks;
  KSP      ksp, ref;

  PetscFunctionBegin;
  PetscCall(CreateOperator(p.shape, 0.5, &A2));
  PetscCall(CreateTested(A2, &T2));
  PetscCall(IsOnDevice(T, &device));
  PetscCall(PetscStrendswith(dense, "cuda", &device_blocks));
  PetscCall(MatConvert(A, device_blocks ? MATAIJCUSPARSE : MATAIJ, MAT_INITIAL_MATRIX, &plain));
  PetscCall(SetSymmetry(plain, p.shape));
  PetscCall(CreateSolver(plain, &p, &ksp)); /* first an aij */
  PetscCall(CreateSolver(A, &p, &ref));
  for (int i = 0; i < 2; i++) {
    Reference r;
    Mat       X;

    PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
    PetscCall(KSPSetOperators(ksp, plain, plain));
    PetscCall(KSPSetOperators(ref, A, A));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(SolveReference(ref, &p, B, X0, &r));
    for (PetscInt j = 0; j < N; j++) PetscCall(CompareColumn("an aij", X, r.X, j, device ? p.tolerance : 0, 1)); /* a KSP keeps vectors of a device */
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&r.X));
    PetscCall(KSPSetOperators(ksp, T, T));
    PetscCall(SolveAndCompare("after an aij", ksp, ref, &p, T, B, X0));
    PetscCall(KSPSetOperators(ksp, T2, T2));
    PetscCall(KSPSetOperators(ref, A2, A2));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PetscObjectGetReference((PetscObject)T, &references));
    if (references != 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " references to an operator that the KSP had before\n", references));
    PetscCall(SolveAndCompare("another operator", ksp, ref, &p, T2, B, X0));
    PetscCall(MatScale(A2, 1.5));
    PetscCall(MatScale(T2, 1.5));
    PetscCall(SolveAndCompare("new values", ksp, ref, &p, T2, B, X0));
    PetscCall(CreateCorner(&A3)); /* a new pattern in the same matrix */
    PetscCall(MatAXPY(A2, 1, A3, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatAXPY(T2, 1, A3, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&A3));
    PetscCall(SetSymmetry(A2, p.shape));
    PetscCall(SetSymmetry(T2, p.shape));
    PetscCall(SolveAndCompare("another pattern", ksp, ref, &p, T2, B, X0));
    PetscCall(KSPReset(ksp));
    PetscCall(KSPReset(ref));
    PetscCall(KSPSetOperators(ksp, T2, T2));
    PetscCall(KSPSetOperators(ref, A2, A2));
    PetscCall(SolveAndCompare("after KSPReset()", ksp, ref, &p, T2, B, X0));
    PetscCall(KSPSetType(ksp, KSPMINRES));
    PetscCall(KSPSetType(ksp, ((PetscObject)ref)->type_name));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(SolveAndCompare("after another type", ksp, ref, &p, T2, B, X0));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&ref));
  PetscCall(MatDestroy(&A2));
  PetscCall(MatDestroy(&T2));
  PetscCall(MatDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of other widths with the same KSP, one of no and one of a single column, and batches */
static PetscErrorCode Widths(Mat A, Mat T, const Params *given, Mat B, Mat X0)
{
  Params        once = *given;
  const Params *p    = &once;
  KSP           ksp, ref;
  Mat           b, x;

  PetscFunctionBegin;
  once.once = PETSC_TRUE;
  PetscCall(CreateSolver(T, p, &ksp));
  PetscCall(CreateSolver(A, p, &ref));
  for (PetscInt i = 0; i < 2; i++) {
    for (PetscInt width = N; width >= 0; width = width == N ? 1 : width - 1) {
      PetscCall(CreateBlock(A, width, 1, p, &b));
      PetscCall(CreateBlock(A, width, 2, p, &x));
      if (width) PetscCall(SolveAndCompare("another width", ksp, ref, p, T, b, x));
      else PetscCall(KSPMatSolve(ksp, b, x));
      PetscCall(MatDestroy(&b));
      PetscCall(MatDestroy(&x));
    }
  }
  for (PetscInt batch = 4; batch >= 3; batch--) {
    Reference r;

    PetscCall(KSPSetMatSolveBatchSize(ksp, batch));
    PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &x));
    PetscCall(SolveReference(ref, p, B, X0, &r));
    PetscCall(KSPMatSolve(ksp, B, x));
    for (PetscInt j = 0; j < N; j++) {
      if (!p->nan || j != NAN_) PetscCall(CompareColumn("batches", x, r.X, j, p->tolerance, p->nonzero ? 1 : 0));
    }
    PetscCall(MatDestroy(&x));
    PetscCall(MatDestroy(&r.X));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of one column has the bits of cg's, and as many iterations */
static PetscErrorCode OneColumn(Mat A, Mat T, const Params *p)
{
  Mat       b, x[2];
  KSP       ksp[2];
  PetscInt  its[2];
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(CreateBlock(A, 1, 0, p, &b));
  for (int i = 0; i < 2; i++) {
    PetscCall(CreateSolver(T, p, &ksp[i]));
    if (i) PetscCall(KSPSetType(ksp[i], KSPCG));
    PetscCall(CreateBlock(A, 1, 1, p, &x[i]));
    PetscCall(KSPMatSolve(ksp[i], b, x[i]));
    PetscCall(KSPGetIterationNumber(ksp[i], &its[i]));
    PetscCall(KSPDestroy(&ksp[i]));
  }
  PetscCall(SameBits(x[0], x[1], &same));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  if (!same || its[0] != its[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s than with cg: %" PetscInt_FMT " iterations, with cg %" PetscInt_FMT "\n", same ? "Other iterations" : "Other bits", its[0], its[1]));
  PetscCall(MatDestroy(&b));
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&x[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many columns, most of which end early. Those that do not have the bits that they have without the others */
static PetscErrorCode Narrow(Mat A, Mat T, const Params *p)
{
  Mat       B, X, X0, hard[3];
  KSP       ksp, ref;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(CreateSolver(T, p, &ksp));
  PetscCall(CreateSolver(A, p, &ref));
  PetscCall(CreateBlock(A, MANY, SPREAD, p, &B));
  PetscCall(CreateBlock(A, MANY, 1, p, &X0));
  for (int i = 0; i < 2; i++) PetscCall(SolveAndCompare("many columns", ksp, ref, p, T, B, X0));
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(CreateBlock(A, MANY / 4, 1, p, &hard[0]));
  for (int i = 1; i < 3; i++) PetscCall(MatDuplicate(hard[0], MAT_COPY_VALUES, &hard[i])); /* B, X and what X was with others */
  for (PetscInt k = 0; k < MANY / 4; k++) {
    const Mat from[3] = {B, X0, X};

    for (int i = 0; i < 3; i++) {
      Vec x, y;

      PetscCall(MatDenseGetColumnVecRead(from[i], 4 * k, &x));
      PetscCall(MatDenseGetColumnVecWrite(hard[i], k, &y));
      PetscCall(VecCopy(x, y));
      PetscCall(MatDenseRestoreColumnVecWrite(hard[i], k, &y));
      PetscCall(MatDenseRestoreColumnVecRead(from[i], 4 * k, &x));
    }
  }
  PetscCall(KSPMatSolve(ksp, hard[0], hard[1]));
  PetscCall(SameBits(hard[1], hard[2], &same));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Other bits where other columns have ended\n"));
  for (int i = 0; i < 3; i++) PetscCall(MatDestroy(&hard[i]));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&X0));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountMonitor(KSP ksp, PetscInt n, PetscReal norm, void *ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)norm;
  if (!n) ++*(PetscInt *)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountReasons(KSP ksp, void *ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  ++*(PetscInt *)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OwnTest(KSP ksp, PetscInt n, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)norm;
  (void)ctx;
  *reason = n >= 2 ? KSP_CONVERGED_USER : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountSolves(KSP ksp, Vec b, Vec x, void *ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)b;
  (void)x;
  ++*(PetscInt *)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the block form does not have, and then has again */
static PetscErrorCode Columns(Mat A, Mat T, const Params *given, Mat B, Mat X0)
{
  Params   p = *given;
  KSP      ksp, ref;
  PetscInt count[2], views;

  PetscFunctionBegin;
  for (int what = 0; what < 5; what++) {
    const char *const names[] = {"monitors", "own test", "presolve", "eigenvalues", "guess"};

    PetscCall(CreateSolver(T, &p, &ksp));
    PetscCall(CreateSolver(A, &p, &ref));
    p.taken  = PETSC_FALSE;
    count[0] = count[1] = views = 0;
    for (int i = 0; i < 2; i++) {
      const KSP k = i ? ref : ksp;

      if (what == 0) PetscCall(KSPMonitorSet(k, CountMonitor, &count[i], NULL));
      if (what == 1) PetscCall(KSPSetConvergenceTest(k, OwnTest, NULL, NULL));
      if (what == 2) PetscCall(KSPSetPreSolve(k, CountSolves, &count[i]));
      if (what == 3) PetscCall(KSPSetComputeSingularValues(k, PETSC_TRUE));
      if (what == 4) {
        KSPGuess guess;

        PetscCall(KSPGetGuess(k, &guess));
        PetscCall(KSPGuessSetType(guess, KSPGUESSFISCHER));
      }
    }
    PetscCall(KSPConvergedReasonViewSet(ksp, CountReasons, &views, NULL));
    PetscCall(SolveAndCompare(names[what], ksp, ref, &p, T, B, X0));
    if (views != 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the reason is shown %" PetscInt_FMT " times\n", names[what], views));
    if (count[0] != count[1] || (what % 2 == 0 && what < 3 && count[0] < N)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " calls, with KSPSolve() %" PetscInt_FMT "\n", names[what], count[0], count[1]));
    if (what == 0) {
      PetscCall(KSPMonitorCancel(ksp));
      PetscCall(KSPMonitorCancel(ref));
      p.taken = PETSC_TRUE;
      PetscCall(SolveAndCompare("no monitors", ksp, ref, &p, T, B, X0));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(KSPDestroy(&ref));
  }
  PetscCall(CreateSolver(T, &p, &ksp));
  PetscCall(CreateSolver(A, &p, &ref));
  p.taken = PETSC_TRUE;
  for (int i = 0; i < 4; i++) {
    p.transpose = (PetscBool)(i % 2);
    PetscCall(SolveAndCompare(p.transpose ? "transpose" : "no transpose", ksp, ref, &p, T, B, X0));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The history of residuals has the largest norm of all columns after each iteration */
static PetscErrorCode History(Mat T, const Params *p, Mat B, Mat X0)
{
  KSP              ksp;
  Mat              X;
  const PetscReal *history, *rnorm;
  PetscInt         length, n, its;
  PetscReal        worst = 0;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  PetscCall(CreateSolver(T, p, &ksp));
  PetscCall(KSPSetResidualHistory(ksp, NULL, 1000, PETSC_TRUE));
  for (int i = 0; i < 2; i++) PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetResidualHistory(ksp, &history, &length));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatAIJTCUKSPGetColumns(ksp, &n, NULL, NULL, &rnorm));
  for (PetscInt j = 0; j < n; j++) worst = PetscMax(worst, rnorm[j]);
  if (length < its || length > 2 * its + 1 || history[length - 1] != worst) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "History of %" PetscInt_FMT " numbers after %" PetscInt_FMT " iterations; the last is %g, not %g\n", length, its, (double)(length ? history[length - 1] : 0), (double)worst));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Settings of the convergence test */
static PetscErrorCode Tests(Mat A, Mat T, const Params *given, Mat B, Mat X0)
{
  Params p = *given;
  KSP    ksp[2];

  PetscFunctionBegin;
  for (int what = 0; what < 9; what++) {
    const char *const names[] = {"initial residual norm", "least initial residual norm", "most iterations converge", "no test", "few iterations", "least iterations", "no iterations", "diverged", "norms from iteration 4 on"};

    PetscCall(CreateSolver(T, &p, &ksp[0]));
    PetscCall(CreateSolver(A, &p, &ksp[1]));
    for (int i = 0; i < 2; i++) {
      if (what == 0) PetscCall(KSPConvergedDefaultSetUIRNorm(ksp[i]));
      if (what == 1) PetscCall(KSPConvergedDefaultSetUMIRNorm(ksp[i]));
      if (what == 2) PetscCall(KSPConvergedDefaultSetConvergedMaxits(ksp[i], PETSC_TRUE));
      if (what == 3) PetscCall(KSPSetConvergenceTest(ksp[i], KSPConvergedSkip, NULL, NULL));
      if (what == 2 || what == 3 || what == 4) PetscCall(KSPSetTolerances(ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 5));
      if (what == 5) PetscCall(KSPSetMinimumIterations(ksp[i], 4));
      if (what == 6) PetscCall(KSPSetTolerances(ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 0));
      if (what == 7) PetscCall(KSPSetTolerances(ksp[i], PETSC_CURRENT, PETSC_CURRENT, 0.9, PETSC_CURRENT));
      if (what == 8) PetscCall(KSPSetCheckNormIteration(ksp[i], 4));
    }
    PetscCall(SolveAndCompare(names[what], ksp[0], ksp[1], &p, T, B, X0));
    for (int i = 0; i < 2; i++) PetscCall(KSPDestroy(&ksp[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSetErrorIfNotConverged(); a block of other rows. PETSc does not expect to be used after an error: this is the last */
static PetscErrorCode NotConverged(Mat T, const Params *p, Mat B, Mat X0)
{
  KSP            ksp;
  Mat            X, longer;
  PetscInt       m;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  PetscCall(CreateSolver(T, p, &ksp));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(MatGetLocalSize(B, &m, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, m + 1, PETSC_DECIDE, PETSC_DETERMINE, X->cmap->N, NULL, &longer));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPMatSolve(ksp, B, X);
  if (ierr != PETSC_ERR_NOT_CONVERGED) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "No error for a solve that has not converged, but %d\n", (int)ierr));
  ierr = KSPMatSolve(ksp, longer, X);
  if (ierr != PETSC_ERR_ARG_SIZ) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "No error for a block of more rows, but %d\n", (int)ierr));
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatDestroy(&longer));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without block solves nothing is known, and the type is PETSc's */
static PetscErrorCode Off(Mat T, const Params *p, Mat B, Mat X0)
{
  KSP        ksp;
  Mat        X;
  PetscInt   n;
  PetscInt64 products;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  PetscCall(CreateSolver(T, p, &ksp));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(MatAIJTCUKSPGetColumns(ksp, &n, NULL, NULL, NULL));
  PetscCall(CountProducts(T, &products));
  if (n || products) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " columns are known, there were %" PetscInt64_FMT " products with blocks\n", n, products));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A smoother, which has no norms, asks no other process anything once it has solved with the same blocks before */
static PetscErrorCode Quiet(Mat T, const Params *p, Mat B, Mat X0)
{
  KSP            ksp;
  Mat            X;
  PetscLogDouble before = 0;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  PetscCall(CreateSolver(T, p, &ksp));
  for (int i = 0; i < 3; i++) {
    PetscCall(KSPMatSolve(ksp, B, X));
    if (i < 1) before = petsc_allreduce_ct;
  }
  if (petsc_allreduce_ct != before) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%g reductions in two solves without norms\n", petsc_allreduce_ct - before));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of which the library gets no more than so much at once: on the host when it asks how much there is */
static struct {
  PetscErrorCode (*allocate)(size_t, PetscBool, int, const char[], const char[], void **);
  size_t   most; /* 0 for any */
  PetscInt refused, asked; /* how often; asked counts what is for a device, by PETSc as well */
} memory;

static PetscBool Refuse(size_t bytes)
{
  memory.asked++;
  if (!memory.most || bytes <= memory.most) return PETSC_FALSE;
  memory.refused++;
  return PETSC_TRUE;
}

static PetscErrorCode AllocateLittle(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **p)
{
  if (!strcmp(function, "AIJTCUBlockAskHere") && Refuse(bytes)) return PETSC_ERR_MEM;
  return (*memory.allocate)(bytes, clear, line, function, file, p);
}

#if PetscDefined(HAVE_CUDA)
INTERPOSE(cudaError_t, cudaMalloc, (void **p, size_t bytes), (p, bytes), if (Refuse(bytes)) return cudaErrorMemoryAllocation)
INTERPOSE(cudaError_t, cudaMallocAsync, (void **p, size_t bytes, cudaStream_t stream), (p, bytes, stream), if (Refuse(bytes)) return cudaErrorMemoryAllocation)
#endif

/* Copies between host and device so far: of blocks and vectors both ways, and of scalars to the host. And allocations */
static void GetCopies(PetscLogDouble count[3])
{
  count[0] = count[1] = 0;
  count[2] = (PetscLogDouble)memory.asked;
#if PetscDefined(HAVE_DEVICE)
  count[0] = petsc_ctog_ct + petsc_gtoc_ct;
  count[1] = petsc_gtoc_ct_scalar;
#endif
}

/* Four iterations more copy no block and no vector, and scalars to the host once each at most, which is a wait. They
   allocate nothing on the device */
static PetscErrorCode Copies(Mat T, const Params *p, Mat B, Mat X0)
{
  PetscLogDouble count[3][3], before[3], more[3];
  KSP            ksp;
  Mat            X;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  PetscCall(CreateSolver(T, p, &ksp));
  for (int i = 0; i < 3; i++) {
    PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-30, PETSC_CURRENT, PETSC_CURRENT, i == 1 ? 4 : 8));
    GetCopies(before);
    PetscCall(KSPMatSolve(ksp, B, X));
    GetCopies(count[i]);
    for (int k = 0; k < 3; k++) count[i][k] -= before[k];
  }
  for (int k = 0; k < 3; k++) more[k] = count[2][k] - count[1][k];
  if (more[0] != 0 || more[1] > 4) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Four iterations copied blocks and vectors %g times, and scalars to the host %g times\n", more[0], more[1]));
  if (more[2] > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Four iterations allocated %g times on the device\n", more[2]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With little memory the columns are solved in batches, of which all columns are known. The second solve knows how many */
static PetscErrorCode Memory(Mat A, Mat T, const Params *p, Mat B, Mat X0)
{
  KSP            ksp, ref;
  PetscInt       restart, m;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(CreateSolver(T, p, &ksp));
  PetscCall(CreateSolver(A, p, &ref));
  PetscCall(KSPGMRESGetRestart(ksp, &restart));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  memory.allocate = PetscTrMalloc;
  for (int i = 0; i < 2 && !ierr; i++) {
    memory.refused = 0;
    memory.most    = (size_t)(restart + 6) * (N / 2) * m * sizeof(PetscScalar);
    PetscTrMalloc  = AllocateLittle;
    ierr           = SolveAndCompare("little memory", ksp, ref, p, T, B, X0);
    PetscTrMalloc  = memory.allocate;
    memory.most    = 0;
    if (!ierr && (memory.refused > 0) != !i) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Memory was refused %" PetscInt_FMT " times in solve %d\n", memory.refused, i));
  }
  PetscCall(ierr);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A column of numbers so large that its norm is none. With bcg its products in the preconditioner's norm are numbers,
   for that is small. It ends, and the others solve
*/
static PetscErrorCode Overflow(Mat A, Mat T, const Params *p, Mat B, Mat X0)
{
  Reference                 r;
  KSP                       ksp, ref;
  Mat                       X;
  Vec                       b;
  const KSPConvergedReason *reason;
  PetscInt                  n;

  PetscFunctionBegin;
  PetscCall(MatScale(A, 1e100));
  PetscCall(MatScale(T, 1e100));
  PetscCall(MatDenseGetColumnVec(B, NAN_, &b));
  PetscCall(VecScale(b, 1e160));
  PetscCall(MatDenseRestoreColumnVec(B, NAN_, &b));
  PetscCall(CreateSolver(T, p, &ksp));
  PetscCall(CreateSolver(A, p, &ref));
  PetscCall(MatDuplicate(X0, MAT_COPY_VALUES, &X));
  PetscCall(SolveReference(ref, p, B, X0, &r));
  PetscCall(SolveBlock(ksp, p, B, X));
  PetscCall(MatAIJTCUKSPGetColumns(ksp, &n, &reason, NULL, NULL));
  for (PetscInt j = 0; j < n; j++) {
    if (reason[j] != (j == NAN_ ? KSP_DIVERGED_NANORINF : r.reason[j])) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "column %" PetscInt_FMT " ends with %s\n", j, KSPConvergedReasons[reason[j]]));
    if (j != NAN_) PetscCall(CompareColumn("beside large numbers", X, r.X, j, p->tolerance, 0));
  }
  if (n != N) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " columns are known\n", n));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&r.X));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadParams(Params *p)
{
  PetscFunctionBegin;
  *p = (Params){.shape = SPD, .taken = PETSC_TRUE, .within = 0, .tolerance = 1e-6};
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "blocksolve", NULL);
  PetscCall(PetscOptionsEnum("-shape", "Operator", NULL, Shapes, (PetscEnum)p->shape, (PetscEnum *)&p->shape, NULL));
  PetscCall(PetscOptionsBool("-with_nan", "One column has a NaN", NULL, p->nan, &p->nan, NULL));
  PetscCall(PetscOptionsBool("-nonzero", "Nonzero guesses", NULL, p->nonzero, &p->nonzero, NULL));
  PetscCall(PetscOptionsBool("-taken", "The solve is one of whole blocks", NULL, p->taken, &p->taken, NULL));
  PetscCall(PetscOptionsBool("-transpose", "Solve with the transpose", NULL, p->transpose, &p->transpose, NULL));
  PetscCall(PetscOptionsBool("-whole", "The reference is a KSPMatSolve()", NULL, p->whole, &p->whole, NULL));
  PetscCall(PetscOptionsBool("-fewer", "No more iterations than with the reference are right", NULL, p->fewer, &p->fewer, NULL));
  PetscCall(PetscOptionsBool("-bound", "The block of solutions is bound to the host", NULL, p->bound, &p->bound, NULL));
  PetscCall(PetscOptionsBool("-plain", "The preconditioner is made of a matrix of PETSc's", NULL, p->plain, &p->plain, NULL));
  PetscCall(PetscOptionsBool("-bound_operator", "So are the operator and the right-hand sides", NULL, p->bound_operator, &p->bound_operator, NULL));
  PetscCall(PetscOptionsBool("-solved", "The guess of one column is its solution", NULL, p->solved, &p->solved, NULL));
  PetscCall(PetscOptionsBool("-dependent", "One column is a sum of others", NULL, p->dependent, &p->dependent, NULL));
  PetscCall(PetscOptionsInt("-within", "Most by which iterations differ", NULL, p->within, &p->within, NULL));
  PetscCall(PetscOptionsReal("-tolerance", "Most by which columns differ, relative to their norm", NULL, p->tolerance, &p->tolerance, NULL));
  PetscCall(PetscOptionsString("-block", "Type of the blocks", NULL, dense, dense, sizeof(dense), NULL));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -auto a solve is one of whole blocks where the operator is on a device */
static PetscErrorCode TakenByItself(Mat T, PetscBool *taken)
{
  PetscBool by_itself = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-auto", &by_itself, NULL));
  if (by_itself) PetscCall(IsOnDevice(T, taken));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The zero column of B is A x, and x the guess */
static PetscErrorCode SolveZero(Mat A, Mat B, Mat X0)
{
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(X0, ZERO, &x));
  PetscCall(MatDenseGetColumnVecWrite(B, ZERO, &b));
  PetscCall(MatMult(A, x, b));
  PetscCall(MatDenseRestoreColumnVecWrite(B, ZERO, &b));
  PetscCall(MatDenseRestoreColumnVecRead(X0, ZERO, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const scenarios[] = {"solve", "exchange", "widths", "columns", "tests", "error", "off", "quiet", "memory", "narrow", "one", "copies", "overflow"};
  PetscInt          scenario    = 0;
  Params            p;
  Mat               A, T, B, X0;
  KSP               ksp, ref;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  if (PETSC_VERSION_LT(3, 26, 0)) { /* PETSc's way */
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(ReadParams(&p));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-scenario", scenarios, PETSC_STATIC_ARRAY_LENGTH(scenarios), &scenario, NULL));
  PetscCall(CreateOperator(p.shape, 0, &A));
  PetscCall(CreateTested(A, &T));
  PetscCall(TakenByItself(T, &p.taken));
  PetscCall(CreateBlock(A, N, 0, &p, &B));
  PetscCall(CreateBlock(A, N, 1, &p, &X0));
  if (p.bound_operator) { /* on a device the right-hand sides stay what they were */
    PetscCall(MatBindToCPU(T, PETSC_TRUE));
    PetscCall(MatBindToCPU(B, PETSC_TRUE));
    PetscCall(MatScale(B, 2));
  }
  if (p.solved) PetscCall(SolveZero(A, B, X0));
  if (scenario == 1) PetscCall(Exchange(A, T, &p, B, X0));
  else if (scenario == 2) PetscCall(Widths(A, T, &p, B, X0));
  else if (scenario == 3) PetscCall(Columns(A, T, &p, B, X0));
  else if (scenario == 4) {
    PetscCall(Tests(A, T, &p, B, X0));
    PetscCall(History(T, &p, B, X0));
  } else if (scenario == 5) PetscCall(NotConverged(T, &p, B, X0));
  else if (scenario == 6) PetscCall(Off(T, &p, B, X0));
  else if (scenario == 7) PetscCall(Quiet(T, &p, B, X0));
  else if (scenario == 8) PetscCall(Memory(A, T, &p, B, X0));
  else if (scenario == 9) PetscCall(Narrow(A, T, &p));
  else if (scenario == 10) PetscCall(OneColumn(A, T, &p));
  else if (scenario == 11) PetscCall(Copies(T, &p, B, X0));
  else if (scenario == 12) PetscCall(Overflow(A, T, &p, B, X0));
  else {
    PetscCall(CreateSolver(T, &p, &ksp));
    PetscCall(CreateSolver(A, &p, &ref));
    PetscCall(SolveAndCompare("first solve", ksp, ref, &p, T, B, X0));
    PetscCall(SolveAndCompare("second solve", ksp, ref, &p, T, B, X0));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(KSPDestroy(&ref));
    PetscCall(SameBitsEachTime(T, &p, B, X0));
    if (p.taken && !p.whole) PetscCall(ColumnsStay(T, &p, B, X0));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X0));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    args: -ksp_rtol 1e-9 -mat_aijtcu_block_solvers always
    output_file: output/empty.out

    test:
      suffix: cg
      args: -ksp_type cg -pc_type jacobi -ksp_norm_type {{preconditioned unpreconditioned natural}} -nonzero {{0 1}} -with_nan

    test: # of a Hermitian matrix PETSc's gamg is not Hermitian: cg does not converge with it. Nor is its icc, which is the default
      suffix: cg_pc_complex
      requires: complex
      nsize: 3
      args: -ksp_type cg -pc_type {{none bjacobi gamg}} -sub_pc_type ilu -options_left 0 -ksp_norm_type {{preconditioned unpreconditioned natural}} -ksp_max_it 9 -nonzero -with_nan

    test:
      suffix: cg_symmetric
      requires: complex
      args: -ksp_type cg -pc_type jacobi -taken 0 -ksp_cg_type symmetric -ksp_max_it 20

    test:
      suffix: cg_pc
      requires: !complex
      nsize: 3
      args: -ksp_type cg -pc_type {{none bjacobi gamg}} -ksp_norm_type {{preconditioned unpreconditioned natural}} -nonzero -with_nan

    test: # one iteration is made all the same
      suffix: none
      args: -ksp_type {{cg bcgs}} -pc_type jacobi -ksp_max_it 0 -ksp_rtol 0.99

    test:
      suffix: cg_few
      args: -ksp_type cg -pc_type jacobi -ksp_norm_type none -ksp_max_it 5

    test:
      suffix: cg_indefinite
      args: -ksp_type cg -pc_type {{none jacobi}} -shape indefinite

    test:
      suffix: cg_lacks
      args: -ksp_type cg -pc_type jacobi -taken 0 -ksp_cg_single_reduction

    test:
      suffix: chebyshev
      nsize: {{1 3}}
      args: -ksp_type chebyshev -ksp_chebyshev_esteig 0,0.003,0,1.1 -pc_type jacobi -ksp_norm_type {{preconditioned unpreconditioned}} -nonzero -with_nan

    test:
      suffix: chebyshev_smooth
      args: -ksp_type chebyshev -ksp_chebyshev_kind {{first fourth opt_fourth}} -pc_type jacobi -ksp_norm_type none -ksp_max_it {{1 2 3 4}} -nonzero {{0 1}}

    test:
      suffix: chebyshev_zero
      args: -ksp_type chebyshev -ksp_chebyshev_eigenvalues 0.003,2.1 -ksp_chebyshev_kind {{first fourth}} -pc_type bjacobi -sub_pc_type ilu -ksp_max_it 6

    test:
      suffix: richardson
      nsize: 2
      args: -ksp_type richardson -ksp_richardson_scale 0.7 -pc_type jacobi -ksp_norm_type {{preconditioned unpreconditioned}} -ksp_max_it 60 -nonzero -whole

    test:
      suffix: richardson_smooth
      args: -ksp_type richardson -ksp_richardson_scale 0.7 -pc_type jacobi -ksp_norm_type none -ksp_max_it {{1 4}} -nonzero {{0 1}}

    test:
      suffix: richardson_lacks
      args: -ksp_type richardson -ksp_max_it 20 -taken 0 -whole -pc_type sor

    test: # the preconditioner iterates, until the residual of all columns is small
      suffix: richardson_mg
      requires: !complex
      nsize: {{1 2}}
      args: -ksp_type richardson -pc_type gamg -whole -within 20 -nonzero {{0 1}}

    test:
      suffix: richardson_mg_few
      args: -ksp_type richardson -pc_type gamg -pc_mg_type {{multiplicative additive}} -ksp_rtol 0 -ksp_max_it 3 -tolerance 1e-11 -whole -nonzero {{0 1}}

    test:
      suffix: richardson_self
      args: -ksp_type richardson -ksp_max_it 20 -taken 0 -pc_type jacobi -ksp_richardson_self_scale

    test:
      suffix: gmres
      nsize: {{1 3}}
      args: -ksp_type {{gmres fgmres}} -pc_type jacobi -ksp_gmres_restart 7 -nonzero -with_nan -shape skewed

    test:
      suffix: gmres_pc
      args: -ksp_type gmres -pc_type {{none gamg}} -with_nan

    test:
      suffix: asm
      nsize: {{1 2}}
      args: -ksp_type gmres -ksp_norm_type none -ksp_max_it 3 -pc_type asm -pc_asm_local_blocks 3 -sub_pc_type lu

    test:
      suffix: gasm
      nsize: {{1 2}}
      args: -ksp_type gmres -ksp_norm_type none -ksp_max_it 3 -pc_type gasm -pc_gasm_total_subdomains 4 -sub_pc_type lu

    test:
      suffix: singular_gamg
      nsize: {{1 2}}
      args: -ksp_type {{cg gmres}} -pc_type gamg -shape singular -ksp_max_it 12

    test:
      suffix: gmres_right
      nsize: 2
      args: -ksp_type gmres -ksp_pc_side right -pc_type bjacobi -sub_pc_type ilu -nonzero {{0 1}} -with_nan

    test:
      suffix: gmres_orthog
      args: -ksp_type gmres -pc_type jacobi -shape skewed -ksp_orthogonalization mgs

    test:
      suffix: gmres_refine
      args: -ksp_type gmres -pc_type jacobi -shape skewed -ksp_orthogonalization_cgs_refinement_type {{refine_always refine_ifneeded}}

    test:
      suffix: gmres_few
      args: -ksp_type gmres -pc_type jacobi -ksp_norm_type none -ksp_max_it 7

    test:
      suffix: bcgs
      nsize: {{1 3}}
      args: -ksp_type bcgs -pc_type jacobi -ksp_pc_side {{left right}} -nonzero -with_nan -within 2 -tolerance 1e-5 -shape skewed

    test:
      suffix: bcg
      nsize: {{1 3}}
      args: -ksp_type bcg -pc_type jacobi -ksp_norm_type {{preconditioned unpreconditioned natural}} -nonzero -with_nan -fewer -dependent

    test:
      suffix: bcg_zero
      requires: !complex
      args: -ksp_type bcg -pc_type {{none gamg}} -fewer

    test: # the preconditioner is not known to be Hermitian
      suffix: bcg_complex
      requires: complex
      args: -ksp_type bcg -pc_type bjacobi -sub_pc_type ilu -taken 0

    test:
      suffix: bcg_zero_complex
      requires: complex
      nsize: {{1 2}}
      args: -ksp_type bcg -pc_type {{none jacobi}} -fewer

    test:
      suffix: bcg_scenarios_complex
      requires: complex
      nsize: 2
      args: -ksp_type bcg -pc_type jacobi -fewer -scenario {{exchange widths columns}}

    test:
      suffix: bcg_scenarios
      requires: !complex
      nsize: 2
      args: -ksp_type bcg -pc_type bjacobi -fewer -scenario {{exchange widths columns}}

    test:
      suffix: overflow
      nsize: {{1 2}}
      args: -ksp_type {{cg bcg}} -pc_type {{none jacobi}} -ksp_norm_type unpreconditioned -scenario overflow

    test:
      suffix: bcg_one
      nsize: {{1 2}}
      args: -ksp_type bcg -pc_type jacobi -ksp_norm_type {{preconditioned natural}} -nonzero {{0 1}} -scenario one

    test:
      suffix: transpose
      nsize: {{1 3}}
      args: -ksp_type {{gmres fgmres bcgs}} -options_left 0 -pc_type jacobi -ksp_gmres_restart 7 -nonzero -with_nan -within 2 -tolerance 1e-5 -shape skewed -transpose

    test:
      suffix: transpose_pc
      args: -ksp_type gmres -pc_type {{none bjacobi}} -shape skewed -transpose

    test:
      suffix: transpose_right
      nsize: {{1 2}}
      args: -ksp_type {{gmres bcgs}} -ksp_pc_side right -pc_type jacobi -within 2 -tolerance 1e-5 -shape skewed -transpose

    test:
      suffix: transpose_singular
      nsize: {{1 2}}
      args: -ksp_type {{cg gmres chebyshev}} -pc_type jacobi -shape singular -ksp_max_it 12 -transpose

    test:
      suffix: transpose_smooth
      args: -ksp_type chebyshev -ksp_chebyshev_eigenvalues 0.003,2.1 -pc_type jacobi -ksp_norm_type none -ksp_max_it {{1 3}} -shape skewed -transpose -nonzero {{0 1}}

    test:
      suffix: transpose_richardson
      nsize: {{1 2}}
      args: -ksp_type richardson -pc_type {{jacobi bjacobi}} -ksp_max_it 6 -whole -transpose -nonzero {{0 1}} -shape skewed

    test:
      suffix: transpose_richardson_smooth
      args: -ksp_type richardson -ksp_richardson_scale 0.7 -pc_type jacobi -ksp_norm_type none -ksp_max_it {{1 3}} -whole -transpose -nonzero {{0 1}} -shape skewed

    test:
      suffix: singular
      nsize: 2
      args: -ksp_type {{cg gmres chebyshev bcgs}} -pc_type jacobi -shape singular -ksp_max_it 12

    test:
      suffix: failed
      nsize: 3
      args: -ksp_type {{cg gmres}} -pc_type bjacobi -sub_pc_type lu -shape empty

    test:
      suffix: scenarios
      nsize: 3
      args: -ksp_type cg -pc_type jacobi -scenario {{exchange widths columns tests error}}

    test:
      suffix: scenarios_guess
      args: -ksp_type {{gmres chebyshev}} -ksp_chebyshev_esteig 0,0.003,0,1.1 -options_left 0 -pc_type jacobi -nonzero -scenario {{exchange widths columns tests}}

    test:
      suffix: quiet
      nsize: 2
      args: -ksp_type {{richardson chebyshev}} -pc_type jacobi -ksp_norm_type none -ksp_max_it 3 -nonzero -scenario quiet

    test:
      suffix: memory
      nsize: {{1 2}}
      args: -ksp_type gmres -pc_type jacobi -ksp_gmres_restart 20 -nonzero -scenario memory

    test: # more than half of the columns end early
      suffix: narrow
      nsize: {{1 2}}
      args: -ksp_type {{cg gmres fgmres bcgs}} -ksp_gmres_restart 7 -options_left 0 -pc_type jacobi -nonzero {{0 1}} -scenario narrow -within 2

    test:
      suffix: narrow_pc_complex
      requires: complex
      args: -ksp_type gmres -ksp_gmres_restart 7 -pc_type {{bjacobi gamg}} -sub_pc_type ilu -options_left 0 -scenario narrow

    test:
      suffix: narrow_pc
      requires: !complex
      args: -ksp_type {{cg gmres}} -ksp_gmres_restart 7 -options_left 0 -pc_type {{bjacobi gamg}} -scenario narrow

    test:
      suffix: narrow_widths
      args: -ksp_type cg -pc_type jacobi -scenario narrow -info :ksp
      filter: grep -o "goes on with a block.*" | sort | uniq -c
      output_file: output/blocksolve_narrow_widths.out

    test: # the log says why a solve is not one of whole blocks, and how columns end
      suffix: info_why
      args: -ksp_type cg -pc_type jacobi -taken 0 -ksp_monitor -info :ksp
      filter: grep -o "aijtcu: cg takes.*" | sort -u
      output_file: output/blocksolve_why.out

    test:
      suffix: info_columns
      args: -ksp_type cg -pc_type none -with_nan -info :ksp
      filter: grep -o -e "aijtcu: cg solves.*" -e "right-hand side [24] ends with [A-Z_]*" | sort -u
      output_file: output/blocksolve_columns.out

    test: # whole blocks on a device; on the host they must be asked for, and the log says so
      suffix: info_auto
      args: -ksp_type {{cg gmres}} -pc_type jacobi -mat_aijtcu_block_solvers auto -auto -info :ksp
      filter: grep -o -e "aijtcu: KSPMatSolve() with [a-z]* goes as PETSc has it: the operator is on the host" -e "aijtcu: [a-z]* solves with a block of" | head -n 1 | sed "s|.*|the way is told|"
      output_file: output/blocksolve_info_auto.out

    test:
      suffix: info_off
      args: -ksp_type cg -pc_type bjacobi -mat_aijtcu_block_solvers off -scenario off -info
      filter: grep -o "aijtcu: all block solves go as PETSc has them: -mat_aijtcu_block_solvers off" | sort -u
      output_file: output/blocksolve_info_off.out

    test:
      suffix: off
      args: -ksp_type cg -pc_type bjacobi -mat_aijtcu_block_solvers off -scenario off

    test:
      suffix: auto
      args: -ksp_type {{cg gmres chebyshev}} -ksp_chebyshev_esteig 0,0.003,0,1.1 -options_left 0 -pc_type jacobi -mat_aijtcu_block_solvers auto -auto

    test: # asked for by its name
      suffix: auto_bcg
      args: -ksp_type bcg -pc_type jacobi -mat_aijtcu_block_solvers auto -fewer

    test:
      suffix: cuda
      requires: cuda
      args: -ksp_type {{cg gmres chebyshev bcgs}} -ksp_chebyshev_esteig 0,0.003,0,1.1 -options_left 0 -pc_type {{none jacobi}} -block densecuda -nonzero {{0 1}} -with_nan -within 2 -tolerance 1e-5

    test:
      suffix: cuda_copies
      requires: cuda
      args: -ksp_type {{cg gmres bcgs chebyshev richardson}} -pc_type {{jacobi gamg}} -block densecuda -scenario copies

    test: # with complex scalars bcg takes blocks apart where gamg comes before it
      suffix: cuda_copies_bcg
      requires: cuda !complex
      args: -ksp_type bcg -pc_type {{jacobi gamg}} -block densecuda -scenario copies

    test:
      suffix: cuda_copies_bcg_complex
      requires: cuda complex
      args: -ksp_type bcg -pc_type jacobi -block densecuda -scenario copies

    test:
      suffix: cuda_bcg
      requires: cuda
      args: -ksp_type bcg -pc_type jacobi -block densecuda -nonzero -with_nan -fewer -dependent

    test:
      suffix: cuda_bcg_scenarios
      requires: cuda
      nsize: {{1 2}}
      args: -use_gpu_aware_mpi 0 -ksp_type bcg -pc_type jacobi -block densecuda -fewer -scenario {{exchange widths one}}

    test:
      suffix: cuda_factors
      requires: cuda
      args: -ksp_type {{cg gmres}} -pc_type {{lu cholesky bjacobi}} -sub_pc_type ilu -options_left 0 -block densecuda -nonzero

    test: # icc of a complex matrix is one of a symmetric matrix on the host, and on a device that of a Hermitian one
      suffix: cuda_factors_icc
      requires: cuda !complex
      args: -ksp_type {{cg gmres}} -pc_type bjacobi -sub_pc_type icc -block densecuda -nonzero

    test:
      suffix: cuda_transpose
      requires: cuda
      nsize: {{1 2}}
      args: -use_gpu_aware_mpi 0 -ksp_type {{gmres bcgs}} -options_left 0 -pc_type jacobi -block densecuda -nonzero -with_nan -within 2 -tolerance 1e-5 -shape skewed -transpose

    test: # PETSc takes columns of a block apart
      suffix: cuda_bound
      requires: cuda
      nsize: {{1 2}}
      args: -use_gpu_aware_mpi 0 -ksp_type preonly -pc_type jacobi -block densecuda -bound -taken 0 -ksp_matsolve_batch_size {{1 2}} -tolerance 1e-9 -options_left 0

    test: # and applies a preconditioner to one after the other
      suffix: cuda_bound_columns
      requires: cuda
      nsize: 2
      args: -use_gpu_aware_mpi 0 -ksp_type {{preonly none}} -plain {{0 1}} -pc_type redundant -block densecuda -bound -taken 0 -ksp_matsolve_batch_size {{1 2}} -tolerance 1e-9 -options_left 0

    test: # PETSc adds columns of a block
      suffix: cuda_bound_operator
      requires: cuda
      nsize: 2
      args: -use_gpu_aware_mpi 0 -ksp_type richardson -ksp_richardson_scale 0.7 -ksp_norm_type none -ksp_max_it 4 -pc_type jacobi -block densecuda -bound_operator -taken 0 -nonzero {{0 1}}

    test:
      suffix: cuda_smooth
      requires: cuda
      args: -ksp_type {{chebyshev richardson}} -ksp_chebyshev_eigenvalues 0.003,2.1 -ksp_richardson_scale 0.7 -options_left 0 -pc_type jacobi -ksp_norm_type none -ksp_max_it {{1 2 3 4}} -block densecuda -nonzero {{0 1}}

    test: # as richardson_mg: with complex scalars PETSc's solve on the host ends with NaN
      suffix: cuda_richardson_mg
      requires: cuda !complex
      nsize: {{1 2}}
      args: -use_gpu_aware_mpi 0 -ksp_type richardson -pc_type gamg -block densecuda -whole -within 20 -nonzero {{0 1}}

    test:
      suffix: cuda_memory
      requires: cuda
      nsize: {{1 2}}
      args: -use_gpu_aware_mpi 0 -ksp_type gmres -pc_type jacobi -ksp_gmres_restart 20 -block densecuda -nonzero -scenario memory

    test:
      suffix: cuda_narrow
      requires: cuda
      args: -ksp_type {{cg gmres bcgs}} -ksp_gmres_restart 7 -options_left 0 -pc_type {{jacobi gamg}} -block densecuda -nonzero {{0 1}} -scenario narrow -within 2

    test:
      suffix: cuda_scenarios
      requires: cuda
      args: -ksp_type {{cg gmres}} -pc_type jacobi -block densecuda -scenario {{exchange widths columns tests error}}

  test:
    suffix: single
    requires: single
    args: -ksp_type {{cg gmres}} -pc_type jacobi -ksp_rtol 1e-4 -tolerance 1e-2 -within 3 -with_nan -mat_aijtcu_block_solvers always
    output_file: output/empty.out

TEST*/
