/*
   The transpose on the host: entries are counted for each column, and then put there in the order of their rows.
*/
#include "transpose.h"

void CsrTransposeHost(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbInt *to_rowptr, HrpbInt *to_colidx, HrpbInt *map)
{
  for (int64_t j = 0; j <= ncols; j++) to_rowptr[j] = 0;
  if (nrows == 0 || ncols == 0) return;
  for (int64_t k = 0; k < rowptr[nrows]; k++) to_rowptr[colidx[k] + 1]++;
  for (int64_t j = 0; j < ncols; j++) to_rowptr[j + 1] += to_rowptr[j];
  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t k = rowptr[i]; k < rowptr[i + 1]; k++) {
      const HrpbInt at = to_rowptr[colidx[k]]++; /* each ends where the next one begins */

      to_colidx[at] = (HrpbInt)i;
      map[at]       = (HrpbInt)k;
    }
  }
  for (int64_t j = ncols; j > 0; j--) to_rowptr[j] = to_rowptr[j - 1];
  to_rowptr[0] = 0;
}

void CsrTakeHost(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to)
{
  for (int64_t k = 0; k < nnz; k++) to[k] = values[map[k]];
}
