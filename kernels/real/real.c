/*
   A complex matrix as a real one, on the host, and a product that does without it.
*/
#include "real.h"
#include "../common/operands.h"

enum {
  COLUMNS = 16 /* of X and Y at a time */
};

HrpbError ComplexFits(int64_t nrows, int64_t ncols, int64_t nnz)
{
  const int64_t most = sizeof(HrpbInt) == 4 ? INT32_MAX : INT64_MAX;

  return nrows > (most - 1) / 2 || ncols > most / 2 || nnz > most / COMPLEX_ENTRIES ? HRPB_ERR_OVERFLOW : HRPB_SUCCESS;
}

void ComplexPatternHost(int64_t nrows, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbInt *real_rowptr, HrpbInt *real_colidx)
{
  real_rowptr[0] = 0;
  for (int64_t i = 0; i < nrows; i++) {
    HrpbInt *to = real_colidx + real_rowptr[2 * i];

    for (int row = 0; row < 2; row++) {
      for (int64_t k = rowptr[i]; k < rowptr[i + 1]; k++) {
        *to++ = 2 * colidx[k];
        *to++ = 2 * colidx[k] + 1;
      }
      real_rowptr[2 * i + row + 1] = (HrpbInt)(to - real_colidx);
    }
  }
}

void ComplexValuesHost(int64_t nrows, const HrpbInt *rowptr, const HrpbScalar *values, HrpbScalar *real_values)
{
  for (int64_t i = 0; i < nrows; i++) {
    const int64_t length = rowptr[i + 1] - rowptr[i];
    HrpbScalar   *first = real_values + COMPLEX_ENTRIES * (rowptr[i] - rowptr[0]), *second = first + 2 * length;

    for (int64_t k = 0; k < length; k++) {
      const HrpbScalar *value = values + 2 * (rowptr[i] + k);

      first[2 * k]      = value[0];
      first[2 * k + 1]  = -value[1];
      second[2 * k]     = value[1];
      second[2 * k + 1] = value[0];
    }
  }
}

void ComplexTakeHost(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to)
{
  for (int64_t k = 0; k < nnz; k++) {
    to[2 * k]     = values[2 * (int64_t)map[k]];
    to[2 * k + 1] = values[2 * (int64_t)map[k] + 1];
  }
}

/* Both real rows of row i of A X, n < N <= COLUMNS, in the order of the real matrix */
static void RowsTimes(const SpmmMatrix *A, int64_t i, SpmmView X, int64_t N, HrpbScalar sums[2][COLUMNS])
{
  for (int64_t n = 0; n < N; n++) sums[0][n] = sums[1][n] = 0;
  for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
    const HrpbScalar  a = A->values[2 * (int64_t)k], b = A->values[2 * (int64_t)k + 1];
    const HrpbScalar *x = X.array + 2 * (int64_t)A->colidx[k] * X.row;

    for (int64_t n = 0; n < N; n++) {
      const HrpbScalar re = x[n * X.column], im = x[n * X.column + X.row];

      sums[0][n] += a * re;
      sums[0][n] += -b * im;
      sums[1][n] += b * re;
      sums[1][n] += a * im;
    }
  }
}

HrpbError ComplexCsrHost(const SpmmMatrix *A, const SpmmOperands *o)
{
  const bool adds = o->update == SPMM_ADD, in_place = adds && o->Y0.array == o->Y.array;

  if (!adds && o->update != SPMM_ASSIGN) return HRPB_ERR_UNSUPPORTED;
  for (int64_t first = 0; first < o->N; first += COLUMNS) {
    const int64_t      N    = o->N - first < COLUMNS ? o->N - first : COLUMNS;
    const SpmmOperands part = SpmmColumns(o, first, N);
    const SpmmView     X = SpmmViewOf(part.X.array, part.X.ld, part.X.layout), Y = SpmmViewOf(part.Y.array, part.Y.ld, part.Y.layout),
                   Y0 = SpmmViewOf(part.Y0.array, part.Y0.ld, part.Y0.layout);

    for (int64_t i = 0; i < A->nrows; i++) {
      HrpbScalar sums[2][COLUMNS];

      if (in_place && A->rowptr[i] == A->rowptr[i + 1]) continue; /* as csr-host */
      RowsTimes(A, i, X, N, sums);
      for (int64_t row = 0; row < 2; row++) {
        for (int64_t n = 0; n < N; n++)
          part.Y.array[(2 * i + row) * Y.row + n * Y.column] =
            adds ? Y0.array[(2 * i + row) * Y0.row + n * Y0.column] + sums[row][n] : sums[row][n];
      }
    }
  }
  return HRPB_SUCCESS;
}
