/*
   What the files of products offer each other.
*/
#pragma once

#include "product.h"
#include "../device/device.h"
#include "../halo/halo.h"
#include "../plan/plan.h"
#include "../upstream/upstream.h"

/* delegate.c: products that the parent type makes */
PETSC_INTERN PetscErrorCode AIJTCUProductIsDense(Mat, PetscBool *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductIsTransposed(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUProductSymmetryChanged(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUDelegate(Mat);
PETSC_INTERN PetscErrorCode AIJTCUNumericEnd(Mat, PetscErrorCode (*)(Mat), PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUDelegateInView(Mat, PetscErrorCode (*)(Mat));

/* product.c */
PETSC_INTERN PetscErrorCode AIJTCUSetUpProduct(Mat, AIJTCUPlan *, PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUMultiplyLocal(Mat, Mat, Mat);

/* producthost.c and productdevice.c: as ordered. No memory and no kernel come back in the HrpbError */
#if AIJTCU_HAVE_BRICKS
PETSC_INTERN PetscErrorCode AIJTCURealLDA(Mat, PetscInt64 *);
PETSC_INTERN PetscErrorCode AIJTCUHostRun(Mat, const AIJTCUWorkOrder *, HrpbError *);
#endif
#if AIJTCU_HAVE_DEVICE
PETSC_INTERN PetscErrorCode AIJTCUDeviceMultiply(Mat, AIJTCUPlan *, const AIJTCUAsk *, const AIJTCUWorkOrder *, Mat, Mat, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceAdd(Mat, AIJTCUPlan *, const AIJTCUAsk *, const AIJTCUWorkOrder *, const HrpbScalar *, Mat, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUDeviceToRows(Mat, AIJTCUPlan *, const AIJTCUAsk *, const AIJTCUWorkOrder *, Mat, HrpbScalar *, HrpbError *);
#endif

/* productmpi.c: the product of a parallel matrix that keeps its halo */
PETSC_INTERN PetscErrorCode AIJTCUSetUpProductMPI(Mat, AIJTCUPlan *);

#if AIJTCU_HAVE_HALO
/* productghosts.c: what the off-diagonal block of a parallel matrix has to do with a product */
PETSC_INTERN PetscErrorCode AIJTCUAddGhosts(Mat, const AIJTCUHalo *, Mat);
PETSC_INTERN PetscErrorCode AIJTCUSumGhosts(Mat, AIJTCUHalo *, Mat);

/* productpieces.c: the operands of a parallel product where A is, in pieces of columns */
typedef struct {
  PetscInt       N, width; /* columns: all, and of the widest piece */
  Mat            local[2]; /* this process's rows of B and C */
  PetscBool      away[2];  /* they are on the host, and A on a device */
  PetscScalar   *room[2];  /* for one piece on the device */
  PetscErrorCode ierr;     /* of this process alone */
} AIJTCUPieces;

PETSC_INTERN PetscErrorCode AIJTCUPiecesBegin(Mat, const AIJTCUHalo *, Mat, Mat, AIJTCUPieces *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPiecesCall(Mat, const AIJTCUPieces *, PetscErrorCode (*)(void *, PetscInt, Mat, Mat), void *);
PETSC_INTERN void           AIJTCUPiecesEnd(AIJTCUPieces *);
#endif
