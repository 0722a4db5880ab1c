static char help[] = "Iterations of LOBPCG with matrices of several types, the same with each: time of the solve, what it was spent on, and how far the eigenvalues are apart.\n\n"
                     "  ./lobpcg -csv results.csv\n"
                     "  ./lobpcg -families elasticity,dof8 -blocks 16,32 -orthogonalizations chol -eps_max_it 20\n"
                     "  ./lobpcg -types aij,aijtcu -scale 0.01 -blocks 8\n\n";

#include "csrmat.h"
#include "csv.h"
#include "family.h"
#include "machine.h"
#include "options.h"
#include "springs.h"
#include "trial.h"
#include <petscaijtcu.h>

enum {
  PRODUCTS = 100 /* a solve has 40 iterations with about two products each */
};

typedef struct {
  char    **family, **type, **orthogonalization;
  PetscInt  families, types, *block, blocks, orthogonalizations, repeat, most; /* the largest block */
  PetscReal scale, tolerance;
  PetscBool test, once; /* -test_output; -once */
  ExampleTable table;
} Options;

/* A matrix of one of the types, and the vectors to start from */
typedef struct {
  Mat         A;
  MatType     type;
  const char *mode; /* of -eps_aijtcu_lobpcg */
  Vec        *start;
} Side;

static const char columns[] = "matrix,rows,nonzeros,type,lobpcg,path,block,orthogonalization,iterations,solve,repeat,solve_s,least_s,speedup,eigenvalue_difference,products,"
                              "product_s,orthogonalization_s,projection_s,update_s,preconditioner_s,dense_s,other_s,precision,commit,petsc,slepc,cuda,machine,processes";

