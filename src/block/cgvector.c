/*
   KSPCG for one vector on a device of one process.

   KSPSolve_CG() waits for the device at each sum. Here the scalars of an iteration stay on the device, and come to the
   host in one copy, for the test. The host has launched by then all that the test does not decide: the step of X, and,
   where the norm is one of M r, the preconditioner. The arithmetic is that of a block of one column.

   A step that must not be made is one of zero: p^T A p or r^T M r is zero, is not finite, or has changed its sign. The
   host finds that in the copy, and ends as KSPSolve_CG() does. Products, preconditioner, monitors and tests are the
   same calls as there, in the same order. Where the norm is one of M r, M has by then been applied once more.

   With M a diagonal no preconditioner is called: an iteration is the product and one kernel, with the same bits. The
   kernel makes the next direction, too, and where nobody monitors, the product with it is launched before the test.
   Both are in vain where the test ends the solve.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

/* Scalars. Those of two iterations take turns: the second are at SECOND. NORM follows BETA, both in one call */
enum {
  BETA, /* r^T M r */
  NORM, /* square of the norm */
  DPI,  /* p^T A p */
  SECOND,
  STEP = 2 * SECOND, /* what a direction is multiplied by */
  KEPT,              /* r^T M r, p^T A p where they have the sign of before */
  ACTIVE = KEPT + 2, /* one */
  TURN,              /* of a BlockIteration */
  NSCALARS
};

/* Work vectors of KSPCG */
enum {
  VEC_R,
  VEC_Z, /* also A p */
  VEC_P,
  NVECS
};

struct _n_AIJTCUCGVector {
  PetscInt     n;
  PetscScalar *scalars, *host; /* on the device; pinned */
  void        *work;
  cudaEvent_t  fetched;
};

