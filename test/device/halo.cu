/*
   Packing of rows, and adding of sums, on the host and on the device. Every scalar of B is another number, so that each
   shows where it came from. Sums are compared bit by bit: the order of their terms matters. No PETSc.

     test-halo         all tests
     test-halo -small  few and small ones, to run under compute-sanitizer
*/
#include "halo/halo.h"
#include "test.cuh"

static const HrpbScalar guard = (HrpbScalar)-77;

static HrpbScalar Number(int64_t row, int64_t n)
{
  return (HrpbScalar)((row * 331 + n * 7 + 1) % 8388593); /* exact in single precision */
}

/* Which rows are packed: all, every third, one row again and again, or any */
static std::vector<HrpbInt> Rows(int kind, int64_t nrows, int64_t nlocal)
{
  std::vector<HrpbInt> rows;

  for (int64_t i = 0; i < nrows; i++) rows.push_back((HrpbInt)(kind == 0 ? i : kind == 1 ? 3 * i % nlocal : kind == 2 ? nlocal - 1
                                                                                                              : (int64_t)(Random() % (uint64_t)nlocal)));
  return rows;
}

static void Test(bool device, int kind, int64_t nrows, int64_t nlocal, int64_t N, int64_t padding)
{
  const int64_t              ldb  = nlocal + padding;
  const std::vector<HrpbInt> rows = Rows(kind, nrows, nlocal);
  std::vector<HrpbScalar>    B((size_t)(ldb * N), guard), to((size_t)(nrows * N + 1), guard);
  char                       where[128];
  bool                       right = true;

  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < nlocal; i++) B[(size_t)(i + n * ldb)] = Number(i, n);
  }
  if (device) {
    HrpbInt    *drows = Upload(rows);
    HrpbScalar *dB = Upload(B), *dto = Upload(to);

    right = HaloPackDevice(drows, nrows, N, dB, ldb, dto, NULL) == HRPB_SUCCESS;
    Check(cudaMemcpy(to.data(), dto, sizeof(HrpbScalar) * to.size(), cudaMemcpyDeviceToHost));
    Check(cudaFree(drows));
    Check(cudaFree(dB));
    Check(cudaFree(dto));
  } else HaloPackHost(rows.data(), nrows, N, B.data(), ldb, to.data());
  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t n = 0; n < N; n++) right = right && to[(size_t)(i * N + n)] == Number((int64_t)rows[(size_t)i], n);
  }
  snprintf(where, sizeof(where), "%s, rows of kind %d, %ld of %ld, N %ld, padding %ld", device ? "device" : "host", kind, (long)nrows, (long)nlocal, (long)N, (long)padding);
  Report(right && to.back() == guard, "wrong rows", where);
}

/* Rows in any order, each with up to 5 terms that are of different sizes */
static void TestAdd(bool device, bool in_order, int64_t nrows, int64_t N, int64_t padding)
{
  const int64_t           nlocal = 2 * nrows + 3, ldc = nlocal + padding;
  std::vector<HrpbInt>    rows, start(1, 0), at;
  std::vector<HrpbScalar> C((size_t)(ldc * N)), from, right_C;
  char                    where[128];

  for (int64_t i = 0; i < nrows; i++) {
    rows.push_back((HrpbInt)(i % 2 ? i : 2 * nrows - i));
    start.push_back((HrpbInt)(start.back() + 1 + (int64_t)(Random() % 5)));
  }
  for (HrpbInt k = 0; k < start.back(); k++) at.push_back(k);
  for (size_t k = at.size(); k > 1 && !in_order; k--) std::swap(at[k - 1], at[Random() % k]);
  for (size_t k = 0; k < at.size() * (size_t)N; k++) from.push_back(std::ldexp((HrpbScalar)(1 + Random() % 1000) / 7, (int)(Random() % 20)));
  for (HrpbScalar &c : C) c = (HrpbScalar)(Random() % 1000) / 3;
  right_C = C;
  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t n = 0; n < N; n++) {
      for (HrpbInt k = start[(size_t)i]; k < start[(size_t)i + 1]; k++) right_C[(size_t)(rows[(size_t)i] + n * ldc)] += from[(size_t)(at[(size_t)k] * N + n)];
    }
  }
  if (device) {
    HrpbInt    *drows = Upload(rows), *dstart = Upload(start), *dat = Upload(at);
    HrpbScalar *dC = Upload(C), *dfrom = Upload(from);

    Check(HaloAddDevice(nrows, drows, dstart, dat, N, dfrom, dC, ldc, NULL));
    Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
    for (void *p : {(void *)drows, (void *)dstart, (void *)dat, (void *)dC, (void *)dfrom}) Check(cudaFree(p));
  } else HaloAddHost(nrows, rows.data(), start.data(), at.data(), N, from.data(), C.data(), ldc);
  snprintf(where, sizeof(where), "%s, %ld rows, N %ld, padding %ld, %s", device ? "device" : "host", (long)nrows, (long)N, (long)padding, in_order ? "in order" : "in any order");
  Report(C.empty() || SameBits(C.data(), right_C.data(), C.size()), "wrong sums", where);
}

int main(int argc, char **argv)
{
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  for (bool device : {false, true}) {
    for (int64_t nrows : {0, 1, 31, 32, 33, 1000}) {
      for (int64_t N : {0, 1, 2, 31, 32, 33, 65, 300}) {
        if (small_run && (nrows > 100 || N > 100)) continue;
        for (int kind : {0, 1, 2, 3}) Test(device, kind, nrows, nrows + 5, N, N % 3);
        for (bool in_order : {false, true}) TestAdd(device, in_order, nrows, N, N % 3);
      }
    }
    if (!small_run) Test(device, 3, 70, 80, 40000, 1);
  }
  printf("halo: %d passed, %d failed\n", npassed, nfailed);
  return nfailed > 0;
}
