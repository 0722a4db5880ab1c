/*
   Arithmetic with blocks, on the host and on the device, against loops in long double. No PETSc.

     test-block         all tests
     test-block -small  few and small ones, to run under compute-sanitizer
*/
#include "spmm.h"
#include "block/blockops.h"
#include "block/eigen.h"
#include "block/smoother.h"
#include "test.cuh"

/* What results are compared with, and what a number is made of */
#if defined(HRPB_USE_COMPLEX)
  #include <complex>

typedef std::complex<long double> Wide;

static Wide Widen(BlockNumber x)
{
  return Wide(x.re, x.im);
}

static BlockNumber Narrow(Wide x)
{
  return BlockNumber((HrpbScalar)x.real(), (HrpbScalar)x.imag());
}

static Wide Conj(Wide x)
{
  return std::conj(x);
}

static bool IsNaN(Wide x)
{
  return std::isnan(x.real()) || std::isnan(x.imag());
}

/* A unit in the direction that a real number has not; zero where all are real */
static Wide Other(void)
{
  return Wide(0, 1);
}

static BlockNumber Number(void)
{
  const HrpbScalar re = Uniform();

  return BlockNumber(re, Uniform());
}

static bool SameBits(const BlockNumber *x, const BlockNumber *y, size_t n)
{
  return SameBits((const HrpbScalar *)x, (const HrpbScalar *)y, 2 * n);
}

/* unit makes coefficients complex */
static const BlockNumber unit                 = BlockNumber((HrpbScalar)0.6, (HrpbScalar)0.8);
static const int         roundings_of_product = 4;
#else
typedef long double Wide;

static Wide Widen(BlockNumber x)
{
  return x;
}

static BlockNumber Narrow(Wide x)
{
  return (BlockNumber)x;
}

static Wide Conj(Wide x)
{
  return x;
}

static bool IsNaN(Wide x)
{
  return std::isnan(x);
}

static Wide Other(void)
{
  return 0;
}

static BlockNumber Number(void)
{
  return Uniform();
}

static const BlockNumber unit                 = 1;
static const int         roundings_of_product = 1;
#endif

static const BlockNumber guard = (BlockNumber)-77, nan_value = (BlockNumber)NAN;
static const double      eps = std::numeric_limits<HrpbScalar>::epsilon();

typedef std::vector<BlockNumber> Numbers;

/* A block with guards around its columns */
struct Vectors {
  Numbers values;
  int64_t n, N, ld, shift;

  BlockNumber &At(int64_t i, int64_t j)
  {
    return values[(size_t)(shift + i + j * ld)];
  }
};

static Vectors RandomVectors(int64_t n, int64_t N, int64_t padding, int64_t shift)
{
  Vectors d = {Numbers((size_t)(shift + (n + padding) * N), guard), n, N, n + padding, shift};

  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < n; i++) d.At(i, j) = Number();
  }
  return d;
}

static void Fill(Vectors *d, int64_t j, BlockNumber x)
{
  for (int64_t i = 0; i < d->n; i++) d->At(i, j) = x;
}

static Numbers RandomNumbers(int64_t n)
{
  Numbers x;

  for (int64_t i = 0; i < n; i++) x.push_back(Number());
  return x;
}

/*
   Call f(ops, shape, blocks, scalars) on the host or on the device. All that is given may change there. The workspace
   has NaN, and as many bytes as it should
*/
template <typename F>
static void RunWith(bool device, int64_t n, int64_t N, size_t bytes, const std::vector<Vectors *> &blocks, const std::vector<Numbers *> &scalars, F f)
{
  const BlockOps            *ops   = device ? &BlockOpsDevice : &BlockOpsHost;
  BlockShape                 shape = {n, N, NULL, NULL};
  std::vector<Numbers *>     all;
  std::vector<BlockNumber *> arrays, numbers;
  std::vector<BlockOut>      out;

  for (Vectors *d : blocks) all.push_back(&d->values);
  all.insert(all.end(), scalars.begin(), scalars.end());
  for (Numbers *x : all) arrays.push_back(device ? Upload(*x) : x->data());
  for (size_t k = 0; k < blocks.size(); k++) out.push_back({arrays[k] + blocks[k]->shift, blocks[k]->ld});
  numbers.assign(arrays.begin() + (ptrdiff_t)blocks.size(), arrays.end());
  if (device) {
    Check(cudaMalloc(&shape.work, bytes + 1));
    Check(cudaMemset(shape.work, 0xff, bytes + 1));
    PoisonShared();
  }
  Check(f(ops, &shape, out.data(), numbers.data()));
  if (device) {
    Check(cudaDeviceSynchronize());
    for (size_t k = 0; k < all.size(); k++) {
      *all[k] = Download(arrays[k], (int64_t)all[k]->size());
      cudaFree(arrays[k]);
    }
    cudaFree(shape.work);
  }
}

/* The same with the workspace of so many sums */
template <typename F>
static void Run(bool device, int64_t n, int64_t N, int64_t nsums, const std::vector<Vectors *> &blocks, const std::vector<Numbers *> &scalars, F f)
{
  RunWith(device, n, N, (device ? BlockOpsDevice : BlockOpsHost).work(n, N, nsums), blocks, scalars, f);
}

static BlockIn In(BlockOut b)
{
  return {b.array, b.ld};
}

static std::vector<BlockIn> Ins(const BlockOut *b, int64_t n)
{
  std::vector<BlockIn> in;

  for (int64_t i = 0; i < n; i++) in.push_back(In(b[i]));
  return in;
}

/* Equal, or within a number of roundings of terms of this size. NaN is equal to NaN */
static bool Near(BlockNumber found, Wide expected, long double size, double roundings)
{
  if (IsNaN(expected)) return IsNaN(Widen(found));
  return std::abs(Widen(found) - expected) <= roundings_of_product * roundings * eps * size;
}

static bool Same(const Numbers &x, const Numbers &y)
{
  return x.size() == y.size() && SameBits(x.data(), y.data(), x.size());
}

/* Shape of a case, and a text for it */
struct Case {
  bool    device;
  int64_t n, N, padding, shift;
  char    where[128];
};

static Vectors New(const Case &c)
{
  return RandomVectors(c.n, c.N, c.padding, c.shift);
}

/* Nothing but the columns has changed */
static bool Inside(const Vectors &before, const Vectors &after)
{
  Vectors d = after, b = before;

  for (int64_t j = 0; j < d.N; j++) {
    for (int64_t i = 0; i < d.n; i++) d.At(i, j) = b.At(i, j);
  }
  return Same(d.values, b.values);
}

static Wide Dot(Vectors *x, Vectors *y, int64_t j, long double *size)
{
  Wide sum = 0;

  *size = 0;
  for (int64_t i = 0; i < x->n; i++) {
    const Wide term = Conj(Widen(x->At(i, j))) * Widen(y->At(i, j));

    sum += term;
    *size += std::abs(term);
  }
  return sum;
}

