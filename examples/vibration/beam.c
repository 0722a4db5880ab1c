#include "beam.h"
#include "options.h"
#include <petscaijtcu.h>

enum {
  NODES   = 8,
  BUBBLES = 3,
  DOFS    = 3 * NODES,
  ALL     = 3 * (NODES + BUBBLES)
};

/* Sign of the natural coordinate d of node a of an element: node a lies at offset ((a>>2)&1, (a>>1)&1, a&1) */
static inline PetscInt Offset(PetscInt a, PetscInt d)
{
  return (a >> (2 - d)) & 1;
}

PetscErrorCode BeamSetFromOptions(MPI_Comm comm, Beam *b)
{
  PetscFunctionBegin;
  /*
     Single precision resolves frequencies down to a thousandth of the highest one of the mesh, so its beam is shorter
  */
  b->nx      = PetscDefined(USE_REAL_SINGLE) ? 10 : 40;
  b->ny      = 4;
  b->nz      = 5;
  b->lx      = PetscDefined(USE_REAL_SINGLE) ? 0.25 : 1.0;
  b->ly      = 0.05;
  b->lz      = 0.06;
  b->young   = 210e9;
  b->poisson = 0.3;
  b->density = 7850.0;
  b->bubbles = PETSC_TRUE;
  PetscOptionsBegin(comm, NULL, "Clamped beam", NULL);
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-nx", "Elements along the beam", 1, &b->nx));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-ny", "Elements across the beam, in y", 1, &b->ny));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-nz", "Elements across the beam, in z", 1, &b->nz));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-lx", "Length of the beam (m)", &b->lx));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-ly", "Side of the cross-section in y (m)", &b->ly));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-lz", "Side of the cross-section in z (m)", &b->lz));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-young", "Young's modulus (Pa)", &b->young));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-poisson", "Poisson's ratio", &b->poisson));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-density", "Density (kg/m^3)", &b->density));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-bubbles", "Add the bending modes of an element (incompatible modes) to its trilinear shape functions, against locking", &b->bubbles));
  PetscOptionsEnd();
  PetscCheck(b->lx > 0 && b->ly > 0 && b->lz > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "-lx, -ly and -lz are lengths, they must be positive");
  PetscCheck(b->young > 0 && b->density > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "-young and -density must be positive");
  PetscCheck(b->poisson > -1.0 && b->poisson < 0.5, comm, PETSC_ERR_ARG_OUTOFRANGE, "-poisson %g must lie between -1 and 0.5", (double)b->poisson);
  b->unit = PetscPowReal(b->lx / b->nx * b->ly / b->ny * b->lz / b->nz, 1.0 / 3.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frequency in Hz of an eigenvalue of the matrices, which are in units of Young's modulus, density and b->unit */
PetscReal BeamFrequency(const Beam *b, PetscReal lambda)
{
  return PetscSqrtReal(PetscMax(lambda, 0.0) * (b->young / b->density)) / (2 * PETSC_PI * b->unit);
}

/*
   Stiffness and mass of one element by 2x2x2 Gauss points. The bubbles 1 - xi^2, 1 - eta^2, 1 - zeta^2 are Wilson's
   incompatible modes. They let an element bend without shear, live inside the element, and are eliminated here. They
   carry no mass.
*/
static void ElementMatrices(const Beam *b, PetscReal K[DOFS][DOFS], PetscReal M[DOFS][DOFS])
{
  const PetscReal h[3]   = {b->lx / b->nx / b->unit, b->ly / b->ny / b->unit, b->lz / b->nz / b->unit};
  const PetscReal lambda = b->poisson / ((1 + b->poisson) * (1 - 2 * b->poisson)), mu = 1 / (2 * (1 + b->poisson));
  const PetscReal weight      = h[0] * h[1] * h[2] / 8;
  PetscReal       S[ALL][ALL] = {{0}};

  for (PetscInt i = 0; i < DOFS; i++)
    for (PetscInt j = 0; j < DOFS; j++) M[i][j] = 0;
  for (PetscInt q = 0; q < 8; q++) {
    PetscReal xi[3], N[NODES], G[NODES + BUBBLES][3] = {{0}}; /* shape functions and all gradients at this point */

    for (PetscInt d = 0; d < 3; d++) xi[d] = (2 * Offset(q, d) - 1) / PetscSqrtReal(3.0);
    for (PetscInt a = 0; a < NODES; a++) {
      N[a] = 1;
      for (PetscInt d = 0; d < 3; d++) {
        G[a][d] = (2 * Offset(a, d) - 1) / h[d];
        for (PetscInt e = 0; e < 3; e++) G[a][d] *= e == d ? 1 : (1 + (2 * Offset(a, e) - 1) * xi[e]) / 2;
        N[a] *= (1 + (2 * Offset(a, d) - 1) * xi[d]) / 2;
      }
    }
    for (PetscInt d = 0; d < BUBBLES; d++) G[NODES + d][d] = -4 * xi[d] / h[d];
    for (PetscInt a = 0; a < NODES + BUBBLES; a++) {
      for (PetscInt c = 0; c < NODES + BUBBLES; c++) {
        PetscReal dot = G[a][0] * G[c][0] + G[a][1] * G[c][1] + G[a][2] * G[c][2];

        for (PetscInt d = 0; d < 3; d++) {
          for (PetscInt e = 0; e < 3; e++) S[3 * a + d][3 * c + e] += weight * (lambda * G[a][d] * G[c][e] + mu * (G[a][e] * G[c][d] + (d == e ? dot : 0)));
          if (a < NODES && c < NODES) M[3 * a + d][3 * c + d] += weight * N[a] * N[c];
        }
      }
    }
  }
  if (b->bubbles) {
    for (PetscInt p = ALL - 1; p >= DOFS; p--) {
      for (PetscInt i = 0; i < p; i++) {
        for (PetscInt j = 0; j < p; j++) S[i][j] -= S[i][p] * S[p][j] / S[p][p];
      }
    }
  }
  for (PetscInt i = 0; i < DOFS; i++)
    for (PetscInt j = 0; j < DOFS; j++) K[i][j] = S[i][j];
}

/* Sum over the elements that hold node p and its neighbour p + offset: the 3x3 block that couples them */
static void NodeBlock(const Beam *b, const PetscReal E[DOFS][DOFS], const PetscInt p[3], const PetscInt offset[3], PetscReal block[3][3])
{
  const PetscInt n[3] = {b->nx, b->ny, b->nz};

  for (PetscInt c = 0; c < 3; c++)
    for (PetscInt d = 0; d < 3; d++) block[c][d] = 0;
  for (PetscInt a = 0; a < NODES; a++) { /* p is node a of the element, its neighbour node s */
    PetscInt  s      = 0;
    PetscBool inside = PETSC_TRUE;

    for (PetscInt d = 0; d < 3; d++) {
      PetscInt element = p[d] - Offset(a, d), o = Offset(a, d) + offset[d];

      if (element < 0 || element >= n[d] || o < 0 || o > 1) inside = PETSC_FALSE;
      s = 2 * s + o;
    }
    if (!inside) continue;
    for (PetscInt c = 0; c < 3; c++)
      for (PetscInt d = 0; d < 3; d++) block[c][d] += E[3 * a + c][3 * s + d];
  }
}

/*
   The blocks of a node and its 27 neighbours. They depend only on which elements around the node there are, so each
   kind of node is computed once. Few of the 32 kinds occur: there is an element before a node in x, because the first
   nodes are clamped
*/
typedef struct {
  PetscBool known[32];
  PetscReal block[32][27][3][3];
} Kinds;

static PetscReal (*BlocksOf(Kinds *kinds, const Beam *b, const PetscReal E[DOFS][DOFS], const PetscInt p[3]))[3][3]
{
  const PetscInt kind = (p[0] < b->nx) + 2 * (p[1] > 0) + 4 * (p[1] < b->ny) + 8 * (p[2] > 0) + 16 * (p[2] < b->nz);

  for (PetscInt s = 0; s < 27 && !kinds->known[kind]; s++) {
    const PetscInt offset[3] = {s / 9 - 1, s / 3 % 3 - 1, s % 3 - 1};

    NodeBlock(b, E, p, offset, kinds->block[kind][s]);
  }
  kinds->known[kind] = PETSC_TRUE;
  return kinds->block[kind];
}

/* The neighbours of a node that are there and not clamped, in order, and which of the 27 they are */
static PetscInt Neighbours(const Beam *b, const PetscInt p[3], PetscInt neighbour[27], PetscInt which[27])
{
  PetscInt n = 0;

  for (PetscInt s = 0; s < 27; s++) {
    const PetscInt i = p[0] + s / 9 - 1, j = p[1] + s / 3 % 3 - 1, k = p[2] + s % 3 - 1;

    if (i < 1 || i > b->nx || j < 0 || j > b->ny || k < 0 || k > b->nz) continue;
    neighbour[n] = BeamNode(b, i, j, k);
    which[n++]   = s;
  }
  return n;
}

/* Room for rows with these many entries: each process has rows of its own nodes */
static PetscErrorCode Preallocate(const Beam *b, PetscInt each, Mat A)
{
  PetscInt rstart, rend, *mine, *other;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(PetscCalloc2(rend - rstart, &mine, rend - rstart, &other));
  for (PetscInt node = rstart / 3; node < rend / 3; node++) {
    PetscInt p[3], neighbour[27], which[27], n;

    BeamNodePosition(b, node, p);
    n = Neighbours(b, p, neighbour, which);
    for (PetscInt s = 0; s < n; s++) {
      if (neighbour[s] >= rstart / 3 && neighbour[s] < rend / 3) mine[3 * node - rstart] += each;
      else other[3 * node - rstart] += each;
    }
    for (PetscInt c = 1; c < 3; c++) {
      mine[3 * node - rstart + c]  = mine[3 * node - rstart];
      other[3 * node - rstart + c] = other[3 * node - rstart];
    }
  }
  /* The one of these that is not for A's type does nothing */
  PetscCall(MatSeqAIJSetPreallocation(A, 0, mine));
  PetscCall(MatMPIAIJSetPreallocation(A, 0, mine, 0, other));
  PetscCall(PetscFree2(mine, other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Assemble the matrix whose elements are all E. Each process makes the rows of its own nodes, complete and in the order
   of their columns. So nothing is sent, and nothing is sorted. coupled says whether E has entries between different
   directions.
*/
static PetscErrorCode Assemble(const Beam *b, const PetscReal E[DOFS][DOFS], PetscBool coupled, Mat A)
{
  const PetscInt each = coupled ? 3 : 1; /* entries in a row for each neighbour */
  PetscInt       rstart, rend;
  Kinds         *kinds;

  PetscFunctionBegin;
  PetscCall(Preallocate(b, each, A));
  PetscCall(MatSetOption(A, MAT_SORTED_FULL, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(PetscNew(&kinds));
  for (PetscInt node = rstart / 3; node < rend / 3; node++) {
    PetscInt    p[3], neighbour[27], which[27], col[81], n;
    PetscScalar value[81];
    PetscReal(*block)[3][3];

    BeamNodePosition(b, node, p);
    block = BlocksOf(kinds, b, E, p);
    n     = Neighbours(b, p, neighbour, which);
    for (PetscInt c = 0; c < 3; c++) {
      const PetscInt row = 3 * node + c;

      for (PetscInt s = 0; s < n; s++) {
        for (PetscInt d = 0; d < each; d++) {
          col[each * s + d]   = 3 * neighbour[s] + (coupled ? d : c);
          value[each * s + d] = block[which[s]][c][coupled ? d : c];
        }
      }
      PetscCall(MatSetValues(A, 1, &row, each * n, col, value, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(kinds));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SPD_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with three unknowns for each of this process's nodes, of the type that -mat_type says */
static PetscErrorCode CreateMatrix(MPI_Comm comm, const Beam *b, Mat *A)
{
  PetscInt nodes = BeamNodes(b), mine = PETSC_DECIDE;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(comm, &mine, &nodes));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, 3 * mine, 3 * mine, 3 * nodes, 3 * nodes));
  PetscCall(MatSetBlockSize(*A, 3));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatAIJTCUSetExpectedProducts(*A, BEAM_PRODUCTS));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rigid motions of the beam: algebraic multigrid must represent them on its coarse levels */
static PetscErrorCode SetRigidMotions(const Beam *b, Mat K)
{
  Vec          coordinates;
  PetscScalar *x;
  PetscInt     rstart, rend;
  MatNullSpace rigid;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(K, &coordinates, NULL));
  PetscCall(MatGetOwnershipRange(K, &rstart, &rend));
  PetscCall(VecGetArrayWrite(coordinates, &x));
  for (PetscInt node = rstart / 3; node < rend / 3; node++) {
    PetscInt p[3];

    BeamNodePosition(b, node, p);
    x[3 * node - rstart]     = b->lx / b->unit * p[0] / b->nx;
    x[3 * node - rstart + 1] = b->ly / b->unit * p[1] / b->ny;
    x[3 * node - rstart + 2] = b->lz / b->unit * p[2] / b->nz;
  }
  PetscCall(VecRestoreArrayWrite(coordinates, &x));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &rigid));
  PetscCall(MatSetNearNullSpace(K, rigid));
  PetscCall(MatNullSpaceDestroy(&rigid));
  PetscCall(VecDestroy(&coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stiffness matrix of the mesh of b, in the unit of length of b */
PetscErrorCode BeamStiffness(MPI_Comm comm, const Beam *b, Mat *K)
{
  PetscReal stiffness[DOFS][DOFS], mass[DOFS][DOFS];

  PetscFunctionBegin;
  ElementMatrices(b, stiffness, mass);
  PetscCall(CreateMatrix(comm, b, K));
  PetscCall(Assemble(b, stiffness, PETSC_TRUE, *K));
  PetscCall(SetRigidMotions(b, *K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Consistent mass matrix */
PetscErrorCode BeamMass(MPI_Comm comm, const Beam *b, Mat *M)
{
  PetscReal stiffness[DOFS][DOFS], mass[DOFS][DOFS];

  PetscFunctionBegin;
  ElementMatrices(b, stiffness, mass);
  PetscCall(CreateMatrix(comm, b, M));
  PetscCall(Assemble(b, mass, PETSC_FALSE, *M));
  PetscFunctionReturn(PETSC_SUCCESS);
}
