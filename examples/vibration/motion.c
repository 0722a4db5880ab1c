#include "beam.h"

const char *const BeamMotions[] = {"bending in y", "bending in z", "torsion", "axial", "other", "BeamMotion", "BEAM_", NULL};

/*
   The motion of a mode, and its order. Each cross-section's mean displacement and rotation about the axis say how much
   of the mode is each motion. A cantilever's n-th mode of any of them changes sign n-1 times along the beam. Counting
   the modes found so far would be wrong for a square section, whose bending modes are double.
*/
PetscErrorCode BeamClassify(const Beam *b, Vec mode, BeamMotion *motion, PetscInt *order)
{
  const PetscInt     section = (b->ny + 1) * (b->nz + 1);
  const PetscScalar *u;
  /* w: four motions for each section, and the squared displacement */
  PetscReal *w, part[4] = {0}, total, all = 0, polar = 0, largest = 0, last = 0;
  PetscInt   rstart, rend;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(4 * b->nx + 1, &w));
  for (PetscInt n = 0; n < section; n++) {
    PetscInt p[3];

    BeamNodePosition(b, n, p);
    polar += PetscSqr(b->ly * ((PetscReal)p[1] / b->ny - 0.5)) + PetscSqr(b->lz * ((PetscReal)p[2] / b->nz - 0.5));
  }
  PetscCall(VecGetOwnershipRange(mode, &rstart, &rend));
  PetscCall(VecGetArrayRead(mode, &u));
  for (PetscInt n = rstart / 3; n < rend / 3; n++) {
    PetscInt  p[3];
    PetscReal y, z, d[3], *s;

    BeamNodePosition(b, n, p);
    y = b->ly * ((PetscReal)p[1] / b->ny - 0.5);
    z = b->lz * ((PetscReal)p[2] / b->nz - 0.5);
    s = w + 4 * (p[0] - 1);
    for (PetscInt c = 0; c < 3; c++) d[c] = PetscRealPart(u[3 * n - rstart + c]);
    s[BEAM_BENDING_Y] += d[1] / PetscSqrtReal(section);
    s[BEAM_BENDING_Z] += d[2] / PetscSqrtReal(section);
    s[BEAM_TORSION] += (y * d[2] - z * d[1]) / PetscSqrtReal(polar);
    s[BEAM_AXIAL] += d[0] / PetscSqrtReal(section);
    all += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  }
  PetscCall(VecRestoreArrayRead(mode, &u));
  w[4 * b->nx] = all;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, w, 4 * b->nx + 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)mode)));
  total = w[4 * b->nx];
  for (PetscInt i = 0; i < b->nx; i++)
    for (PetscInt c = 0; c < 4; c++) part[c] += PetscSqr(w[4 * i + c]);
  *motion = BEAM_BENDING_Y;
  for (PetscInt c = 1; c < 4; c++)
    if (part[c] > part[*motion]) *motion = (BeamMotion)c;
  *order = 1;
  for (PetscInt i = 0; i < b->nx; i++) largest = PetscMax(largest, PetscAbsReal(w[4 * i + *motion]));
  for (PetscInt i = 0; i < b->nx; i++) {
    PetscReal now = w[4 * i + *motion];

    if (PetscAbsReal(now) < 0.001 * largest) continue; /* noise near the clamp */
    if (now * last < 0) ++*order;
    last = now;
  }
  if (part[*motion] < 0.5 * total) *motion = BEAM_OTHER;
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
