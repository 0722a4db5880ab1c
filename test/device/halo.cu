/*
   Packing of rows, on the host and on the device. Every scalar of B is another number, so that each shows where it came
   from. No PETSc.

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

  for (int64_t i = 0; kind && i < nrows; i++) rows.push_back((HrpbInt)(kind == 1 ? 3 * i % nlocal : kind == 2 ? nlocal - 1
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
    HrpbInt    *drows = rows.empty() ? NULL : Upload(rows);
    HrpbScalar *dB = Upload(B), *dto = Upload(to);

    right = HaloPackDevice(drows, nrows, N, dB, ldb, dto, NULL) == HRPB_SUCCESS;
    Check(cudaMemcpy(to.data(), dto, sizeof(HrpbScalar) * to.size(), cudaMemcpyDeviceToHost));
    Check(cudaFree(drows));
    Check(cudaFree(dB));
    Check(cudaFree(dto));
  } else HaloPackHost(rows.empty() ? NULL : rows.data(), nrows, N, B.data(), ldb, to.data());
  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t n = 0; n < N; n++) right = right && to[(size_t)(i * N + n)] == Number(kind ? (int64_t)rows[(size_t)i] : i, n);
  }
  snprintf(where, sizeof(where), "%s, rows of kind %d, %ld of %ld, N %ld, padding %ld", device ? "device" : "host", kind, (long)nrows, (long)nlocal, (long)N, (long)padding);
  Report(right && to.back() == guard, "wrong rows", where);
}

int main(int argc, char **argv)
{
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  for (bool device : {false, true}) {
    for (int64_t nrows : {0, 1, 31, 32, 33, 1000}) {
      for (int64_t N : {0, 1, 2, 31, 32, 33, 65, 300}) {
        if (small_run && (nrows > 100 || N > 100)) continue;
        for (int kind : {0, 1, 2, 3}) Test(device, kind, nrows, nrows + 5, N, N % 3);
      }
    }
    if (!small_run) Test(device, 3, 70, 80, 40000, 1);
  }
  printf("halo: %d passed, %d failed\n", npassed, nfailed);
  return nfailed > 0;
}
