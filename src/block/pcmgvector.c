/*
   Multigrid for one vector on a device, as a list of launches.

   A cycle is so many small pieces of work that the host cannot launch them as fast as a device does them. Here each
   piece is a kernel of this library, in memory that stays: a product, or a step of a smoother. The list is made once.
   CUDA makes one graph of it, which is one launch.

   The right-hand side of a level has the other sign: b is less than nothing. So a residual is a product that adds,
   b + A x, its restriction is the coarser b, and no pass is needed but those of smoothers.

   The plain case alone is here: one process; chebyshev of the first kind, without norms, with the diagonal; transfers
   that are sparse matrices; a coarse solve that is a matrix. Bounds and numbers of steps are those of PETSc's
   smoothers.
*/
#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <petsc/private/kspimpl.h>
  #include <petsc/private/pcmgimpl.h>

enum {
  MOST_LAUNCHES = 4096 /* of a list: a W cycle of many levels has more */
};

/* A smoother. It is compared byte by byte, so it is zeroed before it is filled */
typedef struct {
  PetscInt           steps, dblock;
  PetscReal          emin, emax;
  const PetscScalar *D;
} AIJTCUMGSmoother;

typedef struct {
  AIJTCUVectorProduct A, down, up;
  AIJTCUMGSmoother    smoother[2];
  PetscInt            rows, cycles;
  PetscScalar        *b, *x, *t, *w;
} AIJTCUMGRows;

/* A product y = A x or y0 + A x, or a step of a smoother */
typedef struct {
  const AIJTCUVectorProduct *product;
  SpmmOperands               operands;
  PetscInt                   rows;
  BlockSmooth                smooth;
} AIJTCUMGLaunch;

struct _n_AIJTCUMGVector {
  PetscInt             nlevels, cycles;
  AIJTCUMGRows         level[PETSC_MG_MAXLEVELS];
  AIJTCUVectorProduct  coarse;
  void                *memory, *work;
  AIJTCUMGLaunch      *list;
  PetscInt             n, most;
  PetscInt64           applied;
  cudaGraphExec_t      graph;
  PetscLogDouble       flops;
};

static PetscErrorCode AIJTCUMGVectorReset(AIJTCUMGVector s)
{
  PetscFunctionBegin;
  if (s->graph) (void)AIJTCUForgetError(cudaGraphExecDestroy(s->graph)); /* one that runs ends before it is gone */
  if (s->memory) {
    PetscCallCUDA(cudaFreeAsync(s->memory, AIJTCUDeviceStreamBehind()));
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
  if (s->work) PetscCallCUDA(cudaFreeAsync(s->work, AIJTCUDeviceStreamBehind()));
  PetscCall(PetscFree(s->list));
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUMGVectorDestroy(AIJTCUMGVector *s)
{
  PetscFunctionBegin;
  if (*s) PetscCall(AIJTCUMGVectorReset(*s));
  PetscCall(PetscFree(*s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a KSP smooths with, if it is the plain case */
static PetscErrorCode AIJTCUMGSmootherGet(KSP ksp, Mat A, AIJTCUMGSmoother *m, PetscBool *is)
{
  AIJTCUChebyshev    bounds;
  PCFailedReason     failed;
  MatNullSpace       nullsp[2];
  PetscBool          known;
  Mat                P;
  Vec                D;
  const PetscScalar *d;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCHEBYSHEV, is));
  if (ksp->normtype != KSP_NORM_NONE || ksp->max_it < 1 || ksp->transpose_solve || ksp->numbermonitors || ksp->presolve || ksp->postsolve ||
      ksp->view || ksp->viewPre || ksp->pc_side == PC_RIGHT) *is = PETSC_FALSE;
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &P, NULL));
  PetscCall(MatGetNullSpace(A, &nullsp[0]));
  PetscCall(MatGetTransposeNullSpace(A, &nullsp[1]));
  PetscCall(AIJTCUChebyshevGet(ksp, &bounds, &known));
  *is = (PetscBool)(P == A && !nullsp[0] && !nullsp[1] && known && bounds.kind == KSP_CHEBYSHEV_FIRST && bounds.emax > bounds.emin);
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUJacobiGetDiagonal(ksp->pc, &m->dblock, &D));
  PetscCall(PCGetFailedReason(ksp->pc, &failed));
  *is = (PetscBool)(D && !failed);
  if (*is) PetscCall(PetscObjectTypeCompareAny((PetscObject)D, is, VECSEQCUDA, VECMPICUDA, ""));
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCUDAGetArrayRead(D, &d));
  m->D = d;
  PetscCall(VecCUDARestoreArrayRead(D, &d));
  m->steps = ksp->max_it;
  m->emin  = bounds.emin;
  m->emax  = bounds.emax;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the list is still that of these levels */
