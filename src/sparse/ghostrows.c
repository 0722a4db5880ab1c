/*
   Rows of sparse matrices between processes: those that a process needs of others, and those that it has for others.

   The pattern goes once, and values any number of times. They go through memory of the host, whatever the MPI knows of
   devices: these are rows at the borders of processes alone.
*/
#include "ghostrows.h"

#if AIJTCU_HAVE_DEVICE_REAL && AIJTCU_HAVE_HALO
/* ghosts: rows of others, which ascend. rows says which rows are whose. Collective */
PetscErrorCode AIJTCUGhostsCreate(PetscLayout rows, PetscInt n, const PetscInt ghosts[], AIJTCUGhostRows *g)
{
  AIJTCUPeers *owners = &g->peers[AIJTCU_OWNERS], *users = &g->peers[AIJTCU_USERS];

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(rows->comm, &g->sf));
  PetscCall(PetscSFSetType(g->sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraphLayout(g->sf, rows, n, NULL, PETSC_COPY_VALUES, ghosts));
  PetscCall(PetscSFSetUp(g->sf));
  PetscCall(PetscSFGetRootRanks(g->sf, &owners->n, &owners->ranks, &owners->start, NULL, NULL));
  PetscCall(PetscSFGetLeafRanks(g->sf, &users->n, &users->ranks, &users->start, &g->rows));
  PetscCall(PetscObjectGetNewTag((PetscObject)g->sf, &g->tag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUGhostsDestroy(AIJTCUGhostRows *g)
{
  PetscFunctionBegin;
  PetscCall(PetscSFDestroy(&g->sf));
  PetscCall(PetscMemzero(g, sizeof(*g)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows on one side */
PetscInt AIJTCUGhostsRows(const AIJTCUGhostRows *g, AIJTCUSide side)
{
  return g->peers[side].n ? g->peers[side].start[g->peers[side].n] : 0;
}

/* Process i of the side `from` sends out[first[from][i]] to out[first[from][i + 1]]; `in` is so on the other side */
static PetscErrorCode AIJTCUGhostsExchange(const AIJTCUGhostRows *g, AIJTCUSide from, MPI_Datatype type, size_t size, const void *out,
                                           void *in, const PetscInt *const first[2])
{
  const AIJTCUPeers *give = &g->peers[from], *get = &g->peers[!from];
  MPI_Comm           comm = PetscObjectComm((PetscObject)g->sf);
  MPI_Request       *request;
  PetscMPIInt        n = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(give->n + get->n, &request));
  for (PetscMPIInt i = 0; i < get->n; i++) {
    const PetscInt begin = first[!from][i], end = first[!from][i + 1];

    if (end > begin) PetscCallMPI(MPIU_Irecv((char *)in + size * (size_t)begin, end - begin, type, get->ranks[i], g->tag, comm,
                                             &request[n++]));
  }
  for (PetscMPIInt i = 0; i < give->n; i++) {
    const PetscInt begin = first[from][i], end = first[from][i + 1];

    if (end > begin) PetscCallMPI(MPIU_Isend((const char *)out + size * (size_t)begin, end - begin, type, give->ranks[i], g->tag, comm,
                                             &request[n++]));
  }
  PetscCallMPI(MPI_Waitall(n, request, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the entries of each process begin. rowptr has where those of each row do */
static PetscErrorCode AIJTCUFirstEntries(const AIJTCUPeers *peers, const PetscInt rowptr[], PetscInt **first)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(peers->n + 1, first));
  (*first)[0] = 0;
  for (PetscMPIInt i = 0; i < peers->n; i++) (*first)[i + 1] = rowptr[peers->start[i + 1]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCURowPointers(PetscInt n, PetscInt rowptr[])
{
  PetscInt64 sum = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i <= n; i++) {
    const PetscInt length = i < n ? rowptr[i] : 0;

    PetscCall(PetscIntCast(sum, &rowptr[i]));
    sum += length;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Send rows of these lengths with these columns. On return s has the row pointers of those received, and *received
   their columns, which the caller frees. lengths has room for one more number, and is changed. Collective
*/
PetscErrorCode AIJTCUShipmentCreate(const AIJTCUGhostRows *g, AIJTCUSide from, PetscInt lengths[], const PetscInt columns[],
                                    AIJTCUShipment *s, PetscInt **received)
{
  const PetscInt *const rows[2] = {g->peers[0].start, g->peers[1].start};

  PetscFunctionBegin;
  s->from  = from;
  s->nrows = AIJTCUGhostsRows(g, (AIJTCUSide)!from);
  PetscCall(PetscMalloc1(s->nrows + 1, &s->rowptr));
  PetscCall(AIJTCUGhostsExchange(g, from, MPIU_INT, sizeof(PetscInt), lengths, s->rowptr, rows));
  PetscCall(AIJTCURowPointers(AIJTCUGhostsRows(g, from), lengths));
  PetscCall(AIJTCURowPointers(s->nrows, s->rowptr));
  PetscCall(AIJTCUFirstEntries(&g->peers[from], lengths, &s->first[from]));
  PetscCall(AIJTCUFirstEntries(&g->peers[!from], s->rowptr, &s->first[!from]));
  s->sent     = s->first[from][g->peers[from].n];
  s->received = s->first[!from][g->peers[!from].n];
  PetscCall(PetscMalloc1(s->received, received));
  PetscCall(AIJTCUGhostsExchange(g, from, MPIU_INT, sizeof(PetscInt), columns, *received, (const PetscInt *const *)s->first));
  PetscCall(PetscMalloc2(s->sent, &s->out, s->received, &s->in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s->in of the others' s->out. Collective */
PetscErrorCode AIJTCUShipmentGo(const AIJTCUGhostRows *g, AIJTCUShipment *s)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGhostsExchange(g, s->from, MPIU_SCALAR, sizeof(PetscScalar), s->out, s->in, (const PetscInt *const *)s->first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUShipmentDestroy(AIJTCUShipment *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->rowptr));
  for (int side = 0; side < 2; side++) PetscCall(PetscFree(s->first[side]));
  PetscCall(PetscFree2(s->out, s->in));
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Columns are numbered with those of this process first, then others that ascend: *ghosts has the n others of before,
   and gets those of columns, which are global numbers and get their new ones. *map has the new place of each of before
   among the others. Both lists are the caller's to free
*/
PetscErrorCode AIJTCUNumberColumns(PetscLayout layout, PetscInt n, const PetscInt before[], PetscInt ncolumns, PetscInt columns[],
                                   AIJTCUGhostColumns *g)
{
  const PetscInt own = layout->n;
  PetscHMapI     place;
  PetscInt       more = 0;
  PetscHashIter  iter;
  PetscBool      missing;

  PetscFunctionBegin;
  PetscCall(PetscHMapICreateWithSize(2 * n, &place));
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscHMapISet(place, before[i], 0));
  for (PetscInt i = 0; i < ncolumns; i++) {
    if (columns[i] < layout->rstart || columns[i] >= layout->rend) PetscCall(PetscHMapIPut(place, columns[i], &iter, &missing));
  }
  PetscCall(PetscHMapIGetSize(place, &g->n));
  PetscCall(PetscMalloc2(g->n, &g->columns, n, &g->map));
  PetscCall(PetscHMapIGetKeys(place, &more, g->columns));
  PetscCall(PetscSortInt(g->n, g->columns));
  for (PetscInt i = 0; i < g->n; i++) PetscCall(PetscHMapISet(place, g->columns[i], i));
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscHMapIGet(place, before[i], &g->map[i]));
  for (PetscInt i = 0; i < ncolumns; i++) {
    if (columns[i] >= layout->rstart && columns[i] < layout->rend) columns[i] -= layout->rstart;
    else {
      PetscCall(PetscHMapIGet(place, columns[i], &columns[i]));
      columns[i] += own;
    }
  }
  PetscCall(PetscHMapIDestroy(&place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUGhostColumnsDestroy(AIJTCUGhostColumns *g)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(g->columns, g->map));
  g->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
