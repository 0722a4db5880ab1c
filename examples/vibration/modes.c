#include "modes.h"

/* Room for count of them. name and unit are constants of the program */
PetscErrorCode ModesCreate(const Beam *b, PetscInt count, const char name[], const char unit[], Modes *m)
{
  PetscFunctionBegin;
  m->beam  = b;
  m->count = count;
  m->name  = name;
  m->unit  = unit;
  m->u     = NULL;
  PetscCall(PetscMalloc1(count, &m->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gather mode number i, which has the given value, on rank 0 */
PetscErrorCode ModesSet(Modes *m, PetscInt i, PetscReal value, Vec x)
{
  VecScatter         gather;
  Vec                all;
  const PetscScalar *v;
  PetscInt           n;
  const size_t       size = 3 * (size_t)ModesNodes(m);

  PetscFunctionBegin;
  m->value[i] = value;
  PetscCall(VecScatterCreateToZero(x, &gather, &all));
  PetscCall(VecScatterBegin(gather, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(gather, x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetSize(all, &n));
  if (n) {
    float    *u;
    PetscReal largest = 0;

    if (!m->u) PetscCall(PetscCalloc1((size_t)m->count * size, &m->u));
    u = m->u + (size_t)(i + 1) * size - n; /* the clamped nodes come first, and stay zero */
    PetscCall(VecGetArrayRead(all, &v));
    for (PetscInt k = 0; k < n; k += 3) largest = PetscMax(largest, PetscSqr(PetscRealPart(v[k])) + PetscSqr(PetscRealPart(v[k + 1])) + PetscSqr(PetscRealPart(v[k + 2])));
    largest = largest > 0 ? PetscSqrtReal(largest) : 1;
    for (PetscInt k = 0; k < n; k++) u[k] = (float)(PetscRealPart(v[k]) / largest);
    PetscCall(VecRestoreArrayRead(all, &v));
  }
  PetscCall(VecScatterDestroy(&gather));
  PetscCall(VecDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ModesDestroy(Modes *m)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(m->value));
  PetscCall(PetscFree(m->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}
