/*
   Stands in for the table of kernels until that is there.
*/
#include "aijtcuimpl.h"

/*
   Times on a device in picoseconds, fitted to what examples/bench measured on an H200 (test/results/README.md). They are constants, so that the choice, and with it the bits, is the same in every
   run
*/
typedef struct {
  PetscReal launch;       /* of a product, */
  PetscReal least;        /* and as long as it takes with next to nothing to do; */
  PetscReal block;        /* to come to the next block of the panel that has most of them, */
  PetscReal block_column; /* with so many columns; */
  PetscReal brick;        /* to decode a brick of 16 rows, */
  PetscReal brick_column; /* and to multiply it with a column of B, as far as it does not hide behind the next; */
  PetscReal staged;       /* to bring an entry of B into shared memory; */
  PetscReal dense;        /* and for an entry of B or C */
} AIJTCUBrickRates;

typedef struct {
  PetscReal launch;
  PetscReal entry;        /* to read an entry of the CSR, */
  PetscReal entry_column; /* to multiply it with an entry of B of a row-major copy, */
  PetscReal dense;        /* and to copy an entry of B or write one of C; */
  PetscReal in_place;     /* all of that for rows that are multiplied as they come, */
  PetscReal staged;       /* and for rows of B in shared memory, */
  PetscReal staged_entry; /* where reading an entry takes longer; */
  PetscReal column;       /* and for a product column by column, */
  PetscReal column_launch;
  PetscReal scattered;    /* as entry_column, where the rows of B that rows need are all over it, but in the second cache; */
  PetscReal spread;       /* otherwise this, */
  PetscReal spread_byte;  /* and so much for each byte of a tile of all rows of B */
} AIJTCUCSRRates;

typedef struct {
  PetscReal permute; /* an entry of B or C, to another order, */
  PetscReal bricks;  /* times as long as bricks of a matrix that came in a good order */
  PetscReal level;   /* of the search for it, */
  PetscReal entry;   /* and to name an entry anew, and build bricks of it, */
  PetscReal long_entry; /* where rows are so long that they are not sorted in registers; */
  PetscReal one_row;    /* and an entry of the longest row, which one warp goes through */
} AIJTCUClusterRates;

static const AIJTCUBrickRates brick_rates[] = {
  [HRPB_FP64]   = {9.7e6, 10e6, 1.0e6, 5.5e3, 41, 2.8, 0.18, 1.25},
  [HRPB_3XTF32] = {8.0e6, 22e6, 3.2e6, 19e3, 45, 1.45, 0.23, 1.9},
  [HRPB_TF32]   = {14e6, 15e6, 2.3e6, 23e3, 43, 0.62, 0.44, 0.91}
};
#if PetscDefined(USE_REAL_SINGLE)
static const AIJTCUCSRRates csr_rates = {24e6, 3.2, 0.19, 2.1, 0.46, 0.22, 1.6, 2.9, 12e6, 0.34, 0.1, 2.8e-9};
static const AIJTCUClusterRates cluster_rates = {7.7, 0.9, 70e6, 150, 650, 57e3};
#else
static const AIJTCUCSRRates csr_rates = {21e6, 2.6, 0.475, 4.5, 0.78, 0.345, 2.9, 3.9, 12e6, 0.76, 0.50, 4.7e-9};
static const AIJTCUClusterRates cluster_rates = {8.9, 1.0, 70e6, 150, 600, 57e3};
#endif


enum {
  FEWEST_COLUMNS = 8, FEWEST_COPIED = 4, FEWEST_CSR = 8, FEWEST_SCATTERED = PetscDefined(USE_REAL_SINGLE) ? 10 : 8, LONG_ROWS = 128, BEST_STAGED = 4
};
static const PetscReal short_in_turn = (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 0.2 : 0.34);

