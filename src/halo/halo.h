/*
   The halo of a parallel matrix: the rows of B that other processes need from this one, and those that this one needs
   from others (ghosts). It is found once for a pattern. A product then packs, sends and receives, and makes nothing.

   A halo has two sides: the rows of this process, and its ghosts. What leaves one side of a process comes to the other
   side of another. For A B rows go to where they are ghosts. For A^T B the sums that a process has for its ghosts go
   back to the rows' owners, the same way in reverse.

   Rows travel as N scalars one after the other. Ghosts lie in the order of the columns of the off-diagonal block, and
   sums of several processes for one row are added in the order of their ranks, whenever messages arrive. So products
   have the same bits on every run, and with every engine.

   Buffers live with the halo. They grow to the widest N that was asked for, or to as many columns as there is memory
   for. All processes grow at the same time, and agree on whether they could: nobody waits for one without memory.
*/
#pragma once

#include <petscsf.h>
#include "../plan/choice.h"

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

/* The sides. A way is named by the side that it begins at: that of A B at the rows, that of A^T B at the ghosts */
typedef enum {
  AIJTCU_HALO_ROWS,  /* of this process, that others need */
  AIJTCU_HALO_GHOSTS /* rows that others own */
} AIJTCUHaloSideName;

/* Where B and C are, and the buffers that messages go between */
typedef enum {
  AIJTCU_HALO_HOST,   /* all on the host */
  AIJTCU_HALO_STAGED, /* B and C on a device, the buffers in page-locked memory of the host */
  AIJTCU_HALO_DEVICE  /* all on a device, for an MPI that takes memory of it */
} AIJTCUHaloPlace;

/* halodirect.c: what a neighbour has lent, as long as it has. Without an event there are messages instead */
typedef struct {
  PetscScalar       *rows;
  PetscInt           first; /* row that is the first for this process */
  struct CUevent_st *event; /* its rows are there, or it has taken those from here */
} AIJTCULender;

typedef struct {
  /* The neighbours, and where in the buffers each of them begins. The arrays belong to the graph */
  PetscMPIInt        n;
  const PetscMPIInt *ranks;
  const PetscInt    *start; /* [n + 1] */

  PetscMPIInt tag, answer; /* of messages that begin at this side, and of what answers them */

  /* Row-major, N scalars a row. Messages leave and enter buffer. On a device work begins and ends in device */
  PetscScalar *buffer, *device;
  PetscBool    messages; /* some neighbours do not lend memory */

  /* halodirect.c */
  AIJTCULender      *lenders; /* [n] */
  struct CUevent_st *event;   /* that is lent: the rows here are there, or those of neighbours are taken */
  MPI_Request       *empty;   /* [n] messages without contents */
  PetscBool          lent;    /* neighbours may be copying from here */
} AIJTCUHaloSide;

/* halodevice.c: what a halo has on a device beside buffers */
typedef struct {
  PetscBool used;
  PetscInt *rows; /* those of the halo */

  /* Packed: rows are, and what came for the last product is not needed any more. Came: rows are in device */
  struct CUevent_st *packed, *came;
  struct CUevent_st *left[AIJTCU_HALO_PIECES], *last; /* each piece is where messages leave; the last one, or NULL */
} AIJTCUHaloDevice;

/* Rows to which sums of others are added: nrows of them. Those of row i are at[k], k from start[i], by rank */
typedef struct {
  PetscBool there;
  PetscInt  nrows;
  PetscInt *rows, *start, *at;    /* on the host */
  PetscInt *drows, *dstart, *dat; /* and on the device, where they are in use */
} AIJTCUHaloTargets;

struct _n_AIJTCUHalo {
  AIJTCUState state;

  PetscSF           sf; /* the graph: a root for each local row of B, a leaf for each ghost */
  AIJTCUHaloSide    side[2];
  const PetscInt   *rows; /* local rows that others need, in the order of that side. It belongs to the graph */
  PetscInt          nlocal, nghosts;
  AIJTCUHaloTargets targets;

  const AIJTCUHaloEngine *engine; /* that the buffers are for */
  AIJTCUHaloPlace         place;
  PetscInt                width;  /* columns that there is room for */
  PetscInt                failed; /* fewest columns that there was no memory for; 0 while there always was */
  AIJTCUState             transposes; /* of both blocks, on all processes: productmpi.c */
  AIJTCUHaloDevice        device;
  PetscBool               direct; /* on all processes: neighbours have tried to lend each other memory */

  PetscMPIInt  nrequests; /* of the receives, then of the sends */
  PetscBool    started;   /* the engine was, and it was not yet finished */
  PetscBool    posted;    /* all of them are under way */
  MPI_Request *requests;  /* [neighbours of both sides * AIJTCU_HALO_PIECES] */
  MPI_Datatype row;       /* N scalars, for PetscSF */
  PetscInt     row_N;     /* 0 while there is none */
};

/* Rows of all neighbours of a side */
static inline PetscInt AIJTCUHaloRows(const AIJTCUHaloSide *s)
{
  return s->n ? s->start[s->n] : 0;
}

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
   haloengine.c. An engine brings what is in one side to the others' other side. start is called when packing was
   started, and finish when the product that needs nobody else was, also after an error. Between them nobody touches
   either buffer
