/*
   How LOBPCG with blocks enters: SLEPc's creator of EPSLOBPCG is wrapped under the same name. The original is called
   first. Then ours stands before three operations: options, the solve, which decides, and the set-up. There SLEPc would
   make the vectors to start from orthonormal, one after the other. Ours does that as a block, and has another default
   of the restart parameter. All else is SLEPc's.
*/
#include "eigen.h"

#if AIJTCU_HAVE_EIGEN
typedef enum {
  AIJTCU_LOBPCG_AUTO, /* where the matrices are on a device */
  AIJTCU_LOBPCG_ALWAYS,
  AIJTCU_LOBPCG_OFF
} AIJTCULobpcgMode;

static const char *const AIJTCULobpcgModes[] = {"auto", "always", "off"};

/* What hangs on a solver */
typedef struct {
  AIJTCULobpcgMode mode;
  PetscBool        raw;     /* the vectors to start from are in V as the user gave them */
  PetscReal        restart; /* the restart parameter that the set-up left, 0 before the first one */
} AIJTCULobpcgEntry;

/* What SLEPc's creator sets, which is the same for each solver */
static PetscErrorCode (*AIJTCULobpcgOriginal)(EPS);
static PetscErrorCode (*AIJTCULobpcgOptions)(EPS, PetscOptionItems);
static PetscErrorCode (*AIJTCULobpcgSetUp)(EPS);
static PetscErrorCode (*AIJTCULobpcgSolve)(EPS);

  #define AIJTCU_LOBPCG_KEY "AIJTCULobpcgEntry"

