#include <stdlib.h>
#include <string.h>

#include "hrpb.h"

const char *HrpbErrorString(HrpbError err)
{
  switch (err) {
  case HRPB_SUCCESS:
    return "no error";
  case HRPB_ERR_PARAMETER:
    return "brick_rows must be 8 or 16, panel_rows a multiple of it up to 1024, block_cols a multiple of 4 up to 256, panel_rows*block_cols at most 65536, and window_cols 1, 2, 4, 8 or 16 and a divisor of block_cols";
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
  case HRPB_ERR_DEVICE_MEMORY:
    return "out of device memory";
  case HRPB_ERR_DEVICE:
    return "a CUDA call failed";
  case HRPB_ERR_UNSUPPORTED:
    return "no kernel for this on this device";
  case HRPB_ERR_OPERANDS:
    return "operands of a product must have leading dimensions that their layouts allow, Y must be another array than X and B, and the blocks of D must be as many rows as divide those of the matrix";
  }
  return "unknown HRPB error";
}

size_t HrpbBytes(const Hrpb *h)
{
  size_t n = 0;

  if (!h->pattern_ptr) return 0; /* nothing built */
  if (h->order) n += sizeof(*h->order) * (size_t)h->nrows;
  n += sizeof(*h->blocked_row_ptr) * ((size_t)h->npanels + 1);
  n += (sizeof(*h->pattern_ptr) + sizeof(*h->value_ptr) + sizeof(*h->window_ptr)) * ((size_t)h->nblocks + 1);
  n += sizeof(*h->windows) * (size_t)h->nwindows;
  n += (size_t)h->pattern_bytes;
  return n;
}

size_t HrpbValueCount(const Hrpb *h)
{
  return (size_t)h->value_count;
}

void HrpbDestroy(Hrpb *h)
{
  free(h->order);
  free(h->blocked_row_ptr);
  free(h->pattern_ptr);
  free(h->value_ptr);
  free(h->window_ptr);
  free(h->windows);
  free(h->pattern);
  memset(h, 0, sizeof(*h));
}
