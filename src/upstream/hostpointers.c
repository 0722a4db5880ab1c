/*
   KSPIBCGS and KSPFBCGSR read arrays on the host where the newest numbers are on a device

     KSPSolve_IBCGS() and KSPSolve_FBCGSR() take pointers to the arrays of their vectors once, by VecGetArray(), and
     read and write through them for the whole solve. Products and vector operations between leave their results on the
     device. The solution is wrong, and it may be called converged: after one iteration, with a residual as large as the
     right-hand side.

       MatCreateVecs(A, &x, &b);  // A is a MATAIJCUSPARSE
       KSPSetType(ksp, KSPIBCGS);
       KSPSolve(ksp, b, x);
       VecSet(b, 2);
       KSPSolve(ksp, b, x);

     What would help: VecGetArray() and VecRestoreArray() around each loop.

   Needed: 3.24 to 3.26. Gone when: "KSPIBCGS with vectors of the device", "KSPFBCGSR with vectors of the device" of
   upstream.c. Ours: solvers.c.

   Where the operator or the matrix of the preconditioner is ours, or a nest of ours, the solve is with vectors of the
   host in the place of those of the device: right, and slower than it could be
*/
#include "upstream.h"
#include <petsc/private/kspimpl.h>

#if PetscDefined(HAVE_CUDA)
static struct {
  KSPType name;
  PetscErrorCode (*create)(KSP), (*solve)(KSP);
} AIJTCUMethods[] = {{KSPIBCGS, NULL, NULL}, {KSPFBCGSR, NULL, NULL}};


/* The same entries, on the host */
static PetscErrorCode AIJTCUDuplicateOnHost(Vec v, Vec *u)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), u));
  PetscCall(VecSetLayout(*u, v->map));
  PetscCall(VecSetType(*u, VECSTANDARD));
  PetscCall(AIJTCUCopyOnHost(v, *u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveOnHost(KSP ksp, PetscErrorCode (*solve)(KSP))
{
  const Vec      b = ksp->vec_rhs, x = ksp->vec_sol, *work = ksp->work;
  Vec            host[2] = {NULL, NULL}, *hostwork;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "aijtcu: solve with vectors of the host: %s of PETSc needs them\n", ((PetscObject)ksp)->type_name));
  PetscCall(AIJTCUDuplicateOnHost(b, &host[0]));
  PetscCall(AIJTCUDuplicateOnHost(x, &host[1]));
  PetscCall(VecDuplicateVecs(host[1], ksp->nwork, &hostwork));
  ksp->vec_rhs = host[0];
  ksp->vec_sol = host[1];
  ksp->work    = hostwork;
  ierr         = (*solve)(ksp);
  ksp->vec_rhs = b;
  ksp->vec_sol = x;
  ksp->work    = (Vec *)work;
  if (!ierr) ierr = AIJTCUCopyOnHost(host[1], x);
  PetscCall(VecDestroyVecs(ksp->nwork, &hostwork));
  PetscCall(VecDestroy(&host[0]));
  PetscCall(VecDestroy(&host[1]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolve(KSP ksp)
{
  PetscBool host, ours, is;
  int       i = 0;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(((PetscObject)ksp)->type_name, AIJTCUMethods[0].name, &is));
  if (!is) i = 1;
  PetscCall(AIJTCUPCHasOurs(ksp->pc, &ours));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->work[0], &host, VECSEQ, VECMPI, VECNEST, ""));
  if (host) PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->vec_sol, &host, VECSEQ, VECMPI, VECNEST, ""));
  if (ours && !host) PetscCall(AIJTCUSolveOnHost(ksp, AIJTCUMethods[i].solve));
  else PetscCall((*AIJTCUMethods[i].solve)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCreateMethod(KSP ksp, int i)
{
  PetscFunctionBegin;
  PetscCall((*AIJTCUMethods[i].create)(ksp));
  AIJTCUMethods[i].solve = ksp->ops->solve;
  ksp->ops->solve        = AIJTCUSolve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCreateIBCGS(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCreateMethod(ksp, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCreateFBCGSR(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCreateMethod(ksp, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* When the library is loaded */
PetscErrorCode AIJTCURegisterHostPointers(void)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(KSPInitializePackage());
  PetscCall(AIJTCUReplaceCreator(KSPList, AIJTCUMethods[0].name, AIJTCUCreateIBCGS, &AIJTCUMethods[0].create));
  PetscCall(AIJTCUReplaceCreator(KSPList, AIJTCUMethods[1].name, AIJTCUCreateFBCGSR, &AIJTCUMethods[1].create));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
