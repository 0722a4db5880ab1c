static char help[] = "PCMatApply() of PCMG and PCGAMG with a MATAIJTCU against PCApply() column by column. Prints on error only.\n\n";

#include <petscdmda.h>
#include <petscksp.h>
#include <petscaijtcu.h>
#include "kind.h"
#include "multigrid.h"
#include "phase.h"

enum {
  NX = 17, /* points */
  NY = 13
};

/* Two ways to the same preconditioner differ by roundings */
#define TOLERANCE (5e4 * PETSC_MACHINE_EPSILON)

/* A Laplacian for each unknown of a point, with complex scalars a Hermitian matrix. Versions differ in their values only */
static PetscErrorCode Fill(DM da, Mat A, PetscInt version)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      for (PetscInt c = 0; c < info.dof; c++) {
        const MatStencil row = {.j = j, .i = i, .c = c};
        MatStencil       columns[5];
        PetscScalar      values[5];
        PetscInt         n = 0;

        for (PetscInt d = 0; d < 5; d++) {
          const PetscInt di[] = {0, -1, 1, 0, 0}, dj[] = {0, 0, 0, -1, 1}, x = i + di[d], y = j + dj[d];

          if (x < 0 || x >= info.mx || y < 0 || y >= info.my) continue;
          columns[n]  = (MatStencil){.j = y, .i = x, .c = c};
          values[n++] = d ? (-1. - 0.1 * version * ((i + x + j + y) % 4)) * Phase(j * NX + i, y * NX + x) : 4.2 + 0.9 * version + 0.1 * c;
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, n, columns, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateOperator(DM da, PetscInt version, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(Fill(da, *A, version));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block for A, the same for any number of processes, with a column of zeros */
static PetscErrorCode CreateBlock(Mat A, MatType type, PetscInt N, Mat *B)
{
  PetscInt     n, r0, lda;
  PetscScalar *b;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &r0, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, n, PETSC_DECIDE, PETSC_DETERMINE, N));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatSetUp(*B));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < n; i++) b[i + j * lda] = j == 1 ? 0 : Turned(PetscSinReal((PetscReal)(1 + (r0 + i) * (j + 1))), r0 + i);
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt bound = 0; /* to the host: 1 right-hand sides, 2 solutions, 3 both */

