static char help[] = "What -mat_aijtcu_tune proxy finds: the times of its variants as the proxy has them beside those of the whole products in these and other formats, how well they agree, and what the tuning costs. For a GPU.\n\n"
                     "  ./tune -csv tune.csv\n"
                     "  ./tune -families elasticity,stencil27 -N 8,32 -csv tune.csv\n"
                     "  ./tune -f @list.txt -csv tune.csv        the files that a text file names, one a line\n\n";

#include "csrmat.h"
#include "csv.h"
#include "family.h"
#include "files.h"
#include "machine.h"
#include "operand.h"
#include "options.h"
#include "pathtaken.h"
#include "rounds.h"

enum {
  FEW        = 3,                                        /* least number of times for which a rank correlation counts */
  COLS       = PetscDefined(USE_REAL_SINGLE) ? 128 : 64, /* columns of a block, with bricks of 16 rows */
  SHORT      = 64,                                       /* the same with bricks of 8 rows */
  CANDIDATES = PetscDefined(USE_REAL_SINGLE) ? 13 : 14
};

/*
   The exhaustive search: the CSR path, all formats that a device chooses, and others, whose blocks are half as wide, or
   have windows of 16 columns or of single ones. The last needs scalars of 8 bytes
*/
static const MatAIJTCUFormat formats[] = {
  {0,  0,   0,         0 },
  {16, 128, COLS,      8 },
  {16, 128, COLS,      4 },
  {8,  64,  SHORT,     8 },
  {8,  64,  SHORT,     4 },
  {8,  64,  SHORT,     1 },
  {8,  8,   256,       1 },
  {16, 128, COLS,      16},
  {16, 64,  COLS,      8 },
  {16, 128, COLS / 2,  8 },
  {8,  64,  SHORT / 2, 8 },
  {8,  64,  256,       1 },
  {16, 16,  256,       1 },
  {16, 128, COLS,      2 }
};

/* What tuning did with a candidate */
typedef enum {
  OTHER,  /* it is none of the tuning's variants */
  PRUNED, /* one that was not timed: the model has another much faster */
  TIMED
} Role;
static const char *const roles[] = {"other", "pruned", "timed"};

typedef struct {
  char    **family, **file;
  PetscInt  families, files, *N, Ns, most; /* the largest N */
  PetscReal scale;
  PetscBool test;
  char         machine[128], cuda[16];
  ExampleTable table;
} Options;

/* A candidate of the search, and the whole matrix with it */
typedef struct {
  char    name[32];
  Variant variant;
  Subject subject;
  Role    role;
  /* Seconds of a product, as the proxy has it and as it is. Zero where it was not timed, or took another path */
  PetscReal proxy, full;
} Candidate;

typedef struct {
  /*
     Cases with N columns: all; those where the winner is within 5 % of the best; those with a rank correlation; those
     where it is 0.9 at least
  */
  PetscInt cases, good, ranked, agree;
} Totals;

