#include "limit.h"
#include "machine.h"
#include "operand.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

enum {
  REPEATS = 10 /* times that a speed is measured; the best counts */
};

/* The least time of a copy of n numbers on the machine that multiplies, with the wait for its end */
static PetscErrorCode CopySeconds(const Machine *machine, PetscInt n, PetscReal *seconds)
{
  Vec     x, y;
  VecType type;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(machine->A, &type));
  PetscCall(VecCreate(PETSC_COMM_SELF, &x));
  PetscCall(VecSetSizes(x, n, n));
  PetscCall(VecSetType(x, type));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 2));
  *seconds = PETSC_INFINITY;
  for (PetscInt k = 0; k < REPEATS; k++) {
    PetscLogDouble start, end;

    PetscCall(ExampleTime(machine->A, &start));
    PetscCall(VecCopy(x, y));
    PetscCall(ExampleTime(machine->A, &end));
    *seconds = PetscMin(*seconds, (PetscReal)(end - start));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether cuBLAS may round operands to TF32. Tensor cores multiply single precision numbers in that way */
static PetscErrorCode AllowTF32(const Machine *machine, PetscBool allow)
{
  PetscFunctionBegin;
  (void)machine, (void)allow; /* without cuBLAS there is nothing to allow */
#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_REAL_SINGLE)
  if (machine->device) {
    cublasHandle_t handle;

    PetscCall(PetscCUBLASGetHandle(&handle));
    PetscCallCUBLAS(cublasSetMathMode(handle, allow ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops per second of a product of large dense matrices */
static PetscErrorCode MeasureTensor(Machine *machine)
{
  const PetscInt n    = machine->device ? 8192 : 256; /* on the host any number will do */
  Operand        o[3] = {{.filled = PETSC_TRUE}, {.filled = PETSC_TRUE}, {.filled = PETSC_FALSE}};
  Mat            M[3];
  Subject        s;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatGetVecType(machine->A, &o[k].type));
    PetscCall(OperandReserve(&o[k], n, n));
    PetscCall(OperandCreateMat(&o[k], n, n, &M[k]));
  }
  PetscCall(AllowTF32(machine, PETSC_TRUE));
  s.A = M[0];
  s.C = M[2];
  PetscCall((*ProductOperations.begin)(&s, M[1]));
  machine->tensor = 0;
  for (PetscInt k = 0; k < REPEATS; k++) {
    PetscReal seconds;

    PetscCall(TimeOnce(&s, M[1], ProductOperations.numeric, &seconds));
    machine->tensor = PetscMax(machine->tensor, 2 * (PetscReal)n * n * n / seconds);
  }
  PetscCall((*ProductOperations.end)(&s, M[1]));
  PetscCall(AllowTF32(machine, PETSC_FALSE));
  for (int k = 2; k >= 0; k--) {
    PetscCall(MatDestroy(&M[k]));
    PetscCall(OperandDestroy(&o[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DescribeDevice(Machine *machine)
{
  PetscFunctionBegin;
  machine->cc = machine->multiprocessors = 0;
  machine->memory                        = 0;
#if PetscDefined(HAVE_CUDA)
  if (machine->device) {
    int device, major, minor, multiprocessors, kilohertz, bits;

    PetscCallCUDA(cudaGetDevice(&device));
    PetscCallCUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    PetscCallCUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    PetscCallCUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    PetscCallCUDA(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device));
    PetscCallCUDA(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, device));
    machine->cc              = 10 * major + minor;
    machine->multiprocessors = multiprocessors;
    machine->memory          = 2e3 * (PetscReal)kilohertz * bits / 8; /* two transfers a cycle */
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MachineCreate(Machine *machine)
{
  PetscInt  n;
  PetscReal seconds;

  PetscFunctionBegin;
  PetscCall(ExampleMachineMat(&machine->A));
  PetscCall(ExampleMatOnDevice(machine->A, &machine->device));
  PetscCall(ExampleMachine(machine->A, machine->name, sizeof(machine->name)));
  PetscCall(ExampleCUDAVersion(machine->A, machine->cuda, sizeof(machine->cuda)));
  PetscCall(DescribeDevice(machine));
  n = machine->device ? 1 << 27 : 1 << 20; /* far beyond the caches of a GPU; on the host any number will do */
  PetscCall(CopySeconds(machine, n, &seconds));
  machine->copy = 2 * (PetscReal)n * sizeof(PetscScalar) / seconds;
  PetscCall(CopySeconds(machine, 1, &machine->launch));
  PetscCall(MeasureTensor(machine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MachineDestroy(Machine *machine)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&machine->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Flops of the tensor cores. With bricks of 8 rows an instruction takes 16 columns of B, with 16 rows it takes 8. Full
   single precision takes three products in TF32.
*/
PetscErrorCode LimitOf(const Machine *machine, const Subject *s, const GenerateCSR *csr, const Operations *operations, PetscInt N, Limit *limit)
{
  const PetscReal nnz = (PetscReal)csr->i[csr->m];
  PetscBool       bricks, fused;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(s->path, MatAIJTCUPaths[MAT_AIJTCU_PATH_TCU], &bricks));
  PetscCall(PetscStrcmp(s->path, "fused", &fused));
  limit->flops = 0;
  limit->bytes = nnz * (sizeof(PetscScalar) + sizeof(PetscInt)) + ((PetscReal)csr->m + 1) * sizeof(PetscInt);
  if ((bricks || fused) && s->synergy.built && s->synergy.fill > 0) {
    const PetscReal slots   = nnz / s->synergy.fill;
    const PetscInt  columns = slots > 48 * (PetscReal)s->synergy.bricks ? 8 : 16; /* of 32 or 64 slots */

    limit->bytes = (PetscReal)s->synergy.hrpb_bytes;
    limit->flops = 2 * operations->terms * slots * (PetscReal)((N + columns - 1) / columns * columns);
    if (PetscDefined(USE_REAL_SINGLE) && s->variant->precision == MAT_AIJTCU_PRECISION_FULL) limit->flops *= 3;
  }
  if (!operations->values) limit->bytes -= nnz * sizeof(PetscScalar);
  limit->bytes += (PetscReal)N * ((PetscReal)csr->m * operations->left + (PetscReal)csr->n * operations->right) * sizeof(PetscScalar);
  limit->seconds = PetscMax(limit->bytes / machine->copy, limit->flops / machine->tensor);
  PetscFunctionReturn(PETSC_SUCCESS);
}
