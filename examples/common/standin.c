/*
   Stand-ins for matrices that papers measure with. A graph has the rows and nonzeros that are published, exactly. Where
   a paper tells the longest row, or the share of rows without entries, it has these, too. What is not published is
   assumed: that lengths of rows fall as 1 / (1 + rank / k), that a column is the more popular the longer its row, and
   which entries are near the diagonal. So a stand-in tells what a matrix of such a size and such rows takes, and not
   what the real one takes.

   Rows are made one by one, from random numbers that depend on the row alone, so every process makes the same.
*/
#include "standin.h"

enum {
  LAYER_ROWS   = 8192, /* of a layer with -scale 1 */
  LAYER_BLOCK  = 32,
  DRAWS        = 4, /* draws for each entry of a row, on average, before the columns that follow are taken */
  SEED_DEGREE  = -4,
  SEED_LAYER   = -5,
  SEED_NEAREST = -6
};

/*
   The first 13 are those of the SpMM report, then those of cuTeSpMM's tables 3 and 4. The longest rows of arxiv,
   reddit, amazon and wikikg2 follow from what the report says of them, others from what the collections say, or are
   assumed
*/
static const StandInGraph graphs[] = {
  {"arxiv-like", 169343, 1166243, 13161, 0, 0.366, 0, 0},
  {"collab-like", 235868, 2358104, 671, 0, 0, 0, 0},
  {"citation-like", 2927963, 30387995, 10000, 0, 0.1, 0, 0},
  {"ddi-like", 4267, 2135822, 2234, 0, 0, 0, 0},
  {"protein-like", 132534, 79122504, 7750, 0, 0, 0.5, 4096},
  {"ppa-like", 576289, 42463862, 3241, 0, 0, 0, 0},
  {"reddit-like", 232965, 114615892, 21657, 0, 0, 0, 0},
  {"products-like", 2449029, 123718280, 17481, 0, 0, 0, 0},
  {"youtube-like", 1138499, 5980886, 28754, 0, 0, 0, 0},
  {"amazon-like", 1569960, 264339468, 47099, 0, 0, 0, 0},
  {"yelp-like", 716847, 13954819, 4886, 0, 0, 0, 0},
  {"wikikg2-like", 2500604, 16109182, 999, 6, 0, 0, 0},
  {"am-like", 881680, 5668682, 60000, 0, 0, 0, 0},
  {"artist-like", 50515, 1638396, 1469, 0, 0, 0, 0},
  {"DD-like", 334925, 1686092, 19, 0, 0, 1, 24},
  {"Yeast-like", 1714644, 3636546, 6, 1, 0, 1, 12},
  {"YeastH-like", 3139988, 6487230, 6, 1, 0, 1, 20},
  {"OVCAR-8H-like", 1890931, 3946402, 6, 1, 0, 1, 24},
  {"PROTEINS-like", 43471, 162088, 25, 0, 0, 1, 20},
  {"ppi-like", 56944, 818716, 722, 0, 0, 0.2, 1000},
  {"amazon0505-like", 410236, 4878874, 2760, 0, 0, 0.5, 500},
  {"amazon0601-like", 403394, 3387388, 2752, 0, 0, 0.5, 500},
  {"com-amazon-like", 334863, 1851744, 549, 0, 0, 0.5, 500},
  {"BlogCatalog-like", 88784, 2093195, 9444, 0, 0, 0, 0}};

