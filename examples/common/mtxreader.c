#include "mtxreader.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static void MtxFail(MtxReader *r, PetscErrorCode error, const char *format, ...) PETSC_ATTRIBUTE_FORMAT(3, 4);

/* The first failure is kept. Later ones follow from it and say less */
static void MtxFail(MtxReader *r, PetscErrorCode error, const char *format, ...)
{
  va_list args;
  size_t  used;

  if (r->error) return;
  r->error = error;
  if (r->line) snprintf(r->message, sizeof(r->message), "%s, line %" PetscInt64_FMT ": ", r->file, r->line);
  else snprintf(r->message, sizeof(r->message), "%s: ", r->file);
  used = strlen(r->message);
  va_start(args, format);
  vsnprintf(r->message + used, sizeof(r->message) - used, format, args);
  va_end(args);
}

/* Read on if the buffer is used up. False at the end of the file and after a failure */
static PetscBool MtxFill(MtxReader *r)
{
  const int n = gzread(r->gz, r->buffer, (unsigned)sizeof(r->buffer));
  int       code;

  r->next = r->buffer;
  r->end  = r->buffer + PetscMax(n, 0);
  if (n > 0) return PETSC_TRUE;
  (void)gzerror(r->gz, &code);
  if (code == Z_BUF_ERROR) MtxFail(r, PETSC_ERR_FILE_READ, "the compressed data ends early: the file is truncated");
  else if (code == Z_ERRNO) MtxFail(r, PETSC_ERR_FILE_READ, "cannot read: %s", strerror(errno));
  else if (code != Z_OK && code != Z_STREAM_END) MtxFail(r, PETSC_ERR_FILE_READ, "the compressed data is damaged");
  return PETSC_FALSE;
}

/* Skip blanks at the beginning of a line. False where the file ends there */
static PetscBool MtxSkipBlanks(MtxReader *r)
{
  do {
    while (r->next < r->end && *r->next != '\n' && isspace((unsigned char)*r->next)) r->next++;
  } while (r->next == r->end && MtxFill(r));
  return (PetscBool)(r->next < r->end);
}

/*
   Read the next line into r->text, without blanks at its beginning. False at the end of the file and after a failure.
   Comments may have any length and are cut. Other lines must fit.
*/
static PetscBool MtxLine(MtxReader *r)
{
  const size_t most = sizeof(r->text) - 1;
  size_t       len  = 0;
  PetscBool    comment;
  char        *newline;

  if (!MtxSkipBlanks(r)) return PETSC_FALSE;
  r->line++;
  comment = (PetscBool)(*r->next == '%');
  do {
    size_t n;

    newline = (char *)memchr(r->next, '\n', (size_t)(r->end - r->next));
    n       = (size_t)((newline ? newline : r->end) - r->next);
    if (n > most - len && !comment) {
      MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "not text, or a line of more than %d characters", (int)most);
      return PETSC_FALSE;
    }
    n = PetscMin(n, most - len);
    memcpy(r->text + len, r->next, n);
    len += n;
    r->next = newline ? newline + 1 : r->end;
  } while (!newline && MtxFill(r));
  if (r->error) return PETSC_FALSE; /* part of a line, where compressed data ends early */
  r->text[len] = 0;
  if (strlen(r->text) < len) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "not text: a character is zero (a PETSc binary file must not be compressed)");
  return (PetscBool)!r->error;
}

static PetscBool MtxBlank(const char *s)
{
  while (isspace((unsigned char)*s)) s++;
  return (PetscBool)(!*s);
}

