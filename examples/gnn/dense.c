/*
   Layers that want a product or a pass over the entries, and nothing else
*/
#include "layer.h"

/* H W: each process multiplies its rows */
typedef struct {
  Block W, dW;
} Linear;

static PetscErrorCode LinearForward(Layer layer, const Pass *pass)
{
  PetscFunctionBegin;
  (void)pass;
  PetscCall(ProductRun(layer->out.local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinearBackward(Layer layer, const Pass *pass)
{
  Linear *l = (Linear *)layer->data;

  PetscFunctionBegin;
  (void)pass;
  PetscCall(ProductRun(l->dW.mat));
  PetscCall(ProductRun(layer->before->dout.local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinearSetUp(Layer layer)
{
  Linear *l = (Linear *)layer->data;

  PetscFunctionBegin;
  PetscCall(ProductCreate(layer->before->out.local, l->W.mat, MATPRODUCT_AB, layer->out.local));
  PetscCall(ProductCreate(layer->before->out.local, layer->dout.local, MATPRODUCT_AtB, l->dW.mat));
  PetscCall(ProductCreate(layer->dout.local, l->W.mat, MATPRODUCT_ABt, layer->before->dout.local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerLinear(const Nodes *nodes, Layer before, Params *params, PetscInt cols, PetscReal decay, Layer *layer)
{
  Linear *l;

  PetscFunctionBegin;
  PetscCall(LayerCreate(nodes, before, cols, sizeof(*l), layer));
  l                  = (Linear *)(*layer)->data;
  (*layer)->setup    = LinearSetUp;
  (*layer)->forward  = LinearForward;
  (*layer)->backward = LinearBackward;
  PetscCall(ParamsAdd(params, "linear", before->out.cols, cols, decay, &l->W, &l->dW));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P H, and P^T G */
static PetscErrorCode MeanForward(Layer layer, const Pass *pass)
{
  PetscFunctionBegin;
  (void)pass;
  PetscCall(ProductRun(layer->out.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeanBackward(Layer layer, const Pass *pass)
{
  PetscFunctionBegin;
  (void)pass;
  PetscCall(ProductRun(layer->before->dout.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerMean(const Nodes *nodes, Layer before, Mat P, Layer *layer)
{
  PetscFunctionBegin;
  PetscCall(LayerCreate(nodes, before, before->out.cols, 0, layer));
  (*layer)->forward  = MeanForward;
  (*layer)->backward = MeanBackward;
  PetscCall(ProductCreate(P, before->out.mat, MATPRODUCT_AB, (*layer)->out.mat));
  PetscCall(ProductCreate(P, (*layer)->dout.mat, MATPRODUCT_AtB, before->dout.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dropout(f(Z + bias)) */
typedef struct {
  Activation f;
  PetscReal  dropout;
  Block      bias, dbias;
  Block      ones; /* a column: the gradient of the bias is ones^T dZ */
} Act;

static Activate ActOf(Layer layer, const Pass *pass)
{
  const Act   *act = (const Act *)layer->data;
  const Block *z   = &layer->before->out;
  Activate     a   = {z->rows, layer->nodes->first, z->cols, act->f, LayerMask(layer, pass, act->dropout, 0), z->a, act->bias.a, layer->out.a};

  return a;
}

static PetscErrorCode ActForward(Layer layer, const Pass *pass)
{
  const Activate a = ActOf(layer, pass);

  PetscFunctionBegin;
  EntriesRun(Activate, layer->nodes, &a, a.rows * a.cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ActBackward(Layer layer, const Pass *pass)
{
  const Act             *act = (const Act *)layer->data;
  const ActivateGradient a   = {ActOf(layer, pass), layer->dout.a, layer->before->dout.a};

  PetscFunctionBegin;
  EntriesRun(ActivateGradient, layer->nodes, &a, a.of.rows * a.of.cols);
  if (act->dbias.mat) PetscCall(ProductRun(act->dbias.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ActSetUp(Layer layer)
{
  Act *act = (Act *)layer->data;

  PetscFunctionBegin;
  if (!act->dbias.mat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BlockOnes(layer->nodes, 1, &act->ones));
  PetscCall(ProductCreate(act->ones.local, layer->before->dout.local, MATPRODUCT_AtB, act->dbias.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ActDestroy(Layer layer)
{
  Act *act = (Act *)layer->data;

  PetscFunctionBegin;
  PetscCall(BlockDestroy(&act->ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerActivate(const Nodes *nodes, Layer before, Params *params, PetscBool bias, Activation f, PetscReal dropout, PetscReal decay, Layer *layer)
{
  Act *act;

  PetscFunctionBegin;
  PetscCall(LayerCreate(nodes, before, before->out.cols, sizeof(*act), layer));
  act                = (Act *)(*layer)->data;
  act->f             = f;
  act->dropout       = dropout;
  (*layer)->setup    = ActSetUp;
  (*layer)->forward  = ActForward;
  (*layer)->backward = ActBackward;
  (*layer)->destroy  = ActDestroy;
  if (bias) PetscCall(ParamsAdd(params, "bias", 1, before->out.cols, decay, &act->bias, &act->dbias));
  PetscFunctionReturn(PETSC_SUCCESS);
}
