static char help[] = "What src/upstream/ works around, asked of PETSc's own types, without ours. Prints what has been repaired: then the workaround can go.\n\
-device: of types of the device.\n\n";

#include <petscksp.h>
#include <petsc/private/matimpl.h> /* operations of a matrix */
#if PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
#endif

enum {
  ROWS = 24
};

static PetscErrorCode Repaired(PetscBool is, const char what[])
{
  PetscFunctionBegin;
  if (is) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: repaired in PETSc %d.%d.%d. If that is so in all releases that the library supports, its workaround can go\n", what, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A ring whose neighbours are shift columns away */
static PetscErrorCode Create(MatType type, PetscInt shift, Mat *A)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 2, NULL, 2, NULL));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    PetscCall(MatSetValue(*A, i, i, 2 + i, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i + shift) % ROWS, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = factor z */
static PetscErrorCode IsMultiple(Vec y, PetscScalar factor, Vec z, PetscBool *is)
{
  PetscReal difference, norm;
  Vec       r;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(z, &r));
  PetscCall(VecCopy(y, r));
  PetscCall(VecAXPY(r, -factor, z));
  PetscCall(VecNorm(r, NORM_INFINITY, &difference));
  PetscCall(VecNorm(z, NORM_INFINITY, &norm));
  *is = (PetscBool)(difference <= 10 * PETSC_MACHINE_EPSILON * norm);
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix's own data can be found while it is destroyed */
static PetscErrorCode (*original)(Mat);
static PetscBool found;

static PetscErrorCode LookAndDestroy(Mat A)
{
  PetscObject data;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, "Data", &data));
  found = (PetscBool)(data != NULL);
  PetscCall((*original)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeaderMerge(void)
{
  Mat            A, B;
  PetscContainer data;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(Create(MATAIJ, 2, &B));
  PetscCall(PetscContainerCreate(PETSC_COMM_WORLD, &data));
  PetscCall(PetscObjectCompose((PetscObject)A, "Data", (PetscObject)data));
  PetscCall(PetscContainerDestroy(&data));
  original        = A->ops->destroy;
  A->ops->destroy = LookAndDestroy;
  found           = PETSC_TRUE;
  PetscCall(MatAXPY(A, 1, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(Repaired(found, "MatHeaderMerge()"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error is as good as the right result. Such vectors keep data on the device afterwards, which is not freed */
static PetscErrorCode VectorsOfTheHost(void)
{
  Mat            A, R;
  Vec            x, y, z;
  PetscBool      is;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(Create(MATAIJ, 1, &R));
  PetscCall(MatCreateVecs(R, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(R, x, z));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatMult(A, x, y);
  PetscCall(PetscPopErrorHandler());
  if (!ierr) {
    PetscCall(IsMultiple(y, 1, z, &is));
    PetscCall(Repaired(is, "MatMult() with vectors of the host"));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The newest values are on the device, where they were scaled */
static PetscErrorCode ValuesOfTheHost(void)
{
  Mat       A;
  MatInfo   info;
  Vec       x, y, z;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, z));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatScale(A, 2));
  PetscCall(MatStoreValues(A));
  PetscCall(MatScale(A, 3));
  PetscCall(MatRetrieveValues(A));
  PetscCall(MatMult(A, x, y));
  PetscCall(IsMultiple(y, 2, z, &is));
  PetscCall(Repaired(is, "MatStoreValues()"));
  PetscCall(MatDestroy(&A));

  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatMult(A, x, z));
  PetscCall(MatScale(A, 0));
  PetscCall(MatEliminateZeros(A, PETSC_FALSE));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(Repaired((PetscBool)(info.nz_used == 0), "MatEliminateZeros()"));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Symmetric on the host, and no more on the device. */
static PetscErrorCode HermitianOnTheDevice(void)
{
  Mat       A, B;
  Vec       x, y;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, ROWS / 2, &A));
  PetscCall(Create(MATAIJCUSPARSE, ROWS / 2, &B));
  PetscCall(MatSetValue(B, 0, ROWS / 2, 5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatAXPY(A, 1, B, SAME_NONZERO_PATTERN));
  PetscCall(MatIsHermitian(A, 0, &is));
  PetscCall(Repaired((PetscBool)!is, "MatIsHermitian()"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More nonzeros than the device has seen. An error otherwise, or numbers of other memory */
static PetscErrorCode ZeroEntries(void)
{
  Mat            A;
  Vec            x, y;
  PetscReal      norm = 1;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < ROWS; i++) PetscCall(MatSetValue(A, i, (i + 5) % ROWS, 1, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatZeroEntries(A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatSetValue(A, 0, 0, 0, ADD_VALUES);
  PetscCall(PetscPopErrorHandler());
#if PetscDefined(HAVE_CUDA)
  (void)cudaGetLastError(); /* otherwise the next query reports it again */
#endif
  if (!ierr) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  }
  PetscCall(Repaired((PetscBool)(!ierr && norm == 0), "MatZeroEntries()"));
  if (!ierr) PetscCall(MatDestroy(&A)); /* after the error its device would be asked again */
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SubMatrices(void)
{
  Mat       A, *sub;
  IS        rows;
  Vec       x, y, z;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, ROWS, 0, 1, &rows));
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &rows, MAT_INITIAL_MATRIX, &sub));
  PetscCall(MatCreateVecs(sub[0], &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(sub[0], x, y));
  PetscCall(MatScale(A, 2));
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &rows, MAT_REUSE_MATRIX, &sub));
  PetscCall(MatMult(sub[0], x, z));
  PetscCall(IsMultiple(z, 2, y, &is));
  PetscCall(Repaired(is, "MatCreateSubMatrices()"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroySubMatrices(1, &sub));
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Permute(void)
{
  Mat       A, P;
  IS        rows;
  PetscInt  r0, r1;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, r1 - r0, r1 - 1, -1, &rows));
  PetscCall(ISSetPermutation(rows));
  PetscCall(MatPermute(A, rows, rows, &P));
  PetscCall(PetscObjectTypeCompare((PetscObject)P, MATMPIAIJCUSPARSE, &is));
  PetscCall(Repaired(is, "MatPermute()"));
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangedValues(void)
{
  Mat       A, B, C, D;
  PetscReal difference, norm;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, 3, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
  PetscCall(MatScale(A, 2));
  PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  PetscCall(MatScale(D, 2));
  PetscCall(MatAXPY(D, -1, C, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &difference));
  PetscCall(Repaired((PetscBool)(difference <= 100 * PETSC_MACHINE_EPSILON * norm), "product of changed values"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transpose that has been multiplied is filled again */
static PetscErrorCode Transpose(void)
{
  Mat       A, T;
  Vec       x, y, z;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatCreateVecs(T, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(T, x, z));
  PetscCall(MatScale(A, 2));
  PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &T));
  PetscCall(MatMult(T, x, y));
  PetscCall(IsMultiple(y, 2, z, &is));
  PetscCall(Repaired(is, "MatTranspose()"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(USE_COMPLEX)
static PetscErrorCode HermitianNoMore(void)
{
  PetscBool forgotten = PETSC_TRUE;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    Mat       A, B;
    PetscBool known, is;

    PetscCall(Create(MATAIJ, 0, &A));
    PetscCall(Create(MATAIJ, 0, &B));
    PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    if (k == 0) PetscCall(MatScale(A, PETSC_i));
    else if (k == 1) PetscCall(MatShift(A, PETSC_i));
    else PetscCall(MatAXPY(A, PETSC_i, B, SAME_NONZERO_PATTERN));
    PetscCall(MatIsHermitianKnown(A, &known, &is));
    if (known && is) forgotten = PETSC_FALSE;
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(Repaired(forgotten, "MatScale(), MatShift() and MatAXPY() of a Hermitian matrix"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* The transpose of a matrix of the device. The result held other numbers before */
static PetscErrorCode MultTranspose(void)
{
  Mat       A, R;
  Vec       x, y, z, u, v, w;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(Create(MATAIJ, 1, &R));
  PetscCall(MatCreateVecs(A, &y, &x));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(MatCreateVecs(R, &v, &u));
  PetscCall(VecDuplicate(v, &w));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(u, 1));
  PetscCall(VecSet(y, 2));
  PetscCall(VecSet(v, 2));
  PetscCall(VecSet(z, 3));
  PetscCall(MatMultTransposeAdd(A, x, y, z));
  PetscCall(MatMultTransposeAdd(R, u, v, w));
  PetscCall(VecCopy(z, v));
  PetscCall(IsMultiple(v, 1, w, &is));
  PetscCall(Repaired(is, "MatMultTransposeAdd()"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of another type goes on collecting values */
static PetscErrorCode LateType(void)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatSetType(A, MATBAIJ));
  PetscCall(Repaired((PetscBool)!A->hash_active, "MatSetType() after MatSetUp()"));
  A->hash_active = PETSC_FALSE;
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours has it, too: src/upstream/README.md */
static PetscErrorCode StateOfAXPY(void)
{
  Mat              A, B;
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(Create(MATAIJ, 1, &B));
  PetscCall(PetscObjectStateGet((PetscObject)A, &before));
  PetscCall(MatAXPY(A, 1, B, SAME_NONZERO_PATTERN));
  PetscCall(PetscObjectStateGet((PetscObject)A, &after));
  PetscCall(Repaired((PetscBool)(after > before), "MatAXPY() of a parallel matrix with SAME_NONZERO_PATTERN"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATAIJ is so: columns may be some that there are not. Ours is right: src/upstream/wholematrix.c */
static PetscErrorCode WholeMatrix(void)
{
  Mat         A, *sub;
  IS          all;
  PetscMPIInt rank, size;
  PetscInt    r0, r1, n, m;
  PetscBool   is = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, rank ? 2 : 3, rank ? 1 : size + 2, 2 * size + 1, 2 * size + 1));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(MatGetSize(A, NULL, &n));
  for (PetscInt i = r0; i < r1; i++) PetscCall(MatSetValue(A, i, (i + 1) % n, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &all));
  PetscCall(MatCreateSubMatrices(A, 1, &all, &all, MAT_INITIAL_MATRIX, &sub));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt *columns;

    PetscCall(MatGetRow(sub[0], i, &m, &columns, NULL));
    if (m != 1 || columns[0] != (i + 1) % n) is = PETSC_FALSE;
    PetscCall(MatRestoreRow(sub[0], i, &m, &columns, NULL));
  }
  PetscCall(Repaired(is, "MatCreateSubMatrices() of the whole"));
  PetscCall(MatDestroySubMatrices(1, &sub));
  PetscCall(ISDestroy(&all));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResetHash(void)
{
  PetscBool same;
  PetscInt  row;
  Mat       A, block;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatResetHash(A));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  PetscCall(MatSetValue(A, row, row, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &block, NULL, NULL));
  PetscCall(PetscObjectTypeCompare((PetscObject)block, MATSEQAIJCUSPARSE, &same));
  PetscCall(Repaired(same, "MatResetHash()"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of before are on the device */
static PetscErrorCode ChangedWhileBound(void)
{
  PetscBool is;
  Mat       A;
  Vec       x, y, z;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(MatScale(A, 2));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(MatMult(A, x, z));
  PetscCall(IsMultiple(z, 2, y, &is));
  PetscCall(Repaired(is, "MatBindToCPU()"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It has the operations of a bound vector */
static PetscErrorCode DuplicateOfBound(void)
{
  PetscBool bound;
  Mat       A;
  Vec       x, y;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecBindToCPU(x, PETSC_TRUE));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecBoundToCPU(y, &bound));
  PetscCall(Repaired(bound, "VecDuplicate() of a bound vector"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The second factor is that of twice the matrix */
static PetscErrorCode TransposeOfNewFactor(void)
{
  MatFactorInfo info;
  PetscBool     is;
  Mat           A, F;
  Vec           b, x, y;
  IS            rows, columns;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(b, 1));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &columns));
  PetscCall(MatGetFactor(A, MATSOLVERCUSPARSE, MAT_FACTOR_LU, &F));
  PetscCall(MatLUFactorSymbolic(F, A, rows, columns, &info));
  PetscCall(MatLUFactorNumeric(F, A, &info));
  PetscCall(MatSolveTranspose(F, b, x));
  PetscCall(MatScale(A, 2));
  PetscCall(MatLUFactorNumeric(F, A, &info));
  PetscCall(MatSolveTranspose(F, b, y));
  PetscCall(IsMultiple(x, 2, y, &is));
  PetscCall(Repaired(is, "MatSolveTranspose() with a factor computed anew"));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block that is bound to the host is added to one that is not */
static PetscErrorCode AddBound(void)
{
  PetscReal norm;
  Mat       X, Y;

  PetscFunctionBegin;
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECCUDA, 4, 2, 4, 2, PETSC_DECIDE, NULL, &X));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(MatZeroEntries(X));
  PetscCall(MatZeroEntries(Y));
  PetscCall(MatBindToCPU(X, PETSC_TRUE));
  PetscCall(MatShift(X, 1));
  PetscCall(MatAXPY(Y, 1, X, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(Y, NORM_INFINITY, &norm));
  PetscCall(Repaired((PetscBool)(norm == 1), "MatAXPY() of a dense matrix that is bound"));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Values of a list of entries, where they are refused or lost: of a duplicate, whose blocks were never on the device,
   and of a matrix that is bound to the host
*/
static PetscErrorCode ListOfEntries(PetscBool bound)
{
  const PetscScalar v[] = {1, 2};
  PetscInt          i[2], j[2];
  PetscReal         before, after = 0;
  Mat               A, B;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatGetOwnershipRange(A, &i[0], NULL));
  i[1] = j[0] = i[0];
  j[1]        = (i[0] + ROWS / 2) % ROWS;
  PetscCall(MatSetPreallocationCOO(A, 2, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &before));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  if (bound) PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = bound ? MatSetValuesCOO(A, v, ADD_VALUES) : MatSetValuesCOO(B, v, INSERT_VALUES);
  if (!ierr) ierr = MatNorm(bound ? A : B, NORM_FROBENIUS, &after);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Repaired((PetscBool)(!ierr && PetscAbsReal(after - (bound ? 2 * before : before)) <= 10 * PETSC_MACHINE_EPSILON * after), bound ? "MatSetValuesCOO() of a bound matrix" : "MatSetValuesCOO() of a duplicate"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product is on the device alone, and the vector's array on the host is read */
static PetscErrorCode BoundVector(void)
{
  const PetscScalar *array;
  PetscBool          is = PETSC_TRUE;
  Mat                A;
  Vec                x, y;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 0));
  PetscCall(VecSet(y, 1));
  PetscCall(VecBindToCPU(y, PETSC_TRUE));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecGetArrayRead(y, &array));
  for (PetscInt i = 0; i < ROWS; i++) is = (PetscBool)(is && array[i] == 0);
  PetscCall(VecRestoreArrayRead(y, &array));
  PetscCall(Repaired(is, "MatMult() with a vector that is bound"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After its assembly it says that it is bound, and has the operations of the device */
static PetscErrorCode CollectedWhileBound(void)
{
  Mat            A;
  Vec            x, y;
  PetscReal      norm = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(A, MATAIJCUSPARSE));
  PetscCall(MatSetUp(A));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  for (PetscInt i = 0; i < ROWS; i++) PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatMult(A, x, y);
  PetscCall(PetscPopErrorHandler());
  if (!ierr) PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(Repaired((PetscBool)(norm == 2), "MatBindToCPU() while values are collected"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without entries, where one that has some was multiplied */
static PetscErrorCode OldPattern(void)
{
  Mat       A, B, C;
  Vec       x, y;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECCUDA, ROWS, 2, ROWS, 2, PETSC_DECIDE, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatSeqAIJSetPreallocation(A, 0, NULL));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
  PetscCall(Repaired((PetscBool)(norm == 0), "preallocation without values after it"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of two rows and columns. scaled: the values on the device are twice those of the host */
static PetscErrorCode CreateBlocks(MatType type, PetscBool scaled, Mat *A)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, ROWS, ROWS, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetBlockSize(*A, 2));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2, NULL));
  for (PetscInt i = 0; i < ROWS; i++) {
    for (PetscInt j = i - i % 2; j < i - i % 2 + 2; j++) PetscCall(MatSetValue(*A, i, j, 1 + (PetscReal)(i + j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (scaled) {
    PetscCall(MatCreateVecs(*A, &x, &y));
    PetscCall(VecSet(x, 1));
    PetscCall(MatMult(*A, x, y));
    PetscCall(MatScale(*A, 2));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = factor D but for rounding, by their norms */
static PetscErrorCode NormIs(Mat C, PetscReal factor, Mat D, PetscBool *is)
{
  PetscReal c, d;

  PetscFunctionBegin;
  PetscCall(MatNorm(C, NORM_FROBENIUS, &c));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &d));
  *is = (PetscBool)(PetscAbsReal(c - factor * d) <= 100 * PETSC_MACHINE_EPSILON * factor * d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A^T B by the algorithm that is named */
static PetscErrorCode TransposedProduct(Mat A, Mat B, MatProductAlgorithm algorithm, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, B, NULL, C));
  PetscCall(MatProductSetType(*C, MATPRODUCT_AtB));
  PetscCall(MatProductSetAlgorithm(*C, algorithm));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscCall(MatProductNumeric(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other operand is a matrix of the host */
static PetscErrorCode ProductWithHost(void)
{
  PetscBool is = PETSC_FALSE;
  Mat       A, R, C, D;

  PetscFunctionBegin;
  PetscCall(CreateBlocks(MATAIJCUSPARSE, PETSC_TRUE, &A));
  PetscCall(CreateBlocks(MATAIJ, PETSC_FALSE, &R));
  PetscCall(TransposedProduct(R, A, "outerproduct", &C));
  PetscCall(TransposedProduct(R, R, "outerproduct", &D));
  PetscCall(NormIs(C, 2, D, &is));
  PetscCall(Repaired(is, "product with a matrix of the host"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of a block that is bound to the host */
static PetscErrorCode SubMatrixOfBound(void)
{
  Mat       X, x, local;
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, VECCUDA, PETSC_DECIDE, PETSC_DECIDE, ROWS, 4, PETSC_DECIDE, NULL, &X));
  PetscCall(MatZeroEntries(X));
  PetscCall(MatBindToCPU(X, PETSC_TRUE));
  PetscCall(MatDenseGetSubMatrix(X, PETSC_DECIDE, PETSC_DECIDE, 0, 2, &x));
  PetscCall(MatDenseGetLocalMatrix(x, &local));
  PetscCall(PetscObjectTypeCompare((PetscObject)local, MATSEQDENSECUDA, &device));
  PetscCall(Repaired(device, "MatDenseGetSubMatrix() of a bound matrix"));
  PetscCall(MatDenseRestoreSubMatrix(X, &x));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlocksOfTheHost(void)
{
  Mat       A, B;
  PC        pc;
  Vec       x, y, z;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(Create(MATAIJ, 1, &B));
  PetscCall(MatScale(B, 2));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCPBJACOBI));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCApply(pc, x, z));
  PetscCall(IsMultiple(z, .5, y, &is));
  PetscCall(Repaired(is, "PCPBJACOBI of a matrix of the host"));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !PETSC_VERSION_LT(3, 25, 0)
static PetscErrorCode SplitOfBlocks(void)
{
  Mat       A, X[2], Y[2];
  PC        pc;
  PetscInt  m;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCFIELDSPLIT));
  PetscCall(PCFieldSplitSetBlockSize(pc, 2));
  PetscCall(PCSetOperators(pc, A, A));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, VECSTANDARD, m, PETSC_DECIDE, ROWS, 3, m + 3 * i, NULL, &X[i]));
    PetscCall(MatDuplicate(X[i], MAT_DO_NOT_COPY_VALUES, &Y[i]));
    if (i) PetscCall(MatCopy(X[0], X[1], SAME_NONZERO_PATTERN));
    else PetscCall(MatSetRandom(X[0], NULL));
    PetscCall(PCMatApply(pc, X[i], Y[i]));
  }
  PetscCall(MatAXPY(Y[1], -1, Y[0], SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(Y[1], NORM_FROBENIUS, &norm));
  PetscCall(Repaired((PetscBool)(norm <= 100 * PETSC_MACHINE_EPSILON), "PCMatApply() of PCFIELDSPLIT, another leading dimension"));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&X[i]));
    PetscCall(MatDestroy(&Y[i]));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode BlockSizes(void)
{
  Mat      A, diagonal;
  PetscInt bs;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetBlockSize(A, 2));
  PetscCall(MatSetType(A, MATAIJCUSPARSE));
  PetscCall(MatMPIAIJSetPreallocation(A, 2, NULL, 2, NULL));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, NULL, NULL));
  PetscCall(MatGetBlockSize(diagonal, &bs));
  PetscCall(Repaired((PetscBool)(bs == 2), "block sizes of preallocated blocks"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On several processes they are kept */
static PetscErrorCode BlockSizesOfMAIJ(void)
{
  Mat      A, M;
  PetscInt bs;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 1, &A));
  PetscCall(MatCreateMAIJ(A, 2, &M));
  PetscCall(MatConvert(M, MATAIJ, MAT_INPLACE_MATRIX, &M));
  PetscCall(MatGetBlockSize(M, &bs));
  PetscCall(Repaired((PetscBool)(bs == 2), "MatConvert() of a MATSEQMAIJ"));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A part of a matrix has its rows, and the columns of others */
static PetscErrorCode PartsOfProcesses(void)
{
  Mat      A, B, local;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatConvert(A, MATIS, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatISGetLocalMat(B, &local));
  PetscCall(MatGetSize(local, &n, NULL));
  PetscCall(MatISRestoreLocalMat(B, &local));
  PetscCall(Repaired((PetscBool)(n < ROWS), "MatConvert() to MATIS"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By a factor that is on the host */
static PetscErrorCode SolveDense(void)
{
  MatFactorInfo  info;
  Mat            A, F, B, X;
  IS             rows, columns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_LU, &F));
  PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &columns));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatLUFactorSymbolic(F, A, rows, columns, &info));
  PetscCall(MatLUFactorNumeric(F, A, &info));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, VECCUDA, ROWS, 2, ROWS, 2, PETSC_DECIDE, NULL, &B));
  PetscCall(MatZeroEntries(B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatMatSolve(F, B, X);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Repaired((PetscBool)!ierr, "MatMatSolve() with dense matrices of the device"));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATMAIJ of what is derived from MATAIJCUSPARSE is not converted. Nor is one with a negative number, as blocks have */
static PetscErrorCode ProductOfMAIJ(void)
{
  Mat       A, M;
  Vec       x, y, z;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateMAIJ(A, -2, &M));
  PetscCall(MatCreateVecs(M, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(M, x, z));
  PetscCall(MatScale(A, 2));
  PetscCall(MatMult(M, x, y));
  PetscCall(IsMultiple(y, 2, z, &is));
  PetscCall(Repaired(is, "MatMult() of a MATMAIJ"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The second solve reads what the first has left on the host */
static PetscErrorCode PointersToTheHost(KSPType type, const char what[])
{
  KSP       ksp;
  Mat       A;
  Vec       x, b, r;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 2 * ROWS));
  for (int i = 1; i < 3; i++) {
    PetscCall(VecSet(b, i));
    PetscCall(KSPSolve(ksp, b, x));
  }
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1, b));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  PetscCall(Repaired((PetscBool)(norm < .01), what));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this process of a matrix that is bound to the host */
static PetscErrorCode MergeOfBound(void)
{
  Mat            A, B = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatMPIAIJGetLocalMatMerge(A, MAT_INITIAL_MATRIX, NULL, &B);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Repaired((PetscBool)!ierr, "MatMPIAIJGetLocalMatMerge() of a bound matrix"));
  if (!ierr) PetscCall(MatDestroy(&B)); /* otherwise it is half made */
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The block of a matrix becomes one of a matrix of the host, too */
static PetscErrorCode SharedBlock(void)
{
  Mat       A, B, block;
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJCUSPARSE, 1, &A));
  PetscCall(MatGetMultiProcBlock(A, PETSC_COMM_SELF, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &block, NULL, NULL));
  PetscCall(MatBoundToCPU(block, &bound));
  PetscCall(Repaired((PetscBool)!bound, "MatGetMultiProcBlock()"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool   device = PETSC_FALSE;
  PetscMPIInt size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  if (!device) {
    PetscCall(HeaderMerge());
#if PetscDefined(USE_COMPLEX)
    PetscCall(HermitianNoMore());
#endif
    if (size == 1) PetscCall(BlockSizesOfMAIJ());
#if !PETSC_VERSION_LT(3, 25, 0) /* 3.24 takes columns one by one */
    PetscCall(SplitOfBlocks());
#endif
    if (size > 1) PetscCall(LateType());
    if (size > 1) PetscCall(StateOfAXPY());
    if (size > 1) PetscCall(WholeMatrix());
  } else if (size == 1) {
    PetscCall(ZeroEntries());
    PetscCall(ValuesOfTheHost());
    PetscCall(HermitianOnTheDevice());
    PetscCall(VectorsOfTheHost());
    PetscCall(Transpose());
    PetscCall(MultTranspose());
    PetscCall(DuplicateOfBound());
    PetscCall(ChangedWhileBound());
    PetscCall(TransposeOfNewFactor());
    PetscCall(AddBound());
    PetscCall(ListOfEntries(PETSC_TRUE));
    PetscCall(BoundVector());
    PetscCall(CollectedWhileBound());
    PetscCall(OldPattern());
    PetscCall(ProductWithHost());
    PetscCall(ProductOfMAIJ());
    PetscCall(SolveDense());
    PetscCall(BlocksOfTheHost());
#if !PetscDefined(USE_COMPLEX)
    PetscCall(PointersToTheHost(KSPIBCGS, "KSPIBCGS with vectors of the device"));
#endif
    PetscCall(PointersToTheHost(KSPFBCGSR, "KSPFBCGSR with vectors of the device"));
  } else {
    PetscCall(ResetHash());
    PetscCall(Permute());
    PetscCall(SubMatrices());
    PetscCall(ChangedValues());
    PetscCall(ListOfEntries(PETSC_FALSE));
    PetscCall(ListOfEntries(PETSC_TRUE));
    PetscCall(SubMatrixOfBound());
    PetscCall(MergeOfBound());
    PetscCall(SharedBlock());
    PetscCall(BlockSizes());
    PetscCall(PartsOfProcesses());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2}}

    test:
      suffix: host

    test: # vectors of the host keep what they got on the device
      suffix: cuda
      requires: cuda
      args: -device -use_gpu_aware_mpi 0 -malloc_dump 0

TEST*/
