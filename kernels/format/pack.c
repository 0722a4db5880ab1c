#include "block.h"

void HrpbPackValuesHost(const Hrpb *h, const HrpbInt *rowptr, const HrpbScalar *csr_values, HrpbScalar *values)
{
  HrpbInt next[HRPB_MAX_PANEL]; /* of each row of the panel: its first entry not yet packed */

  for (int32_t p = 0; p < h->npanels; p++) {
    for (int32_t i = 0; i < HrpbPanelRows(h, p); i++) next[i] = rowptr[HrpbPanelRow(h, p, i)];
    for (uint32_t b = h->blocked_row_ptr[p]; b < h->blocked_row_ptr[p + 1]; b++) {
      const HrpbBlock block = HrpbGetBlock(h, b);
      HrpbScalar     *first = values + (size_t)h->value_ptr[b] * HRPB_VALUE_UNIT;
      HrpbScalar     *end   = values + (size_t)h->value_ptr[b + 1] * HRPB_VALUE_UNIT;
      int32_t         strip = 0;

      for (uint32_t brick = 0; brick < block.header->nbricks; brick++) {
        while (brick >= block.strip_start[strip + 1]) strip++;
        for (uint64_t bits = HrpbBrickPattern(&block.brick[brick]); bits; bits &= bits - 1) {
          const uint32_t   bit   = (uint32_t)__builtin_ctzll(bits);
          const HrpbScalar value = csr_values[next[strip * h->params.brick_rows + (int32_t)bit / HRPB_BRICK_COLS]++];

          if (!h->params.pairs || bit % 2 == 0) first[HrpbPlaceOfValue(&block.brick[brick], bit, h->params.pairs)] = value;
        }
      }
      for (HrpbScalar *v = first + block.header->nvalues; v < end; v++) *v = 0;
    }
  }
}
