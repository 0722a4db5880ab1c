/*
   The set-up of KSPCHEBYSHEV with an operator on a device: PETSc's, but for the noise.

   PETSc estimates eigenvalues by a few iterations of another method, whose right-hand side is noise. It makes that on
   the host, in new memory, for every new operator. Entries depend on their index alone. So here they are made on the
   device, once, and handed over in the place of the right-hand side that PETSc takes without noise.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <block/smoother.h>

/* Whether a set-up with this operator takes noise of the device. PETSc's is without what is in the null space */
static PetscErrorCode AIJTCUNoiseUsable(KSP ksp, Mat A, PetscBool *usable)
{
  AIJTCUPlan  *plan;
  MatNullSpace nullsp;
  PetscBool    makes;

  PetscFunctionBegin;
  *usable = PETSC_FALSE;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan) PetscCall(AIJTCUOnDevice(A, plan, usable));
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetNullSpace(A, &nullsp));
  PetscCall(AIJTCUChebyshevMakesNoise(ksp, &makes));
  *usable = (PetscBool)(makes && !nullsp);
  /* PETSc's is of the type of the solution */
  if (*usable && ksp->vec_sol) PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->vec_sol, usable, VECSEQCUDA, VECMPICUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNoiseOnStream(Vec x, PetscScalar *array, cudaStream_t stream)
{
  PetscInt n, first;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetOwnershipRange(x, &first, NULL));
  AIJTCUCallKernels(BlockNoise(n, first, array, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The noise for an operator. have is false where its vectors are on the host */
PetscErrorCode AIJTCUNoiseGet(Mat A, Vec *noise, PetscBool *have)
{
  cudaStream_t   stream = NULL;
  PetscScalar   *array;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *have = PETSC_TRUE;
  if (*noise && (*noise)->map->n == A->cmap->n && (*noise)->map->rstart == A->cmap->rstart) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDestroy(noise));
  PetscCall(MatCreateVecs(A, noise, NULL));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*noise, have, VECSEQCUDA, VECMPICUDA, ""));
  if (!*have) {
    PetscCall(VecDestroy(noise));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCUDAGetArrayWrite(*noise, &array));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUNoiseOnStream(*noise, array, stream);
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(VecCUDARestoreArrayWrite(*noise, &array));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's set-up. noise is kept from one to the next */
PetscErrorCode AIJTCUSetUpWithNoise(KSP ksp, PetscErrorCode (*setup)(KSP), Vec *noise)
{
  const Vec      rhs = ksp->vec_rhs;
  Mat            A;
  PetscBool      ours;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(AIJTCUNoiseUsable(ksp, A, &ours));
  if (ours) PetscCall(AIJTCUNoiseGet(A, noise, &ours));
  if (!ours) {
    PetscCall((*setup)(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, PETSC_FALSE));
  ksp->vec_rhs = *noise;
  ierr         = (*setup)(ksp);
  ksp->vec_rhs = rhs; /* after an error, too */
  PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, PETSC_TRUE));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
