static char help[] = "One product C = A B of a sparse matrix with a block of N dense vectors: time, error and speed of -mat_type beside those of -compare_type.\n\n"
                     "  ./spmm -generate elasticity -size 32 -N 8,32,128\n"
                     "  ./spmm -f matrix.mtx -mat_type aijtcu -compare_type aijcusparse -csv results.csv\n\n";

#include "csv.h"
#include "files.h"
#include "generate.h"
#include "measure.h"
#include "machine.h"
#include "matload.h"
#include "options.h"
#include "pathtaken.h"
#include <petscaijtcu.h>

typedef struct {
  char         file[PETSC_MAX_PATH_LEN], compare[64], dense[64];
  PetscBool    load, test, permuted, lock; /* -f, -test_output, -permuted, -page_locked */
  ExampleTable table;
  GenerateKind kind;
  PetscInt     n, *N, count, repeat;
  PetscReal    tolerance;
} Options;

static PetscErrorCode GetOptions(MPI_Comm comm, Options *o)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(PetscStrncpy(o->compare, MATAIJ, sizeof(o->compare)));
  o->repeat    = 20;
  o->tolerance = 100 * PETSC_MACHINE_EPSILON;
  PetscOptionsBegin(comm, NULL, "Sparse matrix times dense matrix", NULL);
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-f", "File with the sparse matrix (.mtx, .mtx.gz, PETSc binary)", o->file, sizeof(o->file), &o->load));
  PetscCall(PetscOptionsEnum("-generate", "Matrix to generate", NULL, GenerateKinds, (PetscEnum)o->kind, (PetscEnum *)&o->kind, NULL));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-size", "Its size: nodes a side of the grid (elasticity, poisson7, stencil27, dof8, tetra; default 24) or rows (default 20000)", 0, &o->n));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-permuted", "Rows and columns in the same random order", &o->permuted));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-N", "Columns of the dense matrix, a list", "8,32,128", &o->count, &o->N));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-compare_type", "Matrix type to compare with; its options have the prefix compare_", o->compare, sizeof(o->compare), NULL));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-dense_type", "Type of the dense matrices (dense|densecuda); default: where the vectors of the sparse type live", o->dense, sizeof(o->dense), NULL));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-page_locked", "Dense matrices of the host in page-locked memory, for a GPU", &o->lock));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-repeat", "Products timed, after a first one and two to warm up", 1, &o->repeat));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-tolerance", "Largest |C - Cref| / (|A| |B|) of any entry that is not an error", &o->tolerance));
  PetscCall(ExampleOptionsTable(PetscOptionsObject, &o->table));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine", &o->test));
  PetscOptionsEnd();
  PetscCall(ExampleMatTypesCheck(comm, o->dense[0] ? 2 : 1, (char *const[]){o->compare, o->dense}));
  PetscCall(ExampleFilesCheckRead(comm, o->load, (char *const[]){o->file}));
  if (!o->n) o->n = GenerateIsGrid(o->kind) ? 24 : 20000;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix under test and its copy of the other type */
