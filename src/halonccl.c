/*
   Rows of a halo by NCCL, from the memory of one device to that of another, also of another machine.

   The library is opened when it is first asked for: a program runs without it. NCCL needs a device for each process.
   Its communicator is made once for one of MPI, hangs on it as an attribute, and goes with it. Where there cannot be
   one, all processes get the same error, which says why.
*/
#include "aijtcuimpl.h"

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

/* NULL, or why there can be no communicator: the same on all processes */
static PetscErrorCode AIJTCUNcclLacks(MPI_Comm comm, const char **why)
{
  PetscErrorCode        ierr;
  PetscBool             loaded;
  PetscMPIInt           size;
  struct cudaDeviceProp device;
  int                   id;
  cudaUUID_t           *all;

  PetscFunctionBegin;
  *why = NULL;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = AIJTCUNcclLoad();
  PetscCall(PetscPopErrorHandler());
  loaded = (PetscBool)!ierr;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &loaded, 1, MPI_C_BOOL, MPI_LAND, comm));
  if (!loaded) {
    *why = "libnccl.so.2 is not found";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaGetDevice(&id));
  PetscCallCUDA(cudaGetDeviceProperties(&device, id));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Allgather(&device.uuid, sizeof(*all), MPI_BYTE, all, sizeof(*all), MPI_BYTE, comm));
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

/* Each process sends a number to the next one, on one process to itself, so that what does not work is seen here */
static PetscErrorCode AIJTCUNcclTry(ncclComm_t n, PetscMPIInt rank, PetscMPIInt size, PetscScalar *d, cudaStream_t stream)
{
  const PetscScalar mine = rank + 1;
  PetscScalar       got  = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(d, &mine, sizeof(mine), cudaMemcpyHostToDevice, stream));
  CallNccl((*nccl.group_start)());
  CallNccl((*nccl.send)(d, 1, scalar, (rank + 1) % size, n, stream));
  CallNccl((*nccl.recv)(d + 1, 1, scalar, (rank + size - 1) % size, n, stream));
  CallNccl((*nccl.group_end)());
  PetscCallCUDA(cudaMemcpyAsync(&got, d + 1, sizeof(got), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCheck(got == (PetscScalar)((rank + size - 1) % size + 1), PETSC_COMM_SELF, PETSC_ERR_GPU, "NCCL: what process %d sent did not arrive", (rank + size - 1) % size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclTryOnStream(ncclComm_t n, PetscMPIInt rank, PetscMPIInt size, cudaStream_t stream)
{
  PetscScalar   *d;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)&d, 2 * sizeof(*d)));
  ierr = AIJTCUNcclTry(n, rank, size, d, stream);
  PetscCallCUDA(cudaFree(d));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUNcclCreate(MPI_Comm comm)
{
  ncclUniqueId id;
  ncclComm_t   n;
  PetscMPIInt  rank, size;
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (rank == 0) CallNccl((*nccl.unique_id)(&id));
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm));
  CallNccl((*nccl.init)(&n, size, id, rank));
  PetscCallMPI(MPI_Comm_set_attr(comm, keyval, n));
  AIJTCUCallOnStream(stream, AIJTCUNcclTryOnStream(n, rank, size, stream));
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
  if (h->device.last) PetscCallCUDA(cudaStreamWaitEvent(t->in, h->device.last, 0));
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
