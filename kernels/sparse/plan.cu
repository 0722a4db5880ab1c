/*
   Products of two and three sparse matrices, made of products of two: entry by entry, or block by block where all
   operands are of whole blocks.
*/
#include <string.h>

#include "../common/device.cuh"
#include "../csr/transpose.h"
#include "blocks.cuh"

static SparseMatrix OfTranspose(const SparseTranspose *t, const HrpbScalar *values)
{
  const SparseMatrix M = {t->nrows, t->ncols, t->nnz, t->rowptr, t->colidx, values};

  return M;
}

static SparseMatrix OfProduct(const SparseProduct *p, const HrpbScalar *values)
{
  const SparseMatrix M = {p->nrows, p->ncols, p->nnz, p->rowptr, p->colidx, values};

  return M;
}

/* The operand that is transposed, or -1 */
static int Transposed(SparseOp op)
{
  return op == SPARSE_AtB ? 0 : op == SPARSE_PtAP || op == SPARSE_RARt ? 1 : -1;
}

static bool IsOfThree(SparseOp op)
{
  return op == SPARSE_PtAP || op == SPARSE_RARt || op == SPARSE_ABC;
}

/* result = *first * *second, where *second is a product of *inner[0] and *inner[1] if there are three */
static void Factors(const SparsePlan *plan, const SparseMatrix operand[], const SparseMatrix *transpose, const SparseMatrix *between, const SparseMatrix **first, const SparseMatrix **second, const SparseMatrix *inner[2])
{
  switch (plan->op) {
  case SPARSE_AB:
  case SPARSE_AtB:
    *first  = plan->op == SPARSE_AB ? &operand[0] : transpose;
    *second = &operand[1];
    break;
  case SPARSE_PtAP:
    *first   = transpose;
    *second  = between;
    inner[0] = &operand[0];
    inner[1] = &operand[1];
    break;
  case SPARSE_RARt:
    *first   = &operand[1];
    *second  = between;
    inner[0] = &operand[0];
    inner[1] = transpose;
    break;
  case SPARSE_ABC:
    *first   = &operand[0];
    *second  = between;
    inner[0] = &operand[1];
    inner[1] = &operand[2];
    break;
  }
}

enum {
  MOST_SIDE = 8 /* of a block */
};

static int Operands(SparseOp op)
{
  return op == SPARSE_ABC ? 3 : 2;
}

/* Blocks of the result of two factors. The transposed operand has what the transpose has, the other way round */
static void Sides(const SparsePlan *plan, int32_t *rb, int32_t *mb, int32_t *cb)
{
  const SparseBlocks *b = plan->blocks;

  *rb = plan->op == SPARSE_AtB ? b[0].cols : plan->op == SPARSE_PtAP ? b[1].cols : b[0].rows;
  *mb = plan->op == SPARSE_AB || plan->op == SPARSE_ABC ? b[0].cols : plan->op == SPARSE_AtB ? b[0].rows : b[1].rows;
  *cb = b[Operands(plan->op) - 1].cols;
}

/* Whether blocks of these sizes meet */
static bool Meet(SparseOp op, const SparseMatrix operand[])
{
  const int n = Operands(op);

  if (op == SPARSE_RARt) return false;
  for (int i = 0; i < n; i++) {
    if (operand[i].brows < 1 || operand[i].bcols < 1 || operand[i].brows > MOST_SIDE || operand[i].bcols > MOST_SIDE) return false;
    if (operand[i].brows * operand[i].bcols < 2 || operand[i].nnz == 0) return false;
  }
  switch (op) {
  case SPARSE_AtB:
    return operand[0].brows == operand[1].brows;
  case SPARSE_PtAP:
    return operand[0].brows == operand[1].brows && operand[0].bcols == operand[1].brows;
  default:
    return operand[0].bcols == operand[1].brows && (n == 2 || operand[1].bcols == operand[2].brows);
  }
}

static HrpbError ForgetBlocks(SparsePlan *plan, HrpbError err, HrpbStream stream)
{
  for (int i = 0; i < 3; i++) err = SparseBlocksDestroy(&plan->blocks[i], err, stream);
  return err;
}

