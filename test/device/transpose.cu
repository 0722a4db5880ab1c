/*
   The transpose of CSR matrices: each entry against a search in the matrix, and its values on the host and on the
   device. No PETSc.

     test-transpose [-small]
*/
#include "csr/transpose.h"
#include "test.cuh"

static void Test(int64_t nrows, int64_t ncols, uint32_t of)
{
  std::vector<HrpbInt>    rowptr(1, 0), colidx, to_rowptr((size_t)ncols + 1), to_colidx, map;
  std::vector<HrpbScalar> values, host, device;
  char                    where[64];
  size_t                  n     = 0;
  bool                    right = true;

  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t j = 0; j < ncols; j++) {
      if (Random() % of) continue;
      colidx.push_back((HrpbInt)j);
      values.push_back((HrpbScalar)values.size() + 1);
    }
    rowptr.push_back((HrpbInt)colidx.size());
  }
  to_colidx.resize(colidx.size());
  map.resize(colidx.size());
  host.resize(colidx.size());
  device.resize(colidx.size());
  CsrTransposeHost(nrows, ncols, rowptr.data(), colidx.data(), to_rowptr.data(), to_colidx.data(), map.data());
  CsrTakeHost((int64_t)map.size(), map.data(), values.data(), host.data());
  {
    HrpbInt    *dmap    = Upload(map);
    HrpbScalar *dvalues = Upload(values), *dto = Upload(device);

    Check(CsrTakeDevice((int64_t)map.size(), dmap, dvalues, dto, NULL));
    Check(cudaMemcpy(device.data(), dto, sizeof(HrpbScalar) * device.size(), cudaMemcpyDeviceToHost));
    for (void *p : {(void *)dmap, (void *)dvalues, (void *)dto}) Check(cudaFree(p));
  }
  for (int64_t j = 0; j < ncols; j++) {
    right = right && to_rowptr[(size_t)j] == (HrpbInt)n;
    for (int64_t i = 0; i < nrows; i++) {
      for (HrpbInt k = rowptr[(size_t)i]; k < rowptr[(size_t)i + 1]; k++) {
        if (colidx[(size_t)k] != j) continue;
        right = right && n < map.size() && to_colidx[n] == (HrpbInt)i && map[n] == k && host[n] == values[(size_t)k] && device[n] == values[(size_t)k];
        n++;
      }
    }
  }
  snprintf(where, sizeof(where), "%ld x %ld, one entry of %u", (long)nrows, (long)ncols, (unsigned)of);
  Report(right && to_rowptr.back() == (HrpbInt)n && n == map.size(), "wrong transpose", where);
}

int main(int argc, char **argv)
{
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  for (int64_t nrows : {0, 1, 7, 100, 700}) {
    for (int64_t ncols : {0, 1, 5, 130, 600}) {
      if (small_run && (nrows > 100 || ncols > 130)) continue;
      for (uint32_t of : {1u, 3u, 50u}) {
        if (nrows * ncols > 20000 && of < 50) continue;
        Test(nrows, ncols, of);
      }
    }
  }
  printf("transpose: %d passed, %d failed\n", npassed, nfailed);
  return nfailed > 0;
}