/*
   law-ROWS-ENTRIES-LONGEST-PERCENT-SPAN: a graph by its rows, their entries on average and at most, and the percent of
   the entries that are within so many rows of the diagonal
*/
static PetscErrorCode GraphByLaw(const char name[], StandInGraph *g, PetscBool *found)
{
  long rows, entries, longest, percent, span;
  int  end = 0;

  PetscFunctionBegin;
  *found = (PetscBool)(sscanf(name, "law-%7ld-%5ld-%7ld-%3ld-%7ld%n", &rows, &entries, &longest, &percent, &span, &end) == 5 && !name[end] && rows > 1 && entries > 0 && longest >= entries && longest <= rows && percent >= 0 && percent <= 100 && span > 0 && rows * entries < PETSC_INT_MAX);
  if (*found) *g = (StandInGraph){"law", (PetscInt)rows, (PetscInt)(rows * entries), (PetscInt)longest, 0, 0, (double)percent / 100, (PetscInt)span};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What a name means, with scale times its rows, copies times; found says whether it is one of these names. Layers of
   pruned networks are pruned1 to pruned99, and blocks1 to blocks99 with dense blocks: percent of the entries that are
   left
*/
PetscErrorCode StandInFind(const char name[], PetscReal scale, PetscInt copies, StandIn *s, PetscBool *found)
{
  const char *const layer[] = {"pruned", "blocks"};
  double            rows;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  *found = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(graphs) && !*found; k++) {
    PetscCall(PetscStrcmp(name, graphs[k].name, found));
    if (*found) s->graph = graphs[k];
  }
  for (int k = 0; k < 2 && !*found; k++) {
    const size_t digits = strlen(layer[k]);
    char        *end;

    if (strncmp(name, layer[k], digits)) continue;
    s->percent = (PetscInt)strtol(name + digits, &end, 10);
    s->block   = k ? LAYER_BLOCK : 1;
    *found     = (PetscBool)(name[digits] >= '1' && name[digits] <= '9' && !*end && s->percent < 100);
  }
  if (!*found) PetscCall(GraphByLaw(name, &s->graph, found));
  if (!*found) PetscFunctionReturn(PETSC_SUCCESS);
  rows = floor(PetscMax(2, (s->graph.name ? s->graph.rows : LAYER_ROWS) * (double)scale * (double)copies + 0.5));
  PetscCheck(rows < (double)PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " times %g times %s has more rows than this PETSc's integers can count", copies, (double)scale, name);
  s->rows = (PetscInt)rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random number in [0, 1) */
static double Fraction(PetscInt64 a, PetscInt64 b)
{
  return (double)GenerateHash(a, b) / 9223372036854775808.0;
}

/*
   Layers
*/

/* Block rows have the same blocks in all their rows. A row is never empty */
static PetscInt LayerRow(void *ctx, PetscInt i, PetscInt col[])
{
  const StandIn *s   = (const StandIn *)ctx;
  const PetscInt row = i / s->block, most = (s->rows + s->block - 1) / s->block, kept = (PetscInt)(GenerateHash(SEED_NEAREST, row) % most);
  PetscInt       count = 0;

  for (PetscInt b = 0; b < most; b++) {
    if (b != kept && Fraction(GenerateHash(SEED_LAYER, row), b) * 100 >= (double)s->percent) continue;
    for (PetscInt c = b * s->block; c < PetscMin(s->rows, (b + 1) * s->block); c++) col[count++] = c;
  }
  return count;
}

/*
   Graphs
*/

typedef struct {
  StandInGraph g;
  double       fall;   /* k of the law */
  PetscInt    *length; /* of the row of a rank */
  PetscInt    *rank;   /* of a row */
  PetscInt    *number; /* of the row of a rank */
  PetscInt    *last;   /* the row that had a column last, plus one */
} Work;

static PetscInt Law(const StandInGraph *g, double fall, PetscInt rank)
{
  return PetscMin(g->longest, PetscMax(1, g->bulk + (PetscInt)(g->longest / (1 + rank / fall))));
}

static PetscInt64 Entries(const StandInGraph *g, double fall, PetscInt rows)
{
  PetscInt64 all = 0;

  for (PetscInt k = 0; k < rows; k++) all += Law(g, fall, k);
  return all;
}

/* Lengths of rows by rank, with the sum that is published: rows in the middle get one more or one less */
static PetscErrorCode WorkLengths(Work *w, PetscInt rows)
{
  const StandInGraph *g   = &w->g;
  double              low = 1e-3, high = 1e3 * (double)rows;
  PetscInt64          missing;

  PetscFunctionBegin;
  for (int k = 0; k < 40; k++) {
    w->fall = sqrt(low * high);
    if (Entries(g, w->fall, rows) < g->nonzeros) low = w->fall;
    else high = w->fall;
  }
  w->fall = low;
  for (PetscInt k = 0; k < rows; k++) w->length[k] = Law(g, w->fall, k);
  missing = g->nonzeros - Entries(g, w->fall, rows);
  for (PetscInt64 before = 0; missing && missing != before;) {
    const PetscInt one = missing > 0 ? 1 : -1, step = PetscMax(1, (PetscInt)(rows / PetscAbs(missing)));

    before = missing;
    for (PetscInt k = step / 2; k < rows && missing; k += step) {
      if (w->length[k] + one < 1 || w->length[k] + one > g->longest) continue;
      w->length[k] += one;
      missing -= one;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorkCreate(const StandIn *s, Work *w)
{
  const StandInGraph *g     = &s->graph;
  const double        scale = (double)s->rows / g->rows;
  PetscInt            filled;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(w, sizeof(*w)));
  w->g          = *g;
  w->g.nonzeros = (PetscInt)PetscMin((double)PETSC_INT_MAX, PetscMax(g->nonzeros * scale, 1));
  w->g.longest  = PetscMin(s->rows, PetscMax((PetscInt)(g->longest * PetscMin(scale, 1)), 4 * (g->nonzeros / g->rows) + 4));
  w->g.span     = PetscMin(g->span, s->rows / 2);
  filled        = PetscMax(1, (PetscInt)((1 - g->empty) * s->rows));
  w->g.nonzeros = PetscMax(filled, (PetscInt)PetscMin((PetscInt64)w->g.nonzeros, (PetscInt64)filled * w->g.longest / 2));
  PetscCall(PetscCalloc1(s->rows, &w->length));
  PetscCall(PetscCalloc1(s->rows, &w->last));
  PetscCall(WorkLengths(w, filled));
  PetscCall(GeneratePermutation(SEED_DEGREE, s->rows, &w->number));
  PetscCall(PetscMalloc1(s->rows, &w->rank));
  for (PetscInt k = 0; k < s->rows; k++) w->rank[w->number[k]] = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorkDestroy(Work *w)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(w->length));
  PetscCall(PetscFree(w->last));
  PetscCall(PetscFree(w->number));
  PetscCall(PetscFree(w->rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Work     w;
  PetscInt rows;
} GraphContext;

/* As many columns as the length says, none twice. After many draws the columns that follow are taken */
static PetscInt GraphRow(void *ctx, PetscInt i, PetscInt col[])
{
  GraphContext  *c = (GraphContext *)ctx;
  Work          *w = &c->w;
  const PetscInt n = c->rows, length = w->length[w->rank[i]], most = DRAWS * length + 64;
  const double   spread = log1p(n / w->fall);
  PetscInt       count = 0, column = 0;

  for (PetscInt k = 0; count < length; k++) {
    if (k < most) {
      const double which = Fraction(i, 2 * (PetscInt64)k);
      const double where = Fraction(i, 2 * (PetscInt64)k + 1);

      if (which < w->g.near) column = PetscMin(n - 1, PetscMax(0, i - w->g.span + (PetscInt)(where * (2 * w->g.span + 1))));
      else column = w->number[PetscMin(n - 1, (PetscInt)(w->fall * expm1(where * spread)))];
    } else column = (column + 1) % n;
    if (w->last[column] == i + 1) continue;
    w->last[column] = i + 1;
    col[count++]    = column;
  }
  return count;
}

/* Rows start to end - 1 */
PetscErrorCode StandInRows(const StandIn *s, PetscBool permuted, PetscInt start, PetscInt end, GenerateCSR *csr)
{
  GraphContext c = {.rows = s->rows};

  PetscFunctionBegin;
  if (!s->graph.name) {
    PetscCall(GenerateFrom(&(GenerateSource){.rows = s->rows, .most = s->rows, .sorted = PETSC_TRUE, .row = LayerRow, .ctx = (void *)s}, permuted, start, end, csr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(WorkCreate(s, &c.w));
  PetscCall(GenerateFrom(&(GenerateSource){.rows = s->rows, .most = c.w.g.longest, .row = GraphRow, .ctx = &c}, permuted, start, end, csr));
  PetscCall(WorkDestroy(&c.w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