static PetscErrorCode AIJTCULobpcgFreeEntry(PetscCtxRt ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*(AIJTCULobpcgEntry **)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EPSSetFromOptions_LOBPCG_AIJTCU(EPS eps, PetscOptionItems PetscOptionsObject)
{
  AIJTCULobpcgEntry *entry;
  PetscInt           value;

  PetscFunctionBegin;
  PetscCall((*AIJTCULobpcgOptions)(eps, PetscOptionsObject));
  PetscCall(PetscObjectContainerQuery((PetscObject)eps, AIJTCU_LOBPCG_KEY, &entry));
  value = (PetscInt)entry->mode;
  PetscCall(PetscOptionsEList("-eps_aijtcu_lobpcg", "Whether LOBPCG with a MATAIJTCU works with whole blocks", "MATAIJTCU", AIJTCULobpcgModes, PETSC_STATIC_ARRAY_LENGTH(AIJTCULobpcgModes), AIJTCULobpcgModes[value], &value, NULL));
  entry->mode = (AIJTCULobpcgMode)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the solve is not ours, or NULL. All processes have the same answer */
static PetscErrorCode AIJTCULobpcgLacks(EPS eps, const AIJTCULobpcgEntry *entry, const char **why)
{
  PetscInt  nmat;
  PetscBool check = PETSC_FALSE;

  PetscFunctionBegin;
  *why = NULL;
  if (entry->mode == AIJTCU_LOBPCG_OFF) *why = "-eps_aijtcu_lobpcg off";
  PetscCall(STGetNumMatrices(eps->st, &nmat));
  for (PetscInt k = 0; k < nmat && !*why; k++) {
    PetscBool ours, device;
    Mat       A;

    PetscCall(STGetMatrix(eps->st, k, &A));
    PetscCall(AIJTCUBasisTakes(A, &ours, &device));
    if (!ours) *why = k ? "B is no aijtcu" : "A is no aijtcu";
    else if (!device && entry->mode == AIJTCU_LOBPCG_AUTO) *why = k ? "B is on the host" : "A is on the host";
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

/*
   SLEPc locks vectors when nine tenths of a block have converged. The last ones of these take most iterations, because
   few vectors behind them are left as guards, and most of the block is idle. Where not all pairs fit into a block, ours
   locks a quarter of it, unless the user set the parameter
*/
static PetscErrorCode AIJTCULobpcgSetRestart(EPS eps, AIJTCULobpcgEntry *entry)
{
  const PetscReal theirs = (PetscReal)0.9, ours = (PetscReal)0.25;
  const PetscInt  nev = PetscMax(eps->nev, 1);
  const char     *why;
  PetscInt        bs;
  PetscReal       restart;

  PetscFunctionBegin;
  PetscCall(EPSLOBPCGGetRestart(eps, &restart));
  if (restart != entry->restart) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(EPSLOBPCGGetBlockSize(eps, &bs));
  if (!bs) bs = PetscMin(16, nev);
  PetscCall(AIJTCULobpcgLacks(eps, entry, &why));
  entry->restart = !why && nev > bs - AIJTCULOBPCGGuards(bs, theirs) ? ours : theirs;
  PetscCall(EPSLOBPCGSetRestart(eps, entry->restart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EPSSetUp_LOBPCG_AIJTCU(EPS eps)
{
  AIJTCULobpcgEntry *entry;
  const char        *why;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)eps, AIJTCU_LOBPCG_KEY, &entry));
  PetscCall(AIJTCULobpcgSetRestart(eps, entry));
  PetscCall((*AIJTCULobpcgSetUp)(eps));
  if (eps->nini >= 0) PetscFunctionReturn(PETSC_SUCCESS); /* there are none, or they are in V */
  entry->raw = PETSC_FALSE;
  PetscCall(AIJTCULobpcgLacks(eps, entry, &why));
  /* A deflation space will be put before them, which drops what is in V */
  if (why || -eps->nini > eps->ncv || eps->nds < 0) PetscFunctionReturn(PETSC_SUCCESS);
  eps->nini = -eps->nini;
  PetscCall(BVInsertVecs(eps->V, 0, &eps->nini, eps->IS, PETSC_FALSE));
  for (PetscInt k = 0; k < eps->nini; k++) PetscCall(VecDestroy(&eps->IS[k]));
  PetscCall(PetscFree(eps->IS));
  entry->raw = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors to start from become what SLEPc's set-up would have made of them */
static PetscErrorCode AIJTCULobpcgOrthonormalStart(EPS eps)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < eps->nini; k++) {
    PetscReal norm;
    PetscBool dependent;

    if (n < k) PetscCall(BVCopyColumn(eps->V, k, n));
    PetscCall(BVOrthonormalizeColumn(eps->V, n, PETSC_FALSE, &norm, &dependent));
    if (norm != 0 && !dependent) n++;
  }
  eps->nini = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EPSSolve_LOBPCG_AIJTCU(EPS eps)
{
  AIJTCULobpcgEntry *entry;
  const char        *why;
  PetscBool          solved;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)eps, AIJTCU_LOBPCG_KEY, &entry));
  PetscCall(AIJTCULobpcgLacks(eps, entry, &why));
  if (!why) {
    PetscCall(AIJTCULOBPCGSolve(eps, &solved));
    if (solved) PetscFunctionReturn(PETSC_SUCCESS);
    why = "there is no memory for it";
  }
  PetscCall(PetscInfo(eps, "aijtcu: lobpcg is SLEPc's: %s\n", why));
  if (entry->raw) PetscCall(AIJTCULobpcgOrthonormalStart(eps));
  entry->raw = PETSC_FALSE;
  PetscCall((*AIJTCULobpcgSolve)(eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EPSCreate_LOBPCG_AIJTCU(EPS eps)
{
  AIJTCULobpcgEntry *entry;

  PetscFunctionBegin;
  PetscCall((*AIJTCULobpcgOriginal)(eps));
  AIJTCULobpcgOptions = eps->ops->setfromoptions;
  AIJTCULobpcgSetUp   = eps->ops->setup;
  AIJTCULobpcgSolve   = eps->ops->solve;
  PetscCall(PetscNew(&entry));
  PetscCall(PetscObjectContainerCompose((PetscObject)eps, AIJTCU_LOBPCG_KEY, entry, AIJTCULobpcgFreeEntry));
  eps->ops->setfromoptions = EPSSetFromOptions_LOBPCG_AIJTCU;
  eps->ops->setup          = EPSSetUp_LOBPCG_AIJTCU;
  eps->ops->solve          = EPSSolve_LOBPCG_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This may come before SlepcInitialize() */
PetscErrorCode PetscDLLibraryRegister_petscaijtcueps(void)
{
  PetscFunctionBegin;
  PetscCall(EPSInitializePackage());
  PetscCall(AIJTCUCayleyEnter());
  PetscCall(AIJTCUReplaceCreator(EPSList, EPSLOBPCG, EPSCreate_LOBPCG_AIJTCU, &AIJTCULobpcgOriginal));
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
