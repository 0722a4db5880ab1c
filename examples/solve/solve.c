static char help[] = "Block solves, KSPMatSolve(), with matrices of several types, the same with each: times, iterations, residuals, and how far the solutions are apart.\n\n"
                     "  ./solve -csv results.csv\n"
                     "  ./solve -solvers cg-jacobi,bcg-jacobi -columns 8,32 -places device,host\n"
                     "  mpiexec -n 2 ./solve -types aijtcu\n"
                     "  ./solve -f one.mtx,two.mtx -dominant\n"
                     "  ./solve -shift 0.5+0.5i -solvers gmres-jacobi,bcgs-jacobi        complex scalars: A - z I is not Hermitian\n"
                     "  ./solve -types aij,aijtcu -scale 0.001 -cg-gamg_ksp_rtol 1e-6        the options of a solver begin with its name\n\n";

#include "csv.h"
#include "family.h"
#include "files.h"
#include "machine.h"
#include "options.h"
#include "solver.h"
#include "spread.h"
#include "system.h"
#include <petscaijtcu.h>

typedef struct {
  char    **family, **file, **type, **solver, **place;
  PetscInt  families, files, types, solvers, places, *column, columns, repeat, most; /* the most columns */
  PetscReal scale, hold, tolerance;
  PetscBool dominant, springs, test; /* -test_output */
  ExampleTable table;
  PetscScalar shift;
} Options;

/* A matrix of one of the types, and its solver */
typedef struct {
  Mat       A;
  MatType   type;
  KSP       ksp;
  PetscReal setup; /* s */
} Side;

/* What is solved */
typedef struct {
  const System *system;
  const Solver *solver;
  const char   *place;
  PetscInt      columns;
} Case;

typedef struct {
  Mat                X;
  Spread             solve;
  const char        *way; /* whole blocks, parts of them, PETSc's way, one vector */
  PetscInt           iterations;
  KSPConvergedReason reason;
  PetscReal          residual, difference;
  PetscReal          speedup; /* not a number where the first type did not solve */
  PetscBool          wrong;
} Result;

static const char columns[] = "matrix,values,rows,nonzeros,processes,columns,solver,type,place,way,iterations,repeat,solve_s,least_s,setup_s,speedup,residual,difference,precision,commit,petsc,cuda,machine";

