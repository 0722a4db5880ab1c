#include "solver.h"
#include "machine.h"

/* Tolerances that the precision can reach */
#if PetscDefined(USE_REAL_SINGLE)
  #define TIGHT "1e-5"
  #define LOOSE "1e-4"
#else
  #define TIGHT "1e-8"
  #define LOOSE "1e-6"
#endif

enum {
  MOST_ITERATIONS = 1000 /* a solver that needs more does not fit the matrix */
};

static const Solver solvers[] = {
  {"cg-jacobi", PETSC_TRUE, PETSC_FALSE, "ksp_type cg pc_type jacobi ksp_rtol " TIGHT},
  {"cg-gamg", PETSC_TRUE, PETSC_FALSE, "ksp_type cg pc_type gamg ksp_rtol " TIGHT},
  {"richardson-gamg", PETSC_TRUE, PETSC_FALSE, "ksp_type richardson pc_type gamg mg_levels_ksp_type richardson mg_levels_pc_type jacobi ksp_rtol " TIGHT},
  {"gmres-jacobi", PETSC_FALSE, PETSC_FALSE, "ksp_type gmres ksp_gmres_restart 30 pc_type jacobi ksp_rtol " LOOSE},
  {"bcgs-jacobi", PETSC_FALSE, PETSC_FALSE, "ksp_type bcgs pc_type jacobi ksp_rtol " LOOSE},
  {"cg-icc", PETSC_TRUE, PETSC_FALSE, "ksp_type cg pc_type bjacobi sub_pc_type icc ksp_rtol " TIGHT},
  {"bcg-jacobi", PETSC_TRUE, PETSC_FALSE, "ksp_type bcg pc_type jacobi ksp_rtol " TIGHT},
  {"cg-jacobi-vector", PETSC_TRUE, PETSC_TRUE, "ksp_type cg pc_type jacobi ksp_rtol " TIGHT},
  {"cg-gamg-vector", PETSC_TRUE, PETSC_TRUE, "ksp_type cg pc_type gamg ksp_rtol " TIGHT}};

/* All names, with commas between them */
PetscErrorCode SolverNames(char names[], size_t len)
{
  PetscFunctionBegin;
  names[0] = 0;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(solvers); k++) {
    if (k) PetscCall(PetscStrlcat(names, ",", len));
    PetscCall(PetscStrlcat(names, solvers[k].name, len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SolverFind(const char name[], const Solver **solver)
{
  char names[256];

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(solvers); k++) {
    PetscBool same;

    *solver = &solvers[k];
    PetscCall(PetscStrcmp(name, (*solver)->name, &same));
    if (same) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SolverNames(names, sizeof(names)));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s: no such solver; there are %s", name, names);
}

/* Set the options of a solver that the user has not given */
static PetscErrorCode SetDefaults(const Solver *solver, const char prefix[])
{
  char **word;
  int    words;

  PetscFunctionBegin;
  PetscCall(PetscStrToArray(solver->options, ' ', &words, &word));
  for (int k = 0; k + 1 < words; k += 2) {
    char      name[128];
    PetscBool given;

    PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s", prefix, word[k]));
    PetscCall(PetscOptionsHasName(NULL, NULL, name, &given));
    if (!given) PetscCall(PetscOptionsSetValue(NULL, name, word[k + 1]));
  }
  PetscCall(PetscStrToArrayDestroy(words, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why a solver cannot solve with a matrix, or NULL */
PetscErrorCode SolverLacks(const Solver *solver, PetscBool symmetric, const char **why)
{
  char **word;
  int    words;
  PetscErrorCode (*create)(KSP) = NULL;

  PetscFunctionBegin;
  *why = solver->symmetric && !symmetric ? "the matrix is not symmetric" : NULL;
  PetscCall(KSPInitializePackage());
  PetscCall(PetscStrToArray(solver->options, ' ', &words, &word));
  PetscCall(PetscFunctionListFind(KSPList, word[1], &create)); /* ksp_type comes first */
  if (!create) *why = "there is no KSP of this type: block solves need PETSc 3.26 and real numbers";
  PetscCall(PetscStrToArrayDestroy(words, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SolverCreate(const Solver *solver, Mat A, KSP *ksp)
{
  char prefix[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", solver->name));
  PetscCall(SetDefaults(solver, prefix));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, MOST_ITERATIONS));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set up solver and preconditioner, and take the time */
PetscErrorCode SolverSetUp(KSP ksp, PetscReal *seconds)
{
  Mat            A;
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(ExampleTime(A, &begin));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(ExampleTime(A, &end));
  *seconds = (PetscReal)(end - begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}
