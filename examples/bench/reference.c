#include "reference.h"
#include "operand.h"

enum {
  SAMPLE  = 2000, /* rows of the sample; the longest row is added */
  COLUMNS = 2     /* last columns of the product, which are compared */
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

/* Compare the last columns of products with N columns. B is the matrix of a filled operand */
PetscErrorCode ReferenceSetColumns(Reference *r, PetscInt N)
{
  const GenerateCSR *csr = r->csr;

  PetscFunctionBegin;
  r->first = PetscMax(0, N - COLUMNS);
  r->N     = N - r->first;
  for (PetscInt c = 0; c < r->N; c++) {
    for (PetscInt k = 0; k < r->n; k++) {
      long double re = 0, im = 0, scale = 0;

      for (PetscInt e = csr->i[r->row[k]]; e < csr->i[r->row[k] + 1]; e++) {
        const long double b = (PetscReal)OperandValue(csr->j[e] + (PetscInt64)(r->first + c) * csr->n);

        re += PetscRealPart(csr->a[e]) * b;
        im += PetscImaginaryPart(csr->a[e]) * b;
        scale += PetscAbsScalar(csr->a[e]) * (b < 0 ? -b : b);
      }
      r->re[c * r->n + k]    = re;
      r->im[c * r->n + k]    = im;
      r->scale[c * r->n + k] = scale;
    }
  }
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
      const PetscInt    at         = c * r->n + k;
      const PetscScalar value      = x[r->row[k]];
      const PetscReal   difference = (PetscReal)(fabsl(PetscRealPart(value) - r->re[at]) + fabsl(PetscImaginaryPart(value) - r->im[at]));

      if (difference > 0) *error = PetscMax(*error, (PetscReal)(difference / r->scale[at]));
      else if (PetscIsNanReal(difference)) *error = PETSC_INFINITY;
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
