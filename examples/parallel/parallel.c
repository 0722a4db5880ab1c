static char help[] = "Products of parallel matrices as a block eigensolver makes them: created, set up, run and cleared each time. Time, what the processes exchange, and how\n"
                     "long they are seen to wait for it. With -partitions also what is exchanged if there were other numbers of processes.\n\n"
                     "  mpiexec -n 2 ./parallel -N 32,96 -csv parallel.csv\n"
                     "  mpiexec -n 2 ./parallel -halos auto,mpi,nccl -products AB,AtB\n"
                     "  mpiexec -n 4 ./parallel -weak -families stencil27 -partitions 8,16,32,64\n\n";

#include "csv.h"
#include "exchange.h"
#include "family.h"
#include "machine.h"
#include "options.h"
#include "spread.h"
#include <petscaijtcu.h>
#include <petsc/private/hashseti.h>

typedef struct {
  char    **family, **halo, **product;
  PetscInt  families, halos, products, *N, count, *parts, partitions, repeat;
  PetscReal scale;
  PetscBool weak, test;
  ExampleTable table;
} Options;

/* What a partition lets the processes exchange: rows of B that one of them needs, and processes that these come from */
typedef struct {
  PetscInt ghosts, most_ghosts, most_neighbours;
} Partition;

static const char columns[] = "halo,matrix,processes,measured,weak,transposed,rows,nonzeros,N,repeat,product_s,least_s,pack_s,exchange_s,offdiagonal_s,ghosts,most_ghosts,most_neighbours,precision,commit,petsc,cuda,machine";

