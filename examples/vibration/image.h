/*
   A picture in memory: quadrilaterals with depth, lines, digits; written as PNG. On one process.
*/
#pragma once

#include <petscsys.h>

typedef struct {
  int            width, height;
  unsigned char *rgb;   /* [3*width*height] */
  float         *depth; /* [width*height], larger is nearer */
} Image;

PETSC_INTERN PetscErrorCode ImageCreate(int, int, Image *);
PETSC_INTERN PetscErrorCode ImageDestroy(Image *);
PETSC_INTERN PetscErrorCode ImageHalve(Image *);
PETSC_INTERN void           ImageQuad(Image *, const float[4][3], const float[4], float);
PETSC_INTERN void           ImageLine(Image *, const float[2], const float[2], int);
PETSC_INTERN void           ImageText(Image *, int, int, int, const char[]);
PETSC_INTERN PetscErrorCode ImageWritePNG(const Image *, const char[]);
