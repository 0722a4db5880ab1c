static char help[] = "What a matrix is when it leaves the type, and whether its blocks leave with it. Prints on error only.\n\n";

#include "same.h"

#include <petscaijtcu.h>
#include <petsc/private/matimpl.h>

/* Check that nothing of ours is left on X, which may have any type now */
static PetscErrorCode Bare(Mat X, const char what[], const char which[])
{
  static const char *const objects[] = {"MatAIJTCUPlan", "MatAIJTCUOwner"};
  PetscObject              composed;
  Mat                      F;
  MatType                  type;
  PetscBool                is;
  void (*f)(void), (*g)(void);

  PetscFunctionBegin;
  PetscCall(MatGetType(X, &type));
  PetscCall(PetscStrendswith(type, "tcu", &is));
  if (is) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the type of the %s is %s\n", what, which, type));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(objects); k++) {
    PetscCall(PetscObjectQuery((PetscObject)X, objects[k], &composed));
    if (composed) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the %s has a %s\n", what, which, objects[k]));
  }
  PetscCall(PetscObjectTypeCompareAny((PetscObject)X, &is, MATSEQAIJ, MATMPIAIJ, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PetscObjectComm((PetscObject)X), &F)); /* a matrix that never was of the type */
  PetscCall(MatSetType(F, type));
#define SAME(op) \
  if (X->ops->op != F->ops->op) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the operation " #op " of the %s is not that of a %s\n", what, which, type));
  SAME(duplicate)
  SAME(bindtocpu)
  SAME(setfromoptions)
  SAME(productsetfromoptions)
  SAME(convert)
  SAME(view)
  SAME(destroy)
  SAME(create)
