/*
   Attention of GAT: each head takes the mean of its part of the rows of neighbours, weighted by the softmax of
   LeakyReLU(<a, h_i> + <b, h_j>), of which some are dropped in training.

   All heads are one product. Column f * heads + head of the input is column f of that head. So the array of the input,
   which has a row for each node, is that of a matrix with a row for each head and node. The graph is as many copies of
   itself.

   Velickovic, Cucurull, Casanova, Romero, Lio and Bengio, Graph attention networks (2018)
*/
#include "layer.h"
#include <petscaijtcu.h>

#define SLOPE ((PetscReal)0.2)

typedef struct {
  PetscInt  heads, cols; /* columns of a head */
  PetscReal dropout;
  Pattern   pattern;                         /* of the copies */
  Mat       S, E;                            /* the graph; scores before LeakyReLU */
  Mat       P;                               /* softmax of the scores */
  Mat       M, Q;                            /* what is dropped, zeros and 1 / (1 - p); weights of neighbours: M .* P */
  Mat       D;                               /* gradient with respect to scores */
  Block     w, dw;                           /* a and b */
  Block     h, dh, out, dout;                /* of the layer, with a row for each head and node */
  Block     scores, give, take;              /* <a, h>, 1, <b, h>; the first two and the last two of these */
  Block     dscores, dscoresnodes, products; /* gradient with respect to <a, h> and <b, h>; with a row for each node */
  Vec       ones;
} Attention;

static Scores ScoresOf(Layer layer)
{
  const Attention *t = (const Attention *)layer->data;
  const Scores     s = {layer->nodes->n, t->heads, t->cols, t->h.a, t->w.a, t->scores.a};

  return s;
}

