#include <stdlib.h>

#include "input.h"

bool HrpbParamsAreValid(const HrpbParams *params)
{
  const int32_t bm = params->brick_rows, tm = params->panel_rows, tk = params->block_cols, tw = params->window_cols;

  if (bm != 8 && bm != 16) return false;
  if (tm < bm || tm > HRPB_MAX_PANEL || tm % bm != 0) return false;
  if (tw < 1 || tw > HRPB_MAX_WINDOW || (tw & (tw - 1)) != 0 || tk % tw != 0) return false;
  if (params->pairs && (params->pairs != 1 || tw == 1)) return false;
  if (tk < HRPB_BRICK_COLS || tk > HRPB_MAX_BLOCK || tk % HRPB_BRICK_COLS != 0) return false;
  return tm * tk <= HRPB_MAX_SLOTS;
}

HrpbError HrpbCheckCsr(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx)
{
  if (nrows < 0 || ncols < 0) return HRPB_ERR_CSR;
  if (nrows > INT32_MAX || ncols > INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (rowptr[0] < 0) return HRPB_ERR_CSR;
  /* all row pointers before any column: a wrong one must not lead outside colidx */
  for (int64_t i = 0; i < nrows; i++) {
    if (rowptr[i + 1] < rowptr[i]) return HRPB_ERR_CSR;
  }
  for (int64_t i = 0; i < nrows; i++) {
    HrpbInt last = -1;

    for (HrpbInt k = rowptr[i]; k < rowptr[i + 1]; k++) {
      if (colidx[k] <= last || colidx[k] >= ncols) return HRPB_ERR_CSR;
      last = colidx[k];
    }
  }
  return HRPB_SUCCESS;
}

HrpbError HrpbCheckPairs(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx)
{
  if (nrows % 2 || ncols % 2) return HRPB_ERR_CSR;
  for (int64_t i = 0; i < nrows; i += 2) {
    const HrpbInt length = rowptr[i + 1] - rowptr[i];

    if (length % 2 || rowptr[i + 2] - rowptr[i + 1] != length) return HRPB_ERR_CSR;
    for (HrpbInt k = rowptr[i]; k < rowptr[i + 1]; k += 2) {
      if (colidx[k] % 2 || colidx[k + 1] != colidx[k] + 1) return HRPB_ERR_CSR;
      if (colidx[k + length] != colidx[k] || colidx[k + length + 1] != colidx[k + 1]) return HRPB_ERR_CSR;
    }
  }
  return HRPB_SUCCESS;
}

HrpbError HrpbCheckOrder(int64_t nrows, const int32_t *order)
{
  HrpbError err = HRPB_SUCCESS;
  uint8_t  *seen;

  if (nrows == 0) return HRPB_SUCCESS;
  seen = (uint8_t *)calloc((size_t)nrows, 1);
  if (!seen) return HRPB_ERR_MEMORY;
  for (int64_t i = 0; i < nrows && !err; i++) {
    if (order[i] < 0 || order[i] >= nrows || seen[order[i]]) err = HRPB_ERR_ORDER;
    else seen[order[i]] = 1;
  }
  free(seen);
  return err;
}
