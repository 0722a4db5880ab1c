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

     A product that a MATSEQAIJCUSPARSE has set up is an error after MatBindToCPU(), "Cannot bind to CPU a CUSPARSE
     matrix between MatProductSymbolic and MatProductNumeric phases".

     What would help: the object state and the nonzero state of A in the product's data, and the symbolic phase again
     where they differ.

   Needed: 3.24 to 3.26. Gone when: "product of changed values" of upstream.c, 2 processes. Ours: product.c.

   The product C was set up when A was as `then` says, and A is as `now` says; stale says whether that has to be done
   again. parallel and device say what kind of matrix A is. The same answer on every process
*/
#include "upstream.h"

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
  *stale = (PetscBool)(!AIJTCUPatternKeyEqual(&now->pattern, &then->pattern) || now->plan != then->plan || now->bound != then->bound);
  if (byvalues && now->values != then->values) *stale = PETSC_TRUE;
  if (parallel) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, stale, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)C)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
