/*
   The table of kernels, and what walks it.
*/
#include <string.h>

#include "spmm.h"

/* What is linked is in the table: a program without CUDA, or the fuzzer, has the kernels of the host alone */
#define DEVICE_KERNEL __attribute__((weak)) extern const SpmmKernel

DEVICE_KERNEL SpmmBricksStaged, SpmmBricksRows, SpmmBricksGather, SpmmBricksGeneral;
DEVICE_KERNEL SpmmSampledBricks, SpmmSampledStaged, SpmmSampledRows, SpmmSampledCopy, SpmmFusedBricks;
DEVICE_KERNEL SpmmCsrDirect, SpmmCsrStaged, SpmmCsrRows, SpmmCsrCopy, SpmmCsrGeneral;
DEVICE_KERNEL SpmmVectorStaged, SpmmVectorBins, SpmmVectorNodes, SpmmVectorCsr16, SpmmVectorCsr;
extern const SpmmKernel SpmmBricksHost, SpmmCsrHost;

/* The first that takes a product makes it: the order decides where several do */
static const SpmmKernel *const kernels[] = {
  &SpmmBricksStaged,
  &SpmmBricksRows,
  &SpmmBricksGather,
  &SpmmBricksGeneral,
  &SpmmCsrDirect,
  &SpmmCsrStaged,
  &SpmmCsrRows,
  &SpmmCsrCopy,
  &SpmmCsrGeneral,
  &SpmmSampledBricks,
  &SpmmSampledStaged,
  &SpmmSampledRows,
  &SpmmSampledCopy,
  &SpmmFusedBricks,
  &SpmmVectorStaged,
  &SpmmVectorBins,
  &SpmmVectorNodes,
  &SpmmVectorCsr16,
  &SpmmVectorCsr,
  &SpmmBricksHost,
  &SpmmCsrHost
};

const SpmmKernel *SpmmKernelGet(int i)
{
  for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
    if (kernels[k] && i-- == 0) return kernels[k];
  }
  return NULL;
}

const SpmmKernel *SpmmKernelFind(const char name[])
{
  const SpmmKernel *kernel = NULL;

  for (int i = 0; (kernel = SpmmKernelGet(i)) && strcmp(kernel->name, name); i++);
  return kernel;
}

const SpmmKernel *SpmmChooseKernel(SpmmOp op, SpmmFormat format, bool host, const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *operands, const SpmmDevice *device)
{
  for (int i = 0; SpmmKernelGet(i); i++) {
    const SpmmKernel *k = SpmmKernelGet(i);

    if (k->op == op && k->format == format && k->host == host && k->takes(facts, params, operands, device)) return k;
  }
  return NULL;
}

void SpmmFactsOfCsr(const CsrSchedule *csr, SpmmFacts *f)
{
  f->nnz            = csr->nnz;
  f->longest        = csr->longest;
  f->turns          = csr->turns;
  f->direct_columns = csr->direct_columns;
  f->panel_rows     = csr->panel_rows;
  f->staged_rows    = csr->staged_rows;
  f->panels_sampled = csr->panels_sampled;
  f->rows_entries   = csr->rows_entries;
}

SpmmFacts SpmmFactsOf(const SpmmMatrix *A)
{
  SpmmFacts f = {.nrows = A->nrows, .ncols = A->ncols};

  if (A->csr) SpmmFactsOfCsr(A->csr, &f);
  if (A->vector) {
    f.nnz           = A->vector->nnz;
    f.longest       = A->vector->longest;
    f.nodes         = A->vector->nnodes;
    f.bins          = A->vector->nrows > 0 && A->vector->lanes == 0;
    f.staged        = A->vector->blocks != NULL;
    f.short_columns = A->vector->columns != NULL;
  }
  if (A->hrpb) {
    f.nnz         = A->hrpb->nnz;
    f.max_pattern = A->hrpb->max_pattern;
    f.max_values  = A->hrpb->max_values;
  }
  return f;
}