*/
struct _n_AIJTCUHaloEngine {
  PetscBool messages; /* packed are the rows that others need, one process after the other; otherwise all local rows */
  PetscBool direct;   /* processes on one machine lend each other memory of their devices */

  /* For one that goes from device to device: what it needs, or an error. Collective */
  PetscErrorCode (*open)(Mat, const AIJTCUHalo *);
  PetscErrorCode (*start)(AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);
  PetscErrorCode (*finish)(AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);
};
PETSC_INTERN const AIJTCUHaloEngine *AIJTCUHaloEngineGet(MatAIJTCUHalo, PetscBool);

/*
   halodevice.c, where the library has kernels for a device

   AIJTCUHaloDeviceAllocate()  buffers of so many bytes on the device, or no memory for them
   AIJTCUHaloDeviceStage()     the same for those on the host, unless all neighbours lend each other memory
   AIJTCUHaloDeviceSums()      lets later work on the stream come after the last sums were taken
   AIJTCUHaloDevicePack()      starts to pack, behind the work on the stream of PETSc's current context
   AIJTCUHaloDeviceVacate()    waits until messages may come into the buffer
   AIJTCUHaloDeviceWait()      waits until the first rows may be sent
   AIJTCUHaloDeviceCopy()      starts to copy rows from the buffer to the device, if these are two
   AIJTCUHaloDeviceTake()      starts to copy the rows of a process that has lent its memory
   AIJTCUHaloDeviceTaken()     tells such processes that all copies were started
   AIJTCUHaloDeviceEnd()       lets later work on the stream come behind all of this
   AIJTCUHaloDeviceAdd()       adds sums that came, or has no memory for that
   AIJTCUHaloDeviceCame()      copies what came to the host once more
   AIJTCUHaloDeviceSetSums()   copies sums for ghosts from the host
*/
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceAllocate(AIJTCUHalo *, const size_t[2], PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceStage(AIJTCUHalo *, const size_t[2], PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceSums(AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDevicePack(AIJTCUHalo *, AIJTCUHaloSideName, const PetscScalar *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceVacate(const AIJTCUHalo *, AIJTCUHaloSideName);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceWait(const AIJTCUHalo *, AIJTCUHaloSideName, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceCopy(const AIJTCUHalo *, AIJTCUHaloSideName, PetscInt, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceTake(AIJTCUHalo *, AIJTCUHaloSideName, PetscMPIInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceTaken(AIJTCUHalo *, AIJTCUHaloSideName);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceEnd(const AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceAdd(AIJTCUHalo *, PetscInt, PetscScalar *, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceCame(const AIJTCUHalo *, AIJTCUHaloSideName, PetscInt, PetscScalar **);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceSetSums(const AIJTCUHalo *, PetscInt, const PetscScalar *);
PETSC_INTERN void           AIJTCUHaloDeviceFree(AIJTCUHalo *);
PETSC_INTERN void           AIJTCUHaloDeviceDestroy(AIJTCUHalo *);

/* halonccl.c */
PETSC_INTERN PetscErrorCode AIJTCUHaloNcclOpen(Mat, const AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloNcclStart(AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);

/* halodirect.c, for halodevice.c. A side's name is that which the way begins at */
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectOpen(Mat, AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectReuse(AIJTCUHaloSide *, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectReady(const AIJTCUHaloSide *, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectTake(AIJTCUHalo *, AIJTCUHaloSideName, PetscMPIInt, PetscInt, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectTaken(AIJTCUHalo *, AIJTCUHaloSideName, struct CUstream_st *);
PETSC_INTERN PetscBool      AIJTCUHaloIsTaken(const AIJTCUHaloSide *, PetscInt, PetscInt);
PETSC_INTERN void           AIJTCUHaloDirectClose(AIJTCUHalo *);

/* Rows that are packed for a way: those of all neighbours, or all local rows */
static inline PetscInt AIJTCUHaloPacked(const AIJTCUHalo *h, AIJTCUHaloSideName from)
{
  return from == AIJTCU_HALO_ROWS && !h->engine->messages ? h->nlocal : AIJTCUHaloRows(&h->side[from]);
}

/*
   halo.c. The first three are collective

   AIJTCUHaloPrepare()  have a halo, with room for so many columns, for fewer, or not
   AIJTCUHaloBegin()    let rows go: those of a column-major matrix, or the sums for ghosts
   AIJTCUHaloEnd()      wait until they have come
   AIJTCUHaloSums()     before AIJTCUHaloBegin(): where the sums for ghosts are to be
   AIJTCUHaloAdd()      after AIJTCUHaloEnd(): add the sums that came to a local dense matrix
*/
PETSC_INTERN PetscErrorCode AIJTCUHaloPrepare(Mat, AIJTCUPlan *, PetscBool, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloBegin(Mat, AIJTCUHalo *, AIJTCUHaloSideName, const PetscScalar *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloEnd(Mat, AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloSums(AIJTCUHalo *, PetscScalar **);
PETSC_INTERN PetscErrorCode AIJTCUHaloAdd(Mat, AIJTCUHalo *, PetscInt, Mat);
PETSC_INTERN PetscInt64     AIJTCUHaloBytes(const AIJTCUHalo *);
PETSC_INTERN void           AIJTCUHaloDestroy(AIJTCUHalo *);
