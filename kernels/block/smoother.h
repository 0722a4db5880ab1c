/*
   What the set-up of a smoother makes of a vector of real numbers on a device: smoother.cu.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
   The right-hand side with which PETSc estimates eigenvalues for KSPCHEBYSHEV: KSPSetNoisy_Private(), to the bit. x[i]
   is entry first + i of all. Does not wait
*/
HrpbError BlockNoise(int64_t n, int64_t first, HrpbScalar *x, HrpbStream stream);

/* Whether one of n numbers is zero. Waits for the device */
HrpbError BlockHasZero(int64_t n, const HrpbScalar *x, HrpbStream stream, bool *has);

#ifdef __cplusplus
}
#endif
