static char help[] = "What is made of a MATAIJTCU: sparse products, transposes, submatrices, each against a MATAIJ. Prints on error only.\n\n";

#include "same.h"
#include <petscaijtcu.h>

/* Numbers that no default is, to know the options by */
#define THRESHOLD 0.375

static PetscErrorCode IsOurs(Mat C, PetscBool expected, const char what[])
{
  PetscBool is;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(C, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &is, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  if (is != expected) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: a %s\n", what, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C is an aijtcu with A's options, and nothing has been built for it */
static PetscErrorCode Inherited(Mat C, const char what[])
{
  MatAIJTCUCounts counts;
  PetscReal       threshold;

  PetscFunctionBegin;
  PetscCall(IsOurs(C, PETSC_TRUE, what));
  PetscCall(MatAIJTCUGetSynergyThreshold(C, &threshold));
  if (threshold != THRESHOLD) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: synergy threshold %g\n", what, (double)threshold));
  PetscCall(MatAIJTCUGetCounts(C, &counts));
  if (counts.builds || counts.tcu || counts.csr || counts.cusparse) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: a plan before the first product\n", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R is what A is, as a MATAIJ */
static PetscErrorCode Reference(Mat A, Mat *R)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of a product, and the same as MATAIJ */
typedef struct {
  Mat ours[3], aij[3];
} Factors;

/* Other values in all factors, in the same pattern */
static PetscErrorCode Renew(Factors *f)
{
  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    Vec d;

    if (!f->ours[i]) continue;
    PetscCall(MatCreateVecs(f->aij[i], &d, NULL));
    PetscCall(VecSetRandom(d, NULL));
    PetscCall(VecShift(d, 1));
    PetscCall(MatDiagonalScale(f->ours[i], NULL, d));
    PetscCall(MatDiagonalScale(f->aij[i], NULL, d));
    PetscCall(VecDestroy(&d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Product(Mat f[], MatProductType type, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(f[0], f[1], f[2], C));
  PetscCall(MatProductSetType(*C, type));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscCall(MatProductNumeric(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One kind of product: new, with new values, with other operands, and out of the type */
static PetscErrorCode TestProduct(MatProductType type, Factors *f)
{
  const char *what = MatProductTypes[type];
  Mat         C, R, D, other[2];
  PetscReal   threshold;

  PetscFunctionBegin;
  PetscCall(Product(f->ours, type, &C));
  PetscCall(Product(f->aij, type, &R));
  PetscCall(Inherited(C, what));
  PetscCall(SameProducts(C, R, what));
  for (int i = 0; i < 2; i++) {
    PetscCall(Renew(f));
    PetscCall(MatProductNumeric(C));
    PetscCall(MatProductNumeric(R));
    PetscCall(IsOurs(C, PETSC_TRUE, what));
    PetscCall(SameProducts(C, R, what));
  }
  PetscCall(MatAIJTCUSetSynergyThreshold(C, 0.5)); /* an option of C's own stays */
  PetscCall(MatDuplicate(f->ours[0], MAT_COPY_VALUES, &other[0]));
  PetscCall(MatDuplicate(f->aij[0], MAT_COPY_VALUES, &other[1]));
  PetscCall(MatScale(other[0], 3));
  PetscCall(MatScale(other[1], 3));
  PetscCall(MatProductReplaceMats(other[0], NULL, NULL, C));
  PetscCall(MatProductReplaceMats(other[1], NULL, NULL, R));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductNumeric(R));
  PetscCall(SameProducts(C, R, what));
  PetscCall(MatAIJTCUGetSynergyThreshold(C, &threshold));
  if (threshold != 0.5) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: an option is lost in the numeric phase\n", what));
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
  PetscCall(IsOurs(D, PETSC_TRUE, what));
  PetscCall(SameProducts(D, R, what));
  PetscCall(MatConvert(D, MATAIJ, MAT_INPLACE_MATRIX, &D));
  PetscCall(IsOurs(D, PETSC_FALSE, what));
  PetscCall(SameProducts(D, R, what));
  PetscCall(MatDestroy(&D));
  PetscCall(MatProductClear(C));
  PetscCall(SameProducts(C, R, what));
  PetscCall(MatConvert(C, MATAIJ, MAT_INPLACE_MATRIX, &C));
  PetscCall(IsOurs(C, PETSC_FALSE, what));
  PetscCall(SameProducts(C, R, what));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&R));
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&other[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions that users call, with reuse. Also a P of type aij */
static PetscErrorCode TestPtAP(Mat A, Mat P, const char what[])
{
  Factors f = {.ours = {A, P}};
  Mat     C, R;

  PetscFunctionBegin;
  PetscCall(Reference(A, &f.aij[0]));
  PetscCall(Reference(P, &f.aij[1]));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatPtAP(f.aij[0], f.aij[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(Inherited(C, what));
  PetscCall(SameProducts(C, R, what));
  PetscCall(Renew(&f));
  PetscCall(MatPtAP(A, P, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatPtAP(f.aij[0], f.aij[1], MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(IsOurs(C, PETSC_TRUE, what));
  PetscCall(SameProducts(C, R, what));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&R));
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&f.aij[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTranspose(Mat P)
{
  Mat R, C, T;

  PetscFunctionBegin;
  PetscCall(Reference(P, &R));
  PetscCall(MatTranspose(P, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatTranspose(R, MAT_INITIAL_MATRIX, &T));
  PetscCall(Inherited(C, "transpose"));
  PetscCall(SameProducts(C, T, "transpose"));
  PetscCall(MatScale(P, 1.5));
  PetscCall(MatScale(R, 1.5));
  PetscCall(MatTranspose(P, MAT_REUSE_MATRIX, &C));
  PetscCall(MatTranspose(R, MAT_REUSE_MATRIX, &T));
  PetscCall(SameProducts(C, T, "transpose of new values"));
  PetscCall(MatTranspose(C, MAT_INPLACE_MATRIX, &C));
  PetscCall(IsOurs(C, PETSC_TRUE, "transpose in place"));
  PetscCall(SameProducts(C, R, "transpose in place"));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSubMatrix(Mat A)
{
  Mat      R, C, S;
  IS       is;
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(Reference(A, &R));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (r1 - r0) / 2, r0, 2, &is));
  PetscCall(MatCreateSubMatrix(A, is, is, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(R, is, is, MAT_INITIAL_MATRIX, &S));
  PetscCall(Inherited(C, "submatrix"));
  PetscCall(SameProducts(C, S, "submatrix"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(R, 2));
  PetscCall(MatCreateSubMatrix(A, is, is, MAT_REUSE_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(R, is, is, MAT_REUSE_MATRIX, &S));
  PetscCall(SameProducts(C, S, "submatrix of new values"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&R));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = C x of a product with the transpose of D, which is not made, times a number; thrice, and after D has changed */
static PetscErrorCode VirtualProduct(Mat A, Mat D, PetscScalar scale, PetscBool first, MatProductType type, Vec y[2], PetscBool *have)
{
  Mat            T, C;
  Vec            x;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreateTranspose(D, &T));
  if (scale != 1.) PetscCall(MatScale(T, scale));
  PetscCall(MatProductCreate(first ? T : A, first ? A : T, NULL, &C));
  PetscCall(MatProductSetType(C, type));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatProductSetFromOptions(C);
  if (!ierr) ierr = MatProductSymbolic(C);
  PetscCall(PetscPopErrorHandler());
  *have = (PetscBool)!ierr;
  for (int k = 0; k < 2 && *have; k++) {
    for (int i = 0; i < 3; i++) PetscCall(MatProductNumeric(C));
    PetscCall(MatCreateVecs(C, &x, &y[k]));
    PetscCall(VecSet(x, 1));
    PetscCall(MatMult(C, x, y[k]));
    PetscCall(VecDestroy(&x));
    PetscCall(MatScale(D, 2));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same products of ours and of aij, where PETSc has them */
static PetscErrorCode TestVirtual(PetscScalar scale)
{
  const struct {
    MatProductType type;
    PetscBool      first; /* whether the transpose is the first factor */
  } products[] = {
    {MATPRODUCT_AB, PETSC_FALSE},
    {MATPRODUCT_AB, PETSC_TRUE},
    {MATPRODUCT_AtB, PETSC_TRUE},
    {MATPRODUCT_ABt, PETSC_FALSE},
    {MATPRODUCT_PtAP, PETSC_FALSE},
    {MATPRODUCT_RARt, PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(products); i++) {
    for (int ours = 1; ours < 4; ours++) { /* A, D or both */
      Mat       A[2], D[2];
      Vec       y[2][2];
      PetscBool have[2] = {PETSC_FALSE, PETSC_FALSE};

      for (int k = 0; k < 2; k++) {
        PetscCall(Create(k && ours & 1 ? MATAIJTCU : MATAIJ, 20, 20, &A[k]));
        PetscCall(Create(k && ours & 2 ? MATAIJTCU : MATAIJ, 20, 20, &D[k]));
        if (!k || have[0]) PetscCall(VirtualProduct(A[k], D[k], scale, products[i].first, products[i].type, y[k], &have[k]));
        PetscCall(MatDestroy(&A[k]));
        PetscCall(MatDestroy(&D[k]));
      }
      if (have[0] && !have[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s with a virtual transpose (%d, %d): aij has it\n", MatProductTypes[products[i].type], (int)products[i].first, ours));
      for (int j = 0; j < 2 && have[0]; j++) {
        PetscReal norm, diff;

        if (have[1]) {
          PetscCall(VecNorm(y[0][j], NORM_2, &norm));
          PetscCall(VecAXPY(y[1][j], -1, y[0][j]));
          PetscCall(VecNorm(y[1][j], NORM_2, &diff));
          if (!(diff <= 100 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s with a virtual transpose (%d, %d), values %d: differs by %g of %g\n", MatProductTypes[products[i].type], (int)products[i].first, ours, j, (double)diff, (double)norm));
          PetscCall(VecDestroy(&y[1][j]));
        }
        PetscCall(VecDestroy(&y[0][j]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with a dense B: 3 T B or 3 T^T B, whose matrix becomes an aij between two numeric phases */
static PetscErrorCode TestVirtualDense(MatAIJTCUPath path)
{
  PetscFunctionBegin;
  for (int transposed = 0; transposed < 2; transposed++) {
    Mat       D, R, T, B, C, E;
    PetscInt  n;
    PetscReal norm, diff;

    PetscCall(Create(MATAIJTCU, 40, 40, &D));
    PetscCall(MatAIJTCUSetPath(D, path));
    PetscCall(Reference(D, &R));
    PetscCall(MatCreateTranspose(D, &T));
    PetscCall(MatScale(T, 3));
    PetscCall(MatGetLocalSize(D, &n, NULL));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, 40, 8, NULL, &B));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatProductCreate(T, B, NULL, &C));
    PetscCall(MatProductSetType(C, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    if (transposed) PetscCall(MatMatMult(R, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &E));
    else PetscCall(MatTransposeMatMult(R, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &E));
    PetscCall(MatScale(E, 3));
    PetscCall(MatNorm(E, NORM_FROBENIUS, &norm));
    for (int k = 0; k < 4; k++) {
      Mat F;

      if (k == 2) PetscCall(MatConvert(D, MATAIJ, MAT_INPLACE_MATRIX, &D));
      PetscCall(MatProductNumeric(C));
      PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &F));
      PetscCall(MatAXPY(F, -1, E, SAME_NONZERO_PATTERN));
      PetscCall(MatNorm(F, NORM_FROBENIUS, &diff));
      if (!(diff <= 100 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a virtual transpose (%d) times a dense matrix, product %d: differs by %g of %g\n", transposed, k, (double)diff, (double)norm));
      PetscCall(MatDestroy(&F));
    }
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&T));
    PetscCall(MatDestroy(&D));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&E));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat         A, P, Q, aij;
  PetscMPIInt size;
  VecType     vectors;
  PetscBool   device;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(MATAIJTCU, 60, 60, &A));
  PetscCall(Create(MATAIJTCU, 60, 24, &P));
  PetscCall(Create(MATAIJTCU, 24, 60, &Q));
  PetscCall(MatAIJTCUSetSynergyThreshold(A, THRESHOLD));
  PetscCall(MatAIJTCUSetSynergyThreshold(P, THRESHOLD));
  PetscCall(MatAIJTCUSetSynergyThreshold(Q, THRESHOLD));
  PetscCall(Reference(P, &aij));
  PetscCall(MatGetVecType(A, &vectors));
  PetscCall(PetscStrcmp(vectors, VECCUDA, &device)); /* PETSc has fewer products of an aij with a matrix of a device */
  {
    const struct {
      MatProductType type;
      Mat            factors[3];
      PetscBool      sequential, parallel; /* PETSc has this product of the parent type, and makes a matrix of that type */
    } products[] = {
      {MATPRODUCT_AB, {A, P}, PETSC_TRUE, PETSC_TRUE},
      {MATPRODUCT_AtB, {P, A}, PETSC_TRUE, PETSC_TRUE},
      {MATPRODUCT_ABt, {A, Q}, PETSC_TRUE, PETSC_FALSE},
      {MATPRODUCT_PtAP, {A, P}, PETSC_TRUE, PETSC_TRUE},
      {MATPRODUCT_RARt, {A, Q}, PETSC_TRUE, PETSC_TRUE},
      {MATPRODUCT_ABC, {Q, A, P}, PETSC_TRUE, PETSC_TRUE},
      {MATPRODUCT_AB, {A, aij}, PETSC_TRUE, (PetscBool)!device},
      {MATPRODUCT_AtB, {aij, A}, (PetscBool)!device, (PetscBool)!device}};

    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(products); i++) {
      Factors f;

      if (size > 1 ? !products[i].parallel : !products[i].sequential) continue;
      for (int k = 0; k < 3; k++) {
        f.ours[k] = products[i].factors[k];
        f.aij[k]  = NULL;
        if (f.ours[k]) PetscCall(Reference(f.ours[k], &f.aij[k]));
      }
      PetscCall(TestProduct(products[i].type, &f));
      for (int k = 0; k < 3; k++) PetscCall(MatDestroy(&f.aij[k]));
    }
  }
  PetscCall(TestPtAP(A, P, "MatPtAP()"));
  if (size == 1 || !device) PetscCall(TestPtAP(A, aij, "MatPtAP() with an aij"));
  PetscCall(TestTranspose(P));
  PetscCall(TestSubMatrix(A));
  if (!device) { /* aijcusparse refuses some of them */
    PetscCall(TestVirtual(1));
    PetscCall(TestVirtual(3));
    PetscCall(TestVirtualDense(MAT_AIJTCU_PATH_TCU));
    PetscCall(TestVirtualDense(MAT_AIJTCU_PATH_CSR));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscCall(MatDestroy(&aij));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out
    nsize: {{1 2 3}}
    args: -a_mat_aijtcu_path {{tcu csr}} -a_mat_aijtcu_sparse {{auto cusparse}} -use_gpu_aware_mpi 0

TEST*/
