/*
   PCMatApply() of PCASM and PCGASM with several subdomains on a process. PETSc's functions take one subdomain on each
   process, and stop with "Not yet implemented" otherwise. Then these preconditioners have no such function, and PETSc
   applies them column by column, as in a solve of one right-hand side.

   PETSc's creators are wrapped. How many subdomains there are is known after each set-up.
*/
#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcimpl.h>

/* PETSc's own functions of a type: the same for all its objects */
typedef struct {
  PetscErrorCode (*subdomains)(PC, PetscInt *, IS *[], IS *[]); /* of this process; known within the set-up, too */
  PetscErrorCode (*create)(PC);
  PetscErrorCode (*setup)(PC);
  PetscErrorCode (*matapply)(PC, Mat, Mat);
  PetscErrorCode (*matapplytranspose)(PC, Mat, Mat);
} AIJTCUSchwarz;

static AIJTCUSchwarz asmtype  = {.subdomains = PCASMGetLocalSubdomains};
static AIJTCUSchwarz gasmtype = {.subdomains = PCGASMGetSubdomains};

static PetscErrorCode AIJTCUSchwarzSetUp(PC pc, const AIJTCUSchwarz *s)
{
  PetscInt  n;
  PetscBool many;

  PetscFunctionBegin;
  PetscCall((*s->setup)(pc));
  PetscCall((*s->subdomains)(pc, &n, NULL, NULL));
  many = (PetscBool)(n > 1);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &many, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  pc->ops->matapply          = many ? NULL : s->matapply;
  pc->ops->matapplytranspose = many ? NULL : s->matapplytranspose;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_ASM_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSchwarzSetUp(pc, &asmtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_GASM_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSchwarzSetUp(pc, &gasmtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSchwarzCreate(PC pc, AIJTCUSchwarz *s, PetscErrorCode (*setup)(PC))
{
  PetscFunctionBegin;
  PetscCall((*s->create)(pc));
  s->setup             = pc->ops->setup;
  s->matapply          = pc->ops->matapply;
  s->matapplytranspose = pc->ops->matapplytranspose;
  pc->ops->setup       = setup;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_ASM_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSchwarzCreate(pc, &asmtype, PCSetUp_ASM_AIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_GASM_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSchwarzCreate(pc, &gasmtype, PCSetUp_GASM_AIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCURegisterSchwarz(void)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUReplaceCreator(PCList, PCASM, PCCreate_ASM_AIJTCU, &asmtype.create));
  PetscCall(AIJTCUReplaceCreator(PCList, PCGASM, PCCreate_GASM_AIJTCU, &gasmtype.create));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
