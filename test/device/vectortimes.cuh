/*
   Times of the kernels for one vector, beside those of cuSPARSE's two algorithms, with the matrix and with its
   transpose. Of a product the device is timed from one event to the next, with all launches.
*/
#pragma once

#include <string>

#include "vector/vector.h"
#include "matrices.cuh"

/* How each product is timed: in turn with all others, and then again */
enum {
  TIMES_ROUNDS  = 5,
  TIMES_IN_ROW  = 8,     /* products of a round, one behind the other */
  TIMES_SPIN    = 60000, /* steps of about four cycles, which give the host time to launch what is timed */
  TIMES_CHECKED = 2000   /* rows of which errors are looked at */
};

struct VectorTimes {
  FILE       *csv;
  const char *commit, *gpu;
  int         cuda;
  double      copied; /* bytes that a copy reads and writes in a ms */
};

/* A matrix or its transpose on the device, a vector, and cuSPARSE's view of them */
struct TimedMatrix {
  SpmmMatrix           M;
  cusparseOperation_t  operation;
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t dx, dy;
  HrpbScalar          *x, *y;
  void                *work, *buffer[2];
};

/* A product: by a kernel of ours with this plan, or by an algorithm of cuSPARSE */
struct TimedProduct {
  std::string       name;
  const SpmmKernel *kernel;
  VectorPlan        plan;
  int               algorithm;
  double            ms, error;
};

static __global__ void Spin(int steps, HrpbScalar *number)
{
  HrpbScalar x = *number;

  for (int i = 0; i < steps; i++) x = fma(x, (HrpbScalar)0.5, (HrpbScalar)1);
  *number = x;
}

static cusparseSpMVAlg_t AlgorithmOf(int i)
{
  return i == 0 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
}

static void MakeProduct(const TimedMatrix *t, const TimedProduct *p)
{
  const HrpbScalar   one = 1, zero = 0;
  const SpmmOperands o = SpmmPlain(1, t->x, t->M.ncols, t->y, t->M.nrows);
  SpmmMatrix         M = t->M;

  M.vector = &p->plan;
  if (p->kernel) Check(SpmmRun(p->kernel, &M, &o, t->work, NULL));
  else Check(cusparseSpMV(t->handle, t->operation, &one, t->a, t->dx, &zero, t->dy, scalar_type, AlgorithmOf(p->algorithm), t->buffer[p->algorithm]));
}

/* Kernels that take the matrix with its plan, the first of them being the one that auto takes, and cuSPARSE's */
static std::vector<TimedProduct> ProductsOf(const TimedMatrix *t, bool variants)
{
  const SpmmFacts           facts = SpmmFactsOf(&t->M);
  const SpmmOperands        o     = SpmmPlain(1, NULL, t->M.ncols, NULL, t->M.nrows);
  const VectorPlan         *plan  = t->M.vector;
  const double              mean  = (double)plan->nnz / (double)std::max(t->M.nrows, (int64_t)1);
  std::vector<TimedProduct> products;

  for (int a = 0; a < 2; a++) products.push_back({a ? "cusparse2" : "cusparse1", NULL, {}, a, 0, 0});
  for (int i = 0; SpmmKernelGet(i); i++) {
    const SpmmKernel *k = SpmmKernelGet(i);

    if (k->op != SPMM_OP_VECTOR || !k->takes(&facts, NULL, &o, NULL)) continue;
    products.push_back({k->name, k, *plan, 0, 0, 0});
    for (int lanes = 1; lanes <= 32 && plan->lanes && variants; lanes *= 2) {
      for (int turns = 2; turns <= 8; turns *= 2) {
        TimedProduct p = {std::string(k->name) + " lanes " + std::to_string(lanes) + " turns " + std::to_string(turns), k, *plan, 0, 0, 0};

        p.plan.lanes = lanes;
        p.plan.turns = turns;
        if (lanes > mean * 2 || lanes * 40 < mean) continue;
        if (!strcmp(k->name, "vector-nodes") && turns != plan->turns) continue; /* it does not look at them */
        products.push_back(p);
      }
    }
  }
  return products;
}

