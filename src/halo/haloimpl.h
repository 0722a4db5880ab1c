/*
   What the files of the halo share: what a halo consists of, and what each file offers those above it. halo.c is above
   haloengine.c, which is above halodevice.c, then halodirect.c and halonccl.c.
*/
#pragma once

#include "halo.h"
#include <petscsf.h>

#if AIJTCU_HAVE_HALO
enum {
  AIJTCU_HALO_PIECES = 8 /* the most pieces of a message, and of all that is packed */
};

/* Where B and C are, and the buffers that messages go between */
typedef enum {
  AIJTCU_HALO_HOST,   /* all on the host */
  AIJTCU_HALO_STAGED, /* B and C on a device, the buffers in page-locked memory of the host */
  AIJTCU_HALO_DEVICE  /* all on a device, for an MPI that takes memory of it */
} AIJTCUHaloPlace;

/* halodirect.c: what this process may read of a neighbour's device. Without an event there are messages instead */
typedef struct {
  HrpbScalar       *rows;
  PetscInt           first; /* row that is the first for this process */
  struct CUevent_st *event; /* its rows are there, or it has read those here */
} AIJTCUHaloPeer;

typedef struct {
  /* The neighbours, and where in the buffers each of them begins. The arrays belong to the graph */
  PetscMPIInt        n;
  const PetscMPIInt *ranks;
  const PetscInt    *start;     /* [n + 1] */
  PetscInt          *own_start; /* that where it does not belong to the graph */

  PetscMPIInt tag, answer; /* of messages that begin at this side, and of what answers them */

  /* Row-major, N scalars a row. Messages leave and enter buffer. On a device work begins and ends in device */
  HrpbScalar *buffer, *device;
  PetscBool    messages; /* some neighbours read nothing from here */

  /* halodirect.c */
  AIJTCUHaloPeer    *peers;      /* [n] */
  struct CUevent_st *event;      /* for neighbours: the rows here are there, or those of neighbours were read */
  MPI_Request       *notices;    /* [n] messages without contents */
  PetscBool          being_read; /* neighbours may be copying from here */
} AIJTCUHaloSide;

/* halodevice.c: what a halo has on a device beside buffers */
typedef struct {
  PetscBool used;
  PetscInt *rows; /* those of the halo */

  /* Packed: rows are, and what came for the last product is not needed any more. Received: rows are in device */
  struct CUevent_st *packed, *received;
  struct CUevent_st *staged[AIJTCU_HALO_PIECES], *last_staged; /* each piece is in the buffer; the last one, or NULL */
} AIJTCUHaloDevice;

/* Rows to which sums of others are added: nrows of them. Those of row i are at[k], k from start[i], by rank */
typedef struct {
  PetscBool there;
  PetscInt  nrows;
  PetscInt *rows, *start, *at;    /* on the host */
  PetscInt *drows, *dstart, *dat; /* and on the device, where they are in use */
} AIJTCUHaloTargets;

typedef struct _n_AIJTCUHaloEngine AIJTCUHaloEngine;

struct _n_AIJTCUHalo {
  AIJTCUState state;

  PetscSF           sf; /* the graph: a root for each local row of B, a leaf for each ghost */
  AIJTCUHaloSide    side[2];
  const PetscInt   *rows; /* local rows that others need, in the order of that side. It belongs to the graph, */
  PetscInt         *own_rows; /* or is this */
  PetscInt          nlocal, nghosts;
  AIJTCUHaloTargets targets;

  const AIJTCUHaloEngine *engine; /* that the buffers are for */
  AIJTCUHaloPlace         place;
  PetscInt                width;   /* columns that there is room for */
  PetscInt                failed;  /* fewest columns that there was no memory for; 0 while there always was, */
  AIJTCURefusal           refused; /* and how long they are not asked for again, on all processes alike */
  AIJTCUHaloDevice        device;
  PetscBool               direct; /* on all processes: neighbours have tried to read each other's memory */

  PetscMPIInt  nrequests; /* of the receives, then of the sends */
  PetscBool    started;   /* the engine was, and it was not yet finished */
  PetscBool    posted;    /* all of them are under way */
  MPI_Request *requests;  /* [neighbours of both sides * AIJTCU_HALO_PIECES] */
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
  PetscBool direct; /* processes on one machine read from each other's devices */