#undef SAME
  for (int cuda = 0; cuda < 2; cuda++) {
    char key[128];

    PetscCall(PetscSNPrintf(key, sizeof(key), "MatProductSetFromOptions_%s_%.3sdense%s_C", type, type, cuda ? "cuda" : ""));
    PetscCall(PetscObjectQueryFunction((PetscObject)X, key, &f));
    PetscCall(PetscObjectQueryFunction((PetscObject)F, key, &g));
    if (f != g) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s of the %s is not that of a %s\n", what, key, which, type));
  }
  PetscCall(PetscObjectQueryFunction((PetscObject)X, "MatSetPreallocationCOO_C", &f));
  PetscCall(PetscObjectQueryFunction((PetscObject)F, "MatSetPreallocationCOO_C", &g));
  if (f != g) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: MatSetPreallocationCOO() of the %s is not that of a %s\n", what, which, type));
  PetscCall(MatDestroy(&F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ways out of the type */
static PetscErrorCode ToAIJ(Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(*A, MATAIJ, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToParent(Mat *A)
{
  VecType   type;
  PetscBool host;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(*A, &type));
  PetscCall(PetscStrcmp(type, VECSTANDARD, &host));
  PetscCall(MatConvert(*A, host ? MATAIJ : MATAIJCUSPARSE, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToBAIJ(Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(*A, MATBAIJ, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToDense(Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(*A, MATDENSE, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetTypeAIJ(Mat *A)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*A, NULL, &n));
  PetscCall(MatSetType(*A, MATAIJ)); /* empties the matrix */
  PetscCall(MatSetUp(*A));
  PetscCall(Fill(*A, n, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetTypeDense(Mat *A)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*A, NULL, &n));
  PetscCall(MatSetType(*A, MATDENSE));
  PetscCall(MatSetUp(*A));
  PetscCall(Fill(*A, n, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeaderReplace(Mat *A)
{
  Mat R;

  PetscFunctionBegin;
  PetscCall(MatConvert(*A, MATAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatHeaderReplace(*A, &R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Mat *A)
{
  Mat R;

  PetscFunctionBegin;
  PetscCall(MatConvert(*A, MATAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatDestroy(A));
  *A = R;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks that another reference keeps leave the type with the whole. The plan with its bricks is gone */
static PetscErrorCode TestWaysOut(PetscInt m, PetscInt n)
{
  const struct {
    const char *name;
    PetscErrorCode (*leave)(Mat *);
  } list[] = {
    {"to aij in place",        ToAIJ        },
    {"to the parent in place", ToParent     },
    {"to baij in place",       ToBAIJ       },
    {"to dense in place",      ToDense      },
    {"MatSetType() to aij",    SetTypeAIJ   },
    {"MatSetType() to dense",  SetTypeDense },
    {"MatHeaderReplace()",     HeaderReplace},
    {"MatDestroy()",           Destroy      }
  };
  Mat A, R, blocks[2] = {NULL, NULL};

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, m, n, &R));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(list); k++) {
    PetscBool mpi;

    PetscCall(Create(MATAIJTCU, m, n, &A));
    PetscCall(SameProducts(A, R, "before"));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    if (mpi) {
      PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
      for (int i = 0; i < 2; i++) PetscCall(PetscObjectReference((PetscObject)blocks[i]));
    }
    PetscCall((*list[k].leave)(&A));
    PetscCall(Bare(A, list[k].name, "matrix"));
    PetscCall(SameProducts(A, R, list[k].name));
    for (int i = 0; i < 2 && mpi; i++) {
      PetscCall(Bare(blocks[i], list[k].name, i ? "off-diagonal block" : "diagonal block"));
      PetscCall(MatDestroy(&blocks[i]));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LU in place makes a factor of the matrix, so its old bricks are of no use */
static PetscErrorCode TestFactor(void)
{
  Mat           A, B, C;
  IS            rows;
  MatFactorInfo info;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, 40, 40, 40, 40));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetOptionsPrefix(A, "a_"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(Fill(A, 40, 1));
  PetscCall(MatCreateDense(PETSC_COMM_SELF, 40, 5, 40, 5, NULL, &B));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 40, 0, 1, &rows));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatLUFactor(A, rows, rows, &info));
  PetscCall(ISDestroy(&rows));
  PetscCall(Bare(A, "MatLUFactor()", "matrix"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions that destroy a matrix in their own way, each a different one. They replace that of an aij */
enum {
  NOWN = 6
};
static PetscErrorCode (*original)(Mat);
static PetscInt destroyed[NOWN];

static PetscErrorCode Count(Mat A, int k)
{
  PetscFunctionBegin;
  destroyed[k]++;
  PetscCall((*original)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#define OWN(k) \
  static PetscErrorCode Destroy##k(Mat A) \
  { \
    return Count(A, k); \
  }
OWN(0)
OWN(1)
OWN(2)
OWN(3)
OWN(4)
OWN(5)
static PetscErrorCode (*const own[NOWN])(Mat) = {Destroy0, Destroy1, Destroy2, Destroy3, Destroy4, Destroy5};

/*
   A matrix keeps a MATOP_DESTROY of its own when it becomes an aijtcu. A program may have any number of such
   functions.

   MatAXPY() with another pattern exchanges the data of the matrix (MatHeaderMerge()). The matrix's function is called
   then, and once more at the end. PETSc's own conversions between aij and aijcusparse set MATOP_DESTROY anew, so the
   test has none of these.
*/
static PetscErrorCode TestOwnDestroy(PetscInt m)
{
  Mat       A, D, R;
  VecType   vtype;
  PetscBool host;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, m, m, &A));
  PetscCall(MatGetVecType(A, &vtype));
  PetscCall(PetscStrcmp(vtype, VECSTANDARD, &host));
  PetscCall(MatDestroy(&A));
  for (int k = 0; k < NOWN; k++) {
    PetscCall(Create(host ? MATAIJ : MATAIJCUSPARSE, m, m, &A));
    PetscCall(Create(MATAIJ, m, m, &R));
    original        = A->ops->destroy;
    A->ops->destroy = own[k]; /* as MatSetOperation() does */
    PetscCall(MatSetType(A, MATAIJTCU));
    PetscCall(SameProducts(A, R, "with a MATOP_DESTROY"));
    PetscCall(MatTranspose(R, MAT_INITIAL_MATRIX, &D));
    PetscCall(MatShift(D, 1));
    PetscCall(MatAXPY(R, 2, D, DIFFERENT_NONZERO_PATTERN));
    if (k % 2) {
      PetscCall(MatAXPY(A, 2, D, DIFFERENT_NONZERO_PATTERN));
      PetscCall(SameProducts(A, R, "with a MATOP_DESTROY, another pattern"));
    }
    destroyed[k] = 0;
    if (k % 3 == 1 && host) {
      PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
      if (k % 2) PetscCall(SameProducts(A, R, "with a MATOP_DESTROY, to aij in place"));
    }
    PetscCall(MatDestroy(&A));
    if (destroyed[k] != 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MATOP_DESTROY %d was called %" PetscInt_FMT " times\n", k, destroyed[k]));
    PetscCall(MatDestroy(&D));
    PetscCall(MatDestroy(&R));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's function changes the type of the matrix, and malloc() gives the memory of the old name to the new one */
static PetscBool same_address;

static PetscErrorCode Rename(Mat A, IS r, IS c, const MatFactorInfo *info)
{
  const char *name = ((PetscObject)A)->type_name;

  PetscFunctionBegin;
  (void)r;
  (void)c;
  (void)info;
  for (PetscInt k = 0; k < 1000 && !same_address; k++) {
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJPERM));
    same_address = (PetscBool)(((PetscObject)A)->type_name == name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestName(void)
{
  Mat           A, R;
  IS            rows;
  MatFactorInfo info;
  MatType       type;
  PetscBool     is;
  VecType       vectors;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, 40, 40, 40, 40));
  PetscCall(MatSetType(A, MATSEQAIJ));
  PetscCall(MatSetFromOptions(A));
  PetscCall(Fill(A, 40, 1));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &R));
  A->ops->ilufactor = Rename;
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatGetVecType(A, &vectors));
  PetscCall(PetscStrcmp(vectors, VECSTANDARD, &is));
  if (is) { /* on a device the type is changed before ILU in place */
    PetscCall(MatFactorInfoInitialize(&info));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, 40, 0, 1, &rows));
    PetscCall(MatILUFactor(A, rows, rows, &info));
    PetscCall(ISDestroy(&rows));
    A->factortype = MAT_FACTOR_NONE;
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscStrcmp(type, MATSEQAIJPERM, &is));
    if (!is) PetscCall(PetscPrintf(PETSC_COMM_SELF, "the parent has made a %s, which is called %s\n", MATSEQAIJPERM, type));
    PetscCall(Bare(A, "a name at the same address", "matrix"));
    if (!same_address) PetscCall(PetscInfo(A, "No name came to the address of the one before\n"));
  }
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Quiet(Mat A, PetscViewer viewer)
{
  (void)A, (void)viewer;
  return PETSC_SUCCESS;
}

/* PETSc puts a view operation of the user before ours, which is the native one from then on. It goes with the type */
static PetscErrorCode TestNativeView(void)
{
  Mat         A;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 20, 20, &A));
  PetscCall(MatSetOperation(A, MATOP_VIEW, (PetscErrorCodeFn *)Quiet));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_NATIVE));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt m = 90, n = 90;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(TestWaysOut(m, n));
  PetscCall(TestFactor());
  PetscCall(TestOwnDestroy(m));
  PetscCall(TestName());
  PetscCall(TestNativeView());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2}}
    args: -use_gpu_aware_mpi 0

    test:
      suffix: 1
      args: -a_mat_aijtcu_path {{tcu csr}}

TEST*/
