#include <stdlib.h>
#include <string.h>

#include "../hrpb.h"

const char *HrpbErrorString(HrpbError err)
{
  switch (err) {
  case HRPB_SUCCESS:
    return "no error";
  case HRPB_ERR_PARAMETER:
    return "brick_rows must be 8 or 16, panel_rows a multiple of it up to 1024, block_cols a multiple of 4 up to 256, and panel_rows*block_cols at most 65536";
  case HRPB_ERR_CSR:
    return "malformed CSR: row pointers must be monotone, columns in range, and every row sorted and free of duplicates";
  case HRPB_ERR_ORDER:
    return "the row order is not a permutation of the rows";
  case HRPB_ERR_OVERFLOW:
    return "the matrix is too large for the 32-bit sizes and offsets of HRPB";
  case HRPB_ERR_MEMORY:
    return "out of memory";
  case HRPB_ERR_CORRUPT:
    return "the HRPB is not the one its CSR has";
  }
  return "unknown HRPB error";
}

size_t HrpbBytes(const Hrpb *h)
{
  size_t n = 0;

  if (!h->pattern_ptr) return 0; /* nothing built */
  if (h->order) n += sizeof(*h->order) * (size_t)h->nrows;
  n += sizeof(*h->blocked_row_ptr) * ((size_t)h->npanels + 1);
  n += (sizeof(*h->pattern_ptr) + sizeof(*h->value_ptr) + sizeof(*h->col_ptr) + sizeof(*h->run_ptr)) * ((size_t)h->nblocks + 1);
  n += sizeof(*h->active_cols) * (size_t)h->nstaged;
  n += sizeof(*h->runs) * (size_t)h->nruns;
  n += (size_t)h->pattern_ptr[h->nblocks] * HRPB_PATTERN_UNIT;
  return n;
}

size_t HrpbValueCount(const Hrpb *h)
{
  return h->value_ptr ? (size_t)h->value_ptr[h->nblocks] * HRPB_VALUE_UNIT : 0;
}

void HrpbDestroy(Hrpb *h)
{
  free(h->order);
  free(h->blocked_row_ptr);
  free(h->pattern_ptr);
  free(h->value_ptr);
  free(h->col_ptr);
  free(h->active_cols);
  free(h->run_ptr);
  free(h->runs);
  free(h->pattern);
  memset(h, 0, sizeof(*h));
}
