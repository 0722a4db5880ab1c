/*
   The halo of a parallel matrix: its graph, its buffers, and what goes into them. haloengine.c sends.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_HALO

/* Whether all processes say so. A function, because MPIU_Allreduce() may return from its caller */
static PetscErrorCode AIJTCUHaloAgree(Mat A, PetscBool mine, PetscBool *all)
{
  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(&mine, all, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Find who needs which rows. The columns of the off-diagonal block are ghosts. They ascend, so those of one process
   are neighbours, and a message of its is received where it belongs.
*/
static PetscErrorCode AIJTCUHaloFind(Mat A, AIJTCUHalo *h, PetscBool *ordered)
{
  Mat             block;
  const PetscInt *ghosts, *mine;
  PetscBool       here = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &block, &ghosts));
  PetscCall(PetscObjectGetId((PetscObject)block, &h->block));
  h->nlocal  = A->cmap->n;
  h->nghosts = block->cmap->n;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &h->sf));
  PetscCall(PetscSFSetType(h->sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraphLayout(h->sf, A->cmap, h->nghosts, NULL, PETSC_COPY_VALUES, ghosts));
  PetscCall(PetscSFSetUp(h->sf));
  PetscCall(PetscSFGetRootRanks(h->sf, &h->nfrom, &h->from, &h->fromstart, &mine, NULL));
  PetscCall(PetscSFGetLeafRanks(h->sf, &h->nto, &h->to, &h->tostart, &h->rows));
  PetscCall(PetscMalloc1(h->nfrom + h->nto, &h->requests));
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &h->tag));
  for (PetscInt i = 0; i < h->nghosts && here; i++) here = (PetscBool)(mine[i] == i);
  PetscCall(AIJTCUHaloAgree(A, here, ordered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloCreate(Mat A, AIJTCUHalo *h)
{
  PetscBool ordered;

  PetscFunctionBegin;
  AIJTCUHaloDestroy(h);
  PetscCall(AIJTCUHaloFind(A, h, &ordered));
  h->state = ordered ? AIJTCU_READY : AIJTCU_REFUSED;
  if (ordered) {
    PetscCall(PetscInfo(A, "aijtcu: halo of %" PetscInt_FMT " rows to %d processes and %" PetscInt_FMT " from %d\n", h->nto ? h->tostart[h->nto] : 0,
      h->nto, h->nghosts, h->nfrom));
  } else PetscCall(PetscInfo(A, "aijtcu: no halo, the parent's product instead: columns of the off-diagonal block do not ascend\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are packed: those that others need, or all */
static PetscInt AIJTCUHaloPacked(const AIJTCUHalo *h)
{
  return h->engine->all ? h->nlocal : h->nto ? h->tostart[h->nto]
                                             : 0;
}

static void AIJTCUHaloFreeBuffers(AIJTCUHalo *h)
{
  free(h->out);
  free(h->in);
  h->out = h->in = NULL;
  h->width = h->failed = 0;
}

/* Whether the messages of one direction have no more scalars than MPI can count */
static PetscBool AIJTCUHaloCounts(PetscMPIInt n, const PetscInt start[], PetscInt N)
{
  for (PetscMPIInt i = 0; i < n; i++) {
    if (start[i + 1] - start[i] > PETSC_MPI_INT_MAX / N) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Get buffers for N columns, on all processes or on none */
static PetscErrorCode AIJTCUHaloGrow(Mat A, AIJTCUHalo *h, PetscInt N)
{
  const size_t   row = sizeof(PetscScalar) * (size_t)N, packed = (size_t)AIJTCUHaloPacked(h), ghosts = (size_t)h->nghosts;
  PetscScalar   *out = (PetscScalar *)malloc(PetscMax(packed, 1) * row), *in = (PetscScalar *)malloc(PetscMax(ghosts, 1) * row);
  PetscBool      mine, all                                                   = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  mine = (PetscBool)(out && in && AIJTCUHaloCounts(h->nto, h->tostart, N) && AIJTCUHaloCounts(h->nfrom, h->fromstart, N));
  ierr = AIJTCUHaloAgree(A, mine, &all);
  if (!ierr && all) {
    AIJTCUHaloFreeBuffers(h);
    h->out   = out;
    h->in    = in;
    h->width = N;
  } else {
    free(out);
    free(in);
    PetscCall(ierr);
    h->failed = N;
    PetscCall(PetscInfo(A, "aijtcu: no buffers for a halo with %" PetscInt_FMT " columns on %s, the parent's product instead\n", N,
      mine ? "another process" : "this process"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have a halo with room for N columns. AIJTCUPlanSync() comes before. usable has the same answer on all processes */
PetscErrorCode AIJTCUHaloPrepare(Mat A, AIJTCUPlan *plan, PetscInt N, PetscBool *usable)
{
  AIJTCUHalo             *h      = &plan->halo;
  const AIJTCUHaloEngine *engine = AIJTCUHaloEngineGet(plan->options.halo);
  Mat                     block;
  PetscObjectId           id;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &block, NULL));
  PetscCall(PetscObjectGetId((PetscObject)block, &id));
  if (h->state == AIJTCU_EMPTY || h->block != id) PetscCall(AIJTCUHaloCreate(A, h));
  if (h->engine != engine) AIJTCUHaloFreeBuffers(h);
  h->engine = engine;
  if (h->state == AIJTCU_READY && N > h->width && (!h->failed || N < h->failed)) PetscCall(AIJTCUHaloGrow(A, h, N));
  *usable = (PetscBool)(h->state == AIJTCU_READY && N <= h->width);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to[i * N + n] = entry n of row rows[i] of b, or of row i. A few rows at a time stay in cache */
static void AIJTCUHaloPack(PetscInt nrows, const PetscInt rows[], const PetscScalar *b, PetscInt ldb, PetscInt N, PetscScalar *to)
{
  enum {
    ROWS = 64
  };

  for (PetscInt first = 0; first < nrows; first += ROWS) {
    const PetscInt end = PetscMin(first + ROWS, nrows);

    for (PetscInt n = 0; n < N; n++) {
      const PetscScalar *column = b + (size_t)n * (size_t)ldb;

      for (PetscInt i = first; i < end; i++) to[(size_t)i * (size_t)N + (size_t)n] = column[rows ? rows[i] : i];
    }
  }
}

/* Pack rows of B, column-major, and let them go. AIJTCUHaloEnd() must follow, also after an error in between */
PetscErrorCode AIJTCUHaloBegin(Mat A, AIJTCUHalo *h, const PetscScalar *b, PetscInt ldb, PetscInt N)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Pack, A, 0, 0, 0));
  AIJTCUHaloPack(AIJTCUHaloPacked(h), h->engine->all ? NULL : h->rows, b, ldb, N, h->out);
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Pack, A, 0, 0, 0));
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  if (N) PetscCall((*h->engine->begin)(A, h, N));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wait until the ghosts have come, and what was packed has gone */
PetscErrorCode AIJTCUHaloEnd(Mat A, AIJTCUHalo *h, PetscInt N)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  if (N) PetscCall((*h->engine->end)(h));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors of what goes away are not looked at: the rest of the plan must go, too */
void AIJTCUHaloDestroy(AIJTCUHalo *h)
{
  AIJTCUHaloFreeBuffers(h);
  (void)PetscFree(h->requests);
  if (h->row_N) (void)MPI_Type_free(&h->row);
  if (h->sf) (void)PetscSFDestroy(&h->sf);
  memset(h, 0, sizeof(*h));
}
#endif
