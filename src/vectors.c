/*
   Host vectors for a matrix on the device.

   A program that brings the type by an option may make its vectors on its own, on the host. The parent type takes them for vectors
   of the device and leaves the result where the program does not look. Here they are copied, both ways.
*/
#include "aijtcuimpl.h"

enum {
  MAX_VECS = 3
};

/* u is v, or a vector on the device where A works there and v is one of the host */
static PetscErrorCode AIJTCUVecOnDevice(Mat A, Vec v, Vec *u)
{
  PetscBool host, bound;

  PetscFunctionBegin;
  *u = v;
  PetscCall(MatBoundToCPU(A, &bound));
  if (!v || bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &host, VECSEQ, VECMPI, ""));
  if (!host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "aijtcu: vector of the host copied to the device and back: use vectors of the matrix's kind (MatCreateVecs(), -vec_type cuda)\n"));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), u));
  PetscCall(VecSetLayout(*u, v->map));
  PetscCall(VecSetType(*u, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCallOnDevice(Mat A, PetscInt nread, PetscInt n, const Vec v[], Vec u[], PetscErrorCode (*f)(Mat, const Vec[]))
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(AIJTCUVecOnDevice(A, v[i], &u[i]));
    if (i < nread && u[i] != v[i]) PetscCall(VecCopy(v[i], u[i]));
  }
  PetscCall((*f)(A, u));
  for (PetscInt i = nread; i < n; i++) {
    if (u[i] != v[i]) PetscCall(VecCopy(u[i], v[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Call a function of A with n vectors, of which the first nread are read and the others written */
PetscErrorCode AIJTCUCallWithVecs(Mat A, PetscInt nread, PetscInt n, const Vec v[], PetscErrorCode (*f)(Mat, const Vec[]))
{
  Vec            u[MAX_VECS] = {NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUCallOnDevice(A, nread, n, v, u, f);
  for (PetscInt i = 0; i < n; i++) { /* all of them, whatever one says */
    const PetscErrorCode destroyed = u[i] == v[i] ? PETSC_SUCCESS : VecDestroy(&u[i]);

    if (!ierr) ierr = destroyed;
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
