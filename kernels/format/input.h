/*
   What a caller may hand over wrongly: the parameters, the CSR, the order. The builder refuses it, the checker trusts
   nothing else.
*/
#pragma once

#include <stdbool.h>

#include "hrpb.h"

bool HrpbParamsAreValid(const HrpbParams *params);

/* HRPB_ERR_OVERFLOW for a size beyond 32 bits (nothing is read then), HRPB_ERR_CSR for a malformed matrix */
HrpbError HrpbCheckCsr(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx);

/* HRPB_ERR_CSR unless a CSR that has passed that has the entries of whole blocks of 2 x 2, whatever their values */
HrpbError HrpbCheckPairs(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx);

/* HRPB_ERR_ORDER if order is not a permutation of the rows, HRPB_ERR_MEMORY without O(nrows) workspace */
HrpbError HrpbCheckOrder(int64_t nrows, const int32_t *order);
