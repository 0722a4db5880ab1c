/*
   A multigrid cycle for one vector in single precision, in a program of double precision: copies of the levels, and
   what their numbers are scaled by. The list of pcmgvector.c is that of a cycle in double.

   Most of a cycle is reading the matrices, so it takes about half of the time. It is a preconditioner, whose rounding a
   Krylov method in double hardly notices. What a method would notice stays in double: the coarse solve, since the
   inverse of a matrix multiplies rounding by its condition, the right-hand side and the result.
*/
#include "mgvector.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

enum {
  ROOM = 60 /* powers of two that scaled numbers may be away from one; float has twice as many */
};

enum { /* arrays of a level, in the order of their copies */
  OPERATOR,
  DOWN,
  UP,
  BEFORE,
  AFTER,
  NARRAYS
};

typedef struct {
  const PetscScalar *from;
  PetscInt64         n;
  float             *to;
  VectorLargest      largest;
  int                exponent; /* of the factor, as a power of two */
} AIJTCUMGArray;

/* What is copied of a level, l > 0. Two smoothers may have one diagonal */
static void AIJTCUMGArraysOf(const AIJTCUMGRows *r, AIJTCUMGArray array[NARRAYS])
{
  const AIJTCUVectorProduct *const product[] = {&r->A.given, &r->down.given, &r->up.given};

  for (int k = 0; k < 3; k++)
    array[k] = (AIJTCUMGArray){.from = product[k]->order.A.values + product[k]->vector.first, .n = product[k]->vector.nnz};
  for (int k = 0; k < 2; k++)
    array[BEFORE + k] = (AIJTCUMGArray){.from = r->smoother[k].D, .n = (PetscInt64)r->rows * r->smoother[k].dblock};
  if (r->smoother[1].D == r->smoother[0].D) array[AFTER].n = 0;
}

/* Bytes of n numbers, up to where the next array begins */
static size_t AIJTCUMGArrayBytes(size_t number, PetscInt64 n)
{
  return (number * (size_t)n + 255) / 256 * 256;
}

