/*
   What -dll_append calls: the type's names, log events and global options.
*/
#include "typeimpl.h"

#define COMPILED "libpetscaijtcu was compiled for "

static PetscErrorCode AIJTCUHasPlan(Mat A, PetscBool *has)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  *has = (PetscBool)(plan != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Check that the library fits this PETSc. A library for one PETSc must not touch the matrices of another. The table of
   operations has another shape in every minor version. Numbers and indices may have other sizes. A matrix may or may
   not know of devices. This check comes first, and its questions have an order in which every answer fits its
   variable.
*/
static PetscErrorCode AIJTCUCheckPetsc(void)
{
  const char advice[] = "compile it with the PETSC_DIR and PETSC_ARCH of this program";
  const struct {
    const char *package, *name;
    PetscBool   compiled;
  } devices[] = {
    {"cuda", "CUDA", (PetscBool)PetscDefined(HAVE_CUDA)},
    {"hip", "HIP", (PetscBool)PetscDefined(HAVE_HIP)},
    {"sycl", "SYCL", (PetscBool)PetscDefined(HAVE_SYCL)}};
  PetscInt      major, minor, subminor;
  PetscDataType scalar = PETSC_DATATYPE_UNKNOWN, real = PETSC_DATATYPE_UNKNOWN;
  PetscBool     found;
  size_t        size;

  PetscFunctionBegin;
  /*
     While PetscInitialize() loads a library, PetscInitialized() is still false. A PETSc that is not initialized prints
     no errors.
  */
  if (PETSC_COMM_WORLD == MPI_COMM_NULL) {
    (void)fprintf(stderr,
      "libpetscaijtcu: error: the libpetsc that it uses is not initialized. Either PetscInitialize() has not been called, "
      "or the program has a PETSc of its own beside that one: %s\n",
      advice);
    PetscFunctionReturn(PETSC_ERR_LIB);
  }
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &size));
  PetscCheck(size == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_LIB,
    COMPILED "a PETSc with %d-bit indices but is loaded into one with %d bits: %s", 8 * (int)sizeof(PetscInt),
    8 * (int)size, advice);
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, NULL));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_LIB,
    COMPILED "PETSc %d.%d but is loaded into PETSc %" PetscInt_FMT ".%" PetscInt_FMT ": %s", PETSC_VERSION_MAJOR,
    PETSC_VERSION_MINOR, major, minor, advice);
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
  PetscCall(PetscDataTypeFromString("real", &real, &found));
  PetscCheck(scalar == PETSC_SCALAR && real == PETSC_REAL, PETSC_COMM_SELF, PETSC_ERR_LIB,
    COMPILED "a PETSc whose scalars are %s and whose real numbers are %s but is loaded into one where they are %s and %s: %s",
    PetscDataTypes[PETSC_SCALAR], PetscDataTypes[PETSC_REAL], PetscDataTypes[scalar], PetscDataTypes[real], advice);
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(devices); i++) {
    PetscCall(PetscHasExternalPackage(devices[i].package, &found));
    PetscCheck(found == devices[i].compiled, PETSC_COMM_SELF, PETSC_ERR_LIB, COMPILED "a PETSc %s %s but is loaded into one %s it: %s",
      devices[i].compiled ? "with" : "without", devices[i].name, found ? "with" : "without", advice);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGlobalSwitch(PetscOptionItems PetscOptionsObject, const char name[], const char text[], PetscBool *on)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCheckOption(PETSC_COMM_SELF, PetscOptionsObject, AIJTCU_OPTION_LOGICAL, name, text));
  PetscCall(PetscOptionsBool(name, text, "MATAIJTCU", *on, on, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options that belong to no matrix. They are read once, in one block, because PETSc prints a block's title once */
static PetscErrorCode AIJTCUGlobalOptions(PetscBool *attach, char replaced[], size_t len, PetscBool *view_choice)
{
#if AIJTCU_HAVE_DEVICE
  const char *const workspace = "MiB of device memory for copies of dense matrices (0 or more; 0: a quarter of the device's)";
  PetscReal         max       = AIJTCUWorkspaceMax;
#endif
  const char *const replace   = "Matrices whose type would be one of these, aij or aijcusparse, are of type MATAIJTCU";
  const char *const solvers[] = {"auto", "always", "off"}; /* AIJTCUBlockSolversMode */
  PetscInt          block     = 0;

  PetscFunctionBegin;
  *attach = *view_choice = PETSC_FALSE;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "AIJTCU options of the whole program", "Mat");
  PetscCall(AIJTCUGlobalSwitch(PetscOptionsObject, "-mat_aijtcu_attach",
    "Products of matrices that are set to MATAIJCUSPARSE are made as those of MATAIJTCU", attach));
  PetscCall(AIJTCUCheckOption(PETSC_COMM_SELF, PetscOptionsObject, AIJTCU_OPTION_NAME, "-mat_aijtcu_for", replace));
  PetscCall(PetscStrncpy(replaced, "none", len));
  PetscCall(PetscOptionsString("-mat_aijtcu_for", replace, "MATAIJTCU", replaced, replaced, len, NULL));
  PetscCall(AIJTCUGlobalSwitch(PetscOptionsObject, "-mat_aijtcu_view_choice",
    "At the end, print whether the type was at work, which path the products took and how often", view_choice));
  PetscCall(AIJTCUCheckOption(PETSC_COMM_SELF, PetscOptionsObject, AIJTCU_OPTION_NAME, "-mat_aijtcu_block_solvers", "auto, always or off"));
  PetscCall(PetscOptionsEList("-mat_aijtcu_block_solvers", "Whether KSPMatSolve() with a MATAIJTCU solves with whole blocks", "MATAIJTCU", solvers,
    PETSC_STATIC_ARRAY_LENGTH(solvers), solvers[0], &block, NULL));
  AIJTCUBlockSolvers = (AIJTCUBlockSolversMode)block;
#if AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCUCheckOption(PETSC_COMM_SELF, PetscOptionsObject, AIJTCU_OPTION_REAL, "-mat_aijtcu_workspace_max", workspace));
  PetscCall(PetscOptionsReal("-mat_aijtcu_workspace_max", workspace, "MATAIJTCU", max, &max, NULL));
  PetscCheck(max >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_workspace_max must be 0 or more, not %g: %s",
    (double)max, workspace);
  AIJTCUWorkspaceMax = max;
#endif
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscDLLibraryRegister_petscaijtcu - Makes `MATAIJTCU` known to PETSc

  Not Collective

  Options Database Keys:
+ -mat_aijtcu_workspace_max MiB               - device memory for copies of dense matrices, see `MATAIJTCU`
. -mat_aijtcu_attach                          - products of matrices of type `MATAIJCUSPARSE` with dense matrices are
                                                ours, too
. -mat_aijtcu_for types                       - matrices whose type would be one of these, aij or aijcusparse, are of
                                                type `MATAIJTCU`
. -mat_aijtcu_block_solvers (auto|always|off) - whether `KSPMatSolve()` with a `MATAIJTCU` solves with whole blocks
- -mat_aijtcu_view_choice                     - at `PetscFinalize()`, print whether the type was at work, which path the
                                                products took and how often

  Level: intermediate

  Notes:
  Called by PETSc when the library is loaded with `-dll_append`. A program that links the library calls it after
  `PetscInitialize()`; further calls do nothing.

  A PETSc of another version, scalar type, precision or index size than the library was compiled for, or with CUDA where
  that has none, or the other way round, is a `PETSC_ERR_LIB` that names the difference.

.seealso: `MATAIJTCU`, `MatCreateAIJTCU()`, `PetscDLLibraryAppend()`
@*/
PetscErrorCode PetscDLLibraryRegister_petscaijtcu(void)
{
  static const struct {
    const char    *name;
    PetscLogEvent *event;
  } events[] = {
    {"MatTCUAnalyse",  &MAT_AIJTCU_Analyse    },
    {"MatTCUBuild",    &MAT_AIJTCU_Build      },
    {"MatTCUReorder",  &MAT_AIJTCU_Reorder    },
    {"MatTCUTune",     &MAT_AIJTCU_Tune       },
    {"MatTCURefresh",  &MAT_AIJTCU_Refresh    },
    {"MatTCUBricks",   &MAT_AIJTCU_Tcu        },
    {"MatTCUCSR",      &MAT_AIJTCU_CSR        },
    {"MatTCUCuSPARSE", &MAT_AIJTCU_CuSPARSE   },
    {"MatTCUSampled",  &MAT_AIJTCU_Sampled    },
    {"MatTCUPack",     &MAT_AIJTCU_Pack       },
    {"MatTCUExchange", &MAT_AIJTCU_Exchange   },
    {"MatTCUOffDiag",  &MAT_AIJTCU_OffDiagonal}
  };
  PetscErrorCode (*create)(Mat) = NULL;
  PetscBool attach, view_choice;
  char      replaced[64];

  PetscFunctionBegin;
  PetscCall(AIJTCUCheckPetsc());
  PetscCall(MatInitializePackage());
  PetscCall(PetscFunctionListFind(MatList, MATSEQAIJTCU, &create));
  PetscCheck(!create || create == MatCreate_SeqAIJTCU, PETSC_COMM_SELF, PETSC_ERR_LIB,
    "Another copy of libpetscaijtcu was loaded before this one. A program that links the library needs no -dll_append: unset PETSC_OPTIONS, or name the same file there");
  if (create) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatRegisterRootName(MATAIJTCU, MATSEQAIJTCU, MATMPIAIJTCU));
  PetscCall(MatRegisterRootName("seqaijtcu", MATSEQAIJTCU, MATSEQAIJTCU));
  PetscCall(MatRegisterRootName("mpiaijtcu", MATMPIAIJTCU, MATMPIAIJTCU));
  PetscCall(AIJTCUGlobalOptions(&attach, replaced, sizeof(replaced), &view_choice));
  AIJTCUSetClass(&AIJTCUWrappers);
  PetscCall(AIJTCUParentsSetUp(attach));
  PetscCall(AIJTCURegisterFactors());
  AIJTCUKnowOurs(AIJTCUHasPlan);
  PetscCall(AIJTCURegisterMAIJ());
  PetscCall(AIJTCURegisterRandom());
  PetscCall(AIJTCURegisterHostPointers());
  PetscCall(AIJTCURegisterPreonly());
  PetscCall(AIJTCURegisterSplit());
  PetscCall(AIJTCUBlockRegister());
  PetscCall(AIJTCURegisterCoarseners());
  PetscCall(AIJTCUEigenLoad());
  /* Not all processes have something to send, or a block that is not empty: with -log_sync they must not wait here */
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(events); i++) {
    PetscCall(PetscLogEventRegister(events[i].name, MAT_CLASSID, events[i].event));
    PetscCall(PetscLogEventSetCollective(*events[i].event, PETSC_FALSE));
  }
  PetscCall(AIJTCUViewChoiceSetUp(view_choice));
  PetscCall(MatRegister(MATMPIAIJTCU, MatCreate_MPIAIJTCU));
  PetscCall(AIJTCUParentsReplace(replaced));
  /* This comes last and tells a further call that all is done. After an error that call begins again */
  PetscCall(MatRegister(MATSEQAIJTCU, MatCreate_SeqAIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}