/* The nodes of the operands, if all of them are of whole blocks */
static HrpbError FindBlocks(SparsePlan *plan, const SparseMatrix operand[], HrpbStream stream)
{
  HrpbError err = HRPB_SUCCESS;

  if (!Meet(plan->op, operand)) return HRPB_SUCCESS;
  for (int i = Operands(plan->op) - 1; i >= 0 && !err; i--) err = SparseBlocksCreate(&operand[i], stream, &plan->blocks[i]);
  return err == HRPB_ERR_UNSUPPORTED ? ForgetBlocks(plan, HRPB_SUCCESS, stream) : err;
}

static HrpbError MakeOfNodes(SparsePlan *plan, bool values, HrpbStream stream)
{
  const SparseMatrix  operand[3] = {plan->blocks[0].nodes, plan->blocks[1].nodes, plan->blocks[2].nodes}, *first = NULL, *second = NULL, *inner[2] = {NULL, NULL};
  SparseMatrix        transpose, between;
  int32_t             rb, mb, cb;

  if (Transposed(plan->op) >= 0) HrpbCall(SparseTransposeCreate(&operand[Transposed(plan->op)], stream, &plan->transpose));
  transpose = OfTranspose(&plan->transpose, NULL);
  Sides(plan, &rb, &mb, &cb);
  Factors(plan, operand, &transpose, &between, &first, &second, inner);
  if (IsOfThree(plan->op)) {
    HrpbCall(SparseProductCreate(inner[0], inner[1], stream, &plan->inner));
    between = OfProduct(&plan->inner, NULL);
    if (values) HrpbCall(HrpbAllocate(&plan->between, plan->inner.nnz * mb * cb, stream));
  }
  HrpbCall(SparseProductCreate(first, second, stream, &plan->nodes));
  return SparseBlocksToRows(&plan->nodes, rb, cb, stream, &plan->result);
}

static HrpbError Make(SparsePlan *plan, const SparseMatrix operand[], bool values, HrpbStream stream)
{
  const SparseMatrix *first = NULL, *second = NULL, *inner[2] = {NULL, NULL};
  SparseMatrix        transpose, between;

  if (Transposed(plan->op) >= 0) HrpbCall(SparseTransposeCreate(&operand[Transposed(plan->op)], stream, &plan->transpose));
  transpose = OfTranspose(&plan->transpose, NULL);
  Factors(plan, operand, &transpose, &between, &first, &second, inner);
  if (IsOfThree(plan->op)) {
    HrpbCall(SparseProductCreate(inner[0], inner[1], stream, &plan->inner));
    between = OfProduct(&plan->inner, NULL);
  }
  if (values && Transposed(plan->op) >= 0) HrpbCall(HrpbAllocate(&plan->transposed, plan->transpose.nnz, stream));
  if (values && IsOfThree(plan->op)) HrpbCall(HrpbAllocate(&plan->between, plan->inner.nnz, stream));
  return SparseProductCreate(first, second, stream, &plan->result);
}

HrpbError SparsePlanCreate(SparseOp op, const SparseMatrix operand[], bool values, HrpbStream stream, SparsePlan *plan)
{
  HrpbError err;

  memset(plan, 0, sizeof(*plan));
  plan->op = op;
  err      = FindBlocks(plan, operand, stream);
  if (!err) err = plan->blocks[0].rows ? MakeOfNodes(plan, values, stream) : Make(plan, operand, values, stream);
  return err ? SparsePlanDestroy(plan, err, stream) : HRPB_SUCCESS;
}

static SparseFactor FactorOf(const SparseMatrix *nodes, const HrpbScalar *values)
{
  return SparseFactor{nodes->rowptr, nodes->colidx, values, NULL, NULL};
}