static PetscErrorCode CreateMatrices(MPI_Comm comm, const Options *o, Mat *A, Mat *R)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  if (o->load) PetscCall(ExampleMatLoad(comm, o->file, *A));
  else PetscCall(GenerateMatrix(o->kind, o->n, o->permuted, *A));
  PetscCall(MatConvert(*A, o->compare, MAT_INITIAL_MATRIX, R));
  PetscCall(MatSetOptionsPrefix(*R, "compare_"));
  PetscCall(MatSetFromOptions(*R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where dense matrices for products with A are best kept */
static PetscErrorCode DenseType(const Options *o, Mat A, const char **type)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(ExampleMatOnDevice(A, &device));
  *type = o->dense[0] ? o->dense : device ? MATDENSECUDA
                                          : MATDENSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ran: the type, and for MATAIJTCU the paths of the products since earlier counts */
static PetscErrorCode Describe(Mat A, const MatAIJTCUCounts *before, char text[], size_t len)
{
  MatType type;
  char    paths[32];

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(ExamplePathTaken(A, before, paths, sizeof(paths)));
  if (paths[0]) PetscCall(PetscSNPrintf(text, len, "%s (%s)", type, paths));
  else PetscCall(PetscStrncpy(text, type, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  char           type[64];
  const char    *dense;
  Timing         time;
  PetscLogDouble flops, bytes; /* per second of the median product */
  Mat            C;
} Side;

/* Multiply with one of the types. Bytes: A, B and C once each, the least that must move */
static PetscErrorCode Multiply(const Options *o, Mat A, PetscInt N, Side *s)
{
  MatAIJTCUCounts before;
  MatInfo         info;
  PetscInt        m, n;
  char           *cuda;

  PetscFunctionBegin;
  PetscCall(DenseType(o, A, &s->dense));
  PetscCall(ExamplePathCounts(A, &before));
  PetscCall(PetscStrstr(s->dense, "cuda", &cuda));
  PetscCall(MeasureProduct(A, s->dense, N, o->repeat, (PetscBool)(o->lock && !cuda), &s->time, &s->C));
  if (o->lock && !cuda) s->dense = "dense (page-locked)";
  PetscCall(Describe(A, &before, s->type, sizeof(s->type)));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetSize(A, &m, &n));
  s->flops = 2 * info.nz_used * N / s->time.steady.median;
  s->bytes = (info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt)) + (double)m * sizeof(PetscInt) + (double)N * (m + n) * sizeof(PetscScalar)) / s->time.steady.median;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char columns[] = "matrix,rows,cols,nonzeros,N,ranks,precision,type,dense_type,first_s,median_s,least_s,gflops,gbytes_per_s,compare_type,compare_dense_type,compare_first_s,compare_median_s,speed_ratio,error,commit,petsc,cuda,machine";

static PetscErrorCode AppendCSV(const Options *o, const char name[], Mat A, PetscInt N, const Side *t, const Side *r, PetscReal error)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)A);
  FILE       *fp;
  PetscMPIInt size;
  PetscInt    m, n;
  MatInfo     info;
  char        machine[128], petsc[32], cuda[16];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(ExampleCUDAVersion(A, cuda, sizeof(cuda)));
  PetscCall(ExampleMachine(A, machine, sizeof(machine)));
  PetscCall(ExampleCSVOpen(comm, o->table.file, columns, &fp));
  PetscCall(PetscFPrintf(comm, fp, "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%.0f,%" PetscInt_FMT ",%d,%s,", name, m, n, info.nz_used, N, size, PetscDefined(USE_REAL_SINGLE) ? "single" : "double"));
  PetscCall(PetscFPrintf(comm, fp, "%s,%s,%.4e,%.4e,%.4e,%.5g,%.5g,", t->type, t->dense, t->time.first, t->time.steady.median, t->time.steady.least, t->flops / 1e9, t->bytes / 1e9));
  PetscCall(PetscFPrintf(comm, fp, "%s,%s,%.4e,%.4e,%.4g,%.3e,%s,%s,%s,\"%s\"\n", r->type, r->dense, r->time.first, r->time.steady.median, r->time.steady.median / t->time.steady.median, (double)error, o->table.commit, petsc, cuda, machine));
  PetscCall(PetscFClose(comm, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line for one number of columns */
static PetscErrorCode Run(const Options *o, const char name[], Mat A, Mat R, PetscInt N, PetscReal *error)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  Side     t, r;

  PetscFunctionBegin;
  PetscCall(Multiply(o, A, N, &t));
  PetscCall(Multiply(o, R, N, &r));
  PetscCall(ProductError(A, t.C, r.C, error));
  if (o->test) PetscCall(PetscPrintf(comm, "N %" PetscInt_FMT ": %s\n", N, *error <= o->tolerance ? "equal" : "DIFFERENT"));
  else PetscCall(PetscPrintf(comm, "%5" PetscInt_FMT "  %-30s %10.4f %9.2f %8.2f   %-30s %10.4f %8.2fx   %.1e\n", N, t.type, 1e3 * t.time.steady.median, t.flops / 1e9, t.bytes / 1e9, r.type, 1e3 * r.time.steady.median, r.time.steady.median / t.time.steady.median, (double)*error));
  if (!o->test && t.time.exchange.wait > 0) PetscCall(PetscPrintf(comm, "       of these to pack %.4f, to wait for others %.4f, for the off-diagonal block %.4f ms\n", 1e3 * t.time.exchange.pack, 1e3 * t.time.exchange.wait, 1e3 * t.time.exchange.offdiagonal));
  if (o->table.file[0]) PetscCall(AppendCSV(o, name, A, N, &t, &r, *error));
  PetscCall(MatDestroy(&t.C));
  PetscCall(MatDestroy(&r.C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintHeader(const Options *o, const char name[], Mat A)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)A);
  PetscMPIInt size;
  PetscInt    m, n;
  MatInfo     info;
  char        machine[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(PetscPrintf(comm, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %.0f nonzeros\n", name, m, n, info.nz_used));
  if (o->test) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ExampleMachine(A, machine, sizeof(machine)));
  PetscCall(PetscPrintf(comm, "%d rank%s, %s, median of %" PetscInt_FMT " products, GB/s as if A, B and C moved once\n\n", size, size > 1 ? "s" : "", machine, o->repeat));
  PetscCall(PetscPrintf(comm, "    N  %-30s %10s %9s %8s   %-30s %10s %9s   %s\n", "type", "ms", "GFLOP/s", "GB/s", "compared with", "ms", "speed", "|C-Cref|/|A||B|"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  MPI_Comm    comm;
  Options     o;
  Mat         A, R;
  PetscMPIInt size;
  PetscReal   error, worst = 0;
  const char *name;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  comm = PETSC_COMM_WORLD;
  PetscCall(GetOptions(comm, &o));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1) PetscCall(PetscLogDefaultBegin()); /* times what processes exchange */
  PetscCall(CreateMatrices(comm, &o, &A, &R));
  name = o.load ? o.file : GenerateKinds[o.kind];
  PetscCall(PrintHeader(&o, name, A));
  for (PetscInt k = 0; k < o.count; k++) {
    PetscCall(Run(&o, name, A, R, o.N[k], &error));
    worst = PetscMax(worst, error);
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(PetscFree(o.N));
  PetscCheck(worst <= o.tolerance, comm, PETSC_ERR_PLIB, "The two products differ by %g of |A| |B|, more than -tolerance %g", (double)worst, (double)o.tolerance);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: generated
      nsize: {{1 4}}
      args: -test_output -generate {{elasticity poisson7 stencil27 dof8}separate output} -size 5 -N 1,8,13 -repeat 1 -mat_type aijtcu
      diff_args: -j

   test:
      suffix: rows
      nsize: {{1 4}}
      args: -test_output -generate {{banded random rmat arrow}separate output} -size 300 -N 1,8,13 -repeat 1 -mat_type aijtcu
      diff_args: -j

   test:
      suffix: paths
      nsize: {{1 3}}
      args: -test_output -generate stencil27 -size 6 -N 7,32 -repeat 2 -mat_type aijtcu -mat_aijtcu_path {{tcu csr}} -mat_aijtcu_format {{8,64,32,1 16,64,32,1}} -compare_type aijtcu -compare_mat_aijtcu_path cusparse
      diff_args: -j

   test: # rows of B in shared memory: about as many panels as an H200 has multiprocessors; columns of B aligned, or not
      suffix: panels
      requires: cuda
      args: -test_output -generate stencil27 -size {{37 38}separate output} -N 2,9 -repeat 1 -mat_type aijtcu -mat_aijtcu_path csr
      diff_args: -j

   test:
      suffix: file
      nsize: {{1 2}}
      args: -test_output -f rectangle.mtx -N 1,3 -repeat 1 -csv spmm.csv -mat_type {{aij aijtcu}}
      localrunfiles: rectangle.mtx
      diff_args: -j

   test: # sums that overflow, to the same infinity with both types
      suffix: infinite
      requires: double
      nsize: {{1 2}}
      args: -test_output -f infinite.mtx -N 1-17 -repeat 1 -mat_type aijtcu -mat_aijtcu_path {{tcu csr}}
      localrunfiles: infinite.mtx
      filter: sed "s,^N [0-9]*,N," | uniq

   test: # before anything is multiplied
      suffix: type
      args: -generate poisson7 -size 3 -N 1 -compare_type banana
      filter: Error: grep -o -m 1 -e "poisson7: [0-9].*" -e "Unknown Mat type given: banana"

TEST*/
