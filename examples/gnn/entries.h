/*
   What a network does entry by entry or row by row: masks of dropout, activations, the loss, attention scores, Adam.

   Each is one function here. A loop calls it on the host, a kernel on a device, so both do the same arithmetic. Arrays
   are where the loop runs. Dense matrices are column-major, one column behind the other.
*/
#pragma once

#include <math.h>
#include <format/hrpb.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef HrpbScalar Real;

/* Dropout: an entry is zero with probability p, else divided by 1 - p. Which ones follows from seed and entry alone */
typedef struct {
  uint64_t seed;
  Real     p;
} EntryMask;

/* A number in [0,1) for each seed and entry: splitmix64 */
HRPB_INLINE double EntryRandom(uint64_t seed, uint64_t entry)
{
  uint64_t z = seed + (entry + 1) * UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((z ^ (z >> 31)) >> 11) * (1.0 / 9007199254740992.0);
}

HRPB_INLINE Real EntryKeep(EntryMask mask, int64_t entry)
{
  if (mask.p == 0) return 1;
  return EntryRandom(mask.seed, (uint64_t)entry) < (double)mask.p ? (Real)0 : 1 / (1 - mask.p);
}

/* out = mask .* in, at the entries that id names. in may be NULL: ones */
typedef struct {
  const Real    *in;
  const int64_t *id;
  EntryMask      mask;
  Real          *out;
} Dropout;

HRPB_INLINE void DropoutAt(const Dropout *a, int64_t i)
{
  const Real keep = EntryKeep(a->mask, a->id[i]);

  a->out[i] = a->in ? keep * a->in[i] : keep;
}

typedef enum {
  ACTIVATION_NONE,
  ACTIVATION_RELU,
  ACTIVATION_ELU
} Activation;

/* h = mask .* f(z + bias). bias may be NULL */
typedef struct {
  int64_t     rows, first; /* here, and those of processes before */
  int64_t     cols;
  Activation  f;
  EntryMask   mask;
  const Real *z, *bias;
  Real       *h;
} Activate;

HRPB_INLINE int64_t ActivateId(const Activate *a, int64_t i)
{
  return (a->first + i % a->rows) * a->cols + i / a->rows;
}

HRPB_INLINE void ActivateAt(const Activate *a, int64_t i)
{
  const Real z = a->z[i] + (a->bias ? a->bias[i / a->rows] : 0);
  Real       f = z;

  if (z < 0 && a->f == ACTIVATION_RELU) f = 0;
  if (z < 0 && a->f == ACTIVATION_ELU) f = (Real)(exp(z) - 1);
  a->h[i] = EntryKeep(a->mask, ActivateId(a, i)) * f;
}

/* The gradient with respect to z, from that with respect to h */
typedef struct {
  Activate    of; /* h is not used */
  const Real *dh;
  Real       *dz;
} ActivateGradient;

HRPB_INLINE void ActivateGradientAt(const ActivateGradient *a, int64_t i)
{
  const Real z = a->of.z[i] + (a->of.bias ? a->of.bias[i / a->of.rows] : 0);
  Real       f = 1;

  if (!(z > 0) && a->of.f == ACTIVATION_RELU) f = 0;
  if (z < 0 && a->of.f == ACTIVATION_ELU) f = (Real)exp(z);
  a->dz[i] = EntryKeep(a->of.mask, ActivateId(&a->of, i)) * f * a->dh[i];
}

/* Softmax of a row of z, its cross entropy with the label, whether the label is the largest; and weight * gradient */
typedef struct {
  int64_t        rows, classes;
  const Real    *z;
  const int32_t *label; /* -1 where there is none */
  const Real    *train; /* 1 in rows of the training set, else 0 */
  Real           weight;
  Real          *result; /* rows x 2: cross entropy, and 1 where the label is the largest */
  Real          *dz;     /* or NULL */
} Loss;

HRPB_INLINE void LossAt(const Loss *a, int64_t row)
{
  const int64_t label = a->label[row];
  int64_t       best  = 0;
  Real          sum   = 0, most;

  for (int64_t c = 1; c < a->classes; c++) {
    if (a->z[row + c * a->rows] > a->z[row + best * a->rows]) best = c;
  }
  most = a->z[row + best * a->rows];
  for (int64_t c = 0; c < a->classes; c++) sum += (Real)exp(a->z[row + c * a->rows] - most);
  a->result[row]           = label < 0 ? 0 : (Real)log(sum) + most - a->z[row + label * a->rows];
  a->result[row + a->rows] = label == best;
  if (!a->dz) return;
  for (int64_t c = 0; c < a->classes; c++) {
    a->dz[row + c * a->rows] = a->weight * a->train[row] * ((Real)exp(a->z[row + c * a->rows] - most) / sum - (c == label));
  }
}

/* A step of Adam, with L2 regularization: decay w is added to the gradient */
typedef struct {
  Real       *w, *m, *v;
  const Real *g, *decay;
  Real        rate, beta1, beta2, eps;
  Real        correction1, correction2; /* 1 - beta^step */
} Adam;

