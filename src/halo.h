/*
   The halo of a parallel matrix: the rows of B that other processes need from this one, and those that this one needs
   from others (ghosts). It is found once for a pattern. A product then packs, sends and receives, and makes nothing.

   Rows travel as N scalars one after the other. Ghosts lie in the order of the columns of the off-diagonal block,
   whenever their messages arrive. So products have the same bits on every run, and with every engine.

   Buffers live with the halo. They grow to the widest N that was asked for. All processes grow at the same time, and
   agree on whether they could: nobody waits for a process without memory.
*/
#pragma once

#include <petscsf.h>
#include "choice.h"

#if AIJTCU_HAVE_BRICKS && !PETSC_VERSION_LT(3, 26, 0) && !PetscDefined(HAVE_MPIUNI)
  #define AIJTCU_HAVE_HALO 1
#else
  #define AIJTCU_HAVE_HALO 0
#endif

typedef struct _n_AIJTCUHalo       AIJTCUHalo;
typedef struct _n_AIJTCUHaloEngine AIJTCUHaloEngine;

struct _n_AIJTCUHalo {
  AIJTCUState   state;
  PetscObjectId block; /* the off-diagonal block that it was found for */

  /* The graph: a root for each local row of B, a leaf for each ghost. It owns the five arrays below */
  PetscSF            sf;
  PetscMPIInt        nto, nfrom;   /* processes that need rows, and those that own ghosts */
  const PetscMPIInt *to, *from;
  const PetscInt    *tostart, *fromstart; /* [nto + 1], [nfrom + 1]: where in the buffers each of them begins */
  const PetscInt    *rows;         /* [tostart[nto]] local rows that others need */
  PetscInt           nlocal, nghosts;

  const AIJTCUHaloEngine *engine; /* that the buffers are for */
  PetscInt                width;  /* columns that there is room for */
  PetscInt                failed; /* fewest columns that there was no memory for; 0 while there always was */
  PetscScalar            *out, *in; /* row-major, N scalars a row */

  PetscMPIInt  tag;      /* of messages, and their requests: the receives, then the sends */
  MPI_Request *requests; /* [nfrom + nto] */
  MPI_Datatype row;      /* N scalars, for PetscSF */
  PetscInt     row_N;    /* 0 while there is none */
};

/* haloengine.c. An engine brings out to in. Between begin and end nobody touches either */
struct _n_AIJTCUHaloEngine {
  PetscBool all; /* out has all local rows, and not those that others need */
  PetscErrorCode (*begin)(Mat, AIJTCUHalo *, PetscInt);
  PetscErrorCode (*end)(AIJTCUHalo *);
};
PETSC_INTERN const AIJTCUHaloEngine *AIJTCUHaloEngineGet(MatAIJTCUHalo);

/* halo.c. All but the last are collective; N is the number of columns */
PETSC_INTERN PetscErrorCode AIJTCUHaloPrepare(Mat, AIJTCUPlan *, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloBegin(Mat, AIJTCUHalo *, const PetscScalar *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloEnd(Mat, AIJTCUHalo *, PetscInt);
PETSC_INTERN void           AIJTCUHaloDestroy(AIJTCUHalo *);
