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

enum {
  AIJTCU_HALO_PIECES = 8 /* the most pieces of a message, and of all that is packed */
};

/* Where B and C are, and the buffers that messages go between */
typedef enum {
  AIJTCU_HALO_HOST,   /* all on the host */
  AIJTCU_HALO_STAGED, /* B and C on a device, the buffers in page-locked memory of the host */
  AIJTCU_HALO_DEVICE  /* all on a device, for an MPI that takes memory of it */
} AIJTCUHaloPlace;

/* Row-major, N scalars a row. Messages go from out to in. On a device packing ends in dout, and din has the ghosts */
typedef struct {
  PetscScalar *out, *in, *dout, *din;
} AIJTCUHaloBuffers;

/* halodevice.c: what a halo has on a device beside buffers */
typedef struct {
  PetscBool used;
  PetscBool receives; /* some ghosts come with messages: not all processes lend their memory */
  PetscInt *rows;     /* those of the halo */

  /* Before: B is there, and the ghosts of the last product are not needed any more. Came: the ghosts are in din */
  struct CUevent_st *before, *came;
  struct CUevent_st *packed[AIJTCU_HALO_PIECES], *last; /* of each piece of out, and of the last one in use */
} AIJTCUHaloDevice;

/* halodirect.c: what another process has lent, as long as it has. Without an event there are messages instead */
typedef struct {
  PetscScalar       *out;
  PetscInt           first; /* row of out that is the first for this process */
  struct CUevent_st *event;
} AIJTCULender;

typedef struct {
  PetscBool          open;          /* on all processes: neighbours have tried to lend each other memory */
  AIJTCULender      *from, *to;     /* [nfrom], [nto] */
  struct CUevent_st *ready, *taken; /* events that are lent: all is packed, all ghosts are copied */
  MPI_Request       *empty;         /* [nto + nfrom] messages without contents, for which the next packing waits */
} AIJTCUHaloDirect;

struct _n_AIJTCUHalo {
  AIJTCUState   state;
  PetscObjectId block; /* the off-diagonal block that it was found for */

  /* The graph: a root for each local row of B, a leaf for each ghost. It owns the five arrays below */
  PetscSF            sf;
  PetscMPIInt        nto, nfrom; /* processes that need rows, and those that own ghosts */
  const PetscMPIInt *to, *from;
  const PetscInt    *tostart, *fromstart; /* [nto + 1], [nfrom + 1]: where in the buffers each of them begins */
  const PetscInt    *rows;                /* [tostart[nto]] local rows that others need */
  PetscInt           nlocal, nghosts;

  const AIJTCUHaloEngine *engine; /* that the buffers are for */
  AIJTCUHaloPlace         place;
  PetscInt                width;  /* columns that there is room for */
  PetscInt                failed; /* fewest columns that there was no memory for; 0 while there always was */
  AIJTCUHaloBuffers       buffers;
  AIJTCUHaloDevice        device;
  AIJTCUHaloDirect        direct;

  PetscMPIInt  tag, backtag; /* of messages in the direction of the rows, and of those against it */
  PetscMPIInt  nrequests;    /* of the receives, then of the sends */
  PetscBool    posted;       /* all of them are under way */
  MPI_Request *requests;     /* [(nfrom + nto) * AIJTCU_HALO_PIECES] */
  MPI_Datatype row;          /* N scalars, for PetscSF */
  PetscInt     row_N;        /* 0 while there is none */
};

/* Cut a range of rows in pieces, so that packing, copies and messages overlap. The second gives the first row of one */
static inline PetscInt AIJTCUHaloPieces(AIJTCUHaloPlace place, PetscInt nrows, PetscInt N)
{
  enum {
    LEAST = 1 << 17 /* scalars of a piece */
  };
  const PetscInt64 pieces = place == AIJTCU_HALO_HOST ? 1 : (PetscInt64)nrows * N / LEAST;

  return (PetscInt)PetscMax(1, PetscMin(pieces, AIJTCU_HALO_PIECES));
}