/* Y is the last of the blocks, and also the first X where it is among them. The second run has other alignments */
static void TestDots(const Case &c, int64_t nx, bool among)
{
  std::vector<Vectors>   X, moved;
  std::vector<Vectors *> blocks, again;
  Numbers                dots((size_t)(nx * c.N) + 1, guard), other(dots);
  bool                   right = true;
  const auto             call  = [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    std::vector<BlockIn> in = Ins(b, nx);

    if (among) in[0] = In(b[nx]);
    return ops->dots(s, nx, in.data(), In(b[nx]), x[0]);
  };

  for (int64_t i = 0; i <= nx; i++) {
    X.push_back(New(c));
    if (c.N > 2 && i == 0 && c.n) X[0].At(c.n - 1, 2) = nan_value; /* stays in its column */
    Vectors m = RandomVectors(c.n, c.N, c.padding + 1, c.shift + 1);

    for (int64_t j = 0; j < c.N; j++) {
      for (int64_t k = 0; k < c.n; k++) m.At(k, j) = X[(size_t)i].At(k, j);
    }
    moved.push_back(m);
  }
  for (size_t i = 0; i < X.size(); i++) {
    blocks.push_back(&X[i]);
    again.push_back(&moved[i]);
  }
  const std::vector<Vectors> before = X;

  Run(c.device, c.n, c.N, nx, blocks, {&dots}, call);
  for (int64_t i = 0; i < nx; i++) {
    for (int64_t j = 0; j < c.N; j++) {
      long double size;
      const Wide  sum = Dot(&X[among && i == 0 ? (size_t)nx : (size_t)i], &X[(size_t)nx], j, &size);

      right = right && Near(dots[(size_t)(i * c.N + j)], sum, size, 64);
    }
  }
  Report(right, "dots: wrong", c.where);
  Report(dots.back() == guard, "dots: wrote behind the sums", c.where);
  for (size_t i = 0; i < X.size(); i++) Report(Same(X[i].values, before[i].values), "dots: changed an operand", c.where);
  Run(c.device, c.n, c.N, nx, again, {&other}, call);
  Report(Same(dots, other), "dots: other bits where columns begin elsewhere", c.where);
  if (c.N > 1) { /* the last column alone */
    Numbers one((size_t)nx, guard);
    bool    same = true;

    Run(c.device, c.n, 1, nx, blocks, {&one}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
      for (int64_t i = 0; i <= nx; i++) b[i].array += (c.N - 1) * b[i].ld;
      return call(ops, s, b, x);
    });
    for (int64_t i = 0; i < nx; i++) same = same && SameBits(&one[(size_t)i], &dots[(size_t)(i * c.N + c.N - 1)], 1);
    Report(same, "dots: other bits of a column alone", c.where);
  }
}

/* Coefficients of each kind: zero and one, zero and zero, any and zero, one and one, any */
static void Coefficients(int64_t N, Numbers *a, Numbers *b)
{
  const BlockNumber kinds[5][2] = {{0, 1}, {0, 0}, {unit * (HrpbScalar)1.5, 0}, {1, 1}, {unit * (HrpbScalar)-0.75, unit * (HrpbScalar)0.3}};

  for (int64_t j = 0; j < N; j++) {
    a->push_back(kinds[j % 5][0]);
    b->push_back(kinds[j % 5][1]);
  }
}

static void TestAXPBY(const Case &c, bool has_a, bool has_b)
{
  Vectors X = New(c), Y = New(c), expected = Y;
  Numbers a, b;
  bool    right = true;

  Coefficients(c.N, &a, &b);
  if (!has_a) std::fill(a.begin(), a.end(), (BlockNumber)1);
  if (!has_b) std::fill(b.begin(), b.end(), (BlockNumber)1);
  for (int64_t j = 0; j < c.N; j++) {
    if (a[(size_t)j] == 0) Fill(&X, j, nan_value);
    if (b[(size_t)j] == 0) Fill(&Y, j, nan_value);
  }
  expected = Y;

  const Vectors X0 = X;

  Run(c.device, c.n, c.N, 0, {&X, &Y}, {&a, &b}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *d, BlockNumber **x) {
    return ops->axpby(s, d[1], has_a ? x[0] : NULL, In(d[0]), has_b ? x[1] : NULL);
  });
  Report(Inside(expected, Y) && Same(X.values, X0.values), "axpby: wrote elsewhere", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    const BlockNumber aj = a[(size_t)j], bj = b[(size_t)j];

    for (int64_t i = 0; i < c.n; i++) {
      const Wide ax = aj == 0 ? Wide(0) : Widen(aj) * Widen(X.At(i, j)), by = bj == 0 ? Wide(0) : Widen(bj) * Widen(expected.At(i, j));

      right = right && Near(Y.At(i, j), ax + by, std::abs(ax) + std::abs(by), aj == 0 || bj == 0 ? 1 : 2);
      if (aj == 0 && bj == 1) right = right && SameBits(&Y.At(i, j), &expected.At(i, j), 1);
    }
  }
  Report(right, "axpby: wrong", c.where);
}

static void TestMAXPY(const Case &c, int64_t nx, bool has_coef, HrpbScalar sign)
{
  std::vector<Vectors>   X;
  std::vector<Vectors *> blocks;
  Vectors                Y = New(c), Y0 = Y;
  Numbers                coef  = RandomNumbers(nx * c.N);
  bool                   right = true;

  if (!has_coef) std::fill(coef.begin(), coef.end(), (BlockNumber)1);
  for (int64_t i = 0; i < nx; i++) {
    X.push_back(New(c));
    for (int64_t j = 0; j < c.N && has_coef; j++) {
      if (j % 4 != 3 && (i + j) % 3) continue; /* all of column 3 */
      coef[(size_t)(i * c.N + j)] = 0;
      Fill(&X.back(), j, nan_value);
    }
  }
  if (c.N > 3 && has_coef) Fill(&Y, 3, nan_value); /* a column that nothing is added to is not touched */
  Y0 = Y;
  for (Vectors &x : X) blocks.push_back(&x);
  blocks.push_back(&Y);
  Run(c.device, c.n, c.N, 0, blocks, {&coef}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    return ops->maxpy(s, b[nx], sign, nx, has_coef ? x[0] : NULL, Ins(b, nx).data());
  });
  Report(Inside(Y0, Y), "maxpy: wrote elsewhere", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) {
      Wide        sum  = Widen(Y0.At(i, j));
      long double size = std::abs(sum);

      for (int64_t k = 0; k < nx; k++) {
        const Wide f = Widen(coef[(size_t)(k * c.N + j)]);

        if (f == Wide(0)) continue;
        sum += (long double)sign * f * Widen(X[(size_t)k].At(i, j));
        size += std::abs(f * Widen(X[(size_t)k].At(i, j)));
      }
      right = right && Near(Y.At(i, j), sum, size, (double)nx + 2);
    }
  }
  Report(right, "maxpy: wrong", c.where);
}

/* Sums of each column of X[i] times Y */
static Numbers Dots(bool device, std::vector<Vectors *> X, Vectors *Y)
{
  const int64_t nx = (int64_t)X.size();
  Numbers       dots((size_t)(nx * Y->N), guard);

  X.push_back(Y);
  Run(device, Y->n, Y->N, nx, X, {&dots}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    return ops->dots(s, nx, Ins(b, nx).data(), In(b[nx]), x[0]);
  });
  return dots;
}

/* Columns in the order of a list; to the front of the same block, where the list ascends */
static void TestMove(const Case &c, bool in_place)
{
  const int64_t        count = in_place ? (c.N + 1) / 2 : c.N;
  Vectors              X = New(c), Y = New(c);
  std::vector<HrpbInt> from, to;
  Vectors              X0 = X, Y0 = Y, expected = in_place ? X : Y;
  bool                 right = true;

  for (int64_t k = 0; k < count; k++) {
    from.push_back((HrpbInt)(in_place ? c.N - count + k : (7 * k + 3) % c.N)); /* 7 divides no N */
    to.push_back((HrpbInt)(c.N - 1 - k));
    for (int64_t i = 0; i < c.n; i++) expected.At(i, in_place ? k : to.back()) = X0.At(i, from.back());
  }
  Run(c.device, c.n, count, 0, {&X, &Y}, {}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **) {
    return ops->move(s, from.data(), in_place ? NULL : to.data(), In(b[0]), b[in_place ? 0 : 1]);
  });
  right = in_place ? Same(X.values, expected.values) && Same(Y.values, Y0.values) : Same(Y.values, expected.values) && Same(X.values, X0.values);
  Report(right, in_place ? "move: wrong in place" : "move: wrong", c.where);
}

