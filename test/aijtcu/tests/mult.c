static char help[] = "Products of a MATAIJTCU with one vector, against sums in higher precision. Prints on error only.\n\n";

#include <petscaijtcu.h>

/* Patterns of a test */
typedef enum {
  BAND,      /* seven entries a row */
  NODES,     /* rows by threes with the same columns; symmetric */
  LONG_ROWS, /* a few rows have all columns */
  IRREGULAR, /* rows of all lengths */
  EMPTY,     /* most rows have no entry */
  NOTHING,
  NPATTERNS
} Pattern;
static const char *const names[] = {"band", "nodes", "long rows", "irregular", "empty rows", "nothing"};

/* After so many products with a pattern something is made that makes them faster, if nothing is set */
enum {
  PRODUCTS_BEFORE = 30
};

typedef struct {
  Pattern   pattern;
  PetscInt  rows, cols;
  PetscReal scale;
  PetscBool special; /* NaN and Inf in x */
  PetscBool corner;  /* an entry more, in the last column of the first row */
} Case;

static PetscBool Has(const Case *c, PetscInt i, PetscInt j)
{
  if (c->corner && i == 0 && j == c->cols - 1) return PETSC_TRUE;
  switch (c->pattern) {
  case BAND:
    return (PetscBool)(PetscAbsInt(i - j) <= 3);
  case NODES:
    return (PetscBool)(PetscAbsInt(i / 3 - j / 3) <= 4);
  case LONG_ROWS:
    return (PetscBool)(i % 97 == 5 || (i + j) % 211 == 0);
  case IRREGULAR:
    return (PetscBool)((i * 7919 + j * 104729) % (i * i % 89 + 1) == 0);
  case EMPTY:
    return (PetscBool)(i % 13 == 2 && j % 5 == 1);
  default:
    return PETSC_FALSE;
  }
}

/* Real numbers, or complex ones. The nodes' are symmetric */
static PetscScalar Value(const Case *c, PetscInt i, PetscInt j)
{
  const PetscReal x = c->scale * (c->pattern == NODES ? 1 / (PetscReal)(1 + PetscAbsInt(i - j)) : (PetscReal)((i * 31 + j * 17) % 23 - 11) / 8);

  return PetscCMPLX(x, PetscDefined(USE_COMPLEX) ? (PetscReal)0.375 * c->scale - x / 2 : 0);
}

static PetscScalar X(const Case *c, PetscInt j)
{
  const PetscReal im = PetscDefined(USE_COMPLEX) ? (PetscReal)((j * 53 + 7) % 97 - 48) / 64 : 0;

  if (c->special && j == 40) return PetscCMPLX((PetscReal)NAN, im);
  if (c->special && j == 77) return PetscCMPLX((PetscReal)INFINITY, im);
  return PetscCMPLX((PetscReal)((j * 37 + 11) % 101 - 50) / 64, im);
}

static PetscScalar Y(PetscInt i)
{
  return PetscCMPLX((PetscReal)((i * 29 + 3) % 83 - 41) / 32, PetscDefined(USE_COMPLEX) ? (PetscReal)(i % 7 - 3) / 4 : 0);
}

