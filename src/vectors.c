/*
   Host vectors for a matrix on the device.

   A program that brings the type by an option may make its vectors on its own, on the host. The parent type takes them for vectors
   of the device and leaves the result where the program does not look. Here they are copied, both ways.
*/
#include "aijtcuimpl.h"

/* u is v, or a copy of v on the device where A works there and v is a vector of the host; copied only if v is read */
PetscErrorCode AIJTCUVecBegin(Mat A, Vec v, PetscBool read, Vec *u)
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
  if (read) PetscCall(VecCopy(v, *u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUVecEnd(Vec v, PetscBool written, Vec *u)
{
  PetscFunctionBegin;
  if (*u == v) PetscFunctionReturn(PETSC_SUCCESS);
  if (written) PetscCall(VecCopy(*u, v));
  PetscCall(VecDestroy(u));
  PetscFunctionReturn(PETSC_SUCCESS);
}