PetscErrorCode AIJTCUCGVectorDestroy(AIJTCUCGVector *v)
{
  PetscFunctionBegin;
  if (!*v) PetscFunctionReturn(PETSC_SUCCESS);
  if ((*v)->fetched) (void)AIJTCUForgetError(cudaEventDestroy((*v)->fetched));
  if ((*v)->host) (void)AIJTCUForgetError(cudaFreeHost((*v)->host)); /* waits for what is on its way there */
  if ((*v)->work) PetscCallCUDA(cudaFreeAsync((*v)->work, AIJTCUDeviceStreamBehind()));
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(PetscFree(*v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory. have is false where there is none */
static PetscErrorCode AIJTCUCGVectorMemory(AIJTCUCGVector v, PetscInt n, cudaStream_t stream, PetscBool *have)
{
  const size_t bytes = (*BlockOpsDevice.work)(n, 1, 3);

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceMalloc(bytes + NSCALARS * sizeof(*v->scalars), stream, &v->work));
  if (v->work) PetscCall(AIJTCUAllocated(cudaMallocHost((void **)&v->host, NSCALARS * sizeof(*v->host)), (void **)&v->host));
  *have = (PetscBool)(v->host != NULL);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaEventCreateWithFlags(&v->fetched, cudaEventDisableTiming));
  v->scalars = (PetscScalar *)((char *)v->work + bytes);
  for (int k = 0; k < NSCALARS; k++) v->host[k] = k == ACTIVE;
  PetscCallCUDA(cudaMemcpyAsync(v->scalars, v->host, NSCALARS * sizeof(*v->host), cudaMemcpyHostToDevice, stream));
  v->n = n; /* last: after an error all is made anew */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCGVectorHave(AIJTCUCGVector *v, PetscInt n, PetscBool *have)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  *have = PETSC_TRUE;
  if (*v && (*v)->n == n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUCGVectorDestroy(v));
  PetscCall(PetscNew(v));
  (*v)->n = -1;
  AIJTCUWorkspaceUser(PETSC_TRUE);
  AIJTCUCallOnStream(stream, AIJTCUCGVectorMemory(*v, n, stream, have));
  if (!*have) PetscCall(AIJTCUCGVectorDestroy(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static BlockShape AIJTCUCGVectorShape(const struct _n_AIJTCUCGVector *v, cudaStream_t stream)
{
  return (BlockShape){.n = v->n, .N = 1, .work = v->work, .stream = stream};
}

static PetscErrorCode AIJTCUCGVectorOn(AIJTCUCGVector v, PetscErrorCode (*f)(AIJTCUCGVector, const void *, cudaStream_t), const void *args, PetscLogDouble flops)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallOnStream(stream, (*f)(v, args, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(flops * (PetscLogDouble)v->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const PetscScalar *from[2];
  PetscScalar       *to[3];
  PetscInt           now, before; /* where the scalars of this iteration begin, and of the one before */
  PetscInt           nsums;
} AIJTCUCGArgs;

/* p = z + beta / betaold p */
static PetscErrorCode AIJTCUCGDirection(AIJTCUCGVector v, const void *ctx, cudaStream_t stream)
{
  const AIJTCUCGArgs *a = (const AIJTCUCGArgs *)ctx;
  const BlockShape    s = AIJTCUCGVectorShape(v, stream);

  PetscFunctionBegin;
  AIJTCUCallKernels((*BlockOpsDevice.scalars)(&s, BLOCK_DIVIDE, NULL, v->scalars + STEP, v->scalars + a->now + BETA, v->scalars + a->before + BETA));
  AIJTCUCallKernels((*BlockOpsDevice.axpby)(&s, (BlockOut){a->to[0], v->n}, NULL, (BlockIn){a->from[0], v->n}, v->scalars + STEP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the step is made of, and where it goes */
static BlockLengths AIJTCUCGLengths(const struct _n_AIJTCUCGVector *v, const AIJTCUCGArgs *a)
{
  PetscScalar *const now = v->scalars + a->now, *const before = v->scalars + a->before;

  return (BlockLengths){.active           = v->scalars + ACTIVE,
                        .now              = now + BETA,
                        .before           = before + BETA,
                        .curvature        = now + DPI,
                        .curvature_before = before + DPI,
                        .kept             = v->scalars + KEPT,
                        .step             = v->scalars + STEP};
}

/* p^T w, the step, and r -= step w, with r^T r if that is asked for */
static PetscErrorCode AIJTCUCGStep(AIJTCUCGVector v, const void *ctx, cudaStream_t stream)
{
  const AIJTCUCGArgs *a = (const AIJTCUCGArgs *)ctx;
  const BlockShape    s = AIJTCUCGVectorShape(v, stream);
  const BlockIn       w = {a->from[0], v->n}, p = {a->from[1], v->n};
  const BlockStep     step = {.kind = BLOCK_STEP_PLAIN, .lengths = AIJTCUCGLengths(v, a), .W = w, .R = {a->to[0], v->n}};

  PetscFunctionBegin;
  AIJTCUCallKernels((*BlockOpsDevice.dots)(&s, 1, &w, p, v->scalars + a->now + DPI));
  AIJTCUCallKernels((*BlockOpsDevice.cg_step)(&s, &step, a->nsums ? v->scalars + SECOND - a->now + NORM : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All that comes behind w = A p, with M a diagonal: p^T w, the step, r and x, the next p. The sums are r^T M r, and
   r^T r if that is asked for, or the square of the norm of M r
*/
static PetscErrorCode AIJTCUCGIterate(AIJTCUCGVector v, const void *ctx, cudaStream_t stream)
{
  const AIJTCUCGArgs  *a = (const AIJTCUCGArgs *)ctx;
  const BlockShape     s = AIJTCUCGVectorShape(v, stream);
  const BlockIteration t = {.kind      = a->nsums ? BLOCK_STEP_WITH_R : BLOCK_STEP_WITH_Z,
                            .lengths   = AIJTCUCGLengths(v, a),
                            .curvature = v->scalars + a->now + DPI,
                            .sums      = v->scalars + SECOND - a->now + BETA,
                            .W         = {a->from[0], v->n},
                            .D         = a->from[1],
                            .R         = {a->to[0], v->n},
                            .P         = {a->to[1], v->n},
                            .X         = {a->to[2], v->n},
                            .turn      = (uint32_t *)(v->scalars + TURN)};

  PetscFunctionBegin;
  AIJTCUCallKernels((*BlockOpsDevice.cg_iterate)(&s, &t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r^T z, and z^T z if that is asked for, or r^T r alone */
static PetscErrorCode AIJTCUCGSums(AIJTCUCGVector v, const void *ctx, cudaStream_t stream)
{
  const AIJTCUCGArgs *a       = (const AIJTCUCGArgs *)ctx;
  const BlockShape    s       = AIJTCUCGVectorShape(v, stream);
  const BlockIn       left[2] = {{a->from[0], v->n}, {a->from[1], v->n}};

  PetscFunctionBegin;
  AIJTCUCallKernels((*BlockOpsDevice.dots)(&s, a->nsums, left, left[1], v->scalars + a->now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scalars begin to go to the host. Behind them x += step p */
static PetscErrorCode AIJTCUCGFetch(AIJTCUCGVector v, const void *ctx, cudaStream_t stream)
{
  const AIJTCUCGArgs *a = (const AIJTCUCGArgs *)ctx;
  const BlockShape    s = AIJTCUCGVectorShape(v, stream);
  const BlockIn       p = {a->from[0], v->n};

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(v->host, v->scalars, NSCALARS * sizeof(*v->host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaEventRecord(v->fetched, stream));
  PetscCall(PetscLogGpuToCpuScalar(NSCALARS * sizeof(*v->host)));
  if (a->to[0]) AIJTCUCallKernels((*BlockOpsDevice.maxpy)(&s, (BlockOut){a->to[0], v->n}, 1, 1, v->scalars + STEP, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of the vectors for one of these functions */
static PetscErrorCode AIJTCUCGCall(AIJTCUCGVector v, PetscErrorCode (*f)(AIJTCUCGVector, const void *, cudaStream_t), AIJTCUCGArgs *a, const Vec from[2], const Vec to[3], PetscLogDouble flops)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    if (from[i]) PetscCall(VecCUDAGetArrayRead(from[i], &a->from[i]));
  }
  for (int i = 0; i < 3; i++) {
    a->to[i] = NULL;
    if (to[i]) PetscCall(VecCUDAGetArray(to[i], &a->to[i]));
  }
  ierr = AIJTCUCGVectorOn(v, f, a, flops);
  for (int i = 0; i < 3; i++) { /* after an error, too: they may have changed */
    const PetscErrorCode restored = to[i] ? VecCUDARestoreArray(to[i], &a->to[i]) : PETSC_SUCCESS;

    if (!ierr) ierr = restored;
  }
  for (int i = 0; i < 2; i++) {
    if (from[i]) PetscCall(VecCUDARestoreArrayRead(from[i], &a->from[i]));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M r, and sums of it. Scalars begin at k */
static PetscErrorCode AIJTCUCGPrecondition(KSP ksp, AIJTCUCGVector v, PetscInt k)
{
  AIJTCUCGArgs a = {.now = k, .nsums = ksp->normtype == KSP_NORM_PRECONDITIONED ? 2 : 1};

  PetscFunctionBegin;
  PetscCall(KSP_PCApply(ksp, ksp->work[VEC_R], ksp->work[VEC_Z]));
  PetscCall(AIJTCUCGCall(v, AIJTCUCGSums, &a, (const Vec[2]){ksp->work[VEC_R], ksp->work[VEC_Z]}, (const Vec[3]){NULL}, 2. * (PetscLogDouble)a.nsums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begin to bring the scalars to the host. The device goes on with x += step p, unless p is NULL */
static PetscErrorCode AIJTCUCGFetchBegin(KSP ksp, AIJTCUCGVector v, Vec p)
{
  AIJTCUCGArgs a = {.now = 0};

  PetscFunctionBegin;
  PetscCall(AIJTCUCGCall(v, AIJTCUCGFetch, &a, (const Vec[2]){p}, (const Vec[3]){p ? ksp->vec_sol : NULL}, p ? 2 : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wait for them, and not for what came behind */
static PetscErrorCode AIJTCUCGFetchEnd(AIJTCUCGVector v)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventSynchronize(v->fetched));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual at the beginning, and the objective */
static PetscErrorCode AIJTCUCGBegin(KSP ksp, Mat A, AIJTCUCGData *cg)
{
  const Vec   R = ksp->work[VEC_R], X = ksp->vec_sol, B = ksp->vec_rhs;
  PetscScalar dots[2] = {0, 0};

  PetscFunctionBegin;
  ksp->its = 0;
  if (ksp->guess_zero) PetscCall(VecCopy(B, R));
  else {
    PetscCall(KSP_MatMult(ksp, A, X, R));
    PetscCall(VecAYPX(R, -1, B));
    PetscCall(VecTDot(R, X, &dots[0]));
    PetscCall(VecTDot(B, X, &dots[1]));
  }
  PetscCall(VecFlag(R, ksp->reason == KSP_DIVERGED_PC_FAILED));
  cg->obj = 0.5 * (dots[0] - dots[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The norm to test. One whose square has no digits, or is not finite, is found without that, of M r in Z. Where Z is
   not that yet, ahead says whether it is the next product. Then it is no more
*/
static PetscErrorCode AIJTCUCGNorm(KSP ksp, const PetscScalar *host, PetscBool *ahead, PetscReal *norm)
{
  const PetscBool natural = (PetscBool)(ksp->normtype == KSP_NORM_NATURAL);
  const PetscReal square  = ksp->normtype == KSP_NORM_NONE ? 0 : PetscAbsScalar(host[natural ? BETA : NORM]);
  const PetscReal least   = 1 / (PETSC_MACHINE_EPSILON * PETSC_MAX_REAL);

  PetscFunctionBegin;
  *norm = PetscSqrtReal(square);
  if (natural || ksp->normtype == KSP_NORM_NONE || (square >= least && square <= PETSC_MAX_REAL)) PetscFunctionReturn(PETSC_SUCCESS);
  if (ahead && ksp->normtype == KSP_NORM_PRECONDITIONED) {
    PetscCall(KSP_PCApply(ksp, ksp->work[VEC_R], ksp->work[VEC_Z]));
    *ahead = PETSC_FALSE;
  }
  PetscCall(VecNorm(ksp->work[ksp->normtype == KSP_NORM_PRECONDITIONED ? VEC_Z : VEC_R], NORM_2, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSolve_CG() leaves its loop in iteration i with a reason. That counts only where the iteration was to be made */
static void AIJTCUCGLeave(KSP ksp, PetscInt i)
{
  if (i >= ksp->max_it) ksp->reason = KSP_DIVERGED_ITS;
}

/* Whether iteration i ends the solve before its step: in the order of KSPSolve_CG() */
static PetscErrorCode AIJTCUCGBreaksDown(KSP ksp, PetscInt i, const PetscScalar *now, const PetscScalar *before, const PetscScalar *kept)
{
  PetscFunctionBegin;
  ksp->its = i; /* it is looked at there before the next iteration begins */
  KSPCheckDot(ksp, now[BETA]);
  ksp->its = i + 1;
  if (now[BETA] == 0) {
    ksp->reason = KSP_CONVERGED_ATOL;
    PetscCall(PetscInfo(ksp, "converged due to beta = 0\n"));
    AIJTCUCGLeave(ksp, i);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (i && kept[0] == 0) {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED, "Diverged due to indefinite preconditioner, beta %g, betaold %g", (double)now[BETA], (double)before[BETA]);
    ksp->reason = KSP_DIVERGED_INDEFINITE_PC;
    PetscCall(PetscInfo(ksp, "diverging due to indefinite preconditioner\n"));
    AIJTCUCGLeave(ksp, i);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  KSPCheckDot(ksp, now[DPI]);
  if (kept[1] != 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->converged_neg_curve) {
    PetscCall(PetscInfo(ksp, "converged due to negative curvature: %g\n", (double)now[DPI]));
    ksp->reason = KSP_CONVERGED_NEG_CURVE;
  } else {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED, "Diverged due to indefinite matrix, dpi %g, dpiold %g", (double)now[DPI], (double)before[DPI]);
    ksp->reason = KSP_DIVERGED_INDEFINITE_MAT;
    PetscCall(PetscInfo(ksp, "diverging due to indefinite matrix\n"));
  }
  AIJTCUCGLeave(ksp, i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCGTest(KSP ksp, PetscInt n, PetscReal norm)
{
  PetscFunctionBegin;
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, n, norm));
  PetscCall((*ksp->converged)(ksp, n, norm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M, where it is a diagonal on the device. Else D is NULL. The caller destroys it: a monitor may set M up anew */
static PetscErrorCode AIJTCUCGDiagonal(KSP ksp, Vec *D)
{
  PetscBool cuda;
  PetscInt  dblock;

  PetscFunctionBegin;
  PetscCall(AIJTCUPCBlocks(ksp, &dblock, D));
  if (!*D) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*D, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  if (!cuda || (*D)->boundtocpu || dblock > 1) *D = NULL;
  else PetscCall(PetscObjectReference((PetscObject)*D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D is M, or NULL where that is no diagonal */
static PetscErrorCode AIJTCUCGSolve(KSP ksp, AIJTCUCGVector v, Vec D, AIJTCUCGData *cg)
{
  /* M r comes before the norm */
  const PetscBool early = (PetscBool)(ksp->normtype == KSP_NORM_PRECONDITIONED || ksp->normtype == KSP_NORM_NATURAL);
  const PetscBool late  = (PetscBool)(ksp->normtype == KSP_NORM_UNPRECONDITIONED);
  const Vec       R = ksp->work[VEC_R], Z = ksp->work[VEC_Z], P = ksp->work[VEC_P];
  const PetscInt  most = ksp->max_it; /* one iteration is made at least */
  PetscScalar     b = 0, a = 1; /* as KSPSolve_CG() has them */
  PetscReal       norm;
  PetscBool       ahead = PETSC_FALSE; /* Z is the product of the iteration that begins */
  Mat             A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(AIJTCUCGBegin(ksp, A, cg));
  if (ksp->calc_sings) cg->e[0] = 0;
  if (early) {
    PetscCall(AIJTCUCGPrecondition(ksp, v, BETA));
    PetscCall(AIJTCUCGFetchBegin(ksp, v, NULL));
    PetscCall(AIJTCUCGFetchEnd(v));
  }
  if (late) PetscCall(VecNorm(R, NORM_2, &norm));
  else PetscCall(AIJTCUCGNorm(ksp, v->host, NULL, &norm));
  KSPCheckNorm(ksp, norm);
  PetscCall(AIJTCUCGTest(ksp, 0, norm));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (early) KSPCheckDot(ksp, v->host[BETA]);
  else PetscCall(AIJTCUCGPrecondition(ksp, v, BETA));

  for (PetscInt i = 0; !ksp->reason; i++) {
    const PetscInt           now = i % 2 ? SECOND : 0, next = SECOND - now;
    const PetscScalar *const host = v->host + now, *const before = v->host + (i ? next : now);
    PetscScalar              old[SECOND]; /* the scalars of before, which those of the next iteration overwrite */
    AIJTCUCGArgs             args = {.now = now, .before = i ? next : now, .nsums = late};

    ksp->its = i + 1;
    for (int k = 0; k < SECOND; k++) old[k] = before[k];
    if (!i) PetscCall(VecCopy(Z, P));
    else if (!D) PetscCall(AIJTCUCGCall(v, AIJTCUCGDirection, &args, (const Vec[2]){Z}, (const Vec[3]){P}, 2));
    if (!ahead) PetscCall(KSP_MatMult(ksp, A, P, Z));
    if (D) PetscCall(AIJTCUCGCall(v, AIJTCUCGIterate, &args, (const Vec[2]){Z, D}, (const Vec[3]){R, P, ksp->vec_sol}, 14));
    else {
      PetscCall(AIJTCUCGCall(v, AIJTCUCGStep, &args, (const Vec[2]){Z, P}, (const Vec[3]){R}, late ? 6 : 4));
      if (early) PetscCall(AIJTCUCGPrecondition(ksp, v, next));
    }
    PetscCall(AIJTCUCGFetchBegin(ksp, v, D ? NULL : P));
    ahead = (PetscBool)(D && i + 1 < ksp->max_it && !ksp->numbermonitors); /* a monitor may change A */
    if (ahead) PetscCall(KSP_MatMult(ksp, A, P, Z));
    PetscCall(AIJTCUCGFetchEnd(v));
    PetscCall(AIJTCUCGBreaksDown(ksp, i, host, i ? old : host, v->host + KEPT));
    if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
    if (ksp->calc_sings) {
      PetscCheck(ksp->max_it == most, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, "Can not change maxit AND calculate eigenvalues");
      b = i ? host[BETA] / old[BETA] : 0;
      if (i) cg->e[i] = PetscSqrtReal(PetscAbsScalar(b)) / a;
      a        = host[BETA] / host[DPI];
      cg->d[i] = PetscSqrtReal(PetscAbsScalar(b)) * cg->e[i] + 1 / a;
    }
    PetscCall(AIJTCUCGNorm(ksp, v->host + next, D ? &ahead : NULL, &norm));
    KSPCheckNorm(ksp, norm);
    cg->obj -= 0.5 * host[BETA] / host[DPI] * host[BETA];
    PetscCall(AIJTCUCGTest(ksp, i + 1, norm));
    if (ksp->reason) {
      AIJTCUCGLeave(ksp, i);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (!early && !D) PetscCall(AIJTCUCGPrecondition(ksp, v, next));
    if (!early && !D && i + 1 >= ksp->max_it) {
      PetscCall(AIJTCUCGFetchBegin(ksp, v, NULL));
      PetscCall(AIJTCUCGFetchEnd(v));
    }
    if (early || i + 1 >= ksp->max_it) KSPCheckDot(ksp, v->host[next + BETA]);
    AIJTCUCGLeave(ksp, i + 1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a solve is the plain case: its vectors are on the device, and cg has nothing more to do */
static PetscErrorCode AIJTCUCGIsPlain(KSP ksp, const AIJTCUCGData *cg, PetscBool *is)
{
  const Vec vecs[] = {ksp->vec_rhs, ksp->vec_sol, ksp->work[VEC_R], ksp->work[VEC_Z], ksp->work[VEC_P]};

  PetscFunctionBegin;
  *is = (PetscBool)(cg && cg->radius == 0 && !(cg->obj_min < 0) && !cg->single_reduction && ksp->chknorm < 1 && !ksp->transpose_solve);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(vecs) && *is; k++) {
    PetscCall(PetscObjectTypeCompareAny((PetscObject)vecs[k], is, VECSEQCUDA, VECMPICUDA, ""));
    if (vecs[k]->boundtocpu) *is = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve, if it is the plain case */
PetscErrorCode AIJTCUCGVectorSolve(KSP ksp, AIJTCUCGVector *v, PetscBool *done)
{
  AIJTCUCGData  *cg;
  PetscErrorCode ierr;
  Vec            D;

  PetscFunctionBegin;
  PetscCall(AIJTCUCGGetData(ksp, &cg));
  PetscCall(AIJTCUCGIsPlain(ksp, cg, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUCGVectorHave(v, ksp->vec_sol->map->n, done));
  if (!*done) {
    PetscCall(PetscInfo(ksp, "aijtcu: cg as PETSc has it: no memory for its scalars\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUCGDiagonal(ksp, &D));
  ierr = AIJTCUCGSolve(ksp, *v, D, cg);
  PetscCall(VecDestroy(&D)); /* after an error, too */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
