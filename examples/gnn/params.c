#include "params.h"

/* Glorot's range; biases start with zero, a single number with one. w and dw are filled later, by ParamsSetUp() */
PetscErrorCode ParamsAdd(Params *p, const char name[], PetscInt rows, PetscInt cols, PetscReal decay, Block *w, Block *dw)
{
  Param *a = &p->param[p->n];

  PetscFunctionBegin;
  PetscCheck(p->n < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(p->param), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many parameters");
  *a = (Param){.name = name, .rows = rows, .cols = cols, .first = p->size, .decay = decay, .w = w, .dw = dw};
  if (rows == 1) a->start = cols == 1;
  else a->bound = PetscSqrtReal(6 / (PetscReal)(rows + cols));
  p->size += rows * cols;
  p->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ParamsSetUp(const Nodes *nodes, Params *p)
{
  Real *decay;

  PetscFunctionBegin;
  p->nodes = nodes;
  PetscCall(PetscMalloc1(p->size, &decay));
  for (PetscInt k = 0; k < p->n; k++) {
    for (PetscInt i = 0; i < p->param[k].rows * p->param[k].cols; i++) decay[p->param[k].first + i] = p->param[k].decay;
  }
  for (int k = 0; k < PARAMS_LISTS; k++) PetscCall(ListCreate(nodes, sizeof(*decay) * (size_t)p->size, k == PARAMS_DECAY ? decay : NULL, &p->list[k], &p->a[k]));
  PetscCall(PetscFree(decay));
  for (PetscInt k = 0; k < p->n; k++) {
    const Param *a = &p->param[k];

    PetscCall(BlockCreateLocal(nodes, a->rows, a->cols, p->a[PARAMS_W] + a->first, a->w));
    PetscCall(BlockCreateLocal(nodes, a->rows, a->cols, p->a[PARAMS_G] + a->first, a->dw));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New weights, from a seed, the same on all processes */
PetscErrorCode ParamsStart(Params *p, uint64_t seed)
{
  PetscScalar *w;

  PetscFunctionBegin;
  p->step = 0;
  for (int k = 0; k < PARAMS_DECAY; k++) PetscCall(VecSet(p->list[k], 0));
  PetscCall(VecGetArray(p->list[PARAMS_W], &w));
  for (PetscInt k = 0; k < p->n; k++) {
    const Param *a = &p->param[k];

    for (PetscInt i = a->first; i < a->first + a->rows * a->cols; i++) w[i] = a->start + a->bound * (PetscReal)(2 * EntryRandom(seed, (uint64_t)i) - 1);
  }
  PetscCall(VecRestoreArray(p->list[PARAMS_W], &w));
  PetscCall(ListBack(p->list[PARAMS_W]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gradients of all processes are added up */
PetscErrorCode ParamsSum(Params *p)
{
  PetscMPIInt  size, count;
  PetscScalar *g;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(p->nodes->comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast(p->size, &count));
  PetscCall(VecGetArray(p->list[PARAMS_G], &g));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, g, count, MPIU_SCALAR, MPIU_SUM, p->nodes->comm));
  PetscCall(VecRestoreArray(p->list[PARAMS_G], &g));
  PetscCall(ListBack(p->list[PARAMS_G]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ParamsStep(Params *p, PetscReal rate)
{
  Adam a = {.w = p->a[PARAMS_W], .m = p->a[PARAMS_M], .v = p->a[PARAMS_V], .g = p->a[PARAMS_G], .decay = p->a[PARAMS_DECAY], .rate = rate, .beta1 = (Real)0.9, .beta2 = (Real)0.999, .eps = (Real)1e-8};

  PetscFunctionBegin;
  p->step++;
  a.correction1 = (Real)(1 - pow(0.9, (double)p->step));
  a.correction2 = (Real)(1 - pow(0.999, (double)p->step));
  EntriesRun(Adam, p->nodes, &a, p->size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights are kept, and come back */
PetscErrorCode ParamsKeep(Params *p)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(p->list[PARAMS_W], p->list[PARAMS_BEST]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ParamsBack(Params *p)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(p->list[PARAMS_BEST], p->list[PARAMS_W]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ParamsDestroy(Params *p)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; k++) {
    PetscCall(BlockDestroy(p->param[k].w));
    PetscCall(BlockDestroy(p->param[k].dw));
  }
  for (int k = 0; k < PARAMS_LISTS; k++) PetscCall(VecDestroy(&p->list[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