SpmmOperands SpmmPlain(int64_t N, const HrpbScalar *X, int64_t ldx, HrpbScalar *Y, int64_t ldy)
{
  return (SpmmOperands){.N = N, .X = {X, ldx, SPMM_COLUMN_MAJOR}, .Y = {Y, ldy, SPMM_COLUMN_MAJOR}, .update = SPMM_ASSIGN};
}

SpmmOperands SpmmSampled(int64_t N, const HrpbScalar *left, int64_t ldleft, const HrpbScalar *right, int64_t ldright, bool scale, HrpbScalar *y)
{
  return (SpmmOperands){.N = N, .X = {right, ldright, SPMM_COLUMN_MAJOR}, .B = {left, ldleft, SPMM_COLUMN_MAJOR}, .Y = {y, 0, SPMM_COLUMN_MAJOR}, .update = scale ? SPMM_SCALE : SPMM_ASSIGN};
}

SpmmOperands SpmmFused(int64_t K, const HrpbScalar *left, int64_t ldleft, const HrpbScalar *right, int64_t ldright, bool scale, bool softmax, int64_t N, const HrpbScalar *z, int64_t ldz, HrpbScalar *y, int64_t ldy)
{
  SpmmOperands o = SpmmSampled(N, left, ldleft, right, ldright, scale, y);

  o.Y.ld    = ldy;
  o.K       = K;
  o.Z       = (SpmmIn){z, ldz, SPMM_COLUMN_MAJOR};
  o.softmax = softmax;
  return o;
}

bool SpmmIsPlain(const SpmmOperands *o)
{
  return o->update == SPMM_ASSIGN && o->X.layout == SPMM_COLUMN_MAJOR && o->Y.layout == SPMM_COLUMN_MAJOR;
}

/* From an operand's first scalar to that of a column */
static int64_t ToColumn(int64_t ld, SpmmLayout layout, int64_t n)
{
  return layout == SPMM_COLUMN_MAJOR ? n * ld : n;
}

SpmmOperands SpmmColumns(const SpmmOperands *o, int64_t first, int64_t N)
{
  SpmmOperands part = *o;

  part.N = N;
  part.X.array += ToColumn(o->X.ld, o->X.layout, first);
  part.Y.array += ToColumn(o->Y.ld, o->Y.layout, first);
  if (o->Y0.array) part.Y0.array += ToColumn(o->Y0.ld, o->Y0.layout, first);
  if (o->B.array) part.B.array += ToColumn(o->B.ld, o->B.layout, first);
  /* a piece of a padded row has no padding, so every piece needs the same workspace */
  if (part.X.layout == SPMM_ROW_MAJOR_PADDED && N < o->N) part.X.layout = SPMM_ROW_MAJOR;
  return part;
}

/* Whether a dense matrix of that many rows and columns can have this leading dimension */
static bool Fits(int64_t ld, SpmmLayout layout, int64_t rows, int64_t N)
{
  return ld >= (layout == SPMM_COLUMN_MAJOR ? rows : N);
}

static bool IsPadded(const SpmmIn *X)
{
  return (uintptr_t)X->array % 16 == 0 && X->ld * sizeof(HrpbScalar) % 16 == 0 && X->ld <= INT32_MAX;
}

static bool AreSampled(const SpmmMatrix *A, const SpmmOperands *o)
{
  if (!Fits(o->X.ld, o->X.layout, A->ncols, o->N) || o->X.layout == SPMM_ROW_MAJOR || (o->X.layout == SPMM_ROW_MAJOR_PADDED && !IsPadded(&o->X))) return false;
  if (!Fits(o->B.ld, o->B.layout, A->nrows, o->N) || o->B.layout != SPMM_COLUMN_MAJOR) return false;
  if (o->Y.array == A->values && A->values) return false;
  return o->update == SPMM_ASSIGN || (o->update == SPMM_SCALE && A->values && (!A->hrpb || A->brick_values));
}

