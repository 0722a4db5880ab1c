static char help[] = "A clamped elastic beam under many loads, or any matrix with many right-hand sides, solved together by KSPMatSolve().\n\n"
                     "  ./loads                            forces and moments at several places of a steel beam, beside beam theory; deflections as VTK and PNG\n"
                     "  ./loads -compare                   the same again one after the other, and both times\n"
                     "  ./loads -f K.mtx -rhs F.mtx        K X = F of yours: .mtx, .mtx.gz or PETSc binary; the columns of F are the right-hand sides\n\n";

#include "cases.h"
#include "files.h"
#include "modes.h"
#include "machine.h"
#include "matload.h"
#include "options.h"
#include <petscaijtcu.h>

typedef struct {
  char      file[PETSC_MAX_PATH_LEN], forces[PETSC_MAX_PATH_LEN], directory[PETSC_MAX_PATH_LEN];
  PetscBool given, forced; /* -f, -rhs */
  PetscBool write, compare, test;
  char    **load;
  PetscInt  loads, places;
  PetscReal force;
} Options;

/* How the columns of a block fared */
typedef struct {
  PetscInt            n;
  KSPConvergedReason *reason; /* NULL: not known, because they were solved as PETSc does */
  PetscInt           *its;
  PetscReal          *residual, *largest; /* |F - K X|/|F|, and the largest displacement */
  PetscLogDouble      setup, together, apart;
  PetscReal           difference; /* of the block to what is solved one after the other */
} Results;

