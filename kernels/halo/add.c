/*
   Adding sums of other processes on the host.
*/
#include "halo.h"

enum {
  ROWS = 64 /* at a time: what came for them stays in cache from column to column */
};

void HaloAddHost(int64_t nrows, const HrpbInt *rows, const HrpbInt *start, const HrpbInt *at, int64_t N, const HrpbScalar *from, HrpbScalar *C, int64_t ldc)
{
  for (int64_t first = 0; first < nrows; first += ROWS) {
    const int64_t end = first + ROWS < nrows ? first + ROWS : nrows;

    for (int64_t n = 0; n < N; n++) {
      for (int64_t i = first; i < end; i++) {
        HrpbScalar *c = &C[rows[i] + n * ldc];

        for (int64_t k = start[i]; k < start[i + 1]; k++) *c += from[at[k] * N + n];
      }
    }
  }
}
