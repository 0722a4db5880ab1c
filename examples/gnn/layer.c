#include "layer.h"

/* With bytes of zeros as data */
PetscErrorCode LayerCreate(const Nodes *nodes, Layer before, PetscInt cols, size_t bytes, Layer *layer)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(layer));
  PetscCall(PetscCalloc1(bytes, (char **)&(*layer)->data));
  (*layer)->nodes  = nodes;
  (*layer)->before = before;
  (*layer)->number = before ? before->number + 1 : 0;
  PetscCall(BlockCreate(nodes, 1, cols, NULL, &(*layer)->out));
  PetscCall(BlockCreate(nodes, 1, cols, NULL, &(*layer)->dout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerDestroy(Layer *layer)
{
  PetscFunctionBegin;
  if ((*layer)->destroy) PetscCall((*layer)->destroy(*layer));
  PetscCall(BlockDestroy(&(*layer)->out));
  PetscCall(BlockDestroy(&(*layer)->dout));
  PetscCall(PetscFree((*layer)->data));
  PetscCall(PetscFree(*layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dropout of a pass. Two of one layer differ in which */
EntryMask LayerMask(Layer layer, const Pass *pass, PetscReal p, uint64_t which)
{
  EntryMask mask = {pass->seed + 1000003 * (uint64_t)(2 * layer->number + 1) + which, pass->train ? (Real)p : 0};

  return mask;
}