/* Errors of y, beside |A| |x|, against sums in higher precision */
static double ErrorOf(const TimedMatrix *t, const Matrix *A, const HrpbScalar *x)
{
  const std::vector<HrpbScalar> y     = Download(t->y, t->M.nrows);
  const int64_t                 step  = std::max(A->nrows / TIMES_CHECKED, (int64_t)1);
  double                        worst = 0;

  for (int64_t i = 0; i < A->nrows; i += step) {
    long double sum = 0, size = 0;

    for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
      const long double term = (long double)A->values[k] * x[A->colidx[k]];

      sum += term;
      size += fabsl(term);
    }
    const double error = (double)(fabsl(y[i] - sum) / (size > 0 ? size : 1));

    if (!(error <= worst)) worst = error;
  }
  return worst;
}

/* Whether a product reads nodes, and short columns */
static bool ReadsNodes(const TimedProduct *p)
{
  return p->kernel && !strcmp(p->kernel->name, "vector-nodes");
}

static bool ReadsShort(const TimedProduct *p)
{
  return p->kernel && p->plan.columns && (ReadsNodes(p) || !strcmp(p->kernel->name, "vector-csr16"));
}

/* Bytes of the matrix as a product reads it, and of both vectors once. Columns beyond a base count as short, too */
static double BytesOf(const Matrix *A, const TimedProduct *p)
{
  const VectorPlan          *plan    = &p->plan;
  const std::vector<int32_t> first   = ReadsNodes(p) ? Download((const int32_t *)plan->nodes, plan->nnodes) : std::vector<int32_t>();
  const size_t               entries = A->colidx.size(), nrows = (size_t)A->nrows;
  size_t                     columns = first.empty() ? entries : 0, bytes = sizeof(HrpbScalar) * (entries + nrows + (size_t)A->ncols);

  for (int32_t row : first) columns += (size_t)(A->rowptr[row + 1] - A->rowptr[row]);
  bytes += ReadsShort(p) ? sizeof(uint16_t) * columns + sizeof(int32_t) * (nrows / VECTOR_GROUP) : sizeof(HrpbInt) * columns;
  bytes += first.empty() ? sizeof(HrpbInt) * nrows : (sizeof(HrpbInt) + sizeof(int32_t)) * first.size();
  if (p->kernel && plan->order) bytes += sizeof(int32_t) * nrows;
  if (p->kernel && plan->blocks) bytes += sizeof(VectorBlock) * (size_t)plan->nblocks + sizeof(uint8_t) * nrows;
  return (double)bytes;
}

static void TimeProducts(const TimedMatrix *t, std::vector<TimedProduct> *products)
{
  std::vector<std::vector<double>> ms(products->size());
  std::vector<cudaEvent_t>         events(2 * TIMES_IN_ROW);
  HrpbScalar                      *number;

  for (cudaEvent_t &e : events) Check(cudaEventCreate(&e));
  Check(cudaMalloc(&number, sizeof(*number)));
  for (int round = 0; round < TIMES_ROUNDS; round++) {
    for (size_t p = 0; p < products->size(); p++) {
      Spin<<<1, 1>>>(TIMES_SPIN, number);
      for (int i = 0; i < TIMES_IN_ROW; i++) {
        Check(cudaEventRecord(events[2 * i]));
        MakeProduct(t, &(*products)[p]);
        Check(cudaEventRecord(events[2 * i + 1]));
      }
      Check(cudaDeviceSynchronize());
      for (int i = 0; i < TIMES_IN_ROW; i++) {
        float one;

        Check(cudaEventElapsedTime(&one, events[2 * i], events[2 * i + 1]));
        ms[p].push_back(one);
      }
    }
  }
  for (size_t p = 0; p < products->size(); p++) (*products)[p].ms = MedianOf(ms[p]);
  for (cudaEvent_t e : events) cudaEventDestroy(e);
  cudaFree(number);
}

