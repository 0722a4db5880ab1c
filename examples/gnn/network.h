/*
   Networks: lists of layers that end with a class for each node, and the loss
*/
#pragma once

#include "layer.h"

typedef enum {
  NETWORK_GCN,
  NETWORK_AGNN,
  NETWORK_GAT
} NetworkKind;
extern const char *const NetworkKinds[];

typedef struct {
  NetworkKind kind;
  PetscInt    hidden, heads; /* features in the middle, for each head */
  PetscReal   dropout, decay, rate;
  PetscInt    epochs, patience;
} NetworkOptions;

/* Mean cross entropy, and which fraction of the nodes is classified as labelled */
typedef struct {
  PetscReal loss[SPLITS], accuracy[SPLITS];
} Scored;

typedef struct {
  Nodes    nodes;
  Params   params;
  Layer    layer[8];
  PetscInt n;
  Mat      P; /* a mean with fixed weights */

  PetscInt count[SPLITS]; /* nodes in all */
  Vec      labels;        /* has the memory for: */
  int32_t *label;
  Block    split, result, sums; /* ones where a node is of a set; what Loss makes; their product */
} Network;

PETSC_INTERN void           NetworkUsual(NetworkKind, NetworkOptions *);
PETSC_INTERN PetscErrorCode NetworkCreate(const Graph *, const NetworkOptions *, Network *);
PETSC_INTERN PetscErrorCode NetworkForward(Network *, const Pass *);
PETSC_INTERN PetscErrorCode NetworkLoss(Network *, PetscBool gradient);
PETSC_INTERN PetscErrorCode NetworkBackward(Network *, const Pass *);
PETSC_INTERN PetscErrorCode NetworkScores(Network *, Scored *);
PETSC_INTERN PetscErrorCode NetworkDestroy(Network *);
