#include "limit.h"
#include "machine.h"

static PetscErrorCode CopySpeed(Machine *machine)
{
  const PetscInt n = machine->device ? 1 << 27 : 1 << 20; /* far beyond the caches of a GPU; on the host it only has to be some number */
  Vec            x, y;
  VecType        type;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(machine->A, &type));
  PetscCall(VecCreate(PETSC_COMM_SELF, &x));
  PetscCall(VecSetSizes(x, n, n));
  PetscCall(VecSetType(x, type));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 2));
  machine->copy = 0;
  for (PetscInt k = 0; k < 10; k++) {
    PetscLogDouble start, end;

    PetscCall(ExampleTime(machine->A, &start));
    PetscCall(VecCopy(x, y));
    PetscCall(ExampleTime(machine->A, &end));
    machine->copy = PetscMax(machine->copy, (PetscReal)(2.0 * n * sizeof(PetscScalar) / (end - start)));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MachineCreate(PetscReal tflops, Machine *machine)
{
  PetscFunctionBegin;
  PetscCall(ExampleMachineMat(&machine->A));
  PetscCall(ExampleMatOnDevice(machine->A, &machine->device));
  PetscCall(ExampleMachine(machine->A, machine->name, sizeof(machine->name)));
  PetscCall(ExampleCUDAVersion(machine->A, machine->cuda, sizeof(machine->cuda)));
  machine->tensor = tflops * (PetscReal)1e12;
  PetscCall(CopySpeed(machine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MachineDestroy(Machine *machine)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&machine->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With bricks of 8 rows an instruction takes 16 columns of B, with 16 rows it takes 8; single precision in full is three products in TF32 */
PetscErrorCode LimitOf(const Machine *machine, const Subject *s, const GenerateCSR *csr, PetscInt N, Limit *limit)
{
  const PetscReal nnz = (PetscReal)csr->i[csr->m];
  PetscBool       bricks;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(s->path, MatAIJTCUPaths[MAT_AIJTCU_PATH_TCU], &bricks));
  limit->flops = 0;
  limit->bytes = nnz * (sizeof(PetscScalar) + sizeof(PetscInt)) + ((PetscReal)csr->m + 1) * sizeof(PetscInt);
  if (bricks && s->synergy.built && s->synergy.fill > 0) {
    const PetscReal slots   = nnz / s->synergy.fill;
    const PetscInt  columns = slots > 48 * (PetscReal)s->synergy.bricks ? 8 : 16; /* a brick has 4 x 8 slots or 4 x 16 */

    limit->bytes = (PetscReal)s->synergy.hrpb_bytes;
    limit->flops = 2 * slots * (PetscReal)((N + columns - 1) / columns * columns);
    if (PetscDefined(USE_REAL_SINGLE) && s->variant->precision == MAT_AIJTCU_PRECISION_FULL) limit->flops *= 3;
  }
  limit->bytes += (PetscReal)N * ((PetscReal)csr->m + (PetscReal)csr->n) * sizeof(PetscScalar);
  limit->seconds = PetscMax(limit->bytes / machine->copy, limit->flops / machine->tensor);
  PetscFunctionReturn(PETSC_SUCCESS);
}
