static char help[] = "KSPSolve() with cg and a MATAIJTCU does what it does with the parent type. Prints on error only.\n\n";

#include <petscksp.h>
#include <petscaijtcu.h>
#include "kind.h"

enum {
  MOST = 60 /* iterations that are looked at */
};

/* A preconditioner of the program, which multiplies by a number. One of its results is NaN, or large */
typedef struct {
  PetscInt  applied, bad; /* times; which of them has that result, or 0 */
  PetscBool large;        /* so that its products with other vectors are infinite */
  PetscReal factor;
} Shell;

/* What a solve tells */
typedef struct {
  KSPConvergedReason reason;
  PetscInt           its, nmonitored, nvalues;
  PetscReal          history[MOST], monitored[MOST], emax, emin;
  PetscReal          norm, error; /* of x; of A x - b */
} Solve;

static PetscErrorCode Monitor(KSP ksp, PetscInt n, PetscReal norm, void *ctx)
{
  Solve *s = (Solve *)ctx;

  PetscFunctionBegin;
  (void)ksp;
  if (n < MOST) s->monitored[n] = norm;
  s->nmonitored++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellApply(PC pc, Vec x, Vec y)
{
  Shell             *shell;
  const PetscScalar *from;
  PetscScalar       *to;
  PetscReal          factor, most = 0;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &shell));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &from));
  for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(from[i]));
  factor = shell->factor;
  if (++shell->applied == shell->bad) factor = shell->large ? PETSC_MAX_REAL / (20 * most) : (PetscReal)NAN;
  PetscCall(VecGetArrayWrite(y, &to));
  for (PetscInt i = 0; i < n; i++) to[i] = factor * from[i];
  PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of the shell, and of the size of right-hand sides: powers of the largest number */
