/*
   Where the kernels run: streams, memory and launches of all plans, and arrays between the host and a GPU.
*/
#pragma once

#include "../common/common.h"
#include <order/reorder.h>

/* host.c */
PETSC_INTERN PetscErrorCode AIJTCUHostGetCSR(Mat, const PetscInt **, const PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUHostRestoreCSR(Mat, const PetscInt **, const PetscInt **);

/* The real matrix that a matrix is to kernels, on the device, with the offsets of all rows, and a stream for it */
typedef struct {
  int64_t             nrows, ncols;
  const HrpbInt      *rowptr, *colidx;
  const HrpbScalar   *values;
  struct CUstream_st *stream;
} AIJTCUDeviceCSR;

/* Which part of AIJTCUDeviceCSR is needed */
typedef enum {
  AIJTCU_CSR_NOTHING,
  AIJTCU_CSR_PATTERN,
  AIJTCU_CSR_VALUES,
  AIJTCU_CSR_ITSELF /* the arrays of the matrix itself, complex if it is: for one vector */
} AIJTCUNeed;

/*
   A work order: how a product is made, and with what. AIJTCUPlanOrder() writes it, AIJTCULaunch() runs it. It is a
   value. It is right until the matrix or its options change.

   Arrays of PETSc are not in it at first. Who runs it gets them, and adds them: those of the matrix, where it needs
   them, and those of the operands.
*/
typedef struct {
  MatAIJTCUPath        path;
  const char          *reason;  /* in words */
  double               seconds; /* by the model, or 0 */
  const SpmmKernel    *kernel;  /* NULL: there is none */
  HrpbError            why;     /* why there is none, if something was refused */
  AIJTCUNeed           need;    /* of the arrays of the matrix, on a device */
  SpmmMatrix           A;
  const HrpbReordered *reordered; /* A is this matrix, or NULL */
  SpmmOperands         operands;
  void                *work; /* room for the kernel */
} AIJTCUWorkOrder;

typedef struct _n_AIJTCULaunches *AIJTCULaunches;

#if AIJTCU_HAVE_DEVICE
/*
   Failures of kernels. What is refused comes back in an HrpbError: there is no memory, or no kernel, and nothing has
   been changed that another way would need. Any other failure is an error of PETSc. Where there is no other way each
   failure is one
*/
PETSC_INTERN PetscErrorCode AIJTCUCheckRefused(HrpbError);
PETSC_INTERN PetscErrorCode AIJTCUCheckKernels(HrpbError);

  /* A call of the kernels that may be refused */
  #define AIJTCUCallDevice(err, call) \
    do { \
      (err) = (call); \
      PetscCall(AIJTCUCheckRefused(err)); \
    } while (0)

  /* The same where there is no other way */
  #define AIJTCUCallKernels(call) \
    do { \
      const HrpbError err_ = (call); \
\
      PetscCall(AIJTCUCheckKernels(err_)); \
    } while (0)

/* launch.c: products that come again */
PETSC_INTERN PetscErrorCode AIJTCULaunch(AIJTCULaunches *, const AIJTCUWorkOrder *, struct CUstream_st *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCULaunchLoad(const AIJTCUWorkOrder *, struct CUstream_st *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCULaunchWithWork(AIJTCULaunches *, const AIJTCUWorkOrder *, struct CUstream_st *, HrpbError *);
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
PETSC_INTERN PetscErrorCode      AIJTCUDeviceAsk(size_t, PetscBool *);
PETSC_INTERN PetscErrorCode      AIJTCUDeviceTrim(void);
PETSC_INTERN PetscErrorCode      AIJTCUDeviceMalloc(size_t, struct CUstream_st *, void **);
PETSC_INTERN PetscErrorCode      AIJTCUDeviceList(const PetscInt[], PetscInt, struct CUstream_st *, PetscInt **);
PETSC_INTERN PetscErrorCode      AIJTCUWorkspaceGet(size_t, struct CUstream_st *, void **);
PETSC_INTERN struct CUstream_st *AIJTCUDeviceStreamBehind(void);
PETSC_INTERN PetscErrorCode      AIJTCUWorkspaceFits(size_t, PetscBool *);
PETSC_INTERN void                AIJTCUWorkspaceUser(PetscBool);

/* copy.c */
PETSC_INTERN PetscInt       AIJTCUDeviceLDA(PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUDeviceCopyColumns(HrpbScalar *, PetscInt64, const HrpbScalar *, PetscInt64, PetscInt, PetscInt, PetscBool, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceBring(Mat, Mat);

/* hostcopy.c */
PETSC_INTERN PetscErrorCode AIJTCUHostCopy(void *, const void *, size_t, PetscBool, struct CUstream_st *);
PETSC_INTERN void           AIJTCUHugePages(void *, size_t);
PETSC_INTERN PetscBool      AIJTCUPin(const void *, size_t);
PETSC_INTERN void           AIJTCUUnpin(const void *);
#endif
