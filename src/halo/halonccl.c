/*
   Rows of a halo by NCCL, from the memory of one device to that of another, also of another machine.

   The library is opened when it is first asked for: a program runs without it. NCCL needs a device for each process.
   Its communicator is made once for one of MPI, hangs on it as an attribute, and goes with it. It is tried before it
   hangs there. Where there cannot be one, or it does not work on some process, all processes get an error.
*/
#include "haloimpl.h"
#include "../device/device.h"

#if AIJTCU_HAVE_HALO && AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

  #if defined(__has_include)
    #if __has_include(<nccl.h>)
      #define HAVE_NCCL 1
    #endif
  #endif

  #if defined(HAVE_NCCL)
    #include <nccl.h>

static struct {
  PetscDLHandle                   handle;
  __typeof__(ncclGetUniqueId)    *unique_id;
  __typeof__(ncclCommInitRank)   *init;
  __typeof__(ncclCommDestroy)    *destroy;
  __typeof__(ncclCommAbort)      *abort;
  __typeof__(ncclGroupStart)     *group_start;
  __typeof__(ncclGroupEnd)       *group_end;
  __typeof__(ncclSend)           *send;
  __typeof__(ncclRecv)           *recv;
  __typeof__(ncclGetErrorString) *string;
} nccl;

static PetscMPIInt keyval = MPI_KEYVAL_INVALID;

static const ncclDataType_t scalar = PetscDefined(USE_REAL_DOUBLE) ? ncclFloat64 : ncclFloat32;

    #define CallNccl(call)                                                                                       \
      do {                                                                                                       \
        const ncclResult_t result_ = (call);                                                                     \
        PetscCheck(result_ == ncclSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "NCCL: %s", (*nccl.string)(result_)); \
      } while (0)

