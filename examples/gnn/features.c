/*
   X W, where X has the sparse features of the nodes of this process. In training entries of X are dropped, which are
   others in every step. So X and X^T are matrices whose values are put anew, and X^T G is a product without atomics.
*/
#include "layer.h"

typedef struct {
  PetscReal dropout;
  Pattern   pattern;
  Vec       clean; /* the values without dropout */
  Real     *a;     /* its array */
  Mat       X, Xt;
  Block     W, dW;
} Features;

static PetscErrorCode FeaturesForward(Layer layer, const Pass *pass)
{
  Features     *f = (Features *)layer->data;
  const Dropout d = {f->a, f->pattern.id, LayerMask(layer, pass, f->dropout, 0), f->pattern.v};

  PetscFunctionBegin;
  EntriesRun(Dropout, layer->nodes, &d, f->pattern.nz);
  PetscCall(PatternPut(&f->pattern, f->X));
  PetscCall(MatProductNumeric(layer->out.local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FeaturesBackward(Layer layer, const Pass *pass)
{
  Features *f = (Features *)layer->data;

  PetscFunctionBegin;
  (void)pass;
  PetscCall(PatternPut(&f->pattern, f->Xt));
  PetscCall(MatProductNumeric(f->dW.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FeaturesSetUp(Layer layer)
{
  Features *f = (Features *)layer->data;

  PetscFunctionBegin;
  PetscCall(ProductCreate(f->X, f->W.mat, MATPRODUCT_AB, layer->out.local));
  PetscCall(ProductCreate(f->Xt, layer->dout.local, MATPRODUCT_AB, f->dW.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FeaturesDestroy(Layer layer)
{
  Features *f = (Features *)layer->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&f->X));
  PetscCall(MatDestroy(&f->Xt));
  PetscCall(VecDestroy(&f->clean));
  PetscCall(PatternDestroy(&f->pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerFeatures(const Nodes *nodes, const Graph *g, Params *params, PetscInt cols, PetscReal dropout, PetscReal decay, Layer *layer)
{
  Features          *f;
  PetscInt           F;
  PetscScalar       *v;
  const PetscScalar *a;

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
  PetscCall(MatSeqAIJGetArrayRead(g->features, &a));
  PetscCall(VecDuplicate(f->pattern.value, &f->clean));
  PetscCall(VecGetArrayWrite(f->clean, &v));
  PetscCall(PetscArraycpy(v, a, f->pattern.nz));
  PetscCall(VecRestoreArrayWrite(f->clean, &v));
  PetscCall(MatSeqAIJRestoreArrayRead(g->features, &a));
  PetscCall(VecGetArrayAndMemType(f->clean, &v, NULL));
  f->a = (Real *)v;
  PetscCall(VecRestoreArrayAndMemType(f->clean, &v));
  PetscCall(PatternMat(&f->pattern, PETSC_FALSE, &f->X));
  PetscCall(PatternMat(&f->pattern, PETSC_TRUE, &f->Xt));
  PetscCall(ParamsAdd(params, "features", F, cols, decay, &f->W, &f->dW));
  PetscFunctionReturn(PETSC_SUCCESS);
}
