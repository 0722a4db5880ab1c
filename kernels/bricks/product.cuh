/*
   A product by bricks, as the launchers of the kernels get it.
*/
#pragma once

#include <algorithm>

#include "../common/launch.cuh"
#include "parts.cuh"

typedef struct {
  const Hrpb         *h;
  const HrpbSchedule *schedule;
  const HrpbScalar   *values;
  HrpbPrecision       precision;
  int32_t           N;
  const HrpbScalar *B;
  HrpbScalar       *C;
  int64_t           ldb, ldc, brow, crow; /* see DenseArgs */
  HrpbScalar       *partial; /* see DenseArgs */
  cudaStream_t      stream;
  bool              behind; /* launched behind a copy of B */
} Product;

/* Whether all columns of an operand are aligned to that many bytes */
static inline bool IsAligned(const HrpbScalar *array, int64_t ld, size_t bytes)
{
  return ((uintptr_t)array | ld * sizeof(HrpbScalar)) % bytes == 0;
}

static inline DenseArgs<HrpbScalar> DenseArgsOf(const Product *p)
{
  const bool together = !p->h->order && p->crow == 1, pairs = together && IsAligned(p->C, p->ldc, 2 * sizeof(HrpbScalar));

  return {p->B, p->C, p->ldb, p->ldc, p->brow, p->crow, p->N, pairs, together && !pairs, p->partial, (const SplitPanel *)p->schedule->split, NULL};
}

/*
   StagedCols(): the most columns of a block. StagedShortPanel(): a panel with fewer blocks is better multiplied with 64
   columns of B at a time than with 128
*/
static constexpr __host__ __device__ int StagedCols(int brick_rows)
{
  return brick_rows == 16 ? HRPB_STAGED_COLS : HRPB_SHORT_COLS;
}

static constexpr __host__ __device__ int StagedShortPanel(int brick_rows)
{
  return StagedCols(brick_rows) == 64 ? 16 : 5;
}

/*
   product.cu: workspace for the sums of parts, which come first in it. ProductOf() describes a plain product, and says
   what the device is. HRPB_ERR_UNSUPPORTED: another product, or a device without tensor cores that pay
*/
size_t    ProductPartialBytes(const SpmmMatrix *, int64_t N);
HrpbError ProductWork(const SpmmMatrix *, const SpmmOperands *, size_t *bytes);
HrpbError ProductOf(const SpmmMatrix *, const SpmmOperands *, void *work, cudaStream_t, Product *, const SpmmDevice **);

/* parts.cu: add the parts of panels that a kernel has left, behind it. neighbours: of its columns, see SumPlace() */
HrpbError AddPartsRun(const Product *, bool neighbours);

/* C = 0, for an A without entries */
HrpbError ProductWithoutBricks(const Product *);

/*
   run() for slices of most columns, one after the other. A rest of up to a quarter of that joins the last one. Where
   panels are cut a slice has no more columns than there is workspace for. Slices do not change bits
*/
template <typename F> static HrpbError RunSlices(const Product *all, int32_t most, F run)
{
  const int32_t columns = all->schedule->nsplit ? std::min(most, (int32_t)PART_COLUMNS) : most;
  Product       p       = *all;

  for (int32_t n = 0; n < all->N; n += p.N) {
    p.N = all->N - n <= columns + columns / 4 ? all->N - n : columns;
    p.B = all->B + n * all->ldb;
    p.C = all->C + n * all->ldc;
    HrpbCall(run(&p, n));
    p.behind = false;
  }
  return HRPB_SUCCESS;
}
