/*
   Multigrid for one vector on a device, as a list of launches.

   A cycle is so many small pieces of work that the host cannot launch them as fast as a device does them. Here each
   piece is a kernel of this library, in memory that stays: a product, or a step of a smoother. The list is made once.
   CUDA makes one graph of it, which is one launch.

   A residual is a product of its own kind, and so is a step of a smoother with a diagonal: no pass is needed but those
   of smoothers with blocks along the diagonal. Each step of a smoother leaves x in t, and the two change their names.

   The plain case alone is here: one process; chebyshev of the first kind, without norms, with the diagonal; transfers
   that are sparse matrices; a coarse solve that is a matrix. Bounds and numbers of steps are those of PETSc's
   smoothers. pcmgsingle.c has what is different in single precision.
*/
#include "mgvector.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <petsc/private/kspimpl.h>

enum {
  MOST_LAUNCHES = 4096 /* of a list: a W cycle of many levels has more */
};

static PetscErrorCode AIJTCUMGVectorReset(AIJTCUMGVector s)
{
  PetscFunctionBegin;
  if (s->graph) (void)AIJTCUForgetError(cudaGraphExecDestroy(s->graph)); /* one that runs ends before it is gone */
  if (s->work) PetscCallCUDA(cudaFreeAsync(s->work, AIJTCUDeviceStreamBehind()));
  PetscCall(AIJTCUMGSingleDestroy(&s->single));
  if (s->memory) { /* last: with its last user the device forgets the order of its work */
    PetscCallCUDA(cudaFreeAsync(s->memory, AIJTCUDeviceStreamBehind()));
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
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

/* Whether somebody would miss a KSPSolve(): functions around it, histories, views, what is printed after it */
PetscBool AIJTCUKSPIsWatched(KSP ksp)
{
  const PetscBool around = (PetscBool)(ksp->presolve || ksp->postsolve || ksp->presolve_ew || ksp->postsolve_ew || ksp->guess);
  const PetscBool kept   = (PetscBool)(ksp->numbermonitors || ksp->res_hist || ksp->err_hist || ksp->numberreasonviews || ksp->convergedreasonviewer);
  const PetscBool viewed = (PetscBool)(ksp->view || ksp->viewPre || ksp->viewRate || ksp->viewFinalRes || ksp->viewMat || ksp->viewPMat || ksp->viewRhs || ksp->viewSol);
  const PetscBool values = (PetscBool)(ksp->viewEV || ksp->viewSV || ksp->viewEVExp || ksp->viewMatExp || ksp->viewPOpExp);

  return (PetscBool)(around || kept || viewed || values);
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
  if (ksp->normtype != KSP_NORM_NONE || ksp->max_it < 1 || ksp->transpose_solve || ksp->pc_side == PC_RIGHT || AIJTCUKSPIsWatched(ksp)) *is = PETSC_FALSE;
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
  PetscCall(PetscObjectGetId((PetscObject)D, &m->id));
  PetscCall(PetscObjectStateGet((PetscObject)D, &m->state));
  m->steps = ksp->max_it;
  m->emin  = bounds.emin;
  m->emax  = bounds.emax;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the list is still that of these levels */
static PetscErrorCode AIJTCUMGVectorIsCurrent(AIJTCUMGVector s, PetscInt nlevels, const AIJTCUMGVectorLevel level[], Mat coarse,
                                              PetscInt cycles, PetscBool single, PetscBool *is)
{
  PetscFunctionBegin;
  *is = (PetscBool)(s->n && s->nlevels == nlevels && s->cycles == cycles && s->wants_single == single && s->coarse.given.mat == coarse);
  if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&s->coarse.given, is));
  for (PetscInt l = 1; l < nlevels && *is; l++) {
    const AIJTCUMGRows        *r = &s->level[l];
    const AIJTCUMGVectorLevel *g = &level[l];

    *is = (PetscBool)(r->A.given.mat == g->A && r->down.given.mat == g->down && r->up.given.mat == g->up &&
                      r->down.given.transposed == g->down_transposed && r->up.given.transposed == g->up_transposed && r->cycles == g->cycles);
    if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&r->A.given, is));
    if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&r->down.given, is));
    if (*is) PetscCall(AIJTCUVectorProductIsCurrent(&r->up.given, is));
    for (int k = 0; k < 2 && *is; k++) {
      AIJTCUMGSmoother now;

      PetscCall(AIJTCUMGSmootherGet(g->smoother[k], g->A, &now, is));
      if (*is) *is = (PetscBool)!memcmp(&now, &r->smoother[k], sizeof(now));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next of the list, or NULL while they are only counted */
static AIJTCUMGLaunch *AIJTCUMGNext(AIJTCUMGVector s, AIJTCUMGWork work)
{
  AIJTCUMGLaunch *k = s->n++ < s->most ? &s->list[s->n - 1] : NULL;

  if (k) k->work = work;
  return k;
}

/* y = A x */
static AIJTCUMGLaunch *AIJTCUMGListProduct(AIJTCUMGVector s, const AIJTCUMGProduct *p, const void *x, void *y)
{
  AIJTCUMGLaunch *k = AIJTCUMGNext(s, AIJTCU_MG_PRODUCT);

  s->flops += 2. * (PetscLogDouble)p->given.vector.nnz;
  if (!k) return NULL;
  k->product         = p;
  k->operands        = SpmmPlain(1, x, p->A.ncols, y, p->A.nrows);
  k->operands.behind = (bool)(s->n > 1); /* of the list all is by kernels of this library */
  return k;
}

/* y += A x */
static void AIJTCUMGListAdd(AIJTCUMGVector s, const AIJTCUMGProduct *p, const void *x, void *y)
{
  AIJTCUMGLaunch *k = AIJTCUMGListProduct(s, p, x, y);

  if (!k) return;
  k->operands.update = SPMM_ADD;
  k->operands.Y0     = (SpmmIn){y, p->A.nrows, SPMM_COLUMN_MAJOR};
}

/* y = a y + b x + c D (b - A x), with the identity if D is NULL. A term with a zero is left out */
static void AIJTCUMGListStepOf(AIJTCUMGVector s, const AIJTCUMGRows *r, PetscReal a, PetscReal b, PetscReal c, const void *D, void *y)
{
  AIJTCUMGLaunch *k = AIJTCUMGListProduct(s, &r->A, r->x, y);

  s->flops += 5. * (PetscLogDouble)r->rows;
  if (!k) return;
  k->operands.update = SPMM_STEP;
  k->operands.a      = a;
  k->operands.b      = b;
  k->operands.c      = c;
  k->operands.Y0     = (SpmmIn){y, r->rows, SPMM_COLUMN_MAJOR};
  k->operands.B      = (SpmmIn){r->b, r->rows, SPMM_COLUMN_MAJOR};
  k->operands.D      = D;
  k->operands.dblock = 1;
}

static void AIJTCUMGListResidual(AIJTCUMGVector s, const AIJTCUMGRows *r)
{
  AIJTCUMGListStepOf(s, r, 0, 0, 1, NULL, r->w);
}

/* t = a t + b x + c D q */
static void AIJTCUMGListStep(AIJTCUMGVector s, const AIJTCUMGRows *r, int which, PetscReal a, PetscReal b, PetscReal c, const void *q)
{
  AIJTCUMGLaunch *k = AIJTCUMGNext(s, AIJTCU_MG_STEP);

  s->flops += 5. * (PetscLogDouble)r->rows;
  if (!k) return;
  k->rows   = r->rows;
  k->smooth = (BlockSmooth){.a = a, .b = b, .c = c, .Y0 = {r->t, r->rows}, .X = {r->x, r->rows}, .B = {q, r->rows},
                            .W = {NULL, r->rows}, .D = r->D[which], .dblock = (int32_t)r->smoother[which].dblock, .Y = {r->t, r->rows}};
}

/* Chebyshev of the first kind, as AIJTCUSmoothChebyshev() has it. x_n comes to where x_n-2 was */
static void AIJTCUMGListSmoother(AIJTCUMGVector s, AIJTCUMGRows *r, int which, PetscBool zero)
{
  const AIJTCUMGSmoother *m     = &r->smoother[which];
  const PetscReal         scale = 2 / (m->emax + m->emin), alpha = 1 - scale * m->emin;
  PetscReal               c[2] = {1, 1 / alpha};

  for (PetscInt n = 1; n <= m->steps; n++) {
    const PetscReal omega = n == 1 ? 1 : AIJTCUChebyshevOmega(alpha, c);
    const PetscInt  known = n - (zero ? 1 : 0); /* how many of x_n-1, x_n-2, ... are not zero, or there */
    const PetscReal a = known > 1 ? 1 - omega : 0, b = known ? omega : 0;
    void *const     x = r->x;

    if (known && m->dblock == 1) AIJTCUMGListStepOf(s, r, a, b, omega * scale, r->D[which], r->t);
    else {
      if (known) AIJTCUMGListResidual(s, r);
      AIJTCUMGListStep(s, r, which, a, b, omega * scale, known ? r->w : r->b);
    }
    r->x = r->t;
    r->t = x;
  }
}

/* A coarse solve in double precision */
static void AIJTCUMGListCoarse(AIJTCUMGVector s)
{
  const AIJTCUMGRows *r      = &s->level[0];
  const PetscBool     single = (PetscBool)(s->single.copies != NULL);
  AIJTCUMGLaunch     *k;

  if (single && (k = AIJTCUMGNext(s, AIJTCU_MG_TO_DOUBLE))) {
    k->rows = r->rows;
    k->x    = r->b;
    k->y    = r->t;
  }
  AIJTCUMGListProduct(s, &s->coarse, single ? r->t : r->b, single ? r->w : r->x);
  if (single && (k = AIJTCUMGNext(s, AIJTCU_MG_TO_SINGLE))) {
    k->rows = r->rows;
    k->x    = r->w;
    k->y    = r->x;
  }
}

static void AIJTCUMGListCycle(AIJTCUMGVector s, PetscInt l, PetscBool zero)
{
  AIJTCUMGRows *r = &s->level[l], *coarser = l ? &s->level[l - 1] : NULL;

  if (!l) {
    AIJTCUMGListCoarse(s);
    return;
  }
  AIJTCUMGListSmoother(s, r, 0, zero);
  AIJTCUMGListResidual(s, r);
  AIJTCUMGListProduct(s, &r->down, r->w, coarser->b);
  /* the coarsest level is solved once */
  for (PetscInt i = 0; i < (l == 1 ? 1 : r->cycles); i++) AIJTCUMGListCycle(s, l - 1, (PetscBool)(i == 0));
  AIJTCUMGListAdd(s, &r->up, coarser->x, r->x);
  AIJTCUMGListSmoother(s, r, 1, PETSC_FALSE);
}

/* The list, or how long it is if there is none yet */
static void AIJTCUMGListAll(AIJTCUMGVector s)
{
  s->n     = 0;
  s->flops = 0;
  for (PetscInt i = 0; i < s->cycles; i++) AIJTCUMGListCycle(s, s->nlevels - 1, (PetscBool)(i == 0));
}

/* Bytes of a vector, up to where the next begins. The coarsest level has some in double */
static size_t AIJTCUMGVectorBytes(AIJTCUMGVector s, PetscInt l)
{
  return ((l && s->single.copies ? sizeof(float) : sizeof(PetscScalar)) * (size_t)s->level[l].rows + 255) / 256 * 256;
}

/* Memory for the vectors of all levels */
static PetscErrorCode AIJTCUMGVectorMemory(AIJTCUMGVector s, cudaStream_t stream, PetscBool *have)
{
  size_t bytes = 0;
  char  *next;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < s->nlevels; l++) bytes += 4 * AIJTCUMGVectorBytes(s, l);
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, &s->memory));
  *have = (PetscBool)(s->memory != NULL);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUWorkspaceUser(PETSC_TRUE);
  next = (char *)s->memory;
  for (PetscInt l = 0; l < s->nlevels; l++) {
    AIJTCUMGRows *r     = &s->level[l];
    const size_t  apart = AIJTCUMGVectorBytes(s, l);

    r->b = next;
    r->x = next + apart;
    r->t = next + 2 * apart;
    r->w = next + 3 * apart;
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
    const AIJTCUMGLaunch *k     = &s->list[i];
    size_t                bytes = 0;

    if (k->work == AIJTCU_MG_PRODUCT) AIJTCUCallKernels(SpmmWork(k->product->kernel, &k->product->A, &k->operands, &bytes));
    most = PetscMax(most, bytes);
  }
  if (most) PetscCall(AIJTCUDeviceMalloc(most, stream, &s->work));
  *have = (PetscBool)(!most || s->work);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGProductGet(Mat A, PetscBool transposed, AIJTCUMGProduct *p, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUVectorProductGet(A, transposed, &p->given, is));
  p->kernel = p->given.order.kernel;
  p->A      = p->given.order.A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies in single precision, if they are wanted and can be had; the list, and all memory */
