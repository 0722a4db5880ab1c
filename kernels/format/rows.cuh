/*
   The rows of a CSR matrix as panels, and how their columns are searched.
*/
#pragma once

#include "../common/device.cuh"

typedef struct {
  const HrpbInt *rowptr, *colidx;
  const int32_t *order; /* or NULL */
  int32_t        nrows, panel_rows, npanels;
  int32_t        shift; /* column >> shift is its window: window_cols is a power of two */
} HrpbRows;

static inline HrpbRows HrpbMakeRows(int64_t nrows, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, int32_t panel_rows, int32_t window_cols)
{
  HrpbRows rows;

  rows.rowptr     = rowptr;
  rows.colidx     = colidx;
  rows.order      = order;
  rows.nrows      = (int32_t)nrows;
  rows.panel_rows = panel_rows;
  rows.npanels    = (int32_t)((nrows + panel_rows - 1) / panel_rows);
  rows.shift      = 0;
  while (1 << rows.shift < window_cols) rows.shift++;
  return rows;
}

static __device__ inline int32_t HrpbMatrixRow(const HrpbRows *rows, int64_t panel, int32_t i)
{
  return HrpbRowOfPanel(rows->order, rows->nrows, rows->panel_rows, panel, i);
}

/* The row that an entry belongs to: the last that begins there or before, and has an entry */
static __device__ inline int32_t HrpbRowOfEntry(const HrpbInt *rowptr, int32_t nrows, int64_t entry)
{
  int32_t begin = 0;

  for (int32_t end = nrows; end - begin > 1;) {
    const int32_t middle = begin + (end - begin) / 2;

    if (rowptr[middle] <= entry) begin = middle;
    else end = middle;
  }
  return begin;
}

/* The first of begin to end - 1 whose column is column or more, or end. Columns are sorted there */
template <typename Column> static __device__ inline int64_t HrpbLowerBound(const Column *columns, int64_t begin, int64_t end, int64_t column)
{
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;

    if (columns[middle] < column) begin = middle + 1;
    else end = middle;
  }
  return begin;
}
