static char help[] = "Products of parallel sparse matrices of a MATAIJTCU against those of MATAIJ, entry by entry. Prints on error only.\n\n";

#include "sparsecase.h"

/* How rows lie on processes: alike; none on the first; all on the last; more on each */
typedef enum {
  ALIKE,
  NOT_FIRST,
  LAST,
  MORE,
  NLAYOUTS
} Layout;

static PetscInt Local(PetscInt n, Layout layout)
{
  PetscMPIInt size, rank;
  PetscInt    before = 0, all, me;

  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  switch (layout) {
  case NOT_FIRST:
    if (size == 1) return n;
    return rank == 0 ? 0 : n / (size - 1) + (rank - 1 < n % (size - 1));
  case LAST:
    return rank == size - 1 ? n : 0;
  case MORE:
    all = size * (size + 1) / 2;
    for (PetscMPIInt r = 0; r < rank; r++) before += n * (r + 1) / all;
    me = n * (rank + 1) / all;
    return rank == size - 1 ? n - before : me;
  default:
    return n / size + (rank < n % size);
  }
}

/* The dimensions of the operands: m and n, each with its layout */
typedef struct {
  PetscInt n;
  Layout   layout;
} Dimension;

static PetscErrorCode Create(MatType type, Dimension rows, Dimension columns, Pattern pattern, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, Local(rows.n, rows.layout), Local(columns.n, columns.layout), rows.n, columns.n));
  PetscCall(Finish(*A, type, pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C has the rows of R: the same columns, and values to rounding, or to the bit */
static PetscErrorCode Same(const Case *c, Mat C, Mat R, PetscBool bits, const char when[])
{
  PetscInt  first[2], end[2], columns[2];
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(C, &first[0], &end[0]));
  PetscCall(MatGetOwnershipRange(R, &first[1], &end[1]));
  PetscCall(MatGetLocalSize(C, NULL, &columns[0]));
  PetscCall(MatGetLocalSize(R, NULL, &columns[1]));
  same = (PetscBool)(first[0] == first[1] && end[0] == end[1] && columns[0] == columns[1]);
  for (PetscInt row = first[0]; row < end[0] && same; row++) {
    const PetscInt    *cj, *rj;
    const PetscScalar *cv, *rv;
    PetscInt           cn, rn;

    PetscCall(MatGetRow(C, row, &cn, &cj, &cv));
    PetscCall(MatGetRow(R, row, &rn, &rj, &rv));
    same = (PetscBool)(cn == rn);
    if (same) PetscCall(PetscArraycmp(cj, rj, rn, &same));
    for (PetscInt k = 0; k < rn && same; k++) {
      const PetscReal most = bits ? 0 : 1000 * PETSC_MACHINE_EPSILON * (PetscAbsScalar(rv[k]) + 10);

      same = (PetscBool)(PetscAbsScalar(cv[k] - rv[k]) <= most);
    }
    PetscCall(MatRestoreRow(C, row, &cn, &cj, &cv));
    PetscCall(MatRestoreRow(R, row, &rn, &rj, &rv));
  }
  PetscCall(Expect(c, same, when));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that were not there, on some processes */
static PetscErrorCode NewPattern(Mat A)
{
  PetscInt first, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = first + 2; i < end; i += 7) {
    PetscCall(MatSetValue(A, i, i % n, 3, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, (i * 5 + 11) % n, 2, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProduct(Case *c, MatProductType type)
{
  Mat C, D, R;

  PetscFunctionBegin;
  c->name = MatProductTypes[type];
  c->made = 0;
  PetscCall(Symbolic(c->ours, type, PETSC_FALSE, &C));
  PetscCall(Symbolic(c->aij, type, PETSC_FALSE, &R));
  PetscCall(Numeric(c, C));
  PetscCall(MatProductNumeric(R));
  PetscCall(Same(c, C, R, PETSC_FALSE, "the first product"));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(NewValues(c, 10 * k + 5));
    PetscCall(Numeric(c, C));
    PetscCall(MatProductNumeric(R));
    PetscCall(Same(c, C, R, PETSC_FALSE, "new values"));
  }
  PetscCall(Symbolic(c->ours, type, PETSC_FALSE, &D));
  PetscCall(MatProductNumeric(D));
  if (c->made) PetscCall(Same(c, C, D, PETSC_TRUE, "other bits the second time")); /* MATAIJ adds as messages come */
  PetscCall(MatScale(C, 2)); /* an operation where the newest values are, then one on the host */
  PetscCall(MatScale(R, 2));
  PetscCall(Same(c, C, R, PETSC_FALSE, "scaled"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&R));
  if (c->made) { /* another pattern, which MATAIJ does not look at */
    PetscCall(NewPattern(c->ours[0]));
    PetscCall(NewPattern(c->aij[0]));
    PetscCall(Symbolic(c->aij, type, PETSC_FALSE, &R));
    PetscCall(MatProductNumeric(R));
    PetscCall(Numeric(c, C));
    PetscCall(Same(c, C, R, PETSC_FALSE, "another pattern"));
    PetscCall(MatProductNumeric(C));
    c->made++;
    PetscCall(Same(c, C, R, PETSC_FALSE, "another pattern, again"));
    PetscCall(MatDestroy(&R));
  }
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What users call, with reuse, and then as a matrix that entries are added to */
static PetscErrorCode TestReuse(Case *c)
{
  Mat C, R;

  PetscFunctionBegin;
  c->name = "MatPtAP()";
  PetscCall(MatPtAP(c->ours[0], c->ours[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatPtAP(c->aij[0], c->aij[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(NewValues(c, 3));
  PetscCall(MatPtAP(c->ours[0], c->ours[1], MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatPtAP(c->aij[0], c->aij[1], MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(Same(c, C, R, PETSC_FALSE, "new values"));
  PetscCall(MatProductClear(C));
  PetscCall(MatProductClear(R));
  PetscCall(MatSetOption(R, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(NewPattern(C));
  PetscCall(NewPattern(R));
  PetscCall(Same(c, C, R, PETSC_FALSE, "entries that are added"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A P + 3 P, as multigrid makes it of a prolongator, where A P has all entries of P */
static PetscErrorCode TestSum(Case *c)
{
  Mat C, R;

  PetscFunctionBegin;
  c->name = "MatAYPX()";
  PetscCall(MatMatMult(c->ours[0], c->ours[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(c->aij[0], c->aij[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(MatProductClear(C));
  PetscCall(MatProductClear(R));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatAYPX(C, 0.5, c->ours[1], SUBSET_NONZERO_PATTERN));
    PetscCall(MatAYPX(R, 0.5, c->aij[1], SUBSET_NONZERO_PATTERN));
    PetscCall(Same(c, C, R, PETSC_FALSE, "a sum"));
  }
  PetscCall(MatAXPY(C, 2, c->ours[1], DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatAXPY(R, 2, c->aij[1], DIFFERENT_NONZERO_PATTERN));
  PetscCall(Same(c, C, R, PETSC_FALSE, "a sum of other patterns"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph of a product, whose values are on the device */
static PetscErrorCode TestGraph(void)
{
  PetscMPIInt size;
  Dimension   rows, columns;
  Case        c = {.name = "MatCreateGraph()", .pattern = {BLOCKS, BLOCKS}};
  Mat         C, R, G[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  rows    = (Dimension){24 * size, ALIKE};
  columns = (Dimension){12 * size, ALIKE};
  PetscCall(Create(MATMPIAIJTCU, rows, rows, BLOCKS, &c.ours[0]));
  PetscCall(Create(MATMPIAIJ, rows, rows, BLOCKS, &c.aij[0]));
  PetscCall(Create(MATMPIAIJTCU, rows, columns, BLOCKS, &c.ours[1]));
  PetscCall(Create(MATMPIAIJ, rows, columns, BLOCKS, &c.aij[1]));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatSetBlockSizes(c.ours[i], 3, 3));
    PetscCall(MatSetBlockSizes(c.aij[i], 3, 3));
  }
  PetscCall(MatPtAP(c.ours[0], c.ours[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatPtAP(c.aij[0], c.aij[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(MatSetOption(R, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  for (int i = 0; i < 4; i++) {
    PetscInt at[] = {0, 2}, n = i % 2 && size > 1 ? 2 : 0; /* of a parallel matrix on one process PETSc takes all rows of a block */

    PetscCall(MatCreateGraph(C, PETSC_FALSE, PETSC_FALSE, -1, n, at, &G[0]));
    PetscCall(MatCreateGraph(R, PETSC_FALSE, PETSC_FALSE, -1, n, at, &G[1]));
    PetscCall(Same(&c, G[0], G[1], PETSC_FALSE, i ? "scaled" : "of a product"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&G[k]));
    PetscCall(MatScale(C, 2));
    PetscCall(MatScale(R, 2));
    if (i < 2) continue;
    PetscCall(NewPattern(C)); /* blocks have holes */
    PetscCall(NewPattern(R));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&R));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&c.ours[i]));
    PetscCall(MatDestroy(&c.aij[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of an m x m matrix with an m x n one, and more that fit */
static PetscErrorCode Test(Dimension m, Dimension n, Pattern square, Pattern other)
{
  const struct {
    MatProductType type;
    int            operand[2]; /* 0: m x m, 1: m x n, 2: n x m */
  } products[] = {
    {MATPRODUCT_AB,   {0, 1}},
    {MATPRODUCT_AB,   {2, 1}},
    {MATPRODUCT_AtB,  {1, 0}},
    {MATPRODUCT_AtB,  {1, 1}},
    {MATPRODUCT_PtAP, {0, 1}},
    {MATPRODUCT_UNSPECIFIED,  {0, 1}}
  };
  const Dimension rows[] = {m, m, n}, columns[] = {m, n, m};
  const Pattern   pattern[] = {square, other, other};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(products); k++) {
    Mat  ours[3], aij[3];
    Case c = {.name = NULL};

    for (int i = 0; i < 3; i++) {
      PetscCall(Create(MATMPIAIJTCU, rows[i], columns[i], pattern[i], &ours[i]));
      PetscCall(Create(MATMPIAIJ, rows[i], columns[i], pattern[i], &aij[i]));
    }
    PetscCall(PetscSNPrintf(c.where, sizeof(c.where), ", layouts %d and %d", (int)m.layout, (int)n.layout));
    for (int i = 0; i < 2; i++) {
      const int operand = products[k].operand[i];

      c.ours[i]    = ours[operand];
      c.aij[i]     = aij[operand];
      c.pattern[i] = pattern[operand];
    }
    if (products[k].type == MATPRODUCT_UNSPECIFIED) {
      PetscCall(TestReuse(&c));
      if (square == CROSS || square == BLOCKS || square == FAR) PetscCall(TestSum(&c));
    } else PetscCall(TestProduct(&c, products[k].type));
    for (int i = 0; i < 3; i++) {
      PetscCall(MatDestroy(&ours[i]));
      PetscCall(MatDestroy(&aij[i]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool few = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-few", &few, NULL)); /* for tools that slow programs down */
  for (int square = 0; square < NPATTERNS; square++) {
    for (int other = 0; other < NPATTERNS; other += few ? 4 : 1) PetscCall(Test((Dimension){60, ALIKE}, (Dimension){24, ALIKE},
                                                            (Pattern)square, (Pattern)other));
  }
  for (int rows = 0; rows < NLAYOUTS; rows++) {
    for (int columns = 0; columns < NLAYOUTS; columns++) PetscCall(Test((Dimension){50, (Layout)rows}, (Dimension){30, (Layout)columns},
                                                            BAND, FAR));
  }
  PetscCall(TestGraph());
  PetscCall(Test((Dimension){24, MORE}, (Dimension){60, ALIKE}, FAR, CROSS));
  PetscCall(Test((Dimension){1, ALIKE}, (Dimension){1, ALIKE}, CROSS, CROSS));
  PetscCall(Test((Dimension){3, ALIKE}, (Dimension){200, MORE}, CROSS, CROSS));
  PetscCall(Test((Dimension){300, MORE}, (Dimension){1, LAST}, BLOCKS, FEW));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out
    nsize: {{1 2 3 4}}
    args: -use_gpu_aware_mpi 0

  test:
    suffix: parent
    output_file: output/empty.out
    nsize: 2
    args: -use_gpu_aware_mpi 0 -a_mat_aijtcu_sparse cusparse

TEST*/
