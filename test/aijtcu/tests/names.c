static char help[] = "What had another name before 0.1.0 still works: options, their values, functions and constants. Prints on error only.\n\n";

#define PETSC_SILENCE_DEPRECATION_WARNINGS_0_1_0
#include <petscaijtcu.h>

static PetscErrorCode Create(const char prefix[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 16, 16));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetOptionsPrefix(*A, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(PetscBool right, const char what[])
{
  PetscFunctionBegin;
  if (!right) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFormat(Mat A, PetscInt brick_rows, PetscInt panel_rows, PetscInt block_cols, PetscInt window_cols, const char what[])
{
  MatAIJTCUFormat f;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetFormat(A, &f));
  PetscCall(Check((PetscBool)(f.brick_rows == brick_rows && f.panel_rows == panel_rows && f.block_cols == block_cols && f.window_cols == window_cols), what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions for one number of the format. Each sets a whole format */
static PetscErrorCode TestNumbers(void)
{
  Mat      A, R;
  PetscInt n = 0;

  PetscFunctionBegin;
  PetscCall(Create("none_", &A));
  PetscCall(MatAIJTCUGetBrickRows(A, &n));
  PetscCall(Check((PetscBool)(n == 8), "MatAIJTCUGetBrickRows() while nothing is set"));
  PetscCall(MatAIJTCUGetPanelRows(A, &n));
  PetscCall(Check((PetscBool)(n == 64), "MatAIJTCUGetPanelRows() while nothing is set"));
  PetscCall(MatAIJTCUGetBlockCols(A, &n));
  PetscCall(Check((PetscBool)(n == 32), "MatAIJTCUGetBlockCols() while nothing is set"));
  PetscCall(MatAIJTCUGetWindowCols(A, &n));
  PetscCall(Check((PetscBool)(n == 1), "MatAIJTCUGetWindowCols() while nothing is set"));
  PetscCall(MatAIJTCUSetBlockCols(A, 132));
  PetscCall(CheckFormat(A, 8, 64, 132, 1, "MatAIJTCUSetBlockCols()"));
  PetscCall(MatAIJTCUSetWindowCols(A, 8));
  PetscCall(CheckFormat(A, 8, 64, 136, 8, "MatAIJTCUSetWindowCols()"));
  PetscCall(MatAIJTCUSetPanelRows(A, 24));
  PetscCall(CheckFormat(A, 8, 24, 136, 8, "MatAIJTCUSetPanelRows()"));
  PetscCall(MatAIJTCUSetBrickRows(A, 16));
  PetscCall(CheckFormat(A, 16, 32, 136, 8, "MatAIJTCUSetBrickRows()"));
  PetscCall(MatAIJTCUGetPanelRows(A, &n));
  PetscCall(Check((PetscBool)(n == 32), "MatAIJTCUGetPanelRows()"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(Check((PetscBool)(MatAIJTCUSetPanelRows(A, 40) == PETSC_ERR_ARG_OUTOFRANGE), "MatAIJTCUSetPanelRows() rounds"));
  PetscCall(Check((PetscBool)(MatAIJTCUSetBrickRows(A, 0) == PETSC_ERR_ARG_OUTOFRANGE), "MatAIJTCUSetBrickRows() takes zero"));
  PetscCall(PetscPopErrorHandler());
  PetscCall(CheckFormat(A, 16, 32, 136, 8, "a refused number left a trace"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &R));
  PetscCall(MatSetSizes(R, PETSC_DECIDE, PETSC_DECIDE, 16, 16));
  PetscCall(MatSetType(R, MATAIJ));
  PetscCall(MatAIJTCUSetBrickRows(R, 16)); /* left alone */
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestConstants(void)
{
  Mat              A;
  MatAIJTCUCluster cluster;

  PetscFunctionBegin;
  PetscCall(Create("none_", &A));
  PetscCall(MatAIJTCUSetCluster(A, MAT_AIJTCU_CLUSTER_NEVER));
  PetscCall(MatAIJTCUGetCluster(A, &cluster));
  PetscCall(Check((PetscBool)(cluster == MAT_AIJTCU_REORDER_NEVER), "MatAIJTCUSetCluster()"));
  PetscCall(Check((PetscBool)(MAT_AIJTCU_CLUSTER_AUTO == MAT_AIJTCU_REORDER_AUTO && MAT_AIJTCU_CLUSTER_ALWAYS == MAT_AIJTCU_REORDER_ALWAYS), "MAT_AIJTCU_CLUSTER_AUTO, _ALWAYS"));
  PetscCall(Check((PetscBool)(MAT_AIJTCU_PATH_SCALAR == MAT_AIJTCU_PATH_CSR && MAT_AIJTCU_PATH_PARENT == MAT_AIJTCU_PATH_CUSPARSE), "MAT_AIJTCU_PATH_SCALAR, _PARENT"));
  PetscCall(Check((PetscBool)(&MatAIJTCUClusters[0] == &MatAIJTCUReorders[0]), "MatAIJTCUClusters"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of the TEST block below */
static PetscErrorCode TestOptions(void)
{
  const MatAIJTCUPath path[]   = {MAT_AIJTCU_PATH_CSR, MAT_AIJTCU_PATH_CUSPARSE};
  const char *const   prefix[] = {"one_", "two_"};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Mat              A;
    MatAIJTCUPath    p;
    MatAIJTCUReorder reorder;

    PetscCall(Create(prefix[k], &A));
    for (int again = 0; again < 2; again++) { /* the option with the new name stays */
      PetscCall(MatSetFromOptions(A));
      PetscCall(MatAIJTCUGetPath(A, &p));
      PetscCall(Check((PetscBool)(p == path[k]), "an old value of -mat_aijtcu_path"));
      PetscCall(MatAIJTCUGetReorder(A, &reorder));
      PetscCall(Check((PetscBool)(reorder == (k ? MAT_AIJTCU_REORDER_AUTO : MAT_AIJTCU_REORDER_NEVER)), "-mat_aijtcu_cluster"));
      if (k) PetscCall(CheckFormat(A, 16, 128, 64, 8, "an old number beside -mat_aijtcu_format, which wins"));
      else PetscCall(CheckFormat(A, 16, 64, 48, 16, "-mat_aijtcu_brick_rows and the others"));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(TestNumbers());
  PetscCall(TestConstants());
  PetscCall(TestOptions());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2}}
    args: -one_mat_aijtcu_path scalar -one_mat_aijtcu_cluster never -one_mat_aijtcu_brick_rows 16 -one_mat_aijtcu_window_cols 16 -one_mat_aijtcu_block_cols 48
    args: -two_mat_aijtcu_path parent -two_mat_aijtcu_panel_rows 32 -two_mat_aijtcu_format 16,128,64,8

    test:
      suffix: quiet
      output_file: output/empty.out
      args: -options_suppress_deprecated_warnings

    test: # once, and with what to write instead
      suffix: warned
      filter: sed -e "s,.*: the option,the option," -e "s, as of.*,," -e "s, (Silence.*,,"

    test:
      suffix: info
      args: -info -options_suppress_deprecated_warnings
      filter: grep -o "aijtcu: -.*is deprecated.*" | sort -u

TEST*/