static HrpbError FillNodes(SparsePlan *plan, const SparseMatrix operand[], HrpbScalar *values, HrpbStream stream)
{
  const SparseBlocks *b       = plan->blocks;
  const SparseMatrix  between = OfProduct(&plan->inner, NULL), transpose = OfTranspose(&plan->transpose, NULL);
  /* the inner product begins with operand `of` */
  const int           t = Transposed(plan->op), of = plan->op == SPARSE_ABC ? 1 : 0;
  SparseFactor        first = FactorOf(&b[0].nodes, operand[0].values), second = FactorOf(&b[1].nodes, operand[1].values);
  int32_t             rb, mb, cb;

  Sides(plan, &rb, &mb, &cb);
  if (IsOfThree(plan->op)) {
    const SparseFactor left = FactorOf(&b[of].nodes, operand[of].values), right = FactorOf(&b[of + 1].nodes, operand[of + 1].values);

    HrpbCall(SparseBlocksFill(&plan->inner, &left, &right, b[of].rows, b[of].cols, cb, plan->between, stream));
    second = FactorOf(&between, plan->between);
  }
  if (t >= 0) {
    first      = FactorOf(&transpose, operand[t].values);
    first.map  = plan->transpose.map;
    first.from = b[t].nodes.rowptr;
  }
  return SparseBlocksFill(&plan->nodes, &first, &second, rb, mb, cb, values, stream);
}

HrpbError SparsePlanFill(SparsePlan *plan, const SparseMatrix operand[], HrpbScalar *values, HrpbStream stream)
{
  if (plan->blocks[0].rows) return FillNodes(plan, operand, values, stream);
  const SparseMatrix *first = NULL, *second = NULL, *inner[2] = {NULL, NULL};
  SparseMatrix        transpose, between;

  if (Transposed(plan->op) >= 0) HrpbCall(CsrTakeDevice(plan->transpose.nnz, plan->transpose.map, operand[Transposed(plan->op)].values, plan->transposed, stream));
  transpose = OfTranspose(&plan->transpose, plan->transposed);
  between   = OfProduct(&plan->inner, plan->between);
  Factors(plan, operand, &transpose, &between, &first, &second, inner);
  if (IsOfThree(plan->op)) HrpbCall(SparseProductFill(&plan->inner, inner[0], inner[1], plan->between, stream));
  return SparseProductFill(&plan->result, first, second, values, stream);
}

HrpbError SparsePlanDestroy(SparsePlan *plan, HrpbError err, HrpbStream stream)
{
  err = ForgetBlocks(plan, err, stream);
  err = SparseProductDestroy(&plan->nodes, err, stream);
  err = SparseTransposeDestroy(&plan->transpose, err, stream);
  err = HrpbFree(plan->transposed, err, stream);
  err = SparseProductDestroy(&plan->inner, err, stream);
  err = HrpbFree(plan->between, err, stream);
  err = SparseProductDestroy(&plan->result, err, stream);
  memset(plan, 0, sizeof(*plan));
  return err;
}

static int64_t BytesOfProduct(const SparseProduct *p)
{
  return (p->rowptr ? p->nrows + 1 + p->nnz : 0) * (int64_t)sizeof(HrpbInt) + p->nrows * (int64_t)sizeof(int32_t);
}

int64_t SparsePlanBytes(const SparsePlan *plan)
{
  const SparseTranspose *t = &plan->transpose;
  int64_t                bytes = BytesOfProduct(&plan->inner) + BytesOfProduct(&plan->nodes) + BytesOfProduct(&plan->result);
  int32_t                rb, mb, cb;

  for (int i = 0; i < 3; i++) {
    if (plan->blocks[i].rows) bytes += (plan->blocks[i].nodes.nrows + 1 + plan->blocks[i].nodes.nnz) * (int64_t)sizeof(HrpbInt);
  }
  Sides(plan, &rb, &mb, &cb);
  if (t->rowptr) bytes += (t->nrows + 1 + 2 * t->nnz) * (int64_t)sizeof(HrpbInt);
  if (plan->transposed) bytes += t->nnz * (int64_t)sizeof(HrpbScalar);
  if (plan->between) bytes += plan->inner.nnz * (plan->blocks[0].rows ? mb * cb : 1) * (int64_t)sizeof(HrpbScalar);
  return bytes;
}

int64_t SparsePlanMultiplications(const SparsePlan *plan)
{
  const SparseBlocks *b = plan->blocks;
  int32_t             rb, mb, cb;

  if (!b[0].rows) return plan->inner.multiplications + plan->result.multiplications;
  Sides(plan, &rb, &mb, &cb);
  return plan->inner.multiplications * (plan->op == SPARSE_ABC ? b[1].rows * b[1].cols : b[0].rows * b[0].cols) * cb + plan->nodes.multiplications * rb * mb * cb;
}
