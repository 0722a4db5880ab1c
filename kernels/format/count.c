#include <stdlib.h>

#include "input.h"

HrpbError HrpbCountStripColumns(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t brick_rows, int64_t *count)
{
  HrpbError err;
  int32_t  *last_strip; /* of each column: the last strip seen to use it, counted from 1 */

  *count = 0;
  if (brick_rows != 8 && brick_rows != 16) return HRPB_ERR_PARAMETER;
  err = HrpbCheckCsr(nrows, ncols, rowptr, colidx);
  if (err || nrows == 0 || ncols == 0) return err;
  last_strip = (int32_t *)calloc((size_t)ncols, sizeof(*last_strip));
  if (!last_strip) return HRPB_ERR_MEMORY;
  for (int64_t i = 0; i < nrows; i++) {
    const int32_t strip = (int32_t)(i / brick_rows) + 1;

    for (HrpbInt k = rowptr[i]; k < rowptr[i + 1]; k++) {
      if (last_strip[colidx[k]] == strip) continue;
      last_strip[colidx[k]] = strip;
      (*count)++;
    }
  }
  free(last_strip);
  return HRPB_SUCCESS;
}
