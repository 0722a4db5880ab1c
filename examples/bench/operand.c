#include "operand.h"

/* The largest number in a list of numbers of columns */
PetscErrorCode OperandMostColumns(PetscInt n, const PetscInt N[], PetscInt *most)
{
  PetscFunctionBegin;
  *most = 0;
  for (PetscInt k = 0; k < n; k++) *most = PetscMax(*most, N[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for rows x N scalars at least */
PetscErrorCode OperandReserve(Operand *o, PetscInt rows, PetscInt N)
{
  const PetscCount need = (PetscCount)rows * N;
  PetscInt         n    = -1, size;
  PetscScalar     *x;

  PetscFunctionBegin;
  if (o->all) PetscCall(VecGetSize(o->all, &n));
  if (n >= need) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(need <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " rows and %" PetscInt_FMT " columns are more numbers than this PETSc's integers can count: choose fewer columns with -N", rows, N);
  size = (PetscInt)need;
  PetscCall(VecDestroy(&o->all));
  PetscCall(VecCreate(PETSC_COMM_SELF, &o->all));
  PetscCall(VecSetSizes(o->all, size, size));
  PetscCall(VecSetType(o->all, o->type));
  PetscCall(VecSet(o->all, 0));
  if (!o->filled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayWrite(o->all, &x));
  for (PetscInt k = 0; k < size; k++) x[k] = OperandEntry(o->which, k);
  PetscCall(VecRestoreArrayWrite(o->all, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The first rows x N scalars of the memory as a dense matrix. Its entry (i, j) is number i + j rows. The operand keeps
   the memory.
*/
PetscErrorCode OperandCreateMat(const Operand *o, PetscInt rows, PetscInt N, Mat *M)
{
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(VecGetArrayAndMemType(o->all, &x, NULL));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, o->type, rows, N, rows, N, rows, x, M));
  PetscCall(VecRestoreArrayAndMemType(o->all, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OperandDestroy(Operand *o)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&o->all));
  PetscFunctionReturn(PETSC_SUCCESS);
}
