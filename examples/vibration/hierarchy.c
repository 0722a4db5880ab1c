#include "beam.h"

enum {
  MOST_LEVELS     = 100, /* more than the halvings of three 31-bit numbers */
  COARSE_UNKNOWNS = 400  /* few enough that a solve on the host takes little time */
};

/*
   Halve the number of elements in the directions where they are shortest, so that long elements become cubes before
   cubes become larger. A smoother that treats all unknowns alike leaves nothing rough on cubes, but much along the
   long side of an element. False if nothing can be halved.
*/
PetscBool BeamCoarsen(const Beam *fine, Beam *coarse)
{
  const PetscReal h[3] = {fine->lx / fine->nx, fine->ly / fine->ny, fine->lz / fine->nz};
  const PetscReal most = (PetscReal)1.5 * PetscMin(h[0], PetscMin(h[1], h[2]));

  *coarse = *fine; /* the unit of length stays that of the finest mesh */
  if (h[0] <= most) coarse->nx = (fine->nx + 1) / 2;
  if (h[1] <= most) coarse->ny = (fine->ny + 1) / 2;
  if (h[2] <= most) coarse->nz = (fine->nz + 1) / 2;
  return (PetscBool)(coarse->nx < fine->nx || coarse->ny < fine->ny || coarse->nz < fine->nz);
}

/*
   Linear interpolation along one direction, from n elements to node i of m. Gives the first node, its weight, and that
   of the next one. Returns how many of the two count. The meshes need not be nested.
*/
static PetscInt Interpolate(PetscInt m, PetscInt n, PetscInt i, PetscInt *first, PetscReal weight[2])
{
  const PetscInt64 position = (PetscInt64)i * n; /* in m-ths of an element of the coarse mesh */

  *first    = (PetscInt)(position / m);
  weight[1] = (PetscReal)(position % m) / m;
  weight[0] = 1 - weight[1];
  return weight[1] > 0 ? 2 : 1;
}

/*
   Trilinear interpolation of displacements from the nodes of a coarse mesh to those of a fine one. The clamped nodes
   (i = 0) do not move.
*/
static PetscErrorCode Interpolation(const Beam *fine, const Beam *coarse, Mat Kf, Mat Kc, Mat *P)
{
  PetscInt rstart, rend, m, n;
  MatType  type;

  PetscFunctionBegin;
  PetscCall(MatGetType(Kf, &type));
  PetscCall(MatGetOwnershipRange(Kf, &rstart, &rend));
  PetscCall(MatGetLocalSize(Kf, &m, NULL));
  PetscCall(MatGetLocalSize(Kc, &n, NULL));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)Kf), P));
  PetscCall(MatSetSizes(*P, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*P, type));
  PetscCall(MatSeqAIJSetPreallocation(*P, 8, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*P, 8, NULL, 8, NULL));
  PetscCall(MatSetOption(*P, MAT_SORTED_FULL, PETSC_TRUE)); /* rows are complete, and in order */
  PetscCall(MatSetOption(*P, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  for (PetscInt r = rstart; r < rend; r++) {
    PetscInt    p[3], first[3], reach[3], col[8], count = 0;
    PetscReal   weight[3][2];
    PetscScalar value[8];

    BeamNodePosition(fine, r / 3, p);
    reach[0] = Interpolate(fine->nx, coarse->nx, p[0], &first[0], weight[0]);
    reach[1] = Interpolate(fine->ny, coarse->ny, p[1], &first[1], weight[1]);
    reach[2] = Interpolate(fine->nz, coarse->nz, p[2], &first[2], weight[2]);
    for (PetscInt i = first[0] == 0 ? 1 : 0; i < reach[0]; i++) {
      for (PetscInt j = 0; j < reach[1]; j++) {
        for (PetscInt k = 0; k < reach[2]; k++) {
          col[count]     = 3 * BeamNode(coarse, first[0] + i, first[1] + j, first[2] + k) + r % 3;
          value[count++] = weight[0][i] * weight[1][j] * weight[2][k];
        }
      }
    }
    PetscCall(MatSetValues(*P, 1, &r, count, col, value, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Solver for the coarsest mesh. The mesh is small, and is solved on the host even if the matrices are on a device: a
   triangular solve with cuSPARSE takes longer than copying the vector to the host and back. With several processes
   PETSc factors on each.
*/
static PetscErrorCode SetCoarseSolver(PC pc)
{
  KSP       ksp;
  PC        factor;
  PetscBool redundant;

  PetscFunctionBegin;
  PetscCall(PCMGGetCoarseSolve(pc, &ksp));
  PetscCall(KSPGetPC(ksp, &factor));
  PetscCall(PetscObjectTypeCompare((PetscObject)factor, PCREDUNDANT, &redundant));
  if (redundant) {
    PetscCall(PCRedundantGetKSP(factor, &ksp));
    PetscCall(KSPGetPC(ksp, &factor));
  }
  PetscCall(PCSetType(factor, PCCHOLESKY));
  PetscCall(PCFactorSetMatSolverType(factor, MATSOLVERPETSC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Make pc multigrid on coarser and coarser meshes of the same beam. On each mesh a stiffness matrix is assembled, of
   the type of K, instead of a product of the finer one with interpolations. So nothing larger than K is made on the
   way, and coarse matrices have no more entries in a row than K. Elements with bubbles bend without locking even if
   they are few, so a coarse beam bends as the fine one does.

   Restrictions are stored, not applied as transposes: the fast kernels multiply a matrix, not its transpose, with a
   block of vectors.
*/
PetscErrorCode BeamMultigrid(const Beam *b, Mat K, PC pc)
{
  Beam     mesh[MOST_LEVELS];
  PetscInt levels = 1;
  Mat      fine   = K, coarse, P, R;
  KSP      smoother;

  PetscFunctionBegin;
  mesh[0] = *b;
  while (levels < MOST_LEVELS && (levels == 1 || 3 * BeamNodes(&mesh[levels - 1]) > COARSE_UNKNOWNS) && BeamCoarsen(&mesh[levels - 1], &mesh[levels])) levels++;
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(SetCoarseSolver(pc));
  PetscCall(PetscObjectReference((PetscObject)fine));
  for (PetscInt l = 1; l < levels; l++) { /* PETSc counts levels from the coarsest */
    PetscCall(BeamStiffness(PetscObjectComm((PetscObject)K), &mesh[l], &coarse));
    PetscCall(Interpolation(&mesh[l - 1], &mesh[l], fine, coarse, &P));
    PetscCall(MatTranspose(P, MAT_INITIAL_MATRIX, &R));
    PetscCall(PCMGSetInterpolation(pc, levels - l, P));
    PetscCall(PCMGSetRestriction(pc, levels - l, R));
    PetscCall(PCMGGetSmoother(pc, levels - 1 - l, &smoother));
    PetscCall(KSPSetOperators(smoother, coarse, coarse));
    PetscCall(MatDestroy(&P));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&fine));
    fine = coarse;
  }
  PetscCall(MatDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}
