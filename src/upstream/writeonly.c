/*
   Entries are added to what VecGetArrayWrite() gives

     MatNorm_MPIAIJ() with NORM_1 adds to the entries of vectors that it has made. These are zero for vectors of the
     host. The array on the host of a VECCUDA is memory that nobody has set. PCJACOBI with PC_JACOBI_ROWL1 changes the
     sign of some entries of the vector that MatGetRowSumAbs() has filled: MatGetRowSumAbs_MPIAIJ() has done so on the
     device, and the array on the host has other numbers. The norm of a MATMPIAIJCUSPARSE is wrong, and so is the
     preconditioner, if the matrix is not known to be positive definite.

       MatNorm(A, NORM_1, &norm);  // 2 processes: another number each time

     What would help: VecGetArray() in both; in the first, VecSet(col, 0) before.

   Needed: 3.24 to 3.26. Gone when: nothing says it, for memory may be zero; read MatNorm_MPIAIJ() and PCSetUp_Jacobi().
   Ours: sequences.c, "norm"; solvers.c, jacobi with rowl1.
*/
#include "upstream.h"

/* The largest sum of a column */
PetscErrorCode AIJTCUNormOfColumns(Mat A, PetscReal *norm)
{
  PetscReal *norms;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(A->cmap->N, &norms));
  PetscCall(MatGetColumnNorms(A, NORM_1, norms));
  *norm = 0;
  for (PetscInt j = 0; j < A->cmap->N; j++) {
    if (!(norms[j] <= *norm)) *norm = norms[j]; /* NaN, too */
    if (PetscIsNanReal(*norm)) break;
  }
  PetscCall(PetscFree(norms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of v are on the host as well */
PetscErrorCode AIJTCUAlsoOnHost(Vec v)
{
  const PetscScalar *entries;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(v, &entries));
  PetscCall(VecRestoreArrayRead(v, &entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}
