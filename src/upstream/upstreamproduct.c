/*
   Workarounds for defects of PETSc in products, written as upstream.c says.
*/
#include "upstream.h"

/*
   MatProductNumeric() with a sparse A and a dense B uses what its symbolic phase kept of another A

     What the symbolic phase makes refers to A as it was then, and the numeric phase does not ask whether A has changed.
     Of a MATSEQAIJCUSPARSE: the descriptors of cuSPARSE, with pointers to A's columns on the device, and the product A
     P inside of P^T A P. On the host: the MATMAIJ inside of A^T B and A B^T, which has a reference to A, with A's
     sizes. A MATSEQAIJCUSPARSE that was converted to MATSEQAIJ and back in place has other arrays on the device, and
     cuSPARSE gets a descriptor that is NULL. Of a MATMPIAIJCUSPARSE, bound to the CPU or not, A^T B and A B^T keep a
     copy of A with the values of then (mat ex70, suffix 1_par_cuda_reuse, has it as a TODO). Of a MATMPIAIJ the buffers
     and MPI types of A B: after a change of the pattern wrong rows of B are sent, or there is an error on some
     processes while others wait.

       MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C);
       MatScale(A, 2);
       MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C);
       // C is as it was, if A is a MATMPIAIJCUSPARSE

     The data on the device of a MATSEQAIJCUSPARSE without entries stay as they are when its pattern changes, and are
     made anew with the next change of values, without the descriptor.

     What would help: the object state and the nonzero state of A in the product's data, and the symbolic phase again
     where they differ.

   Needed: 3.24 to 3.26. Gone when: "product of changed values" of upstream.c, 2 processes. Ours: product.c.

   The product C was set up when A was as `then` says, and A is as `now` says; stale says whether that has to be done
   again. parallel and device say what kind of matrix A is. The same answer on every process
*/
PetscErrorCode AIJTCUProductIsStale(Mat C, PetscBool parallel, PetscBool device, const AIJTCUOperandKey *then, const AIJTCUOperandKey *now, PetscBool *stale)
{
  const MatProductType type       = C->product->type;
  const PetscBool      bysymmetry = C->product->symbolic_used_the_fact_A_is_symmetric; /* then A^T B is A B */
  PetscBool            byvalues   = (PetscBool)(parallel && device && ((type == MATPRODUCT_AtB && !bysymmetry) || type == MATPRODUCT_ABt));
  PetscBool            bydense;

  PetscFunctionBegin;
  *stale = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &bydense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!bydense) PetscFunctionReturn(PETSC_SUCCESS);
  if (device && !parallel) { /* blocks are asked themselves */
    MatInfo info;

    PetscCall(MatGetInfo(C->product->A, MAT_LOCAL, &info));
    if (info.nz_used == 0) byvalues = PETSC_TRUE;
  }
  *stale = (PetscBool)(!AIJTCUPatternKeyEqual(&now->pattern, &then->pattern) || now->plan != then->plan);
  if (byvalues && now->values != then->values) *stale = PETSC_TRUE;
  if (parallel) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, stale, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)C)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The second MatProductNumeric() of a MATSEQAIJCUSPARSE with a C on the host writes through a pointer of the host on
   the device

     The symbolic phase makes a MATSEQDENSECUDA of a C of type MATSEQDENSE, and the first numeric phase makes it a
     MATSEQDENSE again when it is done. The next numeric phase forgets that: MatDenseGetArrayWriteAndMemType() gives it
     C's array on the host, which it hands to cuSPARSE.

       MatProductCreateWithMat(A, B, NULL, C);  // C is of type MATSEQDENSE, A of type MATSEQAIJCUSPARSE
       MatProductSetType(C, MATPRODUCT_AB); MatProductSetFromOptions(C); MatProductSymbolic(C);
       MatProductNumeric(C);
       MatProductNumeric(C);  // ends in an illegal access

     What would help: cisdense asked of C in the numeric phase, before its array is taken.

   Needed: 3.24 to 3.26. Gone when: nothing says it, for a failure is an illegal access, which ends the program: try the
   lines above. Ours: product.c.

   Here C is one of the device while numeric runs, and a C of the host gets back there
*/
PetscErrorCode AIJTCUProductWithDeviceC(Mat C, PetscErrorCode (*numeric)(Mat))
{
  PetscBool      bound, move = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(C->product->A, &bound));
  if (!bound) PetscCall(PetscObjectTypeCompare((PetscObject)C, MATSEQDENSE, &move));
  if (move) PetscCall(MatConvert(C, MATSEQDENSECUDA, MAT_INPLACE_MATRIX, &C));
  ierr = (*numeric)(C);
  if (move) PetscCall(MatConvert(C, MATSEQDENSE, MAT_INPLACE_MATRIX, &C)); /* nothing to do where PETSc has done so */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether C is of sparse matrices alone */
