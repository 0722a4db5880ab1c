/*
   Rows of a dense matrix, packed for other processes: one after the other, each contiguous. Sums of other processes,
   packed alike, added to rows of a dense matrix.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
   to[i * N + n] = B[rows[i] + n * ldb], i < nrows, n < N. B is column-major. On a device all arrays are there,
   and nothing is waited for
*/
void      HaloPackHost(const HrpbInt *rows, int64_t nrows, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *to);
HrpbError HaloPackDevice(const HrpbInt *rows, int64_t nrows, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *to, HrpbStream stream);

/*
   C[rows[i] + n * ldc] += from[at[k] * N + n], for k from start[i] to start[i + 1] - 1 one after the other, i < nrows,
   n < N. C is column-major, and no row comes twice
*/
void      HaloAddHost(int64_t nrows, const HrpbInt *rows, const HrpbInt *start, const HrpbInt *at, int64_t N, const HrpbScalar *from, HrpbScalar *C, int64_t ldc);
HrpbError HaloAddDevice(int64_t nrows, const HrpbInt *rows, const HrpbInt *start, const HrpbInt *at, int64_t N, const HrpbScalar *from, HrpbScalar *C, int64_t ldc, HrpbStream stream);

#ifdef __cplusplus
}
#endif