/* Whether what lies between the first and the last number of two column-major operands is the same memory in part */
static bool Overlap(const SpmmIn *a, int64_t nrows_a, int64_t N_a, const SpmmIn *b, int64_t nrows_b, int64_t N_b)
{
  const uintptr_t begin_a = (uintptr_t)a->array, end_a = begin_a + sizeof(HrpbScalar) * (size_t)((N_a - 1) * a->ld + nrows_a);
  const uintptr_t begin_b = (uintptr_t)b->array, end_b = begin_b + sizeof(HrpbScalar) * (size_t)((N_b - 1) * b->ld + nrows_b);

  return nrows_a && N_a && nrows_b && N_b && begin_a < end_b && begin_b < end_a;
}

static bool AreFused(const SpmmMatrix *A, const SpmmOperands *o)
{
  const SpmmIn Y = {o->Y.array, o->Y.ld, o->Y.layout};

  if (o->X.layout != SPMM_COLUMN_MAJOR || o->B.layout != SPMM_COLUMN_MAJOR || o->Y.layout != SPMM_COLUMN_MAJOR || o->Z.layout != SPMM_COLUMN_MAJOR) return false;
  if (o->K < 0 || o->X.ld < A->ncols || o->B.ld < A->nrows || o->Y.ld < A->nrows || o->Z.ld < A->ncols) return false;
  if (Overlap(&Y, A->nrows, o->N, &o->X, A->ncols, o->K) || Overlap(&Y, A->nrows, o->N, &o->B, A->nrows, o->K) || Overlap(&Y, A->nrows, o->N, &o->Z, A->ncols, o->N)) return false;
  return o->update == SPMM_ASSIGN || (o->update == SPMM_SCALE && A->brick_values && A->values);
}

static bool AreOperands(const SpmmMatrix *A, const SpmmOperands *o)
{
  if (o->update == SPMM_SCALE) return false;
  if (!Fits(o->X.ld, o->X.layout, A->ncols, o->N) || !Fits(o->Y.ld, o->Y.layout, A->nrows, o->N) || o->Y.layout == SPMM_ROW_MAJOR_PADDED) return false;
  if (o->X.layout == SPMM_ROW_MAJOR_PADDED && !IsPadded(&o->X)) return false;
  if (o->Y.array == o->X.array && A->ncols) return false;
  if (o->update != SPMM_ASSIGN && o->Y0.array) {
    if (o->Y0.layout == SPMM_ROW_MAJOR_PADDED || !Fits(o->Y0.ld, o->Y0.layout, A->nrows, o->N)) return false;
    if (o->Y0.array == o->Y.array && (o->Y0.ld != o->Y.ld || o->Y0.layout != o->Y.layout)) return false;
  }
  if (o->update == SPMM_ADD && !o->Y0.array) return false;
  if (o->update != SPMM_STEP) return true;
  if (A->nrows != A->ncols) return false;
  if (o->B.array && (o->B.layout == SPMM_ROW_MAJOR_PADDED || o->B.array == o->Y.array || !Fits(o->B.ld, o->B.layout, A->nrows, o->N))) return false;
  return !o->D || (o->dblock > 0 && A->nrows % o->dblock == 0);
}

/* HRPB_SUCCESS where there is something to do, or, with *nothing, nothing at all */
static HrpbError Look(const SpmmKernel *kernel, const SpmmMatrix *A, const SpmmOperands *o, bool *nothing)
{
  *nothing = (o->N == 0 && kernel->op != SPMM_OP_SAMPLED) || A->nrows == 0;
  if (o->N < 0) return HRPB_ERR_OPERANDS;
  if (!kernel->host && o->N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  return HRPB_SUCCESS;
}

HrpbError SpmmWork(const SpmmKernel *kernel, const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  bool            nothing;
  const HrpbError err = Look(kernel, A, o, &nothing);

  *bytes = 0;
  return err || nothing || !kernel->work ? err : kernel->work(A, o, bytes);
}

HrpbError SpmmRun(const SpmmKernel *kernel, const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  bool            nothing;
  const HrpbError err = Look(kernel, A, o, &nothing);

  if (err || nothing) return err;
  return (kernel->op == SPMM_OP_SAMPLED ? AreSampled : kernel->op == SPMM_OP_FUSED ? AreFused : AreOperands)(A, o) ? kernel->run(A, o, work, stream) : HRPB_ERR_OPERANDS;
}