static PetscErrorCode AIJTCUMGVectorComplete(PC pc, AIJTCUMGVector s, cudaStream_t stream, PetscBool *is)
{
  const char *why = NULL;

  PetscFunctionBegin;
  if (s->wants_single) {
    PetscCall(AIJTCUMGSingleCreate(s, stream, &why));
    PetscCall(PetscInfo(pc, "aijtcu: one vector by a cycle in %s precision%s%s\n", why ? "full" : "single", why ? ": " : "", why ? why : ""));
  }
  PetscCall(AIJTCUMGVectorList(s, stream, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMGVectorFill(PC pc, AIJTCUMGVector s, PetscInt nlevels, const AIJTCUMGVectorLevel level[], Mat coarse,
                                         PetscInt cycles, PetscBool single, PetscBool *is)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  s->nlevels       = nlevels;
  s->cycles        = cycles;
  s->wants_single  = single;
  s->level[0].rows = coarse->rmap->n;
  PetscCall(AIJTCUMGProductGet(coarse, PETSC_FALSE, &s->coarse, is));
  for (PetscInt l = 1; l < nlevels && *is; l++) {
    AIJTCUMGRows              *r = &s->level[l];
    const AIJTCUMGVectorLevel *g = &level[l];

    r->rows   = g->A->rmap->n;
    r->cycles = g->cycles;
    for (int k = 0; k < 2 && *is; k++) {
      PetscCall(KSPSetUp(g->smoother[k])); /* with new values, as KSPSolve() would */
      PetscCall(AIJTCUMGSmootherGet(g->smoother[k], g->A, &r->smoother[k], is));
      r->D[k] = r->smoother[k].D;
    }
    if (*is) PetscCall(AIJTCUMGProductGet(g->A, PETSC_FALSE, &r->A, is));
    if (*is) PetscCall(AIJTCUMGProductGet(g->down, g->down_transposed, &r->down, is));
    if (*is) PetscCall(AIJTCUMGProductGet(g->up, g->up_transposed, &r->up, is));
  }
  if (*is) AIJTCUCallOnStream(stream, AIJTCUMGVectorComplete(pc, s, stream, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list for these levels. None of it is kept after an error, or where it is not the plain case */
static PetscErrorCode AIJTCUMGVectorBuild(PC pc, AIJTCUMGVector s, PetscInt nlevels, const AIJTCUMGVectorLevel level[], Mat coarse,
                                          PetscInt cycles, PetscBool single, PetscBool *is)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUMGVectorReset(s));
  ierr = AIJTCUMGVectorFill(pc, s, nlevels, level, coarse, cycles, single, is);
  if (ierr || !*is) PetscCall(AIJTCUMGVectorReset(s));
  PetscCall(ierr);
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

    if (k->work == AIJTCU_MG_PRODUCT) err = SpmmRun(k->product->kernel, &k->product->A, &k->operands, s->work, stream);
    else if (s->single.copies) err = AIJTCUMGSingleRun(&s->single, k, stream);
    else err = AIJTCUMGSmoothRun(k->rows, &k->smooth, stream);
  }
  return err;
}

/* Kernels may come to the device when they are first launched. So there is a graph from the second cycle on */
static PetscErrorCode AIJTCUMGVectorOnStream(AIJTCUMGVector s, const PetscScalar *b, PetscScalar *x, cudaStream_t stream)
{
  const PetscInt      finest = s->nlevels - 1;
  const AIJTCUMGRows *r      = &s->level[finest];
  const size_t        bytes  = sizeof(*x) * (size_t)r->rows;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  if (s->single.copies) AIJTCUCallKernels(AIJTCUMGSingleTake(&s->single, r->rows, b, r->b, stream));
  else PetscCallCUDA(cudaMemcpyAsync(r->b, b, bytes, cudaMemcpyDeviceToDevice, stream));
  if (s->applied == 1) s->graph = SpmmCapture(AIJTCUMGVectorRun, s);
  if (s->graph) PetscCallCUDA(cudaGraphLaunch(s->graph, stream));
  else AIJTCUCallKernels(AIJTCUMGVectorRun(s, stream));
  if (s->single.copies) AIJTCUCallKernels(AIJTCUMGSingleGive(&s->single, finest, r->rows, r->x, x, stream));
  else PetscCallCUDA(cudaMemcpyAsync(x, r->x, bytes, cudaMemcpyDeviceToDevice, stream));
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

    if (s->list[i].work != AIJTCU_MG_PRODUCT) continue;
    PetscCall(AIJTCUGetPlan(s->list[i].product->given.mat, &plan));
    AIJTCUCount(plan, mult);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   x = so many cycles for b, from zero. level[0] is not looked at: `coarse` is what it multiplies with. done is false
   where it is not the plain case, with nothing changed
*/
PetscErrorCode AIJTCUMGVectorApply(PC pc, AIJTCUMGVector *s, PetscInt nlevels, const AIJTCUMGVectorLevel level[], Mat coarse,
                                   PetscInt cycles, PetscBool single, Vec b, Vec x, PetscBool *done)
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
  PetscCall(AIJTCUMGVectorIsCurrent(*s, nlevels, level, coarse, cycles, single, &current));
  if (!current) PetscCall(AIJTCUMGVectorBuild(pc, *s, nlevels, level, coarse, cycles, single, &current));
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
