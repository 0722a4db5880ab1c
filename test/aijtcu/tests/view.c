static char help[] = "MatAIJTCUView() before and after bricks are built, -mat_aijtcu_view, -mat_aijtcu_view_choice, and MatView(), which is the parent's (-same).\n\
-n rows, -gaps: without three of eight columns, -blocks: full ones of 8 rows in place of a band, -vectors: products with vectors only,\n\
-equal: the products of two matrices of the same name and size are set up, then made. -transposed: A^T B beside A B.\n\
-other: no matrix is of our type. -solve: KSPSolve(). -block_solve: KSPMatSolve().\n\n";

#include <petscaijtcu.h>
#include <petscksp.h>

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

static PetscErrorCode ViewFromOptions(Mat A, const char option[])
{
  PetscViewer viewer;
  PetscBool   view;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreateViewer(PETSC_COMM_WORLD, NULL, NULL, option, &viewer, NULL, &view));
  if (view) PetscCall(MatAIJTCUView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that a view changes nothing: the device memory of plans stays what it was */
static PetscErrorCode ViewBuildsNothing(Mat A, const char option[])
{
  MatAIJTCUSynergy before, after;
  PetscBool        ours;
  int              events, now;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &ours, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJTCUGetSynergy(A, &before));
  PetscCall(CountEvents(&events));
  PetscCall(ViewFromOptions(A, option));
  PetscCall(CountEvents(&now));
  PetscCall(MatAIJTCUGetSynergy(A, &after));
  if (now != events) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s builds or searches something: %d times\n", option, now - events));
  if (after.built != before.built || after.device_bytes != before.device_bytes) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s builds bricks, or takes device memory: %" PetscInt64_FMT " bytes are %" PetscInt64_FMT "\n", option, before.device_bytes, after.device_bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscInt n, PetscBool gaps, PetscBool blocks, Mat *A)
{
  PetscInt r0, r1;
  char     prefix[64] = "";

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(PetscObjectSetName((PetscObject)*A, "stiffness"));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-prefix", prefix, sizeof(prefix), NULL));
  if (prefix[0]) PetscCall(MatSetOptionsPrefix(*A, prefix));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt first = blocks ? i - i % 8 : i - 2;

    for (PetscInt j = PetscMax(0, first); j < PetscMin(n, first + (blocks ? 8 : 5)); j++) {
      if (!gaps || j % 8 < 5) PetscCall(MatSetValue(*A, i, j, i == j ? 1000. : 1. + i + j, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatView() writes in a format, on the first process. The caller frees it */
static PetscErrorCode TextOf(Mat A, PetscViewerFormat format, char **text)
{
  PetscViewer viewer;
  PetscMPIInt rank;
  const char  name[] = "view-text.out";

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, format));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  *text = NULL;
  if (!rank) {
    FILE *fp = fopen(name, "r");
    long  size;

    PetscCheck(fp && !fseek(fp, 0, SEEK_END) && (size = ftell(fp)) >= 0 && !fseek(fp, 0, SEEK_SET), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "Cannot read %s", name);
    PetscCall(PetscCalloc1(size + 1, text));
    PetscCheck(fread(*text, 1, (size_t)size, fp) == (size_t)size && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "Cannot read %s", name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two texts are the same but for the names of two types */
static PetscBool SameText(const char *ours, const char *parents, const char type[], const char parent[])
{
  const size_t len = strlen(type), plen = strlen(parent);

  while (*ours && *parents) {
    if (!strncmp(ours, type, len) && !strncmp(parents, parent, plen)) {
      ours += len;
      parents += plen;
    } else if (*ours++ != *parents++) return PETSC_FALSE;
  }
  return (PetscBool)(*ours == *parents);
}

/* In all formats MatView() writes what it does of a matrix of the parent type */
static PetscErrorCode ViewsAreTheParents(Mat A, Mat P, const char when[])
{
  const PetscViewerFormat formats[] = {PETSC_VIEWER_DEFAULT, PETSC_VIEWER_ASCII_INFO, PETSC_VIEWER_ASCII_INFO_DETAIL, PETSC_VIEWER_ASCII_COMMON, PETSC_VIEWER_ASCII_MATLAB, PETSC_VIEWER_ASCII_DENSE, PETSC_VIEWER_ASCII_IMPL, PETSC_VIEWER_LOAD_BALANCE};
  MatType                 type, parent;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatGetType(P, &parent));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(formats); k++) {
    char *ours, *parents;

    PetscCall(TextOf(A, formats[k], &ours));
    PetscCall(TextOf(P, formats[k], &parents));
    if (ours && !SameText(ours, parents, type, parent)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, in the format %s MatView() writes\n%s\nand for the parent type\n%s\n", when, PetscViewerFormats[formats[k]], ours, parents));
    PetscCall(PetscFree(ours));
    PetscCall(PetscFree(parents));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSame(PetscInt n)
{
  Mat            A, P;
  VecType        vectype;
  PetscBool      host;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, n, PETSC_FALSE, PETSC_FALSE, &A));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(PetscStrcmpAny(vectype, &host, VECSTANDARD, VECSEQ, VECMPI, ""));
  PetscCall(Create(host ? MATAIJ : MATAIJCUSPARSE, n, PETSC_FALSE, PETSC_FALSE, &P));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatAIJTCUView(P, NULL);
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_ERR_ARG_WRONG) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatAIJTCUView() of another type gives error %d\n", (int)ierr));
  PetscCall(ViewsAreTheParents(A, P, "before a product"));
  PetscCall(MultiplyBlock(A));
  PetscCall(MultiplyBlock(P));
  PetscCall(MultiplyVector(A));
  PetscCall(MultiplyVector(P));
  PetscCall(ViewsAreTheParents(A, P, "after products"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program that only solves: with one right-hand side, or with a block */
static PetscErrorCode Solve(Mat A, PetscBool block)
{
  KSP      ksp;
  Vec      x, b;
  Mat      B, X;
  PetscInt m;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  if (!block) PetscCall(KSPSolve(ksp, b, x));
  else {
    PetscCall(MatGetLocalSize(A, &m, NULL));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, m, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    PetscCall(KSPMatSolve(ksp, B, X));
    if (PETSC_VERSION_LT(3, 26, 0)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PETSc before 3.26\n")); /* has no block solves of ours */
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A;
  PetscInt  n    = 64;
  PetscBool gaps = PETSC_FALSE, blocks = PETSC_FALSE, vectors = PETSC_FALSE, equal = PETSC_FALSE, transposed = PETSC_FALSE, same = PETSC_FALSE, other = PETSC_FALSE, solve = PETSC_FALSE, block_solve = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gaps", &gaps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-blocks", &blocks, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-vectors", &vectors, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-equal", &equal, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-transposed", &transposed, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-same", &same, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-other", &other, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-block_solve", &block_solve, NULL));
  if (same) PetscCall(TestSame(n));
  PetscCall(Create(other ? MATAIJ : MATAIJTCU, n, gaps, blocks, &A));
  PetscCall(ViewBuildsNothing(A, "-before_view"));
  if (solve || block_solve) PetscCall(Solve(A, block_solve));
  else if (vectors) PetscCall(MultiplyVector(A));
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
    filter: sed -e "s/on the device/on the host/" -e "s/ (on process 0)//" -e "/bytes of device memory/d" -e "/^aijtcu: ON/d" -e "s/; bricks [^)]*)/)/"
    args: -before_view -after_view -mat_aijtcu_view_choice

    test:
      suffix: tcu
      args: -mat_aijtcu_path tcu -mat_aijtcu_format 8,64,32,1

    test: # on a device the few entries of the off-diagonal block are multiplied from CSR, on the host from bricks
      suffix: tcu_parallel
      nsize: 2
      filter: sed -e "s/on the device/on the host/" -e "s/ (on process 0)//" -e "/bytes of device memory/d" -e "/^aijtcu: ON/d" -e "/off-diagonal block/d" -e "/ bricks, fill /d"
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

  test: # MatView() is the parent's, but for the type's name
    suffix: same
    nsize: {{1 2}}
    args: -same -n 20 -mat_aijtcu_path {{auto tcu}}
    output_file: output/empty.out

  testset: # the line that tells on from off; what a GPU makes of it is not compared
    filter: sed -e "s|ON, but without a GPU,|ON,|" -e "s|; MatMult(): .*||"
    args: -mat_aijtcu_view_choice

    test:
      suffix: on
      nsize: {{1 2}}
      args: -solve -pc_type jacobi

    test:
      suffix: off
      nsize: {{1 2}}
      args: -solve -pc_type jacobi -other

  test: # on a GPU kernels make the products of KSPSolve()
    suffix: on_cuda
    requires: cuda
    nsize: {{1 2}}
    filter: sed -n "s|.*MatMult(): \([1-9][0-9]*\) of \\1 by its kernels.*|all by its kernels|p; t; /^aijtcu: O/p"
    args: -solve -pc_type jacobi -mat_aijtcu_view_choice -use_gpu_aware_mpi 0

  testset: # whole blocks, and columns where there are monitors
    filter: grep -o -e "solves of blocks: [^(]*" -e "PETSc before 3.26"
    args: -block_solve -ksp_type cg -pc_type jacobi -mat_aijtcu_block_solvers always -mat_aijtcu_view_choice

    test:
      suffix: blocks

    test:
      suffix: columns
      args: -ksp_monitor

  test: # when the matrix is destroyed, with what its product has built
    suffix: end
    filter: grep -e "type:" -e "bricks, fill"
    args: -prefix whole_ -whole_mat_aijtcu_view -whole_mat_aijtcu_path tcu -whole_mat_aijtcu_format 8,64,32,1

  test: # blocks of each of them are listed below the one line that both have
    suffix: equal
    nsize: 2
    filter: grep -A4 "aijtcu: products" | sed -e "/off-diagonal block/d" -e "s, (.*,,"
    args: -equal -mat_aijtcu_view_choice -mat_aijtcu_path tcu

  test:
    suffix: transposed
    nsize: 2
    filter: grep -v -e "^Mat Object" -e "^aijtcu: ON"
    args: -transposed -mat_aijtcu_view_choice -mat_aijtcu_path csr

  test: # what no product has needed is not found out
    suffix: unknown
    requires: cuda
    filter: grep -e "path auto" -e "format of" | sed -e "s,^ *,," -e "s,; bytes.*,,"
    args: -before_view

  testset: # the format that a device chooses: panels of 64 rows while there are fewer than 165 of 128; narrow windows where wide ones would stage rows in vain
    requires: cuda
    filter: grep "bricks of" | sed -e "s,^ *,," -e "s,;.*,,"
    args: -mat_aijtcu_path tcu -after_view

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

  test: # why a product went where it went
    suffix: why
    requires: cuda
    filter: grep -o "alpha .*" | sed -e "s|no threshold, bricks are [a-z]* at any|threshold 1|" -e "s|[0-9][-+.e0-9]*|some|g"
    args: -n 21119 -after_view -mat_aijtcu_view_choice

  test: # what is tuned is of one block, and said as options of the whole matrix
    suffix: tuned
    requires: cuda
    nsize: 2
    filter: grep "tuned for" | sed -e "s,^  *tuned,tuned," -e "s,_path .*,_path,"
    args: -after_view -prefix whole_ -whole_mat_aijtcu_tune proxy

TEST*/
