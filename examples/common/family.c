#include "family.h"

/* Nodes a side, or rows, for a GPU of 2024 */
static const PetscInt sizes[] = {[GENERATE_ELASTICITY] = 64, [GENERATE_POISSON7] = 128, [GENERATE_STENCIL27] = 96, [GENERATE_DOF8] = 40, [GENERATE_BANDED] = 1 << 19, [GENERATE_RANDOM] = 1 << 19, [GENERATE_RMAT] = 1 << 19, [GENERATE_ARROW] = 1000000, [GENERATE_TETRA] = 64, [GENERATE_BLOCKARROW] = 1 << 19, [GENERATE_POWERLAW] = 1 << 19};

/* "elasticity", or "elasticity-permuted" */
PetscErrorCode FamilyFind(const char name[], GenerateKind *kind, PetscBool *permuted)
{
  char      base[64], *end;
  PetscBool found;
  PetscEnum value;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(base, name, sizeof(base)));
  PetscCall(PetscStrendswith(base, "-permuted", permuted));
  if (*permuted) {
    PetscCall(PetscStrrstr(base, "-permuted", &end));
    *end = 0;
  }
  PetscCall(PetscEnumFind(GenerateKinds, base, &value, &found));
  if (!found) {
    char names[256] = "";

    for (int k = 0; k <= GENERATE_POWERLAW; k++) {
      PetscCall(PetscStrlcat(names, k ? ", " : "", sizeof(names)));
      PetscCall(PetscStrlcat(names, GenerateKinds[k], sizeof(names)));
    }
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s: no such family of matrices; there are %s, and each with -permuted behind it", name, names);
  }
  *kind = (GenerateKind)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check the names in a list. A wrong one is an error at once, not after all those before it */
PetscErrorCode FamilyCheck(PetscInt n, char *const names[])
{
  GenerateKind kind;
  PetscBool    permuted;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) PetscCall(FamilyFind(names[k], &kind, &permuted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this process, the first of which is first, of a matrix with scale times the rows of a full benchmark */
PetscErrorCode FamilyRowsHere(MPI_Comm comm, const char name[], PetscReal scale, PetscInt *first, GenerateCSR *csr)
{
  GenerateKind kind;
  PetscBool    permuted;
  PetscInt     n, rows, dof, here = PETSC_DECIDE, nodes;

  PetscFunctionBegin;
  PetscCall(FamilyFind(name, &kind, &permuted));
  n = PetscMax(2, (PetscInt)(sizes[kind] * (GenerateIsGrid(kind) ? cbrt((double)scale) : (double)scale) + 0.5));
  PetscCall(GenerateRowCount(kind, n, &rows, &dof));
  nodes = rows / dof;
  PetscCall(PetscSplitOwnership(comm, &here, &nodes)); /* unknowns of a node stay together */
  here *= dof;
  PetscCallMPI(MPI_Scan(&here, first, 1, MPIU_INT, MPI_SUM, comm));
  *first -= here;
  PetscCall(GenerateRows(kind, n, permuted, *first, *first + here, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows, on each process */
PetscErrorCode FamilyRows(const char name[], PetscReal scale, GenerateCSR *csr)
{
  PetscInt first;

  PetscFunctionBegin;
  PetscCall(FamilyRowsHere(PETSC_COMM_SELF, name, scale, &first, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
