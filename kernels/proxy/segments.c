#include <math.h>
#include <stdlib.h>

#include "proxy.h"

enum {
  NFEATURES = 5,
  CLUSTERS  = 8,
  ROUNDS    = 32 /* the most rounds of k-means: speed counts, not the best clusters */
};

typedef struct {
  double  x[NFEATURES]; /* in units of their standard deviation */
  double  distance;     /* squared distance from the centroid */
  int32_t cluster, segment;
} Point;

typedef struct {
  double  x[NFEATURES];
  int32_t size, chosen;
  int64_t rest; /* what is left of its share of the chosen */
} Cluster;

static void SetPoints(int32_t n, const HrpbFeatures features[], Point p[])
{
  for (int32_t i = 0; i < n; i++) {
    const HrpbFeatures *f = &features[i];

    p[i] = (Point){{(double)f->entries, (double)f->longest, (double)f->runs, (double)f->shared, (double)f->span}, 0, 0, i};
  }
  for (int k = 0; k < NFEATURES; k++) {
    double mean = 0, variance = 0;

    for (int32_t i = 0; i < n; i++) mean += p[i].x[k] / n;
    for (int32_t i = 0; i < n; i++) variance += (p[i].x[k] - mean) * (p[i].x[k] - mean) / n;
    for (int32_t i = 0; i < n; i++) p[i].x[k] = variance > 0 ? (p[i].x[k] - mean) / sqrt(variance) : 0;
  }
}

static double Sum(const Point *p)
{
  double sum = 0;

  for (int k = 0; k < NFEATURES; k++) sum += p->x[k];
  return sum;
}

static int BySum(const void *a, const void *b)
{
  const double x = Sum((const Point *)a), y = Sum((const Point *)b);

  if (x != y) return x < y ? -1 : 1;
  return ((const Point *)a)->segment < ((const Point *)b)->segment ? -1 : 1;
}

static int ByClusterAndDistance(const void *a, const void *b)
{
  const Point *x = (const Point *)a, *y = (const Point *)b;

  if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return x->segment < y->segment ? -1 : 1;
}

static int Ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

  return (x > y) - (x < y);
}

/* Give each point to the cluster with the nearest centroid, and say whether one has moved */
static int Assign(int32_t n, Point p[], const Cluster c[])
{
  int moved = 0;

  for (int32_t i = 0; i < n; i++) {
    int best = -1;

    for (int j = 0; j < CLUSTERS; j++) {
      double distance = 0;

      if (!c[j].size) continue;
      for (int k = 0; k < NFEATURES; k++) distance += (p[i].x[k] - c[j].x[k]) * (p[i].x[k] - c[j].x[k]);
      if (best >= 0 && distance >= p[i].distance) continue;
      p[i].distance = distance;
      best          = j;
    }
    moved |= p[i].cluster != best;
    p[i].cluster = best;
  }
  return moved;
}

/* Centroids. A cluster that has lost its last point gets none again */
static void Center(int32_t n, const Point p[], Cluster c[])
{
  for (int j = 0; j < CLUSTERS; j++) c[j] = (Cluster){{0}, 0, 0, 0};
  for (int32_t i = 0; i < n; i++) {
    for (int k = 0; k < NFEATURES; k++) c[p[i].cluster].x[k] += p[i].x[k];
    c[p[i].cluster].size++;
  }
  for (int j = 0; j < CLUSTERS; j++) {
    for (int k = 0; k < NFEATURES && c[j].size; k++) c[j].x[k] /= c[j].size;
  }
}

/* Shares by largest remainder; no share is larger than its cluster */
static void Share(int32_t n, int32_t nchosen, Cluster c[])
{
  int32_t left = nchosen;

  for (int j = 0; j < CLUSTERS; j++) {
    const int64_t share = (int64_t)nchosen * c[j].size;

    c[j].chosen = (int32_t)(share / n);
    c[j].rest   = share % n;
    left -= c[j].chosen;
  }
  for (; left > 0; left--) {
    int best = 0;

    for (int j = 1; j < CLUSTERS; j++) {
      if (c[j].rest > c[best].rest) best = j;
    }
    c[best].chosen++;
    c[best].rest = 0;
  }
}

HrpbError HrpbChooseSegments(int32_t n, const HrpbFeatures features[], int32_t nchosen, int32_t chosen[])
{
  Cluster c[CLUSTERS];
  Point  *p;

  if (nchosen <= 0 || nchosen > n) return HRPB_ERR_PARAMETER;
  p = (Point *)malloc(sizeof(*p) * (size_t)n);
  if (!p) return HRPB_ERR_MEMORY;
  SetPoints(n, features, p);
  qsort(p, (size_t)n, sizeof(*p), BySum); /* at first, clusters of equal size in this order */
  for (int32_t i = 0; i < n; i++) p[i].cluster = (int32_t)((int64_t)i * CLUSTERS / n);
  for (int round = 0; round < ROUNDS; round++) {
    Center(n, p, c);
    if (!Assign(n, p, c)) break;
  }
  Center(n, p, c); /* also where the rounds were not enough */
  Share(n, nchosen, c);
  qsort(p, (size_t)n, sizeof(*p), ByClusterAndDistance);
  for (int32_t i = 0, begin = 0, k = 0; i < n; i++) {
    if (p[i].cluster != p[begin].cluster) begin = i;
    if (i - begin < c[p[i].cluster].chosen) chosen[k++] = p[i].segment;
  }
  free(p);
  qsort(chosen, (size_t)nchosen, sizeof(*chosen), Ascending);
  return HRPB_SUCCESS;
}
