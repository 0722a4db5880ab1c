static char help[] = "Products on devices that have no tensor cores that pay, or for which the library has no kernels: the library is told so of this one, whatever it is. They take the CSR path and the parent's. Prints on error only.\n\
-image: no kernel of the library runs on the device. -slow: its compute capability is 8.6, whose tensor cores have a 64th of the rate in double precision.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT, dladdr() */
#include <petscmat.h>
#include "petscaijtcu.h"

#if PetscDefined(HAVE_CUDA)
  #include "band.h"
  #include "sameproduct.h"
  #include <cuda_runtime_api.h>
  #include <dlfcn.h>
  #include <string.h>

enum {
  ROWS    = 3000,
  HALF    = 9, /* offsets of a row's entries beside the diagonal */
  COLUMNS = 24
};

static PetscBool image, slow;

/* Whether a call comes from the library. PETSc and cuSPARSE are to see the device as it is */
static int IsOurs(const void *caller)
{
  Dl_info info;

  return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "/libpetscaijtcu.so");
}

PETSC_EXTERN cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
  static cudaError_t (*next)(struct cudaFuncAttributes *, const void *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "cudaFuncGetAttributes");
  return image && IsOurs(__builtin_return_address(0)) ? cudaErrorNoKernelImageForDevice : (*next)(attributes, kernel);
}

PETSC_EXTERN cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  static cudaError_t (*next)(int *, enum cudaDeviceAttr, int);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "cudaDeviceGetAttribute");
  if (slow && IsOurs(__builtin_return_address(0)) && (attribute == cudaDevAttrComputeCapabilityMajor || attribute == cudaDevAttrComputeCapabilityMinor)) {
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? 8 : 6;
    return cudaSuccess;
  }
  return (*next)(value, attribute, device);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
#if PetscDefined(HAVE_CUDA)
  {
    Mat             A, R, B, S;
    MatAIJTCUCounts counts;

    PetscCall(PetscOptionsGetBool(NULL, NULL, "-image", &image, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-slow", &slow, NULL));
    PetscCall(CreateBand(MATAIJTCU, ROWS, HALF, 1, &A));
    PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &R));
    PetscCall(CreateDense(ROWS, COLUMNS, &S, &B));
    for (int again = 0; again < 2; again++) {
      PetscCall(SameProductsWith(A, B, R, S, again ? "new values" : "first values"));
      PetscCall(MatScale(A, 2));
      PetscCall(MatScale(R, 2));
    }
    PetscCall(MatAIJTCUGetCounts(A, &counts));
    PetscCheck(!counts.tcu && !counts.builds, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " products with bricks, which were built %" PetscInt_FMT " times", (PetscInt)counts.tcu, (PetscInt)counts.builds);
    PetscCheck((image ? counts.cusparse : counts.csr) == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " products took the CSR path, %" PetscInt_FMT " were the parent's, of 2", (PetscInt)counts.csr, (PetscInt)counts.cusparse);
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&S));
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
      suffix: cuda_image
      args: -image -a_mat_aijtcu_path {{auto tcu csr}}

    test:
      suffix: cuda_image_threshold
      args: -image -a_mat_aijtcu_synergy_threshold {{0 0.01}}

    test: # in single precision they pay
      suffix: cuda_slow
      requires: double
      args: -slow -a_mat_aijtcu_path {{auto tcu csr}}

    test:
      suffix: cuda_slow_threshold
      requires: double
      args: -slow -a_mat_aijtcu_synergy_threshold {{0 0.01}}

TEST*/
