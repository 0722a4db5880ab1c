/*
   A block solve goes on with fewer columns when half of them or more have ended.

   Columns often end one soon after the other. To narrow costs some iterations: blocks are moved, and a preconditioner
   may make others. So a method waits as many iterations first as its patience is. gmres narrows at restarts only, and
   then at once.

   There are few widths: the whole, half of it, half of that. Work blocks are the first columns of what they were, so
   nothing is allocated but one block for X. A method says which work blocks it still needs the columns of, and asks for
   all of them anew. Products of narrower blocks are decided as for all columns: AIJTCUWholeColumns(). So the bits of a
   column do not depend on which others have ended, with a preconditioner of which that is true as well.

   Not all methods narrow. richardson tests all columns together. chebyshev applies the same polynomial to all columns,
   so most end soon after each other; as a smoother it has no test. bcg has one Krylov space, which all columns feed.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
enum {
  LEAST = 8 /* columns of a narrow block */
};

static PetscInt AIJTCUNarrowWidth(const AIJTCUColumns *c)
{
  PetscInt N = c->N;

  while (N >= 2 * LEAST && c->nactive <= N / 2) N = (N + 1) / 2;
  return N;
}

/* Which columns stay, in ascending order: those that are worked on, and as many others as there is room for */
static void AIJTCUColumnsThatStay(const AIJTCUColumns *c, PetscInt N, PetscInt from[])
{
  PetscInt room = N - c->nactive, n = 0;

  for (PetscInt j = 0; j < c->N; j++) {
    if (c->reason[j] && !room) continue;
    if (c->reason[j]) room--;
    from[n++] = j;
  }
}

/* What is known of each column, of those that stay */
static void AIJTCUNarrowColumns(AIJTCUColumns *c, PetscInt N, const PetscInt from[])
{
  for (PetscInt j = 0; j < c->N; j++) {
    if (c->reason[j] && c->rnorm[j] > c->largest) c->largest = c->rnorm[j];
  }
  for (PetscInt k = 0; k < N; k++) {
    const PetscInt j = from[k];

    c->column[k] = c->column[j];
    c->active[k] = c->active[j];
    c->its[k]    = c->its[j];
    c->rnorm[k]  = c->rnorm[j];
    c->rnorm0[k] = c->rnorm0[j];
    c->reason[k] = c->reason[j];
  }
  c->N = N;
}

/* Let the narrow X be in its place among all columns */
static PetscErrorCode AIJTCUNarrowLeaveX(AIJTCUBlockKSP *s)
{
  AIJTCUColumns *c = &s->columns;
  Mat            X;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_X, &X));
  PetscCall(AIJTCUBlockMove(s->ctx, c->N, NULL, X, c->column, s->whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Narrow the block if enough columns have ended so many calls ago. X becomes a narrow block, and the nkept work blocks
   keep what is in the columns that stay. from has the numbers of these before, NULL if the block stays as it is. It is
   there until the next call
*/
PetscErrorCode AIJTCUColumnsNarrow(KSP ksp, AIJTCUBlockKSP *s, PetscInt patience, Mat *X, PetscInt nkept, const PetscInt kept[], const PetscInt *from[])
{
  AIJTCUColumns *c = &s->columns;
  const PetscInt N = AIJTCUNarrowWidth(c);

  PetscFunctionBegin;
  *from = NULL;
  if (!c->nactive || N == c->N || c->waited++ < patience) PetscFunctionReturn(PETSC_SUCCESS);
  c->waited = 0;
  PetscCall(PetscInfo(ksp, "aijtcu: goes on with a block of %" PetscInt_FMT " right-hand sides in place of %" PetscInt_FMT "\n", N, c->N));
  PetscCall(AIJTCUColumnsSave(s));
  if (c->narrow) PetscCall(AIJTCUNarrowLeaveX(s));
  else s->whole = *X;
  AIJTCUColumnsThatStay(c, N, c->from);
  PetscCall(AIJTCUBlockCtxNarrow(s->ctx, N, c->from, nkept, kept));
  AIJTCUNarrowColumns(c, N, c->from);
  c->narrow = PETSC_TRUE;
  (void)AIJTCUWholeBegin(s->whole->cmap->N); /* it ends with the solve: enter.c */
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_X, X));
  PetscCall(AIJTCUBlockMove(s->ctx, N, c->column, s->whole, NULL, *X));
  *from = c->from;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of a solve, which may have been narrow */
PetscErrorCode AIJTCUColumnsWiden(AIJTCUBlockKSP *s)
{
  PetscFunctionBegin;
  if (!s->columns.narrow) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUNarrowLeaveX(s));
  PetscCall(AIJTCUBlockCtxWiden(s->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
