static char help[] = "Random sequences of changes of a MATAIJTCU and of a MATAIJ, whose products must be equal after each.\n\
Prints on error only: the changes up to the first product that differs.\n\
-seed: the first sequence, or a new one each time with a negative number, which is printed then. -runs: how many.\n\
-steps: of each. -seconds: no more begin after that. -device: dense matrices may be on a device.\n\
-all: also the changes and questions of changes.h. -each: every change once, with all questions after it.\n\n";

#include <petscmat.h>
#include <petsctime.h>
#include <time.h>
#include "petscaijtcu.h"
#include "arrays.h"
#include "whole.h"

/*
   All numbers are small and whole, so sums have no roundings, and equal means equal. Every process draws the same
   numbers, but for those of its own rows: see Own()
*/
enum {
  MOST_STEPS = 200,
  MOST_ROWS  = 60 /* of a process, about */
};

typedef struct {
  Mat         A, R;    /* the matrix, and the reference on the host */
  Mat         B, C;    /* a product that is repeated: C = A B, or A^T B. NULL before the first */
  Mat         host;    /* B there */
  PetscBool   transposed, cuda, square;
  PetscInt    m, n, N; /* local rows and columns of A; columns of B */
  PetscInt    more;    /* numbers between columns of B: PETSc's own products want them to stay as many */
  PetscInt    doubled; /* how often numbers became larger */
  const char *done[2 * MOST_STEPS];
  PetscInt    ndone;
  PetscBool   wrong;
} World;

static uint64_t    state;
static PetscMPIInt rank, size;
static PetscBool   device; /* dense matrices may be there */
static PetscBool   all;    /* changes, and questions */

static PetscInt Draw(PetscInt n)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (PetscInt)((state >> 33) % (uint64_t)n);
}

/* A whole number that is not larger, in each of its parts */
static PetscScalar Number(PetscInt largest)
{
  const PetscReal re = (PetscReal)(Draw(2 * largest + 1) - largest);

#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(re, (PetscReal)(Draw(2 * largest + 1) - largest));
#else
  return re;
#endif
}

