#include "reference.h"
#include "operand.h"

enum {
  SAMPLE  = 2000, /* rows of the sample; the longest row is added */
  COLUMNS = 2,    /* last columns of the product, which are compared */
  ENTRIES = 32    /* of a row, of sampled products */
};

PetscErrorCode ReferenceCreate(const GenerateCSR *csr, Reference *r)
{
  PetscInt longest = 0;

  PetscFunctionBegin;
  r->csr = csr;
  r->n   = PetscMin(csr->m, SAMPLE + 1);
  PetscCall(PetscMalloc4(r->n, &r->row, r->n * COLUMNS, &r->re, r->n * COLUMNS, &r->im, r->n * COLUMNS, &r->scale));
  for (PetscInt i = 1; i < csr->m; i++) {
    if (csr->i[i + 1] - csr->i[i] > csr->i[longest + 1] - csr->i[longest]) longest = i;
  }
  for (PetscInt k = 0; k < r->n; k++) r->row[k] = r->n == csr->m ? k : k == SAMPLE ? longest
                                                                                   : (PetscInt)(GenerateHash(0, k) % csr->m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x y for row i of operand number x and row j of B, with k columns, and |x| |y| */
static void Sample(const GenerateCSR *csr, PetscInt x, PetscInt k, PetscInt i, PetscInt j, long double *re, long double *im, long double *size)
{
  *re = *im = *size = 0;
  for (PetscInt l = 0; l < k; l++) {
    const PetscScalar a   = OperandEntry(x, i + (PetscInt64)l * csr->m), b = OperandEntry(0, j + (PetscInt64)l * csr->n);
    const long double are = PetscRealPart(a), aim = PetscImaginaryPart(a), bre = PetscRealPart(b), bim = PetscImaginaryPart(b);

    *re += are * bre - aim * bim;
    *im += are * bim + aim * bre;
    *size += (long double)PetscAbsScalar(a) * PetscAbsScalar(b);
  }
}

/*
   Compare the last columns of products with N columns of operand number z. The entries are those of A or, where x is
   positive, sampled products of operand number x and B with N columns
*/
static PetscErrorCode SetColumns(Reference *r, PetscInt x, PetscInt z, PetscInt N)
{
  const GenerateCSR *csr = r->csr;

  PetscFunctionBegin;
  r->first = PetscMax(0, N - COLUMNS);
  r->N     = N - r->first;
  PetscCall(PetscArrayzero(r->re, r->n * COLUMNS));
  PetscCall(PetscArrayzero(r->im, r->n * COLUMNS));
  PetscCall(PetscArrayzero(r->scale, r->n * COLUMNS));
  for (PetscInt k = 0; k < r->n; k++) {
    for (PetscInt e = csr->i[r->row[k]]; e < csr->i[r->row[k] + 1]; e++) {
      long double re = PetscRealPart(csr->a[e]), im = PetscImaginaryPart(csr->a[e]), size = PetscAbsScalar(csr->a[e]);

      if (x) Sample(csr, x, N, r->row[k], csr->j[e], &re, &im, &size);
      for (PetscInt c = 0; c < r->N; c++) {
        const PetscScalar b  = OperandEntry(z, csr->j[e] + (PetscInt64)(r->first + c) * csr->n);
        const long double bre = PetscRealPart(b), bim = PetscImaginaryPart(b);

        r->re[c * r->n + k] += re * bre - im * bim;
        r->im[c * r->n + k] += re * bim + im * bre;
        r->scale[c * r->n + k] += size * PetscAbsScalar(b);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products A B with N columns */
PetscErrorCode ReferenceSetColumns(Reference *r, PetscInt N)
{
  PetscFunctionBegin;
  PetscCall(SetColumns(r, 0, 0, N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products (X B^T at the entries of A) Z, all with N columns, of operands number x and z */
PetscErrorCode ReferenceSetFused(Reference *r, PetscInt x, PetscInt z, PetscInt N)
{
  PetscFunctionBegin;
  PetscCall(SetColumns(r, x, z, N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far a part of a value is off. Nothing where both are the same infinity in this precision: the sum overflows */
static long double Off(PetscReal part, long double right)
{
  return PetscIsInfReal(part) && part == (PetscReal)right ? 0 : fabsl(part - right);
}

/* The larger of an error and that of a value */
static void Larger(PetscScalar value, long double re, long double im, long double scale, PetscReal *error)
{
  const long double off = Off(PetscRealPart(value), re) + Off(PetscImaginaryPart(value), im);

  if (off > 0) *error = PetscMax(*error, (PetscReal)(off / scale));
  else if (isnan(off)) *error = PETSC_INFINITY;
}

/* The largest |C - X B^T| / (|X| |B|^T) of entries of each row of the sample, of operand number x with N columns */
PetscErrorCode ReferenceSampledError(const Reference *r, PetscInt x, PetscInt N, Mat C, PetscReal *error)
{
  const GenerateCSR *csr = r->csr;
  const PetscScalar *c;

  PetscFunctionBegin;
  *error = 0;
  PetscCall(MatSeqAIJGetArrayRead(C, &c));
  for (PetscInt k = 0; k < r->n; k++) {
    const PetscInt begin = csr->i[r->row[k]], end = csr->i[r->row[k] + 1], step = (end - begin) / ENTRIES + 1;

    for (PetscInt e = begin; e < end; e += step) {
      long double re, im, size;

      Sample(csr, x, N, r->row[k], csr->j[e], &re, &im, &size);
      Larger(c[e], re, im, size, error);
    }
  }
  PetscCall(MatSeqAIJRestoreArrayRead(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The largest |C - A B| / (|A| |B|) of the sample. Infinite where an entry is not a number, or where an empty sum is
   not zero.
*/
PetscErrorCode ReferenceError(const Reference *r, Mat C, PetscReal *error)
{
  PetscFunctionBegin;
  *error = 0;
  for (PetscInt c = 0; c < r->N; c++) {
    Vec                v;
    const PetscScalar *x;

    PetscCall(MatDenseGetColumnVecRead(C, r->first + c, &v));
    PetscCall(VecGetArrayRead(v, &x));
    for (PetscInt k = 0; k < r->n; k++) {
      const PetscInt at = c * r->n + k;

      Larger(x[r->row[k]], r->re[at], r->im[at], r->scale[at], error);
    }
    PetscCall(VecRestoreArrayRead(v, &x));
    PetscCall(MatDenseRestoreColumnVecRead(C, r->first + c, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReferenceDestroy(Reference *r)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(r->row, r->re, r->im, r->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}
