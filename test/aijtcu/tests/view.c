static char help[] = "MatView() of a MATAIJTCU in the format info, before and after bricks are built, and -mat_aijtcu_view_choice.\n\
-n rows, -gaps: without three of eight columns, -blocks: full ones of 8 rows in place of a band, -vectors: products with vectors only,\n\
-equal: the products of two matrices of the same name and size are set up, then made. -transposed: A^T B beside A B.\n\n";

#include <petscaijtcu.h>

static PetscErrorCode MultiplyVector(Mat A)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyBlock(Mat A)
{
  Mat      B, C;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, 6, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpProduct(Mat A, Mat B, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, B, NULL, C));
  PetscCall(MatProductSetType(*C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product of a second matrix of the same name and size is set up before the first is multiplied */
static PetscErrorCode MultiplyEqual(Mat A)
{
  Mat      A2, B, C, C2;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &A2));
  PetscCall(PetscObjectSetName((PetscObject)A2, "stiffness"));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, 6, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(SetUpProduct(A, B, &C));
  PetscCall(SetUpProduct(A2, B, &C2));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductNumeric(C2));
  PetscCall(MatDestroy(&A2));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&C2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B beside A B: each is a line of its own, and each block's product counts for A */
static PetscErrorCode MultiplyTransposed(Mat A)
{
  MatAIJTCUCounts before, after;
  Mat             B, C;
  PetscMPIInt     size;
  PetscInt        m;
  PetscInt64      n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, m, PETSC_DECIDE, PETSC_DETERMINE, 6, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatAIJTCUGetCounts(A, &before));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatAIJTCUGetCounts(A, &after));
  n = after.tcu + after.csr + after.cusparse - before.tcu - before.csr - before.cusparse;
  if (n != 3 * (size > 1 ? 2 : 1)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt64_FMT " products are counted for three with the transpose\n", n));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often something was built, found or timed, over all matrices */