/* place: which of 0, Y0 (1) and X (2) Y is. A term whose number is zero is NaN */
static void TestSmooth(const Case &c, BlockNumber a, BlockNumber b, BlockNumber f, bool has_w, int place, int32_t dblock)
{
  Vectors d[5]  = {New(c), New(c), New(c), New(c), New(c)}; /* Y0, X, B, W, Y */
  Numbers D     = RandomNumbers(c.n * dblock);
  bool    right = true;

  for (int64_t j = 0; j < c.N; j++) {
    if (a == 0) Fill(&d[0], j, nan_value);
    if (b == 0) Fill(&d[1], j, nan_value);
    if (f == 0) Fill(&d[2], j, nan_value);
    if (f == 0 || !has_w) Fill(&d[3], j, nan_value);
  }
  std::vector<Vectors> before(d, d + 5);
  const int            out = place ? place - 1 : 4;

  Run(c.device, c.n, c.N, 0, {&d[0], &d[1], &d[2], &d[3], &d[4]}, {&D},
    [&](const BlockOps *ops, const BlockShape *s, BlockOut *k, BlockNumber **x) {
      const BlockSmooth t = {a, b, f, In(k[0]), In(k[1]), In(k[2]), has_w ? In(k[3]) : BlockIn{NULL, 0}, x[0], dblock, k[out]};

      return ops->smooth(s, &t);
    });
  for (int k = 0; k < 5; k++) Report(k == out ? Inside(before[(size_t)k], d[k]) : Same(before[(size_t)k].values, d[k].values), "smooth: wrote elsewhere", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) {
      const Wide ay = a == 0 ? Wide(0) : Widen(a) * Widen(before[0].At(i, j)), bx = b == 0 ? Wide(0) : Widen(b) * Widen(before[1].At(i, j));
      const int64_t first = i / dblock * dblock;
      Wide          sum   = ay + bx;
      long double   size  = std::abs(ay) + std::abs(bx);

      for (int64_t k = 0; k < dblock && f != 0; k++) {
        const Wide fd = Widen(f) * Widen(D[(size_t)(first * dblock + i - first + k * dblock)]), r = Widen(before[2].At(first + k, j)),
                   w = has_w ? Widen(before[3].At(first + k, j)) : Wide(0);

        sum += fd * (r - w);
        size += std::abs(fd) * (std::abs(r) + std::abs(w));
      }
      right = right && Near(d[out].At(i, j), sum, size, dblock + 4);
    }
  }
  Report(right, "smooth: wrong", c.where);
}

static void TestSmooths(const Case &c, int32_t dblock)
{
  const BlockNumber numbers[5][3] = {{0, 0, unit * (HrpbScalar)0.7}, {0, 1, (BlockNumber)-0.4},
    {unit * (HrpbScalar)-0.3, unit * (HrpbScalar)1.3, unit * (HrpbScalar)0.9}, {1, 0, 1}, {2, 1, 0}};

  for (int k = 0; k < 5; k++) {
    for (int place = 0; place < 3; place++) {
      if (c.n > 13000 && k != 2) continue; /* takes long */
      TestSmooth(c, numbers[k][0], numbers[k][1], numbers[k][2], (k + place) % 3 != 0, place, dblock);
    }
  }
}

/* Whether x, random numbers, has the sign of y */
static bool SameSign(BlockNumber x, BlockNumber y)
{
  return x == y || BlockReal(x) * BlockReal(y) > 0;
}

static void TestCGStep(const Case &c, bool all, bool has_sums, BlockStepKind kind)
{
  const size_t nsums = (size_t)c.N * (kind ? 2 : 1);
  Vectors      W = New(c), R = New(c), Z = New(c);
  Numbers      now = RandomNumbers(c.N), before = RandomNumbers(c.N), curvature = RandomNumbers(c.N), curvature_before = RandomNumbers(c.N);
  Numbers      active((size_t)c.N, (BlockNumber)1), D = RandomNumbers(c.n), sums(nsums, guard), kept((size_t)(2 * c.N), guard), step((size_t)c.N, guard);
  Numbers      kept0((size_t)(2 * c.N), (BlockNumber)0);
  bool         right = true;

  for (int64_t j = 0; j < c.N; j++) {
    const size_t k = (size_t)j;

    if (all) before[k] = now[k], curvature_before[k] = curvature[k];
    else if (j % 3 == 1) active[k] = 0;
    if (active[k] != 0 && (sizeof(BlockNumber) > sizeof(HrpbScalar) || SameSign(now[k], before[k]))) kept0[k] = now[k];
    if (active[k] != 0 && SameSign(curvature[k], curvature_before[k])) kept0[k + (size_t)c.N] = curvature[k];
    if (!all && j % 5 == 3) now[k] = (BlockNumber)(HrpbScalar)INFINITY, kept0[k] = 0;
    if (!all && j % 5 == 4) curvature[k] = (BlockNumber)(HrpbScalar)INFINITY, kept0[k + (size_t)c.N] = 0;
    if (kept0[k] == 0 || kept0[k + (size_t)c.N] == 0) Fill(&W, j, nan_value);
  }
  Vectors R0 = R;

  Run(c.device, c.n, c.N, kind ? 2 : 1, {&W, &R}, {&active, &now, &before, &curvature, &curvature_before, &kept, &step, &sums, &D},
    [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
      const BlockStep t = {kind, {x[0], x[1], x[2], x[3], x[4], x[5], x[6]}, In(b[0]), b[1], x[8]};

      return ops->cg_step(s, &t, has_sums ? x[7] : NULL);
    });
  Report(Inside(R0, R), "cg_step: wrote elsewhere", c.where);
  Report(Same(kept, kept0), "cg_step: other numbers are kept", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    const BlockNumber x = kept0[(size_t)j], y = kept0[(size_t)(j + c.N)], a = step[(size_t)j];
    const Wide        expected = x == 0 || y == 0 ? Wide(0) : Widen(x) / Widen(y);

    right = right && Near(a, expected, std::abs(expected), 4 * roundings_of_product);
    for (int64_t i = 0; i < c.n; i++) {
      const Wide aw = a == 0 ? Wide(0) : Widen(a) * Widen(W.At(i, j)), r0 = Widen(R0.At(i, j));

      right = right && Near(R.At(i, j), r0 - aw, std::abs(r0) + std::abs(aw), 1);
    }
  }
  Report(right, "cg_step: wrong", c.where);
  if (kind) Run(c.device, c.n, c.N, 0, {&R, &Z}, {&D}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    return ops->scale(s, x[0], 1, false, In(b[0]), b[1]);
  });

  Numbers expected = Dots(c.device, {&R}, kind ? &Z : &R);

  if (kind) {
    const Numbers second = kind == BLOCK_STEP_WITH_Z ? Dots(c.device, {&Z}, &Z) : Dots(c.device, {&R}, &R);

    expected.insert(expected.end(), second.begin(), second.end());
  }
  if (has_sums) Report(Same(sums, expected), "cg_step: not the bits of the sums alone", c.where);
  else Report(sums == Numbers(nsums, guard), "cg_step: wrote sums that are not wanted", c.where);
}

