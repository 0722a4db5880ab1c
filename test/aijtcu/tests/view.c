static char help[] = "MatView() of a MATAIJTCU in the info formats, before and after bricks are built, and -mat_aijtcu_view_choice.\n\
-n rows, -gaps: without three of eight columns, -blocks: full ones of 8 rows in place of a band.\n\n";

#include <petscaijtcu.h>

int main(int argc, char **argv)
{
  Mat       A, B, C;
  PetscInt  r0, r1, n = 64;
  PetscBool gaps = PETSC_FALSE, blocks = PETSC_FALSE;
  char      prefix[64] = "";

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gaps", &gaps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-blocks", &blocks, NULL));
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
  PetscCall(MatViewFromOptions(A, NULL, "-before_view"));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, 6, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatViewFromOptions(A, NULL, "-after_view"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
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

    test: # on a device both blocks are multiplied by products of ours, on the host the diagonal one
      suffix: tcu_parallel
      nsize: 2
      filter: sed -e "s/on the device/on the host/" -e "s/ (on process 0)//" -e "/bytes of device memory/d" -e "s/, [24] times/, counted/"
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

    test:
      suffix: detail
      args: -before_view ::ascii_info_detail -mat_aijtcu_path tcu -mat_aijtcu_format 8,64,32,1

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