static PetscErrorCode CheckPlace(const char place[], PetscBool device)
{
  PetscBool onhost, ondevice;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(place, "host", &onhost));
  PetscCall(PetscStrcmp(place, "device", &ondevice));
  PetscCheck(onhost || ondevice, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-places %s: must be device or host", place);
  PetscCheck(onhost || device, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "-places device: there is no GPU");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOptions(Options *o)
{
  PetscBool     device, filed, chosen;
  const Solver *unused;
  char          names[256];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(ExampleHasDevice(&device));
  PetscCall(SolverNames(names, sizeof(names)));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-f", &filed));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-families", &chosen));
  o->repeat    = 3;
  o->tolerance = 100;
  o->hold      = 1;
  o->scale     = device ? 1 : (PetscReal)0.002;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of block solves", NULL);
  if (chosen || !filed) PetscCall(ExampleOptionsList(PetscOptionsObject, "-families", "Matrices to generate, a list: elasticity, dof8, tetra, stencil27, banded, blockarrow, poisson7, arrow, each with -permuted behind it for a random order", "elasticity", &o->families, &o->family));
  if (filed) PetscCall(ExampleOptionsList(PetscOptionsObject, "-f", "Files with matrices (.mtx, .mtx.gz, PETSc binary), a list", "", &o->files, &o->file));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-dominant", "Make the matrices of files diagonally dominant, with a diagonal of ones", &o->dominant));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-springs", "Give the matrices of files values of springs, as generated ones have; their patterns must be symmetric", &o->springs));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-scale", "Rows by those of a full benchmark; default: 1 with a GPU, 0.002 without", &o->scale));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-hold", "The smallest eigenvalue of a matrix of springs: with a smaller one more iterations are needed", &o->hold));
  PetscCall(PetscOptionsScalar("-shift", "What is taken from the diagonal, in complex builds as 0.5+0.1i", NULL, o->shift, &o->shift, NULL));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-types", "Matrix types in place of -mat_type, a list; the first is what others are compared with; default: aijcusparse,aijtcu with a GPU, aij,aijtcu without", device ? "aijcusparse,aijtcu" : "aij,aijtcu", &o->types, &o->type));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-solvers", "Solvers, a list; those with -vector behind them solve for one vector", names, &o->solvers, &o->solver));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-columns", "Numbers of right-hand sides, a list", "1,8,32", &o->columns, &o->column));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-places", "Where right-hand sides and solutions are, a list: device, host; default: device with a GPU, host without", device ? "device" : "host", &o->places, &o->place));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-repeat", "How often each solve is timed, after one to warm up", 1, &o->repeat));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-tolerance", "Largest relative residual of a column, and difference of its solution to the first type's, that is not an error; in tolerances of the solver (-ksp_rtol)", &o->tolerance));
  PetscCall(ExampleOptionsTable(PetscOptionsObject, &o->table));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine", &o->test));
  PetscOptionsEnd();
  PetscCheck(o->scale > 0 && o->scale <= 16, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-scale %g: must be positive, and 16 at most", (double)o->scale);
  PetscCheck(!o->dominant || !o->springs, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-dominant and -springs: matrices can be made one of these");
  PetscCheck(o->hold > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-hold %g: must be positive", (double)o->hold);
  for (PetscInt k = 0; k < o->solvers; k++) PetscCall(SolverFind(o->solver[k], &unused));
  for (PetscInt k = 0; k < o->places; k++) PetscCall(CheckPlace(o->place[k], device));
  for (PetscInt k = 0; k < o->columns; k++) o->most = PetscMax(o->most, o->column[k]);
  PetscCall(FamilyCheck(o->families, o->family));
  PetscCall(ExampleMatTypesCheck(PETSC_COMM_WORLD, o->types, o->type));
  PetscCall(ExampleFilesCheckRead(PETSC_COMM_WORLD, o->files, o->file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyOptions(Options *o)
{
  PetscFunctionBegin;
  PetscCall(ExampleListDestroy(o->families, &o->family));
  PetscCall(ExampleListDestroy(o->files, &o->file));
  PetscCall(ExampleListDestroy(o->types, &o->type));
  PetscCall(ExampleListDestroy(o->solvers, &o->solver));
  PetscCall(ExampleListDestroy(o->places, &o->place));
  PetscCall(PetscFree(o->column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveOnce(const Case *c, const Side *side, Mat B, Mat X, PetscReal *seconds)
{
  Vec            b, x;
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  if (c->solver->vector) {
    PetscCall(MatDenseGetColumnVecRead(B, 0, &b));
    PetscCall(MatDenseGetColumnVecWrite(X, 0, &x));
  }
  PetscCall(ExampleSynchronize(side->A));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(ExampleTime(side->A, &begin));
  if (c->solver->vector) PetscCall(KSPSolve(side->ksp, b, x));
  else PetscCall(KSPMatSolve(side->ksp, B, X));
  PetscCall(ExampleTime(side->A, &end));
  *seconds = (PetscReal)(end - begin); /* the slowest process counts */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, seconds, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  if (c->solver->vector) {
    PetscCall(MatDenseRestoreColumnVecWrite(X, 0, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, 0, &b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the last solve was made */
static PetscErrorCode FindWay(const Case *c, KSP ksp, const char **way)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUKSPGetColumns(ksp, &n, NULL, NULL, NULL));
  if (c->solver->vector) *way = "vector";
  else if (!n) *way = "petsc";
  else *way = n == c->columns ? "block" : "batches";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve once to warm up, then for the time. first is the result of the first type, or this one */
static PetscErrorCode Run(const Options *o, const Case *c, const Side *side, const Side *reference, const Result *first, Result *r)
{
  Mat        B;
  PetscReal *seconds, rtol;
  PetscBool  host;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(c->place, "host", &host));
  PetscCall(SystemBlock(c->system, side->A, host, c->columns, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &r->X));
  PetscCall(PetscMalloc1(o->repeat + 1, &seconds));
  for (PetscInt k = 0; k <= o->repeat; k++) PetscCall(SolveOnce(c, side, B, r->X, &seconds[k]));
  PetscCall(SpreadOf(o->repeat, seconds + 1, &r->solve));
  PetscCall(PetscFree(seconds));
  PetscCall(FindWay(c, side->ksp, &r->way));
  PetscCall(KSPGetIterationNumber(side->ksp, &r->iterations));
  PetscCall(KSPGetConvergedReason(side->ksp, &r->reason));
  PetscCall(KSPGetTolerances(side->ksp, &rtol, NULL, NULL, NULL));
  PetscCall(SystemCheck(reference->A, B, r->X, first->X, &r->residual, &r->difference));
  r->wrong   = (PetscBool)(r->reason <= 0 || !(r->residual <= o->tolerance * rtol) || !(first->wrong || r->difference <= o->tolerance * rtol));
  r->speedup = first->wrong ? NAN : first->solve.median / r->solve.median;
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AppendCSV(const Options *o, const Case *c, const Side *side, const Result *r)
{
  FILE       *fp;
  char        petsc[32], cuda[16], machine[128];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(ExampleCUDAVersion(side->A, cuda, sizeof(cuda)));
  PetscCall(ExampleMachine(side->A, machine, sizeof(machine)));
  PetscCall(ExampleCSVOpen(PETSC_COMM_WORLD, o->table.file, columns, &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%s,%s,%" PetscInt_FMT ",%" PetscInt64_FMT ",%d,%" PetscInt_FMT ",%s,%s,%s,%s,", c->system->name, c->system->values, c->system->csr.n, c->system->nonzeros, size, c->columns, c->solver->name, side->type, c->place, r->way));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%" PetscInt_FMT ",%.4e,%.4e,%.4e,%.4f,%.1e,%.1e,", r->iterations, o->repeat, (double)r->solve.median, (double)r->solve.least, (double)side->setup, (double)r->speedup, (double)r->residual, (double)r->difference));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%s,%s,%s,%s,\"%s\"\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double", o->table.commit, petsc, cuda, machine));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintResult(const Options *o, const Case *c, const Side *side, const Result *r, const Result *first)
{
  const char *error = r->reason <= 0 ? KSPConvergedReasons[r->reason] : r->wrong ? "ERROR"
                                                                                 : "";

  PetscFunctionBegin;
  if (o->test) {
    if (r != first) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s, %" PetscInt_FMT " columns: solutions %s\n", c->solver->name, c->columns, first->wrong || r->wrong ? "DIFFERENT" : "equal"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %-16s %7" PetscInt_FMT " %-6s %-17s %-7s %10" PetscInt_FMT " %9.4f %9.4f ", c->solver->name, c->columns, c->place, side->type, r->way, r->iterations, (double)side->setup, (double)r->solve.median));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%7.2f   %.1e     %.1e %s\n", (double)r->speedup, (double)r->residual, (double)r->difference, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Time all types in turn, so that all see the same clock rates and neighbours. That the first type does not solve, as
   aijcusparse with blocks of the host, is no error where others do.
*/
static PetscErrorCode Compare(const Options *o, const Case *c, const Side side[], PetscInt *wrong)
{
  Result *r;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(o->types, &r));
  for (PetscInt k = 0; k < o->types; k++) {
    PetscCall(Run(o, c, &side[k], &side[0], &r[0], &r[k]));
    if (k || o->types == 1) *wrong += r[k].wrong;
    PetscCall(PrintResult(o, c, &side[k], &r[k], &r[0]));
    if (o->table.file[0]) PetscCall(AppendCSV(o, c, &side[k], &r[k]));
  }
  for (PetscInt k = 0; k < o->types; k++) PetscCall(MatDestroy(&r[k].X));
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set up each solver with a small matrix of each type, so that no time has the loading of CUDA's libraries in it */
static PetscErrorCode WarmUp(const Options *o)
{
  System system;

  PetscFunctionBegin;
  PetscCall(SystemGenerate("elasticity", (PetscReal)0.001, 1, 1, &system));
  for (PetscInt k = 0; k < o->types; k++) {
    Mat A;

    PetscCall(SystemMat(&system, o->type[k], &A));
    for (PetscInt i = 0; i < o->solvers; i++) {
      const Solver *solver;
      const char   *why;
      KSP           ksp;
      PetscReal     unused;

      PetscCall(SolverFind(o->solver[i], &solver));
      PetscCall(SolverLacks(solver, system.symmetric, &why));
      if (why) continue;
      PetscCall(SolverCreate(solver, A, &ksp));
      PetscCall(SolverSetUp(ksp, &unused));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(SystemDestroy(&system));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All numbers of columns, and all places, with solvers that are set up once */
static PetscErrorCode RunSolver(const Options *o, const System *system, const Solver *solver, Side side[], PetscInt *wrong)
{
  const char *why;

  PetscFunctionBegin;
  PetscCall(SolverLacks(solver, system->symmetric, &why));
  if (why) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %-16s left out: %s\n", solver->name, why));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < o->types; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-mat_type", o->type[k])); /* of matrices that a preconditioner makes */
    PetscCall(SolverCreate(solver, side[k].A, &side[k].ksp));
    PetscCall(SolverSetUp(side[k].ksp, &side[k].setup));
  }
  for (PetscInt n = 0; n < (solver->vector ? 1 : o->columns); n++) {
    for (PetscInt p = 0; p < o->places; p++) {
      const Case c = {system, solver, o->place[p], solver->vector ? 1 : o->column[n]};

      PetscCall(Compare(o, &c, side, wrong));
    }
  }
  for (PetscInt k = 0; k < o->types; k++) PetscCall(KSPDestroy(&side[k].ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSystem(const Options *o, const System *system, PetscInt *wrong)
{
  Side       *side;
  char        machine[128];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(o->types, &side));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt64_FMT " nonzeros", system->name, system->csr.n, system->csr.n, system->nonzeros));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %d processes", size));
  for (PetscInt k = 0; k < o->types; k++) {
    PetscCall(SystemMat(system, o->type[k], &side[k].A));
    PetscCall(MatGetType(side[k].A, &side[k].type));
  }
  PetscCall(ExampleMachine(side[o->types - 1].A, machine, sizeof(machine)));
  if (!o->test) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %s\n  solver           columns place  type              way     iterations set-up(s)  solve(s)   speed  residual  difference", machine));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  for (PetscInt k = 0; k < o->solvers; k++) {
    const Solver *solver;

    PetscCall(SolverFind(o->solver[k], &solver));
    PetscCall(RunSolver(o, system, solver, side, wrong));
  }
  for (PetscInt k = 0; k < o->types; k++) PetscCall(MatDestroy(&side[k].A));
  PetscCall(PetscFree(side));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  Options  o;
  PetscInt wrong = 0;

  PetscFunctionBeginUser;
  /* A default. It does not matter on a GPU, where auto takes blocks, too */
  PetscCall(PetscOptionsSetValue(NULL, "-mat_aijtcu_block_solvers", "always"));
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(GetOptions(&o));
  PetscCall(WarmUp(&o));
  for (PetscInt k = 0; k < o.families + o.files; k++) {
    System system;

    if (k < o.families) PetscCall(SystemGenerate(o.family[k], o.scale, o.hold, o.most, &system));
    else PetscCall(SystemLoad(o.file[k - o.families], o.dominant, o.springs, o.hold, o.most, &system));
    PetscCall(SystemShift(o.shift, &system));
    PetscCall(RunSystem(&o, &system, &wrong));
    PetscCall(SystemDestroy(&system));
  }
  PetscCall(DestroyOptions(&o));
  PetscCheck(!wrong, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " solves did not converge, or gave something else than the first type, see the ends of the lines", wrong);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -test_output -repeat 1

      test:
         suffix: families
         args: -families elasticity,stencil27-permuted -scale 0.0005 -columns 1,5 -solvers cg-jacobi,cg-gamg,richardson-gamg,gmres-jacobi,cg-icc,cg-jacobi-vector,cg-gamg-vector -mat_aijtcu_path {{tcu auto}}

      test: # two processes
         suffix: parallel
         nsize: 2
         args: -families stencil27 -scale 0.0005 -columns 1,5 -solvers cg-jacobi,bcg-jacobi,cg-gamg,gmres-jacobi

      test: # not symmetric, so gmres alone; a row lacks its diagonal entry, one has none at all
         suffix: file
         args: -f gaps.mtx -dominant -columns 4 -places host -types aij,aijtcu,aijtcu -solvers cg-icc,gmres-jacobi -csv solve.csv
         localrunfiles: gaps.mtx

      test: # a matrix that is not Hermitian
         suffix: shift
         requires: complex
         args: -families elasticity -scale 0.0005 -columns 5 -shift 0.5+0.5i -solvers cg-jacobi,gmres-jacobi,bcgs-jacobi -mat_aijtcu_path {{tcu auto}}

      test: # a solver that does not converge is an error
         suffix: wrong
         args: -scale 0.0005 -columns 3 -solvers cg-jacobi -cg-jacobi_ksp_max_it 2 -petsc_ci_portable_error_output
         filter: grep -o -e DIFFERENT -e "[0-9]* solves did not converge"

   test: # block solves, which PETSc before 3.26 and complex numbers do not have
      suffix: block
      args: -repeat 1 -scale 0.0005 -columns 6 -places host -solvers cg-jacobi,gmres-jacobi,bcg-jacobi
      filter: grep -o -e " seqaij.*tcu *block" -e "left out"

TEST*/
