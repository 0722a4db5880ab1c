/*
   Attention of AGNN: the mean of the rows of neighbours, weighted by the softmax of beta <u_i, u_j>, where u_i is row i
   with length 1.

   Thekumparampil, Wang, Oh and Li, Attention-based graph neural network for semi-supervised learning (2018)
*/
#include "layer.h"
#include <petscaijtcu.h>

typedef struct {
  Mat   S; /* the graph */
  Mat   P; /* weights of neighbours */
  Mat   D; /* gradient with respect to beta <u_i, u_j> */
  Block beta, dbeta;
  Block unit, scaled, length; /* rows u_i; beta u_i; lengths of rows before */
  Block Du, Dtu;              /* D and D^T times unit */
  Block product, ones;        /* sum of the product is the gradient with respect to beta */
} Cosine;

static PetscErrorCode CosineForward(Layer layer, const Pass *pass)
{
  Cosine      *c = (Cosine *)layer->data;
  const Block *h = &layer->before->out;
  const Unit   a = {h->rows, h->cols, h->a, c->beta.a, c->unit.a, c->scaled.a, c->length.a};

  PetscFunctionBegin;
  (void)pass;
  EntriesRun(Unit, layer->nodes, &a, a.rows);
  PetscCall(MatSampledMatTransposeMult(c->S, c->scaled.mat, c->unit.mat, PETSC_FALSE, MAT_REUSE_MATRIX, &c->P));
  PetscCall(MatSampledSoftmax(c->P));
  PetscCall(ProductRun(layer->out.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CosineBackward(Layer layer, const Pass *pass)
{
  Cosine            *c = (Cosine *)layer->data;
  const Block       *h = &layer->before->out;
  const UnitGradient a = {h->rows, h->cols, c->unit.a, c->length.a, c->beta.a, c->Du.a, c->Dtu.a, c->product.a, layer->before->dout.a};

  PetscFunctionBegin;
  (void)pass;
  PetscCall(MatSampledMatTransposeMult(c->S, layer->dout.mat, h->mat, PETSC_FALSE, MAT_REUSE_MATRIX, &c->D));
  PetscCall(MatSampledSoftmaxGradient(c->P, c->D));
  PetscCall(ProductRun(layer->before->dout.mat));
  PetscCall(ProductRun(c->Du.mat));
  PetscCall(ProductRun(c->Dtu.mat));
  EntriesRun(UnitGradient, layer->nodes, &a, a.rows);
  PetscCall(ProductRun(c->dbeta.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CosineSetUp(Layer layer)
{
  Cosine *c = (Cosine *)layer->data;

  PetscFunctionBegin;
  PetscCall(ProductCreate(c->P, layer->before->out.mat, MATPRODUCT_AB, layer->out.mat));
  PetscCall(ProductCreate(c->P, layer->dout.mat, MATPRODUCT_AtB, layer->before->dout.mat));
  PetscCall(ProductCreate(c->D, c->unit.mat, MATPRODUCT_AB, c->Du.mat));
  PetscCall(ProductCreate(c->D, c->unit.mat, MATPRODUCT_AtB, c->Dtu.mat));
  PetscCall(ProductCreate(c->ones.local, c->product.local, MATPRODUCT_AtB, c->dbeta.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CosineDestroy(Layer layer)
{
  Cosine *c       = (Cosine *)layer->data;
  Mat    *mat[]   = {&c->S, &c->P, &c->D};
  Block  *block[] = {&c->unit, &c->scaled, &c->length, &c->Du, &c->Dtu, &c->product, &c->ones};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(mat); i++) PetscCall(MatDestroy(mat[i]));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(block); i++) PetscCall(BlockDestroy(block[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerCosine(const Nodes *nodes, Layer before, const Graph *g, Params *params, PetscReal decay, Layer *layer)
{
  const PetscInt cols = before->out.cols;
  Cosine        *c;

  PetscFunctionBegin;
  PetscCall(LayerCreate(nodes, before, cols, sizeof(*c), layer));
  (*layer)->setup    = CosineSetUp;
  (*layer)->forward  = CosineForward;
  (*layer)->backward = CosineBackward;
  (*layer)->destroy  = CosineDestroy;
  c                  = (Cosine *)(*layer)->data;
  PetscCall(GraphConvert(g->A, &c->S));
  PetscCall(MatDuplicate(c->S, MAT_COPY_VALUES, &c->P));
  PetscCall(MatDuplicate(c->S, MAT_COPY_VALUES, &c->D));
  PetscCall(BlockCreate(nodes, 1, cols, NULL, &c->unit));
  PetscCall(BlockCreate(nodes, 1, cols, NULL, &c->scaled));
  PetscCall(BlockCreate(nodes, 1, 1, NULL, &c->length));
  PetscCall(BlockCreate(nodes, 1, cols, NULL, &c->Du));
  PetscCall(BlockCreate(nodes, 1, cols, NULL, &c->Dtu));
  PetscCall(BlockCreate(nodes, 1, 1, NULL, &c->product));
  PetscCall(BlockOnes(nodes, 1, &c->ones));
  PetscCall(ParamsAdd(params, "beta", 1, 1, decay, &c->beta, &c->dbeta));
  PetscFunctionReturn(PETSC_SUCCESS);
}
