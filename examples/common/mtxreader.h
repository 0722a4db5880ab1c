/*
   Reading a Matrix Market coordinate file, entry by entry, on one process.

   No call here raises a PETSc error: a failure is kept in the reader (code and message), so that the process that reads
   can tell the others before any of them stops. Memory does not grow with the file, nor with the sizes it claims.
*/
#pragma once

#include <petscsys.h>
#include <zlib.h>

typedef enum {
  MTX_REAL,
  MTX_INTEGER,
  MTX_PATTERN
} MtxField;

typedef enum {
  MTX_GENERAL,
  MTX_SYMMETRIC,
  MTX_SKEW
} MtxSymmetry;

typedef struct {
  gzFile         gz;
  const char    *file;
  PetscInt64     line; /* number of the line read last */
  PetscInt64     m, n, nnz, done;
  MtxField       field;
  MtxSymmetry    symmetry;
  int            triangle; /* of a symmetric file: 0 not known yet, -1 lower, 1 upper */
  PetscErrorCode error;
  char           message[PETSC_MAX_PATH_LEN + 256];
  char           text[1024]; /* the line read last */
  char          *next, *end; /* what is left of the buffer */
  char           buffer[65536];
} MtxReader;

void      MtxOpen(MtxReader *, const char[]);                                    /* up to and including the size line */
PetscBool MtxNext(MtxReader *, PetscInt64 *row, PetscInt64 *col, double *value); /* false: the end, or an error */
void      MtxClose(MtxReader *);
