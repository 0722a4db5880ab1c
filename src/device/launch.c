/*
   Products that come again.

   To launch a kernel takes the host some 3 microseconds, and each further one as long. One CUDA graph of all of them
   takes 1.3. So a product that has come a few times, with the same operands, becomes a graph, and is launched as one
   from then on. Solvers and eigensolvers multiply the same few blocks and vectors again and again.

   What a kernel of the table launches follows from the numbers that it is given: those of the matrix, of its schedule,
   of the operands, and addresses. They are the key of a graph. What lies at these addresses is read when the graph
   runs. So new values of A, of B and of C need no new graph. If a schedule or bricks are built again, their numbers or
   addresses differ, and there is a new graph. If they are the same, the old graph is right.
*/
#include "device.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

enum {
  LAUNCHES_BEFORE = 8, /* products before there is a graph: what so many save is about what it takes to make one */
  LAUNCHES_KEPT   = 32 /* GMRES has 30 vectors between its restarts */
};

/* Everything that says what a product launches. It is compared byte by byte, so it is zeroed before it is filled */
typedef struct {
  const SpmmKernel *kernel;
  void             *work;
  int               device;
  SpmmMatrix        A; /* without the pointers to what follows */
  SpmmOperands      operands;
  CsrSchedule       csr;
  VectorPlan        vector;
  Hrpb              hrpb;
  HrpbSchedule      schedule;
  HrpbReordered     reordered;
} AIJTCULaunchKey;

typedef struct {
  AIJTCULaunchKey key;
  PetscInt        times; /* that it came before there was a graph */
  cudaGraphExec_t graph;
} AIJTCULaunchEntry;

struct _n_AIJTCULaunches {
  AIJTCURefusal     refused;               /* CUDA made no graph */
  PetscInt64        now;                   /* products so far */
  PetscInt64        last[LAUNCHES_KEPT];   /* when each came last; 0 for a place that nothing has */
  const void       *result[LAUNCHES_KEPT]; /* where it goes: tells most of them apart */
  AIJTCULaunchEntry launch[LAUNCHES_KEPT];
};

/* Members one by one: an assignment of all may copy what pads them */
static void AIJTCULaunchCopyIn(SpmmIn *to, const SpmmIn *from)
{
  to->array  = from->array;
  to->ld     = from->ld;
  to->layout = from->layout;
}

static void AIJTCULaunchCopyOperands(SpmmOperands *to, const SpmmOperands *from)
{
  to->N = from->N;
  AIJTCULaunchCopyIn(&to->X, &from->X);
  to->Y.array  = from->Y.array;
  to->Y.ld     = from->Y.ld;
  to->Y.layout = from->Y.layout;
  to->update   = from->update;
  AIJTCULaunchCopyIn(&to->Y0, &from->Y0);
  AIJTCULaunchCopyIn(&to->B, &from->B);
  to->a      = from->a;
  to->b      = from->b;
  to->c      = from->c;
  to->D      = from->D;
  to->dblock = from->dblock;
  to->K      = from->K;
  AIJTCULaunchCopyIn(&to->Z, &from->Z);
  to->softmax = from->softmax;
  to->behind  = from->behind;
}

static HrpbError AIJTCULaunchKeyOf(const AIJTCUWorkOrder *o, AIJTCULaunchKey *key)
{
  const SpmmMatrix *A = &o->A;

  memset(key, 0, sizeof(*key));
  key->kernel         = o->kernel;
  key->work           = o->work;
  key->A.nrows        = A->nrows;
  key->A.ncols        = A->ncols;
  key->A.rowptr       = A->rowptr;
  key->A.colidx       = A->colidx;
  key->A.values       = A->values;
  key->A.brick_values = A->brick_values;
  key->A.precision    = A->precision;
  AIJTCULaunchCopyOperands(&key->operands, &o->operands);
  if (A->csr) memcpy(&key->csr, A->csr, sizeof(key->csr));
  if (A->vector) memcpy(&key->vector, A->vector, sizeof(key->vector));
  if (A->hrpb) memcpy(&key->hrpb, A->hrpb, sizeof(key->hrpb));
  if (A->schedule) memcpy(&key->schedule, A->schedule, sizeof(key->schedule));
  if (o->reordered) memcpy(&key->reordered, o->reordered, sizeof(key->reordered));
  return AIJTCUForgetError(cudaGetDevice(&key->device)) ? HRPB_ERR_DEVICE : HRPB_SUCCESS;
}

/* What a product launches. A graph is captured of it */
static HrpbError AIJTCULaunchRun(void *order, cudaStream_t stream)
{
  const AIJTCUWorkOrder *o = (const AIJTCUWorkOrder *)order;

  if (o->reordered) return SpmmRunReordered(o->kernel, &o->A, o->reordered, &o->operands, o->work, stream);
  return SpmmRun(o->kernel, &o->A, &o->operands, o->work, stream);
}

/* A graph that is still running ends before it is gone */
static void AIJTCULaunchDropGraph(AIJTCULaunchEntry *k)
{
  if (k->graph) (void)AIJTCUForgetError(cudaGraphExecDestroy(k->graph));
  k->graph = NULL;
}

