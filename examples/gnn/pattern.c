#include "pattern.h"
#include <petscaijtcu.h>

static PetscErrorCode Blocks(Mat A, Mat block[2], const PetscInt **garray)
{
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  block[0] = A;
  block[1] = NULL;
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which node and copy a row or column of GraphCopies() is. owner is a guess at the process, and becomes that */
static PetscInt NodeOf(const PetscInt starts[], PetscInt copies, PetscInt row, PetscMPIInt *owner, PetscInt *copy)
{
  PetscInt n;

  while (row < starts[*owner]) --*owner;
  while (row >= starts[*owner + 1]) ++*owner;
  n     = (starts[*owner + 1] - starts[*owner]) / copies;
  row   = row - starts[*owner];
  *copy = row / n;
  return starts[*owner] / copies + row % n;
}

/* Numbers of entries, which are the same on any number of processes */
static PetscErrorCode SetIds(PetscInt before, PetscInt copies, Pattern *p)
{
  PetscMPIInt     owner  = 0;
  const PetscInt *starts = NULL;
  PetscInt        n;
  int64_t        *id;

  PetscFunctionBegin;
  PetscCall(MatGetSize(p->like, NULL, &n));
  if (copies > 1) PetscCall(MatGetOwnershipRanges(p->like, &starts));
  PetscCall(PetscMalloc1(p->nz, &id));
  for (PetscInt e = 0; e < p->nz; e++) {
    PetscInt row = before + p->row[e], col = p->col[e], copy = 0;

    if (starts) {
      row = NodeOf(starts, copies, row, &owner, &copy);
      col = NodeOf(starts, copies, col, &owner, &copy);
    }
    id[e] = ((int64_t)copy * (n / copies) + row) * n + col;
  }
  PetscCall(ListCreate(p->nodes, sizeof(*id) * (size_t)p->nz, id, &p->ids, &p->id));
  PetscCall(PetscFree(id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The pattern and the values of A, of the aij family. Entries of its off-diagonal block come behind those of its
   diagonal block. An A of this process alone has rows of a matrix of all, behind so many others. One of GraphCopies()
   has so many copies
*/
PetscErrorCode PatternCreate(const Nodes *nodes, Mat A, PetscInt before, PetscInt copies, Pattern *p)
{
  Mat             block[2];
  const PetscInt *garray = NULL;
  PetscInt        r0, c0, nz = 0;
  PetscScalar    *v;

  PetscFunctionBegin;
  p->nodes = nodes;
  PetscCall(PetscObjectReference((PetscObject)A));
  p->like = A;
  PetscCall(MatGetOwnershipRange(A, &r0, NULL));
  PetscCall(MatGetOwnershipRangeColumn(A, &c0, NULL));
  PetscCall(Blocks(A, block, &garray));
  for (int b = 0; b < 2 && block[b]; b++) {
    MatInfo info;

    PetscCall(MatGetInfo(block[b], MAT_LOCAL, &info));
    nz += (PetscInt)info.nz_used;
  }
  PetscCall(PetscMalloc2(nz, &p->row, nz, &p->col));
  PetscCall(PetscMalloc1(nz, &v));
  nz = 0;
  for (int b = 0; b < 2 && block[b]; b++) {
    PetscInt m;

    PetscCall(MatGetSize(block[b], &m, NULL));
    for (PetscInt i = 0; i < m; i++) {
      const PetscInt    *j;
      const PetscScalar *a;
      PetscInt           n;

      PetscCall(MatGetRow(block[b], i, &n, &j, &a));
      for (PetscInt e = 0; e < n; e++, nz++) {
        p->row[nz] = r0 + i;
        p->col[nz] = b ? garray[j[e]] : c0 + j[e];
        v[nz]      = a[e];
      }
      PetscCall(MatRestoreRow(block[b], i, &n, &j, &a));
    }
  }
  PetscCall(ListCreate(nodes, sizeof(*v) * (size_t)nz, v, &p->value, &p->v));
  PetscCall(PetscFree(v));
  p->nz = nz;
  PetscCall(SetIds(before, copies, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type that -mat_type says, aijtcu otherwise. Its values are those of the list */
PetscErrorCode PatternMat(const Pattern *p, Mat *A)
{
  PetscInt m, n, *row, *col;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(p->like, &m, &n));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)p->like), A));
  PetscCall(MatSetSizes(*A, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(PetscMalloc2(p->nz, &row, p->nz, &col)); /* PETSc changes them */
  PetscCall(PetscArraycpy(row, p->row, p->nz));
  PetscCall(PetscArraycpy(col, p->col, p->nz));
  PetscCall(MatSetPreallocationCOO(*A, p->nz, row, col));
  PetscCall(PetscFree2(row, col));
  PetscCall(PatternPut(p, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list becomes the values of A, of this pattern, with those dropped that mask drops. Ones, where A is NULL */
PetscErrorCode PatternGet(Pattern *p, Mat A, EntryMask mask)
{
  Mat             block[2];
  const PetscInt *garray;
  PetscInt        done = 0;

  PetscFunctionBegin;
  if (!A) {
    const Dropout ones = {NULL, p->id, mask, p->v};

    EntriesRun(Dropout, p->nodes, &ones, p->nz);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Blocks(A, block, &garray));
  for (int b = 0; b < 2 && block[b]; b++) {
    PetscScalar *a;
    MatInfo      info;
    Dropout      copy = {NULL, p->id + done, mask, p->v + done};

    PetscCall(MatGetInfo(block[b], MAT_LOCAL, &info));
    if (!info.nz_used) continue;
    PetscCall(MatSeqAIJGetCSRAndMemType(block[b], NULL, NULL, &a, NULL));
    copy.in = (const Real *)a;
    EntriesRun(Dropout, p->nodes, &copy, (PetscInt)info.nz_used);
    done += (PetscInt)info.nz_used;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of A, which PatternMat() has made, become those of the list */
PetscErrorCode PatternPut(const Pattern *p, Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetValuesCOO(A, (const PetscScalar *)p->v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatternDestroy(Pattern *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->like));
  PetscCall(PetscFree2(p->row, p->col));
  PetscCall(VecDestroy(&p->value));
  PetscCall(VecDestroy(&p->ids));
  PetscFunctionReturn(PETSC_SUCCESS);
}
