/*
   The transpose of a CSR matrix: its pattern on the host, and its values where those of the matrix are.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
   rowptr and colidx have nrows rows and ncols columns, and rowptr begins with 0. Entry k of the transpose, to_rowptr
   [ncols + 1] and to_colidx, is entry map[k] of the matrix. Columns ascend in its rows if no entry comes twice
*/
void CsrTransposeHost(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbInt *to_rowptr, HrpbInt *to_colidx, HrpbInt *map);

/* to[k] = values[map[k]], k < nnz. On a device all arrays are there, and nothing is waited for */
void      CsrTakeHost(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to);
HrpbError CsrTakeDevice(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to, HrpbStream stream);

#ifdef __cplusplus
}
#endif