/* Beside loops, and beside the functions that do it in several passes */
static void TestCGDirection(const Case &c, bool has_x)
{
  Vectors R = New(c), P = New(c), X = New(c), Z = New(c);
  Numbers active((size_t)c.N, (BlockNumber)1), now = RandomNumbers(c.N), before = RandomNumbers(c.N), step = RandomNumbers(c.N);
  Numbers D = RandomNumbers(c.n), ratio((size_t)c.N, guard);
  bool    right = true;

  for (int64_t j = 0; j < c.N; j++) {
    if (j % 5 == 1 || j % 5 == 4) active[(size_t)j] = 0;
    if (j % 5 == 2) now[(size_t)j] = 0; /* P is not looked at */
    if (j % 5 == 4 || j % 5 == 2 || j % 5 == 3) step[(size_t)j] = 0;
    if (active[(size_t)j] == 0) Fill(&R, j, nan_value);
    if (j % 5 == 2 || j % 5 == 4) Fill(&P, j, nan_value);
    if (j % 5 == 3) Fill(&X, j, nan_value); /* is not touched */
  }
  Vectors P0 = P, X0 = X, P1 = P, X1 = X;

  Run(c.device, c.n, c.N, 0, {&R, &P, &X}, {&active, &now, &before, &step, &D}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    const BlockDirection t = {x[0], x[1], x[2], x[3], In(b[0]), x[4], b[1], has_x ? b[2] : BlockOut{NULL, 0}};

    return ops->cg_direction(s, &t);
  });
  Report(Inside(P0, P) && Inside(X0, X), "cg_direction: wrote elsewhere", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    const size_t k = (size_t)j;

    for (int64_t i = 0; i < c.n; i++) {
      const Wide p = Widen(P0.At(i, j)), z = active[k] == 0 ? Wide(0) : Widen(D[(size_t)i]) * Widen(R.At(i, j));
      const Wide bp = active[k] == 0 || now[k] == 0 ? Wide(0) : Widen(now[k]) / Widen(before[k]) * p;
      const Wide x  = Widen(X0.At(i, j)), ap = !has_x || step[k] == 0 ? Wide(0) : Widen(step[k]) * p;

      right = right && Near(P.At(i, j), z + bp, std::abs(z) + std::abs(bp), 8 * roundings_of_product);
      if (ap != Wide(0)) right = right && Near(X.At(i, j), x + ap, std::abs(x) + std::abs(ap), 2);
      else right = right && SameBits(&X.At(i, j), &X0.At(i, j), 1);
    }
  }
  Report(right, "cg_direction: wrong", c.where);
  Run(c.device, c.n, c.N, 0, {&R, &P1, &X1, &Z}, {&active, &now, &before, &step, &D, &ratio}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    const BlockIn direction = In(b[1]);
    HrpbError     err       = has_x ? ops->maxpy(s, b[2], 1, 1, x[3], &direction) : HRPB_SUCCESS;

    if (!err) err = ops->scale(s, x[4], 1, false, In(b[0]), b[3]);
    if (!err) err = ops->scalars(s, BLOCK_DIVIDE, x[0], x[5], x[1], x[2]);
    return err ? err : ops->axpby(s, b[1], x[0], In(b[3]), x[5]);
  });
  Report(Same(P.values, P1.values), "cg_direction: not the bits of several passes", c.where);
  Report(Same(X.values, X1.values), "cg_direction: X has not the bits of several passes", c.where);
}

/* Several iterations beside the functions that do it in several passes. Columns end, and some are not finite */
static void TestCGIterate(const Case &c, BlockStepKind kind)
{
  const size_t N = (size_t)c.N;
  Vectors      R = New(c), P = New(c), X = New(c), W = New(c);
  Numbers      D = RandomNumbers(c.n), beta = RandomNumbers(c.N), turn(N, (BlockNumber)0), active(N, (BlockNumber)1);
  Numbers      curvature(N, guard), before(N, guard), kept(2 * N, guard), step(N, guard), sums(2 * N, guard);

  for (int64_t j = 0; j < c.N; j++) {
    if (j % 5 == 1) active[(size_t)j] = 0;
    if (j % 5 == 3) Fill(&W, j, nan_value);
    if (j % 5 == 4) beta[(size_t)j] = (BlockNumber)(HrpbScalar)INFINITY;
  }
  for (int k = 0; k < 3; k++) {
    Vectors R1 = R, P1 = P, X1 = X;
    Numbers before1 = before, curvature1 = curvature, kept1 = kept, step1 = step, sums1 = sums;

    for (bool whole : {true, false}) {
      Run(c.device, c.n, c.N, 3, {&W, whole ? &R : &R1, whole ? &P : &P1, whole ? &X : &X1},
        {&active, &beta, &before, whole ? &curvature : &curvature1, whole ? &kept : &kept1, whole ? &step : &step1, whole ? &sums : &sums1, &D, &turn},
        [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
          const BlockLengths   lengths   = {x[0], x[1], x[1], x[3], k ? x[2] : x[3], x[4], x[5]};
          const BlockStep      t         = {kind, lengths, In(b[0]), b[1], x[7]};
          const BlockDirection direction = {x[0], x[6], x[1], x[5], In(b[1]), x[7], b[2], b[3]};
          const BlockIn        W         = In(b[0]);

          if (whole) {
            const BlockIteration i = {kind, lengths, x[3], x[6], W, x[7], b[1], b[2], b[3], (uint32_t *)x[8]};

            return ops->cg_iterate(s, &i);
          }
          HrpbError err = ops->dots(s, 1, &W, In(b[2]), x[3]);

          if (!err) err = ops->cg_step(s, &t, x[6]);
          return err ? err : ops->cg_direction(s, &direction);
        });
    }
    Report(Same(R.values, R1.values) && Same(P.values, P1.values) && Same(X.values, X1.values), "cg_iterate: blocks have not the bits of several passes", c.where);
    Report(Same(curvature, curvature1) && Same(kept, kept1) && Same(step, step1) && Same(sums, sums1), "cg_iterate: scalars have not the bits of several passes", c.where);
    before = curvature;
    beta.assign(sums.begin(), sums.begin() + (ptrdiff_t)N);
    std::swap(R.values, W.values); /* another W */
    if (k == 0 && c.N > 5) active[5] = 0;
  }
}

static void TestResidual(const Case &c, bool has_sums)
{
  Vectors Y = New(c), X = New(c), R = New(c);
  Numbers a     = RandomNumbers(c.N), sums((size_t)c.N, guard);
  bool    right = true;

  for (int64_t j = 1; j < c.N; j += 3) {
    a[(size_t)j] = 0;
    Fill(&X, j, nan_value);
  }
  Vectors Y0 = Y, X0 = X, R0 = R;

  Run(c.device, c.n, c.N, 1, {&Y, &X, &R}, {&a, &sums}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    return ops->residual(s, In(b[0]), x[0], In(b[1]), b[2], has_sums ? x[1] : NULL);
  });
  Report(Same(Y0.values, Y.values) && Same(X0.values, X.values) && Inside(R0, R), "residual: wrote elsewhere", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) {
      const Wide ax = a[(size_t)j] == 0 ? Wide(0) : Widen(a[(size_t)j]) * Widen(X.At(i, j)), y = Widen(Y.At(i, j));

      right = right && Near(R.At(i, j), y - ax, std::abs(y) + std::abs(ax), 1);
    }
  }
  Report(right, "residual: wrong", c.where);
  if (has_sums) Report(Same(sums, Dots(c.device, {&R}, &R)), "residual: not the bits of the sums alone", c.where);
  else Report(sums == Numbers((size_t)c.N, guard), "residual: wrote sums that are not wanted", c.where);
}

static void TestCopyAndZero(const Case &c)
{
  Vectors X = New(c), Y = RandomVectors(c.n, c.N, c.padding + 3, c.shift), Y0 = Y;
  bool    right = true;

  Run(c.device, c.n, c.N, 0, {&X, &Y}, {},
    [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **) { return ops->copy(s, In(b[0]), b[1]); });
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) right = right && Y.At(i, j) == X.At(i, j);
  }
  Report(right && Inside(Y0, Y), "copy: wrong", c.where);
  Run(c.device, c.n, c.N, 0, {&Y}, {},
    [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **) { return ops->zero(s, b[0]); });
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) right = right && Y.At(i, j) == 0;
  }
  Report(right && Inside(Y0, Y), "zero: wrong", c.where);
}

/* Y = D X or D^T X, in place where D is a diagonal and it is asked for */
static void TestScale(const Case &c, int32_t dblock, bool transpose, bool in_place)
{
  Vectors X = New(c), Y = New(c);
  Numbers D     = RandomNumbers(c.n * dblock);
  bool    right = true;

  if (c.n > 3) D[3] = 0;
  Vectors X0 = X, Y0 = in_place ? X : Y;

  Run(c.device, c.n, c.N, 0, {&X, &Y}, {&D}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    return ops->scale(s, x[0], dblock, transpose, In(b[0]), in_place ? b[0] : b[1]);
  });
  Vectors &found = in_place ? X : Y;

  Report(Inside(Y0, found), "scale: wrote elsewhere", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) {
      const int64_t first = i / dblock * dblock, r = i - first;
      Wide          sum  = 0;
      long double   size = 0;

      for (int64_t k = 0; k < dblock; k++) {
        const Wide term = Widen(D[(size_t)(first * dblock + (transpose ? r * dblock + k : r + k * dblock))]) * Widen(X0.At(first + k, j));

        sum += term;
        size += std::abs(term);
      }
      right = right && Near(found.At(i, j), sum, size, dblock + 1);
    }
  }
  Report(right, "scale: wrong", c.where);
}

