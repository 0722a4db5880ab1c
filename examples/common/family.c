#include "family.h"
#include "standin.h"

/* Nodes a side, or rows, for a GPU of 2024 */
static const PetscInt sizes[] = {[GENERATE_ELASTICITY] = 64, [GENERATE_POISSON7] = 128, [GENERATE_STENCIL27] = 96, [GENERATE_DOF8] = 40, [GENERATE_BANDED] = 1 << 19, [GENERATE_RANDOM] = 1 << 19, [GENERATE_RMAT] = 1 << 19, [GENERATE_ARROW] = 1000000, [GENERATE_TETRA] = 64, [GENERATE_BLOCKARROW] = 1 << 19, [GENERATE_POWERLAW] = 1 << 19};

/* What makes a matrix, and its rows */
typedef struct {
  GenerateKind kind;
  PetscBool    permuted;
  PetscInt     n, layers, rows, dof;
  PetscBool    other; /* a stand-in, and no kind */
  StandIn      standin;
} FamilySize;

/*
   "elasticity", or "elasticity-permuted", with scale times the rows of a full benchmark, copies times. A kind comes
   without a size
*/
static PetscErrorCode FamilyFind(const char name[], PetscReal scale, PetscInt copies, FamilySize *s)
{
  char      base[64], *end;
  PetscBool found;
  PetscEnum value;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(base, name, sizeof(base)));
  PetscCall(PetscStrendswith(base, "-permuted", &s->permuted));
  if (s->permuted) {
    PetscCall(PetscStrrstr(base, "-permuted", &end));
    *end = 0;
  }
  PetscCall(StandInFind(base, scale, copies, &s->standin, &s->other));
  if (s->other) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscEnumFind(GenerateKinds, base, &value, &found));
  if (!found) {
    char names[256] = "";

    for (int k = 0; k <= GENERATE_POWERLAW; k++) {
      PetscCall(PetscStrlcat(names, k ? ", " : "", sizeof(names)));
      PetscCall(PetscStrlcat(names, GenerateKinds[k], sizeof(names)));
    }
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s: no such family of matrices; there are %s, pruned1 to pruned99, blocks1 to blocks99, stand-ins for published graphs such as reddit-like, and law-ROWS-ENTRIES-LONGEST-PERCENT-SPAN (examples/common/standin.c); each with -permuted behind it", name, names);
  }
  s->kind = (GenerateKind)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check the names in a list. A wrong one is an error at once, not after all those before it */
PetscErrorCode FamilyCheck(PetscInt n, char *const names[])
{
  FamilySize s;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) PetscCall(FamilyFind(names[k], 1, 1, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix with scale times the rows of a full benchmark, copies times. These are cubes of a grid one behind the other,
   or as many rows
*/
static PetscErrorCode FamilySizeOf(const char name[], PetscReal scale, PetscInt copies, FamilySize *s)
{
  PetscBool grid;
  double    n;

  PetscFunctionBegin;
  PetscCall(FamilyFind(name, scale, copies, s));
  if (s->other) {
    s->rows = s->standin.rows;
    s->dof  = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  grid = GenerateIsGrid(s->kind);
  n    = floor(PetscMax(2, sizes[s->kind] * (grid ? cbrt((double)scale) : (double)scale * (double)copies) + 0.5));
  PetscCheck(n * (grid ? copies : 1) < (double)PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " times %g times %s has more rows than this PETSc's integers can count", copies, (double)scale, name);
  s->n      = (PetscInt)n;
  s->layers = grid ? s->n * copies : 0;
  PetscCall(GenerateRowCount(s->kind, s->n, s->layers, &s->rows, &s->dof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where each of so many parts of the rows begins, [parts + 1]. Unknowns of a node stay together */
PetscErrorCode FamilyStarts(const char name[], PetscReal scale, PetscInt copies, PetscInt parts, PetscInt starts[])
{
  FamilySize s;
  PetscInt   nodes;

  PetscFunctionBegin;
  PetscCall(FamilySizeOf(name, scale, copies, &s));
  nodes = s.rows / s.dof;
  for (PetscInt k = 0; k <= parts; k++) starts[k] = s.dof * (nodes / parts * k + PetscMin(k, nodes % parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows start to end - 1 */
PetscErrorCode FamilyRowsOf(const char name[], PetscReal scale, PetscInt copies, PetscInt start, PetscInt end, GenerateCSR *csr)
{
  FamilySize s;

  PetscFunctionBegin;
  PetscCall(FamilySizeOf(name, scale, copies, &s));
  if (s.other) PetscCall(StandInRows(&s.standin, s.permuted, start, end, csr));
  else PetscCall(GenerateRows(s.kind, s.n, s.layers, s.permuted, start, end, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows */
PetscErrorCode FamilyRows(const char name[], PetscReal scale, GenerateCSR *csr)
{
  PetscInt starts[2];

  PetscFunctionBegin;
  PetscCall(FamilyStarts(name, scale, 1, 1, starts));
  PetscCall(FamilyRowsOf(name, scale, 1, 0, starts[1], csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
