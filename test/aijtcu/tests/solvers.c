static char help[] = "Solvers of PETSc and SLEPc with a MATAIJTCU, each against a MATAIJ of the same values. Prints on error only.\n\n";

#include "multigrid.h"
#include "sameproduct.h"
#include <petscaijtcu.h>
#include <slepceps.h>
#include <slepclme.h>
#include <slepcmfn.h>
#include <slepcnep.h>
#include <slepcpep.h>
#include <slepcsvd.h>
#include <petscdmda.h>

/* Matrices that problems are made of. Local sizes are multiples of the block size */
typedef enum {
  NONE,
  STIFF,   /* symmetric positive definite, with well separated eigenvalues */
  SKEWED,  /* not symmetric */
  STABLE,  /* eigenvalues on the left */
  DAMPING, /* small, symmetric */
  MASS,    /* near the identity */
  TALL,    /* rectangular, with well separated singular values */
  GRID     /* of a DMDA */
} Shape;

enum {
  ROWS      = 72, /* local sizes are even and multiples of BLOCK, because a BVSVEC pads others */
  COLS      = 48, /* columns of TALL */
  BLOCK     = 3,
  NX        = 9, /* points of GRID */
  NY        = 7,
  DOF       = 2,
  MAXMATS   = 4,
  MAXRESULT = 4096
};

/* What a solver gives, the same on all processes: entries of vectors, or eigenvalues in sorted order */
typedef struct {
  PetscInt  n;
  PetscReal v[MAXRESULT];
} Result;

/* Where a row of the tables runs: number of processes, host or device matrices, scalar type */
enum {
  SEQ_HOST      = 1,
  PAR_HOST      = 2,
  SEQ_DEVICE    = 4,
  PAR_DEVICE    = 8,
  SEQ           = SEQ_HOST | SEQ_DEVICE,
  PAR           = PAR_HOST | PAR_DEVICE,
  ANY           = SEQ | PAR,
  HOST          = SEQ_HOST | PAR_HOST, /* fails with aijcusparse, too: -type aijcusparse -only ROW */
  SEQ_ON_DEVICE = HOST | SEQ_DEVICE,
  REAL          = 16 /* not with complex scalars: aij fails there, too */
};

/*
   A process may have no columns of a coarse level. MATMPIAIJ itself crashes there in PETSc 3.25, in
   MatMatMultSymbolic_MPIAIJ_MPIDense().
*/
#if !PETSC_VERSION_LT(3, 25, 0) && PETSC_VERSION_LT(3, 26, 0)
  #define COARSE_LEVELS SEQ
#else
  #define COARSE_LEVELS ANY
#endif

typedef struct _Row Row;
struct _Row {
  const char *name; /* also the prefix of the solver */
  const char *options;
  Shape       shapes[MAXMATS];
  /*
     Make the solver at the first call, and solve. Later calls solve with the same solver, but other values in its
     matrices.
  */
  PetscErrorCode (*solve)(const Row *, Mat[], PetscObject *, Result *);
  PetscReal tolerance;  /* bound for the relative norm of the difference; for eigenvalues relative to each */
  PetscInt  where;
};

static char        tested[32]   = MATAIJTCU;            /* the type that is compared with aij */
static char        dense[2][32] = {MATDENSE, MATDENSE}; /* types of the dense matrices that are multiplied with it, and with an aij */
static PetscMPIInt size;

static PetscReal Coefficient(Shape shape, PetscInt version, PetscInt i, PetscInt j)
{
  const PetscInt  d   = PetscAbsInt(i - j);
  const PetscReal off = -(1 + 0.1 * version * ((i + j) % 4)) / (1 + d / 5.), diagonal = 5 + 0.03 * i + 0.1 * (i % 9) + 0.5 * version * (i % 3);

  switch (shape) {
  case STIFF:
    return d ? off : diagonal;
  case SKEWED:
    return d ? off * (i < j ? 1.4 : 0.6) : diagonal;
  case STABLE:
    return d ? -off : -diagonal;
  case DAMPING:
    return (d ? off : diagonal) / 20;
  case MASS:
    return (d ? -off / 8 : 2 + 0.01 * i + 0.1 * version * (i % 3)) / 2;
  default: /* TALL */
    return i * COLS / ROWS == j ? 1 + 10 * PetscExpReal(-0.2 * j) + 0.1 * version * (i % 4) : 0.1 / (1 + PetscAbsInt(i * COLS / ROWS - j));
  }
}

/*
   With complex scalars D A D^H takes the place of A, where D has modulus 1. Eigenvalues and singular values stay, and
   a symmetric matrix becomes Hermitian.
*/
static PetscScalar Phase(PetscInt i, PetscInt j)
{
#if PetscDefined(USE_COMPLEX)
  return PetscExpComplex(PETSC_i * (PetscReal)(0.3 * (i - j)));
#else
  (void)i;
  (void)j;
  return 1;
#endif
}

