static char help[] = "The families of matrices of generate.c and standin.c: rows sorted and without repeats, the same entries on any number of processes and in every version, values by place,\n"
                     "symmetric patterns where they should be, and under a permutation the same lengths of rows.\n\n";

#include "family.h"

/* Sums over entries and rows that tell patterns apart. They do not depend on the order in which they are added */
typedef struct {
  uint64_t entries, asymmetry, lengths;
} Sums;

static PetscErrorCode Examine(Mat A, PetscInt *longest, Sums *sums)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)A);
  PetscInt    rstart, rend;
  PetscMPIInt size;
  uint64_t    mine[3] = {0, 0, 0}, *all;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  *longest = 0;
  for (PetscInt row = rstart; row < rend; row++) {
    PetscInt           n;
    const PetscInt    *col;
    const PetscScalar *value;

    PetscCall(MatGetRow(A, row, &n, &col, &value));
    for (PetscInt k = 0; k < n; k++) {
      PetscCheck(k == 0 || col[k] > col[k - 1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %" PetscInt_FMT " is not sorted, or has a column twice", row);
      PetscCheck(value[k] == (PetscScalar)GenerateValue(row, col[k]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The value at (%" PetscInt_FMT ", %" PetscInt_FMT ") is another one", row, col[k]);
      mine[0] += (uint64_t)GenerateHash(row, col[k]);
      mine[1] += (uint64_t)GenerateHash(row, col[k]) - (uint64_t)GenerateHash(col[k], row);
    }
    mine[2] += (uint64_t)GenerateHash(n, 0);
    *longest = PetscMax(*longest, n);
    PetscCall(MatRestoreRow(A, row, &n, &col, &value));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, longest, 1, MPIU_INT, MPI_MAX, comm));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(3 * size, &all)); /* not a reduction: PETSc's 64-bit type is signed, and must not overflow */
  PetscCallMPI(MPI_Allgather(mine, 3, MPI_UINT64_T, all, 3, MPI_UINT64_T, comm));
  sums->entries = sums->asymmetry = sums->lengths = 0;
  for (PetscMPIInt p = 0; p < size; p++) {
    sums->entries += all[3 * p];
    sums->asymmetry += all[3 * p + 1];
    sums->lengths += all[3 * p + 2];
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Try(MPI_Comm comm, GenerateKind kind, PetscInt n)
{
  Sums     sums[2];
  PetscInt rows, longest;

  PetscFunctionBegin;
  for (int permuted = 0; permuted < 2; permuted++) {
    Mat     A;
    MatInfo info;

    PetscCall(MatCreate(comm, &A));
    PetscCall(MatSetType(A, MATAIJ));
    PetscCall(GenerateMatrix(kind, n, (PetscBool)permuted, A));
    PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
    PetscCall(MatGetSize(A, &rows, NULL));
    PetscCall(Examine(A, &longest, &sums[permuted]));
    PetscCall(PetscPrintf(comm, "%s%s: %" PetscInt_FMT " rows, %.0f nonzeros, the longest row %" PetscInt_FMT ", %s, entries %08x\n", GenerateKinds[kind], permuted ? "-permuted" : "", rows, info.nz_used, longest, sums[permuted].asymmetry ? "not symmetric" : "symmetric", (unsigned)(sums[permuted].entries >> 32)));
    PetscCall(MatDestroy(&A));
  }
  PetscCheck(sums[0].lengths == sums[1].lengths, comm, PETSC_ERR_PLIB, "%s: the permutation changed the lengths of rows", GenerateKinds[kind]);
  PetscCheck(sums[0].entries != sums[1].entries, comm, PETSC_ERR_PLIB, "%s: the permutation changed nothing", GenerateKinds[kind]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix by its name: the rows and nonzeros that it is to have, in as many parts as there are processes */
static PetscErrorCode TryName(MPI_Comm comm, const char name[], PetscReal scale)
{
  Mat         A;
  MatInfo     info;
  GenerateCSR csr;
  PetscInt   *starts, longest;
  PetscMPIInt size, rank;
  Sums        sums;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc1(size + 1, &starts));
  PetscCall(FamilyStarts(name, scale, 1, size, starts));
  PetscCall(FamilyRowsOf(name, scale, 1, starts[rank], starts[rank + 1], &csr));
  PetscCall(MatCreate(comm, &A));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetSizes(A, csr.m, csr.m, starts[size], starts[size]));
  PetscCall(MatSeqAIJSetPreallocationCSR(A, csr.i, csr.j, csr.a));
  PetscCall(MatMPIAIJSetPreallocationCSR(A, csr.i, csr.j, csr.a));
  PetscCall(GenerateCSRDestroy(&csr));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(Examine(A, &longest, &sums));
  PetscCall(PetscPrintf(comm, "%s: %" PetscInt_FMT " rows, %.0f nonzeros, the longest row %" PetscInt_FMT ", entries %08x\n", name, starts[size], info.nz_used, longest, (unsigned)(sums.entries >> 32)));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  for (int kind = 0; kind <= GENERATE_POWERLAW; kind++) PetscCall(Try(PETSC_COMM_WORLD, (GenerateKind)kind, GenerateIsGrid((GenerateKind)kind) ? 6 : 300));
  PetscCall(TryName(PETSC_COMM_WORLD, "PROTEINS-like", 1)); /* 43471 and 162088 */
  PetscCall(TryName(PETSC_COMM_WORLD, "arxiv-like", (PetscReal)0.1));
  PetscCall(TryName(PETSC_COMM_WORLD, "wikikg2-like-permuted", (PetscReal)0.001));
  PetscCall(TryName(PETSC_COMM_WORLD, "law-3000-40-700-80-200", 1)); /* 120000 */
  PetscCall(TryName(PETSC_COMM_WORLD, "pruned5", (PetscReal)0.02));
  PetscCall(TryName(PETSC_COMM_WORLD, "blocks10", (PetscReal)0.02));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 2 3 4}}

TEST*/
