/*
   What each process of a parallel matrix does by itself, and all then go on with, or none.
*/
#include "common.h"

/*
   Whether all processes say so. An error of one is an error of all: nobody waits for one that has returned. all may be
   NULL. A function, because MPIU_Allreduce() may return from its caller. Collective
*/
PetscErrorCode AIJTCUAgree(MPI_Comm comm, PetscErrorCode ierr, PetscBool mine, PetscBool *all)
{
  PetscBool agreed[2] = {(PetscBool)!ierr, (PetscBool)(!ierr && mine)};

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, agreed, 2, MPI_C_BOOL, MPI_LAND, comm));
  if (all) *all = agreed[1];
  PetscCall(ierr);
  PetscCheck(agreed[0], PETSC_COMM_SELF, PETSC_ERR_LIB, "Another process had an error in its part of a parallel product");
  PetscFunctionReturn(PETSC_SUCCESS);
}