static PetscErrorCode GetOptions(Options *o)
{
  PetscBool files;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-f", &files));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Tuning beside the times of whole products", NULL);
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-families", "Matrices to generate, a list of those that examples/bench has; none by default where there is -f", files ? "" : "elasticity,dof8,tetra,stencil27,banded,blockarrow,poisson7,powerlaw,rmat,random", &o->families, &o->family));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-f", "Files with matrices, a list (.mtx, .mtx.gz, PETSc binary); @FILE is a text file with one of them a line", "", &o->files, &o->file));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-scale", "Rows of generated matrices by those of a full benchmark; default: 1 with a GPU, 0.001 without", &o->scale));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-N", "Columns of the dense matrices, a list", "4,8,32,128", &o->Ns, &o->N));
  PetscCall(ExampleOptionsTable(PetscOptionsObject, &o->table));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine", &o->test));
  PetscOptionsEnd();
  PetscCheck(o->scale >= 0 && o->scale <= 16, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-scale %g: must be positive, and 16 at most", (double)o->scale);
  PetscCall(OperandMostColumns(o->Ns, o->N, &o->most));
  PetscCall(FamilyCheck(o->families, o->family));
  PetscCall(ExampleFilesCheckRead(PETSC_COMM_SELF, o->files, o->file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole matrix in a format, zeros for the CSR path. It is made if it is not there already */
static PetscErrorCode CreateCandidate(const GenerateCSR *csr, const MatAIJTCUFormat *f, Candidate *c)
{
  PetscFunctionBegin;
  if (c->subject.A) PetscFunctionReturn(PETSC_SUCCESS);
  if (!f->brick_rows) PetscCall(PetscStrncpy(c->name, "csr", sizeof(c->name)));
  else PetscCall(PetscSNPrintf(c->name, sizeof(c->name), "%" PetscInt_FMT "/%" PetscInt_FMT "/%" PetscInt_FMT "/%" PetscInt_FMT, f->brick_rows, f->panel_rows, f->block_cols, f->window_cols));
  c->variant         = (Variant){.name = c->name, .ours = PETSC_TRUE, .path = f->brick_rows ? MAT_AIJTCU_PATH_TCU : MAT_AIJTCU_PATH_CSR, .brick_rows = f->brick_rows, .precision = MAT_AIJTCU_PRECISION_FULL, .reorder = MAT_AIJTCU_REORDER_NEVER, .tune = MAT_AIJTCU_TUNE_NONE};
  c->subject.variant = &c->variant;
  PetscCall(VariantCreateMat(&c->variant, csr, MATSEQAIJ, &c->subject.A));
  PetscCall(MatAIJTCUSetFormat(c->subject.A, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times of whole products, in turn */
static PetscErrorCode TimeCandidates(const Operand *c, const GenerateCSR *csr, Mat B, PetscInt N, Candidate candidate[])
{
  Subject subject[CANDIDATES];
  Spread  spread[CANDIDATES];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < CANDIDATES; k++) {
    Subject        *s = &candidate[k].subject;
    MatAIJTCUCounts before;

    PetscCall(CreateCandidate(csr, &formats[k], &candidate[k]));
    PetscCall(OperandCreateMat(c, csr->m, N, &s->C));
    PetscCall(ExamplePathCounts(s->A, &before));
    PetscCall((*ProductOperations.begin)(s, B));
    PetscCall(ExamplePathTaken(s->A, &before, s->path, sizeof(s->path)));
    PetscCall(TimeOnce(s, B, ProductOperations.numeric, &s->once));
    subject[k] = *s;
  }
  PetscCall(TimeInTurn(CANDIDATES, subject, B, ProductOperations.numeric, spread));
  for (PetscInt k = 0; k < CANDIDATES; k++) {
    Subject  *s = &candidate[k].subject;
    PetscBool as_set;

    PetscCall(PetscStrcmp(s->path, MatAIJTCUPaths[candidate[k].variant.path], &as_set));
    candidate[k].full = as_set ? spread[k].median : 0;
    PetscCall((*ProductOperations.end)(s, B));
    PetscCall(MatDestroy(&s->C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsRanked(const Candidate *c)
{
  return (PetscBool)(c->proxy > 0 && c->full > 0);
}

/*
   Rank among those that are ranked, from 1. Equal times share the mean of their ranks. Ranks are of the proxy's times,
   or of the whole products'.
*/
static PetscReal RankOf(const Candidate c[], PetscInt i, PetscBool full)
{
  PetscReal rank = 1;

  for (PetscInt k = 0; k < CANDIDATES; k++) {
    const PetscReal mine = full ? c[i].full : c[i].proxy, other = full ? c[k].full : c[k].proxy;

    if (k == i || !IsRanked(&c[k])) continue;
    rank += other < mine ? 1 : other == mine ? (PetscReal)0.5
                                             : 0;
  }
  return rank;
}

/* Spearman's correlation of the ranks. ranked is the number of ranks */
static PetscReal RankCorrelation(const Candidate c[], PetscInt *ranked)
{
  PetscReal xy = 0, xx = 0, yy = 0, mean;

  *ranked = 0;
  for (PetscInt k = 0; k < CANDIDATES; k++) *ranked += IsRanked(&c[k]);
  mean = (*ranked + 1) / (PetscReal)2;
  for (PetscInt k = 0; k < CANDIDATES; k++) {
    const PetscReal x = RankOf(c, k, PETSC_FALSE) - mean, y = RankOf(c, k, PETSC_TRUE) - mean;

    if (!IsRanked(&c[k])) continue;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  return xx > 0 && yy > 0 ? xy / PetscSqrtReal(xx * yy) : 0;
}

static PetscErrorCode AppendRows(const Options *o, const char name[], const GenerateCSR *csr, PetscInt N, const MatAIJTCUTuning *tuning, const Candidate c[], PetscInt winner, PetscReal loss, PetscReal correlation, PetscInt ranked)
{
  char  petsc[32];
  FILE *fp;

  PetscFunctionBegin;
  if (!o->table.file[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(ExampleCSVOpen(PETSC_COMM_SELF, o->table.file, "matrix,rows,nonzeros,N,candidate,path,role,proxy_s,full_s,proxy_rank,full_rank,wins,loss_percent,correlation,ranked,share,timed_products,tuning_products,tuning_s,precision,commit,petsc,cuda,machine", &fp));
  for (PetscInt k = 0; k < CANDIDATES; k++) {
    const PetscBool is = IsRanked(&c[k]);

    PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%s,%s,%s,%.4e,%.4e,%g,%g,", name, csr->m, csr->i[csr->m], N, c[k].name, MatAIJTCUPaths[c[k].variant.path], roles[c[k].role], (double)c[k].proxy, (double)c[k].full, is ? (double)RankOf(c, k, PETSC_FALSE) : 0, is ? (double)RankOf(c, k, PETSC_TRUE) : 0));
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%d,%.2f,%.4f,%" PetscInt_FMT ",%.4f,%.2f,%.2f,%.4e,%s,%s,%s,%s,\"%s\"\n", (int)(k == winner), (double)loss, (double)correlation, ranked, (double)tuning->share, (double)tuning->products, (double)(tuning->seconds / c[winner].full), (double)tuning->seconds, PetscDefined(USE_REAL_SINGLE) ? "single" : "double", o->table.commit, petsc, o->cuda, o->machine));
  }
  PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintRows(const Candidate c[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < CANDIDATES; k++) {
    char proxy[32];

    PetscCall(PetscSNPrintf(proxy, sizeof(proxy), "%.4f ms", 1e3 * (double)c[k].proxy));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "      %-14s proxy %s, full %.4f ms\n", c[k].name, c[k].role == TIMED ? proxy : roles[c[k].role], 1e3 * (double)c[k].full));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Options *o, const char name[], const GenerateCSR *csr, PetscInt N, const MatAIJTCUTuning *tuning, const Candidate c[], PetscInt winner, Totals *totals)
{
  PetscInt  best = winner, ranked;
  PetscReal loss, correlation;

  PetscFunctionBegin;
  if (!(c[winner].full > 0)) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  N %3" PetscInt_FMT ": %s has won, but whole products took another path, or no time: left out\n", N, c[winner].name));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < CANDIDATES; k++) {
    if (c[k].full > 0 && c[k].full < c[best].full) best = k;
  }
  loss        = 100 * (c[winner].full / c[best].full - 1);
  correlation = RankCorrelation(c, &ranked);
  totals->cases++;
  totals->good += loss <= 5;
  totals->ranked += ranked >= FEW;
  totals->agree += ranked >= FEW && correlation >= (PetscReal)0.9;
  PetscCall(AppendRows(o, name, csr, N, tuning, c, winner, loss, correlation, ranked));
  if (o->test) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  N %3" PetscInt_FMT ": %s, %.1f %% slower than the best, %s; rank correlation %.2f of %" PetscInt_FMT "; proxy of %.1f %% of the rows; timed products take %.1f of the winner's, all of the tuning %.1f\n", N, c[winner].name, (double)loss, c[best].name, (double)correlation, ranked, 100 * (double)tuning->share, (double)tuning->products, (double)(tuning->seconds / c[winner].full)));
  PetscCall(PrintRows(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What tuning found for each candidate, and which of them has won */
static PetscErrorCode TakeTuning(const MatAIJTCUTuning *tuning, Candidate candidate[], PetscInt *winner)
{
  PetscFunctionBegin;
  *winner = -1;
  for (PetscInt k = 0; k < CANDIDATES; k++) {
    Candidate *c = &candidate[k];

    c->role  = OTHER;
    c->proxy = 0;
    for (PetscInt i = 0; i < tuning->nvariants; i++) {
      PetscBool same;

      PetscCall(PetscMemcmp(&tuning->variant[i].format, &formats[k], sizeof(formats[k]), &same));
      if (!same) continue;
      c->proxy = tuning->variant[i].seconds;
      c->role  = c->proxy > 0 ? TIMED : PRUNED;
      if (i == tuning->winner) *winner = k;
    }
  }
  PetscCheck((*winner >= 0) == (tuning->winner >= 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A format has won that the search does not have");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each N gets a new matrix, because bricks of a matrix have one format for all numbers of columns */
static PetscErrorCode TuneAndCompare(const Options *o, const char name[], const GenerateCSR *csr, const Operand *b, const Operand *c, PetscInt N, Candidate candidate[], Totals *totals)
{
  Subject         tuned;
  MatAIJTCUTuning tuning;
  PetscInt        winner;
  Mat             B;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&tuned, sizeof(tuned)));
  PetscCall(VariantFind("tune", &tuned.variant));
  PetscCall(VariantCreateMat(tuned.variant, csr, MATSEQAIJ, &tuned.A));
  PetscCall(OperandCreateMat(b, csr->n, N, &B));
  PetscCall(OperandCreateMat(c, csr->m, N, &tuned.C));
  PetscCall((*ProductOperations.begin)(&tuned, B));
  PetscCall((*ProductOperations.end)(&tuned, B));
  PetscCall(MatAIJTCUGetTuning(tuned.A, N, &tuning));
  PetscCall(TakeTuning(&tuning, candidate, &winner));
  if (winner >= 0) {
    PetscCall(TimeCandidates(c, csr, B, N, candidate));
    PetscCall(Compare(o, name, csr, N, &tuning, candidate, winner, totals));
  } else if (!o->test) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  N %3" PetscInt_FMT ": nothing is tuned\n", N));
  PetscCall(MatDestroy(&tuned.A));
  PetscCall(MatDestroy(&tuned.C));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The k-th matrix: one that is generated, or that of a file */
static PetscErrorCode RunMatrix(const Options *o, PetscInt k, Operand *b, Operand *c, Totals *totals)
{
  const char *name = k < o->families ? o->family[k] : o->file[k - o->families], *base = strrchr(name, '/');
  Candidate   candidate[CANDIDATES];
  GenerateCSR csr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(candidate, sizeof(candidate)));
  if (k < o->families) PetscCall(FamilyRows(name, o->scale, &csr));
  else PetscCall(ExampleCSRLoad(name, &csr));
  if (base) name = base + 1;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros\n", name, csr.m, csr.n, csr.i[csr.m]));
  PetscCall(OperandReserve(b, csr.n, o->most));
  PetscCall(OperandReserve(c, csr.m, o->most));
  for (PetscInt k = 0; k < o->Ns; k++) PetscCall(TuneAndCompare(o, name, &csr, b, c, o->N[k], candidate, totals));
  for (PetscInt k = 0; k < CANDIDATES; k++) PetscCall(MatDestroy(&candidate[k].subject.A));
  PetscCall(GenerateCSRDestroy(&csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  PetscMPIInt size;
  Options     o;
  Operand     b = {.filled = PETSC_TRUE}, c = {.filled = PETSC_FALSE};
  Totals      totals = {0, 0, 0, 0};
  Mat         A; /* to ask about the machine */
  PetscBool   device;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This program is for one process");
  PetscCall(GetOptions(&o));
  PetscCall(ExampleMachineMat(&A));
  PetscCall(ExampleMachine(A, o.machine, sizeof(o.machine)));
  PetscCall(ExampleCUDAVersion(A, o.cuda, sizeof(o.cuda)));
  PetscCall(ExampleMatOnDevice(A, &device));
  PetscCall(MatGetVecType(A, &b.type));
  c.type = b.type;
  if (!o.scale) o.scale = device ? 1 : (PetscReal)0.001;
  if (!o.test) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s%s\n", o.machine, device ? "" : ": no GPU, so nothing is tuned"));
  for (PetscInt k = 0; k < o.families + o.files; k++) PetscCall(RunMatrix(&o, k, &b, &c, &totals));
  if (device && !o.test) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the winner is within 5 %% of the best in %" PetscInt_FMT " of %" PetscInt_FMT " cases, the rank correlation 0.9 at least in %" PetscInt_FMT " of %" PetscInt_FMT "\n", o.machine, totals.good, totals.cases, totals.agree, totals.ranked));
  PetscCall(OperandDestroy(&b));
  PetscCall(OperandDestroy(&c));
  PetscCall(ExampleListDestroy(o.families, &o.family));
  PetscCall(ExampleListDestroy(o.files, &o.file));
  PetscCall(PetscFree(o.N));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test: # that it runs, with whole products where there is a GPU
      args: -test_output -families elasticity,rmat -scale 0.0005 -N 3,8

   test: # the machine comes first, with what it lacks
      suffix: first
      args: -families poisson7 -scale 0.0005 -N 3
      filter: sed -n -e "1s|^[^:]*\(: no GPU, so nothing is tuned\)\{0,1\}$|the machine|p" -e "2s|^poisson7: .*|the matrix|p"

   test: # without a GPU matrices are small
      suffix: host
      requires: !cuda
      args: -families poisson7 -N 3
      filter: grep -o -e "^poisson7: [0-9]* x [0-9]*"

   test: # of a file, with more rows than columns
      suffix: file
      localrunfiles: rectangle.mtx
      args: -test_output -f rectangle.mtx -N 3

TEST*/