/* Time all products with M, which is host or, for cuSPARSE, the transpose of original */
static void TimeMatrix(const VectorTimes *v, const char *name, const Matrix *host, const SpmmMatrix *M, const SpmmMatrix *original, bool variants)
{
  const cusparseIndexType_t index = sizeof(HrpbInt) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  const HrpbScalar          one = 1, zero = 0;
  TimedMatrix               t = {.M = *M, .operation = M == original ? CUSPARSE_OPERATION_NON_TRANSPOSE : CUSPARSE_OPERATION_TRANSPOSE};
  std::vector<HrpbScalar>   x((size_t)M->ncols);
  std::vector<TimedProduct> products = ProductsOf(&t, variants);
  double                    errors   = 0;

  for (HrpbScalar &e : x) e = Uniform();
  t.x = Upload(x);
  Check(cudaMalloc(&t.y, sizeof(HrpbScalar) * (size_t)M->nrows));
  Check(cudaMalloc(&t.work, sizeof(HrpbScalar) * (size_t)(M->vector->nparts + 1)));
  Check(cusparseCreate(&t.handle));
  Check(cusparseCreateCsr(&t.a, original->nrows, original->ncols, M->vector->nnz, (void *)original->rowptr, (void *)original->colidx, (void *)original->values, index, index, CUSPARSE_INDEX_BASE_ZERO, scalar_type));
  Check(cusparseCreateDnVec(&t.dx, M->ncols, t.x, scalar_type));
  Check(cusparseCreateDnVec(&t.dy, M->nrows, t.y, scalar_type));
  for (int a = 0; a < 2; a++) {
    size_t size;

    Check(cusparseSpMV_bufferSize(t.handle, t.operation, &one, t.a, t.dx, &zero, t.dy, scalar_type, AlgorithmOf(a), &size));
    Check(cudaMalloc(&t.buffer[a], size + 1));
    Check(cusparseSpMV_preprocess(t.handle, t.operation, &one, t.a, t.dx, &zero, t.dy, scalar_type, AlgorithmOf(a), t.buffer[a]));
  }
  for (TimedProduct &p : products) {
    Check(cudaMemset(t.y, 0xff, sizeof(HrpbScalar) * (size_t)M->nrows));
    MakeProduct(&t, &p);
    Check(cudaDeviceSynchronize());
    p.error = ErrorOf(&t, host, x.data());
    errors  = std::max(errors, p.kernel ? p.error : 0);
  }
  Report(errors < (sizeof(HrpbScalar) == 8 ? 1e-13 : 1e-5), "wrong", name);
  TimeProducts(&t, &products);
  for (const TimedProduct &p : products) fprintf(v->csv, "%s%s,%s,%.5f,%.3f,%.3f,%.1e,%s,%s,%s,%d.%d\n", name, M == original ? "" : " transposed", p.name.c_str(), p.ms, products[0].ms / p.ms, BytesOf(host, &p) / v->copied / p.ms, p.error, sizeof(HrpbScalar) == 8 ? "double" : "single", v->commit, v->gpu, v->cuda / 1000, v->cuda % 100 / 10);
  fflush(v->csv);
  printf("%-24s%s %9.5f ms, %s %.3f\n", name, M == original ? "" : " transposed", products[0].ms, products[2].name.c_str(), products[0].ms / products[2].ms);
  fflush(stdout);
  for (void *p : {(void *)t.x, (void *)t.y, t.work, t.buffer[0], t.buffer[1]}) cudaFree(p);
  cusparseDestroyDnVec(t.dx);
  cusparseDestroyDnVec(t.dy);
  cusparseDestroySpMat(t.a);
  cusparseDestroy(t.handle);
}

static Matrix TransposeOf(const Matrix *A, const VectorTranspose *t, int64_t nnz)
{
  return {A->name, A->ncols, A->nrows, Download(t->rowptr, A->ncols + 1), Download(t->colidx, nnz), Download(t->values, nnz)};
}

static void TimeAll(const VectorTimes *v, const Matrix &A, bool variants, bool transposes)
{
  HrpbInt        *rowptr = Upload(A.rowptr), *colidx = Upload(A.colidx);
  HrpbScalar     *values = Upload(A.values);
  VectorPlan      plan;
  VectorTranspose t;
  SpmmMatrix      M = {.nrows = A.nrows, .ncols = A.ncols, .rowptr = rowptr, .colidx = colidx, .values = values, .vector = &plan};

  Check(VectorPlanDevice(A.nrows, A.ncols, rowptr, NULL, &plan));
  Check(VectorNodesDevice(rowptr, colidx, NULL, &plan));
  Check(VectorColumnsDevice(rowptr, colidx, NULL, &plan));
  TimeMatrix(v, A.name, &A, &M, &M, variants);
  if (transposes) {
    Check(VectorTransposeDevice(rowptr, colidx, NULL, &plan, &t));
    Check(VectorTransposeValuesDevice(plan.first, values, NULL, &t));
    const Matrix     B = TransposeOf(&A, &t, plan.nnz);
    const SpmmMatrix N = {.nrows = A.ncols, .ncols = A.nrows, .rowptr = t.rowptr, .colidx = t.colidx, .values = t.values, .vector = &t.plan};

    TimeMatrix(v, A.name, &B, &N, &M, false);
    VectorTransposeDestroyDevice(&t, NULL);
  }
  VectorPlanDestroyDevice(&plan, NULL);
  for (void *p : {(void *)rowptr, (void *)colidx, (void *)values}) cudaFree(p);
}

