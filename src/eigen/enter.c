/*
   How LOBPCG with blocks enters: SLEPc's creator of EPSLOBPCG is wrapped under the same name. The original is called
   first. Then ours stands before two operations: options, and the solve, which decides. Set-up and all else are
   SLEPc's.
*/
#include "eigen.h"

#if AIJTCU_HAVE_EIGEN
typedef enum {
  AIJTCU_LOBPCG_AUTO, /* where the matrices are on a device */
  AIJTCU_LOBPCG_ALWAYS,
  AIJTCU_LOBPCG_OFF
} AIJTCULobpcgMode;

static const char *const AIJTCULobpcgModes[] = {"auto", "always", "off"};

/* What SLEPc's creator sets, which is the same for each solver */
static PetscErrorCode (*AIJTCULobpcgOriginal)(EPS);
static PetscErrorCode (*AIJTCULobpcgOptions)(EPS, PetscOptionItems);
static PetscErrorCode (*AIJTCULobpcgSolve)(EPS);

  #define AIJTCU_LOBPCG_KEY "AIJTCULobpcgMode"

static PetscErrorCode AIJTCULobpcgFreeMode(PetscCtxRt ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*(AIJTCULobpcgMode **)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EPSSetFromOptions_LOBPCG_AIJTCU(EPS eps, PetscOptionItems PetscOptionsObject)
{
  AIJTCULobpcgMode *mode;
  PetscInt          value;

  PetscFunctionBegin;
  PetscCall((*AIJTCULobpcgOptions)(eps, PetscOptionsObject));
  PetscCall(PetscObjectContainerQuery((PetscObject)eps, AIJTCU_LOBPCG_KEY, &mode));
  value = (PetscInt)*mode;
  PetscCall(PetscOptionsEList("-eps_aijtcu_lobpcg", "Whether LOBPCG with a MATAIJTCU works with whole blocks", "MATAIJTCU", AIJTCULobpcgModes, PETSC_STATIC_ARRAY_LENGTH(AIJTCULobpcgModes), AIJTCULobpcgModes[value], &value, NULL));
  *mode = (AIJTCULobpcgMode)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the solve is not ours, or NULL. All processes have the same answer */
static PetscErrorCode AIJTCULobpcgLacks(EPS eps, const char **why)
{
  AIJTCULobpcgMode *mode;
  PetscInt          nmat;
  PetscBool         check = PETSC_FALSE;

  PetscFunctionBegin;
  *why = NULL;
  PetscCall(PetscObjectContainerQuery((PetscObject)eps, AIJTCU_LOBPCG_KEY, &mode));
  if (*mode == AIJTCU_LOBPCG_OFF) *why = "-eps_aijtcu_lobpcg off";
  PetscCall(STGetNumMatrices(eps->st, &nmat));
  for (PetscInt k = 0; k < nmat && !*why; k++) {
    PetscBool ours, device;
    Mat       A;

    PetscCall(STGetMatrix(eps->st, k, &A));
    PetscCall(AIJTCUBasisTakes(A, &ours, &device));
    if (!ours) *why = k ? "B is no aijtcu" : "A is no aijtcu";
    else if (!device && *mode == AIJTCU_LOBPCG_AUTO) *why = k ? "B is on the host" : "A is on the host";
    if (!*why && k) {
      PetscBool first;

      PetscCall(STGetMatrix(eps->st, 0, &A));
      PetscCall(AIJTCUBasisTakes(A, &ours, &first));
      if (first != device) *why = "one of A and B is on the host";
    }
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-eps_lobpcg_checkprecond", &check, NULL));
  if (!*why && check) *why = "the preconditioner is to be checked in each iteration";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EPSSolve_LOBPCG_AIJTCU(EPS eps)
{
  const char *why;
  PetscBool   solved;

  PetscFunctionBegin;
  PetscCall(AIJTCULobpcgLacks(eps, &why));
  if (!why) {
    PetscCall(AIJTCULOBPCGSolve(eps, &solved));
    if (solved) PetscFunctionReturn(PETSC_SUCCESS);
    why = "there is no memory for it";
  }
  PetscCall(PetscInfo(eps, "aijtcu: lobpcg is SLEPc's: %s\n", why));
  PetscCall((*AIJTCULobpcgSolve)(eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EPSCreate_LOBPCG_AIJTCU(EPS eps)
{
  AIJTCULobpcgMode *mode;

  PetscFunctionBegin;
  PetscCall((*AIJTCULobpcgOriginal)(eps));
  AIJTCULobpcgOptions = eps->ops->setfromoptions;
  AIJTCULobpcgSolve   = eps->ops->solve;
  PetscCall(PetscNew(&mode));
  PetscCall(PetscObjectContainerCompose((PetscObject)eps, AIJTCU_LOBPCG_KEY, mode, AIJTCULobpcgFreeMode));
  eps->ops->setfromoptions = EPSSetFromOptions_LOBPCG_AIJTCU;
  eps->ops->solve          = EPSSolve_LOBPCG_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EPSRegister() sees that SLEPc's own types are in the list first, also before SlepcInitialize() */
PetscErrorCode PetscDLLibraryRegister_petscaijtcueps(void)
{
  PetscErrorCode (*create)(EPS);

  PetscFunctionBegin;
  PetscCall(EPSInitializePackage());
  PetscCall(PetscFunctionListFind(EPSList, EPSLOBPCG, &create));
  if (!create || create == EPSCreate_LOBPCG_AIJTCU) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCULobpcgOriginal = create;
  PetscCall(EPSRegister(EPSLOBPCG, EPSCreate_LOBPCG_AIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode PetscDLLibraryRegister_petscaijtcueps(void)
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(NULL, "aijtcu: lobpcg is SLEPc's: ours needs SLEPc 3.26\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