/* Whether a word is AB or AtB */
static PetscErrorCode IsTransposed(const char product[], PetscBool *transposed)
{
  PetscBool plain;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(product, "AB", &plain));
  PetscCall(PetscStrcmp(product, "AtB", transposed));
  PetscCheck(plain || *transposed, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-products %s: must be AB or AtB", product);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FindHalo(const char name[], MatAIJTCUHalo *halo)
{
  PetscInt  k;
  PetscBool found;

  PetscFunctionBegin;
  PetscCall(PetscEListFind(MAT_AIJTCU_HALO_NCCL + 1, MatAIJTCUHalos, name, &k, &found));
  PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-halos %s: must be auto, mpi or nccl", name);
  *halo = (MatAIJTCUHalo)k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOptions(Options *o)
{
  MatAIJTCUHalo halo;
  PetscBool     device, set;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(ExampleHasDevice(&device));
  o->repeat = 20;
  o->scale  = device ? 1 : (PetscReal)0.01;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of parallel products", NULL);
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-families", "Matrices to generate, a list, as for bench", "elasticity", &o->families, &o->family));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-scale", "Rows by those of a full benchmark; default: 1 with a GPU, 0.01 without", &o->scale));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-weak", "As many cubes of a grid, one behind the other, as there are processes; of other matrices as many times as many rows", &o->weak));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-products", "Products, a list: AB, AtB", "AB", &o->products, &o->product));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-halos", "Ways of the halo, a list in place of -mat_aijtcu_halo: auto, mpi, nccl; default: that which is set", "", &o->halos, &o->halo));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-N", "Columns of the dense matrix, a list", "32,96", &o->count, &o->N));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-partitions", "Numbers of processes of which only the exchange is found out, a list; default: none", "1", &o->partitions, &o->parts));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-repeat", "Products timed, after three to warm up", 1, &o->repeat));
  PetscCall(ExampleOptionsTable(PetscOptionsObject, &o->table));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine", &o->test));
  PetscOptionsEnd();
  PetscCall(PetscOptionsHasName(NULL, NULL, "-partitions", &set));
  if (!set) o->partitions = 0;
  PetscCheck(o->scale > 0 && o->scale <= 16, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-scale %g: must be positive, and 16 at most", (double)o->scale);
  PetscCall(FamilyCheck(o->families, o->family));
  for (PetscInt k = 0; k < o->products; k++) PetscCall(IsTransposed(o->product[k], &set));
  for (PetscInt k = 0; k < o->halos; k++) PetscCall(FindHalo(o->halo[k], &halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Count the columns of rows that are outside of rows start to end - 1 of all, and the parts that these are in */
static PetscErrorCode CountGhosts(const GenerateCSR *csr, const PetscInt starts[], PetscInt part, PetscInt parts, PetscInt *ghosts, PetscInt *neighbours)
{
  PetscHSetI seen, owners;

  PetscFunctionBegin;
  PetscCall(PetscHSetICreate(&seen));
  PetscCall(PetscHSetICreate(&owners));
  for (PetscInt k = 0; k < csr->i[csr->m]; k++) {
    PetscBool missing;
    PetscInt  owner;

    if (csr->j[k] >= starts[part] && csr->j[k] < starts[part + 1]) continue;
    PetscCall(PetscHSetIQueryAdd(seen, csr->j[k], &missing));
    if (!missing) continue;
    PetscCall(PetscFindInt(csr->j[k], parts + 1, starts, &owner));
    PetscCall(PetscHSetIAdd(owners, owner < 0 ? -owner - 2 : owner));
  }
  PetscCall(PetscHSetIGetSize(seen, ghosts));
  PetscCall(PetscHSetIGetSize(owners, neighbours));
  PetscCall(PetscHSetIDestroy(&seen));
  PetscCall(PetscHSetIDestroy(&owners));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What would be exchanged by that many processes. Those at hand share their parts */
static PetscErrorCode FindPartition(const char name[], PetscReal scale, PetscInt copies, PetscInt parts, PetscInt *rows, PetscInt64 *nonzeros, Partition *x)
{
  PetscMPIInt rank, size;
  PetscInt   *starts;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMemzero(x, sizeof(*x)));
  PetscCall(PetscMalloc1(parts + 1, &starts));
  PetscCall(FamilyStarts(name, scale, copies, parts, starts));
  *rows     = starts[parts];
  *nonzeros = 0;
  for (PetscInt part = rank; part < parts; part += size) {
    GenerateCSR csr;
    PetscInt    ghosts = 0, neighbours = 0;

    PetscCall(FamilyRowsOf(name, scale, copies, starts[part], starts[part + 1], &csr));
    PetscCall(CountGhosts(&csr, starts, part, parts, &ghosts, &neighbours));
    *nonzeros += csr.i[csr.m];
    PetscCall(GenerateCSRDestroy(&csr));
    x->ghosts += ghosts;
    x->most_ghosts     = PetscMax(x->most_ghosts, ghosts);
    x->most_neighbours = PetscMax(x->most_neighbours, neighbours);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, nonzeros, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &x->ghosts, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &x->most_ghosts, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &x->most_neighbours, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscFree(starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of a matrix that there is */
static PetscErrorCode PartitionOf(Mat A, PetscInt *rows, PetscInt64 *nonzeros, Partition *x)
{
  const PetscInt *ghosts = NULL, *starts;
  PetscInt        n = 0, neighbours = 0;
  PetscMPIInt     size;
  MatInfo         info;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetSize(A, rows, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  *nonzeros = (PetscInt64)info.nz_used;
  if (size > 1) PetscCall(MatGetGhosts(A, &n, &ghosts));
  PetscCall(MatGetOwnershipRangesColumn(A, &starts));
  for (PetscInt k = 0, part = -1; k < n; k++) { /* they ascend */
    if (part >= 0 && ghosts[k] < starts[part + 1]) continue;
    for (part = PetscMax(part, 0); ghosts[k] >= starts[part + 1]; part++);
    neighbours++;
  }
  *x = (Partition){n, n, neighbours};
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &x->ghosts, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &x->most_ghosts, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &x->most_neighbours, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Spread   product;
  Exchange exchange; /* seconds of a product */
} Times;

/* The life of a product, except that C stays */
static PetscErrorCode Product(Mat A, PetscBool transposed, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductClear(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time products. The slowest process counts each time */
static PetscErrorCode TimeProducts(const Options *o, Mat A, PetscBool transposed, Mat B, Mat C, Times *t)
{
  const PetscLogDouble repeat = (PetscLogDouble)o->repeat;
  PetscReal           *seconds;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(o->repeat, &seconds));
  for (PetscInt k = -3; k < o->repeat; k++) {
    PetscLogDouble begin, end;

    if (k == 0) PetscCall(ExampleExchangeNow(PETSC_DETERMINE, &t->exchange));
    PetscCall(ExampleSynchronize(A));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(ExampleTime(A, &begin));
    PetscCall(Product(A, transposed, B, C));
    PetscCall(ExampleTime(A, &end));
    if (k >= 0) seconds[k] = (PetscReal)(end - begin);
  }
  PetscCall(ExampleExchangeSince(PETSC_COMM_WORLD, PETSC_DETERMINE, &t->exchange));
  t->exchange = (Exchange){t->exchange.pack / repeat, t->exchange.wait / repeat, t->exchange.offdiagonal / repeat};
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, seconds, (PetscMPIInt)o->repeat, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(SpreadOf(o->repeat, seconds, &t->product));
  PetscCall(PetscFree(seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix with aligned columns, as SLEPc has them. They matter where a process has an odd number of rows */
static PetscErrorCode CreateDense(Mat A, PetscInt N, Mat *D)
{
  const PetscInt unit = PetscMax(PETSC_MEMALIGN, 16) / (PetscInt)sizeof(PetscScalar);
  PetscInt       m;
  VecType        vectype;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, NULL, &m));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, vectype, m, PETSC_DECIDE, PETSC_DETERMINE, N, (m + unit - 1) / unit * unit, NULL, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column j of B has the entries GenerateValue(i, -1 - j), on any number of processes */
static PetscErrorCode CreateB(Mat A, PetscInt N, Mat *B)
{
  PetscScalar *b;
  PetscInt     m, first, lda;

  PetscFunctionBegin;
  PetscCall(CreateDense(A, N, B));
  PetscCall(MatGetLocalSize(*B, &m, NULL));
  PetscCall(MatGetOwnershipRange(*B, &first, NULL));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < m; i++) b[i + (size_t)j * (size_t)lda] = GenerateValue(first + i, -1 - j);
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateA(const char name[], PetscReal scale, PetscInt copies, Mat *A)
{
  GenerateCSR csr;
  PetscMPIInt rank, size;
  PetscInt   *starts, m;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(size + 1, &starts));
  PetscCall(FamilyStarts(name, scale, copies, size, starts));
  m = starts[rank + 1] - starts[rank];
  PetscCall(FamilyRowsOf(name, scale, copies, starts[rank], starts[rank + 1], &csr));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, m, starts[size], starts[size]));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, csr.i, csr.j, csr.a));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, csr.i, csr.j, csr.a));
  PetscCall(GenerateCSRDestroy(&csr));
  PetscCall(PetscFree(starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of the table. Without times it is one of a partition that is only thought of */
static PetscErrorCode AppendCSV(const Options *o, const char halo[], const char name[], PetscBool transposed, PetscInt processes, PetscInt rows, PetscInt64 nonzeros, PetscInt N, const Times *t, const Partition *x)
{
  const Times none = {.product = {0, 0}};
  FILE       *fp;
  Mat         A;
  char        petsc[32], cuda[16], machine[128];

  PetscFunctionBegin;
  if (!o->table.file[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ExampleMachineMat(&A));
  PetscCall(ExampleMachine(A, machine, sizeof(machine)));
  PetscCall(ExampleCUDAVersion(A, cuda, sizeof(cuda)));
  PetscCall(MatDestroy(&A));
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(ExampleCSVOpen(PETSC_COMM_WORLD, o->table.file, columns, &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%s,%s,%" PetscInt_FMT ",%d,%d,%d,%" PetscInt_FMT ",%" PetscInt64_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",", halo, name, processes, t != NULL, o->weak, transposed, rows, nonzeros, N, t ? o->repeat : 0));
  if (!t) t = &none;
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%.4e,%.4e,%.4e,%.4e,%.4e,", (double)t->product.median, (double)t->product.least, t->exchange.pack, t->exchange.wait, t->exchange.offdiagonal));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%s,%s,%s,%s,\"%s\"\n", x->ghosts, x->most_ghosts, x->most_neighbours, PetscDefined(USE_REAL_SINGLE) ? "single" : "double", o->table.commit, petsc, cuda, machine));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintPartition(PetscInt processes, const Partition *x)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " process%s: rows of others that a process needs: %" PetscInt_FMT " at most, %" PetscInt_FMT " of all, from %" PetscInt_FMT " at most\n", processes, processes == 1 ? "" : "es", x->most_ghosts, x->ghosts, x->most_neighbours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that is measured, by its halo, transposed or not */
typedef struct {
  const char *matrix, *halo;
  PetscBool   transposed;
  PetscInt    rows;
  PetscInt64  nonzeros;
  Partition   exchanged;
} Case;

static PetscErrorCode Measure(const Options *o, const Case *c, Mat A, PetscInt N)
{
  PetscMPIInt size;
  Times       t;
  Mat         B, C;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateB(A, N, &B));
  PetscCall(CreateDense(A, N, &C));
  PetscCall(TimeProducts(o, A, c->transposed, B, C, &t));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  if (!o->test) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  N %3" PetscInt_FMT ", %s, %s: %.4f ms, least %.4f; of these to pack %.4f, to wait for others %.4f, for the off-diagonal block %.4f\n", N, c->transposed ? "AtB" : "AB", c->halo, 1e3 * (double)t.product.median, 1e3 * (double)t.product.least, 1e3 * t.exchange.pack, 1e3 * t.exchange.wait, 1e3 * t.exchange.offdiagonal));
  }
  PetscCall(AppendCSV(o, c->halo, c->matrix, c->transposed, size, c->rows, c->nonzeros, N, &t, &c->exchanged));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the table says of the halo that is set: none on one process, petsc where the product is that of another type */
static PetscErrorCode HaloName(Mat A, const char **name)
{
  PetscMPIInt   size;
  PetscBool     is;
  MatAIJTCUHalo halo;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJTCU, &is));
  *name = size == 1 ? "none" : "petsc";
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJTCUGetHalo(A, &halo));
  *name = MatAIJTCUHalos[halo];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that is asked for: halos, products, numbers of columns. On one process there is one halo */
static PetscErrorCode MeasureAll(const Options *o, Case *c, Mat A)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt h = 0; h < (size > 1 ? PetscMax(1, o->halos) : 1); h++) {
    MatAIJTCUHalo halo;

    if (h < o->halos) {
      PetscCall(FindHalo(o->halo[h], &halo));
      PetscCall(MatAIJTCUSetHalo(A, halo));
    }
    PetscCall(HaloName(A, &c->halo));
    for (PetscInt p = 0; p < o->products; p++) {
      PetscCall(IsTransposed(o->product[p], &c->transposed));
      for (PetscInt k = 0; k < o->count; k++) PetscCall(Measure(o, c, A, o->N[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunFamily(const Options *o, const char name[])
{
  Case        c = {.matrix = name};
  PetscMPIInt size;
  Mat         A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateA(name, o->scale, o->weak ? size : 1, &A));
  PetscCall(PartitionOf(A, &c.rows, &c.nonzeros, &c.exchanged));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt64_FMT " nonzeros\n", name, c.rows, c.rows, c.nonzeros));
  PetscCall(PrintPartition(size, &c.exchanged));
  PetscCall(MeasureAll(o, &c, A));
  PetscCall(MatDestroy(&A));
  for (PetscInt k = 0; k < o->partitions; k++) {
    PetscCall(FindPartition(name, o->scale, o->weak ? o->parts[k] : 1, o->parts[k], &c.rows, &c.nonzeros, &c.exchanged));
    PetscCall(PrintPartition(o->parts[k], &c.exchanged));
    for (PetscInt p = 0; p < o->products; p++) {
      PetscCall(IsTransposed(o->product[p], &c.transposed));
      for (PetscInt n = 0; n < o->count; n++) PetscCall(AppendCSV(o, "", name, c.transposed, o->parts[k], c.rows, c.nonzeros, o->N[n], NULL, &c.exchanged));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  Options o;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(GetOptions(&o));
  for (PetscInt k = 0; k < o.families; k++) PetscCall(RunFamily(&o, o.family[k]));
  PetscCall(ExampleListDestroy(o.families, &o.family));
  PetscCall(ExampleListDestroy(o.products, &o.product));
  PetscCall(ExampleListDestroy(o.halos, &o.halo));
  PetscCall(PetscFree(o.N));
  PetscCall(PetscFree(o.parts));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: exchange
      nsize: {{1 3}separate output}
      args: -test_output -families poisson7,rmat -scale 0.0005 -N 1,5 -repeat 1 -partitions 2,4,7 -csv parallel.csv

   test:
      suffix: weak
      nsize: 2
      args: -test_output -weak -scale 0.0002 -N 3 -repeat 2 -mat_type {{aij aijtcu}} -products {{AB AtB AB,AtB}}

   test:
      suffix: halos
      nsize: 2
      args: -test_output -weak -scale 0.0002 -N 1,3 -repeat 1 -halos auto,mpi -products AtB,AB -csv parallel.csv
      output_file: output/parallel_weak.out

TEST*/
