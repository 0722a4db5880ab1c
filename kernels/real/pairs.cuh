/*
   What the kernels for CSR of complex numbers share. They stand in for kernels of the real matrix that the choice
   knows, and are in no table.
*/
#pragma once

#include "real.h"
#include "../common/launch.cuh"
#include "../csr/csr.cuh"
#include "../vector/vector.cuh"

/* Column-major operands, plain or added. Nothing but the operands is looked at */
bool PairsTake(const SpmmFacts *, const HrpbParams *, const SpmmOperands *, const SpmmDevice *);

/* rows.cu, nodes.cu, panels.cu */
extern "C" const SpmmKernel ComplexCsrRows, ComplexCsrNodes, ComplexCsrSingles, ComplexCsrPanels;

/* nodes.cu: find whether columns of rows are spread over the plan's matrix. Waits */
HrpbError ComplexScatterDevice(const HrpbInt *rowptr, const HrpbInt *colidx, cudaStream_t, VectorPlan *);

/*
   panels.cu: what that kernel needs, where it pays; or, if panel_rows is not zero, for panels of so many rows wherever
   it can multiply. The plan has the sizes of the matrix, whose longest row is given
*/
HrpbError ComplexPanelsDevice(int64_t longest, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t panel_rows, cudaStream_t, VectorPlan *);

/*
   parts.cu: list the rows that are cut, and their parts, in the plan; the bytes of workspace for the sums of parts;
   rows of the product from these
*/
HrpbError ComplexCutDevice(const CsrSchedule *, const HrpbInt *rowptr, cudaStream_t, VectorPlan *);
size_t    ComplexPartialBytes(const VectorPlan *, int64_t N);
HrpbError ComplexCombine(const SpmmMatrix *, const struct ComplexProduct &, const VectorPair *sums, cudaStream_t);