static PetscErrorCode AIJTCUMGVectorIsCurrent(AIJTCUMGVector s, PetscInt nlevels, const AIJTCUMGVectorLevel level[], Mat coarse,
                                              PetscInt cycles, PetscBool *is)
{
  PetscFunctionBegin;
  *is = (PetscBool)(s->n && s->nlevels == nlevels && s->cycles == cycles && s->coarse.mat == coarse);
  if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&s->coarse, is));
  for (PetscInt l = 1; l < nlevels && *is; l++) {
    const AIJTCUMGRows        *r = &s->level[l];
    const AIJTCUMGVectorLevel *g = &level[l];

    *is = (PetscBool)(r->A.mat == g->A && r->down.mat == g->down && r->up.mat == g->up && r->down.transposed == g->down_transposed &&
                      r->up.transposed == g->up_transposed && r->cycles == g->cycles);
    if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&r->A, is));
    if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&r->down, is));
    if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&r->up, is));
    for (int k = 0; k < 2 && *is; k++) {
      AIJTCUMGSmoother now;

      PetscCall(AIJTCUMGSmootherGet(g->smoother[k], g->A, &now, is));
      if (*is) *is = (PetscBool)!memcmp(&now, &r->smoother[k], sizeof(now));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next of the list, or NULL while they are only counted */
static AIJTCUMGLaunch *AIJTCUMGNext(AIJTCUMGVector s)
{
  return s->n++ < s->most ? &s->list[s->n - 1] : NULL;
}

/* y = A x, or y0 + A x */
static void AIJTCUMGListProduct(AIJTCUMGVector s, const AIJTCUVectorProduct *p, const PetscScalar *x, const PetscScalar *y0, PetscScalar *y)
{
  AIJTCUMGLaunch *a = AIJTCUMGNext(s);

  s->flops += 2. * (PetscLogDouble)p->vector.nnz;
  if (!a) return;
  a->product  = p;
  a->operands = SpmmPlain(1, x, p->order.A.ncols, y, p->order.A.nrows);
  if (y0) {
    a->operands.update = SPMM_ADD;
    a->operands.Y0     = (SpmmIn){y0, p->order.A.nrows, SPMM_COLUMN_MAJOR};
  }
}

/* y = a y0 + b x + c D r. A term with a zero is left out */
static void AIJTCUMGListStep(AIJTCUMGVector s, PetscInt rows, PetscReal a, const PetscScalar *y0, PetscReal b, const PetscScalar *x,
                             PetscReal c, const AIJTCUMGSmoother *m, const PetscScalar *r, PetscScalar *y)
{
  AIJTCUMGLaunch *k = AIJTCUMGNext(s);

  s->flops += 5. * (PetscLogDouble)rows;
  if (!k) return;
  k->product = NULL;
  k->rows    = rows;
  k->smooth  = (BlockSmooth){.a = a, .b = b, .c = c, .Y0 = {y0, rows}, .X = {x, rows}, .B = {r, rows}, .W = {NULL, rows},
                             .D = m ? m->D : NULL, .dblock = m ? (int32_t)m->dblock : 1, .Y = {y, rows}};
}

/* Chebyshev of the first kind, as AIJTCUSmoothChebyshev() has it. x_n comes to t and to x in turns, the last to x */
static void AIJTCUMGListSmoother(AIJTCUMGVector s, const AIJTCUMGRows *r, const AIJTCUMGSmoother *m, PetscBool zero)
{
  const PetscReal scale = 2 / (m->emax + m->emin), alpha = 1 - scale * m->emin;
  PetscReal       c[2] = {1, 1 / alpha};

  for (PetscInt n = 1; n <= m->steps; n++) {
    PetscScalar *const from = n % 2 ? r->x : r->t, *const before = n % 2 ? r->t : r->x;
    const PetscReal    omega = n == 1 ? 1 : AIJTCUChebyshevOmega(alpha, c);
    const PetscInt     known = n - (zero ? 1 : 0); /* how many of x_n-1, x_n-2, ... are not zero, or there */

    if (known) AIJTCUMGListProduct(s, &r->A, from, r->b, r->w);
    AIJTCUMGListStep(s, r->rows, known > 1 ? 1 - omega : 0, before, known ? omega : 0, from, -omega * scale, m, known ? r->w : r->b,
                     n == m->steps ? r->x : before);
  }
}

static void AIJTCUMGListCycle(AIJTCUMGVector s, PetscInt l, PetscBool zero)
{
  const AIJTCUMGRows *r = &s->level[l], *coarser = l ? &s->level[l - 1] : NULL;

  if (!l) {
    AIJTCUMGListProduct(s, &s->coarse, r->b, NULL, r->t);
    AIJTCUMGListStep(s, r->rows, -1, r->t, 0, NULL, 0, NULL, NULL, r->x);
    return;
  }
  AIJTCUMGListSmoother(s, r, &r->smoother[0], zero);
  AIJTCUMGListProduct(s, &r->A, r->x, r->b, r->w);
  AIJTCUMGListProduct(s, &r->down, r->w, NULL, coarser->b);
  /* the coarsest level is solved once */
  for (PetscInt i = 0; i < (l == 1 ? 1 : r->cycles); i++) AIJTCUMGListCycle(s, l - 1, (PetscBool)(i == 0));
  AIJTCUMGListProduct(s, &r->up, coarser->x, r->x, r->x);
  AIJTCUMGListSmoother(s, r, &r->smoother[1], PETSC_FALSE);
}

/* The list, or how long it is if there is none yet */
static void AIJTCUMGListAll(AIJTCUMGVector s)
{
  s->n     = 0;
  s->flops = 0;
  for (PetscInt i = 0; i < s->cycles; i++) AIJTCUMGListCycle(s, s->nlevels - 1, (PetscBool)(i == 0));
}

/* Bytes of a vector, up to where the next begins */
static size_t AIJTCUMGVectorBytes(const AIJTCUMGRows *r)
{
  return (sizeof(PetscScalar) * (size_t)r->rows + 255) / 256 * 256;
}

/* Memory for the vectors of all levels */
static PetscErrorCode AIJTCUMGVectorMemory(AIJTCUMGVector s, cudaStream_t stream, PetscBool *have)
{
  size_t bytes = 0;
  char  *next;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < s->nlevels; l++) bytes += 4 * AIJTCUMGVectorBytes(&s->level[l]);
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, &s->memory));
  *have = (PetscBool)(s->memory != NULL);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUWorkspaceUser(PETSC_TRUE);
  next = (char *)s->memory;
  for (PetscInt l = 0; l < s->nlevels; l++) {
    AIJTCUMGRows *r     = &s->level[l];
    const size_t  apart = AIJTCUMGVectorBytes(r);

    r->b = (PetscScalar *)next;
    r->x = (PetscScalar *)(next + apart);
    r->t = (PetscScalar *)(next + 2 * apart);
    r->w = (PetscScalar *)(next + 3 * apart);
    next += 4 * apart;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list, and memory for its products */
static PetscErrorCode AIJTCUMGVectorList(AIJTCUMGVector s, cudaStream_t stream, PetscBool *have)
{
  size_t most = 0;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGVectorMemory(s, stream, have));
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUMGListAll(s);
  *have = (PetscBool)(s->n <= MOST_LAUNCHES);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  s->most = s->n;
  PetscCall(PetscCalloc1(s->most, &s->list));
  AIJTCUMGListAll(s);
  for (PetscInt i = 0; i < s->n; i++) {
    size_t bytes = 0;

    if (s->list[i].product) AIJTCUCallKernels(SpmmWork(s->list[i].product->order.kernel, &s->list[i].product->order.A,
                                                       &s->list[i].operands, &bytes));
    most = PetscMax(most, bytes);
  }
  if (most) PetscCall(AIJTCUDeviceMalloc(most, stream, &s->work));
  *have = (PetscBool)(!most || s->work);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list for these levels. None of it is kept where it is not the plain case */
static PetscErrorCode AIJTCUMGVectorBuild(AIJTCUMGVector s, PetscInt nlevels, const AIJTCUMGVectorLevel level[], Mat coarse,
                                          PetscInt cycles, PetscBool *is)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGVectorReset(s));
  s->nlevels       = nlevels;
  s->cycles        = cycles;
  s->level[0].rows = coarse->rmap->n;
  PetscCall(AIJTCUVectorProductGet(coarse, PETSC_FALSE, &s->coarse, is));
  for (PetscInt l = 1; l < nlevels && *is; l++) {
    AIJTCUMGRows              *r = &s->level[l];
    const AIJTCUMGVectorLevel *g = &level[l];

    r->rows   = g->A->rmap->n;
    r->cycles = g->cycles;
    for (int k = 0; k < 2 && *is; k++) {
      PetscCall(KSPSetUp(g->smoother[k])); /* with new values, as KSPSolve() would */
      PetscCall(AIJTCUMGSmootherGet(g->smoother[k], g->A, &r->smoother[k], is));
    }
    if (*is) PetscCall(AIJTCUVectorProductGet(g->A, PETSC_FALSE, &r->A, is));
    if (*is) PetscCall(AIJTCUVectorProductGet(g->down, g->down_transposed, &r->down, is));
    if (*is) PetscCall(AIJTCUVectorProductGet(g->up, g->up_transposed, &r->up, is));
  }
  if (*is) AIJTCUCallOnStream(stream, AIJTCUMGVectorList(s, stream, is));
  if (!*is) PetscCall(AIJTCUMGVectorReset(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCUMGSmoothRun(PetscInt rows, const BlockSmooth *smooth, cudaStream_t stream)
{
  const BlockShape shape = {.n = rows, .N = 1, .work = NULL, .stream = stream};

  return (*BlockOpsDevice.smooth)(&shape, smooth);
}

/* What a graph is captured of: launches alone */
static HrpbError AIJTCUMGVectorRun(void *ctx, cudaStream_t stream)
{
  const struct _n_AIJTCUMGVector *s   = (const struct _n_AIJTCUMGVector *)ctx;
  HrpbError                       err = HRPB_SUCCESS;

  for (PetscInt i = 0; i < s->n && !err; i++) {
    const AIJTCUMGLaunch *k = &s->list[i];

    if (k->product) err = SpmmRun(k->product->order.kernel, &k->product->order.A, &k->operands, s->work, stream);
    else err = AIJTCUMGSmoothRun(k->rows, &k->smooth, stream);
  }
  return err;
}

/* Kernels may come to the device when they are first launched. So there is a graph from the second cycle on */
static PetscErrorCode AIJTCUMGVectorOnStream(AIJTCUMGVector s, const PetscScalar *b, PetscScalar *x, cudaStream_t stream)
{
  const AIJTCUMGRows *r       = &s->level[s->nlevels - 1];
  const BlockSmooth   negated = {.a = -1, .Y0 = {b, r->rows}, .Y = {r->b, r->rows}, .dblock = 1};

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallKernels(AIJTCUMGSmoothRun(r->rows, &negated, stream));
  if (s->applied == 1) s->graph = (cudaGraphExec_t)SpmmCapture(AIJTCUMGVectorRun, s);
  if (s->graph) PetscCallCUDA(cudaGraphLaunch(s->graph, stream));
  else AIJTCUCallKernels(AIJTCUMGVectorRun(s, stream));
  PetscCallCUDA(cudaMemcpyAsync(x, r->x, sizeof(*x) * (size_t)r->rows, cudaMemcpyDeviceToDevice, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(s->flops));
  s->applied++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGVectorInto(AIJTCUMGVector s, const PetscScalar *b, PetscScalar *x)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUMGVectorOnStream(s, b, x, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGVectorCount(const struct _n_AIJTCUMGVector *s)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < s->n; i++) {
    AIJTCUPlan *plan;

    if (!s->list[i].product) continue;
    PetscCall(AIJTCUGetPlan(s->list[i].product->mat, &plan));
    AIJTCUCount(plan, mult);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   x = so many cycles for b, from zero. level[0] is not looked at: `coarse` is what it multiplies with. done is false
   where it is not the plain case, with nothing changed
*/
PetscErrorCode AIJTCUMGVectorApply(AIJTCUMGVector *s, PetscInt nlevels, const AIJTCUMGVectorLevel level[], Mat coarse, PetscInt cycles,
                                   Vec b, Vec x, PetscBool *done)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscBool          there[2], current;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)b, &there[0], VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &there[1], VECSEQCUDA, VECMPICUDA, ""));
  if (!there[0] || !there[1] || b->boundtocpu || x->boundtocpu) PetscFunctionReturn(PETSC_SUCCESS);
  if (!*s) PetscCall(PetscNew(s));
  PetscCall(AIJTCUMGVectorIsCurrent(*s, nlevels, level, coarse, cycles, &current));
  if (!current) PetscCall(AIJTCUMGVectorBuild(*s, nlevels, level, coarse, cycles, &current));
  if (!current) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCUDAGetArrayRead(b, &from));
  PetscCall(VecCUDAGetArrayWrite(x, &to));
  ierr = AIJTCUMGVectorInto(*s, from, to);
  PetscCall(VecCUDARestoreArrayWrite(x, &to));
  PetscCall(VecCUDARestoreArrayRead(b, &from));
  PetscCall(ierr);
  PetscCall(AIJTCUMGVectorCount(*s));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
