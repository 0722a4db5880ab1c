/*
   Products of sparse matrices on a device: A B, A^T B, P^T A P, R A R^T and A B C, in CSR.

   A plan is made of the patterns alone. It has the pattern of the result, whose columns ascend in each row, and what
   is needed to fill it with values any number of times. Numbers are added in an order that the patterns fix, so the
   bits of a result are the same on every run. An entry of the result stands wherever the patterns meet, whatever the
   values are.

   All arrays are on the device. Memory is released in stream order.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t           nrows, ncols, nnz;
  const HrpbInt    *rowptr, *colidx; /* rowptr begins with 0; columns ascend in rows */
  const HrpbScalar *values;          /* not read where only the pattern counts */
  int32_t           brows, bcols;    /* rows and columns of its blocks, if they are whole; 0 or 1: not known */
} SparseMatrix;

enum {
  SPARSE_BINS = 7 /* rows by the length that they have in the product */
};

/* The product of two patterns */
typedef struct {
  int64_t  nrows, ncols, nnz;
  HrpbInt *rowptr, *colidx;
  int32_t *rows;                   /* [nrows] those without entries come last */
  int64_t  begin[SPARSE_BINS + 1]; /* where the rows of a bin begin */
  int      lanes;                  /* that read a row of the second matrix, as a power of two */
  int64_t  multiplications;
} SparseProduct;

/* Waits for the device. p is zeroed on any error. HRPB_ERR_OVERFLOW: more entries or columns than indices have */
HrpbError SparseProductCreate(const SparseMatrix *A, const SparseMatrix *B, HrpbStream stream, SparseProduct *p);
/* values[k] is that of entry k. Does not wait, and allocates nothing */
HrpbError SparseProductFill(const SparseProduct *p, const SparseMatrix *A, const SparseMatrix *B, HrpbScalar *values, HrpbStream stream);
HrpbError SparseProductDestroy(SparseProduct *p, HrpbError before, HrpbStream stream);

/* A transpose. Its entry k is entry map[k] of the matrix: csr/transpose.h takes values by it */
typedef struct {
  int64_t  nrows, ncols, nnz;
  HrpbInt *rowptr, *colidx, *map;
} SparseTranspose;

HrpbError SparseTransposeCreate(const SparseMatrix *A, HrpbStream stream, SparseTranspose *t);
HrpbError SparseTransposeDestroy(SparseTranspose *t, HrpbError before, HrpbStream stream);

/* A matrix of whole blocks */
typedef struct {
  int32_t      rows, cols; /* of a block */
  SparseMatrix nodes;      /* an entry for each block, without values */
  HrpbInt     *rowptr;     /* its memory, or NULL */
} SparseBlocks;

typedef enum {
  SPARSE_AB,
  SPARSE_AtB,
  SPARSE_PtAP, /* operands A, P */
  SPARSE_RARt, /* operands A, R */
  SPARSE_ABC
} SparseOp;

/*
   result = first * second. In products of three, second is the product `inner`. Where all operands are of whole blocks,
   transpose and inner are those of their nodes, and so is `nodes`, the result
*/
typedef struct {
  SparseOp        op;
  SparseBlocks    blocks[3]; /* of the operands. No rows: products are made entry by entry */
  SparseProduct   nodes;
  SparseTranspose transpose; /* of the operand that is transposed */
  HrpbScalar     *transposed; /* its values */
  SparseProduct   inner;
  HrpbScalar     *between; /* values of inner */
  SparseProduct   result;
} SparsePlan;

/*
   operand has two matrices, or three for A B C. values says whether memory for values in between is allocated,
   without which there is only the pattern. Waits for the device; plan is zeroed on any error
*/
HrpbError SparsePlanCreate(SparseOp op, const SparseMatrix operand[], bool values, HrpbStream stream, SparsePlan *plan);
/* Operands have the patterns of before. Does not wait, and allocates nothing */
HrpbError SparsePlanFill(SparsePlan *plan, const SparseMatrix operand[], HrpbScalar *values, HrpbStream stream);
HrpbError SparsePlanDestroy(SparsePlan *plan, HrpbError before, HrpbStream stream);
int64_t   SparsePlanBytes(const SparsePlan *plan);
int64_t   SparsePlanMultiplications(const SparsePlan *plan);

