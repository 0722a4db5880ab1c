#include "rounds.h"
#include "machine.h"

enum {
  LEAST     = 5, /* times that one operation is timed */
  MOST      = 50,
  IN_A_ROW  = 20, /* products with one vector, as a Krylov solver makes them */
  REFRESHES = 6   /* even, because values change their sign each time */
};

static const PetscReal enough = 0.02; /* seconds to spend on one operation, repeated from LEAST to MOST times */

/* C = A B with all that comes before: what MatMatMult() does */
static PetscErrorCode ProductBegin(Subject *s, Mat B)
{
  PetscFunctionBegin;
  if (s->variant && s->variant->rows) {
    PetscCall(RowMajorCreate(s->csr, B, &s->rows));
    PetscCall(RowMajorRun(s->rows));
    PetscCall(RowMajorGet(s->rows, s->C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatProductCreateWithMat(s->A, B, NULL, s->C));
  PetscCall(MatProductSetType(s->C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(s->C));
  PetscCall(MatProductSymbolic(s->C));
  PetscCall(MatProductNumeric(s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductNumeric(Subject *s, Mat B)
{
  PetscFunctionBegin;
  (void)B; /* C holds a reference to it */
  if (s->rows) PetscCall(RowMajorRun(s->rows));
  else PetscCall(MatProductNumeric(s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductEnd(Subject *s, Mat B)
{
  PetscFunctionBegin;
  (void)B;
  if (s->rows) PetscCall(RowMajorDestroy(&s->rows));
  else PetscCall(MatProductClear(s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What SLEPc does at every product */
static PetscErrorCode ProductCycle(Subject *s, Mat B)
{
  PetscFunctionBegin;
  if (s->variant->rows) PetscFunctionReturn(PETSC_SUCCESS); /* the copies to that layout are not timed */
  PetscCall(ProductBegin(s, B));
  PetscCall(ProductEnd(s, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const Operations ProductOperations = {.name = "product", .begin = ProductBegin, .numeric = ProductNumeric, .end = ProductEnd, .cycle = ProductCycle, .left = 1, .right = 1, .terms = 1, .values = PETSC_TRUE};

static PetscErrorCode VectorProducts(Subject *s, Mat B, PetscInt n)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(B, 0, &x));
  PetscCall(MatDenseGetColumnVecWrite(s->C, 0, &y));
  for (PetscInt k = 0; k < n; k++) PetscCall(MatMult(s->A, x, y));
  PetscCall(MatDenseRestoreColumnVecWrite(s->C, 0, &y));
  PetscCall(MatDenseRestoreColumnVecRead(B, 0, &x));
  s->made = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorNumeric(Subject *s, Mat B)
{
  PetscFunctionBegin;
  PetscCall(VectorProducts(s, B, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorRow(Subject *s, Mat B)
{
  PetscFunctionBegin;
  PetscCall(VectorProducts(s, B, IN_A_ROW));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorEnd(Subject *s, Mat B)
{
  PetscFunctionBegin;
  (void)s;
  (void)B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -mat_aijtcu_mult auto makes its preparations within the first products of a pattern, which TimeSetUp() begins with */
const Operations VectorOperations = {.name = "vector", .begin = VectorNumeric, .numeric = VectorNumeric, .end = VectorEnd, .cycle = VectorRow, .before = 40, .left = 1, .right = 1, .terms = 1, .values = PETSC_TRUE};

PetscErrorCode TimeOnce(Subject *s, Mat B, Operation f, PetscReal *seconds)
{
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(ExampleTime(s->A, &start));
  PetscCall((*f)(s, B));
  PetscCall(ExampleTime(s->A, &end));
  *seconds = (PetscReal)(end - start) / (PetscReal)PetscMax(s->made, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Measure the cost of a new pattern and of new values. There must have been no product with A before */
PetscErrorCode TimeSetUp(Subject *s, Mat B, const Operations *o)
{
  PetscReal seconds[PetscMax(LEAST, REFRESHES)];
  Spread    steady, refreshed;

  PetscFunctionBegin;
  PetscCall(TimeOnce(s, B, o->begin, &s->first));
  for (PetscInt k = 0; k < LEAST; k++) PetscCall(TimeOnce(s, B, o->numeric, &seconds[k]));
  PetscCall(SpreadOf(LEAST, seconds, &steady));
  for (PetscInt k = 0; k < REFRESHES; k++) {
    PetscCall(MatScale(s->A, -1));
    PetscCall(TimeOnce(s, B, o->numeric, &seconds[k]));
  }
  PetscCall(SpreadOf(REFRESHES, seconds, &refreshed));
  PetscCall((*o->end)(s, B));
  s->setup   = PetscMax(0, s->first - steady.median);
  s->refresh = PetscMax(0, refreshed.median - steady.median);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time all subjects in turn, and again, as often as the time of each one asks for */
PetscErrorCode TimeInTurn(PetscInt n, Subject s[], Mat B, Operation f, Spread spread[])
{
  PetscReal(*seconds)[MOST];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &seconds));
  for (PetscInt v = 0; v < n; v++) s[v].repeat = (PetscInt)PetscMin(MOST, PetscMax(LEAST, enough / PetscMax(s[v].once, (PetscReal)1e-6)));
  for (PetscInt k = 0; k < MOST; k++) {
    for (PetscInt v = 0; v < n; v++) {
      if (k < s[v].repeat) PetscCall(TimeOnce(&s[v], B, f, &seconds[v][k]));
    }
  }
  for (PetscInt v = 0; v < n; v++) PetscCall(SpreadOf(s[v].repeat, seconds[v], &spread[v]));
  PetscCall(PetscFree(seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}
