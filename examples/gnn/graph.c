#include "graph.h"
#include "entries.h"
#include "matload.h"
#include <petscaijtcu.h>

/* Rows of features add up to one, those without entries excepted */
static PetscErrorCode NormalizeFeatures(Mat X)
{
  PetscInt        m;
  const PetscInt *i, *j;
  PetscScalar    *a;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(X, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row access");
  PetscCall(MatSeqAIJGetArray(X, &a));
  for (PetscInt r = 0; r < m; r++) {
    PetscScalar sum = 0;

    for (PetscInt e = i[r]; e < i[r + 1]; e++) sum += a[e];
    for (PetscInt e = i[r]; e < i[r + 1] && sum != (PetscScalar)0; e++) a[e] /= sum;
  }
  PetscCall(MatSeqAIJRestoreArray(X, &a));
  PetscCall(MatRestoreRowIJ(X, 0, PETSC_FALSE, PETSC_FALSE, &m, &i, &j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 reads class and split of all N nodes. An error in the file is one on all processes */
static PetscErrorCode ReadLabels(MPI_Comm comm, const char file[], PetscInt N, int all[])
{
  const char *const names[] = {"train", "val", "test", "none"};
  PetscMPIInt       rank;
  PetscInt          read = 0;
  int               bad  = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    FILE *f = fopen(file, "r");
    char  line[128], split[16];
    int   label;

    while (f && fgets(line, sizeof(line), f)) {
      int s = 0;

      if (line[0] == '#') continue;
      if (read == N || sscanf(line, "%d %15s", &label, split) != 2) break;
      while (s <= SPLIT_NONE && strcmp(split, names[s])) s++;
      if (s > SPLIT_NONE || label >= N) break;
      all[2 * read]     = label;
      all[2 * read + 1] = label < 0 ? SPLIT_NONE : s;
      read++;
    }
    bad = !f || read != N || !feof(f);
    if (f) (void)fclose(f);
  }
  PetscCallMPI(MPI_Bcast(&bad, 1, MPI_INT, 0, comm));
  PetscCheck(!bad, comm, PETSC_ERR_FILE_UNEXPECTED, "%s: must have %" PetscInt_FMT " lines, each a class and one of train, val, test, none", file, N);
  PetscCallMPI(MPI_Bcast(all, (PetscMPIInt)(2 * N), MPI_INT, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetLabels(PetscInt N, const int all[], Graph *g)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(g->A, &first, &end));
  PetscCall(PetscMalloc2(end - first, &g->label, end - first, &g->split));
  g->classes = 0;
  for (PetscInt i = 0; i < N; i++) g->classes = PetscMax(g->classes, all[2 * i] + 1);
  for (PetscInt i = first; i < end; i++) {
    g->label[i - first] = all[2 * i] < 0 ? -1 : all[2 * i];
    g->split[i - first] = (Split)all[2 * i + 1];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether an entry off the diagonal is not one */
static PetscErrorCode HasWeights(Mat A, PetscBool *weighted)
{
  PetscInt first, end;

  PetscFunctionBegin;
  *weighted = PETSC_FALSE;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    const PetscInt    *j;
    const PetscScalar *a;
    PetscInt           n;

    PetscCall(MatGetRow(A, i, &n, &j, &a));
    for (PetscInt e = 0; e < n; e++) {
      if (j[e] != i && a[e] != (PetscScalar)1) *weighted = PETSC_TRUE;
    }
    PetscCall(MatRestoreRow(A, i, &n, &j, &a));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, weighted, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ones for values */
static PetscErrorCode SetOnes(Mat A)
{
  Mat             block[2] = {A, NULL};
  const PetscInt *garray;
  PetscBool       parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], &garray));
  for (int b = 0; b < 2 && block[b]; b++) {
    PetscScalar *a;
    MatInfo      info;

    PetscCall(MatGetInfo(block[b], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(block[b], &a));
    for (PetscInt e = 0; e < (PetscInt)info.nz_used; e++) a[e] = 1;
    PetscCall(MatSeqAIJRestoreArray(block[b], &a));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A loop at each node, and ones for values. weighted says whether an edge had another value */
static PetscErrorCode SetLoops(Mat A, PetscBool *weighted)
{
  PetscFunctionBegin;
  PetscCall(HasWeights(A, weighted));
  PetscCall(MatShift(A, 1));
  PetscCall(SetOnes(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix in NAME.KIND.mtx.gz or, where that is not there, in NAME.KIND.mtx */
static PetscErrorCode Load(MPI_Comm comm, const char name[], const char kind[], char file[PETSC_MAX_PATH_LEN], Mat *A)
{
  PetscBool there = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(file, PETSC_MAX_PATH_LEN, "%s.%s.mtx.gz", name, kind));
  PetscCall(PetscTestFile(file, 'r', &there));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &there, 1, MPI_C_BOOL, MPI_LAND, comm));
  if (!there) PetscCall(PetscSNPrintf(file, PETSC_MAX_PATH_LEN, "%s.%s.mtx", name, kind));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(ExampleMatLoad(comm, file, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The files are NAME.graph.mtx, NAME.features.mtx, both also compressed, and NAME.labels.txt */
PetscErrorCode GraphLoad(MPI_Comm comm, const char name[], Graph *g)
{
  char        file[PETSC_MAX_PATH_LEN];
  Mat         X;
  PetscInt    N, M, n;
  int        *all;
  PetscMPIInt size;
  PetscBool   symmetric, weighted;

  PetscFunctionBegin;
  PetscCall(Load(comm, name, "graph", file, &g->A));
  PetscCall(MatGetSize(g->A, &N, &M));
  PetscCheck(N == M, comm, PETSC_ERR_FILE_UNEXPECTED, "%s: a graph needs as many columns as rows, not %" PetscInt_FMT " and %" PetscInt_FMT, file, M, N);
  PetscCall(SetLoops(g->A, &weighted));
  if (weighted) PetscCall(PetscPrintf(comm, "%s: edges have weights, or come more than once: each counts as one edge without a weight\n", file));
  PetscCall(MatIsSymmetric(g->A, 0, &symmetric));
  PetscCheck(symmetric, comm, PETSC_ERR_FILE_UNEXPECTED, "%s: the graph must be undirected, with an entry (j,i) for each (i,j)", file);

  PetscCall(Load(comm, name, "features", file, &X));
  PetscCall(MatGetLocalSize(g->A, &n, NULL));
  PetscCall(MatGetSize(X, &M, NULL));
  PetscCheck(N == M, comm, PETSC_ERR_FILE_UNEXPECTED, "%s: has %" PetscInt_FMT " rows, and the graph %" PetscInt_FMT " nodes", file, M, N);
  PetscCall(MatGetLocalSize(X, &M, NULL));
  PetscCheck(n == M, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Graph and features are distributed in two ways");
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1) PetscCall(MatMPIAIJGetLocalMat(X, MAT_INITIAL_MATRIX, &g->features));
  else {
    PetscCall(PetscObjectReference((PetscObject)X));
    g->features = X;
  }
  PetscCall(MatDestroy(&X));
  PetscCall(NormalizeFeatures(g->features));

  PetscCall(PetscSNPrintf(file, sizeof(file), "%s.labels.txt", name));
  PetscCall(PetscMalloc1(2 * N, &all));
  PetscCall(ReadLabels(comm, file, N, all));
  PetscCall(SetLabels(N, all, g));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  COMMUNITIES = 4,
  WORDS       = 64, /* features; a quarter of those of a node are of its community */
  WORDS_NODE  = 12
};

/*
   The other end of edge k that node i draws. Of seven, five are to the own community on average, and two to any node
*/
static PetscInt Partner(PetscInt N, PetscInt i, PetscInt k)
{
  const PetscInt own    = i % COMMUNITIES;
  const double   random = EntryRandom(1, (uint64_t)i << 20 | (uint64_t)(2 * k)), which = EntryRandom(1, (uint64_t)i << 20 | (uint64_t)(2 * k + 1));

  return which * 7 < 5 ? own + COMMUNITIES * (PetscInt)(random * (double)((N - own + COMMUNITIES - 1) / COMMUNITIES)) : (PetscInt)(random * (double)N);
}

/* How many edges a node draws: half of its neighbours on average, as other nodes draw the other half */
static PetscInt Draws(PetscInt i, PetscReal neighbours)
{
  return (PetscInt)(neighbours / 2 + (PetscReal)EntryRandom(3, (uint64_t)i));
}

/* Nodes draw edges; a loop at each node. What is drawn twice is one edge */
static PetscErrorCode GenerateEdges(MPI_Comm comm, PetscInt N, PetscInt first, PetscInt n, PetscReal neighbours, Mat *A)
{
  PetscInt    *from, *to;
  PetscCount   count = n, e = 0;
  PetscScalar *one;

  PetscFunctionBegin;
  for (PetscInt i = first; i < first + n; i++) count += 2 * Draws(i, neighbours);
  PetscCall(PetscMalloc3(count, &from, count, &to, count, &one));
  for (PetscInt i = first; i < first + n; i++) {
    from[e] = to[e] = i;
    e++;
    for (PetscInt k = 0; k < Draws(i, neighbours); k++, e += 2) {
      from[e] = to[e + 1] = i;
      to[e] = from[e + 1] = Partner(N, i, k);
    }
  }
  for (e = 0; e < count; e++) one[e] = 1;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, n, n, N, N));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetPreallocationCOO(*A, count, from, to));
  PetscCall(MatSetValuesCOO(*A, one, INSERT_VALUES));
  PetscCall(PetscFree3(from, to, one));
  PetscCall(SetOnes(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A graph of communities, the same on any number of processes. The community of a node is its class, which its words
   tell badly, and those of its neighbours better
*/
PetscErrorCode GraphGenerate(MPI_Comm comm, PetscInt N, PetscReal neighbours, Graph *g)
{
  PetscInt n = PETSC_DECIDE, first;
  int     *all;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(comm, &n, &N));
  PetscCallMPI(MPI_Scan(&n, &first, 1, MPIU_INT, MPI_SUM, comm));
  first -= n;
  PetscCall(GenerateEdges(comm, N, first, n, neighbours, &g->A));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, WORDS, WORDS_NODE, NULL, &g->features));
  for (PetscInt i = first; i < first + n; i++) {
    for (PetscInt k = 0; k < WORDS_NODE; k++) {
      PetscInt word = (PetscInt)(WORDS * EntryRandom(2, (uint64_t)(i * WORDS_NODE + k)));

      if (k < WORDS_NODE / 4) word = word / COMMUNITIES * COMMUNITIES + i % COMMUNITIES;
      PetscCall(MatSetValue(g->features, i - first, word, 1, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(g->features, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(g->features, MAT_FINAL_ASSEMBLY));
  PetscCall(NormalizeFeatures(g->features));
  PetscCall(PetscMalloc1(2 * N, &all));
  for (PetscInt i = 0; i < N; i++) {
    const PetscInt turn = i / COMMUNITIES % 10; /* 2 of 10 train, 3 validate, 5 test */

    all[2 * i]     = (int)(i % COMMUNITIES);
    all[2 * i + 1] = turn < 2 ? SPLIT_TRAIN : turn < 5 ? SPLIT_VAL
                                                       : SPLIT_TEST;
  }
  PetscCall(SetLabels(N, all, g));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D^(-1/2) A D^(-1/2), which is symmetric, or D^(-1) A, whose rows add up to one. D has the degrees */
PetscErrorCode GraphMean(const Graph *g, PetscBool symmetric, Mat *P)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(g->A, MAT_COPY_VALUES, P));
  PetscCall(MatCreateVecs(*P, &d, NULL));
  PetscCall(MatGetRowSum(*P, d));
  if (symmetric) PetscCall(VecSqrtAbs(d));
  PetscCall(VecReciprocal(d));
  PetscCall(MatDiagonalScale(*P, d, symmetric ? d : NULL));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The graph and copies of it that know nothing of each other. Each process owns the copies of its nodes, one copy
   behind the other
*/
PetscErrorCode GraphCopies(const Graph *g, PetscInt copies, Mat *S)
{
  PetscInt        first, end, n, most = 0, owner = 0, *col, *inside, *outside;
  PetscMPIInt     size;
  const PetscInt *starts;
  PetscScalar    *ones;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)g->A), &size));
  PetscCall(MatGetOwnershipRange(g->A, &first, &end));
  PetscCall(MatGetOwnershipRanges(g->A, &starts));
  n = end - first;
  PetscCall(PetscCalloc2(copies * n, &inside, copies * n, &outside));
  for (PetscInt i = first; i < end; i++) {
    const PetscInt *j;
    PetscInt        degree;

    PetscCall(MatGetRow(g->A, i, &degree, &j, NULL));
    most = PetscMax(most, degree);
    for (PetscInt e = 0; e < degree; e++) (j[e] >= first && j[e] < end ? inside : outside)[i - first]++;
    PetscCall(MatRestoreRow(g->A, i, &degree, &j, NULL));
  }
  for (PetscInt i = n; i < copies * n; i++) {
    inside[i]  = inside[i - n];
    outside[i] = outside[i - n];
  }
  PetscCall(PetscMalloc2(most, &col, most, &ones));
  for (PetscInt e = 0; e < most; e++) ones[e] = 1;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)g->A), S));
  PetscCall(MatSetSizes(*S, copies * n, copies * n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*S, MATAIJ));
  PetscCall(MatXAIJSetPreallocation(*S, 1, inside, outside, NULL, NULL));
  PetscCall(PetscFree2(inside, outside));
  for (PetscInt c = 0; c < copies; c++) {
    for (PetscInt i = first; i < end; i++) {
      const PetscInt *j, row = copies * first + c * n + i - first;
      PetscInt        degree;

      PetscCall(MatGetRow(g->A, i, &degree, &j, NULL));
      for (PetscInt e = 0; e < degree; e++) {
        while (j[e] < starts[owner]) owner--;
        while (j[e] >= starts[owner + 1]) owner++;
        col[e] = copies * starts[owner] + c * (starts[owner + 1] - starts[owner]) + j[e] - starts[owner];
      }
      PetscCall(MatSetValues(*S, 1, &row, degree, col, ones, INSERT_VALUES));
      PetscCall(MatRestoreRow(g->A, i, &degree, &j, NULL));
    }
  }
  PetscCall(PetscFree2(col, ones));
  PetscCall(MatAssemblyBegin(*S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*S, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type that -mat_type says, aijtcu otherwise */
PetscErrorCode GraphConvert(Mat A, Mat *B)
{
  char type[64] = MATAIJTCU;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GraphDestroy(Graph *g)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&g->A));
  PetscCall(MatDestroy(&g->features));
  PetscCall(PetscFree2(g->label, g->split));
  PetscFunctionReturn(PETSC_SUCCESS);
}
