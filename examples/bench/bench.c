static char help[] = "Products C = A B of many sparse matrices with blocks of N dense vectors: PETSc's own beside every variant of ours, in turn, in one run.\n\n"
                     "  ./bench -csv results.csv\n"
                     "  ./bench -families elasticity,elasticity-permuted,rmat -N 8,32 -variants auto,csr -csv results.csv\n"
                     "  ./bench -f one.mtx,two.mtx -csv results.csv\n"
                     "  ./bench -f @list.txt -csv results.csv        the files that a text file names, one a line\n"
                     "  ./bench -operations sampled,fused -N 32,128 -variants rows,auto,apart -csv results.csv\n\n";

#include "csrmat.h"
#include "family.h"
#include "files.h"
#include "limit.h"
#include "machine.h"
#include "operand.h"
#include "options.h"
#include "pathtaken.h"
#include "reference.h"
#include "rounds.h"
#include "sampled.h"
#include "table.h"
#include <petsctime.h>

enum {
  IS_X = 1, /* numbers of operands: that of B is 0 */
  IS_Z = 2
};

/* Each family, and each again in random order */
static const char usual[] = "elasticity,elasticity-permuted,dof8,dof8-permuted,tetra,tetra-permuted,stencil27,stencil27-permuted,banded,banded-permuted,"
                            "blockarrow,blockarrow-permuted,poisson7,poisson7-permuted,powerlaw,powerlaw-permuted,rmat,rmat-permuted,random,random-permuted";

typedef struct {
  char       **family, **file, **variant, **operation;
  PetscInt     families, files, variants, operations, *N, Ns, most; /* the largest N */
  PetscInt     first;                                               /* columns of the first product of a new pattern */
  PetscReal    scale, tolerance;                                    /* scale; 0 to follow the machine */
  PetscBool    test, vector;                                        /* -test_output, -vector */
  ExampleTable table;
} Options;

/* What -operations names */
static PetscErrorCode OperationsFind(const char name[], PetscBool vector, const Operations **operations)
{
  const Operations *const all[] = {&ProductOperations, &SampledOperations, &FusedOperations};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
    if (strcmp(name, all[k]->name)) continue;
    PetscCheck(!vector || !all[k]->sampled, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "-vector is for products: not with -operations %s", name);
    *operations = vector ? &VectorOperations : all[k];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-operations %s: must be product, sampled or fused", name);
}

