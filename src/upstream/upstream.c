/*
   Workarounds for defects of PETSc in matrices. upstreamproduct.c has those in products. Nothing here knows of plans.

   Each piece begins with a text that can be sent to PETSc as it is: a title, what is wrong, and a few lines of code
   that show it. "Needed" names the versions that need the workaround. "Gone when" names the test that tells when a
   PETSc does not need it any more. test/aijtcu/tests/upstream.c asks PETSc's own types, without ours, and prints what
   has been repaired. "Ours" names the tests that show that our type is right.

   With a new version of PETSc: run that test, delete what it prints here and there, and run the others.
*/
#include "upstream.h"
#include <petsc/private/kspimpl.h>
#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>
#endif

/*
   MatHeaderMerge() calls a matrix's destroy function without the matrix's name and what is composed with it

     MatHeaderMerge(A, &C) sets A's type name and its lists of composed objects and functions to NULL, then calls
     A->ops->destroy. A type that is derived from another one outside of PETSc keeps its data in a composed container.
     Its destroy function cannot find them then, nor the destroy function of the parent type, and cannot tell from what
     PETSc passes that A will get all of it back.

       MatSetType(A, MATSEQAIJ);
       original = A->ops->destroy; A->ops->destroy = MyDestroy;
       PetscObjectCompose(A, "MyData", data);
       MatAXPY(A, 1, B, DIFFERENT_NONZERO_PATTERN);
       // calls MyDestroy(A), where PetscObjectQuery(A, "MyData", &data) gives NULL

     What would help: keep the lists while destroy runs, or an operation that exchanges the data of two matrices of a
     type.

   Needed: 3.24 to 3.26. Gone when: "MatHeaderMerge()" of upstream.c. Ours: identity.c.

   The parent's function is kept in the table of operations, which MatHeaderMerge() leaves as it is: in the slot
   `create`, which no matrix type of PETSc sets or calls. A function that a program has put before ours, and that calls
   ours, stays in front
*/
PetscErrorCode (*AIJTCUKeptDestroy(Mat A))(Mat)
{
  return A->ops->create;
}

void AIJTCUKeepDestroy(Mat A, PetscErrorCode (*own)(Mat))
{
  if (A->ops->destroy == own || (A->ops->create && A->ops->destroy != A->ops->create)) return;
  A->ops->create  = A->ops->destroy;
  A->ops->destroy = own;
}

void AIJTCUGiveDestroyBack(Mat A, PetscErrorCode (*own)(Mat))
{
  if (A->ops->destroy != own) return;
  A->ops->destroy = A->ops->create;
  A->ops->create  = NULL;
}

/*
   MATAIJCUSPARSE takes vectors of the host for vectors of the device

     MatMult() and its kin, MatGetDiagonal(), MatDiagonalScale() and MatSolve() of a MATAIJCUSPARSE do not ask what type
     their vectors are, nor does MatSOR() in parallel, which multiplies with the off-diagonal block. With vectors of
     type VECSEQ or VECMPI the result is computed on the device and stays there: the program reads the vector's old
     entries.

       MatCreateSeqAIJCUSPARSE(..., &A);
       VecCreateSeq(PETSC_COMM_SELF, n, &x); VecDuplicate(x, &y); VecSet(x, 1);
       MatMult(A, x, y);
       VecView(y, viewer);  // is not A x

     What would help: an error, or copies. A program gets here by -mat_type aijcusparse alone.

   Needed: 3.24 to 3.26. Gone when: "MatMult() with vectors of the host" of upstream.c. Ours: type.c.
*/
enum {
  MAX_VECS = 3
};

