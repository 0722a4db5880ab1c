static char help[] = "A slender beam: frequencies are those of beam theory, and where rounding does not let the residuals meet the tolerance, Solve() says so.\n\n";

#include "solve.h"
#include <petscaijtcu.h>

int main(int argc, char **args)
{
  Beam             b;
  Mat              K, M;
  EPS              eps;
  SolveStatistics  s;
  const char      *end       = "not converged";
  const BeamMotion motion[4] = {BEAM_BENDING_Y, BEAM_BENDING_Z, BEAM_BENDING_Y, BEAM_BENDING_Z};

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(BeamSetFromOptions(PETSC_COMM_WORLD, &b));
  PetscCall(BeamStiffness(PETSC_COMM_WORLD, &b, &K));
  PetscCall(BeamMass(PETSC_COMM_WORLD, &b, &M));
  PetscCall(Solve(&b, K, M, PETSC_TRUE, NULL, &eps, &s));
  if (s.converged == s.wanted) end = s.rounded ? "converged but for rounding" : "converged";
  else if (s.stagnated) end = "stopped by rounding";
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s\n", end, SLEPC_VERSION_LT(3, 26, 0) ? " (SLEPc before 3.26)" : ""));
  for (PetscInt i = 0; i < PetscMin(s.converged, 4); i++) {
    PetscScalar lambda;
    PetscReal   slender, shear, hertz;

    PetscCall(EPSGetEigenvalue(eps, i, &lambda, NULL));
    hertz = BeamFrequency(&b, PetscRealPart(lambda));
    BeamTheory(&b, motion[i], i / 2 + 1, &slender, &shear);
    if (!(PetscAbsReal(hertz - shear) <= (PetscReal)1e-3 * shear)) PetscCall(PetscPrintf(PETSC_COMM_WORLD,
      "frequency %" PetscInt_FMT " is %g Hz, and %g Hz by beam theory\n", i + 1, (double)hertz, (double)shear));
  }
  PetscCall(EPSDestroy(&eps));
  PetscCall(MatDestroy(&K));
  PetscCall(MatDestroy(&M));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

   testset: # before SLEPc 3.26 the solver is SLEPc's, which ends where rounding rules
      requires: double
      nsize: {{1 2}}
      args: -lx 10 -nx 400 -ny 2 -nz 2
      filter: sed -e "s/ (SLEPc before 3.26)//"
      test:
         suffix: slender
         args: -eps_tol 1e-2
      test:
         suffix: rounding
         args: -eps_tol {{1e-8 1e-13}}
         filter: sed -e "s/stopped by rounding (SLEPc before 3.26)/converged but for rounding/"
      test:
         suffix: stopped
         args: -eps_tol 1e-8 -eps_aijtcu_lobpcg off
      test: # a test that knows no rounding is never met
         suffix: unmet
         args: -eps_tol 1e-8 -eps_conv_rel -eps_max_it 40
         filter: sed -e "s/stopped by rounding (SLEPc before 3.26)/not converged/"

TEST*/
