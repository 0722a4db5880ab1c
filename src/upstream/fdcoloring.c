/*
   A duplicate of a vector that is bound to the host has the operations of the host, and is not bound

     VecDuplicate() of a VECCUDA copies the operations of a bound vector, but not boundtocpu. What works on the device
     asks boundtocpu, and finds old entries there, while the operations of the host read the array on the host as it is,
     and do not say that they have written it. MatFDColoringApply() binds the vector that it gets, duplicates it, and
     hands the duplicate to the function of the program. Its work vectors are bound, too: VecCopy() in
     MatFDColoringSetF() leaves F on the device, and F is not subtracted. The Jacobian is wrong by F / h, 4e7 for
     numbers of size one, without a word.

       VecBindToCPU(x, PETSC_TRUE); VecDuplicate(x, &w); VecBindToCPU(x, PETSC_FALSE);
       VecCopy(x, w);
       MatMult(A, w, y);  // A is a MATAIJCUSPARSE: is A times what w had before

     What would help: VecBindToCPU() of the duplicate; VecCopy() to the host where the other vector is bound to it.

   Needed: 3.24 to 3.26. Gone when: "VecDuplicate() of a bound vector" of upstream.c. Ours:
   sequences.c, -each ("duplicate-of-bound").

   The work vectors are bound where x is, as of a level of multigrid that is to stay on the host, and only there. The
   duplicate is made before PETSc binds x
*/
#include "upstream.h"

PetscErrorCode AIJTCUBindColoring(MatFDColoring coloring, Vec x)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(VecBoundToCPU(x, &bound));
  if (coloring->w1) PetscCall(VecBindToCPU(coloring->w1, bound));
  if (coloring->w2) PetscCall(VecBindToCPU(coloring->w2, bound));
  if (!coloring->w3) PetscCall(VecDuplicate(x, &coloring->w3));
  PetscCall(VecBindToCPU(coloring->w3, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}
