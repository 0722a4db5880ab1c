/*
   One vector on an NVIDIA GPU: y = A x and y = y0 + A x, with A as CSR. This header has the plan that the kernels need;
   spmm.h has the product, SPMM_OP_VECTOR.

   As in csrdevice.h rowptr and colidx are device pointers, structs and their numbers are on the host, the device is the
   current one, and work goes to stream. The CSR is trusted, rows need not be sorted, and may have several entries in a
   column.

   All kernels give the same bits. A row has a number of lanes: the same for all rows of the matrix, or, where lengths
   of rows differ much, one that follows from its length, see VectorBinEntries(). Lane l adds entries l, l + lanes,
   l + 2 lanes, ... in this order, with fused multiply-add, and the sums of lanes are added pairwise. A row of more than
   long_entries is cut into parts of VECTOR_PART entries, each of which has VECTOR_THREADS lanes. Warps, and then parts,
   are added in their order. A sum that is not finite is made again, entry by entry, as MATAIJ adds them.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  VECTOR_THREADS = 256,  /* of a thread block */
  VECTOR_PART    = 4096, /* entries of a part of a row that is cut */
  VECTOR_NODE    = 8,    /* the most rows of a node */
  VECTOR_GROUP   = 32,   /* rows whose short columns begin at the same one */
  VECTOR_BINS    = 6,    /* numbers of lanes: 1, 2, 4, ..., 32 */
  VECTOR_STAGED  = 1024  /* the most entries of rows that a thread block stages */
};

#ifdef __CUDACC__
  #define VECTOR_BOTH __host__ __device__
#else
  #define VECTOR_BOTH
#endif
/* The most entries of rows with 1 << bin lanes, where that follows from the length */
static VECTOR_BOTH inline int32_t VectorBinEntries(int bin)
{
  return bin == 0 ? 3 : bin == 1 ? 8 : bin == 2 ? 20 : bin == 3 ? 48 : bin == 4 ? 128 : 256;
}

/* Rows that a thread block stages: neighbours, none of which is cut. rows: how many have 1 << bin lanes */
typedef struct VectorBlock {
  HrpbInt  begin; /* the first entry */
  int32_t  entries, first;
  uint16_t rows[VECTOR_BINS];
} VectorBlock;

/*
   What is known of a pattern, and lives as long as it does. It does not depend on values.

   A node is a few rows, one behind the other, that have the same columns, like those of the unknowns at a node of a
   mesh. Its columns are read once, and so are the numbers of x that they meet.

   Short columns have 16 bits: what is to be added to a base, one for VECTOR_GROUP rows. Where that does not reach, the
   base is negative, and columns are those of the CSR.

   Nodes and short columns are there if they were asked for, and pay.

   Rows whose lanes follow from their length are in bins, or, where that pays, a thread block stages them: it reads all
   entries of neighbouring rows at once.
*/
typedef struct {
  int32_t nrows, ncols;
  int64_t first, nnz, longest;   /* the first entry; how many there are, and in the longest row */
  int32_t nonempty;              /* rows with an entry */
  int32_t lanes;                 /* of a row; zero where that follows from its length */
  int32_t turns;                 /* entries of a lane on their way together: 2, 4 or 8, where lanes is not zero */
  int32_t long_entries;          /* longer rows are cut */
  int32_t nlong, nparts;         /* rows that are cut, and their parts */
  int32_t nnodes, node_rows;     /* nodes, and the most rows of one; zero without nodes */
  void   *long_rows, *parts;     /* in device memory, NULL where no row is cut */
  void   *nodes;                 /* in device memory: the first row of each node, and nrows */
  void   *columns, *bases;       /* in device memory: the short column of each entry, and the bases, as int32_t */
  int32_t bin_rows[VECTOR_BINS]; /* where lanes is zero: rows with 1 << bin lanes */
  void   *order;                 /* in device memory: these rows, bin by bin; NULL where there are no bins */
  int32_t nblocks;               /* thread blocks for staged rows */
  void   *blocks;                /* in device memory: a VectorBlock of each; NULL where no rows are staged */
  void   *places;                /* in device memory: its rows from the first, as uint8_t, most lanes first */
  /*
     For blocks of complex numbers (real/): whether columns of rows are spread over the matrix; panels, whose arrays are
     those of a CsrSchedule, in device memory. They have so many rows, or zero, and the longest has so many entries
  */
  int32_t scattered, panel_rows, panel_entries;
  void   *run_ptr, *runs, *places_of_panels; /* the last is behind runs */
  int64_t bytes;                 /* of device memory that all these arrays have */
} VectorPlan;

/*
   VectorPlanDevice() finds what each product needs, and reads the row pointers a few times. VectorNodesDevice() looks
   for nodes in the plan's matrix, and VectorColumnsDevice() makes short columns. Each takes as long as a few products.
   VectorStageDevice() has rows staged whose lanes follow from their length, whether that pays or not.
   All wait for their numbers. HRPB_ERR_OVERFLOW: 2^31 rows or columns, or a row with as many entries.
   HRPB_ERR_UNSUPPORTED: the device runs none of the kernels. After an error of the first the plan is zeroed; after one
   of the others it is as it was, without nodes, short columns, or staged rows
*/
HrpbError VectorPlanDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, HrpbStream stream, VectorPlan *);
HrpbError VectorNodesDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *);
HrpbError VectorColumnsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *);
HrpbError VectorStageDevice(const HrpbInt *rowptr, HrpbStream stream, VectorPlan *);
void      VectorPlanDestroyDevice(VectorPlan *, HrpbStream stream);

/* The transpose, with the plan of its pattern. values are those of the last VectorTransposeValuesDevice() */
typedef struct {
  HrpbInt    *rowptr, *colidx;
  HrpbScalar *values;
  int32_t    *map; /* the entry of the matrix that each entry is, less the first */
  VectorPlan  plan;
  int64_t     bytes;
} VectorTranspose;

/*
   The transpose of the plan's matrix takes as long as some tens of products. HRPB_ERR_OVERFLOW: 2^31 entries. New
   values take about as long as a product. first is that of the matrix's plan
*/
HrpbError VectorTransposeDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, const VectorPlan *, VectorTranspose *);
HrpbError VectorTransposeValuesDevice(int64_t first, const HrpbScalar *values, HrpbStream stream, const VectorTranspose *);
void      VectorTransposeDestroyDevice(VectorTranspose *, HrpbStream stream);

#ifdef __cplusplus
}
#endif
