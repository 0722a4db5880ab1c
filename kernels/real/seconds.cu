/*
   The model of the time of the kernels for CSR of complex numbers, from the facts of the real matrix.
*/
#include "pairs.cuh"
#include "rates.h"

enum {
  IN_TURN     = 100000, /* ps from one entry of a row of the real matrix to the next: lanes of a row wait for them */
  LEAST       = 4,      /* columns: fewer take as long */
  LEAST_NODES = 8       /* the same by nodes */
};

/* Rows are multiplied side by side, and no product takes less than the longest of them, or its longest part */
static double InTurn(const SpmmFacts *real)
{
  const int32_t part = CsrPartEntries(real->nrows, real->nnz);

  return (double)IN_TURN * (double)(real->longest < part ? real->longest : part);
}

static double Rows(const SpmmFacts *real, int64_t N, const SpmmCsrTimes *t)
{
  const double entry = complex_parts.rows.entry * t->entry + complex_parts.rows.in_place * t->in_place * (double)N;

  return complex_parts.rows.launch * t->launch + entry * (double)real->nnz;
}

static double Columns(const SpmmFacts *real, int64_t N, const SpmmCsrTimes *t)
{
  const double bring = complex_parts.columns.scattered * t->scattered * (double)real->survey.needed_rows;

  return (double)N * (complex_parts.columns.launch * t->launch + complex_parts.columns.entry * t->entry * (double)real->nnz + bring);
}

/* An entry of B or C for each column */
static double Dense(const SpmmFacts *real, double columns, const SpmmCsrTimes *t)
{
  return t->dense * (double)(real->nrows + real->ncols) * columns;
}

static double Nodes(const SpmmFacts *real, int64_t N, const SpmmCsrTimes *t)
{
  const double columns = (double)(N > LEAST_NODES ? N : LEAST_NODES);
  const double entries = (complex_parts.nodes.entry * t->entry + complex_parts.nodes.entry_column * t->entry_column * columns) * (double)real->nnz;

  return fmax(t->launch + InTurn(real), complex_parts.nodes.launch * t->launch + entries + complex_parts.nodes.dense * Dense(real, columns, t));
}

/* As csr-staged. Its panels are shared out evenly */
static double Panels(const SpmmFacts *real, int64_t N, const SpmmCsrTimes *t)
{
  const double entry = complex_parts.panels.staged_entry * t->staged_entry + complex_parts.panels.staged * t->staged * (double)N;

  return complex_parts.panels.launch * t->launch + entry * (double)real->nnz + complex_parts.panels.dense * t->dense * (double)N * (double)real->nrows;
}

/*
   As csr-copy: lanes wait for the longest row of their warp, and what rows of A before have not brought comes from L2
   or from memory
*/
static double Copy(const SpmmFacts *real, int64_t N, const SpmmCsrTimes *t, double cache)
{
  const int64_t unit    = 64 / (int64_t)sizeof(HrpbScalar), many = (N + unit - 1) / unit * unit;
  const double  turns   = (double)(real->nnz > real->turns ? real->nnz : real->turns);
  const double  columns = (double)(N > unit ? many : N > LEAST ? N : LEAST);
  const double  entries = complex_parts.copy.entry * t->entry * (double)real->nnz + complex_parts.copy.entry_column * t->entry_column * columns * turns;
  const double  brought = (double)real->survey.needed_rows * (double)(N > t->fewest_scattered ? N : t->fewest_scattered);
  const double  missed  = fmax(0, 1 - cache / ((double)CSR_TILE_BYTES * (double)(real->ncols ? real->ncols : 1)));
  const double  bring   = (complex_parts.copy.scattered * t->scattered + complex_parts.copy.spread * t->spread * missed) * brought;

  return complex_parts.copy.launch * t->launch + fmax(InTurn(real), entries + bring + complex_parts.copy.dense * Dense(real, columns, t));
}

double ComplexCsrSeconds(const SpmmFacts *real, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t   = &device->model->csr;
  const bool          cut = real->nrows && real->longest > CsrPartEntries(real->nrows, real->nnz);

  if (!real->nrows) return 0;
  if (real->pair_panels) return 1e-12 * Panels(real, N, t);
  if (real->rows_entries) return 1e-12 * Rows(real, N, t);
  if (N <= (cut ? COMPLEX_FEW_CUT : COMPLEX_FEW)) return 1e-12 * Columns(real, N, t);
  if (real->nodes) return 1e-12 * Nodes(real, N, t);
  return 1e-12 * Copy(real, N, t, device->model->cache);
}
