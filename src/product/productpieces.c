/*
   The operands B and C of a parallel product where A is, in pieces of columns.

   Those that are there are used as they are. Of those on the host, with A on a device, there is room on the device for
   some columns at a time. All processes take pieces of the same columns: as many as all have room for, and as the halo
   has buffers for. Kernels are chosen for all columns, so pieces change no bits.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_HALO
  #if AIJTCU_HAVE_DEVICE
    #include <petscdevice_cuda.h>
  #endif

static void AIJTCUPiecesFreeRoom(AIJTCUPieces *p)
{
  #if AIJTCU_HAVE_DEVICE
  for (int i = 0; i < 2; i++) {
    if (p->room[i]) (void)AIJTCUForgetError(cudaFreeAsync(p->room[i], AIJTCUDeviceStreamBehind()));
    p->room[i] = NULL;
  }
  #else
  (void)p;
  #endif
}

  #if AIJTCU_HAVE_DEVICE
/*
   Whether a parallel dense matrix gives arrays on a device. PETSc then unbinds one that is bound to the host. Columns
   of such a one have a local matrix of the host: src/upstream/bounddense.c. No call that can fail: all processes
   must find the same
*/
static PetscBool AIJTCUDenseIsDevice(Mat M, Mat local)
{
  return (PetscBool)(!strcmp(((PetscObject)M)->type_name, MATMPIDENSECUDA) && !(local && !strcmp(((PetscObject)local)->type_name, MATSEQDENSE)));
}

static PetscErrorCode AIJTCUPiecesRoomOnStream(AIJTCUPieces *p, PetscInt n, PetscBool *have, cudaStream_t stream)
{
  PetscFunctionBegin;
  *have = PETSC_TRUE;
  for (int i = 0; i < 2 && *have; i++) {
    if (!p->away[i]) continue;
    PetscCall(AIJTCUDeviceMalloc((size_t)p->local[i]->rmap->n * (size_t)n * sizeof(PetscScalar), stream, (void **)&p->room[i]));
    *have = (PetscBool)(p->room[i] != NULL);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPiecesRoom(AIJTCUPieces *p, PetscInt n, PetscBool *have)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUPiecesRoomOnStream(p, n, have, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have room for the widest pieces that all processes can have, or for none. Collective, also after an error: p->ierr */
static PetscErrorCode AIJTCUPiecesFindRoom(Mat A, AIJTCUPieces *p)
{
  PetscBool all = PETSC_FALSE;

  PetscFunctionBegin;
  for (; p->width && !all; p->width = all ? p->width : p->width / 2) {
    PetscBool            mine = PETSC_FALSE;
    const PetscErrorCode ierr = p->ierr ? p->ierr : AIJTCUPiecesRoom(p, p->width, &mine);

    PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)A), ierr, mine, &all));
    if (!all) AIJTCUPiecesFreeRoom(p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/*
   Prepare pieces of all columns. usable is the same on all processes. An error of this one alone is kept for
   AIJTCUPiecesCall(), where others wait for it. AIJTCUPiecesEnd() must follow. Collective
*/
PetscErrorCode AIJTCUPiecesBegin(Mat A, const AIJTCUHalo *h, Mat B, Mat C, AIJTCUPieces *p, PetscBool *usable)
{
  const PetscInt N = B->cmap->N;

  PetscFunctionBegin;
  *p      = (AIJTCUPieces){.N = N, .width = PetscMin(N, AIJTCUHaloWidth(h))};
  p->ierr = MatDenseGetLocalMatrix(B, &p->local[0]);
  if (!p->ierr) p->ierr = MatDenseGetLocalMatrix(C, &p->local[1]);
  #if AIJTCU_HAVE_DEVICE
  if (!AIJTCUHaloIsOnHost(h)) {
    p->away[0] = (PetscBool)!AIJTCUDenseIsDevice(B, p->local[0]);
    p->away[1] = (PetscBool)!AIJTCUDenseIsDevice(C, p->local[1]);
  }
  if (p->away[0] || p->away[1]) PetscCall(AIJTCUPiecesFindRoom(A, p));
  #endif
  *usable = (PetscBool)(p->width || !N);
  if (!*usable) PetscCall(PetscInfo(A, "aijtcu: no room on some device for operands of the host, the parent's product instead\n"));
  else if (p->width < N) PetscCall(PetscInfo(A, "aijtcu: no memory for all of %" PetscInt_FMT " columns, pieces of %" PetscInt_FMT " instead\n", N, p->width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns from first of operand i, as the next piece where A is. Of B the contents are brought */
static PetscErrorCode AIJTCUPieceOpen(const AIJTCUPieces *p, int i, PetscInt first, PetscInt n, Mat *columns, Mat *at)
{
  PetscFunctionBegin;
  *columns = p->local[i];
  if (n < p->N) PetscCall(MatDenseGetSubMatrix(p->local[i], PETSC_DECIDE, PETSC_DECIDE, first, first + n, columns));
  *at = *columns;
  #if AIJTCU_HAVE_DEVICE
  if (p->away[i]) {
    *at = NULL;
    PetscCall(MatCreateSeqDenseCUDA(PETSC_COMM_SELF, p->local[i]->rmap->n, n, p->room[i], at));
    if (i == 0) PetscCall(AIJTCUDeviceBring(*columns, *at));
  }
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is done with it is over. Of C, unless that failed, the contents are brought back */
static PetscErrorCode AIJTCUPieceClose(const AIJTCUPieces *p, int i, PetscBool done, PetscInt n, Mat *columns, Mat *at)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (p->away[i]) {
    if (i == 1 && done && *at) ierr = AIJTCUDeviceBring(*at, *columns);
    PetscCall(MatDestroy(at));
  }
  #else
  (void)done;
  (void)at;
  #endif
  if (n < p->N && *columns && *columns != p->local[i]) PetscCall(MatDenseRestoreSubMatrix(p->local[i], columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Call f with each piece of B and C. After an error there is a call without them for each: others wait for this one. An
   error of one process is an error of all, but where B and C are used as they are: nothing is asked there
*/
PetscErrorCode AIJTCUPiecesCall(Mat A, const AIJTCUPieces *p, PetscErrorCode (*f)(void *, PetscInt, Mat, Mat), void *ctx)
{
  const PetscInt before = AIJTCUWholeBegin(p->N);
  PetscErrorCode ierr   = p->ierr;
  PetscInt       first  = 0;

  PetscFunctionBegin;
  do {
    const PetscInt n          = PetscMin(p->N - first, p->width);
    Mat            columns[2] = {NULL, NULL}, at[2] = {NULL, NULL};
    PetscErrorCode called;

    for (int i = 0; i < 2 && !ierr; i++) ierr = AIJTCUPieceOpen(p, i, first, n, &columns[i], &at[i]);
    called = (*f)(ctx, n, ierr ? NULL : at[0], ierr ? NULL : at[1]);
    if (!ierr) ierr = called;
    for (int i = 0; i < 2; i++) {
      const PetscErrorCode closed = AIJTCUPieceClose(p, i, (PetscBool)!ierr, n, &columns[i], &at[i]);

      if (!ierr) ierr = closed;
    }
    first += n;
  } while (first < p->N);
  AIJTCUWholeEnd(before);
  if (p->width < p->N || p->away[0] || p->away[1]) PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)A), ierr, PETSC_TRUE, NULL));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void AIJTCUPiecesEnd(AIJTCUPieces *p)
{
  AIJTCUPiecesFreeRoom(p);
}
#endif
