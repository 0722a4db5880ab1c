/*
   The halo of a parallel matrix: the rows of B that other processes need from this one, and those that this one needs
   from others (ghosts). It is found once for a pattern. A product then packs, sends and receives, and makes nothing.

   A halo has two sides: the rows of this process, and its ghosts. What leaves one side of a process comes to the other
   side of another. For A B rows go to where they are ghosts. For A^T B the sums that a process has for its ghosts go
   back to the rows' owners, the same way in reverse.

   Rows are those that kernels see: a complex row is two real ones. They travel as N numbers one after the other. Ghosts
   lie in the order of the columns of the off-diagonal block, and sums of several processes for one row are added in the
   order of their ranks, whenever messages arrive. So products have the same bits on every run, and with every engine.

   Buffers live with the halo. They grow to the widest N that was asked for, or to as many columns as there is memory
   for. All processes grow at the same time, and agree on whether they could: nobody waits for one without memory.
*/
#pragma once

#include "../common/common.h"

#if AIJTCU_HAVE_HALO
typedef struct _n_AIJTCUHalo AIJTCUHalo;

/* The sides. A way is named by the side that it begins at: that of A B at the rows, that of A^T B at the ghosts */
typedef enum {
  AIJTCU_HALO_ROWS,  /* of this process, that others need */
  AIJTCU_HALO_GHOSTS /* rows that others own */
} AIJTCUHaloSideName;

/*
   The first three and the last are collective

   AIJTCUHaloPrepare()       have a halo, with room for so many columns, for fewer, or not
   AIJTCUHaloBegin()         let rows go: those of a column-major matrix, or the sums for ghosts
   AIJTCUHaloEnd()           wait until they have come
   AIJTCUHaloGhosts()        after AIJTCUHaloEnd(): the ghosts that came, where B and C are
   AIJTCUHaloSums()          before AIJTCUHaloBegin(): where the sums for ghosts are to be
   AIJTCUHaloAdd()           after AIJTCUHaloEnd(): add the sums that came to a local dense matrix
   AIJTCUHaloGhostsToHost()  with a halo on a device: a copy of the ghosts on the host. PetscFree() it
   AIJTCUHaloSumsFromHost()  with a halo on a device: let the sums for ghosts be these
*/
PETSC_INTERN PetscErrorCode     AIJTCUHaloPrepare(Mat, PetscBool, MatAIJTCUHalo, PetscInt, AIJTCUHalo **, PetscBool *);
PETSC_INTERN PetscErrorCode     AIJTCUHaloBegin(Mat, AIJTCUHalo *, AIJTCUHaloSideName, const HrpbScalar *, PetscInt64, PetscInt);
PETSC_INTERN PetscErrorCode     AIJTCUHaloEnd(Mat, AIJTCUHalo *, AIJTCUHaloSideName, PetscInt);
PETSC_INTERN const HrpbScalar *AIJTCUHaloGhosts(const AIJTCUHalo *);
PETSC_INTERN PetscErrorCode     AIJTCUHaloSums(AIJTCUHalo *, HrpbScalar **);
PETSC_INTERN PetscErrorCode     AIJTCUHaloAdd(Mat, AIJTCUHalo *, PetscInt, Mat);
PETSC_INTERN PetscErrorCode     AIJTCUHaloGhostsToHost(const AIJTCUHalo *, PetscInt, HrpbScalar **);
PETSC_INTERN PetscErrorCode     AIJTCUHaloSumsFromHost(const AIJTCUHalo *, PetscInt, const HrpbScalar *);
PETSC_INTERN PetscBool          AIJTCUHaloIsOnHost(const AIJTCUHalo *);
PETSC_INTERN PetscInt           AIJTCUHaloWidth(const AIJTCUHalo *);      /* columns that there is room for */
PETSC_INTERN PetscInt           AIJTCUHaloGhostCount(const AIJTCUHalo *); /* rows */
PETSC_INTERN PetscInt64         AIJTCUHaloBytes(const AIJTCUHalo *);      /* of device memory */
PETSC_INTERN void               AIJTCUHaloDestroy(AIJTCUHalo **);
#endif
