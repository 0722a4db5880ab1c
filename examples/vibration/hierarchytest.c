static char help[] = "Checks the meshes of BeamMultigrid() against what is known without them: a trilinear displacement interpolates to itself, a restriction\n"
                     "is the transpose of its interpolation, and stretching the beam takes the energy that the material says.\n\n";

#include "beam.h"
#include <petscaijtcu.h>

#define TOLERANCE (1000 * PETSC_MACHINE_EPSILON)

/*
   A displacement field. Stretch: u_x = x. Otherwise a field that is trilinear, different in all directions, and zero
   where the beam is clamped.
*/
static PetscErrorCode SetField(const Beam *b, PetscBool stretch, Vec u)
{
  PetscScalar *v;
  PetscInt     rstart, rend;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(u, &rstart, &rend));
  PetscCall(VecGetArrayWrite(u, &v));
  for (PetscInt r = rstart; r < rend; r++) {
    PetscInt  p[3];
    PetscReal x, y, z;

    BeamNodePosition(b, r / 3, p);
    x = (PetscReal)p[0] / b->nx;
    y = (PetscReal)p[1] / b->ny;
    z = (PetscReal)p[2] / b->nz;
    if (stretch) v[r - rstart] = r % 3 == 0 ? x * b->lx / b->unit : 0;
    else v[r - rstart] = x * (1 + (r % 3) * y - 2 * z + 3 * y * z);
  }
  PetscCall(VecRestoreArrayWrite(u, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckInterpolation(const Beam *fine, const Beam *coarse, Mat P, Mat R)
{
  MPI_Comm  comm = PetscObjectComm((PetscObject)P);
  Vec       uf, uc, v, w;
  PetscReal norm, error;
  Mat       T;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(P, &uc, &uf));
  PetscCall(VecDuplicate(uf, &v));
  PetscCall(VecDuplicate(uc, &w));
  PetscCall(SetField(coarse, PETSC_FALSE, uc));
  PetscCall(SetField(fine, PETSC_FALSE, uf));
  PetscCall(MatMult(P, uc, v));
  PetscCall(VecAXPY(v, -1.0, uf));
  PetscCall(VecNorm(uf, NORM_INFINITY, &norm));
  PetscCall(VecNorm(v, NORM_INFINITY, &error));
  if (!(error <= TOLERANCE * norm)) PetscCall(PetscPrintf(comm, "interpolation from %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " elements is wrong by %g\n", coarse->nx, coarse->ny, coarse->nz, (double)error));
  PetscCall(MatTranspose(P, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatMult(R, uf, uc));
  PetscCall(MatMult(T, uf, w));
  PetscCall(VecNorm(w, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(w, -1.0, uc));
  PetscCall(VecNorm(w, NORM_INFINITY, &error));
  if (!(error <= TOLERANCE * norm)) PetscCall(PetscPrintf(comm, "restriction is not the transpose of interpolation\n"));
  PetscCall(MatDestroy(&T));
  PetscCall(VecDestroy(&uf));
  PetscCall(VecDestroy(&uc));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Energy of a strain of one along the beam and none across it. Twice the energy is the volume times (1 - nu) / ((1 +
   nu) (1 - 2 nu)).
*/
static PetscErrorCode CheckEnergy(const Beam *b, Mat K)
{
  const PetscReal expected = b->lx * b->ly * b->lz / PetscPowReal(b->unit, 3) * (1 - b->poisson) / ((1 + b->poisson) * (1 - 2 * b->poisson));
  Vec             u, f;
  PetscScalar     energy;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(K, &u, &f));
  PetscCall(SetField(b, PETSC_TRUE, u));
  PetscCall(MatMult(K, u, f));
  PetscCall(VecDot(f, u, &energy));
  if (!(PetscAbsReal(PetscRealPart(energy) - expected) <= TOLERANCE * b->nx * expected)) PetscCall(PetscPrintf(PetscObjectComm((PetscObject)K), "energy of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " elements is %g, not %g\n", b->nx, b->ny, b->nz, (double)PetscRealPart(energy), (double)expected));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  Beam     b, next;
  Mat      K, coarse, P, R;
  PC       pc;
  KSP      smoother;
  PetscInt levels;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(BeamSetFromOptions(PETSC_COMM_WORLD, &b));
  PetscCall(BeamStiffness(PETSC_COMM_WORLD, &b, &K));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(BeamMultigrid(&b, K, pc));
  PetscCall(PCMGGetLevels(pc, &levels));
  PetscCall(CheckEnergy(&b, K));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT "\n", b.nx, b.ny, b.nz));
  for (PetscInt l = levels - 1; l > 0; l--) {
    PetscCheck(BeamCoarsen(&b, &next), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "There are more levels than meshes");
    PetscCall(PCMGGetInterpolation(pc, l, &P));
    PetscCall(PCMGGetRestriction(pc, l, &R));
    PetscCall(PCMGGetSmoother(pc, l - 1, &smoother));
    PetscCall(KSPGetOperators(smoother, &coarse, NULL));
    PetscCall(CheckInterpolation(&b, &next, P, R));
    PetscCall(CheckEnergy(&next, coarse));
    b = next;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT "\n", b.nx, b.ny, b.nz));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&K));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 3}}
      args: -lx 0.6 -nx 31 -ny 7 -nz 6 -mat_type {{aij aijtcu}}

TEST*/