static BlockNumber ScalarOp(BlockScalarOp op, BlockNumber x, BlockNumber y)
{
  if (op == BLOCK_MULTIPLY) return x * y;
  if (op == BLOCK_DIVIDE) return y != 0 ? x / y : 0;
  if (op == BLOCK_CONJUGATE_DIVIDE) return y != 0 ? BlockConj(x) / y : 0;
  if (op == BLOCK_FINITE) return IsNaN(Widen(x)) ? 0 : x;
#if defined(HRPB_USE_COMPLEX)
  return x.re != 0 && y.re != 0 && std::signbit(x.re) != std::signbit(y.re) ? 0 : x;
#else
  return x != 0 && y != 0 && std::signbit(x) == std::signbit(y) ? x : 0;
#endif
}

static void TestScalars(bool device, int64_t N)
{
  const HrpbScalar values[] = {1, -2, 0, std::numeric_limits<HrpbScalar>::min(), -std::numeric_limits<HrpbScalar>::min()};

  for (BlockScalarOp op : {BLOCK_MULTIPLY, BLOCK_DIVIDE, BLOCK_CONJUGATE_DIVIDE, BLOCK_SAME_SIGN, BLOCK_FINITE}) {
    Numbers x, y, active, out((size_t)N + 1, guard);
    bool    right = true;

    for (int64_t j = 0; j < N; j++) {
      x.push_back(Narrow(Widen(values[j % 5]) + Widen(values[j / 3 % 5]) * Other()));
      y.push_back(Narrow(Widen(values[j / 5 % 5]) + Widen(values[j / 4 % 5]) * Other()));
      active.push_back(j % 7 != 3);
      if (active.back() == 0) x.back() = nan_value;
    }
    const Numbers x0 = x, y0 = y;

    Run(device, 0, N, 0, {}, {&x, &y, &active, &out}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *, BlockNumber **p) {
      const HrpbError err = ops->scalars(s, op, p[2], p[3], p[0], p[1]);

      return err ? err : ops->scalars(s, op, NULL, p[1], NULL, p[1]);
    });
    for (int64_t j = 0; j < N; j++) {
      const BlockNumber expected = j % 7 != 3 ? ScalarOp(op, x0[(size_t)j], y0[(size_t)j]) : 0, second = ScalarOp(op, 1, y0[(size_t)j]);

      right = right && Near(out[(size_t)j], Widen(expected), std::abs(Widen(expected)), roundings_of_product - 1) &&
              Near(y[(size_t)j], Widen(second), std::abs(Widen(second)), roundings_of_product - 1);
    }
    Report(right && out.back() == guard, "scalars: wrong", device ? "device" : "host");
  }
}

/*
   H = G^T G + 1 and a part that is not symmetric, which is to be left out. fault says which pivot is negative or NaN:
   -1 for none
*/
static void TestInvert(bool device, int64_t N, int64_t rank, int64_t fault, BlockNumber with)
{
  const size_t size = (size_t)(N * N);
  Numbers      G = RandomNumbers(N * N), H(size), C = RandomNumbers(N * N), inverse(size + 1, guard), step(size + 1, guard), pivots((size_t)N + 1, guard);
  const auto   at    = [N](const Numbers &x, int64_t i, int64_t j) { return x[(size_t)(i + j * N)]; };
  bool         right = true;
  char         where[128];

  snprintf(where, sizeof(where), "%s, N %ld, rank %ld, fault %ld", device ? "device" : "host", (long)N, (long)rank, (long)fault);
  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < N; i++) {
      Wide sum = i == j ? 1 : 0;

      for (int64_t k = 0; k < N; k++) sum += Conj(Widen(at(G, k, i))) * Widen(at(G, k, j));
      H[(size_t)(i + j * N)] = Narrow(sum);
    }
  }
  if (fault >= 0) H[(size_t)(fault * (N + 1))] = with;
  const Numbers symmetric = H;

  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < j; i++) {
      H[(size_t)(i + j * N)] += unit * (HrpbScalar)0.25;
      H[(size_t)(j + i * N)] -= BlockConj(unit) * (HrpbScalar)0.25;
    }
  }
  for (int64_t k = rank; k < N; k++) { /* nothing behind the rank is used but in C */
    for (int64_t i = 0; i < N; i++) H[(size_t)(i + k * N)] = H[(size_t)(k + i * N)] = nan_value;
  }
  const Numbers H0 = H, C0 = C;
  Numbers       active((size_t)N, (BlockNumber)1);
  const auto    call = [&](const BlockOps *ops, const BlockShape *s, BlockOut *, BlockNumber **x) {
    const BlockInvert t = {rank, x[0], x[1], x[5], x[2], x[3], x[4]};

    return ops->invert(s, &t);
  };

  for (int64_t j = 2; j < N; j += 5) active[(size_t)j] = 0;
  Run(device, 5, N, 0, {}, {&H, &C, &inverse, &step, &pivots, &active}, call);
  Report(Same(H, H0) && Same(C, C0) && inverse.back() == guard && step.back() == guard && pivots.back() == guard, "invert: wrote elsewhere", where);
  for (int64_t i = 0; i < N; i++) {
    if (fault >= 0 && i == fault) right = right && !(BlockReal(pivots[(size_t)i]) > 0);
    else if (i >= rank || (fault >= 0 && i > fault)) right = right && pivots[(size_t)i] == 1;
    else right = right && BlockReal(pivots[(size_t)i]) > 0;
  }
  Report(right, "invert: wrong pivots", where);
  right = true;
  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < N; i++) {
      Wide        one = 0, sum = 0;
      long double size_one = 0, size_sum = 0;

      if (fault >= 0 || i >= rank || j >= rank) right = right && at(inverse, i, j) == 0;
      if (fault >= 0 || i >= rank) right = right && at(step, i, j) == 0;
      if (fault >= 0) continue;
      right = right && Near(at(inverse, i, j), Conj(Widen(at(inverse, j, i))), 1, roundings_of_product == 1 ? 0 : (double)N);
      for (int64_t k = 0; k < rank; k++) {
        if (i < rank && j < rank) {
          const Wide term = Widen(at(symmetric, i, k)) * Widen(at(inverse, k, j));

          one += term;
          size_one += std::abs(term);
        }
        if (active[(size_t)j] != 0) sum += Widen(at(inverse, i, k)) * Widen(at(C0, k, j));
        size_sum += std::abs(Widen(at(inverse, i, k)) * Widen(at(C0, k, j)));
      }
      right = right && Near(at(step, i, j), sum, size_sum, (double)N + 2);
      if (i < rank && j < rank) right = right && std::abs(one - Wide(i == j ? 1 : 0)) <= 64 * (double)N * eps * (1 + size_one);
    }
  }
  Report(right, "invert: wrong", where);
}

static void TestInverts(bool device)
{
  for (int64_t N : {1, 2, 7, 31, 32, 33, 77, 120}) { /* the last two beside shared memory, or just in it */
    if (small_run && N > 33) continue;
    TestInvert(device, N, N, -1, 0);
    TestInvert(device, N, N / 2, -1, 0);
    for (BlockNumber with : {(BlockNumber)-1, nan_value}) {
      TestInvert(device, N, N, N / 2, with);
      TestInvert(device, N, N, N - 1, with);
    }
  }
}

