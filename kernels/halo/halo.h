/*
   Rows of a dense matrix, packed for other processes: one after the other, each contiguous.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
   to[i * N + n] = B[rows[i] + n * ldb], i < nrows, n < N. B is column-major. Without rows (NULL) row i is row i of B.
   On a device all arrays are there, and nothing is waited for
*/
void      HaloPackHost(const HrpbInt *rows, int64_t nrows, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *to);
HrpbError HaloPackDevice(const HrpbInt *rows, int64_t nrows, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *to, HrpbStream stream);

#ifdef __cplusplus
}
#endif
