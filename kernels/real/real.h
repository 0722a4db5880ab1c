/*
   A complex matrix as a real one of twice the rows and columns: an entry a + bi of row i and column j is the block

     a -b
     b  a

   at rows 2i, 2i + 1 and columns 2j, 2j + 1. A complex number in memory is its two parts one behind the other. So a
   column-major block of n complex rows with leading dimension ld is a real one of 2n rows with leading dimension 2 ld,
   and the real product makes the complex one: a x - b y and b x + a y for each entry and x + iy.

   The real matrix has four entries for each. Those of row 2i begin at 4 (rowptr[i] - rowptr[0]), and those of row
   2i + 1 follow. Columns ascend where those of the complex matrix do. Its transpose is the real matrix of the conjugate
   transpose.
*/
#pragma once

#include "../spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  COMPLEX_ENTRIES = 4, /* of the real matrix for one of the complex matrix */
  COMPLEX_FEW     = 2, /* columns that take less time one by one, */
  COMPLEX_FEW_CUT = 3  /* and the same where rows are cut */
};

/* HRPB_ERR_OVERFLOW where the real matrix has more rows, columns or entries than HrpbInt counts */
HrpbError ComplexFits(int64_t nrows, int64_t ncols, int64_t nnz);

/*
   The pattern of the real matrix, real_rowptr [2 nrows + 1] and real_colidx [4 nnz], and its values [4 nnz]. Entry k of
   the complex matrix is values[2k] + i values[2k + 1], k from rowptr[0]. On a device all arrays are there, that of
   values and the results begin where 2 scalars do, and nothing is waited for
*/
void      ComplexPatternHost(int64_t nrows, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbInt *real_rowptr, HrpbInt *real_colidx);
void      ComplexValuesHost(int64_t nrows, const HrpbInt *rowptr, const HrpbScalar *values, HrpbScalar *real_values);
HrpbError ComplexPatternDevice(int64_t nrows, int64_t nnz, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbInt *real_rowptr,
  HrpbInt *real_colidx, HrpbStream stream);
HrpbError ComplexValuesDevice(int64_t nrows, int64_t nnz, const HrpbInt *rowptr, const HrpbScalar *values, HrpbScalar *real_values,
  HrpbStream stream);

/*
   What csr-host makes of the real matrix, to the bit, without the real matrix: a plain product, or one that is added.
   The arrays and the sizes of A are those of the complex matrix, the operands count real rows
*/
HrpbError ComplexCsrHost(const SpmmMatrix *A, const SpmmOperands *);

/* CsrTakeHost() and CsrTakeDevice() (csr/transpose.h) for complex numbers */
void      ComplexTakeHost(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to);
HrpbError ComplexTakeDevice(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to, HrpbStream stream);

/*
   For one vector the real matrix is too much to read: a kernel for SPMM_OP_VECTOR that reads the complex one, or its
   conjugate. Its arrays and operands are pairs of scalars, and nrows, ncols, leading dimensions and the VectorPlan
   count complex numbers. It is not in the table of kernels: nothing chooses between these and others
*/
const SpmmKernel *ComplexVectorKernel(const VectorPlan *, bool conjugate);

/*
   A kernel for such products with blocks that reads the complex matrix, with the schedule of the real one: its arrays
   are those of the complex matrix, nrows, ncols and the operands those of the real one. NULL where there is none. The
   matrix has the VectorPlan of ComplexCsrDevice()
*/
const SpmmKernel *ComplexCsrKernel(const CsrSchedule *, const VectorPlan *, const SpmmOperands *);

/*
   What these kernels need of a complex matrix beside the schedule of the real one, in a VectorPlan that has nothing
   else: the parts of rows that are cut, which are the same as in the real matrix, or nodes (vector/vector.h), where
   they pay. After an error there is nothing in it
*/
HrpbError ComplexCsrDevice(const CsrSchedule *, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *);

/*
   The same for few columns, one after the other. The matrix has its VectorPlan in place of the schedule. Whether it is
   taken follows from the N columns of the whole product, of which the operands may be a part, from the schedule, and
   from the VectorPlan of ComplexCsrDevice()
*/
bool              ComplexCsrTakesColumns(const CsrSchedule *, const VectorPlan *, const SpmmOperands *, int64_t N);
const SpmmKernel *ComplexCsrColumnsKernel(void);

/* The model of their time for a plain product, from the facts of the real matrix; 0 where that has no rows */
double ComplexCsrSeconds(const SpmmFacts *, int64_t N, const SpmmDevice *);

/* The transpose for these kernels, with complex values: see VectorTransposeDevice() */
HrpbError ComplexTransposeDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, const VectorPlan *, VectorTranspose *);
HrpbError ComplexTransposeValuesDevice(int64_t first, const HrpbScalar *values, HrpbStream stream, const VectorTranspose *);

#ifdef __cplusplus
}
#endif
