#include "machine.h"
#include <petscaijtcu.h>
#include <petsctime.h>
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#else
  #include <petscdevice.h>
#endif

/* A matrix of one entry on the machine that multiplies for MATAIJTCU, to ask for that machine and to wait for it */
PetscErrorCode ExampleMachineMat(Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 1, 1, 1, NULL, A));
  PetscCall(MatSetValue(*A, 0, 0, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*A, MATAIJTCU, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether products with A run on a GPU. If so, its vectors live there */
PetscErrorCode ExampleMatOnDevice(Mat A, PetscBool *device)
{
  VecType   vtype;
  PetscBool bound;
  char     *at;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &vtype));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(PetscStrstr(vtype, "cuda", &at));
  *device = (PetscBool)(at && !bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether products with MATAIJTCU run on a GPU here */
PetscErrorCode ExampleHasDevice(PetscBool *device)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(ExampleMachineMat(&A));
  PetscCall(ExampleMatOnDevice(A, device));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrix types that options name. A type that there is not, or not on this machine, is an error at once */
PetscErrorCode ExampleMatTypesCheck(MPI_Comm comm, PetscInt n, char *const types[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    Mat A;

    PetscCall(MatCreate(comm, &A));
    PetscCall(MatSetSizes(A, 1, 1, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetType(A, types[k]));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostName(char name[], size_t len)
{
  FILE *fp = fopen("/proc/cpuinfo", "r");
  char  line[256], *at;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(name, "CPU", len));
  if (!fp) PetscFunctionReturn(PETSC_SUCCESS);
  while (fgets(line, (int)sizeof(line), fp)) {
    PetscCall(PetscStrstr(line, "model name", &at));
    if (!at) continue;
    PetscCall(PetscStrchr(line, ':', &at));
    if (!at) continue;
    at[strcspn(at, "\n")] = 0;
    PetscCall(PetscStrncpy(name, at + 1 + strspn(at + 1, " \t"), len));
    break;
  }
  (void)fclose(fp);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Name of the GPU that multiplies with A, or of the processor */
PetscErrorCode ExampleMachine(Mat A, char name[], size_t len)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(ExampleMatOnDevice(A, &device));
#if PetscDefined(HAVE_CUDA)
  if (device) {
    struct cudaDeviceProp prop;
    int                   id;

    PetscCallCUDA(cudaGetDevice(&id));
    PetscCallCUDA(cudaGetDeviceProperties(&prop, id));
    PetscCall(PetscStrncpy(name, prop.name, len));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(HostName(name, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Version of the CUDA libraries that multiply with A, or "none" */
PetscErrorCode ExampleCUDAVersion(Mat A, char text[], size_t len)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(ExampleMatOnDevice(A, &device));
  PetscCall(PetscStrncpy(text, "none", len));
#if PetscDefined(HAVE_CUDA)
  if (device) {
    int version;

    PetscCallCUDA(cudaRuntimeGetVersion(&version));
    PetscCall(PetscSNPrintf(text, len, "%d.%d", version / 1000, version % 1000 / 10));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Wait until the products with A are done. PETSc's device calls fail without a device, so they are made only with one.
*/
PetscErrorCode ExampleSynchronize(Mat A)
{
  PetscDeviceContext dctx;
  PetscBool          device;

  PetscFunctionBegin;
  PetscCall(ExampleMatOnDevice(A, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
  PetscCall(PetscDeviceContextSynchronize(dctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The time when the products with A are done, in s */
PetscErrorCode ExampleTime(Mat A, PetscLogDouble *seconds)
{
  PetscFunctionBegin;
  PetscCall(ExampleSynchronize(A));
  PetscCall(PetscTime(seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}