PetscErrorCode AIJTCUProductIsSparse(Mat C, PetscBool *is)
{
  const Mat operand[3] = {C->product->A, C->product->B, C->product->C};

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  for (int i = 0; i < 3 && *is; i++) {
    if (operand[i]) PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)operand[i], is, MATSEQAIJ, MATMPIAIJ, ""));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Products of matrices on a device keep the operands of their symbolic phase

     P^T A P, R A R^T and A B C of a MATSEQAIJCUSPARSE are made of two products (MatProductSymbolic_ABC_Basic()), and
     all of a MATMPIAIJCUSPARSE of several (MatProductSymbolic_MPIAIJBACKEND()). These have references to the operands
     of then. MatProductReplaceMats() does not reach them.

       MatProductCreate(A, P, NULL, &C); MatProductSetType(C, MATPRODUCT_PtAP); MatProductSetFromOptions(C);
       MatProductSymbolic(C); MatProductNumeric(C);
       MatProductReplaceMats(A2, NULL, NULL, C);
       MatProductNumeric(C);  // P^T A P, not P^T A2 P, if A is a MATSEQAIJCUSPARSE

     What would help: MatProductReplaceMats() on the products inside, in the numeric phase.

   Needed: 3.24 to 3.26. Gone when: nothing says it; try the lines above. Ours: sparseproduct.c, with a GPU.

   The values of C by another product, set up with the operands that C has now. They have the pattern of those before
*/
PetscErrorCode AIJTCUProductOfReplaced(Mat C)
{
  const Mat_Product *product = C->product;
  const char        *prefix;
  Mat                D;

  PetscFunctionBegin;
  PetscCall(MatProductCreate(product->A, product->B, product->C, &D));
  PetscCall(MatGetOptionsPrefix(C, &prefix));
  PetscCall(MatSetOptionsPrefix(D, prefix));
  PetscCall(MatProductSetType(D, product->type));
  PetscCall(MatProductSetAlgorithm(D, product->alg));
  PetscCall(MatProductSetFill(D, product->fill));
  D->product->api_user = product->api_user;
  PetscCall(MatProductSetFromOptions(D));
  PetscCall(MatProductSymbolic(D));
  PetscCall(MatProductNumeric(D));
  PetscCall(MatCopy(D, C, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A MATMAIJ of a matrix on a device is on the host, unless the matrix's type has the exact name of an aijcusparse

     There are no products of a MATMAIJ with a MATAIJCUSPARSE. So MatCreateMAIJ() makes a MATAIJ of it, by the exact
     name of the type. Of a type that is derived from MATAIJCUSPARSE, as the interpolation of a DMDA with several
     unknowns a point may be, it stays a MATMAIJ, and MatPtAP() with it is an error or is done on the host.

     What would help: PetscObjectBaseTypeCompareAny() in MatCreateMAIJ().

   Needed: 3.24 to 3.26. Gone when: nothing says it; read MatCreateMAIJ(). Ours: solvers.c (multigrid of a DMDA), with a
   GPU.

   P becomes a matrix of the type, if it is a MATMAIJ
*/
PetscErrorCode AIJTCUExpandMAIJ(Mat P, MatType type)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &is, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(P, MATAIJ, MAT_INPLACE_MATRIX, &P));
  PetscCall(MatConvert(P, type, MAT_INPLACE_MATRIX, &P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatSetUp() of a parallel dense matrix of the device allocates, and clears, as much memory of the host

     MatMPIDenseSetPreallocation_MPIDense() calls MatSeqDenseSetPreallocation() for its local matrix, which is a
     MATSEQDENSECUDA. That allocates on the host, by PetscCalloc1(), whatever the type is. Memory of the device comes
     when it is first asked for. With 258 MB it takes 0.1 s, in each symbolic phase of a product that makes its C.

       MatCreate(PETSC_COMM_WORLD, &C); MatSetSizes(C, m, PETSC_DECIDE, PETSC_DECIDE, N);
       MatSetType(C, MATMPIDENSECUDA);
       MatSetUp(C);  // the process has grown by m * N scalars

     What would help: MatSetUp() of the local matrix, where there is no array of the user.

   Needed: 3.26. Gone when: nothing says it; read MatMPIDenseSetPreallocation_MPIDense(). Ours: productmpi.c.
*/
PetscErrorCode AIJTCUSetUpDense(Mat C)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  {
    PetscBool device;

    PetscCall(PetscObjectTypeCompare((PetscObject)C, MATMPIDENSECUDA, &device));
    if (device && !C->preallocated) PetscCall(MatDenseCUDASetPreallocation(C, NULL));
  }
#endif
  PetscCall(MatSetUp(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