static PetscErrorCode CountEvents(int *count)
{
  const char *const names[] = {"MatTCUBuild", "MatTCURefresh", "MatTCUReorder", "MatTCUTune"};

  PetscFunctionBegin;
  *count = 0;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    PetscLogEvent      event;
    PetscEventPerfInfo info;

    PetscCall(PetscLogEventGetId(names[k], &event));
    PetscCheck(event >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There is no event %s", names[k]);
    PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
    *count += info.count;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that a view changes nothing: the device memory of plans stays what it was */
static PetscErrorCode ViewBuildsNothing(Mat A, const char option[])
{
  MatAIJTCUSynergy before, after;
  int              events, now;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetSynergy(A, &before));
  PetscCall(CountEvents(&events));
  PetscCall(MatViewFromOptions(A, NULL, option));
  PetscCall(CountEvents(&now));
  PetscCall(MatAIJTCUGetSynergy(A, &after));
  if (now != events) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s builds or searches something: %d times\n", option, now - events));
  if (after.built != before.built || after.device_bytes != before.device_bytes) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s builds bricks, or takes device memory: %" PetscInt64_FMT " bytes are %" PetscInt64_FMT "\n", option, before.device_bytes, after.device_bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A;
  PetscInt  r0, r1, n = 64;
  PetscBool gaps = PETSC_FALSE, blocks = PETSC_FALSE, vectors = PETSC_FALSE, equal = PETSC_FALSE, transposed = PETSC_FALSE;
  char      prefix[64] = "";

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gaps", &gaps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-blocks", &blocks, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-vectors", &vectors, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-equal", &equal, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-transposed", &transposed, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(PetscObjectSetName((PetscObject)A, "stiffness"));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-prefix", prefix, sizeof(prefix), NULL));
  if (prefix[0]) PetscCall(MatSetOptionsPrefix(A, prefix));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt first = blocks ? i - i % 8 : i - 2;

    for (PetscInt j = PetscMax(0, first); j < PetscMin(n, first + (blocks ? 8 : 5)); j++) {
      if (!gaps || j % 8 < 5) PetscCall(MatSetValue(A, i, j, 1. + i + j, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ViewBuildsNothing(A, "-before_view"));
  if (vectors) PetscCall(MultiplyVector(A));
  else if (equal) PetscCall(MultiplyEqual(A));
  else if (transposed) PetscCall(MultiplyTransposed(A));
  else PetscCall(MultiplyBlock(A));
  PetscCall(ViewBuildsNothing(A, "-after_view"));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: !complex double !defined(PETSC_USE_64BIT_INDICES)

  testset: # with the format set, a device does not choose its own
    filter: sed -e "s/on the device/on the host/" -e "s/ (on process 0)//" -e "/bytes of device memory/d"
    args: -before_view ::ascii_info -after_view ::ascii_info -mat_aijtcu_view_choice

    test:
      suffix: tcu
      args: -mat_aijtcu_path tcu -mat_aijtcu_format 8,64,32,1

    test: # on a device the few entries of the off-diagonal block are multiplied from CSR, on the host from bricks
      suffix: tcu_parallel
      nsize: 2
      filter: sed -e "s/on the device/on the host/" -e "s/ (on process 0)//" -e "/bytes of device memory/d" -e "/off-diagonal block/d" -e "/ bricks, fill /d"
      args: -mat_aijtcu_path tcu -mat_aijtcu_format 8,64,32,1

    test:
      suffix: csr
      args: -mat_aijtcu_path csr -mat_aijtcu_format 16,64,32,1

    test:
      suffix: cusparse
      args: -mat_aijtcu_path cusparse -mat_aijtcu_format 16,64,32,1

    test:
      suffix: threshold
      args: -mat_aijtcu_synergy_threshold 0.2 -mat_aijtcu_format 8,64,32,1

    test: # which is not for us: a MATIS prints its local matrices with it
      suffix: detail
      args: -before_view ::ascii_info_detail -mat_aijtcu_path tcu -mat_aijtcu_format 8,64,32,1

  test: # products with vectors are not counted
    suffix: none
    filter: grep -A1 "aijtcu: products"
    args: -vectors -mat_aijtcu_view_choice

  test: # blocks of each of them are listed below the one line that both have
    suffix: equal
    nsize: 2
    filter: grep -A4 "aijtcu: products" | sed -e "/off-diagonal block/d" -e "s, (.*,,"
    args: -equal -mat_aijtcu_view_choice -mat_aijtcu_path tcu

  test:
    suffix: transposed
    nsize: 2
    filter: grep -v "^Mat Object"
    args: -transposed -mat_aijtcu_view_choice -mat_aijtcu_path csr

  test: # what no product has needed is not found out
    suffix: unknown
    requires: cuda
    filter: grep -e "path auto" -e "format of" | sed -e "s,^ *,," -e "s,; bytes.*,,"
    args: -before_view ::ascii_info

  testset: # the format that a device chooses: panels of 64 rows while there are fewer than 165 of 128; narrow windows where wide ones would stage rows in vain
    requires: cuda
    filter: grep "bricks of" | sed -e "s,^ *,," -e "s,;.*,,"
    args: -mat_aijtcu_path tcu -after_view ::ascii_info

    test:
      suffix: few_panels
      args: -n 21119

    test:
      suffix: panels
      args: -n 21120

    test:
      suffix: narrow_windows
      args: -n 21120 -gaps

    test:
      suffix: full_bricks
      args: -n 21120 -blocks

  test: # what is tuned is of one block, and said as options of the whole matrix
    suffix: tuned
    requires: cuda
    nsize: 2
    filter: grep "tuned for" | sed -e "s,^  *tuned,tuned," -e "s,_path .*,_path,"
    args: -whole_after_view ::ascii_info -prefix whole_ -whole_mat_aijtcu_tune proxy

TEST*/