HRPB_INLINE void AdamAt(const Adam *a, int64_t i)
{
  const Real g = a->g[i] + a->decay[i] * a->w[i];

  a->m[i] = a->beta1 * a->m[i] + (1 - a->beta1) * g;
  a->v[i] = a->beta2 * a->v[i] + (1 - a->beta2) * g * g;
  a->w[i] -= a->rate * (a->m[i] / a->correction1) / ((Real)sqrt(a->v[i] / a->correction2) + a->eps);
}

/* unit = the rows of h with length 1; scaled = factor * unit */
typedef struct {
  int64_t     rows, cols;
  const Real *h, *factor;
  Real       *unit, *scaled, *length;
} Unit;

HRPB_INLINE void UnitAt(const Unit *a, int64_t row)
{
  Real sum = 0, length;

  for (int64_t c = 0; c < a->cols; c++) sum += a->h[row + c * a->rows] * a->h[row + c * a->rows];
  length         = (Real)sqrt(sum);
  a->length[row] = length;
  for (int64_t c = 0; c < a->cols; c++) {
    const Real u = length > 0 ? a->h[row + c * a->rows] / length : 0;

    a->unit[row + c * a->rows]   = u;
    a->scaled[row + c * a->rows] = *a->factor * u;
  }
}

/*
   The gradient with respect to h, added to dh, where that with respect to unit is factor * (s + t). product is
   <unit, s>: its sum is the gradient with respect to factor
*/
typedef struct {
  int64_t     rows, cols;
  const Real *unit, *length, *factor, *s, *t;
  Real       *product, *dh;
} UnitGradient;

HRPB_INLINE void UnitGradientAt(const UnitGradient *a, int64_t row)
{
  Real s = 0, t = 0;

  for (int64_t c = 0; c < a->cols; c++) {
    s += a->unit[row + c * a->rows] * a->s[row + c * a->rows];
    t += a->unit[row + c * a->rows] * a->t[row + c * a->rows];
  }
  a->product[row] = s;
  if (!(a->length[row] > 0)) return;
  for (int64_t c = 0; c < a->cols; c++) {
    const int64_t e = row + c * a->rows;

    a->dh[e] += *a->factor / a->length[row] * (a->s[e] + a->t[e] - a->unit[e] * (s + t));
  }
}

/*
   Attention of several heads. Row head * nodes + i of h belongs to node i. Entry f * heads + head of a column of
   weights meets column f of h. A row of scores is <h, first column>, 1, <h, second column>: its first two are what a
   node gives, its last two what it takes
*/
typedef struct {
  int64_t     nodes, heads, cols;
  const Real *h, *weights;
  Real       *scores; /* (heads * nodes) x 3 */
} Scores;

HRPB_INLINE void ScoresAt(const Scores *a, int64_t row)
{
  const int64_t rows = a->heads * a->nodes, head = row / a->nodes;
  Real          s[2] = {0, 0};

  for (int64_t f = 0; f < a->cols; f++) {
    for (int k = 0; k < 2; k++) s[k] += a->h[row + f * rows] * a->weights[f * a->heads + head + k * a->heads * a->cols];
  }
  a->scores[row]            = s[0];
  a->scores[row + rows]     = 1;
  a->scores[row + 2 * rows] = s[1];
}

/* The gradient with respect to h, added to dh, from that with respect to both scores, entry by entry of h */
typedef struct {
  Scores      of;      /* h and scores are not used */
  const Real *dscores; /* (heads * nodes) x 2 */
  Real       *dh;
} ScoresGradient;

HRPB_INLINE void ScoresGradientAt(const ScoresGradient *a, int64_t i)
{
  const int64_t rows = a->of.heads * a->of.nodes, row = i % rows, w = i / rows * a->of.heads + row / a->of.nodes;

  a->dh[i] += a->dscores[row] * a->of.weights[w] + a->dscores[row + rows] * a->of.weights[w + a->of.heads * a->of.cols];
}

/*
   The gradient with respect to weights: products of rows of h with scores of their own head, taken from the products
   with those of all heads
*/
typedef struct {
  int64_t     heads, cols;
  const Real *products; /* (heads * cols) x (2 * heads) */
  Real       *dweights; /* (heads * cols) x 2 */
} ScoresPick;

HRPB_INLINE void ScoresPickAt(const ScoresPick *a, int64_t i)
{
  const int64_t n = a->heads * a->cols, w = i % n;

  a->dweights[i] = a->products[w + n * (i / n * a->heads + w % a->heads)];
}

/* All of them: entries.c and entriesdevice.cu run them from 0 to n - 1. The device's gives a cudaError_t */
#define ENTRIES(op) op(Dropout) op(Activate) op(ActivateGradient) op(Loss) op(Adam) op(Unit) op(UnitGradient) op(Scores) op(ScoresGradient) op(ScoresPick)
#define ENTRIES_DECLARE(op)               \
  void op##OnHost(const op *, int64_t n); \
  int  op##OnDevice(const op *, int64_t n, void *stream);
ENTRIES(ENTRIES_DECLARE)

#ifdef __cplusplus
}
#endif
