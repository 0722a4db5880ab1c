/*
   MatCreateSubMatrices() of a whole parallel matrix takes the layout of rows for that of columns

     Where each process asks for all rows and all columns of a square MATMPIAIJ, MatCreateSubMatrix_MPIAIJ_All() takes
     the first column of the diagonal block to be the process's first row. Where rows and columns are not split alike,
     entries move to other columns, also to some that there are not. MatCreateRedundantMatrix() is that, too.

       MatCreate(PETSC_COMM_WORLD, &A);  // 2 processes
       MatSetSizes(A, rank ? 10 : 14, rank ? 14 : 10, 24, 24);
       ...
       ISCreateStride(PETSC_COMM_SELF, 24, 0, 1, &all);
       MatCreateSubMatrices(A, 1, &all, &all, MAT_INITIAL_MATRIX, &sub);  // other columns than A has

     What would help: A->cmap->rstart there, for the columns of the diagonal block and for what is left of it; or
     -use_fast_submatrix ignored where the layouts differ.

   Needed: 3.24 to 3.26. Gone when: "MatCreateSubMatrices() of the whole" of upstream.c, 2 processes. Ours: type.c,
   "MatCreateSubMatrices() of the whole".

   Here such a matrix is taken apart row by row, as with -use_fast_submatrix 0, which A is given for as long as that
*/
#include "upstream.h"

PetscErrorCode AIJTCUCreateSubMatrices(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse, Mat *B[], PetscErrorCode (*f)(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]))
{
  PetscOptions   before = ((PetscObject)A)->options, slow;
  const char    *prefix = ((PetscObject)A)->prefix;
  char           name[PETSC_MAX_OPTION_NAME];
  PetscBool      alike;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscLayoutCompare(A->rmap, A->cmap, &alike));
  if (alike || A->rmap->N != A->cmap->N || reuse == MAT_REUSE_MATRIX) {
    PetscCall((*f)(A, n, rows, cols, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSNPrintf(name, sizeof(name), "-%suse_fast_submatrix", prefix ? prefix : ""));
  PetscCall(PetscOptionsCreate(&slow));
  ierr = PetscOptionsSetValue(slow, name, "0");
  if (!ierr) {
    ((PetscObject)A)->options = slow;
    ierr                      = (*f)(A, n, rows, cols, reuse, B);
    ((PetscObject)A)->options = before;
  }
  PetscCall(PetscOptionsDestroy(&slow));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