/* Read the next line that is neither blank nor a comment */
static PetscBool MtxDataLine(MtxReader *r)
{
  while (MtxLine(r)) {
    if (r->text[0] != '%' && !MtxBlank(r->text)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Whether a number that ends at end is followed by nothing or by a blank */
static PetscBool MtxEnds(const char *s, const char *end)
{
  return (PetscBool)(end > s && (!*end || isspace((unsigned char)*end)));
}

static PetscBool MtxInteger(char **s, PetscInt64 *value)
{
  char *end;

  errno  = 0;
  *value = strtoll(*s, &end, 10);
  if (errno || !MtxEnds(*s, end)) return PETSC_FALSE;
  *s = end;
  return PETSC_TRUE;
}

/*
   A decimal number. Its exponent may begin with D, as Fortran writes it. strtod() does not know that, and also takes
   inf, nan and hexadecimal numbers, which this format does not have
*/
static PetscBool MtxReal(char **s, double *value)
{
  char  *end, *exponent;
  size_t len;

  while (isspace((unsigned char)**s)) ++*s;
  len      = strspn(*s, "+-.0123456789eEdD");
  exponent = *s + strcspn(*s, "dD");
  if (exponent < *s + len) *exponent = 'e';
  *value = strtod(*s, &end);
  if (!MtxEnds(*s, end) || (size_t)(end - *s) != len) return PETSC_FALSE;
  *s = end;
  return PETSC_TRUE;
}

/* Skip the three bytes with which some editors begin a file in UTF-8 */
static void MtxSkipMark(MtxReader *r)
{
  static const char mark[] = "\xef\xbb\xbf";
  const size_t      len    = sizeof(mark) - 1;

  if (MtxFill(r) && (size_t)(r->end - r->next) >= len && !memcmp(r->next, mark, len)) r->next += len;
}

static const char banner[] = "%%MatrixMarket";

/* The first line that is not blank. Some programs write one percent sign */
static void MtxBanner(MtxReader *r)
{
  const char *sign = banner + 1;
  char       *s, object[32], format[32], field[32], symmetry[32], more[2];
  int         words = 0;

  MtxSkipMark(r);
  do {
    if (MtxLine(r)) continue;
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the file is empty");
    return;
  } while (MtxBlank(r->text));
  s = r->text + (r->text[0] == '%' && r->text[1] == '%');
  if (!strncasecmp(s, sign, strlen(sign)) && isspace((unsigned char)s[strlen(sign)])) words = sscanf(s + strlen(sign), " %31s %31s %31s %31s %1s", object, format, field, symmetry, more);
  if (words == 3) { /* some files leave the field out and hold real values */
    memcpy(symmetry, field, sizeof(symmetry));
    strcpy(field, "real");
  } else if (words != 4) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "neither a PETSc binary matrix nor a Matrix Market file, which begins with %s matrix coordinate (real|integer|pattern) (general|symmetric|skew-symmetric)", banner);
    return;
  }
  if (strcasecmp(object, "matrix")) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "holds a %s; a matrix is needed", object);
  if (strcasecmp(format, "coordinate")) MtxFail(r, PETSC_ERR_SUP, "the format is %s (dense); a sparse matrix (coordinate) is needed", format);
  if (!strcasecmp(field, "real") || !strcasecmp(field, "double")) r->field = MTX_REAL;
  else if (!strcasecmp(field, "integer")) r->field = MTX_INTEGER;
  else if (!strcasecmp(field, "pattern")) r->field = MTX_PATTERN;
  else MtxFail(r, PETSC_ERR_SUP, "the field is %s; real, integer or pattern is needed", field);
  if (!strcasecmp(symmetry, "general")) r->symmetry = MTX_GENERAL;
  else if (!strcasecmp(symmetry, "symmetric")) r->symmetry = MTX_SYMMETRIC;
  else if (!strcasecmp(symmetry, "skew-symmetric")) r->symmetry = MTX_SKEW;
  else MtxFail(r, PETSC_ERR_SUP, "the symmetry is %s; general, symmetric or skew-symmetric is needed", symmetry);
  if (r->field == MTX_PATTERN && r->symmetry == MTX_SKEW) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "a pattern has no signs and cannot be skew-symmetric; general or symmetric is needed");
}

static void MtxSizes(MtxReader *r)
{
  const PetscInt64 most = 1000000; /* allowed in addition to ten times the number of entries */
  char            *s    = r->text;

  if (!MtxDataLine(r)) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the file ends before the size line (rows columns entries)");
    return;
  }
  if (!MtxInteger(&s, &r->m) || !MtxInteger(&s, &r->n) || !MtxInteger(&s, &r->nnz) || !MtxBlank(s) || r->m < 0 || r->n < 0 || r->nnz < 0) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the size line must hold three whole numbers, none of them negative or beyond 64 bits: rows columns entries");
    return;
  }
  if (r->m > PETSC_INT_MAX || r->n > PETSC_INT_MAX) MtxFail(r, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt64_FMT " x %" PetscInt64_FMT " is beyond this PETSc's 32-bit integers: one configured --with-64-bit-indices is needed", r->m, r->n);
  /*
     Check the sizes. A matrix takes memory for each row, even an empty one, so the file must have entries to justify
     it
  */
  if ((PetscMax(r->m, r->n) - most) / 10 > r->nnz) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "%" PetscInt64_FMT " x %" PetscInt64_FMT " with %" PetscInt64_FMT " entries: more than ten times as many rows or columns as entries, and a million, are taken for a mistake", r->m, r->n, r->nnz);
  if (r->symmetry != MTX_GENERAL && r->m != r->n) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "a symmetric or skew-symmetric matrix must be square, not %" PetscInt64_FMT " x %" PetscInt64_FMT, r->m, r->n);
}

