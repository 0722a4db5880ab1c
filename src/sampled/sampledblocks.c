/*
   What sampled products and maps of rows share: which patterns are the same, and rows of a dense matrix that other
   processes own.
*/
#include "sampledimpl.h"

/* Whether A and B have the same local pattern */
static PetscErrorCode AIJTCUSampledSamePattern(Mat A, Mat B, PetscBool *same)
{
  const PetscInt *ai, *aj, *bi, *bj;

  PetscFunctionBegin;
  *same = (PetscBool)(A->rmap->n == B->rmap->n && A->cmap->n == B->cmap->n);
  if (!*same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUHostGetCSR(A, &ai, &aj));
  PetscCall(AIJTCUHostGetCSR(B, &bi, &bj));
  PetscCall(PetscArraycmp(ai, bi, A->rmap->n + 1, same));
  if (*same && aj != bj) PetscCall(PetscArraycmp(aj, bj, ai[A->rmap->n], same));
  PetscCall(AIJTCUHostRestoreCSR(B, &bi, &bj));
  PetscCall(AIJTCUHostRestoreCSR(A, &ai, &aj));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Composed with C: which patterns of S and C were seen to be the same. So these are not compared again */
#define SAMPLED_KEY "MatSampled_AIJTCU"
typedef struct {
  AIJTCUPatternKey s, c;
} AIJTCUSampledSeen;

PetscErrorCode AIJTCUSampledRemember(Mat S, Mat C)
{
  AIJTCUSampledSeen *seen;

  PetscFunctionBegin;
  PetscCall(AIJTCUComposedData((PetscObject)C, SAMPLED_KEY, sizeof(*seen), (void **)&seen));
  PetscCall(AIJTCUPatternKeyGet(S, &seen->s));
  PetscCall(AIJTCUPatternKeyGet(C, &seen->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledWasSeen(Mat S, Mat C, PetscBool *was)
{
  AIJTCUSampledSeen *seen;
  AIJTCUPatternKey   s, c;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)C, SAMPLED_KEY, &seen));
  PetscCall(AIJTCUPatternKeyGet(S, &s));
  PetscCall(AIJTCUPatternKeyGet(C, &c));
  *was = (PetscBool)(seen && AIJTCUPatternKeyEqual(&seen->s, &s) && AIJTCUPatternKeyEqual(&seen->c, &c));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, was, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)S)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S and C must have one type and pattern. It is an error on all processes if the patterns differ on one */
PetscErrorCode AIJTCUSampledCheckSame(Mat S, Mat C)
{
  Mat             s[2], c[2];
  const PetscInt *sg, *cg;
  MatType         stype, ctype;
  PetscBool       same;

  PetscFunctionBegin;
  PetscCheck(S != C, PetscObjectComm((PetscObject)S), PETSC_ERR_ARG_IDN, "The two matrices must not be the same");
  PetscCall(MatGetType(S, &stype));
  PetscCall(MatGetType(C, &ctype));
  PetscCall(PetscStrcmp(stype, ctype, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)S), PETSC_ERR_ARG_INCOMP, "Both matrices must have one type, not %s and %s", stype, ctype);
  PetscCheck(S->assembled && C->assembled, PetscObjectComm((PetscObject)S), PETSC_ERR_ARG_WRONGSTATE, "Both matrices must be assembled");
  PetscCall(AIJTCUSampledWasSeen(S, C, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCULocalBlocks(S, s, &sg));
  PetscCall(AIJTCULocalBlocks(C, c, &cg));
  PetscCall(AIJTCUSampledSamePattern(s[0], c[0], &same));
  if (same && s[1]) PetscCall(AIJTCUSampledSamePattern(s[1], c[1], &same));
  if (same && s[1]) PetscCall(PetscArraycmp(sg, cg, s[1]->cmap->n, &same));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)S)));
  PetscCheck(same, PetscObjectComm((PetscObject)S), PETSC_ERR_ARG_INCOMP, "Both matrices must have the same nonzero pattern");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C has new values. What was known of those before need not hold: that they are symmetric, say */
PetscErrorCode AIJTCUSampledForget(Mat C)
{
  Mat all[3] = {C};

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(C, all + 1, NULL));
  for (int i = 0; i < 3 && all[i]; i++) {
    all[i]->symmetric = all[i]->hermitian = all[i]->spd = PETSC_BOOL3_UNKNOWN;
    all[i]->symmetry_eternal = all[i]->spd_eternal = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledRowsStart(Mat S, PetscInt nghosts, const PetscInt garray[], PetscInt ld, PetscMemType mem, const PetscScalar *rows, PetscScalar *ghosts, PetscSF *sf, MPI_Datatype *unit)
{
  PetscMPIInt count;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(ld, &count));
  PetscCallMPI(MPI_Type_contiguous(count, MPIU_SCALAR, unit));
  PetscCallMPI(MPI_Type_commit(unit));
  /* The matrix has such a star forest, too, but gives it to nobody before PETSc 3.26 */
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)S), sf));
  PetscCall(PetscSFSetGraphLayout(*sf, S->cmap, nghosts, NULL, PETSC_OWN_POINTER, garray));
  PetscCall(PetscSFBcastWithMemTypeBegin(*sf, *unit, mem, rows, mem, ghosts, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both are destroyed, even if one of them fails */
static PetscErrorCode AIJTCUSampledRowsDestroy(PetscSF *sf, MPI_Datatype *unit)
{
  const PetscErrorCode ierr = PetscSFDestroy(sf);

  PetscFunctionBegin;
  if (*unit != MPI_DATATYPE_NULL) PetscCallMPI(MPI_Type_free(unit));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rows of Y that other processes own, begun and ended: rows are those that we own, ld scalars each, and ghosts those
   that garray names. Both are where mem says. What was begun must be ended, even after an error; what failed to begin
   must not
*/
PetscErrorCode AIJTCUSampledRowsBegin(Mat S, PetscInt nghosts, const PetscInt garray[], PetscInt ld, PetscMemType mem, const PetscScalar *rows, PetscScalar *ghosts, PetscSF *sf, MPI_Datatype *unit)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *sf   = NULL;
  *unit = MPI_DATATYPE_NULL;
  ierr  = AIJTCUSampledRowsStart(S, nghosts, garray, ld, mem, rows, ghosts, sf, unit);
  if (ierr) (void)AIJTCUSampledRowsDestroy(sf, unit);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUSampledRowsEnd(const PetscScalar *rows, PetscScalar *ghosts, PetscSF *sf, MPI_Datatype *unit)
{
  PetscErrorCode ierr, destroyed;

  PetscFunctionBegin;
  ierr      = PetscSFBcastEnd(*sf, *unit, rows, ghosts, MPI_REPLACE);
  destroyed = AIJTCUSampledRowsDestroy(sf, unit);
  PetscCall(ierr);
  PetscCall(destroyed);
  PetscFunctionReturn(PETSC_SUCCESS);
}
