/*
   Training: Adam on all training nodes, with early stopping; a picture of it; and gradients beside differences of the
   loss
*/
#pragma once

#include "network.h"

typedef struct {
  PetscInt  epochs, best;   /* how many there were, and after which the weights were kept */
  Scored    scored;         /* with these weights */
  PetscReal start, seconds; /* of the first epoch, which starts libraries; of each one later */
  Scored   *history;        /* of each epoch */
} Training;

PETSC_INTERN PetscErrorCode TrainRun(Network *, const NetworkOptions *, uint64_t seed, PetscInt every, Training *);
PETSC_INTERN PetscErrorCode TrainDestroy(Training *);
PETSC_INTERN PetscErrorCode TrainCheckGradient(Network *, uint64_t seed, PetscInt *wrong);

/* plot.c */
PETSC_INTERN PetscErrorCode TrainDraw(const Training *, const char[]);