void MtxOpen(MtxReader *r, const char file[])
{
  struct stat status;

  memset(r, 0, sizeof(*r));
  r->file = file;
  errno   = 0;
  if (stat(file, &status)) MtxFail(r, PETSC_ERR_FILE_OPEN, "cannot open: %s", strerror(errno));
  else if (!S_ISREG(status.st_mode)) MtxFail(r, PETSC_ERR_FILE_OPEN, "not a regular file"); /* a pipe may never end */
  else {
    r->gz = gzopen(file, "rb"); /* reads files that are not compressed too */
    if (!r->gz) MtxFail(r, PETSC_ERR_FILE_OPEN, "cannot open: %s", errno ? strerror(errno) : "no memory");
  }
  if (!r->error) (void)gzbuffer(r->gz, 1 << 18);
  if (!r->error) MtxBanner(r);
  if (!r->error) MtxSizes(r);
}

PetscBool MtxNext(MtxReader *r, PetscInt64 *row, PetscInt64 *col, double *value)
{
  static const char *const needed[] = {"row and column, whole numbers of up to 64 bits, and a finite decimal value, as 1.5e-3", "row, column and value, whole numbers of up to 64 bits", "row and column, whole numbers of up to 64 bits"};
  char                    *s        = r->text;
  PetscInt64               whole    = 1;
  PetscBool                good;

  if (r->error) return PETSC_FALSE;
  if (!MtxDataLine(r)) {
    if (r->done < r->nnz) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the file ends after %" PetscInt64_FMT " of %" PetscInt64_FMT " entries: it is truncated", r->done, r->nnz);
    return PETSC_FALSE;
  }
  if (r->done == r->nnz) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "more entries than the %" PetscInt64_FMT " of the size line", r->nnz);
    return PETSC_FALSE;
  }
  good = (PetscBool)(MtxInteger(&s, row) && MtxInteger(&s, col));
  if (good && r->field == MTX_REAL) good = MtxReal(&s, value);
  else {
    if (good && r->field == MTX_INTEGER) good = MtxInteger(&s, &whole);
    *value = (double)whole;
  }
  if (!good || !MtxBlank(s)) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "an entry must hold %s", needed[r->field]);
    return PETSC_FALSE;
  }
  if (!isfinite((PetscReal)*value)) {
    MtxFail(r, PETSC_ERR_ARG_OUTOFRANGE, "the value is too large for the precision of this PETSc");
    return PETSC_FALSE;
  }
  if (*row < 1 || *row > r->m || *col < 1 || *col > r->n) {
    MtxFail(r, PETSC_ERR_ARG_OUTOFRANGE, "entry (%" PetscInt64_FMT ", %" PetscInt64_FMT ") is outside the matrix, %" PetscInt64_FMT " x %" PetscInt64_FMT " counted from 1", *row, *col, r->m, r->n);
    return PETSC_FALSE;
  }
  if (r->symmetry != MTX_GENERAL && *row != *col) {
    int triangle = *row > *col ? -1 : 1;

    /* Files that hold the upper triangle exist, and mean the same. A file with both would double the entries */
    if (!r->triangle) r->triangle = triangle;
    if (r->triangle != triangle) {
      MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "a symmetric or skew-symmetric file must hold one triangle only, this one has entries on both sides of the diagonal");
      return PETSC_FALSE;
    }
  }
  if (r->symmetry == MTX_SKEW && *row == *col && *value != 0.0) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "a skew-symmetric matrix cannot have the value %g on its diagonal", *value);
    return PETSC_FALSE;
  }
  r->done++;
  --*row;
  --*col;
  return PETSC_TRUE;
}

void MtxClose(MtxReader *r)
{
  if (r->gz) (void)gzclose(r->gz);
  r->gz = NULL;
}