/*
   The rows that a process has of a parallel matrix are two matrices side by side, [D O]. O's columns come after D's.

   SparseJoin(): one matrix of both. Its row k of n + 1 begins where the rows of D and O before it end. Column j of O
   becomes map[j], or j without a map, after D's columns
   SparseRenumber(): columns from `own` on become own + map[column - own]
   SparseSplitRows(): row pointers of the columns before `own`, and of the others; used[j] = 1 where there is an entry
   of column own + j, and nothing where there is none
   SparseSplitColumns(), SparseSplitValues(): the two matrices with these row pointers. Column own + j becomes map[j]

   Nothing is waited for
*/
HrpbError SparseJoin(const SparseMatrix *D, const SparseMatrix *O, const HrpbInt *map, HrpbInt *rowptr, HrpbInt *colidx, HrpbStream stream);
HrpbError SparseJoinValues(const SparseMatrix *D, const SparseMatrix *O, HrpbScalar *values, HrpbStream stream);
HrpbError SparseRenumber(int64_t nnz, const HrpbInt *colidx, int64_t own, const HrpbInt *map, HrpbInt *to, HrpbStream stream);
/* Columns of n rows, row i from place to[i] on: colidx has to[n]. All but M is on the host. Waits for the device */
HrpbError SparseTakeRows(const SparseMatrix *M, int64_t n, const HrpbInt rows[], const HrpbInt to[], HrpbStream stream, HrpbInt colidx[]);
HrpbError SparseSplitRows(const SparseMatrix *C, int64_t own, HrpbInt *rowptr_d, HrpbInt *rowptr_o, uint8_t *used, HrpbStream stream);
HrpbError SparseSplitColumns(const SparseMatrix *C, int64_t own, const HrpbInt *rowptr_d, const HrpbInt *rowptr_o, const HrpbInt *map,
  HrpbInt *colidx_d, HrpbInt *colidx_o, HrpbStream stream);
HrpbError SparseSplitValues(const SparseMatrix *C, const HrpbInt *rowptr_d, const HrpbInt *rowptr_o, HrpbScalar *values_d,
  HrpbScalar *values_o, HrpbStream stream);

/*
   Whether a matrix with these row pointers and columns has all entries of X: HRPB_ERR_UNSUPPORTED if it lacks one.
   Waits for the device
*/
HrpbError SparseIsSubset(const SparseMatrix *X, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream);
/* values += a X, where values are those of such a matrix. Entries that it lacks are left out */
HrpbError SparseAddSubset(const SparseMatrix *X, HrpbScalar a, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbScalar *values, HrpbStream stream);

/* A matrix of its own */
typedef struct {
  int64_t     n, nnz; /* rows, entries */
  HrpbInt    *rowptr, *colidx;
  HrpbScalar *values;
} SparseGraph;

enum {
  SPARSE_MOST_BLOCK = 32 /* rows of a block of which some may count */
};

/*
   An entry for each block of size x size entries of A: the sum of their magnitudes, row by row; or of those in n rows
   and columns of each block, if n is not 0. HRPB_ERR_UNSUPPORTED: not all blocks are whole. Waits for the device if
   size > 1; g is zeroed on any error
*/
HrpbError SparseGraphCreate(const SparseMatrix *A, int32_t size, int32_t n, const int32_t at[], HrpbStream stream, SparseGraph *g);
/* Of a square graph: g + g^T, with an entry wherever one of them has one. Waits for the device; g stays on any error */
HrpbError SparseGraphAddTranspose(SparseGraph *g, HrpbStream stream);
/* Of a square graph: rows and columns scaled so that diagonal entries that are there and not zero have magnitude one */
HrpbError SparseGraphScale(SparseGraph *g, HrpbStream stream);
/* The pattern of a product, without values. Waits for the device; g is zeroed on any error */
HrpbError SparseGraphProduct(const SparseMatrix *A, const SparseMatrix *B, HrpbStream stream, SparseGraph *g);
HrpbError SparseGraphDropValues(SparseGraph *g, HrpbStream stream);
HrpbError SparseGraphDestroy(SparseGraph *g, HrpbError before, HrpbStream stream);