#if !defined(HRPB_USE_SINGLE) && !defined(HRPB_USE_COMPLEX)
/*
   G = V^T V, of which columns are multiples of others, zero, or very long, and a part that is not symmetric, which is
   to be left out. bad: no number, or one that is negative, on the diagonal; 0 for none
*/
static void TestFactor(int64_t N, int64_t rank, double bad)
{
  const size_t      size = (size_t)(N * N), n = (size_t)N;
  const Numbers     V = RandomNumbers(N * N);
  Numbers           G(size), C = RandomNumbers(N * N), F(size + 1, guard), zeta(size + 1, guard), dropped(n + 1, guard), found(2, guard), length(n);
  std::vector<Wide> GF(size);
  const auto        at    = [N](const Numbers &x, int64_t i, int64_t j) -> Wide { return x[(size_t)(i + j * N)]; };
  bool              right = true;
  char              where[128];

  snprintf(where, sizeof(where), "N %ld, rank %ld, bad %g", (long)N, (long)rank, bad);
  for (int64_t j = 0; j < N; j++) length[(size_t)j] = j % 7 == 3 ? 1e-6 : j % 7 == 5 ? 1e4 : 1;
  for (int64_t j = 0; j < N; j++) { /* column j of V is column j % rank */
    for (int64_t i = 0; i < N; i++) {
      Wide sum = 0;

      for (int64_t k = 0; k < N; k++) sum += at(V, k, i % std::max(rank, (int64_t)1)) * at(V, k, j % std::max(rank, (int64_t)1));
      G[(size_t)(i + j * N)] = rank ? Narrow(sum * (Wide)length[(size_t)i] * (Wide)length[(size_t)j]) : 0;
    }
  }
  if (bad != 0) G[(size_t)(N / 2 * (N + 1))] = bad;
  const Numbers symmetric = G, C0 = C;

  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < j; i++) {
      const double part = 1e-3 * length[(size_t)i] * length[(size_t)j];

      G[(size_t)(i + j * N)] += part;
      G[(size_t)(j + i * N)] -= part;
    }
  }
  Run(true, 5, N, 0, {}, {&G, &C, &F, &zeta, &dropped, &found}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *, BlockNumber **x) {
    const BlockFactor t = {x[0], x[1], x[2], x[3], x[4], x[5]};

    return ops->factor(s, &t);
  });
  Report(F.back() == guard && zeta.back() == guard && dropped.back() == guard && found.back() == guard, "factor: wrote elsewhere", where);
  if (bad != 0) {
    Report(bad < 0 ? found[0] == -1 : std::isnan(found[0]), "factor: took a matrix that is none", where);
    return;
  }
  Report(found[0] == (double)rank, "factor: wrong rank", where);
  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < N; i++) {
      Wide of = 0, next = 0;

      for (int64_t k = 0; k < N; k++) of += at(zeta, k, i) * at(zeta, k, j), next += at(zeta, i, k) * at(C0, k, j);
      right = right && (i < rank || at(zeta, i, j) == 0) && (j < rank || at(F, i, j) == 0);
      right = right && std::abs(of - at(symmetric, i, j)) <= 1e-9L * std::sqrt(at(symmetric, i, i) * at(symmetric, j, j));
      right = right && std::abs(next - at(C, i, j)) <= 1e-12L * (1 + std::abs(next)) * 1e4L;
      for (int64_t k = 0; k < N; k++) GF[(size_t)(i + j * N)] += at(symmetric, i, k) * at(F, k, j);
    }
    right = right && dropped[(size_t)j] >= 0 && dropped[(size_t)j] <= 1e-5 * std::sqrt((double)at(symmetric, j, j));
  }
  for (int64_t j = 0; j < rank; j++) {
    for (int64_t i = 0; i < rank; i++) {
      Wide one = 0;

      for (int64_t k = 0; k < N; k++) one += at(F, k, i) * GF[(size_t)(k + j * N)];
      right = right && std::abs(one - (i == j ? 1 : 0)) < 1e-7L;
    }
  }
  Report(right, "factor: wrong", where);
}

/* What a column has lost counts where the rest of it is negative, too: the matrix is not definite */
static void TestLoss(void)
{
  Numbers G = {1, 1.5, 1.5, 1}, C(4), F(4), zeta(4), dropped(2), found(1);

  Run(true, 5, 2, 0, {}, {&G, &C, &F, &zeta, &dropped, &found}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *, BlockNumber **x) {
    const BlockFactor t = {x[0], x[1], x[2], x[3], x[4], x[5]};

    return ops->factor(s, &t);
  });
  Report(found[0] == 1 && dropped[0] == 0 && std::abs(dropped[1] - std::sqrt(1.25)) < 1e-12, "factor: other losses", "a matrix that is not definite");
}

static void TestFactors(void)
{
  TestLoss();
  for (int64_t N : {1, 2, 7, 16, 31, 32}) {
    for (int64_t rank : {N, N / 2, (int64_t)0}) TestFactor(N, rank, 0);
    TestFactor(N, N, -1);
    TestFactor(N, N, (double)NAN);
  }
}
#endif

/* X^T Y of two blocks whose columns are combined, entry i, j */
static Wide Product(Vectors *x, Vectors *y, int64_t i, int64_t j, long double *size)
{
  Wide sum = 0;

  *size = 0;
  for (int64_t r = 0; r < x->n; r++) {
    const Wide term = Conj(Widen(x->At(r, i))) * Widen(y->At(r, j));

    sum += term;
    *size += std::abs(term);
  }
  return sum;
}

/* Entry i, j of X^T Y is expected on both sides of the diagonal: the one above */
static void CheckGram(const Case &c, BlockGramKind kind, Vectors *X, Vectors *Y, const Numbers &G, const char wrong[], const char skewed[])
{
  const int64_t     count = (kind ? 2 : 1) * c.N * c.N;
  std::vector<char> right((size_t)count);
  bool              symmetric = true;

  InParallel(count, c.n, [&](int64_t k) {
    const int64_t i = k % c.N, j = k / c.N % c.N, row = std::min(i, j), column = std::max(i, j);
    const bool    second = k >= c.N * c.N;
    long double   size;
    const Wide    expected =
      Product(second && kind == BLOCK_GRAM_WITH_Y ? Y : X, second && kind == BLOCK_GRAM_WITH_X ? X : Y, row, column, &size);

    right[(size_t)k] = Near(G[(size_t)k], expected, size, (double)c.n + 2);
  });
  for (int64_t k = 0; k < count; k++) {
    const int64_t i = k % c.N, j = k / c.N % c.N;

    symmetric = symmetric && G[(size_t)k] == G[(size_t)(k - i - j * c.N + j + i * c.N)];
  }
  Report(std::find(right.begin(), right.end(), 0) == right.end() && G.back() == guard, wrong, c.where);
  Report(symmetric, skewed, c.where);
}

static void Scale(const Case &c, const Numbers &D, Vectors *X, Vectors *Y)
{
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) Y->At(i, j) = D[(size_t)i] * X->At(i, j);
  }
}

static size_t GramWork(const Case &c, BlockGramKind kind)
{
  return c.device && c.N <= BlockOpsDevice.square ? BlockOpsDevice.gram_work(c.n, c.N, kind) : 0;
}

static void TestGram(const Case &c, BlockGramKind kind, bool scaled)
{
  const int64_t count = (kind ? 2 : 1) * c.N * c.N;
  Vectors       X = New(c), Y = New(c);
  Numbers       D = RandomNumbers(c.n), G((size_t)count + 1, guard);

  RunWith(
    c.device, c.n, c.N, GramWork(c, kind), {&X, &Y}, {&D, &G}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
      const BlockGram g = {kind, In(b[0]), scaled ? BlockIn{NULL, 0} : In(b[1]), x[0]};

      return ops->gram(s, &g, x[1]);
    });
  if (scaled) Scale(c, D, &X, &Y);
  CheckGram(c, kind, &X, &Y, G, "gram: wrong", "gram: not symmetric");
}