bool SpmmColumnsRun(const HrpbSurvey *s) { return 2 * s->needed_rows >= s->staged_rows; }
#if !AIJTCU_HAVE_DEVICE
HrpbParams HrpbStagedParams(void) { return (HrpbParams){16, 128, HRPB_STAGED_COLS, 8}; }
HrpbParams HrpbShortParams(void) { return (HrpbParams){8, 64, HRPB_SHORT_COLS, 4}; }
HrpbParams HrpbGatherParams(void) { return (HrpbParams){8, 8, 256, 1}; }
#endif
bool SpmmHasFewPanels(int64_t nrows, const SpmmDevice *d) { return nrows < (int64_t)(5 * d->nsm / 4) * HrpbStagedParams().panel_rows; }
static bool Narrow(const HrpbSurvey *s) { return 5 * s->needed_rows < 4 * s->staged_rows; }
HrpbParams SpmmBrickFormat(const SpmmFacts *f, const SpmmDevice *d)
{
  HrpbParams staged = HrpbStagedParams();
  if (!SpmmColumnsRun(&f->survey)) return HrpbGatherParams();
  if (SpmmHasFewPanels(f->nrows, d)) return HrpbShortParams();
  if (PetscDefined(USE_REAL_DOUBLE) && 20 * f->survey.nnz >= 19 * 8 * f->survey.strip_cols8) return (HrpbParams){8, 64, HRPB_SHORT_COLS, 8};
  if (Narrow(&f->survey)) staged.window_cols /= 2;
  return staged;
}
static double Bricks(const SpmmFacts *f, const HrpbParams *p, HrpbPrecision precision, int64_t N, const SpmmDevice *d)
{
  const AIJTCUBrickRates *r = &brick_rates[precision];
  const HrpbSurvey *survey = &f->survey;
  const HrpbParams format = HrpbStagedParams();
  const PetscReal bricks = (PetscReal)survey->strip_cols16 / (HRPB_BRICK_COLS * (PetscReal)0.9), staged = PetscDefined(USE_REAL_SINGLE) || SpmmHasFewPanels(f->nrows, d) || !Narrow(survey) ? (PetscReal)survey->staged_rows : (PetscReal)(survey->staged_rows + survey->needed_rows) / 2;
  const PetscReal panels = PetscMax(1, (PetscReal)f->nrows / (PetscReal)format.panel_rows);
  const PetscReal columns = PetscMax(N, FEWEST_COLUMNS), in_turn = PetscMin((PetscReal)survey->most_staged_rows * (SpmmHasFewPanels(f->nrows, d) ? short_in_turn : 1), HRPB_PART_COLS) / (PetscReal)format.block_cols;
  const PetscReal blocks = (r->block + r->block_column * columns) * in_turn;
  const PetscReal other = r->launch + ((r->brick + r->brick_column * columns) * bricks + r->staged * staged * columns) * PetscMax(1, d->nsm / panels) + r->dense * (PetscReal)N * ((PetscReal)f->nrows + (PetscReal)f->ncols);
  (void)p;
  return 1e-12 * (double)PetscMax(blocks + other, r->least);
}
static double CsrDirect(const SpmmFacts *f, const HrpbParams *p, HrpbPrecision precision, int64_t N, const SpmmDevice *d)
{
  (void)p; (void)precision; (void)d;
  return 1e-12 * (csr_rates.column_launch + csr_rates.column * (double)N * (double)f->nnz);
}
static double CsrStaged(const SpmmFacts *f, const HrpbParams *p, HrpbPrecision precision, int64_t N, const SpmmDevice *d)
{
  const double panels = (double)f->nrows / f->panel_rows, turns = ceil(panels / d->nsm);
  (void)p; (void)precision;
  return 1e-12 * (csr_rates.launch + (csr_rates.staged_entry + csr_rates.staged * (double)N) * (double)f->nnz * turns * d->nsm / panels);
}
static double CsrRows(const SpmmFacts *f, const HrpbParams *p, HrpbPrecision precision, int64_t N, const SpmmDevice *d)
{
  (void)p; (void)precision; (void)d;
  return 1e-12 * (csr_rates.launch + (csr_rates.entry + csr_rates.in_place * (double)N) * (double)f->nnz);
}
static double CsrCopy(const SpmmFacts *f, const HrpbParams *p, HrpbPrecision precision, int64_t N, const SpmmDevice *d)
{
  const AIJTCUCSRRates *r = &csr_rates;
  const int64_t unit = 64 / (int64_t)sizeof(HrpbScalar);
  const double copied = (double)PetscMax(N, SpmmHasFewPanels(f->nrows, d) ? FEWEST_CSR : FEWEST_COPIED), multiplied = N > unit ? (double)((N + unit - 1) / unit * unit) : copied;
  const double rate = PetscMax(r->scattered, r->spread + r->spread_byte * CSR_TILE_BYTES * (double)f->ncols);
  double t = r->launch + (r->entry + r->entry_column * multiplied) * (double)f->nnz + r->dense * copied * ((double)f->nrows + (double)f->ncols);
  (void)p; (void)precision;
  if (!SpmmColumnsRun(&f->survey)) t += (rate * (double)PetscMax(N, FEWEST_SCATTERED) - r->entry_column * multiplied) * (double)f->nnz;
  return 1e-12 * t;
}
static const SpmmKernel kernel[] = {
  {.name = "bricks-staged", .seconds = Bricks}, {.name = "bricks-gather", .seconds = Bricks}, {.name = "csr-direct", .seconds = CsrDirect}, {.name = "csr-staged", .seconds = CsrStaged}, {.name = "csr-rows", .seconds = CsrRows}, {.name = "csr-copy", .seconds = CsrCopy}, {.name = "bricks-host"}, {.name = "csr-host"}
};
const SpmmKernel *SpmmChooseKernel(SpmmOp op, SpmmFormat format, bool host, const SpmmFacts *f, const HrpbParams *p, const SpmmOperands *o, const SpmmDevice *d)
{
  (void)op; (void)d;
  if (format == SPMM_BRICKS) return &kernel[host ? 6 : p->window_cols > 1 ? 0 : 1];
  return &kernel[host ? 7 : o->N <= f->direct_columns ? 2 : f->panel_rows ? 3 : f->rows_entries ? 4 : 5];
}
SpmmOperands SpmmPlain(int64_t N, const HrpbScalar *X, int64_t ldx, HrpbScalar *Y, int64_t ldy)
{
  return (SpmmOperands){.N = N, .X = {X, ldx, SPMM_COLUMN_MAJOR}, .Y = {Y, ldy, SPMM_COLUMN_MAJOR}, .update = SPMM_ASSIGN};
}
double SpmmSecondsToReorder(const SpmmFacts *f, int32_t levels, const SpmmDevice *d)
{
  (void)d;
  return 1e-12 * ((double)f->nnz * (f->nnz > LONG_ROWS * f->nrows ? cluster_rates.long_entry : cluster_rates.entry) + cluster_rates.one_row * (double)f->longest + cluster_rates.level * levels);
}
double SpmmSecondsReordered(const SpmmFacts *f, HrpbPrecision precision, int64_t N, const SpmmDevice *d)
{
  return cluster_rates.bricks * Bricks(f, NULL, precision, N, d) + 1e-12 * 2 * cluster_rates.permute * (double)N * (double)f->nrows;
}
SpmmFacts SpmmFactsReorderedAtBest(const SpmmFacts *f)
{
  SpmmFacts best = *f;
  best.survey = (HrpbSurvey){.nnz = f->nnz, .strip_cols16 = f->nnz / 16, .staged_rows = BEST_STAGED * f->nrows, .needed_rows = BEST_STAGED * f->nrows};
  return best;
}
static const SpmmDevice standin = {.name = "", .nsm = 132};
HrpbError SpmmGetDevice(const SpmmDevice **d) { *d = &standin; return HRPB_SUCCESS; }
