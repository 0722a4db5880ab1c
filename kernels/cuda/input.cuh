/*
   HrpbCheckCsr() and HrpbCheckOrder() of the host on the device: later kernels trust what passed here.
*/
#pragma once

#include "device.cuh"

/* order may be NULL; nnz is set on success, when everything on stream has ended */
HrpbError HrpbCheckInputDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, HrpbStream stream, int64_t *nnz);
