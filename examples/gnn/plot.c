#include "train.h"

enum {
  WIDTH  = 420, /* of a chart, in points */
  HEIGHT = 260,
  LEFT   = 56,
  TOP    = 36,
  GAP    = 90
};

static const char *const names[]  = {"training", "validation", "test"};
static const char *const colors[] = {"#1f77b4", "#ff7f0e", "#2ca02c"};

/* One chart: a line for each set of nodes, from bottom to top of the range */
static PetscErrorCode Chart(FILE *f, const Training *t, PetscBool loss, int left, const char title[])
{
  PetscReal top = loss ? 0 : 1;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < t->epochs && loss; e++) {
    for (int s = 0; s < SPLITS; s++) top = PetscMax(top, t->history[e].loss[s]);
  }
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", left, TOP - 12, title));
  for (int k = 0; k <= 4; k++) {
    const int y = TOP + HEIGHT - k * HEIGHT / 4;

    PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "<path d=\"M%d %dh%d\" stroke=\"#ddd\"/>\n", left, y, WIDTH));
    if (loss) PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.2f</text>\n", left - 6, y + 4, (double)(top * k / 4)));
    else PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d %%</text>\n", left - 6, y + 4, 25 * k));
  }
  for (int s = 0; s < SPLITS; s++) {
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" points=\"", colors[s]));
    for (PetscInt e = 0; e < t->epochs; e++) {
      const PetscReal value = loss ? t->history[e].loss[s] : t->history[e].accuracy[s];

      PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "%.1f,%.1f ", (double)left + WIDTH * (double)(e + 1) / (double)t->epochs, TOP + HEIGHT * (1 - (double)(value / top))));
    }
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", left + WIDTH - 72, TOP + HEIGHT / 2 + 16 * s, colors[s], names[s]));
  }
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "<text x=\"%d\" y=\"%d\">1</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">epoch %" PetscInt_FMT "</text>\n", left, TOP + HEIGHT + 18, left + WIDTH, TOP + HEIGHT + 18, t->epochs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A picture of loss and accuracy in all epochs, as SVG. On one process */
PetscErrorCode TrainDraw(const Training *t, const char file[])
{
  FILE *f;

  PetscFunctionBegin;
  PetscCall(PetscFOpen(PETSC_COMM_SELF, file, "w", &f));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 30));
  PetscCall(Chart(f, t, PETSC_TRUE, LEFT, "loss (cross entropy)"));
  PetscCall(Chart(f, t, PETSC_FALSE, LEFT + WIDTH + GAP, "accuracy"));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, f, "</svg>\n"));
  PetscCall(PetscFClose(PETSC_COMM_SELF, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}
