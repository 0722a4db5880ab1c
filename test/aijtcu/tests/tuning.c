static char help[] = "Products of a MATAIJTCU that is tuned (-mat_aijtcu_tune proxy) against those of a MATAIJ, what is said of the tuning, and whether the options that are said replay it.\n\
Prints on error only. -kind, -n: a matrix of examples/common/generate.h. -segments: it is so large that the proxy is a part of it.\n\n";

#include "bits.h"
#include <generate.h>
#include <petscaijtcu.h>

enum {
  MOST_TEXT = 4096 /* characters of options that replay a choice, and of the line that has them */
};

typedef struct {
  PetscBool device, segments; /* whether anything is tuned; whether by a part of the rows */
  Mat       R;                /* the same matrix on the host */
  MatType   dense;
  char      prefix[256];
} Test;

static PetscErrorCode Report(PetscBool ok, PetscInt N, const char what[])
{
  PetscFunctionBegin;
  if (!ok) PetscCall(PetscPrintf(PETSC_COMM_SELF, "N = %" PetscInt_FMT ": %s\n", N, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateB(const Test *t, PetscInt N, Mat *B)
{
  PetscScalar *b;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(t->R, NULL, &n));
  PetscCall(MatCreate(PETSC_COMM_SELF, B));
  PetscCall(MatSetSizes(*B, n, N, n, N));
  PetscCall(MatSetType(*B, t->dense));
  PetscCall(MatSetUp(*B));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt k = 0; k < n * N; k++) b[k] = GenerateValue(k, N);
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that C is scale R B within a few roundings of its norm */
static PetscErrorCode CheckProduct(const Test *t, Mat B, Mat C, PetscReal scale, const char what[])
{
  Mat       H, D, E;
  PetscInt  N;
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &N));
  PetscCall(MatConvert(B, MATSEQDENSE, MAT_INITIAL_MATRIX, &H));
  PetscCall(MatConvert(C, MATSEQDENSE, MAT_INITIAL_MATRIX, &E));
  PetscCall(MatMatMult(t->R, H, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(E, -scale, D, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(E, NORM_FROBENIUS, &difference));
  PetscCall(Report((PetscBool)(difference <= 100 * PETSC_MACHINE_EPSILON * scale * norm), N, what));
  PetscCall(MatDestroy(&H));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSameBits(Mat C, Mat D, const char what[])
{
  PetscInt  N;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(SameBits(C, D, &same));
  PetscCall(Report(same, N, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that what MatAIJTCUGetTuning() says after a product with N columns is consistent */
static PetscErrorCode CheckTuning(const Test *t, Mat A, PetscInt N, MatAIJTCUTuning *tuning)
{
  PetscReal least  = PETSC_INFINITY;
  PetscInt  ntimed = 0;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetTuning(A, N, tuning));
  if (!t->device) {
    PetscCall(Report((PetscBool)(!tuning->nvariants && tuning->winner == -1), N, "a tuning where there is no device"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Report((PetscBool)(tuning->winner < tuning->nvariants && (tuning->winner >= 0 || !tuning->nvariants)), N, "no variant has won"));
  if (tuning->winner < 0) PetscFunctionReturn(PETSC_SUCCESS); /* reordering is for the model to choose */
  for (PetscInt k = 0; k < tuning->nvariants; k++) {
    if (tuning->variant[k].seconds > 0) {
      least = PetscMin(least, tuning->variant[k].seconds);
      ntimed++;
    }
  }
  if (!ntimed) { /* the model has the others much slower */
    PetscCall(Report((PetscBool)(tuning->winner == 0 && tuning->products == 0 && tuning->share == 0 && tuning->seconds > 0), N, "not the model's choice, untimed"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Report((PetscBool)(tuning->variant[tuning->winner].seconds > 0 && tuning->variant[tuning->winner].seconds <= (PetscReal)1.021 * least), N, "a slow variant has won"));
  PetscCall(Report((PetscBool)(tuning->products > 0 && tuning->seconds > 0), N, "tuning takes no time"));
  PetscCall(Report((PetscBool)(t->segments ? tuning->share > 0 && tuning->share <= (PetscReal)0.5 : tuning->share == 1), N, "the proxy has the wrong size"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatAIJTCUView() says of N columns */
static PetscErrorCode GetOptions(Mat A, PetscInt N, char options[], size_t len)
{
  const char  file[] = "tuned.txt";
  PetscViewer viewer;
  FILE       *fp;
  char        line[MOST_TEXT], start[64], *at;

  PetscFunctionBegin;
  options[0] = 0;
  PetscCall(PetscSNPrintf(start, sizeof(start), "tuned for N = %" PetscInt_FMT ": ", N));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_SELF, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatAIJTCUView(A, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscFOpen(PETSC_COMM_SELF, file, "r", &fp));
  while (fgets(line, sizeof(line), fp)) {
    PetscCall(PetscStrstr(line, start, &at));
    if (at) PetscCall(PetscStrncpy(options, at + strlen(start), len));
  }
  PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  options[strcspn(options, "\n")] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that the printed options give the same product without tuning */
static PetscErrorCode CheckReplay(const Test *t, Mat A, Mat B, Mat C)
{
  Mat             A2, D;
  PetscOptions    only;
  PetscInt        N;
  char            options[MOST_TEXT];
  MatAIJTCUTuning tuning;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &N));
  PetscCall(GetOptions(A, N, options, sizeof(options)));
  PetscCall(Report((PetscBool)((options[0] != 0) == (t->device && N > 1)), N, "MatAIJTCUView() says nothing, or too much"));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &A2));
  PetscCall(PetscOptionsCreate(&only));
  PetscCall(PetscOptionsInsertString(only, options));
  PetscCall(PetscOptionsPush(only));
  PetscCall(MatSetOptionsPrefix(A2, t->prefix));
  PetscCall(MatAIJTCUSetTune(A2, MAT_AIJTCU_TUNE_NONE));
  PetscCall(MatSetFromOptions(A2));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&only));
  PetscCall(MatMatMult(A2, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(CheckSameBits(C, D, "the replay has other bits"));
  PetscCall(MatAIJTCUGetTuning(A2, N, &tuning));
  PetscCall(Report((PetscBool)!tuning.nvariants, N, "the replay is tuned"));
  PetscCall(MatDestroy(&A2));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make a product, and check what is said of its tuning */
static PetscErrorCode TestProduct(const Test *t, Mat A, PetscInt N, const char what[])
{
  Mat             B, C;
  MatAIJTCUTuning tuning;

  PetscFunctionBegin;
  PetscCall(CreateB(t, N, &B));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(CheckProduct(t, B, C, 1, what));
  PetscCall(CheckTuning(t, A, N, &tuning));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWidth(const Test *t, Mat A, PetscInt N)
{
  Mat             B, C, D;
  MatAIJTCUTuning first, again;
  MatAIJTCUCounts counts, now;

  PetscFunctionBegin;
  PetscCall(CreateB(t, N, &B));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(CheckProduct(t, B, C, 1, "wrong"));
  PetscCall(CheckTuning(t, A, N, &first));
  PetscCall(CheckReplay(t, A, B, C));
  PetscCall(MatAIJTCUGetCounts(A, &counts));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(CheckSameBits(C, D, "other bits the second time"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatScale(A, 2)); /* new values, and exact */
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatScale(D, 0.5));
  PetscCall(CheckSameBits(C, D, "other bits with twice the values"));
  PetscCall(CheckTuning(t, A, N, &again));
  PetscCall(Report((PetscBool)(first.seconds == again.seconds && first.winner == again.winner), N, "tuned again"));
  PetscCall(MatAIJTCUGetCounts(A, &now));
  PetscCall(Report((PetscBool)(now.builds == counts.builds), N, "bricks are built again"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More numbers of columns than the table has room for, in turn: bricks are built once at most */
static PetscErrorCode TestMany(const Test *t, Mat A)
{
  MatAIJTCUCounts counts, before;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetCounts(A, &before));
  for (PetscInt N = 1; N <= 24; N++) PetscCall(TestProduct(t, A, 1 + (N - 1) % 12, "wrong among many"));
  PetscCall(MatAIJTCUGetCounts(A, &counts));
  PetscCall(Report((PetscBool)(counts.builds <= before.builds + 1), 24, "bricks of several formats are built"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A tuning goes with the option that allows reordering. Otherwise bricks of the original matrix would be called
   reordered, and replayed as such.
*/
static PetscErrorCode TestReorder(const Test *t, Mat A, PetscInt N)
{
  const MatAIJTCUReorder reorder[] = {MAT_AIJTCU_REORDER_AUTO, MAT_AIJTCU_REORDER_NEVER, MAT_AIJTCU_REORDER_AUTO};
  MatAIJTCUTuning        tuning;
  Mat                    B, C;

  PetscFunctionBegin;
  PetscCall(CreateB(t, N, &B));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(reorder); k++) {
    char  options[MOST_TEXT];
    char *always;

    PetscCall(MatAIJTCUSetReorder(A, reorder[k]));
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
    PetscCall(CheckProduct(t, B, C, 1, "wrong when reordered, or not"));
    PetscCall(CheckTuning(t, A, N, &tuning));
    PetscCall(CheckReplay(t, A, B, C));
    PetscCall(GetOptions(A, N, options, sizeof(options)));
    PetscCall(PetscStrstr(options, "mat_aijtcu_reorder always", &always));
    PetscCall(Report((PetscBool)(!always || reorder[k] != MAT_AIJTCU_REORDER_NEVER), N, "a reordering that is not allowed"));
    PetscCall(MatDestroy(&C));
  }
  /*
     in between, bricks of the original matrix that nobody has tuned: the reordering is lost, and has to be found again
  */
  PetscCall(MatAIJTCUSetReorder(A, MAT_AIJTCU_REORDER_NEVER));
  PetscCall(MatAIJTCUSetPath(A, MAT_AIJTCU_PATH_TCU));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(CheckProduct(t, B, C, 1, "wrong with bricks that nobody has tuned"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatAIJTCUSetReorder(A, MAT_AIJTCU_REORDER_AUTO));
  PetscCall(MatAIJTCUSetPath(A, MAT_AIJTCU_PATH_AUTO));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(CheckProduct(t, B, C, 1, "wrong after bricks that nobody has tuned"));
  PetscCall(CheckReplay(t, A, B, C));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add an entry: the tuning is not valid any more */
static PetscErrorCode TestPattern(const Test *t, Mat A, PetscInt N)
{
  Mat              matrix[] = {A, t->R};
  PetscInt         m, n;
  PetscObjectState before, after;
  MatAIJTCUTuning  tuning;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetNonzeroState(A, &before));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(matrix[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(matrix[k], 0, n - 1, 3, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(matrix[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrix[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatGetNonzeroState(A, &after));
  PetscCall(MatAIJTCUGetTuning(A, N, &tuning));
  /* A small matrix may have had the entry */
  if (after != before) PetscCall(Report((PetscBool)(!tuning.nvariants && tuning.winner == -1), N, "a tuning of another pattern"));
  PetscCall(TestProduct(t, A, N, "wrong with another pattern"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  GenerateKind kind = GENERATE_ELASTICITY;
  PetscInt     n = 6, widths[8] = {1, 7, 32}, nwidths = 8;
  PetscBool    permuted = PETSC_FALSE, reorder = PETSC_FALSE, set;
  Test         t        = {PETSC_FALSE, PETSC_FALSE, NULL, NULL, "t_"};
  Mat          A;
  VecType      type;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Test of tuning", NULL);
  PetscCall(PetscOptionsEnum("-kind", "Kind of matrix", NULL, GenerateKinds, (PetscEnum)kind, (PetscEnum *)&kind, NULL));
  PetscCall(PetscOptionsInt("-n", "Its size", NULL, n, &n, NULL));
  PetscCall(PetscOptionsBool("-permuted", "Whether its unknowns are in a random order", NULL, permuted, &permuted, NULL));
  PetscCall(PetscOptionsBool("-reorder", "Whether reordering is forbidden and allowed again", NULL, reorder, &reorder, NULL));
  PetscCall(PetscOptionsString("-prefix", "Of the options of the matrix", NULL, t.prefix, t.prefix, sizeof(t.prefix), NULL));
  PetscCall(PetscOptionsBool("-segments", "Whether the proxy is a part of it", NULL, t.segments, &t.segments, NULL));
  PetscCall(PetscOptionsIntArray("-widths", "Numbers of dense columns", NULL, widths, &nwidths, &set));
  if (!set) nwidths = 3;
  PetscOptionsEnd();
  PetscCall(MatCreate(PETSC_COMM_SELF, &t.R));
  PetscCall(MatSetType(t.R, MATSEQAIJ));
  PetscCall(GenerateMatrix(kind, n, permuted, t.R));
  PetscCall(MatConvert(t.R, MATAIJTCU, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatSetOptionsPrefix(A, t.prefix));
  PetscCall(MatAIJTCUSetTune(A, MAT_AIJTCU_TUNE_PROXY));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmp(type, VECCUDA, &t.device));
  t.dense = t.device ? MATSEQDENSECUDA : MATSEQDENSE;
  for (PetscInt k = 0; k < nwidths; k++) PetscCall(TestWidth(&t, A, widths[k]));
  if (nwidths < 8) PetscCall(TestMany(&t, A));
  if (reorder) PetscCall(TestReorder(&t, A, widths[nwidths - 1]));
  PetscCall(TestPattern(&t, A, widths[0]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&t.R));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: !complex

  testset:
    output_file: output/empty.out

    test: # nothing to tune
      suffix: host
      args: -kind {{elasticity rmat}} -n 5

    test:
      suffix: cuda
      requires: cuda
      args: -kind {{elasticity dof8 poisson7 rmat}} -n {{5 20}}

    test: # where reordering may be better
      suffix: cuda_permuted
      requires: cuda
      args: -kind {{elasticity poisson7}} -permuted -n 20

    test: # so large that reordering pays
      suffix: cuda_reorder
      requires: cuda
      timeoutfactor: 3
      args: -kind elasticity -permuted -n 32 -widths 128 -reorder

    test:
      suffix: cuda_never
      requires: cuda
      args: -kind elasticity -permuted -n 20 -t_mat_aijtcu_reorder never

    test: # 216000 rows and more: segments
      suffix: cuda_segments
      requires: cuda
      timeoutfactor: 3
      args: -kind {{poisson7 elasticity}} -n {{60 64}} -segments -widths 8,33

    test: # options that replay a choice are said as a whole
      suffix: cuda_prefix
      requires: cuda
      args: -kind {{elasticity dof8}} -n 5 -prefix a_prefix_that_is_so_long_that_all_options_together_take_some_hundreds_of_characters_and_would_not_fit_in_a_line_

    test: # products in pieces, as ever
      suffix: cuda_pieces
      requires: cuda
      args: -kind elasticity -n 20 -mat_aijtcu_workspace_max 0.5 -widths 96,300

TEST*/
