#include "network.h"

const char *const NetworkKinds[] = {"gcn", "agnn", "gat", "NetworkKind", "NETWORK_", NULL};

/* What the papers train with on citation graphs */
void NetworkUsual(NetworkKind kind, NetworkOptions *o)
{
  const NetworkOptions usual[] = {
    {NETWORK_GCN, 16, 1, 0.5, 5e-4, 0.01, 200, 0},     /* Kipf and Welling, 2017 */
    {NETWORK_AGNN, 64, 1, 0.5, 5e-4, 0.01, 1000, 100}, /* Thekumparampil et al., 2018 */
    {NETWORK_GAT, 8, 8, 0.6, 5e-4, 0.005, 1000, 100}   /* Velickovic et al., 2018 */
  };

  *o = usual[kind];
}

/* A mean of neighbours with fixed weights */
static PetscErrorCode CreateMean(const Graph *g, PetscBool symmetric, Mat *P)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(GraphMean(g, symmetric, &A));
  PetscCall(GraphConvert(A, P));
  PetscCall(MatDestroy(&A));
  if (!symmetric) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSetOption(*P, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*P, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGCN(const Graph *g, const NetworkOptions *o, Network *w)
{
  const Nodes *n = &w->nodes;
  Layer       *l = w->layer;

  PetscFunctionBegin;
  PetscCall(LayerFeatures(n, g, &w->params, o->hidden, o->dropout, o->decay, &l[0]));
  PetscCall(LayerMean(n, l[0], w->P, &l[1]));
  PetscCall(LayerActivate(n, l[1], &w->params, PETSC_TRUE, ACTIVATION_RELU, o->dropout, o->decay, &l[2]));
  PetscCall(LayerLinear(n, l[2], &w->params, g->classes, 0, &l[3]));
  PetscCall(LayerMean(n, l[3], w->P, &l[4]));
  PetscCall(LayerActivate(n, l[4], &w->params, PETSC_TRUE, ACTIVATION_NONE, 0, 0, &l[5]));
  w->n = 6;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As for cora in the paper: beta of the first mean is 0 */
static PetscErrorCode CreateAGNN(const Graph *g, const NetworkOptions *o, Network *w)
{
  const Nodes *n = &w->nodes;
  Layer       *l = w->layer;

  PetscFunctionBegin;
  PetscCall(LayerFeatures(n, g, &w->params, o->hidden, o->dropout, o->decay, &l[0]));
  PetscCall(LayerActivate(n, l[0], &w->params, PETSC_TRUE, ACTIVATION_RELU, 0, o->decay, &l[1]));
  PetscCall(LayerMean(n, l[1], w->P, &l[2]));
  PetscCall(LayerCosine(n, l[2], g, &w->params, o->decay, &l[3]));
  PetscCall(LayerActivate(n, l[3], &w->params, PETSC_FALSE, ACTIVATION_NONE, o->dropout, 0, &l[4]));
  PetscCall(LayerLinear(n, l[4], &w->params, g->classes, o->decay, &l[5]));
  PetscCall(LayerActivate(n, l[5], &w->params, PETSC_TRUE, ACTIVATION_NONE, 0, o->decay, &l[6]));
  w->n = 7;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGAT(const Graph *g, const NetworkOptions *o, Network *w)
{
  const Nodes *n = &w->nodes;
  Layer       *l = w->layer;

  PetscFunctionBegin;
  PetscCall(LayerFeatures(n, g, &w->params, o->heads * o->hidden, o->dropout, o->decay, &l[0]));
  PetscCall(LayerAttention(n, l[0], g, &w->params, o->heads, o->dropout, o->decay, &l[1]));
  PetscCall(LayerActivate(n, l[1], &w->params, PETSC_TRUE, ACTIVATION_ELU, o->dropout, o->decay, &l[2]));
  PetscCall(LayerLinear(n, l[2], &w->params, g->classes, o->decay, &l[3]));
  PetscCall(LayerAttention(n, l[3], g, &w->params, 1, o->dropout, o->decay, &l[4]));
  PetscCall(LayerActivate(n, l[4], &w->params, PETSC_TRUE, ACTIVATION_NONE, 0, o->decay, &l[5]));
  w->n = 6;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetLabels(const Graph *g, Network *w)
{
  const Nodes *nodes = &w->nodes;
  Real        *split;

  PetscFunctionBegin;
  PetscCall(ListCreate(nodes, sizeof(*g->label) * (size_t)nodes->n, g->label, &w->labels, &w->label));
  PetscCall(BlockCreate(nodes, 1, SPLITS, NULL, &w->split));
  PetscCall(BlockCreate(nodes, 1, 2, NULL, &w->result));
  PetscCall(BlockCreateLocal(nodes, SPLITS, 2, NULL, &w->sums));
  PetscCall(PetscCalloc1(SPLITS * nodes->n, &split));
  for (PetscInt i = 0; i < nodes->n; i++) {
    if (g->split[i] == SPLIT_NONE) continue;
    split[g->split[i] * nodes->n + i] = 1;
    w->count[g->split[i]]++;
  }
  PetscCall(BlockSet(&w->split, split));
  PetscCall(PetscFree(split));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, w->count, SPLITS, MPIU_INT, MPI_SUM, nodes->comm));
  for (int s = 0; s < SPLITS; s++) PetscCheck(w->count[s], nodes->comm, PETSC_ERR_ARG_OUTOFRANGE, "The graph needs nodes to train, to validate and to test with");
  PetscCall(ProductCreate(w->split.local, w->result.local, MATPRODUCT_AtB, w->sums.mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NetworkCreate(const Graph *g, const NetworkOptions *o, Network *w)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(w, sizeof(*w)));
  PetscCall(CreateMean(g, (PetscBool)(o->kind == NETWORK_GCN), &w->P));
  PetscCall(NodesSetUp(w->P, &w->nodes));
  switch (o->kind) {
  case NETWORK_GCN:
    PetscCall(CreateGCN(g, o, w));
    break;
  case NETWORK_AGNN:
    PetscCall(CreateAGNN(g, o, w));
    break;
  case NETWORK_GAT:
    PetscCall(CreateGAT(g, o, w));
    break;
  }
  PetscCall(ParamsSetUp(&w->nodes, &w->params));
  for (PetscInt k = 0; k < w->n; k++) {
    if (w->layer[k]->setup) PetscCall(w->layer[k]->setup(w->layer[k]));
  }
  PetscCall(SetLabels(g, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NetworkForward(Network *w, const Pass *pass)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < w->n; k++) PetscCall(w->layer[k]->forward(w->layer[k], pass));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After NetworkForward(): the loss of each node, and the gradient with respect to what the last layer gave */
PetscErrorCode NetworkLoss(Network *w, PetscBool gradient)
{
  const Layer last = w->layer[w->n - 1];
  const Loss  a    = {w->nodes.n, last->out.cols, last->out.a, w->label, w->split.a, 1 / (Real)w->count[SPLIT_TRAIN], w->result.a, gradient ? last->dout.a : NULL};

  PetscFunctionBegin;
  EntriesRun(Loss, &w->nodes, &a, w->nodes.n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After NetworkLoss(): the gradient with respect to all weights */
PetscErrorCode NetworkBackward(Network *w, const Pass *pass)
{
  PetscFunctionBegin;
  for (PetscInt k = w->n - 1; k >= 0; k--) PetscCall(w->layer[k]->backward(w->layer[k], pass));
  PetscCall(ParamsSum(&w->params));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After NetworkLoss() */
PetscErrorCode NetworkScores(Network *w, Scored *s)
{
  const PetscScalar *a;
  PetscReal          sum[2 * SPLITS];

  PetscFunctionBegin;
  PetscCall(ProductRun(w->sums.mat));
  PetscCall(MatDenseGetArrayRead(w->sums.mat, &a));
  for (int i = 0; i < 2 * SPLITS; i++) sum[i] = PetscRealPart(a[i]);
  PetscCall(MatDenseRestoreArrayRead(w->sums.mat, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2 * SPLITS, MPIU_REAL, MPIU_SUM, w->nodes.comm));
  for (int i = 0; i < SPLITS; i++) {
    s->loss[i]     = sum[i] / (PetscReal)w->count[i];
    s->accuracy[i] = sum[SPLITS + i] / (PetscReal)w->count[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NetworkDestroy(Network *w)
{
  PetscFunctionBegin;
  PetscCall(ParamsDestroy(&w->params)); /* layers have the blocks */
  for (PetscInt k = 0; k < w->n; k++) PetscCall(LayerDestroy(&w->layer[k]));
  PetscCall(MatDestroy(&w->P));
  PetscCall(VecDestroy(&w->labels));
  PetscCall(BlockDestroy(&w->split));
  PetscCall(BlockDestroy(&w->result));
  PetscCall(BlockDestroy(&w->sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}
