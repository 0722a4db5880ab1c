/*
   Products of matrices of whole blocks.
*/
#pragma once

#include "sparse.h"

/* A factor of a product, node by node */
struct SparseFactor {
  const HrpbInt    *rowptr, *colidx; /* of its nodes */
  const HrpbScalar *values;          /* of the matrix */
  /* Of a transpose, or NULL: its block k is block map[k] of the matrix, whose rows begin at from */
  const HrpbInt *map, *from;
};

/* HRPB_ERR_UNSUPPORTED: not all blocks of so many rows and columns are whole. Waits for the device */
HrpbError SparseBlocksAreWhole(const SparseMatrix *A, int32_t rows, int32_t cols, HrpbStream stream);

/* The nodes of a matrix that says how large its blocks are. b is zeroed on any error, which is as above */
HrpbError SparseBlocksCreate(const SparseMatrix *A, HrpbStream stream, SparseBlocks *b);
HrpbError SparseBlocksDestroy(SparseBlocks *b, HrpbError before, HrpbStream stream);

/* The pattern of a product whose nodes are known: p has no rows by their lengths. On any error the caller destroys p */
HrpbError SparseBlocksToRows(const SparseProduct *nodes, int32_t rows, int32_t cols, HrpbStream stream, SparseProduct *p);

/* Its values. Blocks of A have rb rows and mb columns, those of B mb rows and cb columns. B is no transpose */
HrpbError SparseBlocksFill(const SparseProduct *nodes, const SparseFactor *A, const SparseFactor *B, int32_t rb, int32_t mb, int32_t cb, HrpbScalar *values, HrpbStream stream);