static PetscErrorCode FillMat(Mat A, const Case *c)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < c->cols; j++) {
      if (Has(c, i, j)) PetscCall(MatSetValue(A, i, j, Value(c, i, j), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, or y */
static PetscErrorCode FillVec(Vec v, const Case *c, PetscBool is_x)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(VecSetValue(v, i, is_x ? X(c, i) : Y(i), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a part of a number is what it should be. A complex product is that of four multiplications: where C makes Inf
   of two parts that are NaN, kernels have NaN
*/
static PetscBool IsPart(PetscReal found, long double sum, long double size)
{
  if (PetscDefined(USE_COMPLEX) && !isfinite(sum)) return PetscIsInfOrNanReal(found);
  return isnan(sum) ? PetscIsNanReal(found) : isinf(sum) ? (PetscBool)(found == (PetscReal)sum) : (PetscBool)(fabsl(found - sum) <= 20 * PETSC_MACHINE_EPSILON * size);
}

typedef enum {
  PLAIN,
  TRANSPOSED,
  HERMITIAN
} Op;

/* Check z = op(A) x, or with y added */
static PetscErrorCode Check(const Case *c, Vec z, Op op, PetscBool adds, const char what[])
{
  const PetscInt     others = op == PLAIN ? c->cols : c->rows;
  const PetscScalar *array;
  PetscInt           begin, end, wrong = 0;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(z, &begin, &end));
  PetscCall(VecGetArrayRead(z, &array));
  for (PetscInt i = begin; i < end; i++) {
    long double re = adds ? PetscRealPart(Y(i)) : 0, im = adds ? PetscImaginaryPart(Y(i)) : 0, size = fabsl(re) + fabsl(im);

    for (PetscInt k = 0; k < others; k++) {
      if (op == PLAIN ? Has(c, i, k) : Has(c, k, i)) {
        const PetscScalar value = op == PLAIN ? Value(c, i, k) : op == TRANSPOSED ? Value(c, k, i) : PetscConj(Value(c, k, i)), x = X(c, k);
        const long double a = PetscRealPart(value), b = PetscImaginaryPart(value), u = PetscRealPart(x), v = PetscImaginaryPart(x);

        re += a * u;
        if (PetscDefined(USE_COMPLEX)) re -= b * v;
        if (PetscDefined(USE_COMPLEX)) im += a * v + b * u;
        size += (fabsl(a) + fabsl(b)) * (fabsl(u) + fabsl(v));
      }
    }
    if (!IsPart(PetscRealPart(array[i - begin]), re, size)) wrong++;
    else if (PetscDefined(USE_COMPLEX) && !IsPart(PetscImaginaryPart(array[i - begin]), im, size)) wrong++;
  }
  PetscCall(VecRestoreArrayRead(z, &array));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s%s%s: %" PetscInt_FMT " numbers are wrong\n", names[c->pattern], what, c->special ? ", NaN and Inf" : "", c->scale != 1 ? ", new values" : "", wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the matrix's kind, or of the host */
static PetscErrorCode CreateVecs(Mat A, PetscBool host, Vec *x, Vec *y)
{
  PetscInt m, n;

  PetscFunctionBegin;
  if (!host) PetscCall(MatCreateVecs(A, x, y));
  else {
    PetscCall(MatGetLocalSize(A, &m, &n));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, x));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, m, PETSC_DETERMINE, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProducts(Mat A, const Case *c, PetscBool host)
{
  Vec x, y, z;

  PetscFunctionBegin;
  PetscCall(CreateVecs(A, host, &x, &y));
  PetscCall(FillVec(x, c, PETSC_TRUE));
  PetscCall(FillVec(y, c, PETSC_FALSE));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(MatMult(A, x, z));
  PetscCall(Check(c, z, PLAIN, PETSC_FALSE, host ? "MatMult() on the host" : "MatMult()"));
  PetscCall(VecSet(z, (PetscScalar)NAN)); /* must not be read */
  PetscCall(MatMultAdd(A, x, y, z));
  PetscCall(Check(c, z, PLAIN, PETSC_TRUE, host ? "MatMultAdd() on the host" : "MatMultAdd()"));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(Check(c, y, PLAIN, PETSC_TRUE, host ? "MatMultAdd() in place on the host" : "MatMultAdd() in place"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with the transpose. x is as long as a column */
static PetscErrorCode TestTransposes(Mat A, const Case *c, PetscBool host)
{
  Vec x, y, z;

  PetscFunctionBegin;
  PetscCall(CreateVecs(A, host, &y, &x));
  PetscCall(FillVec(x, c, PETSC_TRUE));
  PetscCall(FillVec(y, c, PETSC_FALSE));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(MatMultTranspose(A, x, z));
  PetscCall(Check(c, z, TRANSPOSED, PETSC_FALSE, "MatMultTranspose()"));
  PetscCall(MatMultTransposeAdd(A, x, y, z));
  PetscCall(Check(c, z, TRANSPOSED, PETSC_TRUE, "MatMultTransposeAdd()"));
  PetscCall(MatMultHermitianTranspose(A, x, z));
  PetscCall(Check(c, z, HERMITIAN, PETSC_FALSE, "MatMultHermitianTranspose()"));
  PetscCall(MatMultHermitianTransposeAdd(A, x, y, y));
  PetscCall(Check(c, y, HERMITIAN, PETSC_TRUE, "MatMultHermitianTransposeAdd() in place"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatMatMult() with one column, twice. B's array has some rows more. On a device a kernel for one vector makes it, and
   it has the bits of MatMult()
*/
static PetscErrorCode TestColumn(Mat A, const Case *c, PetscBool host, PetscInt more)
{
  Mat         B, C;
  Vec         x, y, column;
  VecType     type;
  PetscInt    m, n;
  PetscMPIInt size;
  PetscBool   cuda, same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, host ? VECSTANDARD : type, n, PETSC_DECIDE, c->cols, 1, n + more, NULL, &B));
  PetscCall(MatDenseGetColumnVecWrite(B, 0, &column));
  PetscCall(FillVec(column, c, PETSC_TRUE));
  PetscCall(MatDenseRestoreColumnVecWrite(B, 0, &column));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(FillVec(x, c, PETSC_TRUE));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatDenseGetColumnVecRead(C, 0, &column));
  PetscCall(Check(c, column, PLAIN, PETSC_FALSE, host ? "MatMatMult() with one column of the host" : "MatMatMult() with one column"));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  if (cuda && size == 1 && !c->special) PetscCall(VecEqual(y, column, &same));
  PetscCall(MatDenseRestoreColumnVecRead(C, 0, &column));
  if (!same) {
    MatAIJTCUMult mult;
    MatAIJTCUPath path;

    PetscCall(MatAIJTCUGetMult(A, &mult));
    PetscCall(MatAIJTCUGetPath(A, &path));
    if (mult != MAT_AIJTCU_MULT_CUSPARSE && path != MAT_AIJTCU_PATH_TCU && path != MAT_AIJTCU_PATH_CUSPARSE) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: MatMatMult() with one column has other bits than MatMult()\n", names[c->pattern]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMat(const Case *c, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, c->rows, c->cols));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetOptionsPrefix(*A, "a_"));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(FillMat(*A, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A x, and the bytes of device memory that A's plan has then */
static PetscErrorCode MultAndBytes(Mat A, Vec x, Vec z, PetscInt64 *bytes)
{
  MatAIJTCUSynergy s;

  PetscFunctionBegin;
  PetscCall(MatMult(A, x, z));
  PetscCall(MatAIJTCUGetSynergy(A, &s));
  *bytes = s.device_bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Products with a pattern that has had none. What makes them faster is made at the stated product, and never else. On a
   device kernels of ours give the same bits before and after it. cuSPARSE adds the parts of long rows in any order
*/
static PetscErrorCode TestSwitch(Mat A, const Case *c, Vec x, Vec first)
{
  MatAIJTCUMult set;
  Vec           z;
  PetscBool     same, cuda;
  PetscInt64    before, bytes;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(MatAIJTCUGetMult(A, &set));
  PetscCall(VecDuplicate(first, &z));
  PetscCall(MultAndBytes(A, x, first, &before));
  for (int made = 2; made <= PRODUCTS_BEFORE + 5; made++) {
    const PetscBool pays     = (PetscBool)(cuda && size == 1 && (c->pattern == NODES || c->pattern == BAND));
    const PetscBool switches = (PetscBool)(set == MAT_AIJTCU_MULT_AUTO && made == PRODUCTS_BEFORE + 1);

    PetscCall(MultAndBytes(A, x, z, &bytes));
    PetscCall(VecEqual(first, z, &same));
    if (!same && set != MAT_AIJTCU_MULT_CUSPARSE) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: product %d has other bits\n", names[c->pattern], made));
    if (pays && switches && bytes <= before) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: nothing is made for product %d\n", names[c->pattern], made));
    if (!switches && bytes != before) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: something is made for product %d\n", names[c->pattern], made));
    before = bytes;
  }
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bits of each kernel, and what becomes of a plan when values or the pattern change */
static PetscErrorCode TestBits(const Case *given)
{
  const MatAIJTCUMult mults[] = {MAT_AIJTCU_MULT_CSR, MAT_AIJTCU_MULT_NODES, MAT_AIJTCU_MULT_CSR16, MAT_AIJTCU_MULT_AUTO};
  Case                c       = *given;
  MatAIJTCUMult       set;
  Mat                 A;
  Vec                 x, y, z;
  PetscBool           same;
  PetscInt64          before, bytes;

  PetscFunctionBegin;
  PetscCall(CreateMat(&c, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(FillVec(x, &c, PETSC_TRUE));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(MatAIJTCUGetMult(A, &set));
  PetscCall(TestSwitch(A, &c, x, y));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(mults) && set != MAT_AIJTCU_MULT_CUSPARSE; i++) {
    PetscCall(MatAIJTCUSetMult(A, mults[i]));
    PetscCall(MatMult(A, x, z));
    PetscCall(VecEqual(y, z, &same));
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s has other bits than %s\n", names[c.pattern], MatAIJTCUMults[mults[i]], MatAIJTCUMults[set]));
  }
  PetscCall(MatAIJTCUSetMult(A, set));
  PetscCall(MultAndBytes(A, x, z, &before));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MultAndBytes(A, x, z, &bytes));
  if (bytes != before) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: new values change what is there\n", names[c.pattern]));
  c.corner = PETSC_TRUE;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(FillMat(A, &c));
  PetscCall(TestSwitch(A, &c, x, y));
  PetscCall(Check(&c, y, PLAIN, PETSC_FALSE, "MatMult() with a new pattern"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(Pattern pattern, PetscInt rows, PetscInt cols)
{
  Case c = {pattern, rows, cols, 1, PETSC_FALSE, PETSC_FALSE};
  Mat  A;

  PetscFunctionBegin;
  PetscCall(CreateMat(&c, &A));
  for (int host = 0; host < 2; host++) {
    c.special = PETSC_FALSE;
    PetscCall(TestProducts(A, &c, (PetscBool)host));
    PetscCall(TestTransposes(A, &c, (PetscBool)host));
    PetscCall(TestColumn(A, &c, (PetscBool)host, host ? 5 : 0));
    c.special = PETSC_TRUE;
    PetscCall(TestColumn(A, &c, (PetscBool)host, host ? 0 : 3));
    PetscCall(TestProducts(A, &c, (PetscBool)host));
  }
  c.special = PETSC_FALSE;
  PetscCall(TestBits(&c));
  for (int i = 0; i < 4; i++) PetscCall(TestTransposes(A, &c, PETSC_FALSE)); /* once the transpose is there, too */
  /* new values, by the device and by the host */
  PetscCall(MatScale(A, 0.75));
  c.scale = (PetscReal)0.75;
  PetscCall(TestProducts(A, &c, PETSC_FALSE));
  PetscCall(TestColumn(A, &c, PETSC_FALSE, 0));
  c.scale = (PetscReal)1.5;
  PetscCall(FillMat(A, &c));
  PetscCall(TestProducts(A, &c, PETSC_FALSE));
  PetscCall(TestColumn(A, &c, PETSC_FALSE, 1));
  PetscCall(TestTransposes(A, &c, PETSC_FALSE));
  if (pattern == NODES) { /* its transpose is known, and is no work of its own */
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
    PetscCall(TestTransposes(A, &c, PETSC_FALSE));
    PetscCall(TestTransposes(A, &c, PETSC_TRUE));
    c.special = PETSC_TRUE;
    PetscCall(TestTransposes(A, &c, PETSC_FALSE));
    c.special = PETSC_FALSE;
  }
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(TestProducts(A, &c, PETSC_FALSE));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(TestProducts(A, &c, PETSC_FALSE));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  for (int pattern = 0; pattern < NPATTERNS; pattern++) PetscCall(TestCase((Pattern)pattern, 300, 300));
  PetscCall(TestCase(BAND, 90, 131));
  PetscCall(TestCase(BAND, 131, 90));
  PetscCall(TestCase(LONG_ROWS, 200, 9000));
  PetscCall(TestCase(IRREGULAR, 700, 400));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out
    nsize: {{1 2 4}}
    args: -a_mat_aijtcu_mult {{auto cusparse csr nodes csr16}} -use_gpu_aware_mpi 0

  test:
    suffix: path
    output_file: output/empty.out
    args: -a_mat_aijtcu_path {{csr tcu}} -use_gpu_aware_mpi 0

TEST*/