  /* For one that goes from device to device: what it needs, or an error. Collective */
  PetscErrorCode (*open)(Mat, const AIJTCUHalo *);
  PetscErrorCode (*start)(AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);
  PetscErrorCode (*finish)(AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);
};
PETSC_INTERN const AIJTCUHaloEngine *AIJTCUHaloEngineGet(MatAIJTCUHalo, PetscBool);

  #if AIJTCU_HAVE_DEVICE
/*
   halodevice.c

   AIJTCUHaloDeviceAllocate()       buffers of so many bytes on the device, or no memory for them
   AIJTCUHaloDeviceStage()          the same for those on the host, unless all neighbours read from the device
   AIJTCUHaloDeviceWaitForSums()    lets later work on the stream come after the last sums were read
   AIJTCUHaloDevicePack()           starts to pack, behind the work on the stream of PETSc's current context
   AIJTCUHaloDeviceWaitForBuffer()  waits until messages may come into the buffer
   AIJTCUHaloDeviceWaitForRows()    waits until the first rows may be sent
   AIJTCUHaloDeviceUnstage()        starts to copy rows from the buffer to the device, if these are two
   AIJTCUHaloDeviceCopyDirect()     starts to copy the rows of a neighbour from its device
   AIJTCUHaloDeviceCopiedDirect()   tells such neighbours that all copies were started
   AIJTCUHaloDeviceEnd()            lets later work on the stream come behind all of this
   AIJTCUHaloDeviceAdd()            adds sums that came, or has no memory for that
   AIJTCUHaloDeviceToHost()         copies what came to the host once more
   AIJTCUHaloDeviceSumsFromHost()   copies sums for ghosts from the host
*/
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceAllocate(AIJTCUHalo *, const size_t[2], PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceStage(AIJTCUHalo *, const size_t[2], PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceWaitForSums(AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDevicePack(AIJTCUHalo *, AIJTCUHaloSideName, const HrpbScalar *, PetscInt64, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceWaitForBuffer(const AIJTCUHalo *, AIJTCUHaloSideName);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceWaitForRows(const AIJTCUHalo *, AIJTCUHaloSideName, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceUnstage(const AIJTCUHalo *, AIJTCUHaloSideName, PetscInt, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceCopyDirect(AIJTCUHalo *, AIJTCUHaloSideName, PetscMPIInt, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceCopiedDirect(AIJTCUHalo *, AIJTCUHaloSideName);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceEnd(const AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceAdd(AIJTCUHalo *, PetscInt, HrpbScalar *, PetscInt64, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceToHost(const AIJTCUHalo *, AIJTCUHaloSideName, PetscInt, HrpbScalar **);
PETSC_INTERN PetscErrorCode AIJTCUHaloDeviceSumsFromHost(const AIJTCUHalo *, PetscInt, const HrpbScalar *);
PETSC_INTERN void           AIJTCUHaloDeviceFree(AIJTCUHalo *);
PETSC_INTERN void           AIJTCUHaloDeviceDestroy(AIJTCUHalo *);

/* halonccl.c */
PETSC_INTERN PetscErrorCode AIJTCUHaloNcclOpen(Mat, const AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloNcclStart(AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);

/*
   halodirect.c

   AIJTCUHaloDirectOpen()            let neighbours read each other's buffers, where they can
   AIJTCUHaloDirectClose()           wait until nobody reads or is read any more
   AIJTCUHaloDirectWaitForReaders()  what next writes the rows of a side comes after those who read them
   AIJTCUHaloDirectRecord()          rows are there when the stream is through
   AIJTCUHaloDirectCopy()            copy the rows of a neighbour, which has said that they are being packed
   AIJTCUHaloDirectCopied()          tell those who have packed that all copies are on the stream
   AIJTCUHaloIsDirect()              whether all neighbours read these rows of a side themselves
*/
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectOpen(Mat, AIJTCUHalo *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectWaitForReaders(AIJTCUHaloSide *, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectRecord(const AIJTCUHaloSide *, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectCopy(AIJTCUHalo *, AIJTCUHaloSideName, PetscMPIInt, PetscInt, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUHaloDirectCopied(AIJTCUHalo *, AIJTCUHaloSideName, struct CUstream_st *);
PETSC_INTERN PetscBool      AIJTCUHaloIsDirect(const AIJTCUHaloSide *, PetscInt, PetscInt);
PETSC_INTERN void           AIJTCUHaloDirectClose(AIJTCUHalo *);
  #endif
#endif