/* From here on numbers of this process, until Shared() gets what this returned */
static uint64_t Own(void)
{
  const uint64_t kept = state;

  state ^= (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15u;
  return kept;
}

static void Shared(uint64_t kept)
{
  state = kept;
  (void)Draw(2);
}

static void Note(World *w, const char what[])
{
  if (w->ndone < 2 * MOST_STEPS) w->done[w->ndone++] = what;
}

static PetscErrorCode PrintDone(const World *w)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < w->ndone; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s", w->done[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Note what has been done. The first difference is printed with all of it */
static PetscErrorCode Compare(World *w, const char what[], PetscInt wrong)
{
  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  Note(w, what);
  if (!wrong) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " numbers differ after", what, wrong));
  PetscCall(PrintDone(w));
  w->wrong = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareDense(World *w, const char what[], Mat C, Mat D)
{
  PetscInt wrong;

  PetscFunctionBegin;
  PetscCall(CountUnequalDense(C, D, &wrong));
  PetscCall(Compare(w, what, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareVec(World *w, const char what[], Vec x, Vec y)
{
  PetscInt wrong;

  PetscFunctionBegin;
  PetscCall(CountUnequalVec(x, y, &wrong));
  PetscCall(Compare(w, what, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Keep(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_FALSE)); /* PETSc sets it of matrices that it makes */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSparse(const World *w, MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, w->m, w->n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  if (type == (MatType)MATAIJTCU) PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(Keep(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add to n entries of both, old ones or new ones, in rows of this process or, now and then, of any */
static PetscErrorCode AddEntries(Mat A, Mat R, PetscInt n)
{
  const PetscBool any = (PetscBool)(Draw(3) == 0);
  const uint64_t  kept = Own();
  PetscInt        begin, end, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt k = 0; k < n && N && (any ? M : end - begin); k++) {
    const PetscInt    i = any ? Draw(M) : begin + Draw(end - begin), j = Draw(N);
    const PetscScalar v = Number(3);

    PetscCall(MatSetValue(A, i, j, v, ADD_VALUES));
    PetscCall(MatSetValue(R, i, j, v, ADD_VALUES));
  }
  Shared(kept);
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyBegin(R, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(R, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix of m local rows, on the host */
static PetscErrorCode CreateDense(PetscInt m, PetscInt N, PetscInt ld, Mat *B)
{
  const uint64_t kept = Own();
  PetscScalar   *b;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, m, PETSC_DECIDE, PETSC_DETERMINE, N));
  PetscCall(MatSetType(*B, MATDENSE));
  PetscCall(MatDenseSetLDA(*B, ld));
  PetscCall(MatSetUp(*B));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < m; i++) b[i + j * ld] = Number(4);
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  Shared(kept);
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Mat A, PetscBool transposed, Mat B, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (transposed) PetscCall(MatTransposeMatMult(A, B, reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMult(A, B, reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product once more: a new one, of one kind or the other, or that of before with another B, or as it was */
static PetscErrorCode CheckProduct(World *w)
{
  const PetscInt how   = w->C ? Draw(3) : 0;
  const MatReuse reuse = how ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;
  PetscInt       rows;
  Mat            D;

  PetscFunctionBegin;
  if (!how) {
    PetscCall(MatDestroy(&w->C));
    w->transposed = (PetscBool)Draw(2);
    w->N          = 1 + (Draw(3) ? Draw(40) : 0);
    w->more       = Draw(4);
    w->cuda       = (PetscBool)(device && Draw(2));
  }
  rows = w->transposed ? w->m : w->n;
  if (how < 2) {
    const uint64_t same = state;

    PetscCall(MatDestroy(&w->host));
    PetscCall(MatDestroy(&w->B));
    PetscCall(CreateDense(rows, w->N, PetscMax(rows, 1) + w->more, &w->host));
    state = same;
    PetscCall(CreateDense(rows, w->N, PetscMax(rows, 1) + w->more, &w->B));
#if PetscDefined(HAVE_CUDA)
    if (w->cuda) PetscCall(MatConvert(w->B, MATDENSECUDA, MAT_INPLACE_MATRIX, &w->B));
#endif
  }
  PetscCall(Multiply(w->A, w->transposed, w->B, reuse, &w->C));
  PetscCall(Multiply(w->R, w->transposed, w->host, MAT_INITIAL_MATRIX, &D));
  PetscCall(CompareDense(w, w->transposed ? (how ? "A^T-B-again" : "A^T-B") : (how ? "A-B-again" : "A-B"), w->C, D));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = op(A) x, or z = y + op(A) x, which may be in place */
static PetscErrorCode MultiplyVec(Mat A, PetscInt how, PetscBool in_place, Vec *z)
{
  Vec x, y;

  PetscFunctionBegin;
  if (how % 2) PetscCall(MatCreateVecs(A, &y, &x));
  else PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(FillVec(x, 1));
  PetscCall(FillVec(y, 2));
  PetscCall(VecDuplicate(y, z));
  if (in_place) PetscCall(VecCopy(y, *z));
  if (how == 0) PetscCall(MatMult(A, x, *z));
  else if (how == 1) PetscCall(MatMultTranspose(A, x, *z));
  else if (how == 2) PetscCall(MatMultAdd(A, x, in_place ? *z : y, *z));
  else PetscCall(MatMultTransposeAdd(A, x, in_place ? *z : y, *z));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckVec(World *w)
{
  static const char *const names[] = {"A-x", "A^T-x", "y+A-x", "y+A^T-x"};
  const PetscInt           how     = Draw(4);
  const PetscBool          in_place = (PetscBool)Draw(2);
  Vec                      z, right;

  PetscFunctionBegin;
  PetscCall(MultiplyVec(w->A, how, in_place, &z));
  PetscCall(MultiplyVec(w->R, how, in_place, &right));
  PetscCall(CompareVec(w, names[how], z, right));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some columns of a wider B and C, whose other columns stay. The parent's products on a device give C new memory */
static PetscErrorCode CheckColumns(World *w)
{
  const PetscInt first = Draw(3), end = first + 1 + Draw(20), N = end + Draw(3);
  MatAIJTCUPath  path;
  Mat            B, C, D, E, b, c, e;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetPath(w->A, &path));
  if (device && path == MAT_AIJTCU_PATH_CUSPARSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateDense(w->n, N, PetscMax(w->n, 1), &B));
  PetscCall(CreateDense(w->m, N, PetscMax(w->m, 1), &C));
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &E));
  PetscCall(MatDenseGetSubMatrix(B, PETSC_DECIDE, PETSC_DECIDE, first, end, &b));
  PetscCall(MatMatMult(w->R, b, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(MatDenseGetSubMatrix(E, PETSC_DECIDE, PETSC_DECIDE, first, end, &e));
  PetscCall(MatCopy(D, e, SAME_NONZERO_PATTERN));
  PetscCall(MatDenseRestoreSubMatrix(E, &e));
  PetscCall(MatDenseGetSubMatrix(C, PETSC_DECIDE, PETSC_DECIDE, first, end, &c));
  PetscCall(MatMatMult(w->A, b, MAT_REUSE_MATRIX, PETSC_DETERMINE, &c));
  PetscCall(MatProductClear(c));
  PetscCall(MatDenseRestoreSubMatrix(C, &c));
  PetscCall(MatDenseRestoreSubMatrix(B, &b));
  PetscCall(CompareDense(w, "columns", C, E));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes of both matrices */
static PetscErrorCode Scale(World *w)
{
  const PetscReal a = w->doubled < 3 && Draw(2) ? 2 : -1;

  PetscFunctionBegin;
  if (a > 0) w->doubled++;
  PetscCall(MatScale(w->A, a));
  PetscCall(MatScale(w->R, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(World *w)
{
  const Mat both[] = {w->A, w->R};

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    Vec l, r;

    PetscCall(MatCreateVecs(both[i], &r, &l));
    PetscCall(VecSet(l, -1));
    PetscCall(VecSet(r, -1));
    PetscCall(MatDiagonalScale(both[i], l, r));
    PetscCall(VecDestroy(&l));
    PetscCall(VecDestroy(&r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPY(World *w)
{
  Mat X, Y;

  PetscFunctionBegin;
  PetscCall(CreateSparse(w, MATAIJTCU, &X));
  PetscCall(CreateSparse(w, MATAIJ, &Y));
  PetscCall(AddEntries(X, Y, Draw(40)));
  PetscCall(MatAXPY(w->A, -1, X, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatAXPY(w->R, -1, Y, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(World *w)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  if (!w->square) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(w->A, &begin, &end));
  for (int i = 0; i < 2; i++) {
    Mat A = i ? w->R : w->A;

    /* PETSc writes to memory that it has freed where a row without entries gets one */
    if (end > begin) PetscCall(MatSetValue(A, begin, begin, 1, ADD_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatZeroRows(A, end > begin, &begin, 2, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One more in each entry */
static PetscErrorCode Arrays(World *w)
{
  PetscFunctionBegin;
  PetscCall(ChangeArrays(w->A, 1, 1));
  PetscCall(ChangeArrays(w->R, 1, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(World *w)
{
  PetscFunctionBegin;
  if (!w->square) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatShift(w->A, 3));
  PetscCall(MatShift(w->R, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Zero(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(w->A));
  PetscCall(MatZeroEntries(w->R));
  PetscCall(AddEntries(w->A, w->R, Draw(60)));
  w->doubled = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Add(World *w)
{
  PetscFunctionBegin;
  PetscCall(AddEntries(w->A, w->R, Draw(30)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(World *w)
{
  Mat X;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(w->A, MAT_COPY_VALUES, &X));
  PetscCall(MatDestroy(&w->A));
  w->A = X;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Convert(World *w)
{
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(w->A, &before));
  PetscCall(MatConvert(w->A, MATAIJ, MAT_INPLACE_MATRIX, &w->A));
  PetscCall(MatConvert(w->A, MATAIJTCU, MAT_INPLACE_MATRIX, &w->A));
  PetscCall(MatGetNonzeroState(w->A, &after));
  PetscCall(Compare(w, "nonzero-state", after < before)); /* a preconditioner would take the pattern for an old one */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound to the host for two products, with dense matrices there, and a change */
static PetscErrorCode Bind(World *w)
{
  const PetscBool kept = device;

  PetscFunctionBegin;
  device = PETSC_FALSE;
  PetscCall(MatDestroy(&w->C));
  PetscCall(MatBindToCPU(w->A, PETSC_TRUE));
  PetscCall(CheckProduct(w));
  PetscCall(MatScale(w->A, -1));
  PetscCall(MatScale(w->R, -1));
  PetscCall(CheckProduct(w));
  PetscCall(MatDestroy(&w->C));
  PetscCall(MatBindToCPU(w->A, PETSC_FALSE));
  device = kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound from now on, or not any more */
static PetscErrorCode Bound(World *w)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(w->A, &bound));
  PetscCall(MatBindToCPU(w->A, (PetscBool)!bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Settings(World *w)
{
  /* not NCCL, which is not everywhere */
  const MatAIJTCUHalo halos[] = {MAT_AIJTCU_HALO_AUTO, MAT_AIJTCU_HALO_MPI};

  PetscFunctionBegin;
  PetscCall(MatAIJTCUSetPath(w->A, (MatAIJTCUPath)Draw(MAT_AIJTCU_PATH_CUSPARSE + 1)));
  PetscCall(MatAIJTCUSetHalo(w->A, halos[Draw(2)]));
  PetscCall(MatAIJTCUSetReorder(w->A, (MatAIJTCUReorder)Draw(MAT_AIJTCU_REORDER_ALWAYS + 1)));
  PetscCall(MatAIJTCUSetMult(w->A, (MatAIJTCUMult)Draw(MAT_AIJTCU_MULT_CSR16 + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#include "changes.h"

static const struct {
  const char *name;
  PetscErrorCode (*change)(World *);
} changes[] = {
  {"add",                Add               },
  {"scale",              Scale             },
  {"zero",               Zero              },
  {"axpy",               AXPY              },
  {"zerorows",           ZeroRows          },
  {"arrays",             Arrays            },
  {"shift",              Shift             },
  {"diagonalscale",      DiagonalScale     },
  {"duplicate",          Duplicate         },
  {"convert",            Convert           },
  {"bind",               Bind              },
  {"settings",           Settings          },
  {"resethash",          ResetHash         },
  {"preallocate",        Preallocate       },
  {"resetpreallocation", ResetPreallocation},
  {"coordinates",        Coordinates       },
  {"load",               Load              },
  {"convertvia",         ConvertVia        },
  {"transpose",          Transpose         },
  {"submatrix",          SubMatrix         },
  {"combine",            Combine           },
  {"drop",               Drop              },
  {"store",              Store             },
  {"headerreplace",      HeaderReplace     },
  {"latetype",           LateType          },
  {"arrayswritten",      ArraysWritten     },
  {"identity",           Identity          },
  {"bound",              Bound             },
  {"boundcopy",          BoundCopy         }
};

/* Rows and columns of each process, a few of them or many, or none */
static void DrawSizes(World *w)
{
  const PetscInt most = Draw(2) ? 4 : MOST_ROWS;

  w->square = (PetscBool)Draw(2);
  for (PetscMPIInt r = 0; r < size; r++) {
    const PetscInt m = Draw(5) ? 1 + Draw(most) : 0, n = w->square ? m : Draw(5) ? 1 + Draw(most) : 0;

    if (r == rank) w->m = m, w->n = n;
  }
}

static PetscErrorCode Change(World *w, PetscInt k)
{
  PetscFunctionBegin;
  Note(w, changes[k].name);
  PetscCall((*changes[k].change)(w));
  PetscCall(Keep(w->A)); /* a new matrix does not know it */
  PetscCall(Keep(w->R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*const checks[])(World *) = {CheckProduct, CheckProduct, CheckVec, CheckColumns, CheckNumbers, CheckDenseTimes, CheckBound};

/* One change, and a question */
static PetscErrorCode Step(World *w)
{
  const PetscInt nchanges = all ? (PetscInt)PETSC_STATIC_ARRAY_LENGTH(changes) : 12, nchecks = all ? (PetscInt)PETSC_STATIC_ARRAY_LENGTH(checks) : 4;
  const PetscInt k = Draw(nchanges), check = Draw(nchecks);

  PetscFunctionBegin;
  PetscCall(Change(w, k));
  if (!w->wrong) PetscCall((*checks[check])(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every change, with questions before and after it */
static PetscErrorCode Each(World *w)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(changes) && !w->wrong; k++) {
    w->ndone = 0;
    PetscCall(Change(w, k));
    for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(checks) && !w->wrong; i++) PetscCall((*checks[i])(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sequence(PetscInt seed, PetscInt steps, PetscBool each, PetscBool *wrong)
{
  World w = {.A = NULL};

  PetscFunctionBegin;
  state = 7919 * (uint64_t)seed;
  for (int i = 0; i < 5; i++) (void)Draw(2);
  DrawSizes(&w);
  PetscCall(CreateSparse(&w, MATAIJTCU, &w.A));
  PetscCall(CreateSparse(&w, MATAIJ, &w.R));
  PetscCall(AddEntries(w.A, w.R, 30 + Draw(200)));
  for (PetscInt step = 0; step < (each ? 1 : steps) && !w.wrong; step++) {
    const PetscErrorCode ierr = each ? Each(&w) : Step(&w);

    if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "-seed %" PetscInt_FMT ": error after", seed));
    if (ierr) PetscCall(PrintDone(&w));
    PetscCall(ierr);
  }
  if (w.wrong) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "-seed %" PetscInt_FMT " -runs 1\n", seed));
  *wrong = w.wrong;
  PetscCall(MatDestroy(&w.A));
  PetscCall(MatDestroy(&w.R));
  PetscCall(MatDestroy(&w.B));
  PetscCall(MatDestroy(&w.C));
  PetscCall(MatDestroy(&w.host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt       seed = 1, runs = 20, steps = 30;
  PetscReal      seconds = PETSC_MAX_REAL;
  PetscLogDouble start, now;
  PetscBool      wrong = PETSC_FALSE, each = PETSC_FALSE, late = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-runs", &runs, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-all", &all, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-each", &each, NULL));
  steps = PetscMin(steps, (PetscInt)MOST_STEPS / 2); /* a step is noted up to three times */
  PetscCall(PetscTime(&start));
  if (seed < 0) {
    seed = (PetscInt)(time(NULL) % 100000000);
    PetscCallMPI(MPI_Bcast(&seed, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, PETSC_STDERR, "-seed %" PetscInt_FMT "\n", seed));
  }
  for (PetscInt k = 0; k < runs && !wrong && !late; k++) {
    PetscCall(Sequence(seed + k, steps, each, &wrong));
    PetscCall(PetscTime(&now));
    late = (PetscBool)(now - start > seconds);
    PetscCallMPI(MPI_Bcast(&late, 1, MPI_C_BOOL, 0, PETSC_COMM_WORLD));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out

    test:
      suffix: 1
      nsize: {{1 2 3}}

    test:
      suffix: each
      nsize: {{1 2 3}}
      args: -each -runs 3 -mat_aijtcu_path {{auto tcu csr cusparse}}

    test:
      suffix: all
      nsize: {{1 2 3}}
      args: -all -runs 1000 -seconds 6 -seed {{100 2000000}}

    test:
      suffix: all_tcu
      nsize: 2
      args: -all -runs 1000 -seconds 6 -seed 3000000 -mat_aijtcu_path tcu

    test: # a new seed each time, which it prints
      suffix: all_cuda
      requires: cuda
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0 -device -all -runs 1000 -seconds 20 -seed -1 -mat_aijtcu_path {{auto tcu csr}}
      filter: sed -e "1{\$!b" -e "/^-seed [0-9]*\$/d" -e "}" # the seed goes where there is nothing else

    test: # an operand that is bound to the host, and one that is a MATAIJ
      suffix: all_cuda_mixed
      requires: cuda
      nsize: 2
      args: -use_gpu_aware_mpi 0 -device -all -runs 1 -seed {{95955791 95955805}}

    test:
      suffix: each_cuda
      requires: cuda
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0 -device -each -runs 2 -mat_aijtcu_path {{auto tcu csr cusparse}}

    test:
      suffix: cuda
      requires: cuda
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0 -device -runs 6 -seed {{1 7025 8016 10080 12000}}

TEST*/
