static char help[] = "Programs that name MATAIJCUSPARSE, with -mat_aijtcu_attach and without. Prints on error only.\n\n";

/*
   Without a device MATAIJCUSPARSE cannot be had. A stand-in takes its place: a MATAIJ of that name, which counts the
   products that it is asked for.
*/
#include "paths.h"
#include "same.h"

#include <petscaijtcu.h>
#include <petsc/private/matimpl.h> /* the stand-in is a matrix type */

static PetscInt  asked    = 0;
static PetscBool standin  = PETSC_FALSE;
static PetscBool nodevice = PETSC_FALSE; /* let the stand-in fail as the original does without a device */

/*
   The stand-ins, sequential and parallel: what each is made of, its name, and where PETSc looks for its products with
   dense matrices
*/
static const struct {
  MatType     made_of, name;
  const char *product, *made_of_product;
} standins[] = {
  {MATSEQAIJ, MATSEQAIJCUSPARSE, "MatProductSetFromOptions_seqaijcusparse_seqdense_C", "MatProductSetFromOptions_seqaij_seqdense_C"},
  {MATMPIAIJ, MATMPIAIJCUSPARSE, "MatProductSetFromOptions_mpiaijcusparse_mpidense_C", "MatProductSetFromOptions_mpiaij_mpidense_C"}
};
static PetscErrorCode (*destroy[2])(Mat);