/* The launch with this key, or the place of the one that has not come for longest */
static AIJTCULaunchEntry *AIJTCULaunchFind(AIJTCULaunches l, const AIJTCULaunchKey *key)
{
  int k = 0, oldest = 0;

  while (k < LAUNCHES_KEPT && (l->result[k] != key->operands.Y.array || memcmp(&l->launch[k].key, key, sizeof(*key)))) {
    if (l->last[k] < l->last[oldest]) oldest = k;
    k++;
  }
  if (k == LAUNCHES_KEPT) {
    k = oldest;
    AIJTCULaunchDropGraph(&l->launch[k]);
    memset(&l->launch[k], 0, sizeof(l->launch[k]));
    memcpy(&l->launch[k].key, key, sizeof(*key));
    l->result[k] = key->operands.Y.array;
  }
  l->last[k] = ++l->now;
  return &l->launch[k];
}

/* Whether a program captures its own work in this stream. A graph of ours cannot be launched there */
static PetscBool AIJTCULaunchIsCaptured(cudaStream_t stream)
{
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;

  if (stream && AIJTCUForgetError(cudaStreamIsCapturing(stream, &status))) return PETSC_TRUE;
  return (PetscBool)(status != cudaStreamCaptureStatusNone);
}

static void AIJTCULaunchDropGraphs(AIJTCULaunches l)
{
  for (int k = 0; k < LAUNCHES_KEPT; k++) AIJTCULaunchDropGraph(&l->launch[k]);
}

/* CUDA has no graph, or no memory for one: kernels are launched one by one, and it is asked again much later */
static PetscErrorCode AIJTCULaunchRefuse(AIJTCULaunches l, const SpmmKernel *kernel)
{
  PetscFunctionBegin;
  AIJTCURefusalBegin(&l->refused);
  AIJTCULaunchDropGraphs(l);
  PetscCall(PetscInfo(NULL, "aijtcu: CUDA has no graph for a product by %s: kernels are launched one by one\n", kernel->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph of a product that has come often enough, or NULL */
static PetscErrorCode AIJTCULaunchGraphOf(AIJTCULaunches l, AIJTCUWorkOrder *o, cudaStream_t stream, cudaGraphExec_t *graph)
{
  AIJTCULaunchKey    key;
  AIJTCULaunchEntry *k;

  PetscFunctionBegin;
  *graph = NULL;
  if (AIJTCURefusalHolds(&l->refused) || AIJTCULaunchIsCaptured(stream) || AIJTCULaunchKeyOf(o, &key)) PetscFunctionReturn(PETSC_SUCCESS);
  k = AIJTCULaunchFind(l, &key);
  if (!k->graph && k->times++ < LAUNCHES_BEFORE) PetscFunctionReturn(PETSC_SUCCESS);
  if (!k->graph) k->graph = SpmmCapture(AIJTCULaunchRun, o);
  *graph = k->graph;
  if (!*graph) PetscCall(AIJTCULaunchRefuse(l, o->kernel));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the result is added to what is there: a product that stops halfway cannot be made again */
static PetscBool AIJTCULaunchIsInPlace(const SpmmOperands *o)
{
  return (PetscBool)((o->update == SPMM_ADD || o->update == SPMM_STEP) && o->Y0.array == o->Y.array);
}

/*
   The one launch of products: SpmmRun(), or SpmmRunReordered() of the reordered matrix, for a product on a device.
   launches has what is known of the matrix's products, or is NULL. Where the product is refused, Y0 is as it was: of a
   product in place all kernels are brought to the device before the first of them writes
*/
PetscErrorCode AIJTCULaunch(AIJTCULaunches *launches, const AIJTCUWorkOrder *order, cudaStream_t stream, HrpbError *err)
{
  const PetscBool in_place = AIJTCULaunchIsInPlace(&order->operands);
  AIJTCUWorkOrder o        = *order;
  cudaGraphExec_t graph    = NULL;
  PetscBool       launched;

  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  if (launches && !*launches) PetscCall(PetscNew(launches));
  if (launches) PetscCall(AIJTCULaunchGraphOf(*launches, &o, stream, &graph));
  if (in_place && !graph) AIJTCUCallDevice(*err, SpmmLoad(AIJTCULaunchRun, &o, stream));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuTimeBegin());
  launched = (PetscBool)(graph && !AIJTCUForgetError(cudaGraphLaunch(graph, stream)));
  if (!launched) *err = AIJTCULaunchRun(&o, stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(in_place ? AIJTCUCheckKernels(*err) : AIJTCUCheckRefused(*err));
  if (graph && !launched) PetscCall(AIJTCULaunchRefuse(*launches, o.kernel));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring all that AIJTCULaunch() would launch to the device */
PetscErrorCode AIJTCULaunchLoad(const AIJTCUWorkOrder *order, cudaStream_t stream, HrpbError *err)
{
  AIJTCUWorkOrder o = *order;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, SpmmLoad(AIJTCULaunchRun, &o, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJTCULaunch() with workspace as the kernel wants it, which is there until AIJTCUDeviceEnd() */
PetscErrorCode AIJTCULaunchWithWork(AIJTCULaunches *launches, const AIJTCUWorkOrder *order, cudaStream_t stream, HrpbError *err)
{
  AIJTCUWorkOrder o = *order;
  size_t          bytes;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, SpmmWork(o.kernel, &o.A, &o.operands, &bytes));
  if (!*err && bytes) PetscCall(AIJTCUWorkspaceGet(bytes, stream, &o.work));
  if (!*err && bytes && !o.work) *err = HRPB_ERR_DEVICE_MEMORY;
  if (!*err) PetscCall(AIJTCULaunch(launches, &o, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCULaunchesDestroy(AIJTCULaunches *launches)
{
  PetscFunctionBegin;
  if (*launches) AIJTCULaunchDropGraphs(*launches);
  PetscCall(PetscFree(*launches));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
