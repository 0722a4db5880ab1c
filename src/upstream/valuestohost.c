/*
   MatEliminateZeros(), MatStoreValues() and MatRetrieveValues() of a MATSEQAIJCUSPARSE use old values

     They read and write the array on the host, wherever the newest values are, and do not say that the host's have
     changed. After an operation on the device (MatScale(), MatSetValuesCOO()) zeros are looked for among old values,
     old values are stored, and what is retrieved is not seen by the device. Before 3.26 MatRetrieveValues() did not
     increase the object state either, of a matrix on the host as well.

       MatScale(A, 2);  // on the device
       MatStoreValues(A);
       MatScale(A, 3);
       MatRetrieveValues(A);
       MatMult(A, x, y);  // is not 2 A x

     What would help: MatSeqAIJGetArrayRead() and MatSeqAIJGetArray() in place of a->a.

   Needed: 3.24 to 3.26. Gone when: "MatEliminateZeros()" and "MatStoreValues()" of upstream.c. Ours: type.c,
   "MatEliminateZeros()" and "MatStoreValues() and MatRetrieveValues()".

   MatTranspose() with MAT_REUSE_MATRIX leaves old values on the device

     MatTranspose_SeqAIJ() fills a transpose that there is already on the host, through a->a, and does not say so. One
     of type MATSEQAIJCUSPARSE that has been multiplied keeps its old values on the device. MatTranspose_MPIAIJ() fills
     the diagonal block in this way.

       MatTranspose(A, MAT_INITIAL_MATRIX, &T);
       MatMult(T, x, y);
       MatScale(A, 2);
       MatTranspose(A, MAT_REUSE_MATRIX, &T);
       MatMult(T, x, z);  // gives z = y

     What would help: MatSeqAIJGetArrayWrite() in place of a->a.

   Needed: 3.24 to 3.26. Gone when: "MatTranspose()" of upstream.c. Ours: sparseproduct.c.

   MatBindToCPU(A, PETSC_FALSE) leaves the device with the values and the pattern of before

     While a MATSEQAIJCUSPARSE is bound to the host its operations are those of MATSEQAIJ, which do not say that the
     host's values have changed. After a product on the device these were known to be on both.

       MatMult(A, x, y);
       MatBindToCPU(A, PETSC_TRUE);
       MatScale(A, 2);
       MatBindToCPU(A, PETSC_FALSE);
       MatMult(A, x, z);  // gives z = y

     What would help: offloadmask = PETSC_OFFLOAD_CPU in MatBindToCPU_SeqAIJCUSPARSE() where a matrix is freed.

   Needed: 3.24 to 3.26. Gone when: "MatBindToCPU()" of upstream.c. Ours: type.c, "freed from the CPU", and sequences.c.

   MATCOARSENHEM uses old values of a graph on a device

     It reads a->a of a MATSEQAIJCUSPARSE, and of the blocks of a MATMPIAIJCUSPARSE. The newest values are on the device
     if MatCreateGraph() has scaled the graph there.

       MatCreateGraph(A, PETSC_TRUE, PETSC_TRUE, -1, 0, NULL, &G);
       MatCoarsenSetAdjacency(coarsen, G);
       MatCoarsenApply(coarsen);  // is that of the graph without scales

     What would help: MatSeqAIJGetArrayRead() in place of a->a.

   Needed: 3.26. Gone when: nothing says it; read MatCoarsenApply_HEM_private(). Ours: gamggraph.c, with
   -mat_coarsen_type hem.

   MatIsHermitian() and MatIsHermitianTranspose() look at old values of a MATSEQAIJCUSPARSE

     MatIsHermitianTranspose_SeqAIJ() reads a->a, while MatIsTranspose_SeqAIJ() takes the newest values.

       MatMult(A, x, y);
       MatMult(B, x, y);                          // of the same pattern, not symmetric
       MatAXPY(A, 1, B, SAME_NONZERO_PATTERN);    // on the device
       MatIsHermitian(A, 0, &is);                 // is that of A before

     What would help: MatSeqAIJGetArrayRead() in place of a->a.

   Needed: 3.24 to 3.26. Gone when: "MatIsHermitian()" of upstream.c. Ours: type.c, with a GPU.

   MatIsHermitianTranspose() of two different matrices stays as it is: PETSc asks both for the same function, and one of
   them may be a MATSEQAIJ.

   Here the newest values of an assembled matrix come to the host. If they are to be written there they count as
   changed, and the device takes them again. For a transpose this comes before it is filled
*/
#include "upstream.h"

PetscErrorCode AIJTCUValuesToHost(Mat A, PetscBool write)
{
  Mat blocks[2];

  PetscFunctionBegin;
  if (!A->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCULocalBlocks(A, blocks, NULL));
  for (int i = 0; i < 2; i++) {
    const PetscScalar *read;
    PetscScalar       *written;

    if (!blocks[i]) continue;
    if (write) {
      PetscCall(MatSeqAIJGetArray(blocks[i], &written));
      PetscCall(MatSeqAIJRestoreArray(blocks[i], &written));
    } else {
      PetscCall(MatSeqAIJGetArrayRead(blocks[i], &read));
      PetscCall(MatSeqAIJRestoreArrayRead(blocks[i], &read));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