static void TestCombine(const Case &c, bool add, int32_t nterms, bool scaled)
{
  Vectors           X = New(c), W = New(c), Y = New(c), Y0 = Y;
  Numbers           D = RandomNumbers(c.n), K = RandomNumbers(c.N * c.N), L = RandomNumbers(c.N * c.N);
  std::vector<char> right((size_t)c.N, 1);

  RunWith(c.device, c.n, c.N, 0, {&X, &W, &Y}, {&D, &K, &L}, [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
    const BlockTerm terms[] = {{1, In(b[0]), scaled ? x[0] : NULL, x[1], false}, {-1, In(b[1]), NULL, x[2], true}};

    return ops->combine(s, add, nterms, terms, b[2]);
  });
  Report(Inside(Y0, Y), "combine: wrote elsewhere", c.where);
  InParallel(c.N, c.n * c.N, [&](int64_t j) {
    for (int64_t i = 0; i < c.n; i++) {
      Wide        sum  = add ? Widen(Y0.At(i, j)) : Wide(0);
      long double size = std::abs(sum);

      for (int64_t k = 0; k < c.N; k++) {
        const Wide first  = Widen(scaled ? D[(size_t)i] : BlockNumber(1)) * Widen(X.At(i, k)) * Widen(K[(size_t)(k + j * c.N)]);
        const Wide second = nterms > 1 ? -Widen(W.At(i, k)) * Conj(Widen(L[(size_t)(j + k * c.N)])) : Wide(0);

        sum += first + second;
        size += std::abs(first) + std::abs(second);
      }
      right[(size_t)j] = right[(size_t)j] && Near(Y.At(i, j), sum, size, 2 * (double)c.N + 4);
    }
  });
  Report(std::find(right.begin(), right.end(), 0) == right.end(), "combine: wrong", c.where);
}

/* Y has the bits of combine(), and its products are those of Y */
static void TestCombineGram(const Case &c, BlockGramKind kind)
{
  const int64_t count = (kind ? 2 : 1) * c.N * c.N;
  Vectors       X = New(c), W = New(c), Y = New(c), Y0 = Y, DY = Y, expected = Y;
  Numbers       D = RandomNumbers(c.n), K = RandomNumbers(c.N * c.N), L = RandomNumbers(c.N * c.N), G((size_t)count + 1, guard);
  bool          same = true;

  RunWith(c.device, c.n, c.N, GramWork(c, kind), {&X, &W, &Y, &expected}, {&D, &K, &L, &G},
    [&](const BlockOps *ops, const BlockShape *s, BlockOut *b, BlockNumber **x) {
      const BlockTerm terms[] = {{1, In(b[0]), NULL, x[1], false}, {-1, In(b[1]), NULL, x[2], true}};
      const HrpbError err     = ops->combine(s, false, 2, terms, b[3]);

      return err ? err : ops->combine_gram(s, terms, b[2], kind, x[0], x[3]);
    });
  Report(Inside(Y0, Y), "combine_gram: wrote elsewhere", c.where);
  for (int64_t j = 0; j < c.N; j++) {
    for (int64_t i = 0; i < c.n; i++) same = same && Y.At(i, j) == expected.At(i, j);
  }
  Report(same, "combine_gram: other bits than combine", c.where);
  Scale(c, D, &Y, &DY);
  CheckGram(c, kind, &Y, &DY, G, "combine_gram: wrong products", "combine_gram: not symmetric");
}

/* Square matrices and blocks, where it is not the BLAS that multiplies */
static void TestSquares(bool device)
{
  for (int64_t n : {0, 1, 6, 15, 16, 33, 127, 2049, 34500, 100001}) {
    for (int64_t N : {1, 3, 8, 13, 16, 17, 24, 31, 32}) {
      if (N > (device ? BlockOpsDevice : BlockOpsHost).square || (small_run && (n > 50000 || (n > 100 && N != 13 && N != 17)))) continue;
      if (n > 3000 && N != 13 && N != 17 && N != 32) continue;
      Case c = {device, n, N, n % 2 ? N % 3 : 0, N % 2, ""};

      snprintf(c.where, sizeof(c.where), "%s, n %ld, N %ld, padding %ld, shift %ld", device ? "device" : "host", (long)n, (long)N, (long)c.padding, (long)c.shift);
      for (BlockGramKind kind : {BLOCK_GRAM_PLAIN, BLOCK_GRAM_WITH_X, BLOCK_GRAM_WITH_Y}) TestCombineGram(c, kind);
      for (bool scaled : {false, true}) {
        for (BlockGramKind kind : {BLOCK_GRAM_PLAIN, BLOCK_GRAM_WITH_X, BLOCK_GRAM_WITH_Y}) TestGram(c, kind, scaled);
        for (bool add : {false, true}) {
          for (int32_t nterms : {1, 2}) {
            if (!add || nterms == 1) TestCombine(c, add, nterms, scaled);
          }
        }
      }
    }
  }
}

#if !defined(HRPB_USE_COMPLEX)
/* How many eigenvalues of a symmetric matrix are less than x: negative pivots of A - x I */
static int CountLess(const Numbers &A, int n, long double x)
{
  std::vector<long double> B(A.begin(), A.end());
  int                      count = 0;

  for (int k = 0; k < n; k++) B[(size_t)(k * n + k)] -= x;
  for (int k = 0; k < n; k++) {
    const long double pivot = B[(size_t)(k * n + k)];

    count += pivot < 0;
    for (int j = k + 1; j < n; j++) {
      for (int i = k + 1; i <= j; i++) B[(size_t)(j * n + i)] -= B[(size_t)(i * n + k)] * B[(size_t)(j * n + k)] / pivot;
      B[(size_t)(k * n + j)] = B[(size_t)(j * n + k)];
    }
    for (int j = k + 1; j < n; j++) { /* the rows below again */
      for (int i = k + 1; i < j; i++) B[(size_t)(i * n + j)] = B[(size_t)(j * n + i)];
    }
  }
  return count;
}

/* A matrix of a kind. may: eigenvalues may be too close for it */
static Numbers EigenMatrix(const char kind[], int n, bool *may)
{
  Numbers A((size_t)(n * n));

  *may = false;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i <= j; i++) {
      double x = Uniform();

      if (!strcmp(kind, "graded")) x *= std::pow(10.0, -12.0 * (2 * n - i - j) / (2 * n)); /* small ones first */
      if (!strcmp(kind, "diagonal")) x = i == j ? (i * 7 % n) - n / 3 : 0;
      if (!strcmp(kind, "Ritz")) x = i == j ? 1 + 0.01 * i : 1e-4 * x; /* nearly diagonal */
      if (!strcmp(kind, "large")) x *= 1e30;
      if (!strcmp(kind, "small")) x *= 1e-30;
      if (!strcmp(kind, "Wilkinson")) x = i == j ? std::abs(i - n / 2) : j == i + 1;
      if (!strcmp(kind, "multiple")) x = (i == j) * (i % 3);
      if (!strcmp(kind, "zero")) x = 0;
      if (!strcmp(kind, "NaN")) x = i == 1 && j == n - 1 ? (double)nan_value : x;
      if (!strcmp(kind, "infinite")) x = i == 1 && j == n - 2 ? INFINITY : x;
      A[(size_t)(j * n + i)] = (HrpbScalar)x;
    }
  }
  for (const char *close : {"diagonal", "graded", "Wilkinson", "multiple", "zero", "NaN", "infinite"}) *may = *may || !strcmp(kind, close);
  return A;
}

