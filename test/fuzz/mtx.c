/*
   Fuzzes the reader of Matrix Market files: random files, whole and damaged, compressed and not.

   The expected result comes from a second reader, below. It has the whole text in memory and takes it apart word by
   word. Either both refuse a text, or the matrix has the entries that the second reader finds. Runs on any number of
   processes.
*/
#include "fuzz.h"

#include <ctype.h>
#include <errormessage.h>
#include <matload.h>
#include <unistd.h>
#include <zlib.h>

static void Must(PetscErrorCode error)
{
  if (error) FuzzFail("PETSc error %d", (int)error);
}

typedef struct {
  char  *s;
  size_t len;
} Text;

enum {
  MOST = 1 << 16 /* characters of a text */
};

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static void Append(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void Append(Text *t, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  t->len += (size_t)vsnprintf(t->s + t->len, MOST - t->len, format, args);
  va_end(args);
  FuzzCheck(t->len < MOST / 2, "a text is too long");
}

static const char *Pick(Random *r, const char *const list[], int64_t n)
{
  return list[RandomBelow(r, n)];
}
#define PickOne(r, list) Pick(r, list, sizeof(list) / sizeof(*(list)))

/* A file as programs write them, or as people do */
static void Write(Random *r, Text *t)
{
  static const char *const banners[] = {"%%MatrixMarket", "%%matrixmarket", "%%MATRIXMARKET", "%MatrixMarket", " %%MatrixMarket", "\n\t%%MatrixMarket", BYTE_ORDER_MARK "%%MatrixMarket", BYTE_ORDER_MARK "\r\n %matrixmarket"}, *const fields[] = {"real", "double", "integer", "pattern", "Real", "complex"}, *const symmetries[] = {"general", "symmetric", "skew-symmetric", "General", "hermitian"}, *const blanks[] = {" ", "  ", "\t", " \t "}, *const ends[] = {"\n", "\n", "\r\n", " \n", "\n\n", "\n% comment\n", "\n \t\n", "\n \t% comment\n", "\n  "}, *const marks[] = {"e", "E", "d", "D"};
  const int64_t kind = RandomBelow(r, RandomOneIn(r, 60) ? 6 : 5), symmetry = RandomBelow(r, RandomOneIn(r, 60) ? 5 : 4), largest = RandomOneIn(r, 3) ? 3 : 12;
  const bool    general = symmetry != 1 && symmetry != 2, lower = RandomOneIn(r, 2);
  const int64_t m = RandomBelow(r, largest + 1), n = general ? RandomBelow(r, largest + 1) : m, nnz = m && n ? RandomBelow(r, 30) : 0;
  const char   *blank = PickOne(r, blanks), *end = PickOne(r, ends);

  t->len = 0;
  Append(t, "%s matrix coordinate ", PickOne(r, banners));
  if (!RandomOneIn(r, 20)) Append(t, "%s ", fields[kind]);
  Append(t, "%s%s%" PRId64 "%s%" PRId64 "%s%" PRId64 "%s", symmetries[symmetry], end, m, blank, n, blank, nnz, end);
  for (int64_t k = 0; k < nnz; k++) {
    int64_t       i = 1 + RandomBelow(r, m), j = 1 + RandomBelow(r, n);
    const int64_t v = RandomBelow(r, 1999) - 999;

    if (!general && (lower ? i < j : i > j)) {
      const int64_t swap = i;

      i = j;
      j = swap;
    }
    Append(t, "%" PRId64 "%s%" PRId64, i, blank, j);
    if (symmetry == 2 && i == j) Append(t, "%s0", blank);
    else if (kind == 2) Append(t, "%s%" PRId64, blank, v);
    else if (kind != 3 && RandomOneIn(r, 2)) Append(t, "%s%.17g", blank, (double)v / 7);
    else if (kind != 3) Append(t, "%s%.3f%s%d", blank, (double)v / 7, PickOne(r, marks), (int)RandomBelow(r, 9) - 4);
    Append(t, "%s", end);
  }
  if (RandomOneIn(r, 8) && t->len) t->len--;
}

/* Index of a character at which a word begins. If there is none, of any character */
static size_t Word(Random *r, const Text *t)
{
  size_t k = (size_t)RandomBelow(r, (int64_t)t->len);

  while (k && (isspace((unsigned char)t->s[k]) || !isspace((unsigned char)t->s[k - 1]))) k--;
  return k;
}

/* Replace cut characters by len others */
static void Replace(Text *t, size_t at, size_t cut, const char *with, size_t len)
{
  if (t->len - cut + len >= MOST) return;
  memmove(t->s + at + len, t->s + at + cut, t->len - at - cut);
  memcpy(t->s + at, with, len);
  t->len += len - cut;
}

static void Damage(Random *r, Text *t, bool text)
{
  static const char *const words[]      = {"0", "1", "2", "-1", "13", "1.5", "1e5", "1e308", "-1e39", "1e309", "1e-400", "inf", "nan", "NAN(1)", "0x1p3", "99999999999999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "2147483647", "2147483648", "4294967297", "1000000", "10000000", "+3",
         "--3", "3-4", "1e", "1d0", "1D-2", "-.5d+1", "1d", "d1", "1d1d1", "%", "%%", BYTE_ORDER_MARK, "real", "matrix", "general", "symmetric", "skew-symmetric", "pattern", "integer", "array", "1 1 1", "1\n1", "\n", "\r", "%%MatrixMarket", "00000000000000000000000000000000002"};
  static const char        characters[] = "\n\r\t %.-+e0123456789"; /* the final zero is one of them */
  char                     copy[1025];
  const char              *word;
  size_t                   at, len;

  if (!t->len) return;
  at  = (size_t)RandomBelow(r, (int64_t)t->len);
  len = 1 + (size_t)RandomBelow(r, 40);
  if (len > t->len - at) len = t->len - at;
  switch (RandomBelow(r, text ? 10 : 4)) {
  case 0:
    t->s[at] = RandomOneIn(r, 2) ? (char)RandomBits(r) : characters[RandomBelow(r, sizeof(characters))];
    break;
  case 1: /* a cut end, long or short */
    t->len -= RandomOneIn(r, 2) || t->len < 20 ? t->len - at : 1 + (size_t)RandomBelow(r, 19);
    break;
  case 2: /* some of the middle too */
    if (RandomOneIn(r, 2)) len = 1;
    Replace(t, at, len, "", 0);
    break;
  case 3:
    memcpy(copy, t->s + at, len);
    at = (size_t)RandomBelow(r, (int64_t)t->len + 1);
    Replace(t, at, 0, copy, len);
    break;
  case 4: /* a line about as long as allowed, or a longer comment */
    at = Word(r, t);
    for (len = 1; at + len < t->len && t->s[at + len] != '\n';) len++;
    for (size_t begin = at; begin > 0 && t->s[begin - 1] != '\n'; begin--) len++;
    memset(copy, RandomOneIn(r, 4) ? '0' : ' ', sizeof(copy));
    if (len < 1022) Replace(t, at, 0, copy, 1022 - len + (size_t)RandomBelow(r, 4));
    break;
  default:
    at = Word(r, t);
    for (len = 0; at + len < t->len && !isspace((unsigned char)t->s[at + len]);) len++;
    word = PickOne(r, words);
    Replace(t, at, len, word, strlen(word));
  }
}

/* What a text says to the second reader */
typedef struct {
  PetscInt64 m, n, nnz;
  struct {
    PetscInt64  i, j;
    PetscScalar v;
  } entry[2 * MOST]; /* more than a text can hold */
} Content;

static bool WholeNumber(const char *word, PetscInt64 *value)
{
  const bool negative = *word == '-';
  __int128   sum      = 0;

  if (*word == '-' || *word == '+') word++;
  if (!*word) return false;
  for (; *word; word++) {
    if (*word < '0' || *word > '9') return false;
    if (sum < (__int128)1 << 100) sum = 10 * sum + (*word - '0');
  }
  if (negative) sum = -sum;
  if (sum < INT64_MIN || sum > INT64_MAX) return false;
  *value = (PetscInt64)sum;
  return true;
}

static const char *SkipDigits(const char *s, int *n)
{
  for (*n = 0; *s >= '0' && *s <= '9'; s++) ++*n;
  return s;
}

/* Sign, digits with a point among them, exponent */
static bool FiniteNumber(const char *word, PetscScalar *value)
{
  char         copy[1024];
  const size_t len = strlen(word);
  double       v;
  int          before, after = 0, exponent = 1;

  for (size_t k = 0; k <= len; k++) copy[k] = (char)(word[k] == 'd' || word[k] == 'D' ? 'e' : word[k]);
  v = strtod(copy, NULL);
  if (*word == '+' || *word == '-') word++;
  word = SkipDigits(word, &before);
  if (*word == '.') word = SkipDigits(word + 1, &after);
  if (*word && strchr("eEdD", *word)) {
    word++;
    if (*word == '+' || *word == '-') word++;
    word = SkipDigits(word, &exponent);
  }
  if (*word || !(before + after) || !exponent || !isfinite(v) || !isfinite((PetscReal)v)) return false;
  *value = (PetscScalar)v;
  return true;
}

/* Cut the next line with content into words. -1 at the end, -2 where it is no text */
static int NextLine(const Text *t, size_t *at, bool banner, char copy[1024], char *words[], int most)
{
  while (*at < t->len) {
    const char *line = t->s + *at, *newline = (const char *)memchr(line, '\n', t->len - *at);
    size_t      len = newline ? (size_t)(newline - line) : t->len - *at;
    int         n   = 0;

    *at += len + (newline ? 1 : 0);
    for (; len && isspace((unsigned char)*line); len--) line++;
    if (len > 1023 && *line != '%') return -2;
    if (len > 1023) len = 1023;
    if (memchr(line, 0, len)) return -2;
    if (len && *line == '%' && !banner) continue;
    memcpy(copy, line, len);
    copy[len] = 0;
    for (char *s = copy; *s;) {
      while (isspace((unsigned char)*s)) *s++ = 0;
      if (!*s) break;
      if (n == most) return most + 1;
      words[n++] = s;
      while (*s && !isspace((unsigned char)*s)) s++;
    }
    if (n) return n;
  }
  return -1;
}

static bool Is(const char *word, const char *name)
{
  return !strcasecmp(word, name);
}

static bool Understand(const Text *t, Content *c)
{
  const size_t mark = strlen(BYTE_ORDER_MARK);
  size_t       at   = t->len >= mark && !memcmp(t->s, BYTE_ORDER_MARK, mark) ? mark : 0;
  char         copy[1024], *words[8];
  int          n = NextLine(t, &at, true, copy, words, 6), kind, symmetry, side = 0;

  if (n < 4 || n > 5 || !(Is(words[0], "%%MatrixMarket") || Is(words[0], "%MatrixMarket")) || !Is(words[1], "matrix") || !Is(words[2], "coordinate")) return false;
  kind     = n == 4 || Is(words[3], "real") || Is(words[3], "double") ? 1 : Is(words[3], "integer") ? 2
                                                                          : Is(words[3], "pattern") ? 3
                                                                                                    : 0;
  symmetry = Is(words[n - 1], "general") ? 1 : Is(words[n - 1], "symmetric")      ? 2
                                             : Is(words[n - 1], "skew-symmetric") ? 3
                                                                                  : 0;
  if (!kind || !symmetry || (kind == 3 && symmetry == 3)) return false;
  c->nnz = 0;
  {
    PetscInt64 nnz;

    if (NextLine(t, &at, false, copy, words, 4) != 3 || !WholeNumber(words[0], &c->m) || !WholeNumber(words[1], &c->n) || !WholeNumber(words[2], &nnz)) return false;
    if (c->m < 0 || c->n < 0 || nnz < 0 || c->m > PETSC_INT_MAX || c->n > PETSC_INT_MAX || (symmetry > 1 && c->m != c->n)) return false;
    if ((double)PetscMax(c->m, c->n) >= 1e6 + 10 * ((double)nnz + 1)) return false;
    for (; nnz > 0; nnz--) {
      PetscInt64  i, j, whole = 1;
      PetscScalar v;

      if (NextLine(t, &at, false, copy, words, 4) != (kind == 3 ? 2 : 3)) return false;
      if (!WholeNumber(words[0], &i) || !WholeNumber(words[1], &j) || i < 1 || j < 1 || i > c->m || j > c->n) return false;
      if (kind == 1 && !FiniteNumber(words[2], &v)) return false;
      if (kind == 2 && !WholeNumber(words[2], &whole)) return false;
      if (kind != 1) v = (PetscScalar)whole;
      if (symmetry > 1 && i != j) {
        if (side && (side > 0) != (i > j)) return false;
        side = i > j ? 1 : -1;
      }
      if (symmetry == 3 && i == j && v != 0) return false;
      c->entry[c->nnz].i   = i - 1;
      c->entry[c->nnz].j   = j - 1;
      c->entry[c->nnz++].v = v;
      if (symmetry > 1 && i != j) {
        c->entry[c->nnz].i   = j - 1;
        c->entry[c->nnz].j   = i - 1;
        c->entry[c->nnz++].v = symmetry == 3 ? -v : v;
      }
    }
  }
  return NextLine(t, &at, false, copy, words, 4) == -1;
}

/*
   The rows of this process. They must have as many entries as there are different ones, each the sum of those in the
   file
*/
static void Compare(Mat A, const Content *c)
{
  PetscInt m, n, rstart, rend, stored = 0, different = 0;

  Must(MatGetSize(A, &m, &n));
  FuzzCheck(m == c->m && n == c->n, "the matrix is %" PetscInt_FMT " x %" PetscInt_FMT, m, n);
  Must(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt64 k = 0; k < c->nnz; k++) {
    PetscInt           count, found = -1;
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscReal          sum = 0, size = 0;
    bool               first = true;

    if (c->entry[k].i < rstart || c->entry[k].i >= rend) continue;
    for (PetscInt64 l = 0; l < c->nnz; l++) {
      if (c->entry[l].i != c->entry[k].i || c->entry[l].j != c->entry[k].j) continue;
      if (l < k) first = false;
      sum += PetscRealPart(c->entry[l].v);
      size += PetscAbsScalar(c->entry[l].v);
    }
    if (!first) continue;
    different++;
    Must(MatGetRow(A, (PetscInt)c->entry[k].i, &count, &cols, &vals));
    for (PetscInt l = 0; l < count; l++) {
      if (cols[l] == c->entry[k].j) found = l;
    }
    FuzzCheck(found >= 0, "no entry (%" PetscInt64_FMT ", %" PetscInt64_FMT ")", c->entry[k].i, c->entry[k].j);
    FuzzCheck(!isfinite(size) || PetscAbsReal(PetscRealPart(vals[found]) - sum) <= 100 * PETSC_MACHINE_EPSILON * size, "entry (%" PetscInt64_FMT ", %" PetscInt64_FMT ") is %g and should be %g", c->entry[k].i, c->entry[k].j, (double)PetscRealPart(vals[found]), (double)sum);
    Must(MatRestoreRow(A, (PetscInt)c->entry[k].i, &count, &cols, &vals));
  }
  for (PetscInt i = rstart; i < rend; i++) {
    PetscInt count;

    Must(MatGetRow(A, i, &count, NULL, NULL));
    stored += count;
    Must(MatRestoreRow(A, i, &count, NULL, NULL));
  }
  FuzzCheck(stored == different, "%" PetscInt_FMT " entries are stored of %" PetscInt_FMT, stored, different);
}

static PetscMPIInt rank;
static char        file[64];

/* On all processes, because each must use the same random numbers. The first one has the file */
static void Save(Random *r, const Text *t, bool compress, int64_t damages)
{
  const uint64_t seed = RandomBits(r);

  if (rank == 0) {
    gzFile gz = gzopen(file, compress ? "wb1" : "wbT");

    FuzzCheck(gz && gzwrite(gz, t->s, (unsigned)t->len) == (int)t->len && gzclose(gz) == Z_OK, "cannot write %s", file);
    if (damages) {
      Random own  = {seed};
      Text   raw  = {(char *)malloc(MOST), 0};
      FILE  *fp   = fopen(file, "rb");
      bool   good = fp && raw.s;

      if (good) raw.len = fread(raw.s, 1, MOST / 2, fp);
      good = good && !fclose(fp);
      for (; damages > 0; damages--) Damage(&own, &raw, false);
      fp   = fopen(file, "wb");
      good = good && fp && fwrite(raw.s, 1, raw.len, fp) == raw.len && !fclose(fp);
      FuzzCheck(good, "cannot write %s", file);
      free(raw.s);
    }
  }
  (void)MPI_Barrier(PETSC_COMM_WORLD);
}

static void One(Random *r)
{
  static Content content;
  static char    buffer[MOST];
  Text           t          = {buffer, 0};
  const bool     compress   = RandomOneIn(r, 4);
  const int64_t  compressed = compress && RandomOneIn(r, 2) ? 1 + RandomBelow(r, 3) : 0; /* damages to compressed data */
  bool           good;
  Mat            A;
  PetscErrorCode error;
  const char    *message = NULL;
  int            failed[2];

  Write(r, &t);
  if (!compressed && !RandomOneIn(r, 3)) {
    for (int64_t n = 1 + RandomBelow(r, 2); n > 0; n--) Damage(r, &t, true);
  }
  Save(r, &t, compress, compressed);
  good = Understand(&t, &content);

  Must(MatCreate(PETSC_COMM_WORLD, &A));
  Must(MatSetType(A, MATAIJ));
  Must(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = ExampleMatLoad(PETSC_COMM_WORLD, file, A);
  Must(PetscPopErrorHandler());
  failed[0] = error ? 1 : 0;
  failed[1] = error ? 0 : 1;
  (void)MPI_Allreduce(MPI_IN_PLACE, failed, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD);
  FuzzCheck(failed[0] != failed[1], "the processes disagree: here the error is %d", (int)error);
  if (error) {
    FuzzCheck(!good || compressed, "a good file is refused");
    Must(ExampleErrorMessage(error, &message));
    FuzzCheck(message && !strncmp(message, file, strlen(file)) && strlen(message) > strlen(file) + 10, "the message does not name the file: %s", message ? message : "none");
  } else {
    FuzzCheck(good, "a bad file is accepted");
    Compare(A, &content);
  }
  Must(MatDestroy(&A));
}

static bool Any(bool mine)
{
  int any = mine;

  (void)MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD);
  return any;
}

int main(int argc, char **argv)
{
  char name[] = "mtx", *args[] = {name, NULL}, **arguments = args;
  int  one = 1, status;

  Must(PetscInitialize(&one, &arguments, NULL, NULL)); /* the options are ours */
  Must(PetscPopSignalHandler());                       /* the signals are ours, too */
  (void)MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  (void)snprintf(file, sizeof(file), "fuzz-%lld.mtx", (long long)getpid());
  (void)MPI_Bcast(file, (int)sizeof(file), MPI_CHAR, 0, PETSC_COMM_WORLD);
  status = FuzzRun(argc, argv, name, One, Any, rank != 0);
  if (rank == 0) (void)unlink(file);
  Must(PetscFinalize());
  return status;
}
