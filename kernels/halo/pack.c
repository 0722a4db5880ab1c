/*
   Packing on the host.
*/
#include "halo.h"

enum {
  ROWS = 64 /* at a time: what is packed of them stays in cache from column to column */
};

void HaloPackHost(const HrpbInt *rows, int64_t nrows, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *to)
{
  for (int64_t first = 0; first < nrows; first += ROWS) {
    const int64_t end = first + ROWS < nrows ? first + ROWS : nrows;

    for (int64_t n = 0; n < N; n++) {
      for (int64_t i = first; i < end; i++) to[i * N + n] = B[rows[i] + n * ldb];
    }
  }
}
