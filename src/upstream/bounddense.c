/*
   MatDenseGetSubMatrix() of a parallel matrix of the device that is bound to the host

     The local matrix, which is bound as well, gives a MATSEQDENSE. MatDenseGetSubMatrix_MPIDense() puts it into a
     matrix that has the type of its parent, and is not bound. KSPMatSolve() with -ksp_matsolve_batch_size takes such
     ones.

       MatCreateDenseFromVecType(PETSC_COMM_WORLD, VECCUDA, m, PETSC_DECIDE, M, 4, PETSC_DECIDE, NULL, &X);
       MatBindToCPU(X, PETSC_TRUE);
       MatDenseGetSubMatrix(X, PETSC_DECIDE, PETSC_DECIDE, 0, 2, &x);  // 2 processes
       MatDenseGetColumnVecRead(x, 0, &v);  // Cannot locate function MatDenseCUDAGetArrayRead_C

     What would help: MatBindToCPU() of the submatrix, and a local one of the device.

   MatAXPY() of a dense matrix of the device that is bound to the host adds what is on the device of it, old numbers

     MatDense_Seq_CUPM::HostToDevice_() returns at once where boundtocpu is set. KSPMatSolve_Richardson() adds such a
     block of right-hand sides, and solves for others. PCMatApply_MG() does so, too.

       MatCreateDenseFromVecType(PETSC_COMM_SELF, VECCUDA, n, N, n, N, PETSC_DECIDE, NULL, &X);
       MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y); MatZeroEntries(X); MatZeroEntries(Y);
       MatBindToCPU(X, PETSC_TRUE);
       MatShift(X, 1);
       MatAXPY(Y, 1, X, SAME_NONZERO_PATTERN);  // Y is zero

     What would help: the array on the host copied where boundtocpu is set.

   Needed: 3.24 to 3.26. Gone when: "MatDenseGetSubMatrix() of a bound matrix" of upstream.c, 2 processes, and
   "MatAXPY() of a dense matrix that is bound". Ours: haloshort.c for products, blockmg.c and blocksolve.c
   ("cuda_bound"), with a GPU.

   Blocks of KSPMatSolve(), PETSc's as well as ours, and of PCMatApply() with multigrid, are taken as blocks of the host
   with the same array. For preonly, which has no block form of ours, that is done here. Products go through the host:
   src/product/productpieces.c
*/
#include "upstream.h"
#include <petsc/private/kspimpl.h>

/* A matrix of the host with an array of D */
PetscErrorCode AIJTCUDenseStandIn(Mat D, PetscScalar *array, Mat *H)
{
  PetscInt ld;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(D, &ld));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)D), VECSTANDARD, D->rmap->n, D->cmap->n, D->rmap->N, D->cmap->N, ld, array, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *H is D, or stands in for it */
PetscErrorCode AIJTCUBoundBegin(Mat D, Mat *H)
{
  PetscBool    device, host, bound;
  PetscScalar *array, *shared;
  Mat          local;

  PetscFunctionBegin;
  *H = D;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)D, &device, "seqdensecuda", "mpidensecuda", ""));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLocalMatrix(D, &local));
  PetscCall(PetscObjectTypeCompare((PetscObject)local, MATSEQDENSE, &host));
  PetscCall(MatBoundToCPU(D, &bound));
  if (!host && !bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetArray(local, &array)); /* D has it, whatever becomes of the stand-in */
  shared = array;
  PetscCall(MatDenseRestoreArray(local, &array));
  PetscCall(AIJTCUDenseStandIn(D, shared, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBoundEnd(Mat D, Mat *H)
{
  PetscFunctionBegin;
  if (*H != D) {
    PetscCall(MatDestroy(H));
    PetscCall(PetscObjectStateIncrease((PetscObject)D));
  }
  *H = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
static PetscErrorCode (*AIJTCUPreonlyCreate)(KSP), (*AIJTCUPreonlyMatSolve)(KSP, Mat, Mat);

static PetscErrorCode KSPMatSolve_PREONLY_AIJTCU(KSP ksp, Mat B, Mat X)
{
  PetscBool ours;
  Mat       b = B, x = X;

  PetscFunctionBegin;
  PetscCall(AIJTCUPCHasOurs(ksp->pc, &ours));
  if (ours) {
    PetscCall(AIJTCUBoundBegin(B, &b));
    PetscCall(AIJTCUBoundBegin(X, &x));
  }
  PetscCall((*AIJTCUPreonlyMatSolve)(ksp, b, x));
  PetscCall(AIJTCUBoundEnd(B, &b));
  PetscCall(AIJTCUBoundEnd(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_PREONLY_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall((*AIJTCUPreonlyCreate)(ksp));
  AIJTCUPreonlyMatSolve = ksp->ops->matsolve;
  ksp->ops->matsolve    = KSPMatSolve_PREONLY_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* When the library is loaded */
PetscErrorCode AIJTCURegisterPreonly(void)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(KSPInitializePackage());
  PetscCall(AIJTCUReplaceCreator(KSPList, KSPPREONLY, KSPCreate_PREONLY_AIJTCU, &AIJTCUPreonlyCreate));
  /* A second name, which not all releases have */
  PetscCall(AIJTCUReplaceCreator(KSPList, "none", KSPCreate_PREONLY_AIJTCU, &AIJTCUPreonlyCreate));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