static PetscErrorCode AIJTCUNcclLoad(void)
{
  const struct {
    const char *name;
    void       *f;
  } functions[] = {
    {"ncclGetUniqueId", &nccl.unique_id},
    {"ncclCommInitRank", &nccl.init},
    {"ncclCommDestroy", &nccl.destroy},
    {"ncclCommAbort", &nccl.abort},
    {"ncclGroupStart", &nccl.group_start},
    {"ncclGroupEnd", &nccl.group_end},
    {"ncclSend", &nccl.send},
    {"ncclRecv", &nccl.recv},
    {"ncclGetErrorString", &nccl.string}};

  PetscFunctionBegin;
  if (!nccl.handle) PetscCall(PetscDLOpen("libnccl.so.2", PETSC_DL_NOW, &nccl.handle));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(functions); i++) {
    void *f;

    PetscCall(PetscDLSym(nccl.handle, functions[i].name, &f));
    PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_LIB, "libnccl.so.2 has no %s", functions[i].name);
    memcpy(functions[i].f, &f, sizeof(f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclDevice(cudaUUID_t *uuid)
{
  struct cudaDeviceProp device;
  int                   id;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&id));
  PetscCallCUDA(cudaGetDeviceProperties(&device, id));
  *uuid = device.uuid;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL, or why there can be no communicator: the same on all processes */
static PetscErrorCode AIJTCUNcclLacks(MPI_Comm comm, const char **why)
{
  PetscErrorCode ierr;
  PetscBool      loaded;
  PetscMPIInt    size;
  cudaUUID_t     mine, *all;

  PetscFunctionBegin;
  *why = NULL;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = AIJTCUNcclLoad();
  PetscCall(PetscPopErrorHandler());
  PetscCall(AIJTCUAgree(comm, PETSC_SUCCESS, (PetscBool)!ierr, &loaded));
  if (!loaded) {
    *why = "libnccl.so.2 is not found";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ierr = AIJTCUNcclDevice(&mine);
  PetscCall(AIJTCUAgree(comm, ierr, PETSC_TRUE, NULL));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, comm));
  for (PetscMPIInt i = 0; i < size; i++) {
    for (PetscMPIInt j = 0; j < i; j++) {
      if (!memcmp(&all[i], &all[j], sizeof(*all))) *why = "processes share a GPU";
    }
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int AIJTCUNcclDelete(MPI_Comm comm, int key, void *value, void *ctx)
{
  (void)comm, (void)key, (void)ctx;
  (void)(*nccl.destroy)((ncclComm_t)value);
  return MPI_SUCCESS;
}

/*
   PETSc frees its communicator with the last object on it. That of all processes is kept until PetscFinalize(), or a
   program that has one matrix after the other would make a communicator of NCCL for each.
*/
static MPI_Comm kept = MPI_COMM_NULL;

static PetscErrorCode AIJTCUNcclRelease(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCommDestroy(&kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclKeep(MPI_Comm comm)
{
  int same;

  PetscFunctionBegin;
  if (kept != MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_compare(comm, PETSC_COMM_WORLD, &same));
  if (same != MPI_IDENT && same != MPI_CONGRUENT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCommDuplicate(comm, &kept, NULL));
  PetscCall(PetscRegisterFinalize(AIJTCUNcclRelease));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A trial: each process sends a number to the next one, so that what does not work is seen here */
typedef struct {
  ncclComm_t   n;
  PetscMPIInt  rank, size;
  HrpbScalar  *numbers; /* mine and what comes, on the device */
  HrpbScalar   mine, got;
} AIJTCUHaloTrial;

static PetscErrorCode AIJTCUNcclBegin(AIJTCUHaloTrial *t, ncclUniqueId *id)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)&t->numbers, 2 * sizeof(*t->numbers)));
  if (t->rank == 0) CallNccl((*nccl.unique_id)(id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclInit(AIJTCUHaloTrial *t, ncclUniqueId id)
{
  PetscFunctionBegin;
  CallNccl((*nccl.init)(&t->n, t->size, id, t->rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclSend(AIJTCUHaloTrial *t)
{
  PetscFunctionBegin;
  t->mine = t->rank + 1;
  PetscCallCUDA(cudaMemcpyAsync(t->numbers, &t->mine, sizeof(t->mine), cudaMemcpyHostToDevice, NULL));
  CallNccl((*nccl.group_start)());
  CallNccl((*nccl.send)(t->numbers, 1, scalar, (t->rank + 1) % t->size, t->n, NULL));
  CallNccl((*nccl.recv)(t->numbers + 1, 1, scalar, (t->rank + t->size - 1) % t->size, t->n, NULL));
  CallNccl((*nccl.group_end)());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclReceive(AIJTCUHaloTrial *t)
{
  const PetscMPIInt from = (t->rank + t->size - 1) % t->size;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(&t->got, t->numbers + 1, sizeof(t->got), cudaMemcpyDeviceToHost, NULL));
  PetscCallCUDA(cudaStreamSynchronize(NULL));
  PetscCheck(t->got == (HrpbScalar)(from + 1), PETSC_COMM_SELF, PETSC_ERR_GPU, "NCCL: what process %d sent did not arrive", from);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclTry(MPI_Comm comm, AIJTCUHaloTrial *t)
{
  ncclUniqueId   id;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUNcclBegin(t, &id);
  PetscCall(AIJTCUAgree(comm, ierr, PETSC_TRUE, NULL));
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm));
  ierr = AIJTCUNcclInit(t, id);
  PetscCall(AIJTCUAgree(comm, ierr, PETSC_TRUE, NULL));
  ierr = AIJTCUNcclSend(t);
  PetscCall(AIJTCUAgree(comm, ierr, PETSC_TRUE, NULL));
  ierr = AIJTCUNcclReceive(t);
  PetscCall(AIJTCUAgree(comm, ierr, PETSC_TRUE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One that was tried, or an error on all processes */
static PetscErrorCode AIJTCUNcclCreate(MPI_Comm comm)
{
  AIJTCUHaloTrial t = {.n = NULL};
  PetscErrorCode  ierr;
  cudaError_t     freed;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &t.rank));
  PetscCallMPI(MPI_Comm_size(comm, &t.size));
  ierr = AIJTCUNcclTry(comm, &t);
  if (ierr && t.n) (void)(*nccl.abort)(t.n); /* nobody waits on a device for what did not start */
  freed = cudaFree(t.numbers);
  PetscCall(ierr);
  PetscCallMPI(MPI_Comm_set_attr(comm, keyval, t.n));
  PetscCall(AIJTCUNcclKeep(comm));
  PetscCallCUDA(freed);
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Have a communicator of NCCL for the processes of A. Collective */
PetscErrorCode AIJTCUHaloNcclOpen(Mat A, const AIJTCUHalo *h)
{
  #if defined(HAVE_NCCL)
  const MPI_Comm comm = PetscObjectComm((PetscObject)h->sf);
  const char    *why;
  PetscMPIInt    found;
  void          *value;

  PetscFunctionBegin;
  if (keyval == MPI_KEYVAL_INVALID) PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, AIJTCUNcclDelete, &keyval, NULL));
  PetscCallMPI(MPI_Comm_get_attr(comm, keyval, &value, &found));
  if (found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUNcclLacks(comm, &why));
  PetscCheck(!why, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "-mat_aijtcu_halo nccl: %s. NCCL needs a GPU for each process; auto and mpi do not", why);
  PetscCall(AIJTCUNcclCreate(comm));
  PetscCall(PetscInfo(A, "aijtcu: rows go by NCCL\n"));
  #else
  PetscFunctionBegin;
  (void)h;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP_SYS, "-mat_aijtcu_halo nccl: this library was built without nccl.h");
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if defined(HAVE_NCCL)
static PetscErrorCode AIJTCUNcclGroup(const AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N, ncclComm_t n, cudaStream_t stream)
{
  const AIJTCUHaloSide *out = &h->side[from], *in = &h->side[!from];

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < out->n; i++) CallNccl((*nccl.send)(out->device + (size_t)out->start[i] * (size_t)N, (size_t)(out->start[i + 1] - out->start[i]) * (size_t)N, scalar, out->ranks[i], n, stream));
  for (PetscMPIInt i = 0; i < in->n; i++) CallNccl((*nccl.recv)(in->device + (size_t)in->start[i] * (size_t)N, (size_t)(in->start[i + 1] - in->start[i]) * (size_t)N, scalar, in->ranks[i], n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Start to send and receive on the stream, which comes behind all that is packed */
PetscErrorCode AIJTCUHaloNcclStart(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N)
{
  #if defined(HAVE_NCCL)
  AIJTCUTransfers *t;
  PetscMPIInt      found;
  void            *value;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_get_attr(PetscObjectComm((PetscObject)h->sf), keyval, &value, &found));
  PetscCheck(found, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No communicator of NCCL");
  PetscCall(AIJTCUGetTransfers(&t));
  if (h->device.last_staged) PetscCallCUDA(cudaStreamWaitEvent(t->in, h->device.last_staged, 0));
  CallNccl((*nccl.group_start)());
  ierr = AIJTCUNcclGroup(h, from, N, (ncclComm_t)value, t->in);
  CallNccl((*nccl.group_end)());
  PetscCall(ierr);
  #else
  PetscFunctionBegin;
  (void)h, (void)from, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