/*
   The product of a parallel matrix is the parent's, made of products of the blocks, which count. A PETSc without CUDA
   does not know the product under that name.
*/
static PetscErrorCode StandInProduct(Mat C)
{
  Mat       A, B;
  PetscBool mpi;
  PetscErrorCode (*f)(Mat);

  PetscFunctionBegin;
  PetscCall(MatProductGetMats(C, &A, &B, NULL));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (!mpi) asked++;
  PetscCall(PetscObjectQueryFunction((PetscObject)B, standins[mpi].made_of_product, &f));
  PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StandInDestroy(Mat A)
{
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, standins[mpi].product, NULL));
  PetscCall((*destroy[mpi])(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StandIn(Mat A, PetscBool mpi)
{
  PetscFunctionBegin;
  PetscCheck(!nodevice, PETSC_COMM_SELF, PETSC_ERR_GPU, "No device");
  PetscCall(MatSetType(A, standins[mpi].made_of));
  destroy[mpi]    = A->ops->destroy;
  A->ops->destroy = StandInDestroy;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, standins[mpi].name));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, standins[mpi].product, StandInProduct));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StandInSeq(Mat A)
{
  PetscFunctionBegin;
  PetscCall(StandIn(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StandInMPI(Mat A)
{
  PetscFunctionBegin;
  PetscCall(StandIn(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Call before the library looks for its parent types */
static PetscErrorCode StandInWithoutDevice(void)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  standin = (PetscBool)(MatSetType(A, MATSEQAIJCUSPARSE) != PETSC_SUCCESS);
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatDestroy(&A));
  if (!standin) PetscFunctionReturn(PETSC_SUCCESS);
  if (!PetscDefined(HAVE_CUDA)) PetscCall(MatRegisterRootName(MATAIJCUSPARSE, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE));
  PetscCall(MatRegister(MATSEQAIJCUSPARSE, StandInSeq));
  PetscCall(MatRegister(MATMPIAIJCUSPARSE, StandInMPI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Check that A has a type with this root, and that A B is what R B is. If A has a plan, check that the product took
   the path that was set: complex numbers have no bricks.
*/
static PetscErrorCode Same(Mat A, Mat R, const char root[], PetscBool plan, MatAIJTCUPath path, const char what[])
{
  const PetscInt  before = asked;
  PetscBool       bricks;
  MatAIJTCUCounts counts;
  MatAIJTCUPath   has;
  MatType         type;
  PetscMPIInt     size;
  PetscBool       is;
  char            name[32];

  PetscFunctionBegin;
  PetscCall(HasBricks(A, &bricks));
  bricks = (PetscBool)(bricks && path == MAT_AIJTCU_PATH_TCU);
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", size > 1 ? "mpi" : "seq", root));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, name, &is));
  PetscCall(MatGetType(A, &type));
  if (!is) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: type is %s\n", what, type));
  PetscCall(SameProducts(A, R, what));
  if (plan) {
    PetscCall(MatAIJTCUGetPath(A, &has));
    if (has != path) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: its path is %s\n", what, MatAIJTCUPaths[has]));
    PetscCall(MatAIJTCUGetCounts(A, &counts));
    if (bricks ? counts.tcu == 0 || asked != before : counts.tcu > 0 || counts.csr == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt64_FMT " products with bricks, %" PetscInt64_FMT " on the CSR path, %" PetscInt_FMT " by the parent\n", what, counts.tcu, counts.csr, asked - before));
  } else {
    PetscErrorCode ierr;

    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatAIJTCUGetPath(A, &has);
    PetscCall(PetscPopErrorHandler());
    if (!ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: has a plan\n", what));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt      m = 90, n = 90;
  PetscBool     attach = PETSC_FALSE, flg;
  PetscMPIInt   size;
  MatAIJTCUPath path = MAT_AIJTCU_PATH_AUTO;
  Mat           A, R, D, E;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(StandInWithoutDevice());
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_aijtcu_attach", &attach, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, "a_", "-mat_aijtcu_path", MatAIJTCUPaths, (PetscEnum *)&path, NULL));

  PetscCall(Create(MATAIJ, m, n, &R));
  PetscCall(Same(R, R, "aij", PETSC_FALSE, path, "aij"));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(Create(i ? (size > 1 ? MATMPIAIJCUSPARSE : MATSEQAIJCUSPARSE) : MATAIJCUSPARSE, m, n, &A));
    PetscCall(Same(A, R, "aijcusparse", attach, path, "created"));
    PetscCall(MatSetType(A, MATAIJCUSPARSE));
    PetscCall(Same(A, R, "aijcusparse", attach, path, "MatSetType() again"));
    if (!i) PetscCall(MatDestroy(&A));
  }

  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  PetscCall(Same(D, R, "aijcusparse", attach, path, "MatDuplicate()"));
  PetscCall(MatDuplicate(D, MAT_COPY_VALUES, &E));
  PetscCall(MatDestroy(&D));
  PetscCall(Same(E, R, "aijcusparse", attach, path, "MatDuplicate() of a copy"));
  PetscCall(MatAXPY(A, 0.5, E, SAME_NONZERO_PATTERN));
  PetscCall(MatScale(R, 1.5));
  PetscCall(Same(A, R, "aijcusparse", attach, path, "MatAXPY()"));
  PetscCall(Fill(A, n, 7));
  PetscCall(Fill(R, n, 7));
  PetscCall(Same(A, R, "aijcusparse", attach, path, "values set again"));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(Same(A, R, "aijcusparse", attach, path, "bound to the CPU"));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(Same(A, R, "aijcusparse", attach, path, "freed from the CPU"));
  PetscCall(MatDestroy(&E));

  /* Conversions to and from other types. Settings of an attached matrix go along */
  PetscCall(MatConvert(A, MATAIJTCU, MAT_INITIAL_MATRIX, &D));
  if (!attach) PetscCall(MatAIJTCUSetPath(D, path));
  PetscCall(Same(D, R, "aijcusparsetcu", PETSC_TRUE, path, "to aijtcu"));
  PetscCall(MatDuplicate(D, MAT_COPY_VALUES, &E));
  PetscCall(Same(E, R, "aijcusparsetcu", PETSC_TRUE, path, "a copy of that"));
  PetscCall(MatDestroy(&E));
  PetscCall(MatDestroy(&D));
  PetscCall(MatSetType(A, MATAIJTCU));
  if (!attach) PetscCall(MatAIJTCUSetPath(A, path));
  PetscCall(Same(A, R, "aijcusparsetcu", PETSC_TRUE, path, "MatSetType() to aijtcu"));
  PetscCall(MatDestroy(&A));
  PetscCall(Create(MATAIJCUSPARSE, m, n, &A));
  PetscCall(Fill(A, n, 7));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(Same(D, R, "aij", PETSC_FALSE, path, "to aij"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(Same(A, R, "aij", PETSC_FALSE, path, "to aij in place"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));

  if (standin) { /* the error of the parent is passed on, and leaves a matrix that can be destroyed */
    PetscErrorCode ierr;

    nodevice = PETSC_TRUE;
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatSetType(A, MATAIJCUSPARSE);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &flg, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
    if (ierr != PETSC_ERR_GPU || flg) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "without a device MatSetType() returned %d\n", (int)ierr));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2 3}}
    args: -use_gpu_aware_mpi 0

    test:
      suffix: attached
      args: -mat_aijtcu_attach -a_mat_aijtcu_path {{tcu csr}}

    test:
      suffix: rectangular
      args: -mat_aijtcu_attach -a_mat_aijtcu_path {{tcu csr}} -m 61 -n 75

    test:
      suffix: plain
      args: -a_mat_aijtcu_path tcu

TEST*/
