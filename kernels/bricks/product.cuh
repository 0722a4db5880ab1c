/*
   A product by bricks, as the launchers of the kernels get it.
*/
#pragma once

#include "../common/launch.cuh"
#include "multiply.cuh"

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

  return {p->B, p->C, p->ldb, p->ldc, p->brow, p->crow, p->N, pairs, together && !pairs, p->partial};
}

/* schedule.cu: put the sums of parts of panels together */
HrpbError CombineRun(const Product *);

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

/* C = 0, for an A without entries */
HrpbError ProductWithoutBricks(const Product *);