static PetscErrorCode Compare(PC pc, Mat A, MatType type, PetscInt N, const char what[])
{
  Mat       B, X;
  Vec       x, y;
  PetscReal difference, norm, worst = 0;

  PetscFunctionBegin;
  PetscCall(CreateBlock(A, type, N, &B));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &X));
  PetscCall(MatBindToCPU(B, (PetscBool)(bound & 1)));
  PetscCall(MatBindToCPU(X, (PetscBool)(bound >> 1)));
  if (bound & 1) PetscCall(MatScale(B, 2)); /* on a device it stays what it was */
  PetscCall(MatScale(X, PETSC_MAX_REAL));   /* what is in X does not count */
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(MatCreateVecs(A, &x, &y));
  for (PetscInt j = 0; j < N; j++) {
    PetscCall(CopyColumn(B, j, x));
    PetscCall(PCApply(pc, x, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(CopyColumn(X, j, x));
    PetscCall(VecAXPY(y, -1, x));
    PetscCall(VecNorm(y, NORM_2, &difference));
    worst = PetscMax(worst, norm > 0 ? difference / norm : difference);
    if (PetscIsInfOrNanReal(difference)) worst = PETSC_MAX_REAL;
  }
  if (worst > TOLERANCE) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %" PetscInt_FMT " columns: differs by %g of itself\n", what, N, (double)worst));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareWidths(PC pc, Mat A, MatType type, const char what[])
{
  const PetscInt widths[] = {5, 2, 5, 1, 8, 2, 5};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(widths); i++) PetscCall(Compare(pc, A, type, widths[i], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of products of a sequential A with a block that a PCMatApply() makes */
static PetscErrorCode CountProducts(PC pc, Mat A, MatType type, PetscInt expected)
{
  MatAIJTCUCounts before, after;
  PetscInt64      n;
  Mat             B, X;

  PetscFunctionBegin;
  PetscCall(CreateBlock(A, type, 3, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(MatAIJTCUGetCounts(A, &before));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(MatAIJTCUGetCounts(A, &after));
  n = after.tcu + after.csr + after.cusparse - before.tcu - before.csr - before.cusparse;
  if (n != expected) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt64_FMT " products with the operator, not %" PetscInt_FMT "\n", n, expected));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewId(PetscObjectId *id)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscObjectGetId((PetscObject)container, id));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Once blocks of two widths are there, nothing is made any more: PETSc's objects have consecutive numbers */
static PetscErrorCode TestSteady(PC pc, Mat A, MatType type)
{
  const PetscInt N[] = {6, 3};
  Mat            B[2], X[2];
  PetscObjectId  before = 0, after;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(CreateBlock(A, type, N[i], &B[i]));
    PetscCall(MatDuplicate(B[i], MAT_DO_NOT_COPY_VALUES, &X[i]));
  }
  for (int i = 0; i < 6; i++) {
    if (i == 2) PetscCall(NewId(&before));
    PetscCall(PCMatApply(pc, B[i % 2], X[i % 2]));
  }
  PetscCall(NewId(&after));
  if (after != before + 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt64_FMT " objects made in steady applications\n", after - before - 1));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&B[i]));
    PetscCall(MatDestroy(&X[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interpolations with other values, which no set-up sees */
static PetscErrorCode TestInterpolation(PC pc, Mat A, MatType type)
{
  PetscInt nlevels;

  PetscFunctionBegin;
  PetscCall(PCMGGetLevels(pc, &nlevels));
  for (PetscInt l = 1; l < nlevels; l++) {
    Mat P;

    PetscCall(PCMGGetInterpolation(pc, l, &P));
    PetscCall(MatScale(P, 1.25));
  }
  PetscCall(CompareWidths(pc, A, type, "with another interpolation"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A restriction that is not the transpose of the interpolation, given after the set-up */
static PetscErrorCode TestRestriction(PC pc, Mat A, MatType type)
{
  PetscInt nlevels;

  PetscFunctionBegin;
  PetscCall(PCMGGetLevels(pc, &nlevels));
  for (PetscInt l = 1; l < nlevels; l++) {
    Mat P, R;

    PetscCall(PCMGGetInterpolation(pc, l, &P));
    PetscCall(MatTranspose(P, MAT_INITIAL_MATRIX, &R));
    PetscCall(MatScale(R, 0.5));
    PetscCall(PCMGSetRestriction(pc, l, R));
    PetscCall(MatDestroy(&R));
  }
  PetscCall(CompareWidths(pc, A, type, "with a restriction"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A level with as many rows as the next one: restriction is the transpose of the interpolation there, too */
static PetscErrorCode TestSquare(Mat A, MatType type)
{
  PetscInt n, N, r0, r1;
  Mat      P;
  KSP      ksp, smoother;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(InterpolationCreate(A, n, N, &P));
  for (PetscInt i = r0; i < r1; i++) {
    PetscCall(MatSetValue(P, i, i, 1, INSERT_VALUES));
    if (i + 1 < N) PetscCall(MatSetValue(P, i, i + 1, 0.5, INSERT_VALUES));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(SetTwoLevels(ksp, &P));
  PetscCall(SetSmoother(ksp, KSPRICHARDSON, &smoother));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(CompareWidths(pc, A, type, "a square interpolation"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other values, other operators, and other types */
static PetscErrorCode TestOperators(DM da, KSP ksp, PC pc, Mat A, MatType type)
{
  Mat       other;
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(IsOnDevice(A, &device));
  PetscCall(CompareWidths(pc, A, type, "first operator"));
  PetscCall(Fill(da, A, 1));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(CompareWidths(pc, A, type, "new values"));
  for (int b = 1; b >= 0; b--) {
    PetscCall(MatBindToCPU(A, (PetscBool)b));
    PetscCall(Fill(da, A, 2 + b));
    PetscCall(CompareWidths(pc, A, type, b ? "new values of a bound operator" : "of one that is not bound any more"));
  }
  PetscCall(CreateOperator(da, 2, &other));
  PetscCall(KSPSetOperators(ksp, other, other));
  PetscCall(CompareWidths(pc, other, type, "another operator"));
  PetscCall(MatDestroy(&other));
  if (!device) { /* PETSc's PCLU does not get back from a device, and its PCMG is not right with blocks there */
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &other));
    PetscCall(KSPSetOperators(ksp, other, other));
    PetscCall(Compare(pc, other, MATDENSE, 5, "an aij"));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Compare(pc, A, type, 5, "the first operator again"));
    PetscCall(MatDestroy(&other));
  }
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Compare(pc, A, type, 5, "after KSPReset()"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator is bound to the host before the levels are made, so are PCGAMG's prolongators */
static PetscErrorCode TestBoundFirst(KSP ksp, PC pc, Mat A, MatType type)
{
  PetscFunctionBegin;
  PetscCall(KSPReset(ksp));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(CompareWidths(pc, A, type, "levels of a bound operator"));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(CompareWidths(pc, A, type, "levels of one that is not bound any more"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Operators(KSP ksp, Mat A, Mat P, void *ctx)
{
  DM da;

  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(Fill(da, P, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      dense[32]   = MATDENSE;
  PetscBool restriction = PETSC_FALSE, interpolation = PETSC_FALSE, from_dm = PETSC_FALSE, steady = PETSC_FALSE, square = PETSC_FALSE, bound_first = PETSC_FALSE, device;
  PetscInt  dof = 1, products = 0;
  DM        da;
  KSP       ksp;
  PC        pc;
  Mat       A;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  if (PETSC_VERSION_LT(3, 26, 0)) { /* PCMatApply() is PETSc's own, which in 3.25 crashes where a process has no columns of a coarse level */
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Multigrid test", NULL);
  PetscCall(PetscOptionsString("-dense_type", "Type of the blocks", NULL, dense, dense, sizeof(dense), NULL));
  PetscCall(PetscOptionsInt("-dof", "Unknowns of a point", NULL, dof, &dof, NULL));
  PetscCall(PetscOptionsInt("-bound", "Blocks that are bound to the host: 1 right-hand sides, 2 solutions, 3 both", NULL, bound, &bound, NULL));
  PetscCall(PetscOptionsBool("-bound_first", "The operator is bound to the host before the levels are made, too", NULL, bound_first, &bound_first, NULL));
  PetscCall(PetscOptionsInt("-products", "Number of products with the operator in a PCMatApply()", NULL, products, &products, NULL));
  PetscCall(PetscOptionsBool("-interpolation", "Scale the interpolations, too", NULL, interpolation, &interpolation, NULL));
  PetscCall(PetscOptionsBool("-steady", "Look for objects that are made in each application", NULL, steady, &steady, NULL));
  PetscCall(PetscOptionsBool("-restriction", "Set a restriction, too", NULL, restriction, &restriction, NULL));
  PetscCall(PetscOptionsBool("-square", "A level with as many rows as the next one, too", NULL, square, &square, NULL));
  PetscCall(PetscOptionsBool("-from_dm", "The DM makes the operators of all levels", NULL, from_dm, &from_dm, NULL));
  PetscOptionsEnd();
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, NX, NY, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, &da));
  PetscCall(DMSetMatType(da, MATAIJTCU));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(CreateOperator(da, 0, &A));
  PetscCall(IsOnDevice(A, &device));
#if PetscDefined(HAVE_CUDA)
  if (device) { /* with -dm_mat_type alone PETSc mixes vectors of the host and of the device */
    PetscCall(DMSetVecType(da, VECCUDA));
    PetscCall(MatDestroy(&A));
    PetscCall(CreateOperator(da, 0, &A));
  }
#endif
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  if (from_dm) PetscCall(KSPSetComputeOperators(ksp, Operators, NULL));
  else {
#if PETSC_VERSION_LT(3, 25, 0)
    PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
#else
    PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
#endif
    PetscCall(KSPSetOperators(ksp, A, A));
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (from_dm) PetscCall(CompareWidths(pc, A, dense, "operators of a DM"));
  else if (steady) PetscCall(TestSteady(pc, A, dense));
  else PetscCall(TestOperators(da, ksp, pc, A, dense));
  if (bound_first) PetscCall(TestBoundFirst(ksp, pc, A, dense));
  if (interpolation) PetscCall(TestInterpolation(pc, A, dense));
  if (restriction) PetscCall(TestRestriction(pc, A, dense));
  if (square) { /* with blocks of the host, and its operator on a device, the cycle is PETSc's, which is wrong there */
    PetscBool host;

    PetscCall(PetscStrcmp(dense, MATDENSE, &host));
    if (!host || !device) PetscCall(TestSquare(A, dense));
  }
  if (products) PetscCall(CountProducts(pc, A, dense, products));
  PetscCall(PCSetType(pc, PCJACOBI));
  if (!from_dm) PetscCall(Compare(pc, A, dense, 2, "after PCSetType()"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset: # the cycle for blocks is that of PETSc 3.26
    output_file: output/empty.out
    nsize: {{1 3}}
    args: -use_gpu_aware_mpi 0

    test:
      suffix: gamg
      args: -pc_type gamg -mg_levels_ksp_type {{chebyshev richardson}} -mg_levels_ksp_max_it {{1 2}} -interpolation

    test:
      suffix: cycles
      args: -pc_type gamg -pc_gamg_coarse_eq_limit 10 -pc_mg_cycle_type {{v w}} -pc_mg_distinct_smoothup {{0 1}} -pc_mg_multiplicative_cycles {{1 2}}

    test: # the coarse solve is made a matrix
      suffix: coarse
      args: -mat_aijtcu_block_solvers always -pc_type gamg -pc_gamg_coarse_eq_limit 10 -pc_mg_cycle_type {{v w}} -mg_coarse_sub_pc_type {{lu cholesky}}

    test: # that of several processes is redundant
      suffix: redundant
      args: -mat_aijtcu_block_solvers always -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -mg_coarse_pc_type redundant -mg_coarse_redundant_pc_type {{lu cholesky}}

    test: # PETSc's way
      suffix: others
      args: -pc_type gamg -pc_mg_type {{additive full}}

    test:
      suffix: grid
      args: -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -restriction -interpolation -square

    test:
      suffix: blocks
      args: -mat_aijtcu_block_solvers always -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -dof 2 -mg_levels_ksp_type {{chebyshev richardson}} -mg_levels_pc_type pbjacobi -mg_levels_ksp_max_it {{1 2}}

    test: # the interpolations are of type maij
      suffix: unknowns
      args: -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -dof 2

    test: # PETSc's PCSOR is not right with matrices of a device on several processes
      suffix: from_dm
      args: -pc_type mg -pc_mg_levels 3 -from_dm -mg_levels_ksp_type richardson -mg_levels_pc_type jacobi

    test:
      suffix: from_dm_sor
      requires: !cuda
      args: -pc_type mg -pc_mg_levels 3 -from_dm -mg_levels_ksp_type richardson -mg_levels_pc_type jacobi

  test: # one product before the coarse level and two after it, and the residual
    suffix: products
    output_file: output/empty.out
    requires: !cuda
    args: -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_pc_type jacobi -products 4

  test: # PCMG takes PCREDUNDANT for the coarse solve by itself
    suffix: redundant_info
    nsize: 2
    args: -mat_aijtcu_block_solvers always -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -info :pc
    filter: grep -o "the coarse solve .*" | sort -u
    output_file: output/blockmg_redundant.out

  test: # cgs goes column by column, and makes nothing for a block
    suffix: steady
    output_file: output/empty.out
    requires: !cuda
    args: -pc_type gamg -mg_levels_ksp_type cgs -pc_gamg_coarse_eq_limit 10 -pc_mg_cycle_type {{v w}} -steady -mat_aijtcu_block_solvers {{auto always}}

  testset:
    output_file: output/empty.out
    requires: cuda
    args: -use_gpu_aware_mpi 0 -dense_type densecuda

    test:
      suffix: cuda
      nsize: {{1 2}}
      args: -pc_type gamg -mg_levels_ksp_type {{chebyshev richardson}} -interpolation

    test:
      suffix: cuda_coarse
      args: -pc_type gamg -pc_gamg_coarse_eq_limit 10 -pc_mg_cycle_type {{v w}} -mg_coarse_sub_pc_type {{lu cholesky}}

    test:
      suffix: cuda_grid
      nsize: {{1 2}}
      args: -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -restriction -interpolation -square

    test:
      suffix: cuda_redundant
      nsize: {{1 2}}
      args: -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -mg_coarse_pc_type redundant

    test:
      suffix: cuda_blocks
      args: -pc_type mg -pc_mg_levels 3 -from_dm -dof 2 -mg_levels_ksp_type {{chebyshev richardson}} -mg_levels_pc_type pbjacobi -mg_levels_ksp_max_it {{1 2}}

    test:
      suffix: cuda_unknowns
      nsize: {{1 2}}
      args: -pc_type mg -pc_mg_levels 3 -from_dm -dof 2

    test: # our cycle, and PETSc's
      suffix: cuda_bound
      nsize: {{1 2}}
      args: -pc_type gamg -bound {{1 2 3}} -pc_mg_type {{multiplicative additive}}

    test:
      suffix: cuda_bound_first
      nsize: {{1 2}}
      args: -pc_type gamg -bound_first -mg_levels_ksp_type {{chebyshev richardson}} -mg_levels_pc_type {{jacobi pbjacobi}}

    test: # its set-up is not that of PCMG
      suffix: cuda_hmg
      nsize: {{1 2}}
      args: -pc_type hmg -hmg_inner_pc_type gamg -dof 2 -bound {{1 3}}

    test:
      suffix: cuda_products
      args: -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_pc_type jacobi -products 4

TEST*/
