static char help[] = "LOBPCG with whole blocks beside SLEPc's own: reasons, iterations, eigenvalues, residuals, orthogonality, on generated problems.\n\
-only k: problem k alone. -unit, -mass: factors of A and of B. -view: print also where all is well. -beside 0: without the solves by SLEPc's.\n\
-f file: a symmetric matrix in PETSc's format in place of these problems, with -pc, -block, -nev, -tol.\n\n";

#include <petscaijtcu.h>
#include <slepceps.h>

typedef enum {
  PATH,     /* springs in a row, held at one end */
  GRID,     /* in a square: double eigenvalues */
  CUBE,     /* triple ones */
  DIAGONAL, /* 1, 2, 3 ... */
  CLUSTERS, /* each seven times, but for 1e-7 of itself */
  BAR,      /* a bar that bends: the smallest eigenvalue is 1e-5 of the largest. A P that is not exact shows */
  FREE,     /* springs in a row, not held: with the null space */
  LOADED    /* from a file: name says which */
} Stiffness;

typedef enum {
  NOTHING,
  LUMPED, /* a diagonal between 1 and 2 */
  MASS,   /* of linear elements */
  UNEVEN, /* a diagonal from 1 to 1e10 */
  FIXED   /* ones, and 1e8 at some unknowns */
} Mass;

typedef struct {
  const char *name, *pc;
  Stiffness   stiffness;
  Mass        mass;
  PetscInt    n, block, nev;
  PetscReal   tol, restart;
  PetscBool   unlocked, largest;
} Problem;

static const Problem problems[] = {
  {"path", "none", PATH, NOTHING, 60, 4, .nev = 4},
  {"path, jacobi", "jacobi", PATH, NOTHING, 100, 5, .nev = 3},
  {"path, exact", "lu", PATH, NOTHING, 500, 6, .nev = 6},
  {"path of one", "none", PATH, NOTHING, 40, 1, .nev = 1},
  {"path, one by one", "lu", PATH, NOTHING, 200, 1, .nev = 5},
  {"grid", "none", GRID, NOTHING, 144, 6, .nev = 6},
  {"grid, icc", "icc", GRID, NOTHING, 900, 8, .nev = 8},
  {"grid, cut", "jacobi", GRID, NOTHING, 400, 3, .nev = 3},
  {"cube", "jacobi", CUBE, NOTHING, 343, 4, .nev = 4},
  {"cube, more", "jacobi", CUBE, NOTHING, 512, 5, .nev = 14},
  {"diagonal", "none", DIAGONAL, NOTHING, 100, 4, .nev = 4},
  {"diagonal, exact", "jacobi", DIAGONAL, NOTHING, 50, 4, .nev = 2},
  {"clusters", "none", CLUSTERS, NOTHING, 210, 8, .nev = 8},
  {"clusters, cut", "none", CLUSTERS, NOTHING, 210, 4, .nev = 4, .tol = 1e-6},
  {"small", "none", PATH, NOTHING, 21, 4, .nev = 4},
  {"lumped", "jacobi", PATH, LUMPED, 80, 4, .nev = 4},
  {"lumped grid", "icc", GRID, LUMPED, 400, 8, .nev = 20},
  {"mass", "lu", PATH, MASS, 300, 6, .nev = 6},
  {"mass, icc", "icc", PATH, MASS, 200, 4, .nev = 9},
  {"uneven", "lu", PATH, UNEVEN, 100, 4, .nev = 4, .tol = 1e-6},
  {"fixed", "lu", GRID, FIXED, 225, 4, .nev = 4, .tol = 1e-6},
  {"free", "jacobi", FREE, NOTHING, 60, 4, .nev = 3},
  {"free, exact", "lu", FREE, NOTHING, 60, 4, .nev = 3},
  {"free, mass", "jacobi", FREE, MASS, 60, 4, .nev = 3},
  {"largest", "none", PATH, NOTHING, 60, 4, .nev = 4, .largest = PETSC_TRUE},
  {"largest, mass", "none", GRID, LUMPED, 196, 6, 10, .largest = PETSC_TRUE},
  {"unlocked", "jacobi", GRID, NOTHING, 144, 6, .nev = 6, .unlocked = PETSC_TRUE},
  {"restart", "icc", GRID, NOTHING, 400, 10, 12, .restart = 0.5},
  {"no guards", "icc", GRID, NOTHING, 400, 10, 12, .restart = 1},
  {"exact values", "lu", GRID, NOTHING, 400, 6, .nev = 6, .tol = 1e-12},
  {"many", "lu", GRID, MASS, 400, 8, .nev = 30},
  {"wide", "icc", PATH, LUMPED, 600, 24, .nev = 24},
  {"wide, double", "icc", GRID, NOTHING, 900, 16, .nev = 16},
  {"wide, clusters", "none", CLUSTERS, NOTHING, 420, 16, .nev = 14},
  {"wide, triple", "lu", CUBE, NOTHING, 343, 17, .nev = 17, .tol = 1e-11},
  {"bar", "jacobi", BAR, NOTHING, 44, 6, .nev = 18},
  {"bar, restart", "jacobi", BAR, NOTHING, 54, 8, .nev = 24, .restart = 0.9}};

