/*
   The parent types of MATAIJTCU: how their matrices are made. Also two options that reach matrices whose program asks
   for a parent type.

   -mat_aijtcu_attach hangs a plan on every matrix of a parent type on a device. Such a matrix keeps its type and its
   name, so code that looks at them behaves as before. Its dense products are caught like those of a block of a parallel
   aijtcu. Matrices that PETSc converts from MATAIJ do not come by here.

   -mat_aijtcu_for gives the names MATAIJ and MATAIJCUSPARSE, which stand for a sequential and a parallel type, our
   types to stand for. The types themselves stay as they are. So PETSc's own matrices, which name MATSEQAIJ or MATMPIAIJ
   (blocks of a parallel matrix, factors), do too.

   PETSc's coarsening by matching (MATCOARSENHEM) makes matrices of type MATAIJ to have their values on the host, where
   it reads them without asking. While it works, MATAIJ is what it is without us.
*/
#include "typeimpl.h"
#include <petsc/private/matimpl.h>

typedef PetscErrorCode (*CreateFn)(Mat);

static const MatType names[2][2] = {
  {MATSEQAIJ, MATSEQAIJCUSPARSE},
  {MATMPIAIJ, MATMPIAIJCUSPARSE}
};
static CreateFn create[2][2]; /* the types as registered before us: kind, and whether on a device */

/* Make A a matrix of a parent type, without a plan */
PetscErrorCode AIJTCUParentCreate(Mat A, AIJTCUKind kind, PetscBool device)
{
  PetscFunctionBegin;
  PetscCheck(create[kind][device], PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_UNKNOWN_TYPE, "Parent matrix type %s of aijtcu is not registered", names[kind][device]);
  PetscCall((*create[kind][device])(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCreateAttached(Mat A, AIJTCUKind kind)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUParentCreate(A, kind, PETSC_TRUE));
  if (!A->factortype) PetscCall(AIJTCUAttach(A, kind, PETSC_FALSE, NULL)); /* factors have the parent's type, too */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_SeqAIJCUSPARSE_AIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCreateAttached(A, AIJTCU_KIND_SEQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_MPIAIJCUSPARSE_AIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCreateAttached(A, AIJTCU_KIND_MPI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Called when the library is loaded. PETSc's own types are registered then, and ours are not. It may be called again
   if a later step fails.
*/
PetscErrorCode AIJTCUParentsSetUp(PetscBool attach)
{
  PetscFunctionBegin;
  for (PetscInt kind = 0; kind < 2; kind++) {
    for (PetscInt device = 0; device < 2; device++) {
      CreateFn found;

      PetscCall(PetscFunctionListFind(MatList, names[kind][device], &found));
      if (found != MatCreate_SeqAIJCUSPARSE_AIJTCU && found != MatCreate_MPIAIJCUSPARSE_AIJTCU) create[kind][device] = found;
    }
  }
  if (!attach) PetscFunctionReturn(PETSC_SUCCESS);
  if (create[AIJTCU_KIND_SEQ][1] && create[AIJTCU_KIND_MPI][1]) {
    PetscCall(MatRegister(MATSEQAIJCUSPARSE, MatCreate_SeqAIJCUSPARSE_AIJTCU));
    PetscCall(MatRegister(MATMPIAIJCUSPARSE, MatCreate_MPIAIJCUSPARSE_AIJTCU));
  } else PetscCall(PetscInfo(NULL, "-mat_aijtcu_attach does nothing: this PETSc has no %s (it is configured without CUDA)\n", MATAIJCUSPARSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A root name stands for what the first entry of PETSc's list says. MatRegisterRootName() appends to that list */
static PetscErrorCode AIJTCURootNameFirst(const char name[], MatRootName *entry)
{
  MatRootName first;

  PetscFunctionBegin;
  PetscCall(PetscNew(&first));
  *entry          = first;
  first->next     = MatRootNameList;
  MatRootNameList = first; /* PETSc frees the list when it ends, also after an error in the next lines */
  PetscCall(PetscStrallocpy(MATSEQAIJTCU, &first->sname));
  PetscCall(PetscStrallocpy(MATMPIAIJTCU, &first->mname));
  PetscCall(PetscStrallocpy(name, &first->rname));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MatRootName aij; /* what makes MATAIJ ours */
static PetscErrorCode (*create_matching)(MatCoarsen), (*apply_matching)(MatCoarsen);

static PetscErrorCode MatCoarsenApply_HEM_AIJTCU(MatCoarsen coarsen)
{
  char *const    name = aij->rname;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  aij->rname = aij->sname; /* a type's own name, which nobody looks for in this list */
  ierr       = (*apply_matching)(coarsen);
  aij->rname = name;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCoarsenCreate_HEM_AIJTCU(MatCoarsen coarsen)
{
  PetscFunctionBegin;
  PetscCall((*create_matching)(coarsen));
  if (!aij) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc has ended and begun again, without the option */
  apply_matching      = coarsen->ops->apply;
  coarsen->ops->apply = MatCoarsenApply_HEM_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMatchingSetUp(void)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUReplaceCreator(MatCoarsenList, MATCOARSENHEM, MatCoarsenCreate_HEM_AIJTCU, &create_matching));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_aijtcu_for says: let matrices whose type would be one of this list be ours */
PetscErrorCode AIJTCUParentsReplace(const char list[])
{
  const char *const known[]                                  = {MATAIJ, MATAIJCUSPARSE};
  PetscBool         named[PETSC_STATIC_ARRAY_LENGTH(known)] = {PETSC_FALSE};
  PetscBool         right;
  char            **words;
  int               n;

  PetscFunctionBegin;
  aij = NULL; /* one of before went with PETSc's list */
  PetscCall(PetscStrcmp(list, "none", &right));
  if (right) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrToArray(list, ',', &n, &words));
  right = (PetscBool)(n > 0);
  for (int i = 0; i < n && right; i++) {
    right = PETSC_FALSE;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(known) && !right; k++) {
      PetscCall(PetscStrcmp(words[i], known[k], &right));
      if (right) named[k] = PETSC_TRUE;
    }
  }
  PetscCall(PetscStrToArrayDestroy(n, words));
  PetscCheck(right, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_for must be aij, aijcusparse, aij,aijcusparse or none, not '%s'", list);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(known); k++) {
    MatRootName entry = NULL;

    if (!named[k]) continue;
    PetscCall(AIJTCURootNameFirst(known[k], &entry));
    if (k == 0) {
      aij = entry;
      PetscCall(AIJTCUMatchingSetUp());
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