static PetscErrorCode GetOptions(MPI_Comm comm, Options *o)
{
  PetscBool directory;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(PetscStrncpy(o->directory, "loads-output", sizeof(o->directory)));
  o->places = 4;
  o->force  = 1000;
  PetscOptionsBegin(comm, NULL, "Load cases", NULL);
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-f", "File with a matrix (.mtx, .mtx.gz, PETSc binary) in place of the beam's stiffness", o->file, sizeof(o->file), &o->given));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-rhs", "File with a matrix whose columns are the right-hand sides; for the beam forces in N", o->forces, sizeof(o->forces), &o->forced));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-loads", "Loads of the beam, a list of x, y, z and torsion", "y,z,torsion,x", &o->loads, &o->load));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-places", "Places along the beam where each load acts, one after the other", 1, &o->places));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-force", "Each force (N); the moment of torsion is this force at the length of the section's longer side", &o->force));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-compare", "Solve again, together and one after the other, and time both", &o->compare));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-output_dir", "Folder for the pictures; made if missing", o->directory, sizeof(o->directory), &directory));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine, and write files only with -output_dir", &o->test));
  PetscOptionsEnd();
  o->write = (PetscBool)(!o->given && (directory || !o->test));
  PetscCheck(o->forced || !o->given, comm, PETSC_ERR_ARG_WRONG, "-f needs -rhs, a file with right-hand sides");
  PetscCall(ExampleFilesCheckRead(comm, o->given, (char *const[]){o->file}));
  PetscCall(ExampleFilesCheckRead(comm, o->forced, (char *const[]){o->forces}));
  if (o->write) PetscCall(ExampleFolderMake(comm, o->directory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LoadOperator(MPI_Comm comm, const char file[], Mat *K)
{
  PetscInt  m, n;
  PetscBool symmetric;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, K));
  PetscCall(MatSetType(*K, MATAIJTCU));
  PetscCall(MatSetFromOptions(*K));
  PetscCall(ExampleMatLoad(comm, file, *K));
  PetscCall(MatGetSize(*K, &m, &n));
  PetscCheck(m == n, comm, PETSC_ERR_ARG_SIZ, "%s holds a %" PetscInt_FMT " x %" PetscInt_FMT " matrix; a square one is needed", file, m, n);
  PetscCall(MatIsSymmetric(*K, 0, &symmetric));
  PetscCall(MatSetOption(*K, MAT_SYMMETRIC, symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Conjugate gradients with multigrid for a beam, with jacobi for another matrix; gmres for one that is not symmetric */
static PetscErrorCode CreateSolver(Mat K, PetscBool beam, KSP *ksp)
{
  PC        pc;
  PetscBool known, symmetric;

  PetscFunctionBegin;
  PetscCall(MatIsSymmetricKnown(K, &known, &symmetric));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)K), ksp));
  PetscCall(KSPSetOperators(*ksp, K, K));
  PetscCall(KSPSetType(*ksp, known && symmetric ? KSPCG : KSPGMRES));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, beam ? PCGAMG : PCJACOBI));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-9, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResultsCreate(PetscInt n, Results *r)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  r->n = n;
  PetscCall(PetscMalloc2(n, &r->residual, n, &r->largest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResultsDestroy(Results *r)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(r->residual, r->largest));
  PetscCall(PetscFree(r->reason));
  PetscCall(PetscFree(r->its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keep what the KSP knows of each column until its next solve */
static PetscErrorCode KeepColumns(KSP ksp, Results *r)
{
  const KSPConvergedReason *reason;
  const PetscInt           *its;
  PetscInt                  n;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUKSPGetColumns(ksp, &n, &reason, &its, NULL));
  if (n != r->n || r->reason) PetscFunctionReturn(PETSC_SUCCESS); /* solved as PETSc does, or in batches */
  PetscCall(PetscMalloc1(n, &r->reason));
  PetscCall(PetscMalloc1(n, &r->its));
  PetscCall(PetscArraycpy(r->reason, reason, n));
  PetscCall(PetscArraycpy(r->its, its, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The time of a solve of the block, in s */
static PetscErrorCode SolveTogether(KSP ksp, Mat K, Mat F, Mat X, PetscLogDouble *seconds)
{
  PetscLogDouble start;

  PetscFunctionBegin;
  PetscCall(ExampleTime(K, &start));
  PetscCall(KSPMatSolve(ksp, F, X));
  PetscCall(ExampleTime(K, seconds));
  *seconds -= start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveApart(KSP ksp, Mat K, Mat F, Mat X, PetscLogDouble *seconds)
{
  PetscLogDouble start;
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(F, NULL, &n));
  PetscCall(ExampleTime(K, &start));
  for (PetscInt k = 0; k < n; k++) {
    Vec f, x;

    PetscCall(MatDenseGetColumnVecRead(F, k, &f));
    PetscCall(MatDenseGetColumnVecWrite(X, k, &x));
    PetscCall(KSPSolve(ksp, f, x));
    PetscCall(MatDenseRestoreColumnVecWrite(X, k, &x));
    PetscCall(MatDenseRestoreColumnVecRead(F, k, &f));
  }
  PetscCall(ExampleTime(K, seconds));
  *seconds -= start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(KSP ksp, Mat K, Mat F, Mat X, Results *r)
{
  Mat            Y;
  PetscReal      norm;
  PetscLogDouble first;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(SolveApart(ksp, K, F, Y, &first));
  PetscCall(SolveApart(ksp, K, F, Y, &r->apart));
  PetscCall(SolveTogether(ksp, K, F, X, &r->together));
  PetscCall(MatAXPY(Y, -1, X, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(Y, NORM_FROBENIUS, &r->difference));
  PetscCall(MatNorm(X, NORM_FROBENIUS, &norm));
  if (norm > 0) r->difference /= norm;
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Residuals, and the largest displacement: the length of three unknowns of a node, or one unknown */
static PetscErrorCode Measure(Mat K, Mat F, Mat X, PetscBool beam, Results *r)
{
  Mat                R;
  PetscReal         *norm;
  PetscInt           m, lda;
  const PetscInt     width = beam ? 3 : 1;
  const PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(r->n, &norm));
  PetscCall(MatMatMult(K, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(MatAXPY(R, -1, F, SAME_NONZERO_PATTERN));
  PetscCall(MatGetColumnNorms(R, NORM_2, r->residual));
  PetscCall(MatGetColumnNorms(F, NORM_2, norm));
  PetscCall(MatDestroy(&R));
  PetscCall(MatGetLocalSize(X, &m, NULL));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayRead(X, &x));
  for (PetscInt k = 0; k < r->n; k++) {
    const PetscScalar *u = x + (size_t)k * lda;

    if (norm[k] > 0) r->residual[k] /= norm[k];
    r->largest[k] = 0;
    for (PetscInt i = 0; i < m; i += width) {
      PetscReal square = 0;

      for (PetscInt c = 0; c < width; c++) square += PetscRealPart(u[i + c] * PetscConj(u[i + c]));
      r->largest[k] = PetscMax(r->largest[k], PetscSqrtReal(square));
    }
  }
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, r->largest, (PetscMPIInt)r->n, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)K)));
  PetscCall(PetscFree(norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A prediction of beam theory in mm, and how far the computed one lies from it */
static PetscErrorCode PrintTheory(MPI_Comm comm, PetscReal computed, PetscReal theory)
{
  PetscFunctionBegin;
  if (theory > 0) PetscCall(PetscPrintf(comm, " %12.4g (%+6.2f%%)", 1e3 * (double)theory, (double)(100 * (computed - theory) / theory)));
  else PetscCall(PetscPrintf(comm, "            -          "));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without cases the right-hand sides are from a file */
static PetscErrorCode Report(const Options *o, const Beam *b, MPI_Comm comm, const LoadCase cases[], const Results *r)
{
  PetscFunctionBegin;
  if (cases) PetscCall(PetscPrintf(comm, " case  load            at (m)   largest (mm)     beam theory (mm)        with shear"));
  else PetscCall(PetscPrintf(comm, " case  largest%s", o->given ? "" : " displacement (mm)"));
  PetscCall(PetscPrintf(comm, o->test ? "\n" : "   iterations  residual  reason\n"));
  for (PetscInt k = 0; k < r->n; k++) {
    PetscReal slender, shear;

    PetscCall(PetscPrintf(comm, " %4" PetscInt_FMT, k + 1));
    if (cases) {
      PetscCall(PetscPrintf(comm, "  %-12s %9.4g   %12.4g", BeamMotions[cases[k].motion], (double)cases[k].distance, 1e3 * (double)r->largest[k]));
      BeamDeflection(b, cases[k].motion, PetscAbsReal(cases[k].load), cases[k].distance, &slender, &shear);
      PetscCall(PrintTheory(comm, r->largest[k], slender));
      PetscCall(PrintTheory(comm, r->largest[k], shear));
    } else PetscCall(PetscPrintf(comm, "  %.6g", (o->given ? 1 : 1e3) * (double)r->largest[k]));
    if (!o->test && r->reason) PetscCall(PetscPrintf(comm, "  %8" PetscInt_FMT "   %.1e  %s", r->its[k], (double)r->residual[k], KSPConvergedReasons[r->reason[k]]));
    else if (!o->test) PetscCall(PetscPrintf(comm, "         -   %.1e  -", (double)r->residual[k]));
    PetscCall(PetscPrintf(comm, "\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WritePictures(const Options *o, const Beam *b, Mat K, Mat X, const Results *r)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)K);
  Modes       shapes;
  PetscMPIInt rank;
  char        vtk[PETSC_MAX_PATH_LEN], png[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscSNPrintf(vtk, sizeof(vtk), "%s/loads.vtk", o->directory));
  PetscCall(PetscSNPrintf(png, sizeof(png), "%s/loads.png", o->directory));
  PetscCall(ModesCreate(b, r->n, "load", "mm", &shapes));
  for (PetscInt k = 0; k < r->n; k++) {
    Vec x;

    PetscCall(MatDenseGetColumnVecRead(X, k, &x));
    PetscCall(ModesSet(&shapes, k, 1e3 * r->largest[k], x));
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &x));
  }
  if (rank == 0) {
    PetscCall(ModesWriteVTK(&shapes, vtk));
    PetscCall(ModesDraw(&shapes, png));
  }
  PetscCall(ModesDestroy(&shapes));
  PetscCall(PetscPrintf(comm, "Deflections: %s (ParaView: Warp By Vector) and %s\n", vtk, png));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ran, on which machine, and how fast */
static PetscErrorCode Closing(const Options *o, KSP ksp, Mat K, const Results *r)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)K);
  PetscMPIInt size;
  PC          pc;
  MatType     type;
  KSPType     ksptype;
  PCType      pctype;
  char        machine[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetType(K, &type));
  PetscCall(KSPGetType(ksp, &ksptype));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetType(pc, &pctype));
  PetscCall(ExampleMachine(K, machine, sizeof(machine)));
  PetscCall(PetscPrintf(comm, "%s on %d rank%s, %s: %s with %s, set up in %.3f s, %" PetscInt_FMT " right-hand sides %s in %.3f s\n", type, size, size > 1 ? "s" : "", machine, ksptype, pctype, r->setup, r->n, r->reason ? "as a block" : "by PETSc's KSPMatSolve()", r->together));
  if (o->compare) PetscCall(PetscPrintf(comm, "One after the other in %.3f s: %.2fx; the solutions differ by %.1e\n", r->apart, r->apart / r->together, (double)r->difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckConverged(KSP ksp, const Results *r)
{
  MPI_Comm           comm = PetscObjectComm((PetscObject)ksp);
  KSPConvergedReason worst;
  PetscInt           failed = 0;

  PetscFunctionBegin;
  PetscCall(KSPGetConvergedReason(ksp, &worst));
  for (PetscInt k = 0; r->reason && k < r->n; k++) failed += r->reason[k] < 0;
  PetscCheck(!failed, comm, PETSC_ERR_NOT_CONVERGED, "%" PetscInt_FMT " of %" PetscInt_FMT " right-hand sides did not converge: try more iterations (-ksp_max_it), a larger tolerance (-ksp_rtol), or another solver (-ksp_type, -pc_type)", failed, r->n);
  PetscCheck(worst > 0, comm, PETSC_ERR_NOT_CONVERGED, "The solve did not converge (%s): try more iterations (-ksp_max_it), a larger tolerance (-ksp_rtol), or another solver (-ksp_type, -pc_type)", KSPConvergedReasons[worst]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  MPI_Comm       comm;
  Options        o;
  Beam           b;
  Mat            K, F, X;
  KSP            ksp;
  LoadCase      *cases = NULL;
  Results        r;
  PetscInt       n, N;
  PetscLogDouble start;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  comm = PETSC_COMM_WORLD;
  PetscCall(GetOptions(comm, &o));
  if (o.given) PetscCall(LoadOperator(comm, o.file, &K));
  else {
    PetscCall(BeamSetFromOptions(comm, &b));
    PetscCall(BeamStiffness(comm, &b, &K));
  }
  if (o.forced) PetscCall(LoadForces(o.forces, K, &F));
  else {
    PetscCall(LoadCasesCreate(&b, o.loads, o.load, o.places, o.force, &N, &cases));
    PetscCall(LoadCasesForces(&b, N, cases, K, &F));
  }
  if (!o.given) PetscCall(MatScale(F, 1 / (b.young * b.unit))); /* the matrix is in these units */
  PetscCall(MatGetSize(F, &n, &N));
  PetscCall(PetscPrintf(comm, "%" PetscInt_FMT " unknowns, %" PetscInt_FMT " right-hand sides\n", n, N));
  PetscCall(MatDuplicate(F, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(ResultsCreate(N, &r));

  PetscCall(CreateSolver(K, (PetscBool)!o.given, &ksp));
  PetscCall(ExampleTime(K, &start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ExampleTime(K, &r.setup));
  r.setup -= start;
  PetscCall(SolveTogether(ksp, K, F, X, &r.together));
  PetscCall(KeepColumns(ksp, &r));
  PetscCall(CheckConverged(ksp, &r));
  if (o.compare) PetscCall(Compare(ksp, K, F, X, &r));
  PetscCall(Measure(K, F, X, (PetscBool)!o.given, &r));
  PetscCall(Report(&o, &b, comm, cases, &r));
  if (o.write) PetscCall(WritePictures(&o, &b, K, X, &r));
  if (!o.test) PetscCall(Closing(&o, ksp, K, &r));
  /* How close they must be depends on the tolerance and on the condition of the matrix: known for tests only */
  PetscCheck(!o.test || r.difference <= (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-6), comm, PETSC_ERR_PLIB, "The solutions of the block and of the right-hand sides one after the other differ by %g", (double)r.difference);

  PetscCall(ResultsDestroy(&r));
  PetscCall(PetscFree(cases));
  PetscCall(ExampleListDestroy(o.loads, &o.load));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&K));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset: # by columns, and as a block, which must be the same
      requires: double
      args: -test_output -nx 24 -ny 2 -nz 3 -compare
      diff_args: -j
      output_file: output/loads_beam.out
      test:
         suffix: beam
         nsize: {{1 3}}
         args: -mat_type {{aij aijtcu}}
      test:
         suffix: beam_block
         nsize: {{1 2}}
         args: -mat_type aijtcu -mat_aijtcu_block_solvers always -pc_type {{gamg jacobi}}

   test: # each column has its own number of iterations, and its reason
      suffix: columns
      requires: double !complex
      args: -nx 24 -ny 2 -nz 3 -places 2 -loads torsion,y -mat_type aijtcu -mat_aijtcu_block_solvers always -output_dir loads-files
      filter: grep -c -e " CONVERGED_RTOL" -e "4 right-hand sides as a block"

   testset: # solutions whose largest numbers are 5, 7, 1 and 0
      args: -test_output -f skewed.mtx -rhs columns.mtx -compare
      localrunfiles: skewed.mtx columns.mtx
      diff_args: -j
      output_file: output/loads_files.out
      test:
         suffix: files
         nsize: {{1 2 3}}
         args: -mat_type {{aij aijtcu}}
      test:
         suffix: files_block
         nsize: {{1 3}}
         args: -mat_type aijtcu -mat_aijtcu_block_solvers always -ksp_type {{gmres bcgs}}

   test: # a force of 1000 N at the free end, as -loads z -places 1 has it
      suffix: forces
      requires: double
      nsize: {{1 2}}
      args: -test_output -nx 2 -ny 1 -nz 1 -rhs forces.mtx -mat_type aijtcu
      localrunfiles: forces.mtx
      diff_args: -j

   test:
      suffix: banana
      args: -loads y,banana
      filter: Error: grep -o -m 1 -e "-loads must be.*"

   test:
      suffix: places
      args: -nx 3 -places 4
      filter: Error: grep -o -m 1 -e "-places 4.*"

   test:
      suffix: no_rhs
      args: -f skewed.mtx
      localrunfiles: skewed.mtx
      filter: Error: grep -o -m 1 -e "-f needs.*"

   test: # right-hand sides of another matrix
      suffix: rows
      nsize: {{1 2}}
      args: -nx 2 -ny 1 -nz 1 -rhs columns.mtx
      localrunfiles: columns.mtx
      filter: Error: grep -o -m 1 -e "columns.mtx holds.*"

   test:
      suffix: diverged
      requires: double !complex
      args: -test_output -nx 12 -ny 1 -nz 1 -loads x,y -places 1 -mat_type aijtcu -mat_aijtcu_block_solvers always -pc_type jacobi -ksp_max_it 3
      filter: Error: grep -o -m 1 -e "2 of 2 right-hand sides did not converge"

TEST*/
