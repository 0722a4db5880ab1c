/*
   CSR of complex numbers times a block, without the real matrix: it has 48 bytes for each entry in double precision,
   and the complex one has 20. Which kernel multiplies, what it needs, and few columns one by one.
*/
#include "pairs.cuh"

bool PairsTake(const SpmmFacts *, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return o->X.layout == SPMM_COLUMN_MAJOR && o->Y.layout == SPMM_COLUMN_MAJOR &&
         (o->update == SPMM_ASSIGN || (o->update == SPMM_ADD && o->Y0.layout == SPMM_COLUMN_MAJOR));
}

/* Few columns one after the other, by the kernel for one vector */
static HrpbError RunColumns(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const SpmmKernel *vector = ComplexVectorKernel(A->vector, false);

  for (int64_t n = 0; n < o->N; n++) {
    const SpmmOperands column = SpmmColumns(o, n, 1);

    HrpbCall(vector->run(A, &column, work, stream));
  }
  return HRPB_SUCCESS;
}

static const SpmmKernel columns = {
  .name   = "csr-columns-complex",
  .what   = "CSR of complex numbers times a few columns, one after the other",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .work   = VectorPairWork,
  .run    = RunColumns
};

/* Where the second launch is refused, C must not have been added to by the first. Short rows have kernels that suit */
bool ComplexCsrTakesColumns(const CsrSchedule *s, const VectorPlan *v, const SpmmOperands *o, int64_t N)
{
  if (s->rows_entries || v->panel_rows) return false;
  return N <= (s->nparts ? COMPLEX_FEW_CUT : COMPLEX_FEW) && o->update == SPMM_ASSIGN && PairsTake(NULL, NULL, o, NULL);
}

const SpmmKernel *ComplexCsrColumnsKernel(void)
{
  return &columns;
}

const SpmmKernel *ComplexCsrKernel(const CsrSchedule *s, const VectorPlan *v, const SpmmOperands *o)
{
  if (v->nparts != s->nparts / 2 || !PairsTake(NULL, NULL, o, NULL)) return NULL;
#if !defined(HRPB_USE_SINGLE)
  if (v->panel_rows) return &ComplexCsrPanels;
#endif
  if (s->rows_entries) return &ComplexCsrRows;
  return v->nnodes ? &ComplexCsrNodes : &ComplexCsrSingles;
}

/* A row has one lane in this plan: nodes are sought whatever the lengths of rows. Rows that are cut have none */
static HrpbError Seek(const CsrSchedule *s, const HrpbInt *rowptr, const HrpbInt *colidx, cudaStream_t stream, VectorPlan *v)
{
  if (!s->nparts) HrpbCall(ComplexPanelsDevice(s->longest / 2, rowptr, colidx, 0, stream, v));
  if (v->panel_rows || s->rows_entries) return HRPB_SUCCESS;
  HrpbCall(ComplexScatterDevice(rowptr, colidx, stream, v));
  return s->nparts ? ComplexCutDevice(s, rowptr, stream, v) : VectorNodesDevice(rowptr, colidx, stream, v);
}

HrpbError ComplexCsrDevice(const CsrSchedule *s, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *v)
{
  HrpbError err;

  *v       = VectorPlan();
  v->nrows = s->nrows / 2;
  v->ncols = s->ncols / 2;
  v->nnz   = s->nnz / COMPLEX_ENTRIES;
  v->lanes = 1;
  err      = Seek(s, rowptr, colidx, stream, v);
  if (err) VectorPlanDestroyDevice(v, stream);
  return err;
}
