/*
   Blocks of vectors that are parts of a wider one: what is left of a solve when other columns have ended, or a piece
   where memory is short. What is decided for a part is decided as for the whole, so a column has the same bits in each.

   Who cuts a block and who decides about a product with it do not call each other. PETSc stands between them, perhaps
   with a preconditioner of the user's, and passes on nothing but matrices. So the columns of the whole are kept here
   while its parts are worked on. Cuts nest: a part may be cut again.
*/
#include "common.h"

static PetscInt whole = 0; /* 0 while nothing is cut */

/* Columns to decide for, with a block of N */
PetscInt AIJTCUWholeColumns(PetscInt N)
{
  return PetscMax(N, whole);
}

/* A block of N columns is cut. Returns what AIJTCUWholeEnd() is to be called with, after an error, too */
PetscInt AIJTCUWholeBegin(PetscInt N)
{
  const PetscInt before = whole;

  whole = PetscMax(whole, N);
  return before;
}

void AIJTCUWholeEnd(PetscInt before)
{
  whole = before;
}
