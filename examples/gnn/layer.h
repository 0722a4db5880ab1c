/*
   A layer of a network: from a block with a row for each node to another one, and back with the gradients
*/
#pragma once

#include "graph.h"
#include "params.h"
#include "pattern.h"

typedef struct _n_Layer *Layer;

/* One way forward and back */
typedef struct {
  PetscBool train; /* with dropout */
  uint64_t  seed;  /* of this step: dropout differs from step to step */
} Pass;

struct _n_Layer {
  const Nodes *nodes;
  Layer        before;    /* gives this one its input; NULL for the first one */
  PetscInt     number;    /* 0, 1, ... */
  Block        out, dout; /* what it makes, and the gradient with respect to it */
  void        *data;
  /* Behind ParamsSetUp(), when weights have their arrays; may be NULL */
  PetscErrorCode (*setup)(Layer);
  PetscErrorCode (*forward)(Layer, const Pass *);
  /* From dout: gradients of weights, and dout of the layer before */
  PetscErrorCode (*backward)(Layer, const Pass *);
  PetscErrorCode (*destroy)(Layer); /* may be NULL */
};

PETSC_INTERN PetscErrorCode LayerCreate(const Nodes *, Layer before, PetscInt cols, size_t, Layer *);
PETSC_INTERN PetscErrorCode LayerDestroy(Layer *);
PETSC_INTERN EntryMask      LayerMask(Layer, const Pass *, PetscReal, uint64_t);

/* features.c: sparse features times weights, with dropout of features */
PETSC_INTERN PetscErrorCode LayerFeatures(const Nodes *, const Graph *, Params *, PetscInt cols, PetscReal dropout, PetscReal decay, Layer *);
/* dense.c: the input times weights; the mean of neighbours, by a matrix; bias, activation, dropout */
PETSC_INTERN PetscErrorCode LayerLinear(const Nodes *, Layer, Params *, PetscInt cols, PetscReal decay, Layer *);
PETSC_INTERN PetscErrorCode LayerMean(const Nodes *, Layer, Mat, Layer *);
PETSC_INTERN PetscErrorCode LayerActivate(const Nodes *, Layer, Params *, PetscBool bias, Activation, PetscReal dropout, PetscReal decay, Layer *);
/* agnn.c: the mean of neighbours by the cosines of rows, as AGNN has it */
PETSC_INTERN PetscErrorCode LayerCosine(const Nodes *, Layer, const Graph *, Params *, PetscReal decay, Layer *);
/* gat.c: the mean of neighbours by attention of several heads, as GAT has it */
PETSC_INTERN PetscErrorCode LayerAttention(const Nodes *, Layer, const Graph *, Params *, PetscInt heads, PetscReal dropout, PetscReal decay, Layer *);