/* u is v. Or a vector on the device, where A works there and v is a vector of the host */
static PetscErrorCode AIJTCUVecOnDevice(Mat A, Vec v, Vec *u)
{
  PetscBool host, bound;

  PetscFunctionBegin;
  *u = v;
  PetscCall(MatBoundToCPU(A, &bound));
  if (!v || bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &host, VECSEQ, VECMPI, ""));
  if (!host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "aijtcu: vector of the host copied to the device and back: use vectors of the matrix's kind (MatCreateVecs(), -vec_type cuda)\n"));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), u));
  PetscCall(VecSetLayout(*u, v->map));
  PetscCall(VecSetType(*u, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCallOnDevice(Mat A, PetscInt nread, PetscInt n, const Vec v[], Vec u[], PetscErrorCode (*f)(Mat, const Vec[]))
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(AIJTCUVecOnDevice(A, v[i], &u[i]));
    if (i < nread && u[i] != v[i]) PetscCall(VecCopy(v[i], u[i]));
  }
  PetscCall((*f)(A, u));
  for (PetscInt i = nread; i < n; i++) {
    if (u[i] != v[i]) PetscCall(VecCopy(u[i], v[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Call a function of A with n vectors. The first nread of them are read, the others written */
PetscErrorCode AIJTCUCallWithVecs(Mat A, PetscInt nread, PetscInt n, const Vec v[], PetscErrorCode (*f)(Mat, const Vec[]))
{
  Vec            u[MAX_VECS] = {NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUCallOnDevice(A, nread, n, v, u, f);
  for (PetscInt i = 0; i < n; i++) { /* all of them, even after an error */
    const PetscErrorCode destroyed = u[i] == v[i] ? PETSC_SUCCESS : VecDestroy(&u[i]);

    if (!ierr) ierr = destroyed;
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatMultHermitianTranspose() of a MATSEQAIJCUSPARSE fails in real arithmetic

     cuSPARSE takes CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE for complex numbers only.

       MatMultHermitianTransposeAdd(A, x, y, y);  // CUSPARSE_STATUS_INVALID_VALUE

     What would help: CUSPARSE_OPERATION_TRANSPOSE unless PETSC_USE_COMPLEX.

   Needed: 3.24 to 3.26. Gone when these lines work: cuSPARSE prints its error, so no test asks. Ours: mult.c, where
   HERMITIAN_OP is.

   MatMultTransposeAdd() of a MATSEQAIJCUSPARSE adds what the result held, too

     z = y + A^T x is made as z = A^T x + 1 z, where z has not been given a value yet, and y is added then.

       MatCreateVecs(A, &y, &x); VecDuplicate(y, &z); VecSet(z, 1);
       MatMultTransposeAdd(A, x, y, z);  // is y + A^T x + 1

     What would help: beta is one for y == z alone, as it is without a transpose.

   Needed: 3.24 to 3.26. Gone when: "MatMultTransposeAdd()" of upstream.c. Ours: mult.c.

   f is the parent's function: y + A^T x in place is right
*/
PetscErrorCode AIJTCUMultTransposeAddInPlace(Mat A, PetscErrorCode (*f)(Mat, Vec, Vec, Vec), Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall((*f)(A, x, z, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

   Here the newest values of an assembled matrix come to the host. If they are to be written there they count as
   changed, and the device takes them again. For a transpose this comes before it is filled
*/
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

#if PetscDefined(HAVE_CUDA)
/*
   MatZeroEntries() of a MATSEQAIJCUSPARSE makes the values on the device the newest, whatever pattern they have there

     After a product the device has values. If nonzeros are added then, on the host, MatZeroEntries() clears the values
     on the device, which are too few, and says that they are the newest. What needs them on the host next copies as
     many as there are now.

       MatMult(A, x, y);
       MatSetValue(A, i, j, 1, ADD_VALUES);  // a new nonzero
       MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY); MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
       MatZeroEntries(A);
       MatSetValue(A, i, j, 1, ADD_VALUES);  // cudaMemcpy(): invalid argument

     What would help: the values on the host cleared where these are the newest. They are written next, as a rule.

   Needed: 3.24 to 3.26. Gone when: "MatZeroEntries()" of upstream.c. Ours: type.c, "MatZeroEntries() after new
   nonzeros".

   done says whether the entries of A are zero. Those of a parallel A are always cleared here, block by block
*/
PetscErrorCode AIJTCUZeroOnHost(Mat A, PetscBool *done)
{
  Mat blocks[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, blocks, NULL));
  *done = (PetscBool)(blocks[0] != A || A->offloadmask == PETSC_OFFLOAD_CPU);
  for (int i = 0; i < 2 && *done; i++) {
    PetscScalar    *values;
    const PetscInt *rowptr, *colidx;
    PetscInt        n;
    PetscBool       have;

    if (blocks[i] && blocks[i]->offloadmask != PETSC_OFFLOAD_CPU) PetscCall(MatZeroEntries(blocks[i]));
    else if (blocks[i]) {
      /* Before its last assembly a matrix has gaps between rows, so it is not the number of nonzeros that counts */
      PetscCall(MatGetRowIJ(blocks[i], 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
      PetscCheck(have, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row pointers");
      PetscCall(MatSeqAIJGetArrayWrite(blocks[i], &values));
      PetscCall(PetscArrayzero(values, (size_t)rowptr[n]));
      PetscCall(MatSeqAIJRestoreArrayWrite(blocks[i], &values));
      PetscCall(MatRestoreRowIJ(blocks[i], 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
      PetscCall(PetscObjectStateIncrease((PetscObject)blocks[i]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   A MATSEQAIJCUSPARSE cannot be destroyed after MatILUFactor()

     MatILUFactor_SeqAIJ() writes the factor over the matrix on the host and sets factortype; type and spptr stay those
     of a matrix on the device. MatDestroy() then takes what is on the device for triangular factors, and frees it as
     these.

       MatCreateSeqAIJCUSPARSE(..., &A); ...
       MatILUFactor(A, rows, rows, &info);
       MatDestroy(&A);  // ends in an error or a crash

     What would help: ILU in place only for exactly MATSEQAIJ, or a conversion first.

   Needed: 3.24 to 3.26. Gone when: nothing says it, for a failure is a crash: try the lines above. Ours: "ilu in place"
   of faults.c.

   Here the matrix becomes a seqaij. Not for what PETSc refuses anyway
*/
PetscErrorCode AIJTCUILUFactorInPlace(Mat A, IS r, IS c, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INPLACE_MATRIX, &A));
  PetscUseTypeMethod(A, ilufactor, r, c, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatCreateSubMatrices() with MAT_REUSE_MATRIX leaves old values on the device

     For a parallel matrix it fills sequential submatrices that there are already on the host, through a->a, and does
     not say so. A submatrix of type MATSEQAIJCUSPARSE that has been multiplied keeps its old values on the device.

       MatCreateSubMatrices(A, 1, &is, &is, MAT_INITIAL_MATRIX, &sub);
       MatMult(sub[0], x, y);
       MatScale(A, 2);
       MatCreateSubMatrices(A, 1, &is, &is, MAT_REUSE_MATRIX, &sub);
       MatMult(sub[0], x, z);  // gives z = y

     What would help: offloadmask and the object state set where the values are filled in.

   Needed: 3.24 to 3.26. Gone when: "MatCreateSubMatrices()" of upstream.c, 2 processes. Ours: solvers.c (PCASM,
   PCGASM).
*/
PetscErrorCode AIJTCUSubMatricesFilled(PetscInt n, Mat B[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscBool sequential;

    PetscCall(PetscObjectBaseTypeCompare((PetscObject)B[i], MATSEQAIJ, &sequential));
    if (!sequential) continue;
#if PetscDefined(HAVE_DEVICE)
    B[i]->offloadmask = PETSC_OFFLOAD_CPU;
#endif
    PetscCall(PetscObjectStateIncrease((PetscObject)B[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatPermute() of a MATMPIAIJCUSPARSE is a MATMPIAIJ, and MatCreateSubMatrix() is not of a derived type

     MatPermute_MPIAIJ() makes its result with MatCreateAIJ(), on the host even for an A on a device. Where rows stay on
     their processes, MatCreateSubMatrix() of a parallel matrix takes the type of the result from that of the blocks.
     For a type that is derived from MATMPIAIJCUSPARSE the result is of the parent type.

       MatPermute(A, rows, cols, &P);
       MatGetType(P, &type);  // gives mpiaij for an A of type mpiaijcusparse

     What would help: MatSetType(*B, ((PetscObject)A)->type_name) in both.

   Needed: 3.24 to 3.26. Gone when: "MatPermute()" of upstream.c, 2 processes. Ours: type.c, "MatPermute()" and
   "MatCreateSubMatrix()".

   Here a new parallel matrix gets the type of A, or is destroyed
*/
PetscErrorCode AIJTCUConvertNew(Mat A, Mat *B)
{
  const char    *type = ((PetscObject)A)->type_name;
  PetscBool      same;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscObjectTypeCompare((PetscObject)*B, type, &same);
  if (!ierr && !same) ierr = MatConvert(*B, type, MAT_INPLACE_MATRIX, B);
  if (ierr) PetscCall(MatDestroy(B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   PCPBJACOBI and PCVPBJACOBI go to the device by the exact name of a matrix's type

     They compare the type of the matrix, and of what MatGetBlockDiagonal() gives, with MATSEQAIJCUSPARSE and
     MATMPIAIJCUSPARSE. A matrix of a type that is derived from these is preconditioned on the host, with vectors copied
     both ways in each iteration.

     What would help: PetscObjectBaseTypeCompareAny(), or a look at the matrix's vector type.

   Needed: 3.24 to 3.26. Gone when: nothing says it; read PCSetUp_PBJacobi() and PCSetUp_VPBJacobi(). Ours: "pbjacobi"
   and "vpbjacobi" of solvers.c, which are right on the host as well.

   Here are the rows of the diagonal blocks as CSR. at is workspace for row numbers
*/
static PetscErrorCode AIJTCUGetBlocksCSR(Mat local, PetscInt nblocks, const PetscInt sizes[], PetscInt bs, PetscInt at[], PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt first = 0;

  PetscFunctionBegin;
  i[0] = 0;
  for (PetscInt b = 0; b < nblocks; b++) {
    const PetscInt size = sizes ? sizes[b] : bs;

    for (PetscInt row = first; row < first + size; row++) {
      at[row]    = row;
      i[row + 1] = i[row] + size;
      for (PetscInt k = 0; k < size; k++) j[i[row] + k] = first + k;
    }
    PetscCall(MatGetValues(local, size, at + first, size, at + first, v + i[first]));
    first += size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetBlocksCSR(Mat D, PetscInt bs, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscFunctionBegin;
  PetscCall(MatSetType(D, MATSEQAIJ));
  PetscCall(MatSetBlockSize(D, bs));
  PetscCall(MatSeqAIJSetPreallocationCSR(D, i, j, v));
  PetscCall(MatConvert(D, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The diagonal blocks as a matrix of type MATSEQAIJCUSPARSE on this process. They have sizes[] rows, or bs rows each.
   The caller inverts it on the host, as it does for an aijcusparse.
*/
static PetscErrorCode AIJTCUGetDiagonalBlocks(Mat A, PetscInt nblocks, const PetscInt sizes[], PetscInt bs, Mat *D)
{
  Mat            local;
  PetscInt       n, rows = 0, nnz = 0, *at, *i, *j;
  PetscScalar   *v;
  PetscErrorCode ierr, freed;

  PetscFunctionBegin;
  *D = NULL;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetDiagonalBlock(A, &local));
  for (PetscInt b = 0; b < nblocks; b++) {
    const PetscInt size = sizes ? sizes[b] : bs;

    rows += size;
    nnz += size * size;
  }
  PetscCheck(rows == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The diagonal blocks have %" PetscInt_FMT " rows, and the matrix %" PetscInt_FMT " on this process", rows, n);
  PetscCall(PetscMalloc4(n, &at, n + 1, &i, nnz, &j, nnz, &v));
  ierr = AIJTCUGetBlocksCSR(local, nblocks, sizes, bs, at, i, j, v);
  if (!ierr) ierr = MatCreate(PETSC_COMM_SELF, D);
  if (!ierr) ierr = MatSetSizes(*D, n, n, n, n);
  if (!ierr) ierr = MatSetErrorIfFailure(*D, A->erroriffailure);
  if (!ierr) ierr = AIJTCUSetBlocksCSR(*D, bs, i, j, v);
  freed = PetscFree4(at, i, j, v);
  if (!ierr) ierr = freed;
  if (ierr) PetscCall(MatDestroy(D));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUGetBlockDiagonal(Mat A, Mat *D)
{
  PetscInt n, bs;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(AIJTCUGetDiagonalBlocks(A, n / bs, NULL, bs, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUGetVBlockDiagonal(Mat A, Mat *D)
{
  PetscInt        nblocks;
  const PetscInt *sizes;

  PetscFunctionBegin;
  PetscCall(MatGetVariableBlockSizes(A, &nblocks, &sizes));
  PetscCheck(!A->rmap->n || nblocks, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Must call MatSetVariableBlockSizes() before");
  PetscCall(AIJTCUGetDiagonalBlocks(A, nblocks, sizes, 1, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BLOCK
/*
   KSPCHEBYSHEV does not tell the bounds that it works with

     They come from KSPChebyshevSetEigenvalues(), from an estimate, or from PCGAMG, which writes them into the private
     struct. An implementation for blocks of vectors outside of PETSc needs them, and the factors of the fourth kind.

     What would help: KSPChebyshevGetEigenvalues().

   Needed: 3.26. Gone when: there is such a function. Ours: blocksolve.c.

   Here is a copy of the struct. Numbers that are set through PETSc's functions must be found in it
*/
typedef struct {
  PetscReal        emin, emax;
  PetscReal        emin_computed, emax_computed;
  PetscReal        emin_provided, emax_provided;
  PetscReal       *betas;
  PetscInt         num_betas_alloc;
  KSP              kspest;
  PetscReal        tform[4];
  PetscInt         eststeps;
  PetscBool        usenoisy;
  KSPChebyshevKind chebykind;
} AIJTCUChebyshevData;

/* Whether the copy is right for the PETSc that is loaded */
static PetscErrorCode AIJTCUChebyshevFits(KSP ksp, PetscBool *fits)
{
  const AIJTCUChebyshevData *data;
  KSP                        kspest;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, 3, 2));
  PetscCall(KSPChebyshevEstEigSet(ksp, 4, 5, 6, 7));
  PetscCall(KSPChebyshevEstEigGetKSP(ksp, &kspest));
  PetscCall(KSPChebyshevSetKind(ksp, KSP_CHEBYSHEV_OPT_FOURTH));
  data  = (const AIJTCUChebyshevData *)ksp->data;
  *fits = (PetscBool)(data->emin == 2 && data->emax == 3 && data->kspest == kspest && data->chebykind == KSP_CHEBYSHEV_OPT_FOURTH);
  for (int i = 0; i < 4; i++) *fits = (PetscBool)(*fits && data->tform[i] == 4 + i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a KSP of type chebyshev that is set up works with: KSPChebyshevGetEigenvalues_Chebyshev() */
PetscErrorCode AIJTCUChebyshevGet(KSP ksp, AIJTCUChebyshev *c, PetscBool *known)
{
  const AIJTCUChebyshevData *data = (const AIJTCUChebyshevData *)ksp->data;
  static PetscBool           asked, fits;

  PetscFunctionBegin;
  if (!asked) {
    PetscErrorCode ierr, destroyed;
    KSP            trial;

    PetscCall(KSPCreate(PETSC_COMM_SELF, &trial));
    ierr      = AIJTCUChebyshevFits(trial, &fits);
    destroyed = KSPDestroy(&trial);
    PetscCall(ierr);
    PetscCall(destroyed);
    asked = PETSC_TRUE;
  }
  *known = fits;
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  c->emin  = data->emin;
  c->emax  = data->emax;
  c->kind  = data->chebykind;
  c->betas = data->betas;
  if (c->emax == 0) {
    if (data->emax_computed != 0) c->emax = data->tform[2] * data->emin_computed + data->tform[3] * data->emax_computed;
    else if (data->emax_provided != 0) c->emax = data->tform[2] * data->emin_provided + data->tform[3] * data->emax_provided;
  }
  if (c->emin == 0) {
    if (data->emin_computed != 0) c->emin = data->tform[0] * data->emin_computed + data->tform[1] * data->emax_computed;
    else if (data->emin_provided != 0) c->emin = data->tform[0] * data->emin_provided + data->tform[1] * data->emax_provided;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
/*
   Factors of MATSOLVERCUSPARSE solve with one vector at a time

     MatSolve_SeqAIJCUSPARSE_LU() and its kin call cusparseSpSV_solve(), and ops->matsolve is NULL. MatMatSolve() and
     PCMatApply() of PCLU, PCILU, PCCHOLESKY, PCICC and PCBJACOBI go column by column then, in which a triangular solve
     waits for the rows before it again for each column.

     What would help: ops->matsolve with cusparseSpSM_solve().

   Needed: 3.26. Gone when: MatHasOperation(F, MATOP_MAT_SOLVE, &has) says so for a factor of an aijcusparse. Ours:
   blocksolve.c.

   Here are the first members of the private struct, as PETSc has them. Small factors of numbers that are known must be
   found in it
*/
typedef struct {
  void                 *rperm, *cperm, *work, *handle;
  PetscInt              nnz;
  struct cudaDeviceProp prop;
  PetscBool             init_prop;
  PetscScalar          *values, *diagonal;
  int                  *rowptr32, *colidx32;
  PetscInt             *rowptr, *colidx;
} AIJTCUFactorData;

/* Whether n numbers on the device are these */
static PetscErrorCode AIJTCUFactorHas(const void *there, const void *here, size_t bytes, PetscBool *has)
{
  struct cudaPointerAttributes attributes;
  char                         buffer[64];

  PetscFunctionBegin;
  *has = PETSC_FALSE;
  if (!there || AIJTCUForgetError(cudaPointerGetAttributes(&attributes, there)) || attributes.type != cudaMemoryTypeDevice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpy(buffer, there, bytes, cudaMemcpyDeviceToHost));
  *has = (PetscBool)!memcmp(buffer, here, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the matrix 4 2, 2 5: LU of it lies in place, and U^T D U beside the inverse of D */
static PetscErrorCode AIJTCUFactorFits(Mat F, PetscBool *fits)
{
  const AIJTCUFactorData *data      = (const AIJTCUFactorData *)F->spptr;
  const int               rowptr[3] = {0, 2, 4}, colidx[4] = {0, 1, 0, 1};
  const PetscInt          upper_rowptr[3] = {0, 2, 3}, upper_colidx[3] = {0, 1, 1};
  const PetscScalar       values[4] = {4, 2, 0.5, 4}, upper[3] = {1, 0.5, 1}, diagonal[2] = {0.25, 0.25};
  PetscBool               has[4];

  PetscFunctionBegin;
  has[3] = PETSC_TRUE;
  if (F->factortype == MAT_FACTOR_ILU) {
    PetscCall(AIJTCUFactorHas(data->rowptr32, rowptr, sizeof(rowptr), &has[0]));
    PetscCall(AIJTCUFactorHas(data->colidx32, colidx, sizeof(colidx), &has[1]));
    PetscCall(AIJTCUFactorHas(data->values, values, sizeof(values), &has[2]));
  } else {
    PetscCall(AIJTCUFactorHas(data->rowptr, upper_rowptr, sizeof(upper_rowptr), &has[0]));
    PetscCall(AIJTCUFactorHas(data->colidx, upper_colidx, sizeof(upper_colidx), &has[1]));
    PetscCall(AIJTCUFactorHas(data->values, upper, sizeof(upper), &has[2]));
    PetscCall(AIJTCUFactorHas(data->diagonal, diagonal, sizeof(diagonal), &has[3]));
  }
  *fits = (PetscBool)(*fits && has[0] && has[1] && has[2] && has[3]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFactorTry(Mat A, MatFactorType type, Mat *F, IS rows, PetscBool *fits)
{
  MatFactorInfo info;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 1;
  PetscCall(MatGetFactor(A, MATSOLVERCUSPARSE, type, F));
  if (type == MAT_FACTOR_ILU) {
    PetscCall(MatILUFactorSymbolic(*F, A, rows, rows, &info));
    PetscCall(MatLUFactorNumeric(*F, A, &info));
  } else {
    PetscCall(MatCholeskyFactorSymbolic(*F, A, rows, &info));
    PetscCall(MatCholeskyFactorNumeric(*F, A, &info));
  }
  PetscCall(AIJTCUFactorFits(*F, fits));
  PetscCall(MatDestroy(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFactorsTry(PetscBool *fits)
{
  const PetscInt    i[2] = {0, 1};
  const PetscScalar v[4] = {4, 2, 2, 5};
  Mat               A, F;
  IS                rows;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJCUSPARSE(PETSC_COMM_SELF, 2, 2, 2, NULL, &A));
  PetscCall(MatSetValues(A, 2, i, 2, i, v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 2, 0, 1, &rows));
  PetscCall(ISSetPermutation(rows));
  *fits = PETSC_TRUE;
  PetscCall(AIJTCUFactorTry(A, MAT_FACTOR_ILU, &F, rows, fits));
  PetscCall(AIJTCUFactorTry(A, MAT_FACTOR_CHOLESKY, &F, rows, fits));
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is on the device of a factor of MATSOLVERCUSPARSE. known says whether all of it is there */
PetscErrorCode AIJTCUFactorGet(Mat F, AIJTCUTriangles *f, PetscBool *known)
{
  const AIJTCUFactorData *data = (const AIJTCUFactorData *)F->spptr;
  static PetscBool        asked, fits;

  PetscFunctionBegin;
  if (!asked) {
    PetscCall(AIJTCUFactorsTry(&fits));
    asked = PETSC_TRUE;
  }
  *known = fits;
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  *f = (AIJTCUTriangles){.kind = AIJTCU_FACTOR_LU, .values = data->values, .diagonal = data->diagonal, .permuted = (PetscBool)(data->rperm || data->cperm)};
  if (data->rowptr32) {
    f->rowptr     = data->rowptr32;
    f->colidx     = data->colidx32;
    f->index_size = sizeof(*data->rowptr32);
  } else {
    f->rowptr     = data->rowptr;
    f->colidx     = data->colidx;
    f->index_size = sizeof(*data->rowptr);
  }
  if (F->factortype == MAT_FACTOR_CHOLESKY || F->factortype == MAT_FACTOR_ICC) f->kind = data->rowptr32 ? AIJTCU_FACTOR_LLT : AIJTCU_FACTOR_UTDU;
  /* What is on the device is old where the factor was computed for solves on the host: MatCUSPARSESetUseCPUSolve() */
  *known = (PetscBool)(F->offloadmask != PETSC_OFFLOAD_CPU && f->rowptr && f->colidx && f->values && (f->kind != AIJTCU_FACTOR_UTDU || f->diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif
#endif
