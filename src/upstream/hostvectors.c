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

   Needed: 3.24 to 3.26. Gone when: nothing says it; try the lines above. Ours: sequences.c, -each
   ("bound-vectors").
*/
#include "upstream.h"
#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcimpl.h>
#endif

enum {
  MAX_VECS = 3
};

/* u is v. Or a vector on the device, where A works there and v is a vector of the host, or bound to it */
static PetscErrorCode AIJTCUVecOnDevice(Mat A, Vec v, Vec *u)
{
  PetscBool host, bound;

  PetscFunctionBegin;
  *u = v;
  PetscCall(MatBoundToCPU(A, &bound));
  if (!v || bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &host, VECSEQ, VECMPI, ""));
  PetscCall(VecBoundToCPU(v, &bound));
  if (!v->ops->getarray) bound = PETSC_TRUE; /* a duplicate of a bound vector has its operations: fdcoloring.c */
  if (!host && !bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "aijtcu: vector of the host copied to the device and back: use vectors of the matrix's kind (MatCreateVecs(), -vec_type cuda)\n"));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), u));
  PetscCall(VecSetLayout(*u, v->map));
  PetscCall(VecSetType(*u, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v = u, by arrays of the host: VecRestoreArray() says that a bound vector has its newest entries there */
static PetscErrorCode AIJTCUVecToHost(Vec u, Vec v)
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

static PetscErrorCode AIJTCUCallOnDevice(Mat A, PetscInt nread, PetscInt n, const Vec v[], Vec u[], PetscErrorCode (*f)(Mat, const Vec[]))
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(AIJTCUVecOnDevice(A, v[i], &u[i]));
    if (i < nread && u[i] != v[i]) PetscCall(VecCopy(v[i], u[i]));
  }
  PetscCall((*f)(A, u));
  for (PetscInt i = nread; i < n; i++) {
    if (u[i] != v[i]) PetscCall(AIJTCUVecToHost(u[i], v[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Call a function of A with n vectors. The first nread of them are read, the others written */
PetscErrorCode AIJTCUCallWithVecs(Mat A, PetscInt nread, PetscInt n, const Vec v[], PetscErrorCode (*f)(Mat, const Vec[]))
{
  Vec            u[MAX_VECS] = {NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUCallOnDevice(A, nread, n, v, u, f);
  for (PetscInt i = 0; i < n; i++) { /* all of them, even after an error */
    const PetscErrorCode destroyed = u[i] == v[i] ? PETSC_SUCCESS : VecDestroy(&u[i]);

    if (!ierr) ierr = destroyed;
  }
  PetscCall(ierr);
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
  ierr = AIJTCUVecOnDevice(pc->pmat, x, &u[0]);
  if (!ierr) ierr = AIJTCUVecOnDevice(pc->pmat, y, &u[1]);
  if (!ierr && u[0] != x) ierr = VecCopy(x, u[0]);
  if (!ierr) ierr = (*f)(pc, u[0], u[1]);
  if (!ierr && u[1] != y) ierr = AIJTCUVecToHost(u[1], y);
  for (int i = 0; i < 2; i++) { /* both, even after an error */
    const PetscErrorCode destroyed = u[i] == v[i] ? PETSC_SUCCESS : VecDestroy(&u[i]);

    if (!ierr) ierr = destroyed;
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
