/*
   Whether a matrix still has the pattern and the values that it had.
*/
#include "common.h"

PetscErrorCode AIJTCUPatternKeyGet(Mat A, AIJTCUPatternKey *key)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(key, sizeof(*key)));
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int b = 0; b < 2; b++) {
    if (!block[b] || block[b] == A) continue;
    PetscCall(PetscObjectGetId((PetscObject)block[b], &key->block[b]));
    key->block_nonzerostate[b] = block[b]->nonzerostate;
  }
  PetscCall(PetscObjectGetId((PetscObject)A, &key->id));
  key->mat          = A;
  key->nonzerostate = A->nonzerostate;
  key->data         = A->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a matrix has the blocks and the state that it had. All processes have the same answer. A block that changes
   on one process alone has a plan of its own
*/
PetscBool AIJTCUPatternKeySame(const AIJTCUPatternKey *a, const AIJTCUPatternKey *b)
{
  for (int k = 0; k < 2; k++) {
    if (a->block[k] != b->block[k]) return PETSC_FALSE;
  }
  return (PetscBool)(a->mat == b->mat && a->id == b->id && a->nonzerostate == b->nonzerostate && a->data == b->data);
}

/* Whether the pattern is the same on this process */
PetscBool AIJTCUPatternKeyEqual(const AIJTCUPatternKey *a, const AIJTCUPatternKey *b)
{
  for (int k = 0; k < 2; k++) {
    if (a->block_nonzerostate[k] != b->block_nonzerostate[k]) return PETSC_FALSE;
  }
  return AIJTCUPatternKeySame(a, b);
}

/* The state of the values of A, and of the blocks of a parallel one. States only grow, and so does their sum */
PetscErrorCode AIJTCUValuesStateGet(Mat A, PetscObjectState *state)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, state));
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int b = 0; b < 2; b++) {
    PetscObjectState s = 0;

    if (block[b] && block[b] != A) PetscCall(PetscObjectStateGet((PetscObject)block[b], &s));
    *state += s;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