static PetscErrorCode ShellFromOptions(KSP ksp, Shell *shell, PetscReal *rhs)
{
  PetscReal power[2] = {0, 0};
  PetscBool given[2];
  PC        pc;

  PetscFunctionBegin;
  *shell = (Shell){.bad = 0};
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-shell_bad", &shell->bad, &given[0]));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-shell_large", &shell->large, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-shell_power", &power[0], &given[1]));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rhs_power", &power[1], NULL));
  shell->factor = PetscPowReal(PETSC_MAX_REAL, power[0]);
  *rhs          = PetscPowReal(PETSC_MAX_REAL, power[1]);
  if (!given[0] && !given[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetApply(pc, ShellApply));
  PetscCall(PCShellSetContext(pc, shell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid in two dimensions. Diagonal entries are smaller by shift; one is a number of its own */
static PetscErrorCode Make(MatType type, PetscInt n, PetscReal shift, PetscReal one, Mat *A)
{
  const PetscInt m = n * n;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, m, m, 5, NULL, A));
  for (PetscInt row = 0; row < m; row++) {
    const PetscInt columns[] = {row - n, row % n ? row - 1 : -1, row, row % n < n - 1 ? row + 1 : -1, row + n < m ? row + n : -1};

    for (int k = 0; k < 5; k++) {
      if (columns[k] < 0) continue;
      PetscCall(MatSetValue(*A, row, columns[k], k != 2 ? -1 - 0.1 * ((row + columns[k]) % 7) : row == m / 2 && one ? one : 6 - shift, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(Mat A, PetscBool zero, PetscBool eigenvalues, Solve *s)
{
  KSP       ksp;
  Vec       b, x;
  PetscInt  n;
  PetscReal size = 1;
  Shell     shell;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(ShellFromOptions(ksp, &shell, &size));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecGetSize(b, &n));
  for (PetscInt i = 0; i < n && !zero; i++) PetscCall(VecSetValue(b, i, size * (1 + 0.5 * (i % 11)), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecSetValue(x, i, 0.01 * (i % 5), INSERT_VALUES)); /* the guess, if it counts */
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetComputeSingularValues(ksp, eigenvalues));
  PetscCall(KSPSetResidualHistory(ksp, s->history, MOST, PETSC_TRUE));
  PetscCall(KSPMonitorSet(ksp, Monitor, s, NULL));
  PetscCall(KSPSetFromOptions(ksp));
  for (int twice = 0; twice < 2; twice++) { /* the second is from what the first has left, if a guess counts */
    s->nmonitored = 0;
    shell.applied = 0;
    PetscCall(KSPSolve(ksp, b, x));
  }
  PetscCall(KSPGetConvergedReason(ksp, &s->reason));
  PetscCall(KSPGetIterationNumber(ksp, &s->its));
  PetscCall(KSPGetResidualHistory(ksp, NULL, &s->nvalues));
  /* a breakdown leaves a coefficient unset, and so does a right-hand side of zeros whose norm is not tested */
  if (eigenvalues && !zero && s->its && (s->reason > 0 || s->reason == KSP_DIVERGED_ITS) && s->reason != KSP_CONVERGED_NEG_CURVE) PetscCall(KSPComputeExtremeSingularValues(ksp, &s->emax, &s->emin));
  PetscCall(VecNorm(x, NORM_2, &s->norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Differ(PetscReal a, PetscReal b)
{
  const PetscBool number[2] = {(PetscBool)!PetscIsInfOrNanReal(a), (PetscBool)!PetscIsInfOrNanReal(b)};

  if (!number[0] || !number[1]) return (PetscBool)(number[0] != number[1]);
  return (PetscBool)(PetscAbsReal(a - b) > PetscSqrtReal(PETSC_MACHINE_EPSILON) * PetscMax(PetscAbsReal(a), PetscAbsReal(b)));
}

static PetscErrorCode Compare(const Solve *with, const Solve *without, const char what[])
{
  PetscFunctionBegin;
  if (with->reason != without->reason || with->its != without->its) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s after %" PetscInt_FMT ", not %s after %" PetscInt_FMT "\n", what, KSPConvergedReasons[with->reason], with->its, KSPConvergedReasons[without->reason], without->its));
  if (with->nmonitored != without->nmonitored || with->nvalues != without->nvalues) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " norms, not %" PetscInt_FMT "\n", what, with->nvalues, without->nvalues));
  for (PetscInt i = 0; i < PetscMin(with->nvalues, MOST); i++) {
    if (Differ(with->history[i], without->history[i]) || Differ(with->monitored[i], without->monitored[i])) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: norm %" PetscInt_FMT " is %g, not %g\n", what, i, (double)with->history[i], (double)without->history[i]));
      break;
    }
  }
  if (Differ(with->norm, without->norm)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the solution has norm %g, not %g\n", what, (double)with->norm, (double)without->norm));
  if (Differ(with->emax, without->emax) || Differ(with->emin, without->emin)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: singular values %g, %g, not %g, %g\n", what, (double)with->emin, (double)with->emax, (double)without->emin, (double)without->emax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve of a sequence: what it tells, and the norm of x */
static PetscErrorCode Step(KSP ksp, Vec b, Vec x, Solve *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(VecZeroEntries(x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &s->reason));
  PetscCall(KSPGetIterationNumber(ksp, &s->its));
  PetscCall(VecNorm(x, NORM_2, &s->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right-hand side, and room for a solution */
static PetscErrorCode Vectors(Mat A, Vec *b, Vec *x)
{
  PetscScalar *array;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecGetLocalSize(*b, &n));
  PetscCall(VecGetArrayWrite(*b, &array));
  for (PetscInt i = 0; i < n; i++) array[i] = 1 + (PetscReal)(i % 7);
  PetscCall(VecRestoreArrayWrite(*b, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner of the program that is a diagonal */
static PetscErrorCode DiagonalApply(PC pc, Vec x, Vec y)
{
  Vec D;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &D));
  PetscCall(VecPointwiseMult(y, D, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often preconditioners have been applied so far */
static PetscErrorCode Applied(PetscInt *count)
{
  PetscEventPerfInfo info;
  PetscLogEvent      event;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("PCApply", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A solve with jacobi has the bits of one with a preconditioner of the program that multiplies by the same diagonal. On a
   device it applies no preconditioner but at the beginning, once to find the diagonal, and for norms whose squares have
   no digits
*/
static PetscErrorCode Bits(PetscInt n, PetscBool device)
{
  PetscReal power = 0;
  PetscInt  count[2];
  Solve     s[2];
  KSP       ksp;
  Mat       A;
  PC        pc;
  Vec       b, x[2], D;

  PetscFunctionBegin;
  PetscCall(Make(MATAIJTCU, n, 0, 40, &A));
  PetscCall(Vectors(A, &b, &x[0]));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rhs_power", &power, NULL));
  PetscCall(VecScale(b, PetscPowReal(PETSC_MAX_REAL, power)));
  PetscCall(VecDuplicate(b, &x[1]));
  PetscCall(VecDuplicate(b, &D));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(PetscMemzero(&s[k], sizeof(s[k])));
    PetscCall(KSPSetResidualHistory(ksp, s[k].history, MOST, PETSC_TRUE));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, k ? PCSHELL : PCJACOBI));
    if (k) {
      PetscCall(PCShellSetApply(pc, DiagonalApply));
      PetscCall(PCShellSetContext(pc, D));
    }
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(Applied(&count[0]));
    PetscCall(KSPSolve(ksp, b, x[k]));
    PetscCall(Applied(&count[1]));
    PetscCall(KSPGetConvergedReason(ksp, &s[k].reason));
    PetscCall(KSPGetIterationNumber(ksp, &s[k].its));
    if (!k && device && PetscDefined(USE_LOG) && !PetscDefined(USE_COMPLEX) && (s[k].its < 3 || count[1] - count[0] > 2) && power == 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " preconditioners in %" PetscInt_FMT " iterations\n", count[1] - count[0], s[k].its));
    if (!k) { /* the diagonal, for the other */
      PetscCall(VecSet(x[1], 1));
      PetscCall(PCApply(pc, x[1], D));
      PetscCall(VecZeroEntries(x[1]));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  if (s[0].reason != s[1].reason || s[0].its != s[1].its) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s after %" PetscInt_FMT ", not %s after %" PetscInt_FMT "\n", KSPConvergedReasons[s[0].reason], s[0].its, KSPConvergedReasons[s[1].reason], s[1].its));
  for (int i = 0; i < MOST; i++) {
    if (s[0].history[i] == s[1].history[i]) continue;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "norm %d is %.17g, not %.17g\n", i, (double)s[0].history[i], (double)s[1].history[i]));
    break;
  }
  {
    const PetscScalar *a[2];
    PetscBool          same;
    PetscInt           m;

    PetscCall(VecGetLocalSize(b, &m));
    for (int k = 0; k < 2; k++) PetscCall(VecGetArrayRead(x[k], &a[k]));
    PetscCall(PetscMemcmp(a[0], a[1], sizeof(**a) * (size_t)m, &same));
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "other bits of x\n"));
    for (int k = 0; k < 2; k++) PetscCall(VecRestoreArrayRead(x[k], &a[k]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscCall(VecDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  STEPS = 11
};

static const char *const steps[STEPS] = {"the first", "other values", "another solver of this matrix", "the first once more", "after KSPReset()", "a larger matrix",
                                         "the first matrix again", "another method", "cg again", "cg inside of cg", "vectors that are bound to the host"};

/* What changes between the solves of a program */
static PetscErrorCode Changes(MatType type, PetscInt n, Solve s[STEPS])
{
  KSP ksp, other, inner;
  Mat A, L;
  Vec b, x, c, y;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(Make(type, n, 0, 0, &A));
  PetscCall(Make(type, n + 4, 0.5, 0, &L));
  PetscCall(Vectors(A, &b, &x));
  PetscCall(Vectors(L, &c, &y));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Step(ksp, b, x, &s[0]));
  PetscCall(MatScale(A, 3));
  PetscCall(Step(ksp, b, x, &s[1]));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &other));
  PetscCall(KSPSetOperators(other, A, A));
  PetscCall(KSPSetFromOptions(other));
  PetscCall(KSPSetType(other, KSPCG));
  PetscCall(Step(other, b, x, &s[2]));
  PetscCall(Step(ksp, b, x, &s[3]));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Step(ksp, b, x, &s[4]));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, L, L));
  PetscCall(Step(ksp, c, y, &s[5]));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Step(ksp, b, x, &s[6]));
  PetscCall(KSPSetType(ksp, KSPCR));
  PetscCall(Step(ksp, b, x, &s[7]));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(Step(ksp, b, x, &s[8]));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCKSP));
  PetscCall(PCKSPGetKSP(pc, &inner));
  PetscCall(KSPSetType(inner, KSPCG));
  PetscCall(KSPSetTolerances(inner, PETSC_SMALL, PETSC_CURRENT, PETSC_CURRENT, 500));
  PetscCall(KSPGetPC(inner, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(Step(ksp, b, x, &s[9]));
  PetscCall(VecBindToCPU(x, PETSC_TRUE));
  PetscCall(VecBindToCPU(b, PETSC_TRUE));
  PetscCall(Step(other, b, x, &s[10]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&L));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&c));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *what;
    PetscReal   shift, one;
    PetscBool   zero;
  } problem[] = {
    {"definite",             0,    0,  PETSC_FALSE},
    {"zero right-hand side", 0,    0,  PETSC_TRUE },
    {"indefinite",           3,    0,  PETSC_FALSE},
    {"negative",             20,   0,  PETSC_FALSE},
    {"one entry negative",   0,    -4, PETSC_FALSE},
  };
  PetscInt  n = 23, most = 1;
  PetscBool changes = PETSC_FALSE, bits = PETSC_FALSE, device = PETSC_FALSE;
  Mat       A;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-ksp_max_it", &most, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-changes", &changes, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bits", &bits, NULL));
  PetscCall(Make(MATAIJTCU, n, 0, 0, &A));
  PetscCall(IsOnDevice(A, &device));
  PetscCall(MatDestroy(&A));
  if (bits) {
    PetscCall(PetscLogDefaultBegin());
    PetscCall(Bits(n, device));
    PetscCall(PetscFinalize());
    return 0;
  }
  if (changes) {
    Solve s[2][STEPS];

    PetscCall(Changes(MATAIJTCU, n, s[0]));
    PetscCall(Changes(device ? MATSEQAIJCUSPARSE : MATSEQAIJ, n, s[1]));
    for (int k = 0; k < STEPS; k++) PetscCall(Compare(&s[0][k], &s[1][k], steps[k]));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(problem); k++) {
    /* PETSc has no room for the coefficients of the one iteration that is made with a maximum of none */
    for (int eigenvalues = 0; eigenvalues < (most ? 2 : 1); eigenvalues++) {
      Solve s[2];

      PetscCall(Make(MATAIJTCU, n, problem[k].shift, problem[k].one, &A));
      PetscCall(Run(A, problem[k].zero, (PetscBool)eigenvalues, &s[0]));
      PetscCall(MatDestroy(&A));
      PetscCall(Make(device ? MATSEQAIJCUSPARSE : MATSEQAIJ, n, problem[k].shift, problem[k].one, &A));
      PetscCall(Run(A, problem[k].zero, (PetscBool)eigenvalues, &s[1]));
      PetscCall(MatDestroy(&A));
      PetscCall(Compare(&s[0], &s[1], problem[k].what));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    args: -use_gpu_aware_mpi 0 -ksp_max_it 40

    test:
      suffix: norms
      args: -pc_type {{none jacobi}} -ksp_norm_type {{preconditioned unpreconditioned natural}} -ksp_initial_guess_nonzero {{0 1}}

    test: # from a solution nothing would be left but rounding. In single precision rounding shows in what follows it, too
      suffix: none
      requires: double
      args: -pc_type {{none jacobi}} -ksp_norm_type none

    test:
      suffix: ends
      args: -pc_type {{none jacobi}} -ksp_max_it {{0 1 2}} -ksp_norm_type {{preconditioned unpreconditioned}} -ksp_rtol {{1e-5 0.9}}

    test:
      suffix: changes
      args: -changes -pc_type {{none jacobi}} -ksp_norm_type {{preconditioned unpreconditioned natural}}

    test: # one tile, and several
      suffix: bits
      args: -bits -n {{23 100}} -ksp_norm_type {{preconditioned unpreconditioned natural none}} -ksp_max_it {{3 40}}

    test: # so many tiles that their sums are added once for all
      suffix: many
      args: -bits -n 730 -ksp_norm_type {{preconditioned unpreconditioned}} -ksp_max_it 3

    test: # NaN, or infinite products, at the beginning, on the way, and in the last iteration
      suffix: infinite
      args: -shell_bad {{1 2 5}} -shell_large {{0 1}} -ksp_max_it {{4 40}} -ksp_norm_type {{preconditioned unpreconditioned natural none}}

    test: # squares of norms are no numbers
      suffix: large
      args: -rhs_power 0.55 -shell_power -0.65 -ksp_norm_type {{unpreconditioned natural}}

    test:
      suffix: small
      args: -rhs_power -0.55 -shell_power 0.65 -ksp_norm_type {{unpreconditioned natural}} -ksp_atol 0

    test:
      suffix: preconditioned
      args: -rhs_power {{-0.1 0.1}} -shell_power {{-0.65 0.65}} -ksp_norm_type preconditioned -ksp_atol 0

    test: # norms are found another way once they are so small
      suffix: bits_small
      args: -bits -rhs_power {{-0.47 -0.487}} -ksp_norm_type {{preconditioned unpreconditioned}} -ksp_atol 0

    test: # PETSc's way
      suffix: settings
      args: -pc_type jacobi -ksp_cg_single_reduction {{0 1}} -ksp_check_norm_iteration {{-1 3}} -ksp_converged_neg_curve {{0 1}}

    test: # in single precision estimates of eigenvalues differ by rounding, and with them prolongators
      suffix: multigrid
      requires: double
      args: -pc_type gamg -mg_levels_pc_type jacobi -n 41 -ksp_norm_type {{preconditioned natural}}

TEST*/
