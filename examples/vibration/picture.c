#include "modes.h"
#include "image.h"

enum {
  SMOOTH = 2, /* drawn this much larger, then averaged */
  WIDTH  = SMOOTH * 640,
  HEIGHT = SMOOTH * 280,
  MARGIN = SMOOTH * 36,
  MOST   = 6
};

typedef struct {
  float scale, x, y; /* screen = scale * (right, -up) + (x, y) */
} Camera;

/* Right, up and towards the eye, seen from the side, a little from the free end and from above */
static void Turn(const float v[3], float out[3])
{
  const float ca = 0.8660254f, sa = 0.5f, ce = 0.9063078f, se = 0.4226183f; /* 30 degrees about z, 25 degrees up */
  const float depth = sa * v[0] - ca * v[1];

  out[0] = ca * v[0] + sa * v[1];
  out[1] = ce * v[2] - se * depth;
  out[2] = se * v[2] + ce * depth;
}

static void Project(const Camera *c, const float v[3], float out[3])
{
  Turn(v, out);
  out[0] = c->x + c->scale * out[0];
  out[1] = c->y - c->scale * out[1];
  out[2] *= c->scale;
}

/* Where node (i,j,k) is, displaced by amplitude times the mode */
static float Displaced(const Modes *m, PetscInt mode, const PetscInt n[3], float amplitude, float v[3])
{
  const Beam  *b = m->beam;
  const float *u = ModesAt(m, mode, n[0], n[1], n[2]);

  v[0] = (float)(b->lx * n[0] / b->nx) + amplitude * u[0];
  v[1] = (float)(b->ly * n[1] / b->ny) + amplitude * u[1];
  v[2] = (float)(b->lz * n[2] / b->nz) + amplitude * u[2];
  return sqrtf(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
}

/* The quadrilaterals of the side of the beam where coordinate d is 0 or at its end */
static void DrawSide(const Modes *m, PetscInt mode, float amplitude, const Camera *camera, int d, PetscBool end, Image *im)
{
  const PetscInt n[3] = {m->beam->nx, m->beam->ny, m->beam->nz};
  const int      e = (d + 1) % 3, f = (d + 2) % 3;

  for (PetscInt s = 0; s < n[e]; s++) {
    for (PetscInt t = 0; t < n[f]; t++) {
      float p[4][3], value[4], light, a[3], b[3], normal[3];

      for (int c = 0; c < 4; c++) { /* corners in order around the quadrilateral */
        PetscInt node[3];
        float    v[3];

        node[d]  = end ? n[d] : 0;
        node[e]  = s + (c == 1 || c == 2);
        node[f]  = t + (c >= 2);
        value[c] = Displaced(m, mode, node, amplitude, v);
        Project(camera, v, p[c]);
      }
      for (int c = 0; c < 3; c++) {
        a[c] = p[2][c] - p[0][c];
        b[c] = p[3][c] - p[1][c];
      }
      for (int c = 0; c < 3; c++) normal[c] = a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3];
      light = PetscAbs(0.4f * normal[0] - 0.5f * normal[1] + 0.77f * normal[2]) / (1e-20f + sqrtf(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]));
      ImageQuad(im, (const float(*)[3])p, value, 0.65f + 0.4f * light);
    }
  }
}

/* The camera that fits all of a mode into its part of the picture */
static void Fit(const Modes *m, PetscInt mode, float amplitude, int left, int top, Camera *camera)
{
  const Beam *b      = m->beam;
  float       low[2] = {PETSC_MAX_INT, PETSC_MAX_INT}, high[2] = {-(float)PETSC_MAX_INT, -(float)PETSC_MAX_INT};
  PetscInt    n[3];

  for (n[0] = 0; n[0] <= b->nx; n[0]++) {
    for (n[1] = 0; n[1] <= b->ny; n[1]++) {
      for (n[2] = 0; n[2] <= b->nz; n[2]++) {
        for (int moved = 0; moved < 2; moved++) { /* the outline of the undeformed beam is drawn, too */
          float v[3], screen[3];

          (void)Displaced(m, mode, n, moved * amplitude, v);
          Turn(v, screen);
          for (int c = 0; c < 2; c++) {
            low[c]  = PetscMin(low[c], screen[c]);
            high[c] = PetscMax(high[c], screen[c]);
          }
        }
      }
    }
  }
  camera->scale = PetscMin((WIDTH - 2 * MARGIN) / (high[0] - low[0]), (HEIGHT - 2 * MARGIN) / (high[1] - low[1]));
  camera->x     = left + WIDTH / 2.0f - camera->scale * (low[0] + high[0]) / 2;
  camera->y     = top + HEIGHT / 2.0f + camera->scale * (low[1] + high[1]) / 2;
}

static void DrawOutline(const Modes *m, PetscInt mode, const Camera *camera, Image *im)
{
  const PetscInt n[3] = {m->beam->nx, m->beam->ny, m->beam->nz};

  for (int corner = 0; corner < 8; corner++) {
    for (int d = 0; d < 3; d++) {
      PetscInt node[3];
      float    v[3], from[3], to[3];

      if (corner >> d & 1) continue;
      for (int c = 0; c < 3; c++) node[c] = corner >> c & 1 ? n[c] : 0;
      (void)Displaced(m, mode, node, 0, v);
      Project(camera, v, from);
      node[d] = n[d];
      (void)Displaced(m, mode, node, 0, v);
      Project(camera, v, to);
      ImageLine(im, from, to, SMOOTH);
    }
  }
}

/*
   Draw the first modes into one PNG: the undeformed beam as outline, the displaced one coloured by displacement. Call
   on rank 0.
*/
PetscErrorCode ModesDraw(const Modes *m, const char file[])
{
  const int   count = (int)PetscMin(m->count, MOST), columns = count > 1 ? 2 : 1;
  const float amplitude = (float)(0.12 * PetscMax(m->beam->lx, PetscMax(m->beam->ly, m->beam->lz)));
  Image       im;

  PetscFunctionBegin;
  PetscCall(ImageCreate(columns * WIDTH, (count + columns - 1) / columns * HEIGHT, &im));
  for (int mode = 0; mode < count; mode++) {
    const int left = mode % columns * WIDTH, top = mode / columns * HEIGHT;
    Camera    camera;
    char      label[64];

    Fit(m, mode, amplitude, left, top, &camera);
    DrawOutline(m, mode, &camera, &im);
    for (int d = 0; d < 3; d++) {
      DrawSide(m, mode, amplitude, &camera, d, PETSC_FALSE, &im);
      DrawSide(m, mode, amplitude, &camera, d, PETSC_TRUE, &im);
    }
    PetscCall(PetscSNPrintf(label, sizeof(label), "%d  %.4g %s", mode + 1, (double)m->value[mode], m->unit));
    ImageText(&im, left + MARGIN / 2, top + MARGIN / 2, 2 * SMOOTH, label);
  }
  PetscCall(ImageHalve(&im));
  PetscCall(ImageWritePNG(&im, file));
  PetscCall(ImageDestroy(&im));
  PetscFunctionReturn(PETSC_SUCCESS);
}
