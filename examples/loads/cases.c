#include "cases.h"
#include "matload.h"

/* A block of n columns whose rows are those of K, where vectors of K are */
static PetscErrorCode CreateBlock(Mat K, PetscInt n, Mat *B)
{
  VecType  type;
  PetscInt m;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(K, &type));
  PetscCall(MatGetLocalSize(K, &m, NULL));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)K), type, m, PETSC_DECIDE, PETSC_DETERMINE, n, PETSC_DECIDE, NULL, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Share of a node in what is distributed over its section, in faces: half at an edge, a quarter at a corner */
static PetscReal Share(const Beam *b, const PetscInt p[3])
{
  return (p[1] == 0 || p[1] == b->ny ? 0.5 : 1) * (p[2] == 0 || p[2] == b->nz ? 0.5 : 1);
}

/* Where a node lies in its section, from the middle of that, m */
static void Arm(const Beam *b, const PetscInt p[3], PetscReal arm[2])
{
  arm[0] = b->ly * ((PetscReal)p[1] / b->ny - 0.5);
  arm[1] = b->lz * ((PetscReal)p[2] / b->nz - 0.5);
}

static PetscErrorCode FindMotion(const char name[], BeamMotion *motion)
{
  static const char *const known[]   = {"x", "y", "z", "torsion"};
  const BeamMotion         motions[] = {BEAM_AXIAL, BEAM_BENDING_Y, BEAM_BENDING_Z, BEAM_TORSION};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(known); k++) {
    PetscBool found;

    PetscCall(PetscStrcmp(name, known[k], &found));
    *motion = motions[k];
    if (found) PetscFunctionReturn(PETSC_SUCCESS);
  }
  SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "-loads must be a list of x, y, z and torsion, not '%s'", name);
}

/*
   The cases that names say, at places that are evenly spaced along the beam, those at the free end first.
   The moment of torsion is that of the force at the length of the section's longer side. Free what is returned.
*/
PetscErrorCode LoadCasesCreate(const Beam *b, PetscInt names, char *const name[], PetscInt places, PetscReal force, PetscInt *n, LoadCase **cases)
{
  PetscFunctionBegin;
  PetscCheck(places <= b->nx, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-places %" PetscInt_FMT ": the beam has only %" PetscInt_FMT " sections to load (-nx)", places, b->nx);
  *n = 0;
  PetscCall(PetscMalloc1(names * places, cases));
  for (PetscInt place = places; place > 0; place--) {
    for (PetscInt k = 0; k < names; k++) {
      LoadCase *c = &(*cases)[(*n)++];

      PetscCall(FindMotion(name[k], &c->motion));
      c->section  = b->nx * place / places;
      c->distance = b->lx * c->section / b->nx;
      c->load     = force * (c->motion == BEAM_TORSION ? PetscMax(b->ly, b->lz) : 1);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Forces of generated cases, in N */
PetscErrorCode LoadCasesForces(const Beam *b, PetscInt n, const LoadCase cases[], Mat K, Mat *B)
{
  PetscScalar *f;
  PetscInt     lda, rstart, rend;
  PetscReal    turning = 0;

  PetscFunctionBegin;
  PetscCall(CreateBlock(K, n, B));
  PetscCall(MatZeroEntries(*B));
  PetscCall(MatGetOwnershipRange(K, &rstart, &rend));
  for (PetscInt node = 0; node < (b->ny + 1) * (b->nz + 1); node++) { /* polar moment of the shares */
    PetscInt  p[3];
    PetscReal arm[2];

    BeamNodePosition(b, node, p);
    Arm(b, p, arm);
    turning += Share(b, p) * (PetscSqr(arm[0]) + PetscSqr(arm[1]));
  }
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArray(*B, &f));
  for (PetscInt k = 0; k < n; k++) {
    const LoadCase *c = &cases[k];

    for (PetscInt node = rstart / 3; node < rend / 3; node++) {
      PetscScalar *at = f + (size_t)k * lda + (3 * node - rstart);
      PetscInt     p[3];
      PetscReal    arm[2], share;

      BeamNodePosition(b, node, p);
      if (p[0] != c->section) continue;
      Arm(b, p, arm);
      share = c->load * Share(b, p);
      if (c->motion == BEAM_TORSION) {
        at[1] = -share * arm[1] / turning;
        at[2] = share * arm[0] / turning;
      } else at[c->motion == BEAM_AXIAL ? 0 : c->motion == BEAM_BENDING_Y ? 1
                                                                          : 2] = share / (b->ny * b->nz);
    }
  }
  PetscCall(MatDenseRestoreArray(*B, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides from a file with a matrix, whose columns they are */
PetscErrorCode LoadForces(const char file[], Mat K, Mat *B)
{
  MPI_Comm     comm = PetscObjectComm((PetscObject)K);
  Mat          loaded, mine;
  IS           rows, cols;
  PetscScalar *f;
  PetscInt     m, n, k, lda, rstart, rend;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, &loaded));
  PetscCall(MatSetType(loaded, MATAIJ));
  PetscCall(ExampleMatLoad(comm, file, loaded));
  PetscCall(MatGetSize(loaded, &m, &k));
  PetscCall(MatGetSize(K, &n, NULL));
  PetscCheck(m == n && k > 0, comm, PETSC_ERR_ARG_SIZ, "%s holds a %" PetscInt_FMT " x %" PetscInt_FMT " matrix; right-hand sides are its columns, so it must have as many rows as there are unknowns, %" PetscInt_FMT, file, m, k, n);
  /* Each process gets the rows of K that it has */
  PetscCall(MatGetOwnershipRange(K, &rstart, &rend));
  PetscCall(ISCreateStride(comm, rend - rstart, rstart, 1, &rows));
  PetscCall(MatGetOwnershipRangeColumn(loaded, &m, &n));
  PetscCall(ISCreateStride(comm, n - m, m, 1, &cols));
  PetscCall(MatCreateSubMatrix(loaded, rows, cols, MAT_INITIAL_MATRIX, &mine));
  PetscCall(CreateBlock(K, k, B));
  PetscCall(MatZeroEntries(*B));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArray(*B, &f));
  for (PetscInt i = rstart; i < rend; i++) {
    PetscInt           entries;
    const PetscInt    *col;
    const PetscScalar *value;

    PetscCall(MatGetRow(mine, i, &entries, &col, &value));
    for (PetscInt e = 0; e < entries; e++) f[(size_t)col[e] * lda + (i - rstart)] = value[e];
    PetscCall(MatRestoreRow(mine, i, &entries, &col, &value));
  }
  PetscCall(MatDenseRestoreArray(*B, &f));
  PetscCall(MatDestroy(&mine));
  PetscCall(MatDestroy(&loaded));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}
