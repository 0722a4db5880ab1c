#include "mtxreader.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void MtxFail(MtxReader *r, PetscErrorCode error, const char *format, ...) PETSC_ATTRIBUTE_FORMAT(3, 4);

/* The first failure stays: what follows from it says less */
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

/* Next line into r->text; false at the end of the file and after a failure. Comments may have any length, other lines must fit */
static PetscBool MtxLine(MtxReader *r)
{
  PetscBool first = PETSC_TRUE, comment = PETSC_FALSE;
  char      rest[sizeof(r->text)], *s   = r->text;
  int       code;

  while (gzgets(r->gz, s, (int)sizeof(r->text))) {
    size_t len = strlen(s);

    if (first) {
      r->line++;
      comment = (PetscBool)(r->text[0] == '%');
    }
    if ((len && s[len - 1] == '\n') || gzeof(r->gz)) return PETSC_TRUE;
    if (!comment) {
      MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "not text, or a line of more than %d characters", (int)sizeof(r->text) - 2);
      return PETSC_FALSE;
    }
    first = PETSC_FALSE;
    s     = rest;
  }
  (void)gzerror(r->gz, &code);
  if (code == Z_BUF_ERROR) MtxFail(r, PETSC_ERR_FILE_READ, "the compressed data ends early: the file is truncated");
  else if (code == Z_ERRNO) MtxFail(r, PETSC_ERR_FILE_READ, "cannot read: %s", strerror(errno));
  else if (code != Z_OK && code != Z_STREAM_END) MtxFail(r, PETSC_ERR_FILE_READ, "the compressed data is damaged");
  return PETSC_FALSE;
}

static PetscBool MtxBlank(const char *s)
{
  while (isspace((unsigned char)*s)) s++;
  return (PetscBool)(!*s);
}

/* Next line that is neither blank nor a comment */
static PetscBool MtxDataLine(MtxReader *r)
{
  while (MtxLine(r)) {
    if (r->text[0] != '%' && !MtxBlank(r->text)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static PetscBool MtxInteger(char **s, PetscInt64 *value)
{
  char *end;

  errno  = 0;
  *value = strtoll(*s, &end, 10);
  if (end == *s || errno || (*end && !isspace((unsigned char)*end))) return PETSC_FALSE;
  *s = end;
  return PETSC_TRUE;
}

static void MtxBanner(MtxReader *r)
{
  char object[32], format[32], field[32], symmetry[32];
  int  words;

  if (!MtxLine(r)) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the file is empty");
    return;
  }
  words = strncasecmp(r->text, "%%MatrixMarket", 14) ? 0 : sscanf(r->text + 14, " %31s %31s %31s %31s", object, format, field, symmetry);
  if (words == 3) { /* some files leave the field out and hold real values */
    memcpy(symmetry, field, sizeof(symmetry));
    strcpy(field, "real");
  } else if (words != 4) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "neither a PETSc binary matrix nor a Matrix Market file, which begins with %%%%MatrixMarket matrix coordinate (real|integer|pattern) (general|symmetric|skew-symmetric)");
    return;
  }
  if (strcasecmp(object, "matrix")) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "holds a %s; a matrix is needed", object);
  if (strcasecmp(format, "coordinate")) MtxFail(r, PETSC_ERR_SUP, "the format is %s (dense); a sparse matrix (coordinate) is needed", format);
  r->pattern = (PetscBool)!strcasecmp(field, "pattern");
  if (!r->pattern && strcasecmp(field, "real") && strcasecmp(field, "double") && strcasecmp(field, "integer")) MtxFail(r, PETSC_ERR_SUP, "the field is %s; real, integer or pattern is needed", field);
  if (!strcasecmp(symmetry, "general")) r->symmetry = MTX_GENERAL;
  else if (!strcasecmp(symmetry, "symmetric")) r->symmetry = MTX_SYMMETRIC;
  else if (!strcasecmp(symmetry, "skew-symmetric")) r->symmetry = MTX_SKEW;
  else MtxFail(r, PETSC_ERR_SUP, "the symmetry is %s; general, symmetric or skew-symmetric is needed", symmetry);
}

void MtxOpen(MtxReader *r, const char file[])
{
  char *s = r->text;

  memset(r, 0, sizeof(*r));
  r->file = file;
  r->gz   = gzopen(file, "rb"); /* reads files that are not compressed too */
  if (!r->gz) {
    MtxFail(r, PETSC_ERR_FILE_OPEN, "cannot open: %s", strerror(errno));
    return;
  }
  (void)gzbuffer(r->gz, 1 << 18);
  MtxBanner(r);
  if (r->error) return;
  if (!MtxDataLine(r)) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the file ends before the size line (rows columns entries)");
    return;
  }
  if (!MtxInteger(&s, &r->m) || !MtxInteger(&s, &r->n) || !MtxInteger(&s, &r->nnz) || !MtxBlank(s) || r->m < 0 || r->n < 0 || r->nnz < 0) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the size line must hold three numbers: rows columns entries");
    return;
  }
  if (r->m > PETSC_INT_MAX || r->n > PETSC_INT_MAX) MtxFail(r, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt64_FMT " x %" PetscInt64_FMT " is beyond this PETSc's 32-bit integers: one configured --with-64-bit-indices is needed", r->m, r->n);
  if (r->symmetry != MTX_GENERAL && r->m != r->n) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "a symmetric or skew-symmetric matrix must be square, not %" PetscInt64_FMT " x %" PetscInt64_FMT, r->m, r->n);
}

PetscBool MtxNext(MtxReader *r, PetscInt64 *row, PetscInt64 *col, double *value)
{
  char *s = r->text, *end;

  if (r->error) return PETSC_FALSE;
  if (!MtxDataLine(r)) {
    if (r->done < r->nnz) MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "the file ends after %" PetscInt64_FMT " of %" PetscInt64_FMT " entries: it is truncated", r->done, r->nnz);
    return PETSC_FALSE;
  }
  if (r->done == r->nnz) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "more entries than the %" PetscInt64_FMT " of the size line", r->nnz);
    return PETSC_FALSE;
  }
  *value = 1.0;
  if (MtxInteger(&s, row) && MtxInteger(&s, col)) {
    end = s;
    if (!r->pattern) *value = strtod(s, &end);
    if ((r->pattern || end != s) && MtxBlank(end)) s = NULL;
  }
  if (s) {
    MtxFail(r, PETSC_ERR_FILE_UNEXPECTED, "an entry must hold %s", r->pattern ? "two numbers: row column" : "three numbers: row column value");
    return PETSC_FALSE;
  }
  if (*row < 1 || *row > r->m || *col < 1 || *col > r->n) {
    MtxFail(r, PETSC_ERR_ARG_OUTOFRANGE, "entry (%" PetscInt64_FMT ", %" PetscInt64_FMT ") is outside the matrix, %" PetscInt64_FMT " x %" PetscInt64_FMT " counted from 1", *row, *col, r->m, r->n);
    return PETSC_FALSE;
  }
  if (r->symmetry != MTX_GENERAL && *row != *col) {
    int triangle = *row > *col ? -1 : 1;

    /* Files that hold the upper triangle exist and mean the same; both would double the entries */
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
