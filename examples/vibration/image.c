#include "image.h"
#include <zlib.h>

PetscErrorCode ImageCreate(int width, int height, Image *im)
{
  PetscFunctionBegin;
  im->width  = width;
  im->height = height;
  PetscCall(PetscMalloc2(3 * width * height, &im->rgb, width * height, &im->depth));
  for (int p = 0; p < 3 * width * height; p++) im->rgb[p] = 255;
  for (int p = 0; p < width * height; p++) im->depth[p] = -PETSC_MAX_REAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ImageDestroy(Image *im)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(im->rgb, im->depth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Average 2x2 pixels: smooth edges */
PetscErrorCode ImageHalve(Image *im)
{
  Image half;

  PetscFunctionBegin;
  PetscCall(ImageCreate(im->width / 2, im->height / 2, &half));
  for (int y = 0; y < half.height; y++) {
    for (int x = 0; x < half.width; x++) {
      for (int c = 0; c < 3; c++) {
        const unsigned char *p = im->rgb + 3 * (2 * y * im->width + 2 * x) + c;

        half.rgb[3 * (y * half.width + x) + c] = (unsigned char)((p[0] + p[3] + p[3 * im->width] + p[3 * im->width + 3] + 2) / 4);
      }
    }
  }
  PetscCall(ImageDestroy(im));
  *im = half;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Colour of a value in [0,1]: dark blue, teal, green, yellow (after matplotlib's viridis) */
static void Colour(float value, float rgb[3])
{
  static const float map[5][3] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
  float              at        = 4 * PetscMax(0.0f, PetscMin(1.0f, value));
  int                k         = PetscMin((int)at, 3);

  for (int c = 0; c < 3; c++) rgb[c] = map[k][c] + (at - k) * (map[k + 1][c] - map[k][c]);
}

/* Twice the signed area of a triangle */
static float Cross(const float a[3], const float b[3], float x, float y)
{
  return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

/*
   Half a quadrilateral. p0-p1 and p1-p2 are its sides, and are drawn darker the wider the triangle: in a fine mesh
   dark sides would hide it. p2-p0 is its diagonal.
*/
static void ImageTriangle(Image *im, const float *const p[3], const float value[3], float light)
{
  const float area = Cross(p[0], p[1], p[2][0], p[2][1]);
  const float a = hypotf(p[1][0] - p[0][0], p[1][1] - p[0][1]), b = hypotf(p[2][0] - p[1][0], p[2][1] - p[1][1]);
  const float side = 1 - 0.4f * PetscMax(0.0f, PetscMin(1.0f, PetscAbs(area) / (12 * PetscMax(a, b)) - 0.3f));
  const int   x0 = PetscMax(0, (int)PetscMin(p[0][0], PetscMin(p[1][0], p[2][0]))), x1 = PetscMin(im->width - 1, (int)PetscMax(p[0][0], PetscMax(p[1][0], p[2][0])) + 1);
  const int   y0 = PetscMax(0, (int)PetscMin(p[0][1], PetscMin(p[1][1], p[2][1]))), y1 = PetscMin(im->height - 1, (int)PetscMax(p[0][1], PetscMax(p[1][1], p[2][1])) + 1);

  if (area == 0) return;
  for (int y = y0; y <= y1; y++) {
    for (int x = x0; x <= x1; x++) {
      float w0 = Cross(p[1], p[2], x, y) / area, w1 = Cross(p[2], p[0], x, y) / area, w2 = 1 - w0 - w1;
      float z = w0 * p[0][2] + w1 * p[1][2] + w2 * p[2][2], rgb[3], shade = light;
      int   at = y * im->width + x;

      if (w0 < 0 || w1 < 0 || w2 < 0 || z <= im->depth[at]) continue;
      im->depth[at] = z;
      if (w2 * PetscAbs(area) < a || w0 * PetscAbs(area) < b) shade *= side;
      Colour(w0 * value[0] + w1 * value[1] + w2 * value[2], rgb);
      for (int c = 0; c < 3; c++) im->rgb[3 * at + c] = (unsigned char)PetscMin(255.0f, shade * rgb[c]);
    }
  }
}

/* A quadrilateral with corners (x, y, depth) in order, a value in [0,1] at each, and a brightness */
void ImageQuad(Image *im, const float p[4][3], const float value[4], float light)
{
  ImageTriangle(im, (const float *const[]){p[0], p[1], p[2]}, (const float[]){value[0], value[1], value[2]}, light);
  ImageTriangle(im, (const float *const[]){p[2], p[3], p[0]}, (const float[]){value[2], value[3], value[0]}, light);
}

/* A grey line of the given width in pixels, over the picture so far */
void ImageLine(Image *im, const float from[2], const float to[2], int width)
{
  const int steps = 1 + (int)PetscMax(PetscAbs(to[0] - from[0]), PetscAbs(to[1] - from[1]));

  for (int s = 0; s <= steps; s++) {
    int x = (int)(from[0] + (to[0] - from[0]) * s / steps), y = (int)(from[1] + (to[1] - from[1]) * s / steps);

    for (int d = 0; d < width * width; d++) {
      int u = x + d % width, v = y + d / width;

      if (u < 0 || v < 0 || u >= im->width || v >= im->height) continue;
      for (int c = 0; c < 3; c++) im->rgb[3 * (v * im->width + u) + c] = 170;
    }
  }
}

/* Black text of numbers, "Hz" and "mm", in characters of 5x7 dots, each dot size pixels wide. Others are blank */
void ImageText(Image *im, int x, int y, int size, const char text[])
{
  static const char          known[]      = "0123456789.Hzme+-";
  static const unsigned char glyph[17][7] = {
    {14, 17, 19, 21, 25, 17, 14},
    {4, 12, 4, 4, 4, 4, 14},
    {14, 17, 1, 2, 4, 8, 31},
    {31, 2, 4, 2, 1, 17, 14},
    {2, 6, 10, 18, 31, 2, 2},
    {31, 16, 30, 1, 1, 17, 14},
    {6, 8, 16, 30, 17, 17, 14},
    {31, 1, 2, 4, 8, 8, 8},
    {14, 17, 17, 14, 17, 17, 14},
    {14, 17, 17, 15, 1, 2, 12},
    {0, 0, 0, 0, 0, 12, 12},
    {17, 17, 17, 31, 17, 17, 17},
    {0, 0, 31, 2, 4, 8, 31},
    {0, 0, 26, 21, 21, 21, 21},
    {0, 0, 14, 17, 31, 16, 14},
    {0, 4, 4, 31, 4, 4, 0},
    {0, 0, 0, 31, 0, 0, 0}};

  for (; *text; text++, x += 6 * size) {
    const char *at = strchr(known, *text);

    for (int p = 0; at && p < 35 * size * size; p++) {
      int u = p % (5 * size), v = p / (5 * size);

      if (!(glyph[at - known][v / size] >> (4 - u / size) & 1) || x + u >= im->width || y + v >= im->height) continue;
      for (int c = 0; c < 3; c++) im->rgb[3 * ((y + v) * im->width + x + u) + c] = 30;
    }
  }
}

static void PutWord(unsigned char *at, uint32_t word)
{
  for (int b = 0; b < 4; b++) at[b] = (unsigned char)(word >> (24 - 8 * b));
}

static void PutChunk(FILE *fp, const char type[], const unsigned char data[], uint32_t len)
{
  unsigned char head[8], tail[4];

  PutWord(head, len);
  memcpy(head + 4, type, 4);
  PutWord(tail, (uint32_t)crc32(crc32(0, head + 4, 4), data, len));
  (void)fwrite(head, 1, sizeof(head), fp);
  (void)fwrite(data, 1, len, fp);
  (void)fwrite(tail, 1, sizeof(tail), fp);
}

PetscErrorCode ImageWritePNG(const Image *im, const char file[])
{
  const size_t   row = 3 * (size_t)im->width, size = (row + 1) * im->height;
  unsigned char *raw, *packed, header[13] = {0};
  uLongf         len = compressBound(size);
  FILE          *fp;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(size, &raw, len, &packed));
  for (int y = 0; y < im->height; y++) {
    raw[y * (row + 1)] = 0; /* filter of this row: none */
    memcpy(raw + y * (row + 1) + 1, im->rgb + y * row, row);
  }
  PetscCheck(compress2(packed, &len, raw, size, 9) == Z_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "zlib cannot compress the picture");
  PutWord(header, (uint32_t)im->width);
  PutWord(header + 4, (uint32_t)im->height);
  header[8] = 8; /* bits a channel */
  header[9] = 2; /* red, green, blue */
  fp        = fopen(file, "wb");
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", file);
  (void)fwrite("\x89PNG\r\n\x1a\n", 1, 8, fp);
  PutChunk(fp, "IHDR", header, sizeof(header));
  PutChunk(fp, "IDAT", packed, (uint32_t)len);
  PutChunk(fp, "IEND", packed, 0);
  PetscCheck(!ferror(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write all of %s: is the disk full?", file);
  PetscCheck(!fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write all of %s: is the disk full?", file);
  PetscCall(PetscFree2(raw, packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
