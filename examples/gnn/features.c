/*
   X W, where X has the sparse features of the nodes of this process. In training entries of X are dropped, which are
   others in every step. So the values of X are put anew.
*/
#include "layer.h"

typedef struct {
  PetscReal dropout;
  Pattern   pattern;
  Vec       clean; /* the values without dropout */
  Real     *a;     /* its array */
  Mat       X;
  Block     W, dW;
} Features;

static PetscErrorCode FeaturesForward(Layer layer, const Pass *pass)
{
  Features     *f = (Features *)layer->data;
  const Dropout d = {f->a, f->pattern.id, LayerMask(layer, pass, f->dropout, 0), f->pattern.v};

  PetscFunctionBegin;
  EntriesRun(Dropout, layer->nodes, &d, f->pattern.nz);
  PetscCall(PatternPut(&f->pattern, f->X));
  PetscCall(ProductRun(layer->out.local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FeaturesBackward(Layer layer, const Pass *pass)
{
  Features *f = (Features *)layer->data;

  PetscFunctionBegin;
  (void)pass;
  PetscCall(ProductRun(f->dW.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FeaturesSetUp(Layer layer)
{
  Features *f = (Features *)layer->data;

  PetscFunctionBegin;
  PetscCall(ProductCreate(f->X, f->W.mat, MATPRODUCT_AB, layer->out.local));
  PetscCall(ProductCreate(f->X, layer->dout.local, MATPRODUCT_AtB, f->dW.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FeaturesDestroy(Layer layer)
{
  Features *f = (Features *)layer->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&f->X));
  PetscCall(VecDestroy(&f->clean));
  PetscCall(PatternDestroy(&f->pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerFeatures(const Nodes *nodes, const Graph *g, Params *params, PetscInt cols, PetscReal dropout, PetscReal decay, Layer *layer)
{
  Features *f;
  PetscInt  F;

  PetscFunctionBegin;
  PetscCall(LayerCreate(nodes, NULL, cols, sizeof(*f), layer));
  (*layer)->setup    = FeaturesSetUp;
  (*layer)->forward  = FeaturesForward;
  (*layer)->backward = FeaturesBackward;
  (*layer)->destroy  = FeaturesDestroy;
  f                  = (Features *)(*layer)->data;
  f->dropout         = dropout;
  PetscCall(MatGetSize(g->features, NULL, &F));
  PetscCall(PatternCreate(nodes, g->features, nodes->first, 1, &f->pattern));
  PetscCall(ListCreate(nodes, sizeof(*f->a) * (size_t)f->pattern.nz, NULL, &f->clean, &f->a));
  PetscCall(VecCopy(f->pattern.value, f->clean));
  PetscCall(PatternMat(&f->pattern, &f->X));
  PetscCall(ParamsAdd(params, "features", F, cols, decay, &f->W, &f->dW));
  PetscFunctionReturn(PETSC_SUCCESS);
}
