/*
   The block forms that there are, and how they come into PETSc's lists when the library is loaded.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
/* bcg is made of PETSc's cg, and so comes before cg is wrapped */
static const AIJTCUBlockMethod *const methods[] = {&AIJTCUBlockBCG, &AIJTCUBlockCG, &AIJTCUBlockChebyshev, &AIJTCUBlockRichardson, &AIJTCUBlockGMRES, &AIJTCUBlockFGMRES, &AIJTCUBlockBCGS};

PetscErrorCode AIJTCUBlockRegister(void)
{
  PetscFunctionBegin;
  if (AIJTCUBlockSolvers == AIJTCU_BLOCK_SOLVERS_OFF) {
    PetscCall(PetscInfo(NULL, "aijtcu: all block solves go as PETSc has them: -mat_aijtcu_block_solvers off\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPInitializePackage());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(methods); i++) {
    const AIJTCUBlockMethod *m = methods[i];
    PetscErrorCode (*create)(KSP);

    PetscCall(PetscFunctionListFind(KSPList, m->name, &create));
    if (create == m->create) continue;
    if (m->base) PetscCall(PetscFunctionListFind(KSPList, m->base, &create));
    if (!create) continue;
    *m->original = create;
    PetscCall(KSPRegister(m->name, m->create));
  }
  PetscCall(PCInitializePackage());
  PetscCall(AIJTCURegisterJacobi());
  PetscCall(AIJTCURegisterMG());
  PetscCall(AIJTCURegisterSchwarz());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode AIJTCUBlockRegister(void)
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(NULL, "aijtcu: block solves are those of PETSc: ours need PETSc 3.26 in double or single precision\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
