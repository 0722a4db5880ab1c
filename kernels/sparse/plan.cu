/*
   Products of two and three sparse matrices, made of products of two.
*/
#include <string.h>

#include "../common/device.cuh"
#include "../csr/transpose.h"
#include "sparse.h"

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
  err      = Make(plan, operand, values, stream);
  return err ? SparsePlanDestroy(plan, err, stream) : HRPB_SUCCESS;
}

HrpbError SparsePlanFill(SparsePlan *plan, const SparseMatrix operand[], HrpbScalar *values, HrpbStream stream)
{
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
  int64_t                bytes = BytesOfProduct(&plan->inner) + BytesOfProduct(&plan->result);

  if (t->rowptr) bytes += (t->nrows + 1 + 2 * t->nnz) * (int64_t)sizeof(HrpbInt);
  if (plan->transposed) bytes += t->nnz * (int64_t)sizeof(HrpbScalar);
  if (plan->between) bytes += plan->inner.nnz * (int64_t)sizeof(HrpbScalar);
  return bytes;
}

int64_t SparsePlanMultiplications(const SparsePlan *plan)
{
  return plan->inner.multiplications + plan->result.multiplications;
}
