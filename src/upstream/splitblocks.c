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
static PetscErrorCode (*AIJTCUIsOurs)(Mat, PetscBool *);
static PetscErrorCode (*AIJTCUSplitCreate)(PC), (*AIJTCUSplitSetUp)(PC);

/* One scatter serves all blocks with as many columns: all processes have rows, and no block has gaps between columns */
static PetscErrorCode AIJTCUScatterFits(Mat X, Mat Y, PetscBool *fits)
{
  const PetscInt *range;
  PetscMPIInt     size;
  PetscInt        ldx, ldy;
  PetscBool       gaps;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)X), &size));
  PetscCall(MatGetOwnershipRanges(X, &range));
  *fits = PETSC_TRUE;
  for (PetscMPIInt p = 0; p < size; p++) {
    if (range[p] == range[p + 1]) *fits = PETSC_FALSE;
  }
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  gaps = (PetscBool)(ldx != X->rmap->n || ldy != Y->rmap->n);
  if (size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &gaps, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)X)));
  *fits = (PetscBool)!gaps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column at a time: no scatter is kept for blocks of one column */
static PetscErrorCode AIJTCUMatApplyColumns(PC pc, PetscErrorCode (*apply)(PC, Mat, Mat), Mat X, Mat Y)
{
  Mat x, y;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < X->cmap->N; j++) {
    PetscCall(MatDenseGetSubMatrix(X, PETSC_DECIDE, PETSC_DECIDE, j, j + 1, &x));
    PetscCall(MatDenseGetSubMatrix(Y, PETSC_DECIDE, PETSC_DECIDE, j, j + 1, &y));
    PetscCall((*apply)(pc, x, y));
    PetscCall(MatDenseRestoreSubMatrix(Y, &y));
    PetscCall(MatDenseRestoreSubMatrix(X, &x));
  }
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
  PetscCall((*AIJTCUIsOurs)(pc->pmat, &ours));
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

/* When the library is loaded. is_ours tells our matrices */
PetscErrorCode AIJTCURegisterSplit(PetscErrorCode (*is_ours)(Mat, PetscBool *))
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_BLOCK
  AIJTCUIsOurs = is_ours;
  PetscCall(PCInitializePackage());
  PetscCall(AIJTCUReplaceCreator(PCList, PCFIELDSPLIT, PCCreate_FieldSplit_AIJTCU, &AIJTCUSplitCreate));
#else
  (void)is_ours;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
