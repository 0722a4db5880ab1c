/*
   Dense operands of any layout, entry by entry, on the host and on a device.
*/
#pragma once

#include "../spmm.h"

/* Entry i, n of a dense matrix is array[i * row + n * column] */
typedef struct {
  const HrpbScalar *array; /* or NULL */
  int64_t           row, column;
} SpmmView;

HRPB_INLINE SpmmView SpmmViewOf(const HrpbScalar *array, int64_t ld, SpmmLayout layout)
{
  const bool by_columns = layout == SPMM_COLUMN_MAJOR;

  SpmmView v;

  v.array  = array;
  v.row    = by_columns ? 1 : ld;
  v.column = by_columns ? ld : 1;
  return v;
}

HRPB_INLINE HrpbScalar SpmmAt(SpmmView v, int64_t i, int64_t n)
{
  return v.array[i * v.row + n * v.column];
}

/* What makes Y from A X, which is ax */
typedef struct {
  SpmmUpdate        update;
  SpmmView          ax, X, Y0, B;
  HrpbScalar        a, b, c;
  const HrpbScalar *D;
  int32_t           dblock;
} SpmmFinish;

HRPB_INLINE SpmmFinish SpmmFinishOf(const SpmmOperands *o, const HrpbScalar *ax, int64_t ld)
{
  SpmmFinish f;

  f.update = o->update;
  f.ax     = SpmmViewOf(ax, ld, SPMM_COLUMN_MAJOR);
  f.X      = SpmmViewOf(o->X.array, o->X.ld, o->X.layout);
  f.Y0     = SpmmViewOf(o->update == SPMM_ASSIGN ? NULL : o->Y0.array, o->Y0.ld, o->Y0.layout);
  f.B      = SpmmViewOf(o->update == SPMM_STEP ? o->B.array : NULL, o->B.ld, o->B.layout);
  f.a      = o->a;
  f.b      = o->b;
  f.c      = o->c;
  f.D      = o->update == SPMM_STEP ? o->D : NULL;
  f.dblock = f.D ? o->dblock : 1;
  return f;
}

/* Entry i, n of B - A X */
HRPB_INLINE HrpbScalar SpmmResidual(const SpmmFinish *f, int64_t i, int64_t n)
{
  return (f->B.array ? SpmmAt(f->B, i, n) : 0) - SpmmAt(f->ax, i, n);
}

/* Entry i, n of Y. It looks at no other entry of Y0 */
HRPB_INLINE HrpbScalar SpmmFinished(const SpmmFinish *f, int64_t i, int64_t n)
{
  const int64_t first = i / f->dblock * f->dblock; /* row of the block of D */
  HrpbScalar    z     = 0;

  if (f->update == SPMM_ASSIGN) return SpmmAt(f->ax, i, n);
  if (f->update == SPMM_ADD) return SpmmAt(f->Y0, i, n) + SpmmAt(f->ax, i, n);
  if (f->c != 0 && !f->D) z = SpmmResidual(f, i, n);
  else if (f->c != 0) {
    for (int32_t j = 0; j < f->dblock; j++) z += f->D[first * f->dblock + (i - first) + (int64_t)j * f->dblock] * SpmmResidual(f, first + j, n);
  }
  z *= f->c;
  if (f->b != 0) z += f->b * SpmmAt(f->X, i, n);
  if (f->a != 0 && f->Y0.array) z += f->a * SpmmAt(f->Y0, i, n);
  return z;
}
