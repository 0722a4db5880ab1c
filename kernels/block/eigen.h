/*
   The first eigenvectors of a small symmetric matrix, on a device. One thread block does all, in double precision, with
   the matrix in shared memory: eigen.cu.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All arrays are on the device */
typedef struct {
  int32_t           n, k;   /* rows; eigenvectors that are wanted, of the least eigenvalues */
  const HrpbScalar *A;      /* each column after the other. What is below the diagonal is not read */
  HrpbScalar       *Z;      /* n x k, orthonormal */
  HrpbScalar       *values; /* k of them, in ascending order */
  HrpbScalar       *good;   /* one, or zero: then Z and values are anything. So it is with NaN, and where eigenvalues
                               are so close that vectors were not independent */
  void *work;               /* BlockEigenWork() bytes */
} BlockEigen;

size_t BlockEigenWork(int32_t n);

/* HRPB_ERR_UNSUPPORTED, with nothing done, for less than 4 rows, and for more than a thread block has room for: on
   Hopper 216 where a third of the vectors are wanted */
HrpbError BlockEigenvectors(const BlockEigen *, HrpbStream);

#ifdef __cplusplus
}
#endif
