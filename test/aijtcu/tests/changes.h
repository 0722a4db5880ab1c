/*
   What changes a matrix, or makes another one of it: functions of PETSc that write values or patterns, each for the
   matrix and the reference alike. Included by sequences.c, which draws the numbers.
*/
#pragma once

#include <unistd.h>

#define REPLACE(A, B)         \
  do {                        \
    PetscCall(MatDestroy(A)); \
    *(A) = (B);               \
  } while (0)

/* The same change of both matrices, with the same random numbers */
static PetscErrorCode Both(World *w, PetscErrorCode (*change)(const World *, Mat *))
{
  const uint64_t same = state;

  PetscFunctionBegin;
  PetscCall((*change)(w, &w->A));
  state = same;
  PetscCall((*change)(w, &w->R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define CHANGE(name)                                       \
  static PetscErrorCode name##One(const World *w, Mat *A); \
  static PetscErrorCode name(World *w)                     \
  {                                                        \
    PetscFunctionBegin;                                    \
    PetscCall(Both(w, name##One));                         \
    PetscFunctionReturn(PETSC_SUCCESS);                    \
  }                                                        \
  static PetscErrorCode name##One(const World *w, Mat *A)

static MatType TypeOf(const World *w, Mat A)
{
  return A == w->R ? MATAIJ : MATAIJTCU;
}

static PetscErrorCode Assemble(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Up to n entries in rows of this process, which may have none of them */
static PetscErrorCode AddTo(Mat A, PetscInt n)
{
  const PetscInt skip = Draw(3 * size);
  const uint64_t kept = Own();
  PetscInt       begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt k = 0; k < n && N && end > begin && skip != rank; k++) PetscCall(MatSetValue(A, begin + Draw(end - begin), Draw(N), Number(3), ADD_VALUES));
  Shared(kept);
  PetscCall(Assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another matrix like A, with n entries */
static PetscErrorCode Like(const World *w, Mat A, PetscInt n, Mat *X)
{
  PetscFunctionBegin;
  PetscCall(CreateSparse(w, TypeOf(w, A), X));
  PetscCall(AddTo(*X, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc does nothing to a matrix that was never assembled, as a copy */
CHANGE(ResetHash)
{
  PetscFunctionBegin;
  (void)w;
  PetscCall(Assemble(*A));
  PetscCall(MatResetHash(*A));
  PetscCall(AddTo(*A, Draw(60)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

CHANGE(Preallocate)
{
  PetscFunctionBegin;
  (void)w;
  PetscCall(MatSeqAIJSetPreallocation(*A, 12, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 12, NULL, 12, NULL));
  PetscCall(Keep(*A));
  PetscCall(AddTo(*A, Draw(60)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product comes between, so that the device has the first entries */
static PetscErrorCode ResetPreallocation(World *w)
{
  PetscFunctionBegin;
  PetscCall(Preallocate(w));
  PetscCall(CheckProduct(w));
  for (int i = 0; i < 2; i++) {
    const uint64_t same = state;
    Mat            A    = i ? w->R : w->A;

    PetscCall(MatResetPreallocation(A));
    PetscCall(Keep(A));
    PetscCall(AddTo(A, Draw(60)));
    if (!i) state = same;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries come twice, some in rows of other processes, and some are left out */
CHANGE(Coordinates)
{
  enum {
    MOST = 80
  };
  const PetscInt n = Draw(MOST), add = Draw(2);
  const uint64_t kept = Own();
  PetscInt       i[MOST], j[MOST], begin, end, M, N;
  PetscScalar    v[MOST];

  PetscFunctionBegin;
  (void)w;
  PetscCall(MatGetSize(*A, &M, &N));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt k = 0; k < n; k++) {
    i[k] = M && N && Draw(9) ? (Draw(5) && end > begin ? begin + Draw(end - begin) : Draw(M)) : -1;
    j[k] = N ? Draw(N) : -1;
    v[k] = Number(3);
  }
  Shared(kept);
  PetscCall(MatSetOption(*A, MAT_NO_OFF_PROC_ENTRIES, PETSC_FALSE)); /* PETSc sets it of matrices that it makes */
  PetscCall(MatSetPreallocationCOO(*A, n, i, j));
  PetscCall(MatSetValuesCOO(*A, v, INSERT_VALUES));
  if (add) PetscCall(MatSetValuesCOO(*A, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Into the matrix itself, which has other entries */
static PetscErrorCode Load(World *w)
{
  PetscViewer viewer;
  char        name[64];
  int         process = (int)getpid();
  Mat         X;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(&process, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCall(PetscSNPrintf(name, sizeof(name), "sequences-%d.bin", process));
  PetscCall(Like(w, w->R, Draw(60), &X));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatView(X, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(&X));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, &viewer));
    PetscCall(MatLoad(i ? w->R : w->A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  if (rank == 0) (void)remove(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

CHANGE(ConvertVia)
{
  static const char *const via[] = {MATBAIJ, MATDENSE, MATAIJPERM, MATAIJ, MATSELL};
  const PetscInt           k     = Draw(size > 1 ? 4 : 5); /* PETSc's parallel SELL crashes with some patterns */
  const MatReuse           reuse = Draw(2) ? MAT_INPLACE_MATRIX : MAT_INITIAL_MATRIX;
  const MatType            type  = TypeOf(w, *A);
  Mat                      X     = *A, Y;

  PetscFunctionBegin;
  PetscCall(MatConvert(*A, via[k], reuse, &X));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatConvert(*A, type, reuse, A));
  else {
    PetscCall(MatConvert(X, type, reuse, &Y));
    PetscCall(MatDestroy(&X));
    REPLACE(A, Y);
  }
  PetscCall(MatEliminateZeros(*A, PETSC_FALSE)); /* PETSc keeps those of a dense matrix, or not, as the types are */
  PetscFunctionReturn(PETSC_SUCCESS);
}

CHANGE(Transpose)
{
  const PetscInt how = Draw(3);
  Mat            T, B;

  PetscFunctionBegin;
  (void)w;
  if (how == 0) {
    PetscCall(MatTranspose(*A, MAT_INPLACE_MATRIX, A));
    PetscCall(MatTranspose(*A, MAT_INPLACE_MATRIX, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatTranspose(*A, MAT_INITIAL_MATRIX, &T));
  if (how == 2) { /* new values for a transpose that there is, after it was multiplied */
    Vec x, y;

    PetscCall(MatCreateVecs(T, &x, &y));
    PetscCall(FillVec(x, 1));
    PetscCall(MatMult(T, x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatScale(*A, -1));
    PetscCall(MatTranspose(*A, MAT_REUSE_MATRIX, &T));
  }
  PetscCall(MatTranspose(T, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatDestroy(&T));
  REPLACE(A, B);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows and columns, in their order or, by MatPermute(), each process's in the opposite one */
CHANGE(SubMatrix)
{
  const PetscInt how = Draw(3);
  PetscInt       begin, end;
  IS             rows, columns;
  Mat            B;

  PetscFunctionBegin;
  (void)w;
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, how ? begin : end - 1, how ? 1 : -1, &rows));
  PetscCall(MatGetOwnershipRangeColumn(*A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, how ? begin : end - 1, how ? 1 : -1, &columns));
  if (how == 0) {
    PetscCall(ISSetPermutation(rows));
    PetscCall(ISSetPermutation(columns));
    PetscCall(MatPermute(*A, rows, columns, &B));
  } else {
    PetscCall(MatCreateSubMatrix(*A, rows, columns, MAT_INITIAL_MATRIX, &B));
    if (how == 2) {
      PetscCall(MatScale(*A, -1));
      PetscCall(MatCreateSubMatrix(*A, rows, columns, MAT_REUSE_MATRIX, &B));
    }
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  REPLACE(A, B);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a matrix of the same pattern, of a part of it, or of another one */
CHANGE(Combine)
{
  const PetscInt how = Draw(4), copy = Draw(2);
  PetscInt       begin, end;
  Mat            X;

  PetscFunctionBegin;
  if (how < 2) {
    PetscCall(MatDuplicate(*A, how ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, &X));
    PetscCall(MatScale(X, -2));
    PetscCall(MatGetOwnershipRange(X, &begin, &end));
    PetscCall(MatSetOption(X, MAT_KEEP_NONZERO_PATTERN, how ? PETSC_FALSE : PETSC_TRUE));
    PetscCall(MatZeroRows(X, end > begin, &begin, 0, NULL, NULL));
    PetscCall(MatAXPY(*A, 1, X, how ? SUBSET_NONZERO_PATTERN : SAME_NONZERO_PATTERN));
  } else {
    PetscCall(Like(w, *A, Draw(60), &X));
    if (how == 3) PetscCall(MatConvert(X, MATAIJ, MAT_INPLACE_MATRIX, &X));
    if (copy) PetscCall(MatCopy(X, *A, DIFFERENT_NONZERO_PATTERN));
    else PetscCall(MatAXPY(*A, -1, X, UNKNOWN_NONZERO_PATTERN));
  }
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a matrix that is bound to the host is not bound, and its first row and column are cleared */
CHANGE(BoundCopy)
{
  PetscInt begin, end;
  Mat      X;

  PetscFunctionBegin;
  PetscCall(MatBindToCPU(*A, PETSC_TRUE));
  PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &X));
  REPLACE(A, X);
  if (!w->square) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(MatZeroRowsColumns(*A, end > begin, &begin, 0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

CHANGE(Drop)
{
  const PetscInt keep = Draw(2);

  PetscFunctionBegin;
  (void)w;
  if (Draw(2)) PetscCall(MatEliminateZeros(*A, (PetscBool)keep));
  else PetscCall(MatFilter(*A, 1.5, (PetscBool)Draw(2), (PetscBool)keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a copy: PETSc keeps the memory of the first time, and writes past its end where there are more entries since */
CHANGE(Store)
{
  Mat X;

  PetscFunctionBegin;
  (void)w;
  PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &X));
  REPLACE(A, X);
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatStoreValues(*A));
  PetscCall(MatScale(*A, -1));
  PetscCall(MatRetrieveValues(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

CHANGE(HeaderReplace)
{
  Mat X;

  PetscFunctionBegin;
  PetscCall(Like(w, *A, Draw(60), &X));
  PetscCall(MatHeaderReplace(*A, &X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As MATAIJ it had been set up before it got its type */
CHANGE(LateType)
{
  Mat X;

  PetscFunctionBegin;
  PetscCall(CreateSparse(w, MATAIJ, &X));
  PetscCall(MatSetType(X, TypeOf(w, *A)));
  PetscCall(MatSetUp(X));
  PetscCall(Keep(X));
  PetscCall(AddTo(X, Draw(60)));
  REPLACE(A, X);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All values anew, of both blocks of a parallel matrix */
CHANGE(ArraysWritten)
{
  Mat block[2] = {*A, NULL};

  PetscFunctionBegin;
  (void)w;
  if (size > 1) PetscCall(MatMPIAIJGetSeqAIJ(*A, &block[0], &block[1], NULL));
  for (int b = 0; b < 2 && block[b]; b++) {
    const uint64_t kept = Own();
    PetscScalar   *a;
    MatInfo        info;

    PetscCall(MatGetInfo(block[b], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArrayWrite(block[b], &a));
    for (PetscInt k = 0; k < (PetscInt)info.nz_used; k++) a[k] = Number(3);
    PetscCall(MatSeqAIJRestoreArrayWrite(block[b], &a));
    Shared(kept);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times the identity from one side or the other, which is a MATAIJ now and then; again after new values */
CHANGE(Identity)
{
  static const MatProductType types[] = {MATPRODUCT_AB, MATPRODUCT_AB, MATPRODUCT_AtB, MATPRODUCT_ABt, MATPRODUCT_PtAP, MATPRODUCT_ABC};
  const PetscInt              k = Draw(w->square ? 6 : 5), left = k == 0 || k == 2, plain = Draw(4), again = Draw(2);
  const PetscInt              m = left || k == 5 ? w->m : w->n;
  PetscInt                    begin, end;
  Mat                         E, C, first, second;

  PetscFunctionBegin;
  if (k == 4 && !w->square) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &E));
  PetscCall(MatSetSizes(E, m, m, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(E, plain ? TypeOf(w, *A) : MATAIJ));
  PetscCall(MatSetUp(E));
  PetscCall(MatGetOwnershipRange(E, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(E, i, i, -1, INSERT_VALUES));
  PetscCall(Assemble(E));
  PetscCall(MatScale(E, -1));
  first  = left || k == 5 ? E : *A;
  second = k == 5 ? *A : left ? *A
                              : E;
  PetscCall(MatProductCreate(first, second, k == 5 ? E : NULL, &C));
  PetscCall(MatProductSetType(C, types[k]));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  if (again && !(k == 3 && size > 1)) { /* PETSc's own parallel A B^T forgets to transpose again */
    PetscCall(MatScale(*A, -1));
    PetscCall(MatProductNumeric(C));
  }
  PetscCall(MatProductClear(C));
  PetscCall(MatDestroy(&E));
  if (plain) REPLACE(A, C);
  else { /* the type is that of one operand */
    PetscCall(MatConvert(C, TypeOf(w, *A), MAT_INPLACE_MATRIX, &C));
    REPLACE(A, C);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is asked of both matrices, and must be equal */
static PetscErrorCode CheckNumbers(World *w)
{
  PetscReal *norms, norm[2];
  PetscInt   N, wrong = 0;
  Vec        d[2];

  PetscFunctionBegin;
  PetscCall(MatGetSize(w->A, NULL, &N));
  PetscCall(PetscMalloc1(2 * N, &norms));
  PetscCall(MatGetColumnNorms(w->A, NORM_1, norms));
  PetscCall(MatGetColumnNorms(w->R, NORM_1, norms + N));
  for (PetscInt j = 0; j < N; j++) wrong += norms[j] != norms[N + j];
  PetscCall(PetscFree(norms));
  PetscCall(Compare(w, "column-norms", wrong));
  PetscCall(MatNorm(w->A, NORM_INFINITY, &norm[0]));
  PetscCall(MatNorm(w->R, NORM_INFINITY, &norm[1]));
  PetscCall(Compare(w, "norm", norm[0] != norm[1]));
  PetscCall(MatCreateVecs(w->A, NULL, &d[0]));
  PetscCall(MatCreateVecs(w->R, NULL, &d[1]));
  PetscCall(MatGetRowSum(w->A, d[0]));
  PetscCall(MatGetRowSum(w->R, d[1]));
  PetscCall(CompareVec(w, "row-sums", d[0], d[1]));
  if (w->square) {
    PetscCall(MatGetDiagonal(w->A, d[0]));
    PetscCall(MatGetDiagonal(w->R, d[1]));
    PetscCall(CompareVec(w, "diagonal", d[0], d[1]));
  }
  PetscCall(VecDestroy(&d[0]));
  PetscCall(VecDestroy(&d[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix times the matrix */
static PetscErrorCode CheckDenseTimes(World *w)
{
  Mat D, C[2];

  PetscFunctionBegin;
  PetscCall(CreateDense(1 + Draw(3), 1, 8, &D));
  PetscCall(MatDestroy(&D));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, 3, w->m, PETSC_DETERMINE, PETSC_DETERMINE, NULL, &D));
  PetscCall(MatZeroEntries(D));
  PetscCall(MatShift(D, 2));
  PetscCall(MatMatMult(D, w->A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[0]));
  PetscCall(MatMatMult(D, w->R, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[1]));
  PetscCall(CompareDense(w, "D-A", C[0], C[1]));
  PetscCall(MatDestroy(&C[0]));
  PetscCall(MatDestroy(&C[1]));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the host, vectors that are bound to it, and their duplicates */
static PetscErrorCode CheckBound(World *w)
{
  const PetscInt how = Draw(3);
  Vec            x, y, z, right;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(w->R, &x, &right));
  PetscCall(FillVec(x, 1));
  PetscCall(MatMult(w->R, x, right));
  if (how == 0) PetscCall(VecDuplicate(right, &z));
  else {
    PetscCall(VecDestroy(&x));
    PetscCall(MatCreateVecs(w->A, &x, &y));
    PetscCall(VecBindToCPU(x, PETSC_TRUE));
    PetscCall(VecBindToCPU(y, PETSC_TRUE));
    if (how == 1) PetscCall(VecDuplicate(y, &z)); /* it has the operations of the host, and is not bound */
    else {
      PetscCall(PetscObjectReference((PetscObject)y));
      z = y;
    }
    PetscCall(VecDestroy(&y));
    PetscCall(FillVec(x, 1));
  }
  PetscCall(MatMult(w->A, x, z));
  PetscCall(CompareVec(w, how == 0 ? "host-vectors" : how == 1 ? "duplicate-of-bound"
                                                               : "bound-vectors",
    z, right));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&right));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#undef REPLACE
#undef CHANGE
