/*
   PCMatApply() of PCFIELDSPLIT keeps a scatter for a number of columns

     MatDenseScatter_Private() composes the scatter of a block with that of a vector, and takes it again where the
     number of rows on the process times the number of columns is what it was. A process without rows takes it for
     every number of columns, while the others make a new one: they wait for ever. Where the leading dimension of the
     block is another one, the old scatter reads and writes beside its columns: wrong numbers, without a word.

       PCSetType(pc, PCFIELDSPLIT);
       MatCreateDense(comm, m, PETSC_DECIDE, M, 4, NULL, &X);  // m is 0 on a process
       PCMatApply(pc, X, Y);
       MatCreateDense(comm, m, PETSC_DECIDE, M, 2, NULL, &x);
       PCMatApply(pc, x, y);  // never ends

     What would help: the number of columns and the leading dimensions beside the scatter, and an agreement of all
     processes.

   Needed: 3.25, 3.26. Gone when: "PCMatApply() of PCFIELDSPLIT, another leading dimension" of upstream.c. Ours:
   splitblocks.c.

   Block solves of ours apply a preconditioner to blocks where PETSc's apply it to vectors, and narrow them when columns
   have converged. Where all processes have rows, and blocks no other leading dimension, PETSc's function is right.
   Elsewhere columns are taken one by one
*/
#include "upstream.h"

#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcimpl.h>

static PetscErrorCode (*AIJTCUSplitMatApply[2])(PC, Mat, Mat); /* PETSc's, the second for Schur complements */
static PetscErrorCode (*AIJTCUSplitCreate)(PC), (*AIJTCUSplitSetUp)(PC);

/* One scatter serves all blocks with as many columns: all processes have rows, and no block has gaps between columns */
static PetscErrorCode AIJTCUScatterFits(Mat X, Mat Y, PetscBool *fits)
{
  PetscMPIInt size;
  PetscInt    ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  *fits = (PetscBool)(X->rmap->n && ldx == X->rmap->n && ldy == Y->rmap->n);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)X), &size));
  if (size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, fits, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)X)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCopyColumn(Mat X, PetscInt j, Mat Y, PetscInt k)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(X, j, &x));
  PetscCall(MatDenseGetColumnVecWrite(Y, k, &y));
  PetscCall(VecCopy(x, y));
  PetscCall(MatDenseRestoreColumnVecWrite(Y, k, &y));
  PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One column at a time: no scatter is kept for blocks of one column. They are copied, because PETSc's products of other
   splits ask that the same process has the column as before
*/
static PetscErrorCode AIJTCUMatApplyColumns(PC pc, PetscErrorCode (*apply)(PC, Mat, Mat), Mat X, Mat Y)
{
  VecType type;
  Mat     x, y;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(X, &type));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)X), type, X->rmap->n, PETSC_DECIDE, X->rmap->N, 1, PETSC_DECIDE, NULL, &x));
  PetscCall(MatDuplicate(x, MAT_DO_NOT_COPY_VALUES, &y));
  for (PetscInt j = 0; j < X->cmap->N; j++) {
    PetscCall(AIJTCUCopyColumn(X, j, x, 0));
    PetscCall((*apply)(pc, x, y));
    PetscCall(AIJTCUCopyColumn(y, 0, Y, j));
  }
  PetscCall(MatDestroy(&x));
  PetscCall(MatDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCMatApply_FieldSplit_AIJTCU(PC pc, Mat X, Mat Y)
{
  PCCompositeType type;
  PetscBool       fits;

  PetscFunctionBegin;
  PetscCall(PCFieldSplitGetType(pc, &type));
  PetscCall(AIJTCUScatterFits(X, Y, &fits));
  if (fits) PetscCall((*AIJTCUSplitMatApply[type == PC_COMPOSITE_SCHUR])(pc, X, Y));
  else PetscCall(AIJTCUMatApplyColumns(pc, AIJTCUSplitMatApply[type == PC_COMPOSITE_SCHUR], X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_FieldSplit_AIJTCU(PC pc)
{
  PCCompositeType type;
  PetscBool       ours;

  PetscFunctionBegin;
  PetscCall((*AIJTCUSplitSetUp)(pc));
  PetscCall(AIJTCUPCHasOurs(pc, &ours));
  if (!ours || !pc->ops->matapply || pc->ops->matapply == PCMatApply_FieldSplit_AIJTCU) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFieldSplitGetType(pc, &type));
  AIJTCUSplitMatApply[type == PC_COMPOSITE_SCHUR] = pc->ops->matapply;
  pc->ops->matapply                               = PCMatApply_FieldSplit_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_FieldSplit_AIJTCU(PC pc)
{
  PetscFunctionBegin;
  PetscCall((*AIJTCUSplitCreate)(pc));
  AIJTCUSplitSetUp = pc->ops->setup;
  pc->ops->setup   = PCSetUp_FieldSplit_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* When the library is loaded */
PetscErrorCode AIJTCURegisterSplit(void)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_BLOCK
  PetscCall(PCInitializePackage());
  PetscCall(AIJTCUReplaceCreator(PCList, PCFIELDSPLIT, PCCreate_FieldSplit_AIJTCU, &AIJTCUSplitCreate));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
