static char help[] = "Natural frequencies of a clamped elastic beam, or of the structure whose stiffness matrix is in a file.\n\n"
                     "  ./vibration                  a steel beam of 1 m x 5 cm x 6 cm, beside beam theory; mode shapes as VTK and PNG\n"
                     "  ./vibration -f matrix.mtx    eigenvalues of a stiffness matrix: .mtx, .mtx.gz or PETSc binary\n\n"
                     "The eigenproblem is solved by SLEPc's LOBPCG, whose work is products of sparse matrices with blocks of vectors.\n\n";

#include "files.h"
#include "modes.h"
#include "solve.h"
#include "machine.h"
#include "options.h"
#include "stiffness.h"
#include <petscaijtcu.h>

/* significant digits of a frequency */
#define DIGITS (PetscDefined(USE_REAL_SINGLE) ? 6 : 12)

typedef struct {
  char      file[PETSC_MAX_PATH_LEN], directory[PETSC_MAX_PATH_LEN];
  PetscBool given;           /* -f */
  PetscBool write, pictures; /* files at all; mode shapes among them */
  PetscBool profile;
  PetscBool test;
} Options;

static PetscErrorCode GetOptions(MPI_Comm comm, Options *o)
{
  PetscBool directory, none = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(PetscStrncpy(o->directory, "vibration-output", sizeof(o->directory)));
  PetscOptionsBegin(comm, NULL, "Natural frequencies", NULL);
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-f", "File with a stiffness matrix (.mtx, .mtx.gz, PETSc binary): its eigenvalues instead of the beam's. It must be symmetric, without negative eigenvalues", o->file, sizeof(o->file), &o->given));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-output_dir", "Folder for the table and the mode shapes; made if missing", o->directory, sizeof(o->directory), &directory));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-no_pictures", "Do not write the mode shapes", &none));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-profile", "Say what the solve was spent on (on the first process); it then waits for the device between its parts, and takes longer", &o->profile));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine, and write files only with -output_dir", &o->test));
  PetscOptionsEnd();
  o->write    = (PetscBool)(directory || !o->test);
  o->pictures = (PetscBool)(!none && !o->given);
  PetscCall(ExampleFilesCheckRead(comm, o->given, (char *const[]){o->file}));
  if (o->write) PetscCall(ExampleFolderMake(comm, o->directory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintProblem(const Options *o, const Beam *b, Mat K)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)K);
  PetscInt n;
  MatInfo  info;

  PetscFunctionBegin;
  PetscCall(MatGetSize(K, &n, NULL));
  PetscCall(MatGetInfo(K, MAT_GLOBAL_SUM, &info));
  if (o->given) PetscCall(PetscPrintf(comm, "K x = lambda x, K from %s\n", o->file));
  else PetscCall(PetscPrintf(comm, "Clamped beam, %g x %g x %g m, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " hexahedra%s\n", (double)b->lx, (double)b->ly, (double)b->lz, b->nx, b->ny, b->nz, b->bubbles ? " (incompatible modes)" : ""));
  PetscCall(PetscPrintf(comm, "%" PetscInt_FMT " unknowns, %.0f nonzeros\n", n, info.nz_used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print a value of beam theory, and how far the computed one lies from it */
static PetscErrorCode PrintTheory(MPI_Comm comm, PetscBool test, PetscReal computed, PetscReal theory)
{
  PetscFunctionBegin;
  if (theory > 0 && test) PetscCall(PetscPrintf(comm, " %10.4g (%+.1f%%)", (double)theory, (double)(100 * (computed - theory) / theory)));
  else if (theory > 0) PetscCall(PetscPrintf(comm, " %11.3f (%+6.2f%%)", (double)theory, (double)(100 * (computed - theory) / theory)));
  else PetscCall(PetscPrintf(comm, test ? "          -" : "           -          "));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeamRow(const Options *o, const Beam *b, PetscInt i, PetscReal hertz, PetscReal error, Vec x)
{
  MPI_Comm   comm = PetscObjectComm((PetscObject)x);
  BeamMotion motion;
  PetscInt   order;
  PetscReal  slender, shear;

  PetscFunctionBegin;
  PetscCall(BeamClassify(b, x, &motion, &order));
  BeamTheory(b, motion, order, &slender, &shear);
  if (o->test) PetscCall(PetscPrintf(comm, "%3" PetscInt_FMT " %-12s %2" PetscInt_FMT " %10.4g", i + 1, BeamMotions[motion], order, (double)hertz));
  else PetscCall(PetscPrintf(comm, "  %3" PetscInt_FMT "   %-12s %2" PetscInt_FMT "   %16.*g", i + 1, BeamMotions[motion], order, DIGITS, (double)hertz));
  PetscCall(PrintTheory(comm, o->test, hertz, slender));
  PetscCall(PrintTheory(comm, o->test, hertz, shear));
  if (!o->test) PetscCall(PetscPrintf(comm, "   %.1e", (double)error));
  PetscCall(PetscPrintf(comm, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FileRow(const Options *o, MPI_Comm comm, PetscInt i, PetscReal lambda, PetscReal error)
{
  PetscFunctionBegin;
  if (o->test) PetscCall(PetscPrintf(comm, "%3" PetscInt_FMT " %10.4g\n", i + 1, (double)lambda));
  else {
    PetscCall(PetscPrintf(comm, "  %3" PetscInt_FMT "   %18.*g   ", i + 1, DIGITS, (double)lambda));
    if (lambda > 0) PetscCall(PetscPrintf(comm, "%18.*g", DIGITS, (double)(PetscSqrtReal(lambda) / (2 * PETSC_PI))));
    else PetscCall(PetscPrintf(comm, "                 -"));
    PetscCall(PetscPrintf(comm, "   %.1e\n", (double)error));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print the table of modes, write it to a file, and gather the shapes */
static PetscErrorCode Report(const Options *o, const Beam *b, Mat K, EPS eps, PetscInt count, Modes *modes)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)K);
  Vec      x;
  FILE    *fp = NULL;
  char     file[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  if (!o->test && o->given) PetscCall(PetscPrintf(comm, "\n mode           eigenvalue       frequency (Hz)   |K x - lambda x|\n"));
  if (!o->test && !o->given) PetscCall(PetscPrintf(comm, "\n mode   motion            frequency (Hz)    beam theory (Hz)    with shear: Timoshenko   relative residual\n"));
  if (o->write) {
    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/frequencies.csv", o->directory));
    PetscCall(PetscFOpen(comm, file, "w", &fp));
    PetscCall(PetscFPrintf(comm, fp, "mode,eigenvalue,frequency_hz,%s\n", o->given ? "residual" : "relative_residual"));
  }
  PetscCall(MatCreateVecs(K, &x, NULL));
  for (PetscInt i = 0; i < count; i++) {
    PetscScalar value;
    PetscReal   lambda, hertz, error;

    PetscCall(EPSGetEigenpair(eps, i, &value, NULL, x, NULL));
    PetscCall(EPSComputeError(eps, i, o->given ? EPS_ERROR_ABSOLUTE : EPS_ERROR_RELATIVE, &error));
    lambda = PetscRealPart(value);
    if (o->given) {
      hertz = PetscSqrtReal(PetscMax(lambda, 0)) / (2 * PETSC_PI);
      PetscCall(FileRow(o, comm, i, lambda, error));
    } else {
      hertz  = BeamFrequency(b, lambda);
      lambda = PetscSqr(2 * PETSC_PI * hertz);
      PetscCall(BeamRow(o, b, i, hertz, error, x));
      if (o->pictures) PetscCall(ModesSet(modes, i, hertz, x));
    }
    if (fp) PetscCall(PetscFPrintf(comm, fp, "%" PetscInt_FMT ",%.15g,%.15g,%.3g\n", i + 1, (double)lambda, (double)hertz, (double)error));
  }
  PetscCall(VecDestroy(&x));
  if (fp) PetscCall(PetscFClose(comm, fp));
  if (!o->test && !o->given) PetscCall(PetscPrintf(comm, " Beam theory is Euler-Bernoulli (bending), Saint-Venant (torsion) and the bar (axial). It lets the clamped section\n contract and warp, which the solid cannot: slender, the computed frequencies lie a little above Timoshenko's.\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WritePictures(const Options *o, MPI_Comm comm, const Modes *modes)
{
  char        vtk[PETSC_MAX_PATH_LEN], png[PETSC_MAX_PATH_LEN];
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscSNPrintf(vtk, sizeof(vtk), "%s/modes.vtk", o->directory));
  PetscCall(PetscSNPrintf(png, sizeof(png), "%s/modes.png", o->directory));
  if (rank == 0) {
    PetscCall(ModesWriteVTK(modes, vtk));
    PetscCall(ModesDraw(modes, png));
  }
  PetscCall(PetscPrintf(comm, "Mode shapes: %s (ParaView: Warp By Vector) and %s\n", vtk, png));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ran, on which machine, and how fast */
static PetscErrorCode Closing(Mat K, const SolveStatistics *s, PetscLogDouble total)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)K);
  PetscMPIInt size;
  PetscInt    n;
  MatType     type;
  char        machine[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetSize(K, &n, NULL));
  PetscCall(MatGetType(K, &type));
  PetscCall(ExampleMachine(K, machine, sizeof(machine)));
  if (s->rounded) PetscCall(PetscPrintf(comm, "%" PetscInt_FMT " of these residuals are above the tolerance: rounding of K x keeps them there. Frequencies have more digits\n", s->rounded));
  PetscCall(PetscPrintf(comm, "%s on %d rank%s, %s: %" PetscInt_FMT " unknowns, %" PetscInt_FMT " iterations, %" PetscInt_FMT " block products in %.2f s; preconditioner set up in %.2f s, solved in %.2f s, %.2f s in all\n", type, size, size > 1 ? "s" : "", machine, n, s->iterations, s->products, s->product_time, s->setup, s->time, total));
  if (s->exchange.wait > 0) PetscCall(PetscPrintf(comm, "Of the products %.3f s went to pack rows for other processes, %.3f s to wait for theirs, %.3f s to multiply them\n", s->exchange.pack, s->exchange.wait, s->exchange.offdiagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  MPI_Comm        comm;
  Options         o;
  Beam            b;
  Mat             K, M = NULL;
  EPS             eps;
  SolveStatistics s;
  Profile         profile;
  Modes           modes = {0};
  PetscLogDouble  start, end;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscLogDefaultBegin()); /* counts and times the block products */
  PetscCall(PetscTime(&start));
  comm = PETSC_COMM_WORLD;
  PetscCall(GetOptions(comm, &o));
  if (o.given) PetscCall(StiffnessLoad(comm, o.file, &K));
  else {
    PetscCall(BeamSetFromOptions(comm, &b));
    PetscCall(BeamStiffness(comm, &b, &K));
    PetscCall(BeamMass(comm, &b, &M));
  }
  PetscCall(PrintProblem(&o, &b, K));

  PetscCall(Solve(o.given ? NULL : &b, K, M, o.test, o.profile ? &profile : NULL, &eps, &s));
  PetscCheck(!(s.negative < 0), comm, PETSC_ERR_ARG_WRONG, "%s holds an indefinite matrix: it has an eigenvalue of %g or below. LOBPCG and its preconditioners need a stiffness matrix: symmetric, without negative eigenvalues. For those of any symmetric matrix use another solver, such as -eps_type krylovschur -st_type shift", o.file, (double)s.negative);
  if (o.pictures) PetscCall(ModesCreate(&b, s.converged, "mode", "Hz", &modes));
  PetscCall(Report(&o, &b, K, eps, s.converged, &modes));
  if (o.write && o.pictures && s.converged) PetscCall(WritePictures(&o, comm, &modes));
  PetscCall(PetscTime(&end));
  if (!o.test) PetscCall(Closing(K, &s, end - start));
  if (o.profile) {
    PetscCall(PetscPrintf(comm, "The solve was spent on"));
    PetscCall(ProfilePrint(comm, &profile));
  }

  PetscCall(ModesDestroy(&modes));
  PetscCall(EPSDestroy(&eps));
  PetscCall(MatDestroy(&K));
  PetscCall(MatDestroy(&M));
  PetscCheck(s.converged == s.wanted || !s.stagnated, comm, PETSC_ERR_NOT_CONVERGED, "Only %" PetscInt_FMT " of %" PetscInt_FMT " eigenvalues converged, after %" PetscInt_FMT " iterations: rounding keeps the residual of the next one above the tolerance. Ask for a larger one (-eps_tol)", s.converged, s.wanted, s.iterations);
  PetscCheck(s.converged == s.wanted, comm, PETSC_ERR_NOT_CONVERGED, "Only %" PetscInt_FMT " of %" PetscInt_FMT " eigenvalues converged in %" PetscInt_FMT " iterations: try more (-eps_max_it), a larger tolerance (-eps_tol) or another preconditioner (-st_pc_type)", s.converged, s.wanted, s.iterations);
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

   test: # the parts of a solve; their shares differ from run to run, and small ones are left out
      suffix: profile
      requires: double
      filter: sed -n -e "s,.*spent on [a-z]* [0-9]* %.*,parts,p"
      args: -test_output -nx 24 -ny 2 -nz 3 -profile

   test:
      suffix: beam
      requires: double
      nsize: {{1 2 3 4}}
      args: -test_output -nx 24 -ny 2 -nz 3 -mat_type {{aij aijtcu}}
      diff_args: -j

   test:
      suffix: beam_paths
      requires: double
      nsize: {{1 3}}
      args: -test_output -nx 24 -ny 2 -nz 3 -mat_type aijtcu -mat_aijtcu_path {{tcu csr}}
      output_file: output/vibration_beam.out
      diff_args: -j

   test:
      suffix: beam_single
      requires: single
      nsize: {{1 2}}
      args: -test_output -mat_type {{aij aijtcu}}
      filter: cut -c 1-19

   # A refined mesh: as many iterations as on a coarse one, and the frequencies of a solver that has nothing in common
   # with LOBPCG but the matrices
   testset:
      requires: double
      args: -test_output -nx 79 -ny 5 -nz 6
      output_file: output/vibration_refined.out
      diff_args: -j
      test:
         suffix: refined
         nsize: {{1 2}}
         args: -mat_type {{aij aijtcu}} -eps_max_it 15
      test:
         suffix: refined_gamg
         args: -st_pc_type gamg
      test:
         suffix: refined_direct
         args: -eps_type krylovschur -st_type sinvert -st_ksp_type preonly -st_pc_type cholesky -eps_target 0 -eps_target_magnitude

   test:
      suffix: trilinear
      requires: double
      args: -test_output -bubbles 0 -nx 24 -ny 2 -nz 3 -eps_nev 4
      diff_args: -j

   test:
      suffix: files
      requires: double
      nsize: {{1 2}}
      args: -test_output -nx 12 -ny 2 -nz 2 -eps_nev 3 -output_dir vibration-files
      diff_args: -j

   test:
      suffix: chain
      nsize: {{1 2 3 4}}
      args: -test_output -f chain.mtx -eps_nev 4 -mat_type {{aij aijtcu}}
      localrunfiles: chain.mtx
      diff_args: -j

   test: # an error that names the entry, before a row that others refer to is taken for a fixed unknown
      suffix: unsymmetric
      nsize: {{1 3}}
      args: -test_output -f unsymmetric.mtx -mat_type {{aij aijtcu}}
      localrunfiles: unsymmetric.mtx
      filter: Error: grep -o -m 1 "unsymmetric.mtx holds.*"

   test:
      suffix: indefinite
      nsize: {{1 2}}
      args: -test_output -f indefinite.mtx -mat_type {{aij aijtcu}}
      localrunfiles: indefinite.mtx
      filter: Error: grep -o -m 1 "indefinite.mtx holds an indefinite matrix"

   test: # what the error is for: another solver finds them
      suffix: negative
      requires: double
      args: -test_output -f indefinite.mtx -eps_nev 3 -eps_type krylovschur -st_type shift
      localrunfiles: indefinite.mtx

   test:
      suffix: banana
      args: -test_output -nx banana
      filter: Error: grep -o -m 1 -e "-nx must be.*"

TEST*/
