#include "modes.h"

PetscErrorCode ModesCreate(const Beam *b, PetscInt count, Modes *m)
{
  PetscFunctionBegin;
  m->beam  = b;
  m->count = count;
  m->u     = NULL;
  PetscCall(PetscMalloc1(count, &m->hertz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gather mode number i, which has the given frequency, on rank 0 */
PetscErrorCode ModesSet(Modes *m, PetscInt i, PetscReal hertz, Vec x)
{
  VecScatter         gather;
  Vec                all;
  const PetscScalar *v;
  PetscInt           n;
  const size_t       size = 3 * (size_t)ModesNodes(m);

  PetscFunctionBegin;
  m->hertz[i] = hertz;
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
  PetscCall(PetscFree(m->hertz));
  PetscCall(PetscFree(m->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}