static inline PetscInt AIJTCUHaloPieceStart(PetscInt nrows, PetscInt pieces, PetscInt k)
{
  return (PetscInt)((PetscInt64)nrows * k / pieces);
}

/*
   haloengine.c. An engine brings out to in. start is called when packing was started, and finish when the product that
   needs no ghosts was, also after an error. Between them nobody touches either buffer
*/
struct _n_AIJTCUHaloEngine {
  PetscBool messages; /* packed are the rows that others need, one process after the other, and not all local rows */
  PetscBool direct;   /* processes on one machine lend each other memory of their devices */
  PetscErrorCode (*start)(AIJTCUHalo *, PetscInt);
  PetscErrorCode (*finish)(AIJTCUHalo *, PetscInt);
};
PETSC_INTERN const AIJTCUHaloEngine *AIJTCUHaloEngineGet(MatAIJTCUHalo);

/* Rows that are packed: those that others need, or all */
static inline PetscInt AIJTCUHaloPacked(const AIJTCUHalo *h)
{
  if (!h->engine->messages) return h->nlocal;
  return h->nto ? h->tostart[h->nto] : 0;
}

/*
   halodevice.c, where the library has kernels for a device

   AIJTCUHaloDeviceSupports()  whether there are kernels for the current device
   AIJTCUHaloDeviceAllocate()  buffers of so many bytes on the device, or no memory for them
   AIJTCUHaloDeviceStage()     the same for those on the host, unless all neighbours lend each other memory
   AIJTCUHaloDevicePack()      starts to pack, behind the work on the stream of PETSc's current context
   AIJTCUHaloDeviceVacate()    waits until messages may come into the buffer
   AIJTCUHaloDeviceWait()      waits until the first rows of out are packed
   AIJTCUHaloDeviceCopy()      starts to copy rows of in to din, if these are two
   AIJTCUHaloDeviceTake()      starts to copy the ghosts of a process that has lent its memory
   AIJTCUHaloDeviceTaken()     tells such processes that all copies were started
   AIJTCUHaloDeviceEnd()       lets later work on the stream come behind all of this
   AIJTCUHaloDeviceGhosts()    copies the ghosts to the host once more
*/
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceSupports(PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceAllocate(AIJTCUHalo *, size_t, size_t, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceStage(AIJTCUHalo *, size_t, size_t, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDevicePack(AIJTCUHalo *, PetscInt, const PetscScalar *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceVacate(const AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceWait(const AIJTCUHalo *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceCopy(const AIJTCUHalo *, PetscInt, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceTake(AIJTCUHalo *, PetscMPIInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceTaken(AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceEnd(const AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceGhosts(const AIJTCUHalo *, PetscInt, PetscScalar **);
PETSC_INTERN void           AIJTCUHaloDeviceFree(AIJTCUHalo *);
PETSC_INTERN void           AIJTCUHaloDeviceDestroy(AIJTCUHaloDevice *);

/* halodirect.c, for halodevice.c */
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectOpen(Mat, AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectReuse(AIJTCUHalo *, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectReady(AIJTCUHalo *, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectTake(AIJTCUHalo *, PetscMPIInt, PetscInt, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectTaken(AIJTCUHalo *, struct CUstream_st *);
PETSC_INTERN PetscBool      AIJTCUHaloIsTaken(const AIJTCUHalo *, PetscInt, PetscInt);
PETSC_INTERN void           AIJTCUHaloDirectClose(AIJTCUHalo *);

/* halo.c. The first three are collective */
PETSC_INTERN PetscErrorCode AIJTCUHaloPrepare(Mat, AIJTCUPlan *, PetscBool, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloBegin(Mat, AIJTCUHalo *, const PetscScalar *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloEnd(Mat, AIJTCUHalo *, PetscInt);
PETSC_INTERN PetscInt64     AIJTCUHaloBytes(const AIJTCUHalo *);
PETSC_INTERN void           AIJTCUHaloDestroy(AIJTCUHalo *);