static PetscErrorCode AttentionForward(Layer layer, const Pass *pass)
{
  Attention      *t    = (Attention *)layer->data;
  const Scores    s    = ScoresOf(layer);
  const EntryMask mask = LayerMask(layer, pass, t->dropout, 1);

  PetscFunctionBegin;
  EntriesRun(Scores, layer->nodes, &s, t->h.rows);
  PetscCall(MatSampledMatTransposeMult(t->S, t->give.mat, t->take.mat, PETSC_FALSE, MAT_REUSE_MATRIX, &t->P));
  PetscCall(MatSampledLeakyReLU(t->P, SLOPE));
  PetscCall(MatSampledSoftmax(t->P));
  PetscCall(PatternGet(&t->pattern, t->P, mask));
  PetscCall(PatternPut(&t->pattern, t->Q));
  PetscCall(ProductRun(t->out.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gradients with respect to <a, h> and <b, h>: sums of rows and of columns of D */
static PetscErrorCode AttentionSums(Attention *t)
{
  Vec v;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecWrite(t->dscores.mat, 0, &v));
  PetscCall(MatMult(t->D, t->ones, v));
  PetscCall(MatDenseRestoreColumnVecWrite(t->dscores.mat, 0, &v));
  PetscCall(MatDenseGetColumnVecWrite(t->dscores.mat, 1, &v));
  PetscCall(MatMultTranspose(t->D, t->ones, v));
  PetscCall(MatDenseRestoreColumnVecWrite(t->dscores.mat, 1, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AttentionBackward(Layer layer, const Pass *pass)
{
  Attention           *t    = (Attention *)layer->data;
  const ScoresGradient g    = {ScoresOf(layer), t->dscores.a, t->dh.a};
  const ScoresPick     pick = {t->heads, t->cols, t->products.a, t->dw.a};

  PetscFunctionBegin;
  PetscCall(ProductRun(t->dh.mat));
  PetscCall(PatternGet(&t->pattern, NULL, LayerMask(layer, pass, t->dropout, 1)));
  PetscCall(PatternPut(&t->pattern, t->M));
  PetscCall(MatSampledMatTransposeMult(t->M, t->dout.mat, t->h.mat, PETSC_TRUE, MAT_REUSE_MATRIX, &t->D));
  PetscCall(MatSampledSoftmaxGradient(t->P, t->D));
  PetscCall(MatSampledMatTransposeMult(t->S, t->give.mat, t->take.mat, PETSC_FALSE, MAT_REUSE_MATRIX, &t->E));
  PetscCall(MatSampledLeakyReLUGradient(t->E, SLOPE, t->D));
  PetscCall(AttentionSums(t));
  EntriesRun(ScoresGradient, layer->nodes, &g, t->h.rows * t->h.cols);
  PetscCall(ProductRun(t->products.mat));
  EntriesRun(ScoresPick, layer->nodes, &pick, t->dw.rows * t->dw.cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AttentionSetUp(Layer layer)
{
  Attention *t = (Attention *)layer->data;

  PetscFunctionBegin;
  PetscCall(ProductCreate(t->Q, t->h.mat, MATPRODUCT_AB, t->out.mat));
  PetscCall(ProductCreate(t->Q, t->dout.mat, MATPRODUCT_AtB, t->dh.mat));
  PetscCall(ProductCreate(layer->before->out.local, t->dscoresnodes.local, MATPRODUCT_AtB, t->products.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AttentionDestroy(Layer layer)
{
  Attention *t       = (Attention *)layer->data;
  Mat       *mat[]   = {&t->S, &t->E, &t->P, &t->M, &t->Q, &t->D};
  Block     *block[] = {&t->h, &t->dh, &t->out, &t->dout, &t->give, &t->take, &t->scores, &t->dscoresnodes, &t->dscores, &t->products};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(mat); i++) PetscCall(MatDestroy(mat[i]));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(block); i++) PetscCall(BlockDestroy(block[i]));
  PetscCall(VecDestroy(&t->ones));
  PetscCall(PatternDestroy(&t->pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices of the copies of the graph */
static PetscErrorCode AttentionMatrices(const Nodes *nodes, const Graph *g, Attention *t)
{
  Mat *const mat[] = {&t->S, &t->E, &t->P, &t->M, &t->Q, &t->D};
  Mat        copies;

  PetscFunctionBegin;
  PetscCall(GraphCopies(g, t->heads, &copies));
  PetscCall(PatternCreate(nodes, copies, 0, t->heads, &t->pattern));
  PetscCall(MatDestroy(&copies));
  PetscCall(PatternMat(&t->pattern, mat[0]));
  for (size_t i = 1; i < PETSC_STATIC_ARRAY_LENGTH(mat); i++) PetscCall(MatDuplicate(*mat[0], MAT_COPY_VALUES, mat[i]));
  PetscCall(MatCreateVecs(t->D, &t->ones, NULL));
  PetscCall(VecSet(t->ones, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LayerAttention(const Nodes *nodes, Layer before, const Graph *g, Params *params, PetscInt heads, PetscReal dropout, PetscReal decay, Layer *layer)
{
  Attention *t;

  PetscFunctionBegin;
  PetscCall(LayerCreate(nodes, before, before->out.cols, sizeof(*t), layer));
  (*layer)->setup    = AttentionSetUp;
  (*layer)->forward  = AttentionForward;
  (*layer)->backward = AttentionBackward;
  (*layer)->destroy  = AttentionDestroy;
  t                  = (Attention *)(*layer)->data;
  t->heads           = heads;
  t->cols            = before->out.cols / heads;
  t->dropout         = dropout;
  PetscCall(AttentionMatrices(nodes, g, t));
  PetscCall(BlockCreate(nodes, heads, t->cols, before->out.a, &t->h));
  PetscCall(BlockCreate(nodes, heads, t->cols, before->dout.a, &t->dh));
  PetscCall(BlockCreate(nodes, heads, t->cols, (*layer)->out.a, &t->out));
  PetscCall(BlockCreate(nodes, heads, t->cols, (*layer)->dout.a, &t->dout));
  PetscCall(BlockCreate(nodes, heads, 3, NULL, &t->scores));
  PetscCall(BlockCreate(nodes, heads, 2, t->scores.a, &t->give));
  PetscCall(BlockCreate(nodes, heads, 2, t->scores.a + t->scores.rows, &t->take));
  PetscCall(BlockCreate(nodes, heads, 2, NULL, &t->dscores));
  PetscCall(BlockCreate(nodes, 1, 2 * heads, t->dscores.a, &t->dscoresnodes));
  PetscCall(BlockCreateLocal(nodes, before->out.cols, 2 * heads, NULL, &t->products));
  PetscCall(ParamsAdd(params, "attention", before->out.cols, 2, decay, &t->w, &t->dw));
  PetscFunctionReturn(PETSC_SUCCESS);
}