/* A number of PETSc's binary files */
template <typename T>
static T BigEndian(const unsigned char *p)
{
  unsigned char turned[sizeof(T)];
  T             x;

  for (size_t i = 0; i < sizeof(T); i++) turned[i] = p[sizeof(T) - 1 - i];
  memcpy(&x, turned, sizeof(T));
  return x;
}

/* A matrix in PETSc's binary format, with double values. The name is the caller's */
static Matrix ReadMatrix(const std::string &file, const char *name)
{
  enum {
    HEADER = 16
  };
  Matrix                     A = {name, 0, 0, {0}, {}, {}};
  std::vector<unsigned char> text;
  FILE                      *f = fopen(file.c_str(), "rb");

  Check(f ? 0 : 1);
  fseek(f, 0, SEEK_END);
  text.resize((size_t)ftell(f));
  rewind(f);
  Check(text.size() >= HEADER && fread(text.data(), 1, text.size(), f) == text.size() ? 0 : 1);
  fclose(f);
  A.nrows           = BigEndian<int32_t>(&text[4]);
  A.ncols           = BigEndian<int32_t>(&text[8]);
  const int64_t nnz = BigEndian<int32_t>(&text[12]);

  Check(text.size() == HEADER + 4 * (size_t)A.nrows + 12 * (size_t)nnz ? 0 : 1);
  for (int64_t i = 0; i < A.nrows; i++) A.rowptr.push_back(A.rowptr.back() + BigEndian<int32_t>(&text[HEADER + 4 * i]));
  for (int64_t k = 0; k < nnz; k++) {
    A.colidx.push_back(BigEndian<int32_t>(&text[HEADER + 4 * (A.nrows + k)]));
    A.values.push_back((HrpbScalar)BigEndian<double>(&text[HEADER + 4 * (A.nrows + nnz) + 8 * k]));
  }
  return A;
}

/* Whether a name is in a list with commas. An empty list has all */
static bool Named(const std::string &list, const char *name)
{
  return list.empty() || ("," + list + ",").find(std::string(",") + name + ",") != std::string::npos;
}

/* Matrices that are generated, and those of files, both lists with commas. Unsymmetric ones with their transposes */
static void TimeVectors(VectorTimes *v, const std::string &matrices, const std::string &files, bool variants)
{
  const size_t   bytes = (size_t)1 << 30;
  void          *from, *to;
  cudaDeviceProp prop;

  Check(cudaGetDeviceProperties(&prop, 0));
  Check(cudaRuntimeGetVersion(&v->cuda));
  v->gpu = prop.name;
  Check(cudaMalloc(&from, bytes));
  Check(cudaMalloc(&to, bytes));
  v->copied = 2 * (double)bytes / Median(9, [&] { Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, NULL)); });
  cudaFree(from);
  cudaFree(to);
  printf("%s, %.0f GB/s of a copy\n", v->gpu, v->copied * 1e-6);
  fprintf(v->csv, "matrix,kernel,ms,over_cusparse,of_copy,error,precision,commit,gpu,cuda\n");
  if (Named(matrices, "stencil27")) TimeAll(v, Grid("stencil27", 96, 1, true), variants, false);
  if (Named(matrices, "poisson7")) TimeAll(v, Grid("poisson7", 128, 1, false), variants, false);
  if (Named(matrices, "elasticity")) TimeAll(v, Grid("elasticity", 64, 3, true), variants, false);
  if (Named(matrices, "dof8")) TimeAll(v, Grid("dof8", 40, 8, true), variants, false);
  if (Named(matrices, "uniform")) TimeAll(v, Scattered(1 << 19, 16), variants, true);
  if (Named(matrices, "rmat")) TimeAll(v, RMat(1 << 19, 16), variants, true);
  if (Named(matrices, "powerlaw")) TimeAll(v, PowerLaw(1 << 19), variants, true);
  for (size_t at = 0; at < files.size();) {
    const size_t      end = std::min(files.find(',', at), files.size()), slash = files.rfind('/', end);
    const std::string file = files.substr(at, end - at), base = file.substr(slash == std::string::npos || slash < at ? 0 : slash + 1 - at);
    const std::string name = base.substr(0, base.find('.'));

    TimeAll(v, ReadMatrix(file, name.c_str()), variants, true);
    at = end + 1;
  }
}
