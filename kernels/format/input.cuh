/*
   HrpbCheckCsr() and HrpbCheckOrder() of the host on the device. Later kernels trust what passed here.
*/
#pragma once

#include "../common/device.cuh"
extern "C" {
#include "input.h"
}

enum {
  HRPB_MANY_ROWS = 128
};

typedef struct {
  int64_t nnz;
  int64_t heaviest; /* the most entries of HRPB_MANY_ROWS consecutive rows, the first a multiple of it */
} HrpbInput;

/* order may be NULL. input is filled on success. Waits for the stream */
HrpbError HrpbCheckInputDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, HrpbStream stream, HrpbInput *input);