/* The first k eigenvectors, on the device. What is below the diagonal is not read */
static void TestEigen(const char kind[], int n, int k)
{
  bool    may, bad = !strcmp(kind, "NaN") || !strcmp(kind, "infinite") || !strcmp(kind, "zero"), right = true, orthonormal = true, placed = true;
  Numbers A = EigenMatrix(kind, n, &may), Z((size_t)(n * k) + 1, guard), values((size_t)k + 1, guard), good(2, guard), full(A), again, other;
  char    where[128];
  double  norm = 0;

  snprintf(where, sizeof(where), "%s, n %d, k %d", kind, n, k);
  for (int j = 0; j < n; j++) {
    for (int i = j + 1; i < n; i++) A[(size_t)(j * n + i)] = nan_value, full[(size_t)(j * n + i)] = full[(size_t)(i * n + j)];
  }
  for (int j = 0; j < n; j++) {
    double sum = 0;

    for (int i = 0; i < n; i++) sum += std::abs((double)full[(size_t)(j * n + i)]);
    norm = std::max(norm, sum);
  }
  for (int run = 0; run < 2; run++) {
    RunWith(true, n, k, BlockEigenWork(n), {}, {&A, &Z, &values, &good}, [&](const BlockOps *, const BlockShape *s, BlockOut *, BlockNumber **x) {
      const BlockEigen e = {n, k, x[0], x[1], x[2], x[3], s->work};

      return BlockEigenvectors(&e, NULL);
    });
    if (!run) again = Z, other = values;
  }
  Report(Z.back() == guard && values.back() == guard && good.back() == guard, "eigen: wrote behind its results", where);
  Report(good[0] == 0 || good[0] == 1, "eigen: does not say whether it is good", where);
  Report(!bad || good[0] == 0, "eigen: good where it cannot be", where);
  Report(may || good[0] == 1, "eigen: not good", where);
  if (good[0] != 1) return;
  Report(Same(Z, again) && Same(values, other), "eigen: other bits in another run", where);
  for (int j = 0; j < k; j++) {
    const HrpbScalar *z = &Z[(size_t)(j * n)];

    for (int i = 0; i < n; i++) {
      long double sum = -(long double)values[(size_t)j] * z[i];

      for (int m = 0; m < n; m++) sum += (long double)full[(size_t)(m * n + i)] * z[m];
      right = right && std::abs(sum) <= 40 * eps * norm;
    }
    for (int m = 0; m <= j; m++) {
      long double sum = m == j ? -1 : 0;

      for (int i = 0; i < n; i++) sum += (long double)z[i] * Z[(size_t)(m * n + i)];
      orthonormal = orthonormal && std::abs(sum) <= 40 * eps;
    }
  }
  for (int j : {0, k / 2, k - 1}) {
    const long double value = values[(size_t)j], near = 40 * eps * norm;

    placed = placed && CountLess(full, n, value - near) <= j && CountLess(full, n, value + near) > j;
  }
  Report(right, "eigen: residuals are not rounding", where);
  Report(orthonormal, "eigen: vectors are not orthonormal", where);
  Report(placed, "eigen: not the first eigenvalues", where);
}

static void TestEigens(void)
{
  for (const char *kind : {"any", "graded", "diagonal", "Ritz", "large", "small", "Wilkinson", "multiple", "zero", "NaN", "infinite"}) {
    for (int n : {4, 9, 31, 32, 33, 48, 65, 96, 130, 192}) {
      if (small_run && n > 96 && strcmp(kind, "any")) continue;
      if (small_run && n > 48 && strcmp(kind, "any") && strcmp(kind, "Ritz")) continue;
      TestEigen(kind, n, n / 3);
      if (n > 9 && !small_run) TestEigen(kind, n, 1 + n / 7);
      if (n <= 130 && !strcmp(kind, "Ritz")) TestEigen(kind, n, n / 2);
    }
  }
  for (int n : {3, 225, 600}) {
    const BlockEigen e = {n, n / 3, NULL, NULL, NULL, NULL, NULL};

    Report(BlockEigenvectors(&e, NULL) == HRPB_ERR_UNSUPPORTED, "eigen: took what it has no room for", "");
  }
}

/* Numbers of PETSc's KSPSetNoisy_Private(), which it was asked for; behind them nothing is written */
static void TestNoise(void)
{
  const struct {
    int64_t index;
    double  value;
  } known[] = {
    {1,          -0.66148407650000007},
    {2,          -0.21261278800000002},
    {37,         -0.64934388700000001},
    {786431,     0.49524649450000002 },
    {2147483647, 0.52247691100000004 }
  };

  for (const auto &k : known) {
    HrpbScalar *x = Upload(std::vector<HrpbScalar>{7, 7, 7}), found[3];

    Check(BlockNoise(2, k.index - 1, x, NULL));
    Check(cudaMemcpy(found, x, sizeof(found), cudaMemcpyDeviceToHost));
    Report(found[1] == (HrpbScalar)k.value && found[2] == 7, "noise: another number than PETSc's", std::to_string(k.index).c_str());
    Check(cudaFree(x));
  }
}

static void TestZeros(void)
{
  for (size_t n : {0, 1, 31, 256, 5000, 100001}) {
    for (size_t zero : {(size_t)0, n / 2, n - 1, n}) {
      std::vector<HrpbScalar> x(n);
      HrpbScalar             *d;
      bool                    has = true;

      for (HrpbScalar &a : x) a = Uniform() + 2;
      if (n > 4) x[n / 3] = (HrpbScalar)NAN, x[n / 4] = std::numeric_limits<HrpbScalar>::denorm_min();
      if (zero < n) x[zero] = zero % 2 ? -0. : 0.;
      d = Upload(x);
      Check(BlockHasZero((int64_t)n, d, NULL, &has));
      Report(has == (zero < n), "zeros: not found, or found where there are none", std::to_string(n).c_str());
      Check(cudaFree(d));
    }
  }
}
#endif

/* A device that has not as many multiprocessors as it seems to have: it refuses to have all thread blocks at once */
static void TestRefusedIterate(void)
{
  const Case        c = {true, small_run ? 8 : 2100, small_run ? 1200 : 600, 0, 0, "refused in one kernel"};
  const SpmmDevice *known;

  Check(SpmmGetDevice(&known));
  SpmmDevice *device = const_cast<SpmmDevice *>(known);

  device->nsm *= 1000;
  TestCGIterate(c, BLOCK_STEP_WITH_Z);
  device->nsm /= 1000;
}

static void TestShape(bool device, int64_t n, int64_t N, int64_t padding, int64_t shift)
{
  Case c = {device, n, N, padding, shift, ""};

  snprintf(c.where, sizeof(c.where), "%s, n %ld, N %ld, padding %ld, shift %ld", device ? "device" : "host", (long)n, (long)N, (long)padding, (long)shift);
  for (bool yes : {false, true}) {
    TestDots(c, 3, yes);
    for (bool also : {false, true}) {
      TestAXPBY(c, yes, also);
      for (BlockStepKind kind : {BLOCK_STEP_PLAIN, BLOCK_STEP_WITH_R, BLOCK_STEP_WITH_Z}) TestCGStep(c, yes, also, kind);
    }
    TestCGDirection(c, yes);
    TestCGIterate(c, yes ? BLOCK_STEP_WITH_R : BLOCK_STEP_WITH_Z);
    TestResidual(c, yes);
    TestMAXPY(c, 3, yes, yes ? 1 : -1);
    TestScale(c, 1, false, yes);
  }
  TestSmooths(c, 1);
  TestMove(c, false);
  TestMove(c, true);
  TestCopyAndZero(c);
  for (int32_t dblock : {2, 3, 6, 17}) {
    if (n % dblock) continue;
    TestScale(c, dblock, true, false);
    TestScale(c, dblock, false, false);
    TestSmooths(c, dblock);
  }
}

int main(int argc, char **argv)
{
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  for (bool device : {false, true}) {
    for (int64_t n : {0, 1, 6, 33, 2040, 2047, 2048, 4095, 4096, 12290, 200000}) {
      for (int64_t N : {1, 2, 6, 37}) {
        if (n > 100000 && N > 6) continue;
        if (small_run && (n > 13000 || (n > 4000 && N > 2) || (n > 100 && N > 6))) continue;
        TestShape(device, n, N, n % 2, 0);
        if (N > 1) TestShape(device, n, N, N + (n + 1) % 2, 1);
      }
    }
    {
      Case c = {device, 140000, 1, 0, 0, "more tiles than a warp has lanes"};

      TestDots(c, 1, false);
      c.n = 530000;
      TestCGIterate(c, BLOCK_STEP_WITH_R);
    }
    if (device) TestRefusedIterate();
    for (int64_t nx : {31, 32, 33, 70}) { /* more blocks than a kernel takes */
      Case c = {device, 70, 2, 1, 0, "many blocks"};

      TestDots(c, nx, true);
      TestMAXPY(c, nx, true, 1);
    }
    for (int64_t N : {1, 25, 3000}) TestScalars(device, N);
    TestInverts(device);
#if !defined(HRPB_USE_SINGLE) && !defined(HRPB_USE_COMPLEX)
    if (device) TestFactors();
#endif
    TestSquares(device);
  }
#if !defined(HRPB_USE_COMPLEX)
  TestEigens();
  TestNoise();
  TestZeros();
#endif
  printf("block: %d passed, %d failed\n", npassed, nfailed);
  return nfailed > 0;
}