/* The largest number of each array, and of the coarse solve, in one wait */
static PetscErrorCode AIJTCUMGFindLargest(AIJTCUMGVector s, PetscInt n, AIJTCUMGArray array[], VectorLargest *coarse, cudaStream_t stream)
{
  const AIJTCUVectorProduct *c     = &s->coarse.given;
  VectorLargest *const       first = (VectorLargest *)s->single.copies;
  VectorLargest              found[NARRAYS * PETSC_MG_MAXLEVELS + 1];

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(first, 0, sizeof(*first) * (size_t)(n + 2), stream));
  for (PetscInt i = 0; i < n; i++) AIJTCUCallKernels(VectorFindLargest(array[i].n, array[i].from, first + i, stream));
  AIJTCUCallKernels(VectorFindLargest(c->vector.nnz, c->order.A.values + c->vector.first, first + n, stream));
  PetscCallCUDA(cudaMemcpyAsync(found, first, sizeof(*first) * (size_t)(n + 1), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscInt i = 0; i < n; i++) array[i].largest = found[i];
  *coarse           = found[n];
  s->single.largest = first + n + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors of all arrays. Operators come to about one; a prolongator has what is left between two of them */
static const char *AIJTCUMGScale(AIJTCUMGVector s, AIJTCUMGArray array[], VectorLargest coarse)
{
  const char *const far = "numbers of its levels are too far apart for single precision";
  int *const        e   = s->single.e;

  for (PetscInt i = 0; i < NARRAYS * (s->nlevels - 1); i++) {
    if (!VectorLargestIsFinite(array[i].largest)) return "a level has numbers that are not finite";
  }
  if (!VectorLargestIsFinite(coarse)) return "its coarse solve has numbers that are not finite";
  for (PetscInt l = s->nlevels - 1; l > 0; l--) e[l] = VectorExponent(array[NARRAYS * (l - 1) + OPERATOR].largest);
  e[0] = e[1] + VectorExponent(array[DOWN].largest) + VectorExponent(array[UP].largest);
  if (VectorExponent(coarse) + e[0] > ROOM) return far;
  for (PetscInt l = s->nlevels - 1; l > 0; l--) {
    AIJTCUMGArray *const a = &array[NARRAYS * (l - 1)];

    a[OPERATOR].exponent = -e[l];
    a[DOWN].exponent     = -VectorExponent(a[DOWN].largest);
    a[UP].exponent       = VectorExponent(a[DOWN].largest) + e[l] - e[l - 1];
    if (a[UP].largest && PetscAbsInt(VectorExponent(a[UP].largest) + a[UP].exponent) > ROOM) return far;
    for (int k = BEFORE; k <= AFTER; k++) {
      a[k].exponent = e[l];
      if (a[k].largest && VectorExponent(a[k].largest) + e[l] > ROOM) return far; /* not zeros, or nothing */
    }
  }
  return NULL;
}

/* Let a product be made with a copy. Row pointers count from the first entry of the matrix */
static void AIJTCUMGTake(AIJTCUMGProduct *p, const float *values)
{
  p->kernel   = VectorSingleKernel(p->kernel);
  p->A.values = (const HrpbScalar *)(values - p->given.vector.first);
}

static PetscErrorCode AIJTCUMGSingleMake(AIJTCUMGVector s, PetscInt n, AIJTCUMGArray array[], cudaStream_t stream, const char **why)
{
  VectorLargest coarse = 0;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGFindLargest(s, n, array, &coarse, stream));
  *why = AIJTCUMGScale(s, array, coarse);
  for (PetscInt i = 0; i < n && !*why; i++)
    AIJTCUCallKernels(VectorToSingle(array[i].n, array[i].from, array[i].exponent, NULL, array[i].to, stream));
  for (PetscInt l = 1; l < s->nlevels && !*why; l++) {
    const AIJTCUMGArray *a = &array[NARRAYS * (l - 1)];
    AIJTCUMGRows        *r = &s->level[l];

    AIJTCUMGTake(&r->A, a[OPERATOR].to);
    AIJTCUMGTake(&r->down, a[DOWN].to);
    AIJTCUMGTake(&r->up, a[UP].to);
    r->D[0] = a[BEFORE].to;
    r->D[1] = a[AFTER].n ? a[AFTER].to : a[BEFORE].to;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUMGSingleCreate(AIJTCUMGVector s, cudaStream_t stream, const char **why)
{
  const PetscInt n     = NARRAYS * (s->nlevels - 1);
  size_t         bytes = AIJTCUMGArrayBytes(sizeof(VectorLargest), n + 2);
  AIJTCUMGArray  array[NARRAYS * PETSC_MG_MAXLEVELS];
  float         *next;

  PetscFunctionBegin;
  *why = PetscDefined(USE_REAL_SINGLE) ? "the program is in single precision" : NULL;
  for (PetscInt l = 1; l < s->nlevels && !*why; l++) {
    const AIJTCUMGRows *r = &s->level[l];

    AIJTCUMGArraysOf(r, &array[NARRAYS * (l - 1)]);
    if (!VectorSingleKernel(r->A.kernel) || !VectorSingleKernel(r->down.kernel) || !VectorSingleKernel(r->up.kernel))
      *why = "a product has no kernel for it";
  }
  if (*why) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < n; i++) bytes += AIJTCUMGArrayBytes(sizeof(float), array[i].n);
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, &s->single.copies));
  if (!s->single.copies) {
    *why = "there is no memory for copies of its levels";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  AIJTCUWorkspaceUser(PETSC_TRUE);
  next = (float *)((char *)s->single.copies + AIJTCUMGArrayBytes(sizeof(VectorLargest), n + 2));
  for (PetscInt i = 0; i < n; i++) {
    array[i].to = next;
    next += AIJTCUMGArrayBytes(sizeof(float), array[i].n) / sizeof(float);
  }
  PetscCall(AIJTCUMGSingleMake(s, n, array, stream, why));
  if (*why) PetscCall(AIJTCUMGSingleDestroy(&s->single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A piece of work that is no product */
HrpbError AIJTCUMGSingleRun(const AIJTCUMGSingle *single, const AIJTCUMGLaunch *k, cudaStream_t stream)
{
  const BlockSmooth     *t    = &k->smooth;
  const VectorSingleStep step = {.a      = (float)t->a,
                                 .b      = (float)t->b,
                                 .c      = (float)t->c,
                                 .y0     = (const float *)t->Y0.array,
                                 .x      = (const float *)t->X.array,
                                 .r      = (const float *)t->B.array,
                                 .D      = (const float *)t->D,
                                 .dblock = t->dblock,
                                 .y      = (float *)t->Y.array};

  if (k->work == AIJTCU_MG_TO_DOUBLE) return VectorToDouble(k->rows, (const float *)k->x, 0, NULL, (PetscScalar *)k->y, stream);
  if (k->work == AIJTCU_MG_TO_SINGLE) return VectorToSingle(k->rows, (const PetscScalar *)k->x, single->e[0], NULL, (float *)k->y, stream);
  return VectorStepSingle(k->rows, &step, stream);
}

/* The right-hand side of the finest level, and its result */
HrpbError AIJTCUMGSingleTake(const AIJTCUMGSingle *single, PetscInt n, const PetscScalar *b, void *to, cudaStream_t stream)
{
  HrpbError err = VectorZeroLargest(single->largest, stream);

  if (!err) err = VectorFindLargest(n, b, single->largest, stream);
  return err ? err : VectorToSingle(n, b, 0, single->largest, (float *)to, stream);
}

HrpbError AIJTCUMGSingleGive(const AIJTCUMGSingle *single, PetscInt finest, PetscInt n, const void *from, PetscScalar *x, cudaStream_t stream)
{
  return VectorToDouble(n, (const float *)from, -single->e[finest], single->largest, x, stream);
}
PetscErrorCode AIJTCUMGSingleDestroy(AIJTCUMGSingle *single)
{
  PetscFunctionBegin;
  if (single->copies) {
    PetscCallCUDA(cudaFreeAsync(single->copies, AIJTCUDeviceStreamBehind()));
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
  PetscCall(PetscMemzero(single, sizeof(*single)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