static PetscErrorCode FindOrthogonalization(const char name[], BVOrthogBlockType *type)
{
  PetscEnum value;
  PetscBool found;

  PetscFunctionBegin;
  PetscCall(PetscEnumFind(BVOrthogBlockTypes, name, &value, &found));
  PetscCheck(found, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-orthogonalizations %s: must be what -bv_orthog_block can be, such as gs or chol", name);
  *type = (BVOrthogBlockType)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* aijtcu:off, or a type alone */
static PetscErrorCode SplitType(const char text[], char type[], size_t size, const char **mode)
{
  char *colon;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(type, text, size));
  PetscCall(PetscStrchr(type, ':', &colon));
  *mode = colon ? text + (colon - type) + 1 : "auto";
  if (colon) *colon = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOptions(Options *o)
{
  PetscBool         device;
  BVOrthogBlockType unused;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(ExampleHasDevice(&device));
  o->repeat    = 3;
  o->tolerance = 100 * PETSC_SQRT_MACHINE_EPSILON;
  o->scale     = device ? 1 : (PetscReal)0.01;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of LOBPCG", NULL);
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-families", "Matrices to generate, a list: elasticity, dof8, tetra, stencil27, banded, blockarrow, poisson7, arrow, each with -permuted behind it for a random order", "elasticity", &o->families, &o->family));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-scale", "Rows by those of a full benchmark; default: 1 with a GPU, 0.01 without", &o->scale));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-types", "Matrix types in place of -mat_type, a list; behind a colon what -eps_aijtcu_lobpcg would be; the first is what others are compared with; default: aijcusparse,aijtcu:off,aijtcu with a GPU, aij,aijtcu without", device ? "aijcusparse,aijtcu:off,aijtcu" : "aij,aijtcu", &o->types, &o->type));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-blocks", "Block sizes of LOBPCG, a list", "8,16,32,64", &o->blocks, &o->block));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-orthogonalizations", "What -bv_orthog_block would be, a list", "gs,chol", &o->orthogonalizations, &o->orthogonalization));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-repeat", "How often each solve is timed, after a short one to warm up", 1, &o->repeat));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-once", "Time the first solve of the process, once, with one block and one type", &o->once));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-tolerance", "Largest relative difference of an eigenvalue to the first type's that is not an error", &o->tolerance));
  PetscCall(ExampleOptionsTable(PetscOptionsObject, &o->table));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine", &o->test));
  PetscOptionsEnd();
  PetscCheck(o->scale > 0 && o->scale <= 16, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-scale %g: must be positive, and 16 at most", (double)o->scale);
  for (PetscInt k = 0; k < o->orthogonalizations; k++) PetscCall(FindOrthogonalization(o->orthogonalization[k], &unused));
  for (PetscInt k = 0; k < o->blocks; k++) o->most = PetscMax(o->most, o->block[k]);
  PetscCall(FamilyCheck(o->families, o->family));
  for (PetscInt k = 0; k < o->types; k++) {
    char        type[64];
    const char *unused_mode;

    PetscCall(SplitType(o->type[k], type, sizeof(type), &unused_mode));
    PetscCall(ExampleMatTypesCheck(PETSC_COMM_WORLD, 1, (char *const[]){type}));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyOptions(Options *o)
{
  PetscFunctionBegin;
  PetscCall(ExampleListDestroy(o->families, &o->family));
  PetscCall(ExampleListDestroy(o->types, &o->type));
  PetscCall(ExampleListDestroy(o->orthogonalizations, &o->orthogonalization));
  PetscCall(PetscFree(o->block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest |a - b| / |b|; infinite where a value is not a number */
static PetscReal Difference(PetscInt n, const PetscReal a[], const PetscReal b[])
{
  PetscReal most = 0;

  for (PetscInt k = 0; k < n; k++) {
    const PetscReal difference = PetscAbsReal(a[k] - b[k]) / PetscAbsReal(b[k]);

    if (!(difference <= most)) most = PetscIsNanReal(difference) ? PETSC_INFINITY : difference;
  }
  return most;
}

static PetscErrorCode AppendCSV(const Options *o, const char name[], const Side *side, const TrialOptions *t, const Trial *trial, const Trial *first, PetscReal difference)
{
  FILE       *fp;
  PetscInt    n, major, minor, subminor;
  PetscMPIInt size;
  MatInfo     info;
  PetscReal   part[PROFILE_PARTS];
  char        petsc[32], cuda[16], machine[128];

  PetscFunctionBegin;
  PetscCall(MatGetSize(side->A, &n, NULL));
  PetscCall(MatGetInfo(side->A, MAT_GLOBAL_SUM, &info));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscArraycpy(part, trial->profile.seconds, PROFILE_PARTS));
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(SlepcGetVersionNumber(&major, &minor, &subminor, NULL));
  PetscCall(ExampleCUDAVersion(side->A, cuda, sizeof(cuda)));
  PetscCall(ExampleMachine(side->A, machine, sizeof(machine)));
  PetscCall(ExampleCSVOpen(PETSC_COMM_WORLD, o->table.file, columns, &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%s,%" PetscInt_FMT ",%.0f,%s,%s,%s,%" PetscInt_FMT ",%s,", name, n, info.nz_used, side->type, side->mode, trial->path, t->block, BVOrthogBlockTypes[t->orthogonalization]));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%.4e,%.4e,%.4f,%.1e,%" PetscInt_FMT ",", trial->iterations, t->once ? "once" : "steady", t->repeat, (double)trial->solve.median, (double)trial->solve.least, (double)(first->solve.median / trial->solve.median), (double)difference, trial->profile.products));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%.4e,%.4e,%.4e,%.4e,%.4e,%.4e,%.4e,", (double)part[PROFILE_PRODUCT], (double)part[PROFILE_ORTHOGONALIZATION], (double)part[PROFILE_PROJECTION], (double)part[PROFILE_UPDATE], (double)part[PROFILE_PRECONDITIONER], (double)part[PROFILE_DENSE], (double)part[PROFILE_OTHER]));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%s,%s,%s,%" PetscInt_FMT ".%" PetscInt_FMT ".%" PetscInt_FMT ",%s,\"%s\",%d\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double", o->table.commit, petsc, major, minor, subminor, cuda, machine, size));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintTrial(const Options *o, const Side *side, const TrialOptions *t, const Trial *trial, const Trial *first, PetscReal difference)
{
  const char *orthogonalization = BVOrthogBlockTypes[t->orthogonalization];

  PetscFunctionBegin;
  if (o->test) {
    if (trial != first) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  block %" PetscInt_FMT ", %s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " products, eigenvalues %s\n", t->block, orthogonalization, trial->iterations, trial->profile.products, difference <= o->tolerance ? "equal" : "DIFFERENT"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  block %3" PetscInt_FMT ", %-4s %s:%s%s%s%s: %.4f s", t->block, orthogonalization, side->type, side->mode, trial->path[0] ? " (" : "", trial->path, trial->path[0] ? ")" : "", (double)trial->solve.median));
  if (trial != first) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %.2fx, eigenvalues differ by %.1e%s", (double)(first->solve.median / trial->solve.median), (double)difference, difference <= o->tolerance ? "" : " ERROR"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; %" PetscInt_FMT " iterations, %" PetscInt_FMT " products;", trial->iterations, trial->profile.products));
  PetscCall(ProfilePrint(PETSC_COMM_WORLD, &trial->profile));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time all types in turn, so that all see the same clock rates and neighbours */
static PetscErrorCode Compare(const Options *o, const char name[], Side side[], TrialOptions *t, PetscInt *wrong)
{
  Trial *trial;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(o->types, &trial));
  for (PetscInt k = 0; k < o->types; k++) {
    PetscReal difference;

    t->mode = side[k].mode;
    PetscCall(TrialRun(side[k].A, side[k].start, t, &trial[k]));
    difference = Difference(t->block, trial[k].eigenvalue, trial[0].eigenvalue);
    if (!(difference <= o->tolerance)) ++*wrong;
    PetscCall(PrintTrial(o, &side[k], t, &trial[k], &trial[0], difference));
    if (o->table.file[0]) PetscCall(AppendCSV(o, name, &side[k], t, &trial[k], &trial[0], difference));
  }
  for (PetscInt k = 0; k < o->types; k++) PetscCall(TrialDestroy(&trial[k]));
  PetscCall(PetscFree(trial));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunFamily(const Options *o, const char name[], PetscInt *wrong)
{
  GenerateCSR csr;
  Side       *side;
  PetscInt   *starts, n;
  PetscMPIInt rank, size;
  MatInfo     info;
  char        machine[128], type[64];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(o->types, &side));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(size + 1, &starts));
  PetscCall(FamilyStarts(name, o->scale, 1, size, starts));
  PetscCall(FamilyRowsOf(name, o->scale, 1, starts[rank], starts[rank + 1], &csr));
  PetscCall(SpringsSetValues(starts[rank], 1, &csr));
  PetscCall(PetscFree(starts));
  for (PetscInt k = 0; k < o->types; k++) {
    PetscCall(SplitType(o->type[k], type, sizeof(type), &side[k].mode));
    PetscCall(ExampleCSRMat(PETSC_COMM_WORLD, &csr, PETSC_TRUE, PRODUCTS, type, &side[k].A));
    PetscCall(MatGetType(side[k].A, &side[k].type));
    PetscCall(TrialStart(side[k].A, o->most, &side[k].start));
  }
  PetscCall(GenerateCSRDestroy(&csr));
  PetscCall(MatGetSize(side[0].A, &n, NULL));
  PetscCall(MatGetInfo(side[0].A, MAT_GLOBAL_SUM, &info));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %.0f nonzeros", name, n, n, info.nz_used));
  if (size > 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %d processes", size));
  PetscCall(ExampleMachine(side[o->types - 1].A, machine, sizeof(machine)));
  if (!o->test) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %s", machine));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  for (PetscInt b = 0; b < o->blocks; b++) {
    for (PetscInt k = 0; k < o->orthogonalizations; k++) {
      TrialOptions t = {o->block[b], BV_ORTHOG_BLOCK_GS, o->once ? 1 : o->repeat, o->once, NULL};

      PetscCall(FindOrthogonalization(o->orthogonalization[k], &t.orthogonalization));
      PetscCall(Compare(o, name, side, &t, wrong));
    }
  }
  for (PetscInt k = 0; k < o->types; k++) {
    PetscCall(VecDestroyVecs(2 * o->most, &side[k].start));
    PetscCall(MatDestroy(&side[k].A));
  }
  PetscCall(PetscFree(side));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  Options  o;
  PetscInt wrong = 0;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(GetOptions(&o));
  for (PetscInt k = 0; k < o.families; k++) PetscCall(RunFamily(&o, o.family[k], &wrong));
  PetscCall(DestroyOptions(&o));
  PetscCheck(!wrong, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The eigenvalues of %" PetscInt_FMT " solves were not those of the first type, see the lines with ERROR", wrong);
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

   test:
      suffix: families
      args: -test_output -families elasticity,dof8-permuted -scale 0.0005 -blocks 1,4,9 -eps_max_it 6 -repeat 1 -types aij,aijtcu:off -mat_aijtcu_path {{tcu auto}}

   test:
      suffix: blocks
      requires: double
      filter: sed 's/, [0-9]* products//'
      args: -test_output -families elasticity,dof8-permuted -scale 0.0005 -blocks 1,4,9 -orthogonalizations chol -eps_max_it 6 -repeat 1 -types aij,aijtcu:always

   test:
      suffix: list
      args: -test_output -families poisson7 -scale 0.0005 -blocks 5 -orthogonalizations svqb,chol -eps_max_it 4 -repeat 2 -types aij,aijtcu:off,aijtcu:off -st_pc_type jacobi -csv lobpcg.csv

TEST*/
