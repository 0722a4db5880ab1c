static char help[] = "Products of one matrix in two of PETSc's device contexts, whose streams wait for nobody: they share its plan, and workspace. Prints on error only.\n\n";

/*
   Products in two device contexts.

   Anyone who changes a matrix in one context and uses it in another has to let the second wait for the first, as
   anywhere in PETSc. What a plan keeps is not known to the user. Values that a product in one context brings up to
   date serve the next context, too, and so does the workspace. So the plan itself has to wait for these. PETSc's own
   default stream is that of the current context.
*/
#include <petscmat.h>
#include <petscdevice.h>
#include "petscaijtcu.h"

#if PetscDefined(HAVE_CUDA)
  #include "band.h"
  #include "sameproduct.h"

enum {
  ROWS     = 20000,
  HALF     = 20, /* offsets of a row's entries beside the diagonal */
  CONTEXTS = 2,
  ROUNDS   = 10,
  BALLAST  = 512 /* columns of a dense matrix that keeps the device busy */
};

/*
   Columns of the dense matrices. The second context's product asks for a larger workspace while the first one's is in
   use
*/
static const PetscInt columns[CONTEXTS] = {24, 40};

/* A and B, with copies on the host, which are changed in the same way */
typedef struct {
  PetscDeviceContext root, own[CONTEXTS];
  Mat                A, R, B[CONTEXTS], S[CONTEXTS], C[CONTEXTS], Ballast;
} Subject;

static PetscErrorCode SubjectCreate(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(CreateBand(MATAIJTCU, ROWS, HALF, 1, &s->A));
  PetscCall(MatConvert(s->A, MATSEQAIJ, MAT_INITIAL_MATRIX, &s->R));
  PetscCall(MatCreateDenseCUDA(PETSC_COMM_SELF, ROWS, BALLAST, ROWS, BALLAST, NULL, &s->Ballast));
  PetscCall(MatSetRandom(s->Ballast, NULL));
  PetscCall(PetscDeviceContextGetCurrentContext(&s->root));
  for (PetscInt k = 0; k < CONTEXTS; k++) {
    PetscCall(CreateDense(ROWS, columns[k], &s->S[k], &s->B[k]));
    PetscCall(MatCreateDenseCUDA(PETSC_COMM_SELF, ROWS, columns[k], ROWS, columns[k], NULL, &s->C[k]));
    PetscCall(MatProductCreateWithMat(s->A, s->B[k], NULL, s->C[k]));
    PetscCall(MatProductSetType(s->C[k], MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(s->C[k]));
    PetscCall(MatProductSymbolic(s->C[k]));
    PetscCall(PetscDeviceContextCreate(&s->own[k]));
    PetscCall(PetscDeviceContextSetStreamType(s->own[k], PETSC_STREAM_NONBLOCKING));
    PetscCall(PetscDeviceContextSetUp(s->own[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SubjectDestroy(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->A));
  PetscCall(MatDestroy(&s->R));
  PetscCall(MatDestroy(&s->Ballast));
  for (PetscInt k = 0; k < CONTEXTS; k++) {
    PetscCall(MatDestroy(&s->B[k]));
    PetscCall(MatDestroy(&s->S[k]));
    PetscCall(MatDestroy(&s->C[k]));
    PetscCall(PetscDeviceContextDestroy(&s->own[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A round in the context that was there before, compared with the host. Its first operation keeps the device busy
   until the host has launched all products of the round. So they begin together.
*/
static PetscErrorCode Change(Subject *s, PetscInt round)
{
  const PetscScalar factor = round % 2 ? -0.75 : 1.5;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 40; i++) PetscCall(MatScale(s->Ballast, -1));
  PetscCall(MatScale(s->A, factor));
  PetscCall(MatScale(s->R, factor));
  for (PetscInt k = 0; k < CONTEXTS; k++) {
    PetscCall(MatScale(s->B[k], -factor));
    PetscCall(MatScale(s->S[k], -factor));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A context waits for changes of A and B only, not for the other's product. The contexts take turns at being the
   first, which brings the values up to date.
*/
static PetscErrorCode Multiply(Subject *s, PetscInt round)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < CONTEXTS; i++) {
    const PetscInt k = (i + round) % CONTEXTS;

    PetscCall(PetscDeviceContextWaitForContext(s->own[k], s->root));
    PetscCall(PetscDeviceContextSetCurrentContext(s->own[k]));
    PetscCall(MatProductNumeric(s->C[k]));
  }
  PetscCall(PetscDeviceContextSetCurrentContext(s->root));
  for (PetscInt k = 0; k < CONTEXTS; k++) PetscCall(PetscDeviceContextSynchronize(s->own[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Subject *s, PetscInt round)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < CONTEXTS; k++) {
    Mat  D;
    char what[128];

    PetscCall(PetscSNPrintf(what, sizeof(what), "round %" PetscInt_FMT ", context %" PetscInt_FMT ", asked for as number %" PetscInt_FMT ", did it wait for the other?", round, k, (k + round) % CONTEXTS + 1));
    PetscCall(MatDuplicate(s->C[k], MAT_COPY_VALUES, &D));
    PetscCall(SameAsProduct(&D, s->R, s->S[k], what));
  }
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
    Subject         s;
    MatAIJTCUCounts counts;

    PetscCall(SubjectCreate(&s));
    for (PetscInt round = 0; round < ROUNDS; round++) {
      PetscCall(Change(&s, round));
      PetscCall(Multiply(&s, round));
      PetscCall(Compare(&s, round));
    }
    PetscCall(MatAIJTCUGetCounts(s.A, &counts));
    PetscCheck(!counts.cusparse, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " products were the parent's", (PetscInt)counts.cusparse);
    PetscCall(SubjectDestroy(&s));
  }
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: cuda !complex !defined(PETSC_USE_64BIT_INDICES)

  testset:
    output_file: output/empty.out

    test:
      suffix: cuda
      args: -a_mat_aijtcu_path {{tcu csr}}

    test: # a copy of B in the workspace
      suffix: cuda_gather
      args: -a_mat_aijtcu_path tcu -a_mat_aijtcu_format 8,8,256,1

TEST*/
