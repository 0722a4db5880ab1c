/*
   A complex matrix as a real one, on the host.
*/
#include "real.h"

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
