/*
   Refusals for lack of memory. Memory that is short now may be there later. So a refusal holds for some questions, and
   for twice as many each time that it was no use to ask again.
*/
#include "common.h"

enum {
  FIRST = 16, /* questions */
  MOST  = 4096
};

void AIJTCURefusalBegin(AIJTCURefusal *r)
{
  r->last = r->last ? PetscMin(2 * r->last, MOST) : FIRST;
  r->left = r->last;
}

/* Ask whether it holds. Each call is a question */
PetscBool AIJTCURefusalHolds(AIJTCURefusal *r)
{
  if (!r->left) return PETSC_FALSE;
  r->left--;
  return PETSC_TRUE;
}