static PetscErrorCode FillShape(Mat A, Shape shape, PetscInt version)
{
  const PetscInt offsets[] = {-10, -3, -1, 0, 1, 3, 10};
  PetscInt       r0, r1, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(MatGetSize(A, NULL, &n));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(offsets); k++) {
      const PetscInt j = (shape == TALL ? i * COLS / ROWS : i) + offsets[k];

      if (j >= 0 && j < n) PetscCall(MatSetValue(A, i, j, Coefficient(shape, version, i, j) * Phase(i, j), INSERT_VALUES));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillGrid(Mat A, PetscInt version)
{
  DM            da;
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetDM(A, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      for (PetscInt c = 0; c < DOF; c++) {
        MatStencil  row = {.j = j, .i = i, .c = c}, columns[9 * DOF];
        PetscScalar values[9 * DOF];
        PetscInt    n = 0;

        for (PetscInt y = PetscMax(j - 1, 0); y <= PetscMin(j + 1, info.my - 1); y++) {
          for (PetscInt x = PetscMax(i - 1, 0); x <= PetscMin(i + 1, info.mx - 1); x++) {
            for (PetscInt b = 0; b < DOF; b++) {
              columns[n]  = (MatStencil){.j = y, .i = x, .c = b};
              values[n++] = y == j && x == i && b == c ? 10 + 0.1 * i + version * ((i + j) % 2) : b == c ? -1 : 0.1;
            }
          }
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, n, columns, values, INSERT_VALUES));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillAny(Mat A, Shape shape, PetscInt version)
{
  PetscFunctionBegin;
  if (shape == GRID) PetscCall(FillGrid(A, version));
  else PetscCall(FillShape(A, shape, version));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (shape == STIFF || shape == MASS) PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateShape(MatType type, Shape shape, Mat *A)
{
  PetscFunctionBegin;
  if (shape == GRID) {
    DM      da;
    VecType vectors;

    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, NX, NY, PETSC_DECIDE, PETSC_DECIDE, DOF, 1, NULL, NULL, &da));
    PetscCall(DMSetMatType(da, type));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, A)); /* it holds the reference that MatGetDM() borrows */
    PetscCall(MatGetVecType(*A, &vectors)); /* otherwise multigrid mixes vectors of the host and of a device, which PETSc does not free */
    PetscCall(DMSetVecType(da, vectors));
    PetscCall(DMDestroy(&da));
  } else {
    PetscInt m, sizes[ROWS];

    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, shape == TALL ? COLS : ROWS));
    PetscCall(MatSetBlockSize(*A, BLOCK));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSetUp(*A));
    PetscCall(MatGetLocalSize(*A, &m, NULL));
    for (PetscInt i = 0; i < m / BLOCK * 2; i++) sizes[i] = i % 2 ? BLOCK - 1 : 1; /* for PCVPBJACOBI */
    if (shape != TALL) PetscCall(MatSetVariableBlockSizes(*A, m / BLOCK * 2, sizes));
  }
  PetscCall(FillAny(*A, shape, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A vector of the type that goes with reference, or of the host's if that is NULL. It has as many rows as A has
   columns. Its entries are the same for an aij as for an aijtcu.
*/
static PetscErrorCode CreateBlock(Mat A, Mat reference, PetscInt columns, Mat *B)
{
  PetscInt  n, N, r0, r1;
  PetscBool aij = PETSC_TRUE;

  PetscFunctionBegin;
  if (reference) PetscCall(PetscObjectTypeCompareAny((PetscObject)reference, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, n, PETSC_DECIDE, N, columns));
  PetscCall(MatSetType(*B, dense[aij ? 1 : 0]));
  PetscCall(MatSetUp(*B));
  PetscCall(MatGetOwnershipRange(*B, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt j = 0; j < columns; j++) PetscCall(MatSetValue(*B, i, j, 1 + (i * 7 + j * 11) % 13 - 0.01 * i, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillVec(Vec b)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(b, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) PetscCall(VecSetValue(b, i, 1 + (i * 5) % 11 - 0.02 * i, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AppendReal(Result *result, PetscReal value)
{
  PetscFunctionBegin;
  PetscCheck(result->n < MAXRESULT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MAXRESULT is too small");
  result->v[result->n++] = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AppendVec(Result *result, Vec x)
{
  VecScatter         scatter;
  Vec                all;
  PetscInt           n;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToAll(x, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetSize(all, &n));
  PetscCall(VecGetArrayRead(all, &a));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(AppendReal(result, PetscRealPart(a[i])));
    if (PetscDefined(USE_COMPLEX)) PetscCall(AppendReal(result, PetscImaginaryPart(a[i])));
  }
  PetscCall(VecRestoreArrayRead(all, &a));
  PetscCall(VecDestroy(&all));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AppendDense(Result *result, Mat X)
{
  PetscInt n;
  Vec      column;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &n));
  for (PetscInt j = 0; j < n; j++) {
    PetscCall(MatDenseGetColumnVecRead(X, j, &column));
    PetscCall(AppendVec(result, column));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &column));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S times a block of the type that goes with reference */
static PetscErrorCode AppendProduct(Result *result, Mat S, Mat reference)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(CreateBlock(S, reference, 3, &B));
  PetscCall(MatMatMult(S, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(AppendDense(result, C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AppendMult(Result *result, Mat S)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(S, &x, &y));
  PetscCall(FillVec(x));
  PetscCall(MatMult(S, x, y));
  PetscCall(AppendVec(result, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print a message that names the type */
static PetscErrorCode Complain(const Row *row, Mat A, const char what[], PetscInt value)
{
  MatType type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s with a %s: %s %" PetscInt_FMT "\n", row->name, type, what, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------ linear systems */

/* The options that the row gives to a new solver */
static PetscErrorCode SetFromRow(const Row *row, Mat A, KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetOptionsPrefix(ksp, row->name));
  PetscCall(KSPAppendOptionsPrefix(ksp, "_"));
  PetscCall(KSPSetTolerances(ksp, 1e-10, 0, PETSC_CURRENT, 500));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeKSP(const Row *row, Mat A, PetscObject *solver, KSP *ksp)
{
  PetscFunctionBegin;
  if (!*solver) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(SetFromRow(row, A, *ksp));
    *solver = (PetscObject)*ksp;
  }
  *ksp = (KSP)*solver;
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve with a vector of the host in place of one of A's kind */
static PetscErrorCode OnHost(Vec *v)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(*v, &n));
  PetscCall(VecDestroy(v));
  PetscCall(VecCreate(PETSC_COMM_WORLD, v));
  PetscCall(VecSetSizes(*v, n, PETSC_DETERMINE));
  PetscCall(VecSetType(*v, VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve with vectors that are destroyed afterwards */
static PetscErrorCode SolveFor(const Row *row, KSP ksp, Mat A, Vec b, Vec x, Result *result)
{
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(FillVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason <= 0) PetscCall(Complain(row, A, "does not converge, reason", reason));
  PetscCall(AppendVec(result, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveWith(const Row *row, KSP ksp, Mat A, Result *result)
{
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SolveFor(row, ksp, A, b, x, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Linear(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(MakeKSP(row, A[0], solver, &ksp));
  PetscCall(SolveWith(row, ksp, A[0], result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preconditioner is made of a matrix of PETSc's */
static PetscErrorCode LinearOfPlain(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp;
  Mat P;

  PetscFunctionBegin;
  PetscCall(MakeKSP(row, A[0], solver, &ksp));
  PetscCall(MatConvert(A[0], MATAIJ, MAT_INITIAL_MATRIX, &P));
  PetscCall(KSPSetOperators(ksp, A[0], P));
  PetscCall(MatDestroy(&P));
  PetscCall(SolveWith(row, ksp, A[0], result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinearOnHost(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(MakeKSP(row, A[0], solver, &ksp));
  PetscCall(MatCreateVecs(A[0], &x, &b));
  PetscCall(OnHost(&x));
  PetscCall(OnHost(&b));
  PetscCall(SolveFor(row, ksp, A[0], b, x, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For a preconditioner that stays the same when values change */
static PetscErrorCode Anew(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  PetscFunctionBegin;
  if (*solver) PetscCall(KSPReset((KSP)*solver));
  PetscCall(Linear(row, A, solver, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multigrid with two levels. A's coarse matrix is P^T A P, with an interpolation of A's type */
static PetscErrorCode MakeMultigrid(const Row *row, Mat A, PetscObject *solver, KSP *ksp)
{
  PetscFunctionBegin;
  if (!*solver) {
    Mat      P;
    PetscInt m, r0, r1;

    PetscCall(MakeKSP(row, A, solver, ksp));
    PetscCall(MatGetLocalSize(A, &m, NULL));
    PetscCall(InterpolationCreate(A, m / BLOCK, PETSC_DETERMINE, &P));
    PetscCall(MatGetOwnershipRange(P, &r0, &r1));
    for (PetscInt i = r0; i < r1; i++) {
      const PetscInt j = i / BLOCK, neighbour = j + i % BLOCK - 1;

      PetscCall(MatSetValue(P, i, j, 1, INSERT_VALUES));
      if (neighbour != j && neighbour >= 0 && neighbour < ROWS / BLOCK) PetscCall(MatSetValue(P, i, neighbour, 0.5, INSERT_VALUES));
    }
    PetscCall(SetTwoLevels(*ksp, &P));
    PetscCall(KSPSetFromOptions(*ksp));
  } else PetscCall(MakeKSP(row, A, solver, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multigrid(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp, coarse;
  PC  pc;
  Mat Ac;

  PetscFunctionBegin;
  PetscCall(MakeMultigrid(row, A[0], solver, &ksp));
  PetscCall(SolveWith(row, ksp, A[0], result));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetCoarseSolve(pc, &coarse));
  PetscCall(KSPGetOperators(coarse, &Ac, NULL));
  PetscCall(AppendProduct(result, Ac, A[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multigrid of a DMDA, with its coarser grids */
static PetscErrorCode GridMultigrid(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp;
  DM  da;

  PetscFunctionBegin;
  if (!*solver) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(MatGetDM(A[0], &da));
    PetscCall(KSPSetDM(ksp, da));
#if PETSC_VERSION_LT(3, 25, 0)
    PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
#else
    PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
#endif
    PetscCall(SetFromRow(row, A[0], ksp));
    *solver = (PetscObject)ksp;
  }
  PetscCall(Linear(row, A, solver, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve for a block of right-hand sides at once */
static PetscErrorCode SolveBlock(const Row *row, Mat A[], PetscObject *solver, PetscBool transposed, Result *result)
{
  KSP                ksp;
  Mat                B, X;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MakeKSP(row, A[0], solver, &ksp));
  PetscCall(CreateBlock(A[0], A[0], 6, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason <= 0) PetscCall(Complain(row, A[0], "does not converge, reason", reason));
  PetscCall(AppendDense(result, X));
  if (transposed) {
    PetscCall(KSPMatSolveTranspose(ksp, B, X));
    PetscCall(AppendDense(result, X));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Block(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  PetscFunctionBegin;
  PetscCall(SolveBlock(row, A, solver, PETSC_FALSE, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockTransposed(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  PetscFunctionBegin;
  PetscCall(SolveBlock(row, A, solver, PETSC_TRUE, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(KSP ksp, Mat A, Result *result)
{
  PC  pc;
  Mat B, X;

  PetscFunctionBegin;
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(CreateBlock(A, A, 6, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(AppendDense(result, X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyPC(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(MakeKSP(row, A[0], solver, &ksp));
  PetscCall(Apply(ksp, A[0], result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyMultigrid(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(MakeMultigrid(row, A[0], solver, &ksp));
  PetscCall(Apply(ksp, A[0], result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------ matrices made of others */

static PetscErrorCode Nest(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  KSP ksp;
  Mat N;

  PetscFunctionBegin;
  if (!*solver) {
    PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, A, &N));
    PetscCall(MakeKSP(row, N, solver, &ksp));
    PetscCall(MatDestroy(&N));
  }
  PetscCall(KSPGetOperators((KSP)*solver, &N, NULL));
  PetscCall(MatAssemblyBegin(N, MAT_FINAL_ASSEMBLY)); /* the blocks of it have changed */
  PetscCall(MatAssemblyEnd(N, MAT_FINAL_ASSEMBLY));
  PetscCall(AppendMult(result, N));
  PetscCall(AppendProduct(result, N, A[0]));
  PetscCall(SolveWith(row, (KSP)*solver, N, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SchurComplement(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  Mat S, P;
  KSP ksp;

  PetscFunctionBegin;
  if (!*solver) {
    PetscCall(MatCreateSchurComplement(A[0], A[0], A[1], A[2], A[3], &S));
    PetscCall(MatSchurComplementSetAinvType(S, MAT_SCHUR_COMPLEMENT_AINV_DIAG));
    PetscCall(MatSchurComplementGetKSP(S, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, row->name));
    PetscCall(KSPAppendOptionsPrefix(ksp, "_"));
    PetscCall(KSPSetTolerances(ksp, 1e-12, 0, PETSC_CURRENT, 500));
    PetscCall(KSPSetFromOptions(ksp));
    *solver = (PetscObject)S;
  }
  S = (Mat)*solver;
  PetscCall(MatSchurComplementUpdateSubMatrices(S, A[0], A[0], A[1], A[2], A[3]));
  PetscCall(AppendMult(result, S));
  PetscCall(AppendProduct(result, S, NULL)); /* PETSc has no product with a dense matrix of the device */
  PetscCall(MatSchurComplementGetPmat(S, MAT_INITIAL_MATRIX, &P));
  PetscCall(AppendProduct(result, P, A[0]));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A submatrix of two rows in three, and other columns */
static PetscErrorCode SubMatrix(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  IS       rows, columns;
  PetscInt r0, m;
  Mat      S = (Mat)*solver;

  PetscFunctionBegin;
  (void)row;
  PetscCall(MatGetOwnershipRange(A[0], &r0, NULL));
  PetscCall(MatGetLocalSize(A[0], &m, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, m / 2, r0, 2, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, m - 4, r0 + 2, 1, &columns));
  PetscCall(MatCreateSubMatrix(A[0], rows, columns, S ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &S));
  *solver = (PetscObject)S;
  PetscCall(AppendProduct(result, S, A[0]));
  PetscCall(AppendMult(result, S));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroySubMatrices(void **submatrices)
{
  PetscFunctionBegin;
  PetscCall(MatDestroySubMatrices(2, (Mat **)submatrices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On each process, a submatrix of rows of all processes */
static PetscErrorCode SubMatrices(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  IS             rows[2], columns[2];
  Mat           *S = NULL;
  PetscContainer container;

  PetscFunctionBegin;
  (void)row;
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(ISCreateStride(PETSC_COMM_SELF, ROWS / 3, k ? 0 : 17, k ? 3 : 2, &rows[k]));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, ROWS - 20, k ? 4 : 11, 1, &columns[k]));
  }
  if (*solver) PetscCall(PetscContainerGetPointer((PetscContainer)*solver, (void **)&S));
  PetscCall(MatCreateSubMatrices(A[0], 2, rows, columns, *solver ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &S));
  if (!*solver) {
    PetscCall(PetscContainerCreate(PETSC_COMM_WORLD, &container));
    PetscCall(PetscContainerSetPointer(container, S));
    PetscCall(PetscContainerSetCtxDestroy(container, (PetscCtxDestroyFn *)DestroySubMatrices));
    *solver = (PetscObject)container;
  }
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(AppendProduct(result, S[k], A[0]));
    PetscCall(AppendMult(result, S[k]));
    PetscCall(ISDestroy(&rows[k]));
    PetscCall(ISDestroy(&columns[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a coarser DMDA */
static PetscErrorCode Galerkin(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  DM  da, coarse;
  Mat P, C = (Mat)*solver;

  PetscFunctionBegin;
  (void)row;
  if (!C) {
    PetscCall(MatGetDM(A[0], &da));
    PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
    PetscCall(DMCreateInterpolation(coarse, da, &P, NULL));
    PetscCall(MatPtAP(A[0], P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(PetscObjectCompose((PetscObject)C, "P", (PetscObject)P));
    PetscCall(MatDestroy(&P));
    PetscCall(DMDestroy(&coarse));
    *solver = (PetscObject)C;
  } else {
    PetscCall(PetscObjectQuery((PetscObject)C, "P", (PetscObject *)&P));
    PetscCall(MatPtAP(A[0], P, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  }
  PetscCall(AppendProduct(result, C, A[0]));
  PetscCall(AppendMult(result, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------ eigenvalues, singular values, functions of matrices */

static PetscErrorCode Eigenvalues(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  EPS      eps = (EPS)*solver;
  PetscInt nev, nconv;
  EPSWhich which;

  PetscFunctionBegin;
  if (!eps) {
    PetscCall(EPSCreate(PETSC_COMM_WORLD, &eps));
    PetscCall(EPSSetOptionsPrefix(eps, row->name));
    PetscCall(EPSAppendOptionsPrefix(eps, "_"));
    PetscCall(EPSSetOperators(eps, A[0], A[1]));
    PetscCall(EPSSetProblemType(eps, row->shapes[0] == SKEWED ? (A[1] ? EPS_GNHEP : EPS_NHEP) : (A[1] ? EPS_GHEP : EPS_HEP)));
    PetscCall(EPSSetDimensions(eps, 4, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(EPSSetTolerances(eps, 1e-9, 2000));
    PetscCall(EPSSetFromOptions(eps));
    *solver = (PetscObject)eps;
  }
  PetscCall(EPSSetOperators(eps, A[0], A[1]));
  PetscCall(EPSSolve(eps));
  PetscCall(EPSGetDimensions(eps, &nev, NULL, NULL));
  PetscCall(EPSGetConverged(eps, &nconv));
  PetscCall(EPSGetWhichEigenpairs(eps, &which));
  if (nconv < (which == EPS_ALL ? 1 : nev)) PetscCall(Complain(row, A[0], "converged eigenvalues:", nconv));
  for (PetscInt i = 0; i < (which == EPS_ALL ? nconv : PetscMin(nev, nconv)); i++) {
    PetscScalar kr, ki;

    PetscCall(EPSGetEigenvalue(eps, i, &kr, &ki));
    PetscCall(AppendReal(result, SlepcAbsEigenvalue(kr, ki)));
  }
  PetscCall(PetscSortReal(result->n, result->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SingularValues(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  SVD      svd = (SVD)*solver;
  PetscInt nsv, nconv;

  PetscFunctionBegin;
  if (!svd) {
    PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
    PetscCall(SVDSetOptionsPrefix(svd, row->name));
    PetscCall(SVDAppendOptionsPrefix(svd, "_"));
    PetscCall(SVDSetOperators(svd, A[0], NULL));
    PetscCall(SVDSetDimensions(svd, 4, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SVDSetTolerances(svd, 1e-9, 2000));
    PetscCall(SVDSetFromOptions(svd));
    *solver = (PetscObject)svd;
  }
  PetscCall(SVDSetOperators(svd, A[0], NULL));
  PetscCall(SVDSolve(svd));
  PetscCall(SVDGetDimensions(svd, &nsv, NULL, NULL));
  PetscCall(SVDGetConverged(svd, &nconv));
  if (nconv < nsv) PetscCall(Complain(row, A[0], "converged singular values:", nconv));
  for (PetscInt i = 0; i < PetscMin(nsv, nconv); i++) {
    PetscReal sigma;

    PetscCall(SVDGetSingularTriplet(svd, i, &sigma, NULL, NULL));
    PetscCall(AppendReal(result, sigma));
  }
  PetscCall(PetscSortReal(result->n, result->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver of a type that does not free its data at the next set-up can be used for one solve only */
static PetscErrorCode DestroyIf(const char leaks[], PetscObject *solver)
{
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  if (*solver) PetscCall(PetscObjectTypeCompare(*solver, leaks, &is));
  if (is) PetscCall(PetscObjectDestroy(solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Polynomial(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  PEP      pep;
  PetscInt nev, nconv;

  PetscFunctionBegin;
  PetscCall(DestroyIf(PEPJD, solver));
  pep = (PEP)*solver;
  if (!pep) {
    PetscCall(PEPCreate(PETSC_COMM_WORLD, &pep));
    PetscCall(PEPSetOptionsPrefix(pep, row->name));
    PetscCall(PEPAppendOptionsPrefix(pep, "_"));
    PetscCall(PEPSetOperators(pep, 3, A));
    PetscCall(PEPSetProblemType(pep, PEP_HERMITIAN));
    PetscCall(PEPSetDimensions(pep, 4, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(PEPSetTolerances(pep, 1e-9, 500));
    PetscCall(PEPSetFromOptions(pep));
    *solver = (PetscObject)pep;
  }
  PetscCall(PEPSetOperators(pep, 3, A));
  PetscCall(PEPSolve(pep));
  PetscCall(PEPGetDimensions(pep, &nev, NULL, NULL));
  PetscCall(PEPGetConverged(pep, &nconv));
  if (nconv < nev) PetscCall(Complain(row, A[0], "converged eigenvalues:", nconv));
  for (PetscInt i = 0; i < PetscMin(nev, nconv); i++) {
    PetscScalar kr, ki;

    PetscCall(PEPGetEigenpair(pep, i, &kr, &ki, NULL, NULL));
    PetscCall(AppendReal(result, SlepcAbsEigenvalue(kr, ki)));
  }
  PetscCall(PetscSortReal(result->n, result->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The problem K - l M + exp(-l / 20) C. Its eigenvalues are close to those of K and M */
static PetscErrorCode Nonlinear(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  NEP      nep;
  FN       f[3];
  Vec      start;
  PetscInt nev, nconv;

  PetscFunctionBegin;
  PetscCall(DestroyIf(NEPNLEIGS, solver));
  nep = (NEP)*solver;
  for (PetscInt i = 0; i < 3; i++) {
    PetscScalar one = 1, minus[] = {-1, 0};

    PetscCall(FNCreate(PETSC_COMM_WORLD, &f[i]));
    PetscCall(FNSetType(f[i], i == 1 ? FNEXP : FNRATIONAL));
    if (i == 0) PetscCall(FNRationalSetNumerator(f[i], 1, &one));
    if (i == 1) PetscCall(FNSetScale(f[i], -0.05, 1));
    if (i == 2) PetscCall(FNRationalSetNumerator(f[i], 2, minus));
  }
  if (!nep) {
    PetscCall(NEPCreate(PETSC_COMM_WORLD, &nep));
    PetscCall(NEPSetOptionsPrefix(nep, row->name));
    PetscCall(NEPAppendOptionsPrefix(nep, "_"));
    PetscCall(NEPSetSplitOperator(nep, 3, A, f, SAME_NONZERO_PATTERN));
    PetscCall(NEPSetDimensions(nep, 1, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(NEPSetTolerances(nep, 1e-9, 500));
    PetscCall(NEPSetTarget(nep, 0));
    PetscCall(NEPSetFromOptions(nep));
    *solver = (PetscObject)nep;
  }
  PetscCall(NEPSetSplitOperator(nep, 3, A, f, SAME_NONZERO_PATTERN));
  /* Otherwise each type of vectors starts with random numbers of its own, and may converge to another eigenvalue */
  PetscCall(MatCreateVecs(A[0], &start, NULL));
  PetscCall(FillVec(start));
  PetscCall(NEPSetInitialSpace(nep, 1, &start));
  PetscCall(VecDestroy(&start));
  PetscCall(NEPSolve(nep));
  PetscCall(NEPGetDimensions(nep, &nev, NULL, NULL));
  PetscCall(NEPGetConverged(nep, &nconv));
  if (nconv < nev) PetscCall(Complain(row, A[0], "converged eigenvalues:", nconv));
  for (PetscInt i = 0; i < PetscMin(nev, nconv); i++) {
    PetscScalar kr, ki;

    PetscCall(NEPGetEigenpair(nep, i, &kr, &ki, NULL, NULL));
    PetscCall(AppendReal(result, SlepcAbsEigenvalue(kr, ki)));
  }
  for (PetscInt i = 0; i < 3; i++) PetscCall(FNDestroy(&f[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* exp(-A / 4) b */
static PetscErrorCode Function(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  MFN                mfn = (MFN)*solver;
  FN                 f;
  Vec                x, b;
  MFNConvergedReason reason;

  PetscFunctionBegin;
  if (!mfn) {
    PetscCall(MFNCreate(PETSC_COMM_WORLD, &mfn));
    PetscCall(MFNSetOptionsPrefix(mfn, row->name));
    PetscCall(MFNAppendOptionsPrefix(mfn, "_"));
    PetscCall(MFNSetOperator(mfn, A[0]));
    PetscCall(MFNGetFN(mfn, &f));
    PetscCall(FNSetType(f, FNEXP));
    PetscCall(FNSetScale(f, -0.25, 1));
    PetscCall(MFNSetTolerances(mfn, 1e-11, 500));
    PetscCall(MFNSetFromOptions(mfn));
    *solver = (PetscObject)mfn;
  }
  PetscCall(MFNSetOperator(mfn, A[0]));
  PetscCall(MatCreateVecs(A[0], &x, &b));
  PetscCall(FillVec(b));
  PetscCall(MFNSolve(mfn, b, x));
  PetscCall(MFNGetConvergedReason(mfn, &reason));
  if (reason <= 0) PetscCall(Complain(row, A[0], "does not converge, reason", reason));
  PetscCall(AppendVec(result, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A X + X A^T = -C, with a C of rank 2 */
static PetscErrorCode Lyapunov(const Row *row, Mat A[], PetscObject *solver, Result *result)
{
  LME                lme = (LME)*solver;
  Mat                B, C, X;
  LMEConvergedReason reason;

  PetscFunctionBegin;
  if (!lme) {
    PetscCall(LMECreate(PETSC_COMM_WORLD, &lme));
    PetscCall(LMESetProblemType(lme, LME_LYAPUNOV));
    PetscCall(LMESetOptionsPrefix(lme, row->name));
    PetscCall(LMEAppendOptionsPrefix(lme, "_"));
    PetscCall(LMESetTolerances(lme, 1e-6, 500));
    PetscCall(LMESetFromOptions(lme));
    *solver = (PetscObject)lme;
  }
  PetscCall(CreateBlock(A[0], A[0], 2, &B));
  PetscCall(MatCreateLRC(NULL, B, NULL, NULL, &C));
  PetscCall(LMESetCoefficients(lme, A[0], NULL, NULL, NULL));
  PetscCall(LMESetRHS(lme, C));
  PetscCall(LMESolve(lme));
  PetscCall(LMEGetConvergedReason(lme, &reason));
  if (reason <= 0) PetscCall(Complain(row, A[0], "does not converge, reason", reason));
  PetscCall(LMEGetSolution(lme, &X));
  PetscCall(AppendMult(result, X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------------ the tables */

#define SPLIT "-pc_type fieldsplit -pc_fieldsplit_block_size 3 -pc_fieldsplit_0_fields 0 -pc_fieldsplit_1_fields 1,2 -fieldsplit_0_ksp_type preonly -fieldsplit_0_pc_type jacobi " \
              "-fieldsplit_1_ksp_type preonly -fieldsplit_1_pc_type sor "
#define SCHUR "-ksp_type fgmres -pc_fieldsplit_type schur -pc_fieldsplit_schur_fact_type full "
#define LU "-st_ksp_type preonly -st_pc_type redundant " /* LU of the whole matrix on each process */

/*
   PCCP takes matrices of the exact type seqaij only. PCEISENSTAT, ILU, LU and related ones take sequential matrices of
   any type.
*/
static const Row linear[] = {
  {"none", "-ksp_type gmres -pc_type none", {SKEWED}, Linear, 1e-8, ANY},
  {"jacobi", "-ksp_type cg -pc_type jacobi", {STIFF}, Linear, 1e-8, ANY},
  {"jacobi_rowl1", "-ksp_type cg -pc_type jacobi -pc_jacobi_type rowl1", {STIFF}, Linear, 1e-8, ANY},
  {"bjacobi", "-ksp_type gmres -pc_type bjacobi -sub_pc_type ilu", {SKEWED}, Linear, 1e-8, ANY},
  {"bjacobi_blocks", "-ksp_type gmres -pc_type bjacobi -pc_bjacobi_blocks 6 -sub_pc_type lu", {SKEWED}, Linear, 1e-8, ANY},
  {"sor", "-ksp_type gmres -pc_type sor", {SKEWED}, Linear, 1e-8, ANY},
  {"eisenstat", "-ksp_type gmres -pc_type eisenstat", {STIFF}, Linear, 1e-8, SEQ},
  {"kaczmarz", "-ksp_type gmres -pc_type kaczmarz", {SKEWED}, Linear, 1e-8, ANY},
  {"ilu", "-ksp_type gmres -pc_type ilu", {SKEWED}, Linear, 1e-8, SEQ},
  {"ilu_levels", "-ksp_type gmres -pc_type ilu -pc_factor_levels 1", {SKEWED}, Linear, 1e-8, SEQ},
  {"icc", "-ksp_type cg -pc_type icc", {STIFF}, Linear, 1e-8, SEQ | REAL},
  {"lu", "-ksp_type preonly -pc_type lu", {SKEWED}, Linear, 1e-8, SEQ},
  {"cholesky", "-ksp_type preonly -pc_type cholesky", {STIFF}, Linear, 1e-8, SEQ},
  {"lu_vectors_on_host", "-ksp_type preonly -pc_type lu", {SKEWED}, LinearOnHost, 1e-8, SEQ},
  {"icc_vectors_on_host", "-ksp_type cg -pc_type icc", {STIFF}, LinearOnHost, 1e-8, SEQ | REAL},
  {"svd", "-ksp_type preonly -pc_type svd", {SKEWED}, Linear, 1e-8, SEQ},
  {"redundant", "-ksp_type preonly -pc_type redundant", {SKEWED}, Linear, 1e-8, ANY},
  {"telescope", "-ksp_type gmres -pc_type telescope -pc_telescope_reduction_factor 2 -telescope_ksp_type preonly -telescope_pc_type bjacobi", {SKEWED}, Linear, 1e-8, PAR},
  {"asm", "-ksp_type gmres -pc_type asm -pc_asm_overlap 2 -sub_pc_type ilu", {SKEWED}, Linear, 1e-8, ANY},
  {"asm_blocks", "-ksp_type gmres -pc_type asm -pc_asm_blocks 6 -sub_pc_type lu", {SKEWED}, Linear, 1e-8, ANY},
  {"gasm", "-ksp_type gmres -pc_type gasm -sub_pc_type ilu", {SKEWED}, Linear, 1e-8, ANY},
  {"gamg", "-ksp_type cg -pc_type gamg -pc_gamg_coarse_eq_limit 10 -mg_levels_pc_type jacobi", {STIFF}, Linear, 1e-8, ANY | REAL},
  {"gamg_sor", "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 10 -pc_gamg_agg_nsmooths 0 -mg_levels_ksp_type richardson -mg_levels_pc_type sor", {SKEWED}, Linear, 1e-8, ANY},
  {"gamg_reuse", "-ksp_type cg -pc_type gamg -pc_gamg_coarse_eq_limit 10 -pc_gamg_reuse_interpolation 1", {STIFF}, Linear, 1e-8, ANY | REAL},
  {"mg", "-ksp_type cg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi", {STIFF}, Multigrid, 1e-8, ANY},
  {"pbjacobi", "-ksp_type gmres -pc_type pbjacobi", {SKEWED}, Linear, 1e-8, ANY},
  {"vpbjacobi", "-ksp_type gmres -pc_type vpbjacobi", {SKEWED}, Linear, 1e-8, ANY},
  {"pbjacobi_vectors_on_host", "-ksp_type gmres -pc_type pbjacobi", {SKEWED}, LinearOnHost, 1e-8, ANY},
  {"vpbjacobi_vectors_on_host", "-ksp_type gmres -pc_type vpbjacobi", {SKEWED}, LinearOnHost, 1e-8, ANY},
  {"bicg_pbjacobi_vectors_on_host", "-ksp_type bicg -pc_type pbjacobi", {SKEWED}, LinearOnHost, 1e-8, ANY}, /* transposes */
  {"fieldsplit_additive", SPLIT "-ksp_type gmres -pc_fieldsplit_type additive", {SKEWED}, Linear, 1e-8, ANY},
  {"fieldsplit_multiplicative", SPLIT "-ksp_type gmres -pc_fieldsplit_type symmetric_multiplicative", {SKEWED}, Linear, 1e-8, ANY},
  {"fieldsplit_schur", SPLIT SCHUR "-pc_fieldsplit_schur_precondition a11", {SKEWED}, Linear, 1e-8, ANY},
  {"fieldsplit_selfp", SPLIT SCHUR "-pc_fieldsplit_schur_precondition selfp", {SKEWED}, Linear, 1e-8, ANY},
  {"ksp", "-ksp_type fgmres -pc_type ksp -ksp_ksp_type gmres -ksp_ksp_max_it 5 -ksp_pc_type jacobi", {SKEWED}, Linear, 1e-8, ANY},
  {"composite", "-ksp_type gmres -pc_type composite -pc_composite_type multiplicative -pc_composite_pcs jacobi,sor", {SKEWED}, Linear, 1e-8, ANY},
  /* PETSc has no product of a MATMPIAIJ and a MATMPIAIJCUSPARSE */
  {"deflation", "-ksp_type cg -pc_type deflation -pc_deflation_compute_space aggregation -pc_deflation_compute_space_size 1", {STIFF}, Anew, 1e-8, SEQ_ON_DEVICE},
  {"tsirm", "-ksp_type tsirm -ksp_max_it 30 -pc_type ksp -ksp_ksp_type gmres -ksp_ksp_max_it 10 -ksp_ksp_rtol 1e-12 -ksp_pc_type jacobi", {SKEWED}, Linear, 1e-8, ANY | REAL},
  {"bicg", "-ksp_type bicg -pc_type jacobi", {SKEWED}, Linear, 1e-8, ANY},
  {"bicg_bjacobi", "-ksp_type bicg -pc_type bjacobi -sub_pc_type lu", {SKEWED}, Linear, 1e-8, ANY}, /* factors are computed anew, and solve with transposes */
  {"bicg_bjacobi_blocks", "-ksp_type bicg -pc_type bjacobi -pc_bjacobi_blocks 6 -sub_pc_type ilu", {SKEWED}, Linear, 1e-8, ANY},
  {"bicg_asm", "-ksp_type bicg -pc_type asm -sub_pc_type lu", {SKEWED}, Linear, 1e-8, ANY},
  {"lsqr", "-ksp_type lsqr -pc_type none", {SKEWED}, Linear, 1e-8, ANY},
  {"cgne", "-ksp_type cgne -pc_type none", {SKEWED}, Linear, 1e-8, ANY | REAL},
  {"chebyshev", "-ksp_type chebyshev -pc_type jacobi", {STIFF}, Linear, 1e-8, ANY},
  {"bcgsl", "-ksp_type bcgsl -pc_type bjacobi", {SKEWED}, Linear, 1e-8, ANY},
  {"ibcgs", "-ksp_type ibcgs -pc_type jacobi", {SKEWED}, Linear, 1e-8, ANY | REAL},
  {"ibcgs_plain", "-ksp_type ibcgs -pc_type jacobi", {SKEWED}, LinearOfPlain, 1e-8, ANY | REAL},
  {"ibcgs_factors", "-ksp_type ibcgs -pc_type bjacobi -sub_pc_type ilu", {SKEWED}, Linear, 1e-8, ANY | REAL},
  {"fbcgsr", "-ksp_type fbcgsr -pc_type jacobi", {SKEWED}, Linear, 1e-8, ANY | REAL},
  {"pipecg", "-ksp_type pipecg -pc_type jacobi", {STIFF}, Linear, 1e-8, ANY},
  {"block_lu", "-ksp_type preonly -pc_type lu", {SKEWED}, Block, 1e-8, SEQ},
  /* PETSc does not renew cuSPARSE factors for a transposed solve: src/LIMITS.md */
  {"block_lu_transposed", "-ksp_type preonly -pc_type lu", {SKEWED}, BlockTransposed, 1e-8, SEQ_HOST},
  {"block_cholesky", "-ksp_type preonly -pc_type cholesky", {STIFF}, BlockTransposed, 1e-8, SEQ},
  {"block_richardson", "-ksp_type richardson -ksp_max_it 2000 -pc_type jacobi", {SKEWED}, BlockTransposed, 1e-8, ANY},
  {"block_gmres", "-ksp_type gmres -pc_type jacobi", {SKEWED}, BlockTransposed, 1e-8, ANY},
  {"block_batch", "-ksp_type gmres -pc_type bjacobi -ksp_matsolve_batch_size 4", {SKEWED}, BlockTransposed, 1e-8, ANY},
  {"apply_jacobi", "-pc_type jacobi", {SKEWED}, ApplyPC, 1e-11, ANY},
  {"apply_bjacobi", "-pc_type bjacobi", {SKEWED}, ApplyPC, 1e-11, ANY},
  {"apply_asm", "-pc_type asm", {SKEWED}, ApplyPC, 1e-11, ANY},
  {"apply_ilu", "-pc_type ilu", {SKEWED}, ApplyPC, 1e-11, SEQ},
  {"apply_lu", "-pc_type lu", {SKEWED}, ApplyPC, 1e-11, SEQ},
  {"apply_ksp", "-pc_type ksp -ksp_ksp_type richardson -ksp_ksp_max_it 3 -ksp_pc_type jacobi", {SKEWED}, ApplyPC, 1e-11, ANY},
  {"apply_fieldsplit", SPLIT "-pc_fieldsplit_type multiplicative", {SKEWED}, ApplyPC, 1e-11, ANY},
  {"apply_gamg", "-pc_type gamg -pc_gamg_coarse_eq_limit 10 -mg_levels_ksp_type richardson -mg_levels_pc_type jacobi -mg_levels_ksp_richardson_scale 0.5", {STIFF}, ApplyPC, 1e-10, COARSE_LEVELS},
  {"apply_mg", "-mg_levels_ksp_type richardson -mg_levels_pc_type jacobi -mg_levels_ksp_richardson_scale 0.5", {STIFF}, ApplyMultigrid, 1e-10, ANY},
  {"apply_mg_chebyshev", "-mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi", {STIFF}, ApplyMultigrid, 1e-10, ANY},
  {"nest", "-ksp_type gmres -pc_type none", {STIFF, DAMPING, DAMPING, STIFF}, Nest, 1e-8, ANY},
  {"nest_ibcgs", "-ksp_type ibcgs -pc_type none", {SKEWED, DAMPING, DAMPING, SKEWED}, Nest, 1e-8, ANY | REAL},
  {"nest_fieldsplit", "-ksp_type gmres -pc_type fieldsplit", {STIFF, DAMPING, DAMPING, STIFF}, Nest, 1e-8, ANY},
  {"nest_schur", SCHUR "-pc_type fieldsplit -pc_fieldsplit_schur_precondition a11", {STIFF, DAMPING, DAMPING, STIFF}, Nest, 1e-8, ANY},
  {"schur", "-ksp_type cg -pc_type jacobi", {STIFF, DAMPING, DAMPING, STIFF}, SchurComplement, 1e-8, ANY},
  {"submatrix", "", {SKEWED}, SubMatrix, 1e-13, ANY},
  {"submatrix_tall", "", {STIFF}, SubMatrix, 1e-13, ANY},
  {"submatrices", "", {SKEWED}, SubMatrices, 1e-13, ANY},
  {"grid", "-ksp_type gmres -pc_type bjacobi", {GRID}, Linear, 1e-8, ANY},
  {"grid_mg", "-ksp_type gmres -pc_type mg -pc_mg_levels 2 -pc_mg_galerkin both", {GRID}, GridMultigrid, 1e-8, ANY},
  {"grid_galerkin", "", {GRID}, Galerkin, 1e-12, ANY},
};

#define BLOCKEPS "-eps_type lobpcg -eps_smallest_real -eps_lobpcg_blocksize 4 -st_pc_type jacobi "
#define INSIDE "-eps_interval 4,4.8 -st_type filter -st_filter_degree 80 -st_filter_range 0,15 "

static const Row eigen[] = {
  {"krylovschur", "-eps_type krylovschur", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"krylovschur_nonsymmetric", "-eps_type krylovschur", {SKEWED}, Eigenvalues, 1e-8, ANY},
  /* with the default, 19 vectors, it takes a thousand iterations, and how many depends on rounding */
  {"arnoldi", "-eps_type arnoldi -eps_ncv 40", {SKEWED}, Eigenvalues, 1e-8, ANY},
  {"lanczos", "-eps_type lanczos -eps_lanczos_reorthog full", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"power", LU "-eps_type power -eps_nev 1 -st_type sinvert -eps_target 0", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"subspace", "-eps_type subspace -eps_tol 1e-6", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"lyapii", LU "-eps_type lyapii -eps_nev 1 -eps_tol 1e-6", {STABLE}, Eigenvalues, 1e-5, ANY},
  {"rqcg", "-eps_type rqcg -eps_smallest_real -eps_nev 1 -eps_tol 1e-6", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"gd", "-eps_type gd -eps_smallest_real", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"jd", "-eps_type jd -eps_smallest_real -st_ksp_type gmres -st_pc_type jacobi", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"gd_block", "-eps_type gd -eps_smallest_real -eps_gd_blocksize 3", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"lapack", "-eps_type lapack", {SKEWED}, Eigenvalues, 1e-8, SEQ},
  {"ciss", LU "-eps_type ciss -rg_type ellipse -rg_ellipse_center 2.9 -rg_ellipse_radius 1.05 -rg_ellipse_vscale 0.1", {STIFF}, Eigenvalues, 1e-8, ANY | REAL},
  /* several iterations: between them a block of random numbers is on the host */
  {"ciss_again", LU "-eps_type ciss -rg_type ellipse -rg_ellipse_center 2.9 -rg_ellipse_radius 1.05 -rg_ellipse_vscale 0.1 -eps_ciss_integration_points 12 -eps_ciss_blocksize 8 -eps_ciss_moments 2", {STIFF}, Eigenvalues, 1e-8, ANY | REAL},
  {"shift", "-st_type shift -st_shift 1", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"sinvert", LU "-st_type sinvert -eps_target 4.1", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"sinvert_lu", "-st_type sinvert -eps_target 4.1 -st_ksp_type preonly -st_pc_type lu", {STIFF}, Eigenvalues, 1e-8, SEQ},
  {"sinvert_general", LU "-st_type sinvert -eps_target 1", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  /* SLEPc's shell mixes vectors of both */
  {"sinvert_shell", "-st_type sinvert -eps_target 0 -eps_nev 1 -st_matmode shell -st_ksp_type gmres -st_ksp_rtol 1e-12 -st_pc_type jacobi", {SKEWED, MASS}, Eigenvalues, 1e-8, HOST},
  {"sinvert_inplace", LU "-st_type sinvert -eps_target 1 -st_matmode inplace", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"cayley", LU "-st_type cayley -eps_target 1", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"shift_general", LU "-st_type shift", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"filtlan", INSIDE "-st_filter_type filtlan", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"chebyshevfilter", INSIDE "-st_filter_type chebyshev", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"lobpcg", BLOCKEPS, {STIFF}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_general", BLOCKEPS, {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_precond", BLOCKEPS "-st_type precond -st_ksp_type richardson -st_ksp_max_it 2", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_gamg", "-eps_type lobpcg -eps_smallest_real -st_pc_type gamg -st_pc_gamg_coarse_eq_limit 10 -st_mg_levels_ksp_type richardson -st_mg_levels_pc_type jacobi", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_gs", BLOCKEPS "-bv_orthog_block gs", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_chol", BLOCKEPS "-bv_orthog_block chol", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_tsqr", BLOCKEPS "-bv_orthog_block tsqr", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_tsqrchol", BLOCKEPS "-bv_orthog_block tsqrchol", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_svqb", BLOCKEPS "-bv_orthog_block svqb", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_svec", BLOCKEPS "-bv_type svec", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"lobpcg_mat", BLOCKEPS "-bv_type mat", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  /* BVGetMat() takes an array of the host for one of the device */
  {"lobpcg_vecs", BLOCKEPS "-bv_type vecs", {STIFF, MASS}, Eigenvalues, 1e-8, HOST},
  {"lobpcg_contiguous", BLOCKEPS "-bv_type contiguous", {STIFF, MASS}, Eigenvalues, 1e-8, HOST}, /* an error of SLEPc's on a device */
  {"lobpcg_matmult_vecs", BLOCKEPS "-bv_matmult vecs", {STIFF, MASS}, Eigenvalues, 1e-8, ANY},
  {"krylovschur_svec", "-bv_type svec", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"krylovschur_mat", "-bv_type mat", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"krylovschur_vecs", "-bv_type vecs", {STIFF}, Eigenvalues, 1e-8, ANY},
  {"krylovschur_contiguous", "-bv_type contiguous", {STIFF}, Eigenvalues, 1e-8, HOST},
  {"subspace_mat", "-eps_type subspace -bv_type mat -eps_tol 1e-9", {SKEWED}, Eigenvalues, 1e-8, ANY},
  {"svd_cross", "-svd_type cross", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_cross_explicit", "-svd_type cross -svd_cross_explicitmatrix", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_cyclic", "-svd_type cyclic", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_cyclic_explicit", "-svd_type cyclic -svd_cyclic_explicitmatrix", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_lanczos", "-svd_type lanczos", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_trlanczos", "-svd_type trlanczos", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_trlanczos_implicit", "-svd_type trlanczos -svd_implicittranspose", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_randomized", "-svd_type randomized", {TALL}, SingularValues, 1e-8, ANY},
  {"svd_lapack", "-svd_type lapack", {TALL}, SingularValues, 1e-8, SEQ},
  {"toar", LU "-pep_type toar -st_type sinvert -pep_target 0", {STIFF, DAMPING, MASS}, Polynomial, 1e-7, ANY},
  {"toar_shift", LU "-pep_type toar", {STIFF, DAMPING, MASS}, Polynomial, 1e-7, ANY},
  {"stoar", LU "-pep_type stoar -st_type sinvert -pep_target 0", {STIFF, DAMPING, MASS}, Polynomial, 1e-7, ANY},
  {"qarnoldi", LU "-pep_type qarnoldi -st_type sinvert -pep_target 0", {STIFF, DAMPING, MASS}, Polynomial, 1e-7, ANY},
  {"linear", "-pep_type linear -pep_linear_explicitmatrix -pep_linear_st_type sinvert -pep_target 0.01 -pep_linear_st_ksp_type preonly -pep_linear_st_pc_type redundant", {STIFF, DAMPING, MASS}, Polynomial, 1e-7, ANY},
  {"pep_jd", LU "-pep_type jd -pep_target 0 -pep_nev 1", {STIFF, DAMPING, MASS}, Polynomial, 1e-7, ANY},
  {"rii", "-nep_type rii -nep_rii_ksp_type preonly -nep_rii_pc_type redundant", {STIFF, DAMPING, MASS}, Nonlinear, 1e-7, ANY},
  {"slp", "-nep_type slp -nep_slp_st_ksp_type preonly -nep_slp_st_pc_type redundant", {STIFF, DAMPING, MASS}, Nonlinear, 1e-7, ANY},
  {"narnoldi", "-nep_type narnoldi -nep_target 2 -nep_narnoldi_ksp_type preonly -nep_narnoldi_pc_type redundant", {STIFF, DAMPING, MASS}, Nonlinear, 1e-7, ANY},
  /* With complex scalars an interval of SLEPc's has a width, too */
  {"nleigs", "-nep_type nleigs -nep_target 2 -rg_type interval -rg_interval_endpoints 1,5,0,0 -nep_nleigs_ksp_type preonly -nep_nleigs_pc_type redundant", {STIFF, DAMPING, MASS}, Nonlinear, 1e-7, ANY | REAL},
  {"interpol", "-nep_type interpol -nep_target 2 -rg_type interval -rg_interval_endpoints 1,5,0,0 -nep_interpol_st_ksp_type preonly -nep_interpol_st_pc_type redundant", {STIFF, DAMPING, MASS}, Nonlinear, 1e-7, ANY | REAL},
  {"mfn_krylov", "-mfn_type krylov", {STIFF}, Function, 1e-8, ANY},
  {"mfn_expokit", "-mfn_type expokit", {SKEWED}, Function, 1e-8, ANY},
  {"lyapunov", "-lme_type krylov", {STABLE}, Lyapunov, 1e-5, ANY | REAL},
};

/* ------------------------------------------------------------ */

/* Multiply each with a dense matrix of the type that goes with it */
static PetscErrorCode SameProduct(Mat A, Mat R, const char what[])
{
  Mat B, S;

  PetscFunctionBegin;
  PetscCall(CreateBlock(R, R, 5, &S));
  PetscCall(CreateBlock(A, A, 5, &B));
  PetscCall(SameProductsWith(A, B, R, S, what));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Row *row, PetscInt round, const Result *computed, const Result *right)
{
  const PetscBool eachvalue = (PetscBool)(row->solve == Eigenvalues || row->solve == SingularValues || row->solve == Polynomial || row->solve == Nonlinear);
  PetscReal       worst = 0, norm = 0;

  PetscFunctionBegin;
  if (computed->n != right->n) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, solve %" PetscInt_FMT ": %" PetscInt_FMT " values, not %" PetscInt_FMT "\n", row->name, round, computed->n, right->n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt i = 0; i < right->n; i++) {
    const PetscReal difference = PetscAbsReal(computed->v[i] - right->v[i]);

    if (PetscIsInfOrNanReal(computed->v[i])) worst = PETSC_INFINITY;
    if (eachvalue) worst = PetscMax(worst, difference / PetscAbsReal(right->v[i]));
    else {
      worst += difference * difference;
      norm += right->v[i] * right->v[i];
    }
  }
  if (!eachvalue) worst = PetscSqrtReal(worst / norm);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &worst, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD)); /* on one process only */
  if (!(worst <= row->tolerance)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, solve %" PetscInt_FMT ": differs by %g\n", row->name, round, (double)worst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether matrices are on a device here */
static PetscErrorCode OnDevice(PetscBool *on)
{
  Mat     A;
  VecType type;

  PetscFunctionBegin;
  PetscCall(CreateShape(tested, STIFF, &A));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmpAny(type, on, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Runs(const Row *row, PetscBool device)
{
  const PetscInt here = size == 1 ? (device ? SEQ_DEVICE : SEQ_HOST) : (device ? PAR_DEVICE : PAR_HOST);

  return (PetscBool)((row->where & here) != 0 && !(PetscDefined(USE_COMPLEX) && (row->where & REAL)));
}

static PetscErrorCode TestRow(const Row *row)
{
  const char *const types[] = {tested, MATAIJ};
  Mat               A[2][MAXMATS] = {{NULL}};
  PetscObject       solver[2]     = {NULL, NULL};
  Result            result[2];
  char              options[2048], what[128];
  PetscInt          n = 0;
  char              type[MAXMATS][64];
  PetscBool         is;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), "-prefix_push %s_ %s -prefix_pop", row->name, row->options));
  PetscCall(PetscOptionsInsertString(NULL, options));
  for (PetscInt t = 0; t < 2; t++) {
    for (n = 0; n < MAXMATS && row->shapes[n] != NONE; n++) PetscCall(CreateShape(types[t], row->shapes[n], &A[t][n]));
  }
  for (PetscInt i = 0; i < n; i++) {
    MatType now;

    PetscCall(MatGetType(A[0][i], &now));
    PetscCall(PetscStrncpy(type[i], now, sizeof(type[i])));
  }
  for (PetscInt round = 0; round < 3; round++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, solve %" PetscInt_FMT, row->name, round));
    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt t = 0; t < 2; t++) {
        if (round == 1) PetscCall(MatScale(A[t][i], 1.25));
        if (round == 2) PetscCall(FillAny(A[t][i], row->shapes[i], 1));
      }
      PetscCall(SameProduct(A[0][i], A[1][i], what));
    }
    for (PetscInt t = 0; t < 2; t++) {
      result[t].n = 0;
      PetscCall(row->solve(row, A[t], &solver[t], &result[t]));
    }
    PetscCall(Compare(row, round, &result[0], &result[1]));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, after solve %" PetscInt_FMT, row->name, round));
    for (PetscInt i = 0; i < n; i++) PetscCall(SameProduct(A[0][i], A[1][i], what));
  }
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscObjectTypeCompare((PetscObject)A[0][i], type[i], &is));
    if (!is) PetscCall(Complain(row, A[0][i], "is the type now of matrix", i));
  }
  for (PetscInt t = 0; t < 2; t++) {
    PetscCall(PetscObjectDestroy(&solver[t]));
    for (PetscInt i = 0; i < n; i++) PetscCall(MatDestroy(&A[t][i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An option in a table that no solver asks for means that the row tests something else */
static PetscErrorCode TestUnused(void)
{
  PetscInt n;
  char   **names, **values;

  PetscFunctionBegin;
  PetscCall(PetscOptionsLeftGet(NULL, &n, &names, &values));
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "nothing asks for -%s\n", names[i]));
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    const Row  *rows;
    PetscInt    n;
  } tables[] = {
    {"linear", linear, PETSC_STATIC_ARRAY_LENGTH(linear)},
    {"eigen",  eigen,  PETSC_STATIC_ARRAY_LENGTH(eigen) }
  };
  char      table[32] = "", only[64] = "";
  PetscBool same, device;

  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Solvers test", NULL);
  PetscCall(PetscOptionsString("-table", "This table of solvers: linear or eigen", NULL, table, table, sizeof(table), NULL));
  PetscCall(PetscOptionsString("-only", "This solver only", NULL, only, only, sizeof(only), NULL));
  PetscCall(PetscOptionsString("-type", "Type to compare with aij; aijcusparse tells what is PETSc's own", NULL, tested, tested, sizeof(tested), NULL));
  PetscCall(PetscOptionsString("-dense_type", "Type of the dense matrices", NULL, dense[0], dense[0], sizeof(dense[0]), NULL));
  PetscOptionsEnd();
  PetscCall(OnDevice(&device));
  for (PetscInt t = 0; t < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(tables); t++) {
    PetscCall(PetscStrcmp(table, tables[t].name, &same));
    if (*table && !same) continue;
    for (PetscInt i = 0; i < tables[t].n; i++) {
      const Row *row = &tables[t].rows[i];

      PetscCall(PetscStrcmp(only, row->name, &same));
      if ((*only && !same) || !Runs(row, device)) continue;
      PetscCall(TestRow(row));
    }
  }
  PetscCall(TestUnused());
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset: # a GPU that many processes share does little for each
    output_file: output/empty.out
    timeoutfactor: 5
    args: -use_gpu_aware_mpi 0

    test:
      suffix: sequential
      args: -table {{linear eigen}separate output} -mat_aijtcu_path {{tcu csr}separate output}

    test:
      suffix: parallel
      nsize: 2
      args: -table {{linear eigen}separate output} -mat_aijtcu_path tcu

    test:
      suffix: three
      nsize: 3
      args: -table linear -mat_aijtcu_path tcu

    test:
      suffix: cuda
      requires: cuda
      nsize: {{1 2}separate output}
      args: -table {{linear eigen}separate output} -mat_aijtcu_path tcu -dense_type densecuda

    test:
      suffix: cuda_scalar
      requires: cuda
      nsize: {{1 2}separate output}
      args: -table linear -mat_aijtcu_path csr -dense_type densecuda

TEST*/
