static char help[] = "Products in single precision with bricks, in full and with operands rounded to TF32: each has the error that it is to have, no less and no more. Prints on error only.\n\n";

#include <petscmat.h>
#include "petscaijtcu.h"

#if PetscDefined(HAVE_CUDA)
  #include "band.h"
  #include "paths.h"
  #include "sameproduct.h"

enum {
  ROWS    = 3000,
  HALF    = 9, /* offsets of a row's entries beside the diagonal */
  COLUMNS = 24
};

/* |A B - C| / |C| in the Frobenius norm. A multiplies in the precision that is set */
static PetscErrorCode ErrorOf(Mat A, MatAIJTCUPrecision precision, Mat B, Mat C, PetscReal *error)
{
  Mat       D;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUSetPrecision(A, precision));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(DifferenceOf(&D, C, error, &norm));
  *error /= norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
#if PetscDefined(HAVE_CUDA)
  {
    Mat             A, R, B, S, C;
    PetscReal       full, tf32, again;
    PetscBool       bricks;
    MatAIJTCUCounts counts;

    PetscCall(CreateBand(MATAIJTCU, ROWS, HALF, 3, &A)); /* thirds, which no number of bits represents */
    PetscCall(CreateBand(MATSEQAIJ, ROWS, HALF, 3, &R));
    PetscCall(MatAIJTCUSetPath(A, MAT_AIJTCU_PATH_TCU));
    PetscCall(CreateDense(ROWS, COLUMNS, &S, &B));
    PetscCall(MatMatMult(R, S, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(ErrorOf(A, MAT_AIJTCU_PRECISION_FULL, B, C, &full));
    PetscCall(ErrorOf(A, MAT_AIJTCU_PRECISION_TF32, B, C, &tf32));
    PetscCall(ErrorOf(A, MAT_AIJTCU_PRECISION_FULL, B, C, &again));
    PetscCall(HasBricks(A, &bricks));
    PetscCall(MatAIJTCUGetCounts(A, &counts));
    PetscCheck(!bricks || counts.tcu == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " products with bricks, of 3", (PetscInt)counts.tcu);
    PetscCheck(full == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The error is %g, and %g after products in another precision", (double)full, (double)again);
    PetscCheck(full < 1e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The error in full precision is %g", (double)full);
    PetscCheck(tf32 < 1e-3 && (!bricks || tf32 > 2e-5), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The error with TF32 is %g", (double)tf32);
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&S));
    PetscCall(MatDestroy(&C));
  }
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: cuda single !complex !defined(PETSC_USE_64BIT_INDICES)

  test:
    suffix: cuda
    output_file: output/empty.out

TEST*/
