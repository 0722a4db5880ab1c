#include "nodes.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>

PetscErrorCode EntriesCheck(int err)
{
  PetscFunctionBegin;
  PetscCallCUDA((cudaError_t)err);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Dense matrices are where A, the matrix of the graph, makes its products */
PetscErrorCode NodesSetUp(Mat A, Nodes *nodes)
{
  Vec          x;
  PetscScalar *a;
  PetscMemType mem;

  PetscFunctionBegin;
  nodes->comm = PetscObjectComm((PetscObject)A);
  PetscCall(MatGetVecType(A, &nodes->vtype));
  PetscCall(MatGetLocalSize(A, &nodes->n, NULL));
  PetscCall(MatGetSize(A, &nodes->N, NULL));
  PetscCall(MatGetOwnershipRange(A, &nodes->first, NULL));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecGetArrayWriteAndMemType(x, &a, &mem));
  PetscCall(VecRestoreArrayWriteAndMemType(x, &a));
  PetscCall(VecDestroy(&x));
  nodes->device = PetscMemTypeDevice(mem) ? PETSC_TRUE : PETSC_FALSE;
  nodes->stream = NULL;
#if PetscDefined(HAVE_CUDA)
  if (nodes->device) nodes->stream = PetscDefaultCudaStream;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BlockCreateOn(MPI_Comm comm, VecType vtype, PetscInt rows, PetscInt cols, Real *data, Block *b)
{
  PetscScalar *a;
  PetscMPIInt  size;
  PetscMemType mem;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatCreateDenseFromVecType(comm, vtype, rows, size == 1 ? cols : PETSC_DECIDE, PETSC_DETERMINE, cols, rows, (PetscScalar *)data, &b->mat));
  PetscCall(MatAssemblyBegin(b->mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(b->mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDenseGetLocalMatrix(b->mat, &b->local));
  PetscCall(MatDenseGetArrayWriteAndMemType(b->mat, &a, &mem));
  b->a    = (Real *)a;
  b->rows = rows;
  b->cols = cols;
  PetscCall(MatDenseRestoreArrayWriteAndMemType(b->mat, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* copies rows for each node, with the array data, or with one of its own where data is NULL */
PetscErrorCode BlockCreate(const Nodes *nodes, PetscInt copies, PetscInt cols, Real *data, Block *b)
{
  PetscFunctionBegin;
  PetscCall(BlockCreateOn(nodes->comm, nodes->vtype, copies * nodes->n, cols, data, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of this process alone */
PetscErrorCode BlockCreateLocal(const Nodes *nodes, PetscInt rows, PetscInt cols, Real *data, Block *b)
{
  PetscFunctionBegin;
  PetscCall(BlockCreateOn(PETSC_COMM_SELF, nodes->vtype, rows, cols, data, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries from an array of the host */
PetscErrorCode BlockSet(const Block *b, const Real entry[])
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayWrite(b->mat, &a));
  for (PetscInt i = 0; i < b->rows * b->cols; i++) a[i] = entry[i];
  PetscCall(MatDenseRestoreArrayWrite(b->mat, &a));
  PetscCall(MatDenseGetArrayAndMemType(b->mat, &a, NULL)); /* back to where b->a is */
  PetscCall(MatDenseRestoreArrayAndMemType(b->mat, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column of ones */
PetscErrorCode BlockOnes(const Nodes *nodes, PetscInt copies, Block *b)
{
  Real *ones;

  PetscFunctionBegin;
  PetscCall(BlockCreate(nodes, copies, 1, NULL, b));
  PetscCall(PetscMalloc1(b->rows, &ones));
  for (PetscInt i = 0; i < b->rows; i++) ones[i] = 1;
  PetscCall(BlockSet(b, ones));
  PetscCall(PetscFree(ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BlockDestroy(Block *b)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&b->mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ListCreate(const Nodes *nodes, size_t bytes, const void *from, Vec *x, void *array)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_SELF, x));
  PetscCall(VecSetSizes(*x, (PetscInt)((bytes + sizeof(*a) - 1) / sizeof(*a)), PETSC_DETERMINE));
  PetscCall(VecSetType(*x, nodes->vtype));
  PetscCall(VecSet(*x, 0));
  PetscCall(VecGetArrayAndMemType(*x, &a, NULL));
  *(void **)array = a;
  PetscCall(VecRestoreArrayAndMemType(*x, &a));
  if (!from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayWrite(*x, &a));
  PetscCall(PetscMemcpy(a, from, bytes));
  PetscCall(VecRestoreArrayWrite(*x, &a));
  PetscCall(ListBack(*x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ListBack(Vec x)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetArrayAndMemType(x, &a, NULL));
  PetscCall(VecRestoreArrayAndMemType(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries were perhaps changed through the array of a block, and are there. Or PETSc has made them elsewhere */
static PetscErrorCode Bring(Mat A, const PetscScalar **array)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayAndMemType(A, &a, NULL));
  *array = a;
  PetscCall(MatDenseRestoreArrayAndMemType(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parallel products of some types are made on the host. B is new to them, and C comes back to where its array is */
PetscErrorCode ProductRun(Mat C)
{
  Mat                B;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatProductGetMats(C, NULL, &B, NULL));
  PetscCall(Bring(B, &a));
  PetscCall(MatProductNumeric(C));
  PetscCall(Bring(C, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C keeps its array */
PetscErrorCode ProductCreate(Mat A, Mat B, MatProductType type, Mat C)
{
  const PetscScalar *before, *after;

  PetscFunctionBegin;
  PetscCall(Bring(C, &before));
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, type));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(ProductRun(C));
  PetscCall(Bring(C, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A product has given its result another array");
  PetscFunctionReturn(PETSC_SUCCESS);
}
