/*
   Products on a GPU and on the host: from PETSc's arrays to the kernels. Streams, memory and launches of all plans.
*/
#pragma once

#include "../identity/identity.h"
#include "../plan/choice.h"
#include <order/reorder.h>

/* host.c */
PETSC_INTERN PetscErrorCode AIJTCUHostGetCSR(Mat, const PetscInt **, const PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUHostRestoreCSR(Mat, const PetscInt **, const PetscInt **);
#if AIJTCU_HAVE_BRICKS
PETSC_INTERN PetscErrorCode AIJTCUHostRun(Mat, const AIJTCUPlan *, const AIJTCUDecision *, const SpmmOperands *, HrpbError *);
#endif

typedef struct _n_AIJTCULaunches *AIJTCULaunches;

#if AIJTCU_HAVE_DEVICE
/* The device's copy of a matrix, with the offsets of all rows, and the stream for work on it */
typedef struct {
  const HrpbInt      *rowptr, *colidx;
  const HrpbScalar   *values;
  struct CUstream_st *stream;
} AIJTCUDeviceCSR;

/* Which part of AIJTCUDeviceCSR is needed */
typedef enum {
  AIJTCU_CSR_NOTHING,
  AIJTCU_CSR_PATTERN,
  AIJTCU_CSR_VALUES
} AIJTCUNeed;

typedef PetscErrorCode (*AIJTCUDeviceFn)(Mat, AIJTCUPlan *, const AIJTCUDeviceCSR *, void *, HrpbError *);

/*
   device.c: products on a GPU. Two failures come back in the HrpbError: no memory, and no kernel. Any other failure is
   a PETSc error.
*/
PETSC_INTERN PetscErrorCode AIJTCUCheckDevice(HrpbError);
PETSC_INTERN void           AIJTCUDeviceForgetValues(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCall(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCallForMemory(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceFn, void *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceAsk(size_t, PetscBool *);
PETSC_INTERN PetscInt       AIJTCUDeviceLDA(PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCopyColumns(PetscScalar *, PetscInt, const PetscScalar *, PetscInt, PetscInt, PetscInt, PetscBool, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceMultiply(Mat, AIJTCUPlan *, const AIJTCUDecision *, Mat, Mat, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceAdd(Mat, AIJTCUPlan *, const AIJTCUDecision *, const PetscScalar *, PetscInt, Mat, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceBring(Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUDeviceToRows(Mat, AIJTCUPlan *, const AIJTCUDecision *, Mat, PetscScalar *, HrpbError *);

  /* A call of the kernels: errors of CUDA end here */
  #define AIJTCUCallDevice(err, call) \
    do { \
      (err) = (call); \
      PetscCall(AIJTCUCheckDevice(err)); \
    } while (0)

/* launch.c: products that come again */
PETSC_INTERN PetscErrorCode AIJTCULaunch(AIJTCUPlan *, const SpmmKernel *, const SpmmMatrix *, const HrpbReordered *, const SpmmOperands *, void *, struct CUstream_st *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCULaunchWithWork(AIJTCUPlan *, const SpmmKernel *, const SpmmMatrix *, const SpmmOperands *, struct CUstream_st *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCULaunchesDestroy(AIJTCULaunches *);

/* workspace.c: what all plans on a device share */
typedef struct { /* two slots: one piece is multiplied while others are copied */
  struct CUstream_st *in, *out;
  /* Events of the last piece in a slot: its columns of B arrived, its product was made, its columns of C left */
  struct CUevent_st  *arrived[2], *multiplied[2], *left[2];
} AIJTCUTransfers;

PETSC_INTERN PetscErrorCode AIJTCUGetTransfers(AIJTCUTransfers **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceBegin(struct CUstream_st **);
PETSC_INTERN PetscErrorCode AIJTCUDeviceEnd(struct CUstream_st *);

  /* A call that works on a stream. The work ends after an error, too */
  #define AIJTCUCallOnStream(stream, call) \
    do { \
      PetscErrorCode ierr_ = AIJTCUDeviceBegin(&(stream)); \
\
      if (!ierr_) ierr_ = (call); \
      PetscCall(AIJTCUDeviceEnd(stream)); \
      PetscCall(ierr_); \
    } while (0)

PETSC_INTERN PetscErrorCode      AIJTCUAllocated(int, void **);
PETSC_INTERN PetscErrorCode      AIJTCUDeviceRuns(PetscBool *);
PETSC_INTERN PetscErrorCode      AIJTCUDeviceMalloc(size_t, struct CUstream_st *, void **);
PETSC_INTERN PetscErrorCode      AIJTCUDeviceList(const PetscInt[], PetscInt, struct CUstream_st *, PetscInt **);
PETSC_INTERN PetscErrorCode      AIJTCUWorkspaceGet(size_t, struct CUstream_st *, void **);
PETSC_INTERN struct CUstream_st *AIJTCUDeviceStreamBehind(void);
PETSC_INTERN PetscErrorCode      AIJTCUWorkspaceFits(size_t, PetscBool *);
PETSC_INTERN void                AIJTCUWorkspaceUser(PetscBool);
#endif
