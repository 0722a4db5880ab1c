/*
   MATAIJCUSPARSE takes vectors of the host for vectors of the device

     MatMult() and its kin, MatGetDiagonal(), MatDiagonalScale() and MatSolve() of a MATAIJCUSPARSE do not ask what type
     their vectors are, nor does MatSOR() in parallel, which multiplies with the off-diagonal block. With vectors of
     type VECSEQ or VECMPI the result is computed on the device and stays there: the program reads the vector's old
     entries.

       MatCreateSeqAIJCUSPARSE(..., &A);
       VecCreateSeq(PETSC_COMM_SELF, n, &x); VecDuplicate(x, &y); VecSet(x, 1);
       MatMult(A, x, y);
       VecView(y, viewer);  // is not A x

     What would help: an error, or copies. A program gets here by -mat_type aijcusparse alone.

   Needed: 3.24 to 3.26. Gone when: "MatMult() with vectors of the host" of upstream.c. Ours: type.c.

   PCPBJACOBI and PCVPBJACOBI of such a matrix do not ask either: PCApply_PBJacobi_CUDA() and its kin. KSPSolve() gives
   them vectors of the host where those of its right-hand side are: work vectors that it lacks are made like these.

   MATAIJCUSPARSE and VecCopy() leave what they compute on the device, in a vector that is bound to the host

     VecBindToCPU() makes a VECCUDA work on the host: its array there is read as it is. MatMult() and its kin write the
     array on the device all the same, and so does VecCopy() from a VECCUDA that is not bound. MatFDColoring binds the
     vectors that it hands to the function of the program: where that multiplies with a MATAIJCUSPARSE, differences are
     of old numbers, and the Jacobian is wrong without a word.

       VecBindToCPU(y, PETSC_TRUE);
       MatMult(A, x, y);    // A is a MATAIJCUSPARSE
       VecView(y, viewer);  // is not A x

     What would help: the array on the host written where boundtocpu is set.

   Needed: 3.24 to 3.26. Gone when: "MatMult() with a vector that is bound" of upstream.c. Ours: sequences.c, -each
   ("bound-vectors").
*/
#include "upstream.h"
#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcimpl.h>
#endif

enum {
  MAX_VECS = 3
};

/*
   u is v. Or a vector on the device, where A works there and v is a vector of the host, or bound to it. PETSc hands
   parallel vectors to a block of one process, and it may be that the blocks of some processes alone work on the device.
   So nothing here is collective that is not for A
*/
static PetscErrorCode AIJTCUVecOnDevice(Mat A, Vec v, Vec *u)
{
  PetscBool   host, bound;
  PetscMPIInt size;

  PetscFunctionBegin;
  *u = v;
  PetscCall(MatBoundToCPU(A, &bound));
  if (!v || bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &host, VECSEQ, VECMPI, ""));
  PetscCall(VecBoundToCPU(v, &bound));
  if (!v->ops->getarray) bound = PETSC_TRUE; /* a duplicate of a bound vector has its operations: fdcoloring.c */
  if (!host && !bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "aijtcu: vector of the host copied to the device and back: use vectors of the matrix's kind (MatCreateVecs(), -vec_type cuda)\n"));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)A), u));
  if (size > 1) PetscCall(VecSetLayout(*u, v->map));
  else PetscCall(VecSetSizes(*u, v->map->n, v->map->n));
  PetscCall(VecSetType(*u, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = u, by arrays of the host: VecRestoreArray() says that a bound vector has its newest entries there */
PetscErrorCode AIJTCUCopyOnHost(Vec u, Vec v)
{
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(u, &from));
  PetscCall(VecGetArray(v, &to));
  PetscCall(PetscArraycpy(to, from, v->map->n));
  PetscCall(VecRestoreArray(v, &to));
  PetscCall(VecRestoreArrayRead(u, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u: those of v that are on the device, and others in the place of those that are not */
static PetscErrorCode AIJTCUVecsBegin(Mat A, PetscInt nread, PetscInt n, const Vec v[], Vec u[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(AIJTCUVecOnDevice(A, v[i], &u[i]));
    /* VecCopy() would log it, which all processes of v may do together */
    if (i < nread && u[i] != v[i]) PetscCall((*v[i]->ops->copy)(v[i], u[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was written comes back, and what was made goes, after an error, too. Returns that error */
static PetscErrorCode AIJTCUVecsEnd(PetscErrorCode ierr, PetscInt nread, PetscInt n, const Vec v[], Vec u[])
{
  for (PetscInt i = 0; i < n; i++) {
    PetscErrorCode destroyed;

    if (u[i] == v[i]) continue;
    if (!ierr && i >= nread) ierr = AIJTCUCopyOnHost(u[i], v[i]);
    destroyed = VecDestroy(&u[i]);
    if (!ierr) ierr = destroyed;
  }
  return ierr;
}

/* Call a function of A with n vectors. The first nread of them are read, the others written */
PetscErrorCode AIJTCUCallWithVecs(Mat A, PetscInt nread, PetscInt n, const Vec v[], PetscErrorCode (*f)(Mat, const Vec[]))
{
  Vec            u[MAX_VECS] = {NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUVecsBegin(A, nread, n, v, u);
  if (!ierr) ierr = (*f)(A, u);
  PetscCall(AIJTCUVecsEnd(ierr, nread, n, v, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BLOCK
/* y = f(x), with f of a preconditioner on the device that takes vectors of the device alone */
PetscErrorCode AIJTCUPCCallWithVecs(PC pc, Vec x, Vec y, PetscErrorCode (*f)(PC, Vec, Vec))
{
  const Vec      v[] = {x, y};
  Vec            u[] = {NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUVecsBegin(pc->pmat, 1, 2, v, u);
  if (!ierr) ierr = (*f)(pc, u[0], u[1]);
  PetscCall(AIJTCUVecsEnd(ierr, 1, 2, v, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
