static char help[] = "Products of sparse matrices of a MATAIJTCU against those of MATAIJ, entry by entry: patterns, values, bits. Prints on error only.\n\n";

#include "sparsecase.h"

static PetscErrorCode Create(MatType type, PetscInt m, PetscInt n, Pattern pattern, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, m, n, m, n));
  PetscCall(Finish(*A, type, pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C has the pattern of R, and its values to rounding unless there are none */
static PetscErrorCode Same(const Case *c, Mat C, Mat R, PetscBool values, const char when[])
{
  const PetscInt    *ci, *cj, *ri, *rj;
  const PetscScalar *cv, *rv;
  PetscInt           cn, rn;
  PetscReal          most = 0;
  PetscBool          have, same;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(C, 0, PETSC_FALSE, PETSC_FALSE, &cn, &ci, &cj, &have));
  PetscCall(MatGetRowIJ(R, 0, PETSC_FALSE, PETSC_FALSE, &rn, &ri, &rj, &have));
  same = (PetscBool)(cn == rn);
  if (same) PetscCall(PetscArraycmp(ci, ri, rn + 1, &same));
  if (same) PetscCall(PetscArraycmp(cj, rj, ri[rn], &same));
  PetscCall(Expect(c, same, when));
  if (same && values) {
    PetscCall(MatSeqAIJGetArrayRead(C, &cv));
    PetscCall(MatSeqAIJGetArrayRead(R, &rv));
    for (PetscInt k = 0; k < ri[rn]; k++) most = PetscMax(most, PetscAbsScalar(rv[k]));
    for (PetscInt k = 0; k < ri[rn] && same; k++) same = (PetscBool)(PetscAbsScalar(cv[k] - rv[k]) <= 1000 * PETSC_MACHINE_EPSILON * (most + 1));
    PetscCall(Expect(c, same, when));
    PetscCall(MatSeqAIJRestoreArrayRead(C, &cv));
    PetscCall(MatSeqAIJRestoreArrayRead(R, &rv));
  }
  PetscCall(MatRestoreRowIJ(C, 0, PETSC_FALSE, PETSC_FALSE, &cn, &ci, &cj, &have));
  PetscCall(MatRestoreRowIJ(R, 0, PETSC_FALSE, PETSC_FALSE, &rn, &ri, &rj, &have));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameBits(const Case *c, Mat C, Mat D)
{
  const PetscScalar *cv, *dv;
  MatInfo            info;
  PetscBool          same;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(C, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetArrayRead(C, &cv));
  PetscCall(MatSeqAIJGetArrayRead(D, &dv));
  PetscCall(PetscArraycmp(cv, dv, (size_t)info.nz_used, &same));
  PetscCall(MatSeqAIJRestoreArrayRead(C, &cv));
  PetscCall(MatSeqAIJRestoreArrayRead(D, &dv));
  PetscCall(Expect(c, same, "other bits the second time"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProduct(Case *c, MatProductType type)
{
  Mat       C, D, R;
  PetscInt  m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(c->ours[0], &m, &n));
  c->name = MatProductTypes[type];
  c->made = 0;
  PetscCall(Symbolic(c->ours, type, PETSC_FALSE, &C));
  PetscCall(Symbolic(c->aij, type, PETSC_FALSE, &R));
  PetscCall(Numeric(c, C));
  PetscCall(MatProductNumeric(R));
  PetscCall(Same(c, C, R, PETSC_TRUE, "the first product"));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(NewValues(c, 10 * k + 5));
    PetscCall(Numeric(c, C));
    PetscCall(MatProductNumeric(R));
    PetscCall(Same(c, C, R, PETSC_TRUE, "new values"));
  }
  PetscCall(Symbolic(c->ours, type, PETSC_FALSE, &D));
  PetscCall(MatProductNumeric(D));
  if (c->made) PetscCall(SameBits(c, C, D));
  PetscCall(MatScale(C, 2)); /* an operation where the newest values are, then one on the host */
  PetscCall(MatScale(R, 2));
  PetscCall(Same(c, C, R, PETSC_TRUE, "scaled"));
  PetscCall(MatDestroy(&D));
  if (type == MATPRODUCT_AB || type == MATPRODUCT_AtB) {
    PetscCall(Symbolic(c->ours, type, PETSC_TRUE, &D));
    PetscCall(Same(c, D, R, PETSC_FALSE, "the structure alone"));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(MatDestroy(&R));
  if (c->made && m > 2 && n > 1) { /* another pattern, which MATAIJ does not look at */
    for (int k = 0; k < 2; k++) {
      Mat A = k ? c->aij[0] : c->ours[0];

      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(MatSetValue(A, 2, 0, 3, INSERT_VALUES));
      PetscCall(MatSetValue(A, 0, 1, 3, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(Symbolic(c->aij, type, PETSC_FALSE, &R));
    PetscCall(MatProductNumeric(R));
    PetscCall(Numeric(c, C));
    PetscCall(Same(c, C, R, PETSC_TRUE, "another pattern"));
    PetscCall(MatDestroy(&R));
  }
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of an m x m matrix with an m x n one, and more that fit */
static PetscErrorCode Test(PetscInt m, PetscInt n, Pattern square, Pattern other)
{
  const struct {
    MatProductType type;
    int            operand[3]; /* 0: m x m, 1: m x n, 2: n x m, -1 none */
  } products[] = {
    {MATPRODUCT_AB,   {0, 1, -1}},
    {MATPRODUCT_AB,   {2, 1, -1}},
    {MATPRODUCT_AtB,  {1, 0, -1}},
    {MATPRODUCT_AtB,  {1, 1, -1}},
    {MATPRODUCT_PtAP, {0, 1, -1}},
    {MATPRODUCT_RARt, {0, 2, -1}},
    {MATPRODUCT_ABC,  {2, 0, 1} }
  };
  const PetscInt rows[] = {m, m, n}, columns[] = {m, n, m};
  const Pattern  pattern[] = {square, other, other};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(products); k++) {
    Mat  ours[3], aij[3];
    Case c = {.name = NULL};

    for (int i = 0; i < 3; i++) {
      PetscCall(Create(MATAIJTCU, rows[i], columns[i], pattern[i], &ours[i]));
      PetscCall(Create(MATSEQAIJ, rows[i], columns[i], pattern[i], &aij[i]));
    }
    for (int i = 0; i < 3; i++) {
      const int operand = products[k].operand[i];

      if (operand < 0) continue;
      c.ours[i]    = ours[operand];
      c.aij[i]     = aij[operand];
      c.pattern[i] = pattern[operand];
    }
    PetscCall(TestProduct(&c, products[k].type));
    for (int i = 0; i < 3; i++) {
      PetscCall(MatDestroy(&ours[i]));
      PetscCall(MatDestroy(&aij[i]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCreateGraph() of a matrix with blocks, whole or with holes, and without */
static PetscErrorCode TestGraph(Pattern pattern, PetscInt bs, PetscBool symmetric)
{
  Mat ours, aij, G[2];
  Case c = {.name = "MatCreateGraph()", .pattern = {pattern, pattern}};

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 60, 60, pattern, &ours));
  PetscCall(Create(MATSEQAIJ, 60, 60, pattern, &aij));
  PetscCall(MatSetBlockSize(ours, bs));
  PetscCall(MatSetBlockSize(aij, bs));
  c.ours[0] = ours;
  if (symmetric) { /* as far as anybody knows */
    PetscCall(MatSetOption(ours, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatSetOption(aij, MAT_SYMMETRIC, PETSC_TRUE));
  }
  for (int variant = 0; variant < 16; variant++) {
    const PetscBool symmetrize = (PetscBool)(variant & 1), scale = (PetscBool)(variant >> 1 & 1);
    const PetscReal filter = variant & 4 ? 0.25 : -1;
    PetscInt        at[] = {1, 2}, n = variant & 8 && bs > 2 ? 2 : 0;

    PetscCall(MatCreateGraph(ours, symmetrize, scale, filter, n, at, &G[0]));
    PetscCall(MatCreateGraph(aij, symmetrize, scale, filter, n, at, &G[1]));
    PetscCall(Same(&c, G[0], G[1], PETSC_TRUE, symmetrize ? scale ? "symmetrized and scaled" : "symmetrized" : scale ? "scaled" : "plain"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&G[k]));
  }
  PetscCall(MatDestroy(&ours));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  for (int square = 0; square < NPATTERNS; square++) {
    for (int other = 0; other < NPATTERNS; other++) PetscCall(Test(60, 24, (Pattern)square, (Pattern)other));
  }
  PetscCall(Test(24, 60, BAND, CROSS));
  PetscCall(Test(1, 1, CROSS, CROSS));
  PetscCall(Test(1, 200, CROSS, CROSS));
  PetscCall(Test(300, 1, BLOCKS, FEW));
  PetscCall(Test(400, 300, CROSS, CROSS));
  for (int pattern = 0; pattern < NPATTERNS; pattern++) {
    for (int k = 0; k < 4; k++) PetscCall(TestGraph((Pattern)pattern, k & 1 ? 3 : 1, (PetscBool)(k >> 1)));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out
    args: -a_mat_aijtcu_sparse {{auto cusparse}}

TEST*/