/* Where scalars are complex, a matrix is D A D^H with these factors on the diagonal of D: it has the eigenvalues of A */
static PetscScalar Factor(PetscInt i, PetscInt j)
{
  const PetscReal angle = (PetscReal)(0.7 * (double)(i - j));

  return PetscDefined(USE_COMPLEX) ? PetscCMPLX(PetscCosReal(angle), PetscSinReal(angle)) : 1;
}

static PetscErrorCode SetRow(Mat A, PetscInt i, PetscInt n, const PetscInt at[], const PetscScalar v[], PetscReal scale)
{
  PetscScalar scaled[8];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) scaled[k] = v[k] * scale * Factor(i, at[k]);
  PetscCall(MatSetValues(A, 1, &i, n, at, scaled, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetOption(*A, PetscDefined(USE_COMPLEX) ? MAT_HERMITIAN : MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetUp(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Load(const char file[], PetscReal unit, Mat *A)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatLoad(*A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatScale(*A, unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStiffness(const Problem *p, PetscReal unit, Mat *A)
{
  const PetscInt n = p->n, m = p->stiffness == GRID ? (PetscInt)(PetscSqrtReal((PetscReal)n) + 0.5) : p->stiffness == CUBE ? (PetscInt)(PetscCbrtReal((PetscReal)n) + 0.5)
                                                                                                                           : n;
  const PetscInt dims = p->stiffness == GRID ? 2 : p->stiffness == CUBE ? 3
                                                                        : 1;
  PetscInt       first, end;

  PetscFunctionBegin;
  if (p->stiffness == LOADED) {
    PetscCall(Load(p->name, unit, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Create(n, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    PetscInt    at[8], k = 1;
    PetscScalar v[8];

    at[0] = i;
    if (p->stiffness == DIAGONAL) v[0] = i + 1;
    else if (p->stiffness == BAR) {
      v[0] = 6;
      for (PetscInt d = -2; d <= 2; d++) {
        if (d && i + d >= 0 && i + d < n) at[k] = i + d, v[k++] = PetscAbsInt(d) == 1 ? -4 : 1;
      }
    } else if (p->stiffness == CLUSTERS) v[0] = (1 + i / 7) * (1 + 1e-7 * (PetscReal)(i % 7));
    else {
      PetscInt stride = 1;

      v[0] = 2 * dims;
      for (PetscInt d = 0; d < dims; d++, stride *= m) {
        const PetscInt place = i / stride % m;

        if (place > 0) at[k] = i - stride, v[k++] = -1;
        if (place < m - 1) at[k] = i + stride, v[k++] = -1;
      }
      if (p->stiffness == FREE && (i == 0 || i == n - 1)) v[0] = 1;
    }
    PetscCall(SetRow(*A, i, k, at, v, unit));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMass(const Problem *p, PetscReal unit, Mat *B)
{
  const PetscInt n = p->n;
  PetscInt       first, end;

  PetscFunctionBegin;
  *B = NULL;
  if (p->mass == NOTHING) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(n, B));
  PetscCall(MatGetOwnershipRange(*B, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    PetscInt    at[8], k = 1;
    PetscScalar v[8];

    at[0] = i;
    v[0]  = p->mass == LUMPED ? 1 + (PetscReal)(i * 7 % 11) / 11 : p->mass == UNEVEN ? PetscPowReal(10, 10 * (PetscReal)i / (PetscReal)n)
                                                                 : p->mass == FIXED  ? (i % 40 == 3 ? 1e8 : 1)
                                                                                     : 4. / 6;
    if (p->mass == MASS) {
      if (i > 0) at[k] = i - 1, v[k++] = 1. / 6;
      if (i < n - 1) at[k] = i + 1, v[k++] = 1. / 6;
    }
    PetscCall(SetRow(*B, i, k, at, v, unit));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a solve found */
typedef struct {
  EPSConvergedReason reason;
  PetscInt           its, nconv;
  PetscReal          value[128], residual, orthogonality;
} Found;

/* Largest entry of X^T B X - 1 */
static PetscErrorCode Orthogonality(EPS eps, Mat A, Mat B, PetscInt n, PetscReal *most)
{
  Vec *x, y;

  PetscFunctionBegin;
  *most = 0;
  PetscCall(MatCreateVecs(A, &y, NULL));
  PetscCall(VecDuplicateVecs(y, PetscMax(n, 1), &x));
  for (PetscInt k = 0; k < n; k++) {
    PetscScalar dot;

    PetscCall(EPSGetEigenvector(eps, k, x[k], NULL));
    if (B) PetscCall(MatMult(B, x[k], y));
    else PetscCall(VecCopy(x[k], y));
    for (PetscInt j = 0; j <= k; j++) {
      PetscCall(VecDot(x[j], y, &dot));
      *most = PetscMax(*most, PetscAbsScalar(dot - (j == k ? 1 : 0)));
    }
  }
  PetscCall(VecDestroyVecs(PetscMax(n, 1), &x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Problem *p, Mat A, Mat B, const char mode[], Found *f)
{
  EPS eps;
  ST  st;
  KSP ksp;
  PC  pc;
  Vec x, y, z;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-eps_aijtcu_lobpcg", mode));
  PetscCall(EPSCreate(PETSC_COMM_WORLD, &eps));
  PetscCall(EPSSetOperators(eps, A, B));
  PetscCall(EPSSetProblemType(eps, B ? EPS_GHEP : EPS_HEP));
  PetscCall(EPSSetWhichEigenpairs(eps, p->largest ? EPS_LARGEST_REAL : EPS_SMALLEST_REAL));
  PetscCall(EPSSetType(eps, EPSLOBPCG));
  PetscCall(EPSSetDimensions(eps, p->nev, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(EPSLOBPCGSetBlockSize(eps, p->block));
  PetscCall(EPSLOBPCGSetLocking(eps, (PetscBool)!p->unlocked));
  if (p->restart > 0) PetscCall(EPSLOBPCGSetRestart(eps, p->restart));
  PetscCall(EPSSetTolerances(eps, p->tol > 0 ? p->tol : (PetscReal)1e-8, 1000));
  PetscCall(EPSGetST(eps, &st));
  PetscCall(STSetType(st, STPRECOND));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!strcmp(p->pc, "lu") || !strcmp(p->pc, "icc")) {
    PetscCall(PCSetType(pc, PCBJACOBI));
    /* PETSc's icc takes a complex matrix as symmetric */
    PetscCall(PetscOptionsSetValue(NULL, "-st_sub_pc_type", PetscDefined(USE_COMPLEX) && !strcmp(p->pc, "icc") ? "ilu" : p->pc));
    PetscCall(PetscOptionsSetValue(NULL, "-st_sub_pc_factor_zeropivot", "0")); /* PETSc's depends on the unit */
  } else PetscCall(PCSetType(pc, p->pc));
  PetscCall(MatCreateVecs(A, &x, NULL));
  if (p->stiffness == FREE) {
    PetscInt first, end;

    PetscCall(VecGetOwnershipRange(x, &first, &end));
    for (PetscInt i = first; i < end; i++) PetscCall(VecSetValue(x, i, Factor(i, 0), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    PetscCall(EPSSetDeflationSpace(eps, 1, &x));
  }
  PetscCall(EPSSetFromOptions(eps));
  PetscCall(PetscOptionsClearValue(NULL, "-eps_aijtcu_lobpcg"));
  PetscCall(EPSSolve(eps));
  PetscCall(EPSGetConvergedReason(eps, &f->reason));
  PetscCall(EPSGetIterationNumber(eps, &f->its));
  PetscCall(EPSGetConverged(eps, &f->nconv));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  f->residual = 0;
  for (PetscInt k = 0; k < PetscMin(f->nconv, 128); k++) {
    PetscScalar value, square;
    PetscReal   norm;

    /* As LOBPCG's test has it: of a vector of length one in the inner product */
    PetscCall(EPSGetEigenpair(eps, k, &value, NULL, x, NULL));
    f->value[k] = PetscRealPart(value);
    PetscCall(MatMult(A, x, y));
    if (B) PetscCall(MatMult(B, x, z));
    else PetscCall(VecCopy(x, z));
    PetscCall(VecDot(x, z, &square));
    PetscCall(VecAXPY(y, -value, z));
    PetscCall(VecNorm(y, NORM_2, &norm));
    f->residual = PetscMax(f->residual, norm / PetscAbsScalar(value) / PetscSqrtReal(PetscRealPart(square)));
  }
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(Orthogonality(eps, A, B, f->nconv, &f->orthogonality));
  PetscCall(VecDestroy(&x));
  PetscCall(EPSDestroy(&eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SLEPc's solve may end with an error, which is not printed */
static PetscErrorCode SolveTheirs(const Problem *p, Mat A, Mat B, Found *f)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = Solve(p, A, B, "off", f);
  PetscCall(PetscPopErrorHandler());
  if (ierr) *f = (Found){.reason = EPS_DIVERGED_BREAKDOWN};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Try(const Problem *p, PetscReal unit, PetscReal mass, PetscBool beside, PetscBool view, PetscReal its[2])
{
  const PetscReal tol = p->tol > 0 ? p->tol : (PetscReal)1e-8;
  Mat             A, B;
  Found           ours, theirs = {.reason = EPS_DIVERGED_BREAKDOWN};
  PetscReal       difference = 0;
  PetscBool       good;

  PetscFunctionBegin;
  PetscCall(CreateStiffness(p, unit, &A));
  PetscCall(CreateMass(p, mass, &B));
  if (beside) PetscCall(SolveTheirs(p, A, B, &theirs));
  PetscCall(Solve(p, A, B, "always", &ours));
  for (PetscInt k = 0; k < PetscMin(p->nev, PetscMin(ours.nconv, theirs.nconv)); k++) difference = PetscMax(difference, PetscAbsReal(ours.value[k] - theirs.value[k]) / PetscAbsReal(ours.value[k]));
  good = (PetscBool)(ours.reason == EPS_CONVERGED_TOL && ours.nconv >= p->nev && ours.residual <= tol * (1 + 1e-3) && ours.orthogonality < 1e-10);
  if (theirs.reason > 0 && theirs.orthogonality < 1e-10) {
    /* An eigenvalue is as exact as the square of its residual, but as the residual where a cluster is cut */
    good = (PetscBool)(good && difference < (tol > 1e-8 ? 0.1 * tol : 1e-10));
    /* Rounding decides how many iterations pairs of a cluster need, with SLEPc's solver, too: sums tell more */
    good = (PetscBool)(good && ours.its <= 1.25 * theirs.its + 3);
    its[0] += theirs.its;
    its[1] += ours.its;
  }
  if (!good || view) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s %g %g: %s iterations %" PetscInt_FMT " and %" PetscInt_FMT ", reason %d and %d, pairs %" PetscInt_FMT " and %" PetscInt_FMT ", residual %.1e and %.1e, orthogonality %.1e and %.1e, difference %.1e\n", p->name, (double)unit, (double)mass, good ? "good" : "BAD", theirs.its, ours.its, (int)theirs.reason, (int)ours.reason, theirs.nconv, ours.nconv, (double)theirs.residual, (double)ours.residual, (double)theirs.orthogonality, (double)ours.orthogonality, (double)difference));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  PetscBool view = PETSC_FALSE, beside = PETSC_TRUE;
  PetscReal unit = 1, mass = 1;
  PetscInt  only                     = -1;
  char      file[PETSC_MAX_PATH_LEN] = "", pc[64] = "jacobi";
  Problem   loaded = {file, pc, LOADED, NOTHING, 0, 8, .nev = 8, .tol = 1e-6};
  PetscBool load;
  PetscReal its[2] = {0, 0}; /* iterations of SLEPc's solver and of ours, of all problems */

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-beside", &beside, NULL)); /* SLEPc's solver */
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-unit", &unit, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-mass", &mass, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), &load));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc", pc, sizeof(pc), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-block", &loaded.block, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nev", &loaded.nev, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &loaded.tol, NULL));
  if (load) PetscCall(Try(&loaded, unit, mass, beside, view, its));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(problems) && !SLEPC_VERSION_LT(3, 26, 0) && !load; k++) {
    if (only >= 0 && (size_t)only != k) continue;
    PetscCall(Try(&problems[k], unit, mass, beside, view, its));
  }
  if (only < 0 && its[1] > 1.1 * its[0] + 3) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%g iterations in all, and %g of SLEPc's solver\n", (double)its[1], (double)its[0]));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    output_file: output/empty.out

    # SLEPc's solver ends some in errors, and leaves an EPS with its matrices. So it does without a library of ours
    test:
      suffix: problems
      args: -unit {{1 1e-14}} -mass {{1 7850}} -malloc_dump 0 -checkfunctionlist 0

    test:
      suffix: pascal
      args: -unit 2.1e11 -mass {{1 7850}} -malloc_dump 0 -checkfunctionlist 0

    test: # in this unit SLEPc's solver finds nearly all, and soon
      suffix: parallel
      nsize: {{2 3}}
      args: -malloc_dump 0 -checkfunctionlist 0

    test: # ours leaves nothing
      suffix: alone
      nsize: {{1 2}}
      args: -unit {{1 1e-14 2.1e11}} -mass {{1 7850}} -beside 0

    test: # more pairs than a block has columns, with masses; and a block that is made narrower
      suffix: four
      nsize: 4
      args: -only {{18 27}}

TEST*/