static PetscErrorCode VariantCheck(const char name[], const Operations *operations)
{
  const Variant *variant;

  PetscFunctionBegin;
  PetscCall(VariantFind(name, &variant));
  PetscCheck(operations->sampled || !variant->apart, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "-variants %s is for -operations sampled and fused", name);
  PetscCheck(variant->precision != MAT_AIJTCU_PRECISION_TF32 || PetscDefined(USE_REAL_SINGLE), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "-variants %s needs a PETSc in single precision", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOptions(Options *o)
{
  const char *const variants = PetscDefined(USE_REAL_SINGLE) ? "auto,csr,tcu,tcu8,tcu16,reorder,tf32" : "auto,csr,tcu,tcu8,tcu16,reorder";
  PetscBool         files;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  o->tolerance = 100 * PETSC_MACHINE_EPSILON;
  o->first     = 32;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-f", &files));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Benchmark of sparse times dense matrix", NULL);
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-families", "Matrices to generate, a list: elasticity, dof8, tetra, stencil27, banded, blockarrow, poisson7, powerlaw, rmat, random, arrow, layers of pruned networks (pruned1 to pruned99, blocks1 to blocks99: percent of the entries that are left), stand-ins for published graphs and law-ROWS-ENTRIES-LONGEST-PERCENT-SPAN (examples/common/standin.c), each with -permuted behind it for a random order; none by default where there is -f", files ? "" : usual, &o->families, &o->family));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-f", "Files with matrices, a list (.mtx, .mtx.gz, PETSc binary); @FILE is a text file with one of them a line", "", &o->files, &o->file));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-scale", "Rows of generated matrices by those of a full benchmark; default: 1 with a GPU, 0.001 without", &o->scale));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-N", "Columns of the dense matrices, a list", "1,2,3,4,8,16,24,32,64,93,96,128,256", &o->Ns, &o->N));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-first", "Columns of the first product of a new pattern; the most of -N where these are fewer", 1, &o->first));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-variants", "What is compared with the parent type, a list: auto, csr, tcu (bricks), tcu8, tcu16 (bricks of 8 or 16 rows), 16-128-64-4 or another format of bricks, reorder (bricks of the matrix in a better order), tune (path and format by timing a proxy; not by default), in single precision tf32; dense (the matrix as a dense one, where that has 2^28 entries at most), rows (cuSPARSE with row-major operands, whose copies are not timed, on a GPU); for fused products apart (not multiplied in the same pass)", variants, &o->variants, &o->variant));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-operations", "What is timed, a list: product (C = A B), sampled (C = X B^T at the entries of A; the parent is cuSPARSE's), fused (the same times Z)", "product", &o->operations, &o->operation));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-tolerance", "Largest |C - A B| / (|A| |B|) that is not an error; for tf32 it is 2e-3", &o->tolerance));
  PetscCall(ExampleOptionsTable(PetscOptionsObject, &o->table));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-vector", "MatMult() in place of C = A B: with -N 1", &o->vector));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine", &o->test));
  PetscOptionsEnd();
  PetscCheck(o->scale >= 0 && o->scale <= 16, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-scale %g: must be positive, and 16 at most", (double)o->scale);
  PetscCall(OperandMostColumns(o->Ns, o->N, &o->most));
  o->first = PetscMin(o->first, o->most);
  PetscCheck(!o->vector || o->most == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-vector multiplies with one vector: it needs -N 1");
  PetscCall(FamilyCheck(o->families, o->family));
  PetscCall(ExampleFilesCheckRead(PETSC_COMM_SELF, o->files, o->file));
  for (PetscInt k = 0; k < o->operations; k++) {
    const Operations *operations;

    PetscCall(OperationsFind(o->operation[k], o->vector, &operations));
    for (PetscInt v = 0; v < o->variants; v++) PetscCall(VariantCheck(o->variant[v], operations));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyOptions(Options *o)
{
  PetscFunctionBegin;
  PetscCall(ExampleListDestroy(o->families, &o->family));
  PetscCall(ExampleListDestroy(o->files, &o->file));
  PetscCall(ExampleListDestroy(o->variants, &o->variant));
  PetscCall(ExampleListDestroy(o->operations, &o->operation));
  PetscCall(PetscFree(o->N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the products of one matrix share */
typedef struct {
  const Options    *o;
  const Operations *operations;
  const Machine    *machine;
  const char       *name;
  PetscLogDouble    start;
  GenerateCSR       csr;
  Operand          *b, *c, *x, *z;
  Reference         reference;
  MatAIJTCUSynergy  synergy; /* alpha and class */
  PetscInt          n;
  Subject          *subject; /* n subjects, the parent first */
} Run;

static PetscErrorCode Elapsed(const Run *r, PetscReal *seconds)
{
  PetscLogDouble now;

  PetscFunctionBegin;
  PetscCall(PetscTime(&now));
  *seconds = (PetscReal)(now - r->start);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The dense matrices with N columns that all variants share. X and Z are of sampled products alone */
static PetscErrorCode CreateOperands(const Run *r, PetscInt N, Mat *B, Mat *X, Mat *Z)
{
  PetscFunctionBegin;
  *X = *Z = NULL;
  PetscCall(OperandCreateMat(r->b, r->csr.n, N, B));
  if (!r->operations->sampled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(OperandCreateMat(r->x, r->csr.m, N, X));
  PetscCall(OperandCreateMat(r->z, r->csr.n, N, Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a subject needs beside B before an operation begins */
static PetscErrorCode SetOperands(const Run *r, Subject *s, PetscInt N, Mat X, Mat Z)
{
  PetscFunctionBegin;
  s->csr = &r->csr;
  s->X   = X;
  s->Z   = Z;
  if (!r->operations->sampled) PetscCall(OperandCreateMat(r->c, r->csr.m, N, &s->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a variant is one of this operation, on this machine */
static PetscBool Applies(const Run *r, const Variant *variant)
{
  const PetscBool product = (PetscBool)(r->operations == &ProductOperations);

  if (variant->rows) return (PetscBool)(r->machine->device && (product || r->operations == &SampledOperations));
  if (variant->dense) return (PetscBool)(product && VariantSuits(variant, &r->csr));
  return (PetscBool)(!variant->apart || r->operations == &FusedOperations);
}

/* Make the matrix of each variant, and time its first product */
static PetscErrorCode SetUpSubjects(Run *r)
{
  const PetscInt N      = r->o->first;
  MatType        parent = r->machine->device ? MATSEQAIJCUSPARSE : MATSEQAIJ;
  Mat            B, X, Z;

  PetscFunctionBegin;
  PetscCall(CreateOperands(r, N, &B, &X, &Z));
  r->n = 0;
  PetscCall(PetscCalloc1(1 + r->o->variants, &r->subject));
  for (PetscInt v = 0; v <= r->o->variants; v++) {
    Subject *s = &r->subject[r->n];

    PetscCall(VariantFind(v ? r->o->variant[v - 1] : "parent", &s->variant));
    if (!Applies(r, s->variant)) continue;
    r->n++;
    PetscCall(VariantCreateMat(s->variant, &r->csr, parent, &s->A));
    PetscCall(MatGetType(s->A, &s->type));
    PetscCall(SetOperands(r, s, N, X, Z));
    PetscCall(TimeSetUp(s, B, r->operations));
    PetscCall(MatDestroy(&s->C));
    if (!s->variant->ours) continue;
    PetscCall(MatAIJTCUGetSynergy(s->A, &s->synergy));
    r->synergy = s->synergy;
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintHead(const Run *r)
{
  const PetscInt nnz = r->csr.i[r->csr.m];
  PetscReal      elapsed;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " nonzeros", r->name, r->csr.m, r->csr.n, nnz));
  PetscCall(Elapsed(r, &elapsed));
  if (!r->o->test) PetscCall(PetscPrintf(PETSC_COMM_SELF, ", made in %.1f s", (double)elapsed));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintSetUp(const Run *r)
{
  PetscReal elapsed;

  PetscFunctionBegin;
  if (r->o->test) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  alpha %.3f, synergy %s; set-up in ms:", (double)r->synergy.alpha, MatAIJTCUSynergyClasses[r->synergy.cls]));
  for (PetscInt v = 0; v < r->n; v++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %s %.2f", r->subject[v].variant->name, 1e3 * (double)r->subject[v].setup));
  PetscCall(Elapsed(r, &elapsed));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "; at %.1f s\n", (double)elapsed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Tolerance(const Run *r, const Subject *s)
{
  return s->variant->precision == MAT_AIJTCU_PRECISION_TF32 ? (PetscReal)2e-3 : r->o->tolerance;
}

static PetscErrorCode PrintRow(const Run *r, PetscInt N, PetscInt *wrong)
{
  PetscReal elapsed;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s%s", r->operations->sampled ? r->operations->name : "", r->operations->sampled ? ", " : ""));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, r->o->test ? "N %" PetscInt_FMT ":" : "N %3" PetscInt_FMT ":", N));
  for (PetscInt v = 0; v < r->n; v++) {
    const Subject *s = &r->subject[v];

    if (r->o->test) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %s %s", s->variant->name, s->error <= Tolerance(r, s) ? "right" : "WRONG"));
    else if (!v) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %s %.4f ms", s->variant->name, 1e3 * (double)s->steady.median));
    else {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, ", %s %.2fx", s->variant->name, (double)(r->subject[0].steady.median / s->steady.median)));
      /* The host has one way */
      if (s->variant->path == MAT_AIJTCU_PATH_AUTO) PetscCall(PetscPrintf(PETSC_COMM_SELF, " by %s", s->path[0] ? s->path : "the host"));
    }
  }
  PetscCall(Elapsed(r, &elapsed));
  if (!r->o->test) PetscCall(PetscPrintf(PETSC_COMM_SELF, "; at %.1f s", (double)elapsed));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  for (PetscInt v = 0; v < r->n; v++) {
    const Subject *s = &r->subject[v];

    if (s->error <= Tolerance(r, s)) continue;
    ++*wrong;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  ERROR: %s, %s, N = %" PetscInt_FMT ", %s: the error by the sum of the sizes of all terms is %g, more than %g\n", r->name, r->operations->name, N, s->variant->name, (double)s->error, (double)Tolerance(r, s)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Look at a product: is it right, which path does it take, and about how long */
static PetscErrorCode Prepare(Run *r, Subject *s, PetscInt N, Mat B, Mat X, Mat Z)
{
  MatAIJTCUCounts before;

  PetscFunctionBegin;
  PetscCall(SetOperands(r, s, N, X, Z));
  /* Another variant's product is there, and it is right */
  if (!r->operations->sampled) PetscCall(VecSet(r->c->all, (PetscScalar)1e30));
  PetscCall(ExamplePathCounts(s->A, &before));
  PetscCall((*r->operations->begin)(s, B));
  if (r->operations->sampled) PetscCall(ExampleSampledPathTaken(s->A, &before, s->path, sizeof(s->path)));
  else PetscCall(ExamplePathTaken(s->A, &before, s->path, sizeof(s->path)));
  if (r->o->vector && s->variant->ours) {
    MatAIJTCUMult mult;

    PetscCall(MatAIJTCUGetMult(s->A, &mult));
    PetscCall(PetscStrncpy(s->path, r->machine->device ? MatAIJTCUMults[mult] : "", sizeof(s->path)));
  }
  if (r->operations == &SampledOperations) PetscCall(ReferenceSampledError(&r->reference, IS_X, N, s->C, &s->error));
  else PetscCall(ReferenceError(&r->reference, s->C, &s->error));
  for (PetscInt k = 0; k < r->operations->before; k++) PetscCall((*r->operations->numeric)(s, B));
  PetscCall(TimeOnce(s, B, r->operations->numeric, &s->once));
  if (!s->variant->ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJTCUGetSynergy(s->A, &s->synergy));
  /* The facts name the kernel of products */
  if (!r->operations->sampled) PetscCall(MatAIJTCUGetFacts(s->A, N, &s->facts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Measure(Run *r, PetscInt N, PetscInt *wrong)
{
  Mat     B, X, Z;
  Spread *spread;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(r->n, &spread));
  PetscCall(CreateOperands(r, N, &B, &X, &Z));
  if (r->operations == &FusedOperations) PetscCall(ReferenceSetFused(&r->reference, IS_X, IS_Z, N));
  else if (r->operations != &SampledOperations) PetscCall(ReferenceSetColumns(&r->reference, N));
  for (PetscInt v = 0; v < r->n; v++) PetscCall(Prepare(r, &r->subject[v], N, B, X, Z));
  PetscCall(TimeInTurn(r->n, r->subject, B, r->operations->numeric, spread));
  for (PetscInt v = 0; v < r->n; v++) {
    r->subject[v].steady = spread[v];
    PetscCall((*r->operations->end)(&r->subject[v], B));
  }
  if (r->operations->cycle) {
    PetscCall(TimeInTurn(r->n, r->subject, B, r->operations->cycle, spread));
    for (PetscInt v = 0; v < r->n; v++) r->subject[v].cycle = spread[v];
  }
  for (PetscInt v = 0; v < r->n; v++) PetscCall(MatDestroy(&r->subject[v].C));
  PetscCall(PetscFree(spread));
  PetscCall(PrintRow(r, N, wrong));
  for (PetscInt v = 0; v < r->n && r->o->table.file[0]; v++) PetscCall(TableAppend(&r->o->table, r->machine, r->name, &r->csr, &r->synergy, r->operations, N, r->o->first, &r->subject[v], &r->subject[0]));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operation with all variants and numbers of columns */
static PetscErrorCode RunOperation(Run *r, PetscInt *wrong)
{
  PetscFunctionBegin;
  PetscCall(OperandReserve(r->b, r->csr.n, r->o->most));
  PetscCall(OperandReserve(r->operations->sampled ? r->x : r->c, r->csr.m, r->o->most));
  if (r->operations->sampled) PetscCall(OperandReserve(r->z, r->csr.n, r->o->most));
  PetscCall(SetUpSubjects(r));
  PetscCall(PrintSetUp(r));
  for (PetscInt k = 0; k < r->o->Ns; k++) PetscCall(Measure(r, r->o->N[k], wrong));
  for (PetscInt v = 0; v < r->n; v++) PetscCall(MatDestroy(&r->subject[v].A));
  PetscCall(PetscFree(r->subject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMatrix(Run *r, PetscInt *wrong)
{
  PetscFunctionBegin;
  PetscCall(PrintHead(r));
  PetscCall(ReferenceCreate(&r->csr, &r->reference));
  for (PetscInt k = 0; k < r->o->operations; k++) {
    PetscCall(OperationsFind(r->o->operation[k], r->o->vector, &r->operations));
    PetscCall(RunOperation(r, wrong));
  }
  PetscCall(ReferenceDestroy(&r->reference));
  PetscCall(GenerateCSRDestroy(&r->csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values get imaginary parts where scalars are complex */
static void MakeComplex(GenerateCSR *csr)
{
  if (!PetscDefined(USE_COMPLEX)) return;
  for (PetscInt row = 0; row < csr->m; row++) {
    for (PetscInt k = csr->i[row]; k < csr->i[row + 1]; k++) csr->a[k] = PetscCMPLX(PetscRealPart(csr->a[k]), GenerateValue(csr->j[k], row));
  }
}

int main(int argc, char **args)
{
  PetscMPIInt size;
  Options     o;
  Machine     machine;
  Operand     b = {.filled = PETSC_TRUE}, c = {.filled = PETSC_FALSE}, x = {.filled = PETSC_TRUE, .which = IS_X}, z = {.filled = PETSC_TRUE, .which = IS_Z};
  PetscInt    wrong = 0;

  PetscFunctionBeginUser;
  (void)setenv("CUDA_MODULE_LOADING", "EAGER", 0); /* otherwise the first matrices pay for loading the kernels */
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "The benchmark is for one process");
  PetscCall(GetOptions(&o));
  PetscCall(MachineCreate(&machine));
  if (!o.scale) o.scale = machine.device ? 1 : (PetscReal)0.001;
  if (!o.test) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, CUDA %s, copies at %.0f GB/s, products of dense matrices at %.1f TFLOP/s, the least thing in %.1f us\n", machine.name, machine.cuda, (double)machine.copy * 1e-9, (double)machine.tensor * 1e-12, 1e6 * (double)machine.launch));
  PetscCall(MatGetVecType(machine.A, &b.type));
  c.type = x.type = z.type = b.type;
  for (PetscInt k = 0; k < o.families + o.files; k++) {
    Run r;

    PetscCall(PetscMemzero(&r, sizeof(r)));
    r.o       = &o;
    r.machine = &machine;
    r.b       = &b;
    r.c       = &c;
    r.x       = &x;
    r.z       = &z;
    PetscCall(PetscTime(&r.start));
    if (k < o.families) {
      r.name = o.family[k];
      PetscCall(FamilyRows(r.name, o.scale, &r.csr));
      MakeComplex(&r.csr);
    } else {
      char *base = strrchr(o.file[k - o.families], '/');

      r.name = base ? base + 1 : o.file[k - o.families];
      PetscCall(ExampleCSRLoad(o.file[k - o.families], &r.csr));
    }
    PetscCall(RunMatrix(&r, &wrong));
  }
  PetscCall(OperandDestroy(&b));
  PetscCall(OperandDestroy(&c));
  PetscCall(OperandDestroy(&x));
  PetscCall(OperandDestroy(&z));
  PetscCall(MachineDestroy(&machine));
  PetscCall(DestroyOptions(&o));
  PetscCheck(!wrong, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " products were wrong, see the lines with ERROR", wrong);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: families
      args: -test_output -scale 0.0005 -N 1,8,33 -variants auto,csr,tcu,tcu8,tcu16,tune

   test: # stand-ins, beside the matrix as a dense one
      suffix: standins
      args: -test_output -scale 0.01 -N 1,9 -variants auto,dense,tcu -families arxiv-like,blocks20,pruned5-permuted

   test:
      suffix: files
      args: -test_output -f rectangle.mtx -N 1,3 -variants auto,tcu,16-64-32-2,8-16-4-1 -csv bench.csv
      localrunfiles: rectangle.mtx

   test:
      suffix: vector
      args: -test_output -scale 0.0005 -N 1 -vector -variants auto -families elasticity,dof8,rmat -mat_aijtcu_mult {{auto csr}}
      output_file: output/bench_vector.out

   test: # every path's sampled products, and those that are multiplied in the same pass and apart; rows are cuSPARSE's
      suffix: sampled
      filter: sed "s/ rows right//"
      args: -test_output -scale 0.0005 -N 1,8,33 -operations sampled,fused -variants rows,auto,csr,tcu,apart -families elasticity,stencil27,rmat -csv sampled.csv

   test: # what made the product of auto: a path, or the host
      suffix: by
      args: -families poisson7 -scale 0.0005 -N 1 -variants auto -operations {{product sampled}}
      filter: sed -n -e "s|.*auto.* by [a-z][a-z ]*; at.*|by something|p"

   test:
      suffix: by_vector
      args: -families poisson7 -scale 0.0005 -N 1 -variants auto -vector
      filter: sed -n -e "s|.*auto.* by the host; at.*|by something|p" -e "s|.*auto.* by [a-z0-9]*; at.*|by something|p"
      output_file: output/bench_by.out

   test:
      suffix: apart
      args: -variants auto,apart
      filter: Error: grep -o -m 1 -e "-variants apart is.*"

   test:
      suffix: tf32
      requires: double
      args: -variants tf32
      filter: Error: grep -o -m 1 -e "-variants tf32 needs.*"

   test: # before anything is measured
      suffix: missing
      args: -f rectangle.mtx,missing.mtx -N 1
      localrunfiles: rectangle.mtx
      filter: Error: grep -o -m 1 -e ".*rectangle.mtx: [0-9].*" -e "missing.mtx cannot.*"

   test:
      suffix: csv
      args: -families poisson7 -scale 0.0005 -N 1 -csv missing/bench.csv
      filter: Error: grep -o -m 1 -e ".*poisson7: [0-9].*" -e "missing/bench.csv cannot.*"

   test: # all files of a list, which is as long as it is
      suffix: list
      args: -test_output -f @list.txt -N 1 -variants tcu
      localrunfiles: list.txt rectangle.mtx
      filter: grep -c "^rectangle.mtx"

   test: # a matrix in a random order, large enough for reordering to pay
      suffix: reordered
      requires: cuda
      args: -test_output -families elasticity-permuted -scale 0.5 -N 128 -variants auto -mat_aijtcu_view_choice
      filter: grep -o -e "auto right" -e "reordered matrix" | sort -u

TEST*/