/*
   Whether a pattern has an entry opposite each in columns that are rows: HRPB_ERR_UNSUPPORTED if not. Waits for the
   device
*/
HrpbError SparseIsSymmetric(const SparseMatrix *G, HrpbStream stream);
/*
   The independent set that a greedy walk over the nodes of a graph takes, in this order or as they are numbered. G has
   a symmetric pattern. owner[i] is the node of the set that node i is beside, or node i itself. A node with less than
   two entries is not taken; it has -1, unless the one entry is that of a node that is. order and owner are on the host.
   Waits for the device. HRPB_ERR_UNSUPPORTED: not found in time
*/
HrpbError SparseIndependent(const SparseMatrix *G, const int32_t order[], HrpbStream stream, int32_t owner[]);
/*
   Nodes of a set take their neighbours in another graph, one after the other: taker[i] is the last one that takes node
   i, or -1 if i stays where owner, as above, has it. G has a symmetric pattern. owner, of all columns, and taker are on
   the host. Waits for the device
*/
HrpbError SparseTakers(const SparseMatrix *G, const int32_t owner[], HrpbStream stream, int32_t taker[]);

/*
   The same walk of several processes by turns. The columns of a graph are the nodes that a process has, and then
   ghosts, which ascend. Memory is one allocation, which rank begins
*/
typedef struct {
  int32_t  *rank, *state, *owner, *order;
  uint32_t *undecided;
} SparseWalk;

HrpbError SparseWalkCreate(const SparseMatrix *G, const int32_t order[], HrpbStream stream, SparseWalk *w);
/*
   A walk over all nodes that are undecided. One beside an undecided ghost from column `later` on is not taken. state of
   nodes, on the host, is what others are told; it may be NULL. Waits for the device. HRPB_ERR_UNSUPPORTED as above
*/
HrpbError SparseWalkTurn(const SparseMatrix *G, int64_t later, const SparseWalk *w, HrpbStream stream, int32_t state[]);
/* What others have told of ghosts. *undecided: whether nodes of this process still are. Waits for the device */
HrpbError SparseWalkMeet(const SparseMatrix *G, const int32_t ghosts[], const SparseWalk *w, HrpbStream stream, int32_t *undecided);
/* owner as above, a column */
HrpbError SparseWalkOwners(const SparseMatrix *G, const SparseWalk *w, HrpbStream stream, int32_t owner[]);
HrpbError SparseWalkDestroy(SparseWalk *w, HrpbError before, HrpbStream stream);

/*
   Whether entries in columns of ghosts have one opposite on other processes: both sums of all processes agree then, and
   otherwise only by a chance of one in 2^64. Row 0 is node `first` of all. ghosts are on the host. Waits for the device
*/
HrpbError SparseGhostSums(const SparseMatrix *G, int64_t first, const HrpbInt ghosts[], HrpbStream stream, uint64_t sum[2]);

/* Nodes in aggregates. Each node has bs rows, and ncols columns belong to each aggregate */
typedef struct {
  int64_t        nnodes, naggregates;
  int32_t        bs, ncols;
  const int32_t *begin, *member; /* [naggregates + 1]; nodes, aggregate by aggregate */
  const int32_t *before;         /* [nnodes + 1] nodes of aggregates before each node */
} SparseAggregates;

/*
   The prolongator of aggregates, of which each has nodes: p, which is not square, has entries in the rows of all nodes
   that are in one; aggregate[i] is that of node i, or -1. Its columns are orthonormal, or zero. vectors has ncols
   columns of nnodes * bs numbers: p times coarse, which has columns of naggregates * ncols numbers. All but p is on
   the host. Waits for the device; p is zeroed on any error
*/
HrpbError SparseProlong(const SparseAggregates *g, const int32_t aggregate[], const HrpbScalar vectors[], HrpbStream stream, SparseGraph *p,
  HrpbScalar coarse[]);

#ifdef __cplusplus
}
#endif
