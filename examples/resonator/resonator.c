static char help[] = "Sound in a room with lossy air: many loudspeakers at once, frequency by frequency, beside the sum over the modes of the room. Complex scalars.\n\n"
                     "  ./resonator                                  a room of 5 m x 4 m x 2.5 m, 8 loudspeakers, 40 to 120 Hz; draws the sound of the first\n"
                     "  ./resonator -cells 80 -mat_type aijcusparse  a finer grid, with another type\n\n";

#include "files.h"
#include "image.h"
#include "machine.h"
#include "options.h"
#include <petscaijtcu.h>
#include <petscksp.h>

/*
  The pressure p of a source of strength one at s: -Laplace p - k^2 (1 - i loss) p = delta_s, walls do not move. Finite
  volumes on a grid of cells. The matrix without loss and with the other sign of k^2 is positive definite, and is what
  the preconditioner is made of, once for all frequencies. The modes are products of cosines, on the grid and in the
  room: only their numbers differ.
*/
typedef struct {
  PetscInt  n[3], sources, frequencies; /* cells in each direction */
  PetscReal length[3], h[3], loss, first, last, speed;
  char      directory[PETSC_MAX_PATH_LEN];
  PetscBool write, test;
} Room;

static PetscErrorCode RoomSetFromOptions(MPI_Comm comm, Room *r)
{
  PetscInt  cells = 24;
  PetscBool directory;

  PetscFunctionBegin;
  *r = (Room){.sources = 8, .frequencies = 5, .length = {5, 4, 2.5}, .loss = 0.05, .first = 40, .last = 120, .speed = 343};
  PetscCall(PetscStrncpy(r->directory, "resonator-output", sizeof(r->directory)));
  PetscOptionsBegin(comm, NULL, "Sound in a room", NULL);
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-cells", "Cells along the longest side", 2, &cells));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-sources", "Loudspeakers", 1, &r->sources));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-frequencies", "Frequencies", 1, &r->frequencies));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-first", "First frequency (Hz)", &r->first));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-last", "Last frequency (Hz)", &r->last));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-loss", "Loss factor of the air", &r->loss));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-output_dir", "Folder for the picture; made if missing", r->directory, sizeof(r->directory), &directory));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine, and draw only with -output_dir", &r->test));
  PetscOptionsEnd();
  for (int d = 0; d < 3; d++) {
    r->n[d] = PetscMax(2, (PetscInt)((PetscReal)cells * r->length[d] / r->length[0] + (PetscReal)0.5));
    r->h[d] = r->length[d] / (PetscReal)r->n[d];
  }
  r->write = (PetscBool)(directory || !r->test);
  if (r->write) PetscCall(ExampleFolderMake(comm, r->directory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* k^2 (1 - i loss) */
static PetscScalar Shift(const Room *r, PetscReal frequency)
{
  const PetscReal k = 2 * PETSC_PI * frequency / r->speed;

  return PetscCMPLX(k * k, -k * k * r->loss);
}

static PetscReal Frequency(const Room *r, PetscInt i)
{
  return r->frequencies == 1 ? r->first : r->first + (r->last - r->first) * (PetscReal)i / (PetscReal)(r->frequencies - 1);
}

/* The cell of a source: all over the room. The listener is in a corner */
static void Place(const Room *r, PetscInt source, PetscInt cell[3])
{
  const PetscReal steps[3] = {0.618034, 0.754878, 0.569840};

  for (int d = 0; d < 3; d++) {
    const PetscReal x = (PetscReal)0.21 + steps[d] * (PetscReal)source;

    cell[d] = (PetscInt)((x - PetscFloorReal(x)) * (PetscReal)r->n[d]);
  }
}

static PetscInt Row(const Room *r, const PetscInt cell[3])
{
  return cell[0] + r->n[0] * (cell[1] + r->n[1] * cell[2]);
}

static PetscErrorCode CreateLaplacian(const Room *r, MPI_Comm comm, Mat *A)
{
  const PetscInt n = r->n[0] * r->n[1] * r->n[2];
  PetscInt       first, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt row = first; row < end; row++) {
    PetscInt    stride = 1, columns[7] = {row}, k = 1;
    PetscScalar values[7] = {0};

    for (int d = 0; d < 3; stride *= r->n[d++]) {
      const PetscInt  at = row / stride % r->n[d];
      const PetscReal w  = 1 / (r->h[d] * r->h[d]);

      for (PetscInt step = -1; step <= 1; step += 2) {
        if (at + step < 0 || at + step >= r->n[d]) continue;
        columns[k]  = row + step * stride;
        values[k++] = -w;
        values[0] += w;
      }
    }
    PetscCall(MatSetValues(*A, 1, &row, k, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column for each source */
static PetscErrorCode CreateSources(const Room *r, Mat A, Mat *B)
{
  VecType  type;
  PetscInt m, first, end;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)A), type, m, PETSC_DECIDE, PETSC_DECIDE, r->sources, -1, NULL, B));
  PetscCall(MatGetOwnershipRange(*B, &first, &end));
  for (PetscInt j = 0; j < r->sources; j++) {
    PetscInt cell[3], row;

    Place(r, j, cell);
    row = Row(r, cell);
    if (row >= first && row < end) PetscCall(MatSetValue(*B, row, j, 1 / (r->h[0] * r->h[1] * r->h[2]), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pressure of a source in the corner, by as many modes as the grid has: those of the grid, or of the room */
static PetscScalar ByModes(const Room *r, PetscInt source, PetscScalar shift, PetscBool grid)
{
  const PetscReal volume = r->h[0] * r->h[1] * r->h[2];
  PetscScalar     sum    = 0;
  PetscInt        cell[3], m[3];

  Place(r, source, cell);
  for (m[2] = 0; m[2] < r->n[2]; m[2]++) {
    for (m[1] = 0; m[1] < r->n[1]; m[1]++) {
      for (m[0] = 0; m[0] < r->n[0]; m[0]++) {
        PetscReal product = 1, number = 0;

        for (int d = 0; d < 3; d++) {
          const PetscReal angle = PETSC_PI * (PetscReal)m[d] / (PetscReal)r->n[d], half = PetscSinReal(angle / 2);

          product *= (m[d] ? 2 : 1) / (PetscReal)r->n[d] * PetscCosReal(angle * ((PetscReal)cell[d] + (PetscReal)0.5)) * PetscCosReal(angle / 2);
          number += (grid ? 4 * half * half : angle * angle) / (r->h[d] * r->h[d]);
        }
        sum += product / (number - shift);
      }
    }
  }
  return sum / volume;
}

/* In decibels, beside that of the same source at a distance of 1 m where there are no walls */
static double Level(PetscScalar p)
{
  return (double)(20 * PetscLog10Real(4 * PETSC_PI * PetscAbsScalar(p)));
}

/* The pressures in the corner, cell 0, on all processes */
static PetscErrorCode Listen(Mat X, PetscInt n, PetscScalar p[])
{
  const PetscScalar *x;
  PetscInt           first, ld;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(X, &first, NULL));
  PetscCall(MatDenseGetLDA(X, &ld));
  PetscCall(MatDenseGetArrayRead(X, &x));
  for (PetscInt j = 0; j < n; j++) p[j] = first ? 0 : x[j * ld];
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCallMPI(MPI_Bcast(p, (PetscMPIInt)n, MPIU_SCALAR, 0, PetscObjectComm((PetscObject)X)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The level of the first source in the plane at half the height, from -20 to 20 dB */
static PetscErrorCode Draw(const Room *r, Mat X, const char file[])
{
  const float        size = 800 / (float)r->n[0];
  const PetscScalar *x;
  Image              im;

  PetscFunctionBegin;
  PetscCall(ImageCreate(800, (int)(size * (float)r->n[1]), &im));
  PetscCall(MatDenseGetArrayRead(X, &x));
  for (PetscInt j = 0; j < r->n[1]; j++) {
    for (PetscInt i = 0; i < r->n[0]; i++) {
      const PetscInt cell[3]   = {i, j, r->n[2] / 2};
      const float    value     = (float)PetscMin(1, PetscMax(0, (Level(x[Row(r, cell)]) + 20) / 40)), left = size * (float)i, top = size * (float)j;
      const float    p[4][3]   = {{left, top, 0}, {left + size, top, 0}, {left + size, top + size, 0}, {left, top + size, 0}};
      const float    values[4] = {value, value, value, value};

      ImageQuad(&im, p, values, 1);
    }
  }
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(ImageWritePNG(&im, file));
  PetscCall(ImageDestroy(&im));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  MPI_Comm       comm;
  PetscMPIInt    size;
  Room           r;
  Mat            A, P, B, X;
  KSP            ksp;
  PC             pc;
  PetscScalar   *p, shift = 0;
  PetscReal      worst  = 0;
  PetscLogDouble solves = 0, start, end;
  char           machine[256];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  comm = PETSC_COMM_WORLD;
  PetscCheck(PetscDefined(USE_COMPLEX), comm, PETSC_ERR_SUP, "Lossy air needs a PETSc with complex scalars: make programs SCALAR=complex");
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(RoomSetFromOptions(comm, &r));
  PetscCall(CreateLaplacian(&r, comm, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &P));
  PetscCall(MatShift(P, PetscRealPart(Shift(&r, (r.first + r.last) / 2))));
  PetscCall(CreateSources(&r, A, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PetscMalloc1(r.sources, &p));
  PetscCall(KSPCreate(comm, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 100));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 5000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(ksp));

  PetscCall(PetscPrintf(comm, "%" PetscInt_FMT " cells, %" PetscInt_FMT " loudspeakers. Levels of the first, in a corner, in dB:\n\n", r.n[0] * r.n[1] * r.n[2], r.sources));
  PetscCall(PetscPrintf(comm, "      Hz%s   level   by the modes of the room\n", r.test ? "" : "   iterations        s"));
  for (PetscInt i = 0; i < r.frequencies; i++) {
    const PetscScalar  new_shift = Shift(&r, Frequency(&r, i));
    KSPConvergedReason reason;
    PetscInt           its;

    PetscCall(MatShift(A, shift - new_shift));
    shift = new_shift;
    PetscCall(KSPSetOperators(ksp, A, P));
    PetscCall(KSPSetUp(ksp));
    PetscCall(ExampleTime(A, &start));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(ExampleTime(A, &end));
    solves += end - start;
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, comm, PETSC_ERR_NOT_CONVERGED, "At %g Hz the solver ended with %s", (double)Frequency(&r, i), KSPConvergedReasons[reason]);
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(Listen(X, r.sources, p));
    for (PetscInt j = 0; j < PetscMin(r.sources, 4); j++) {
      const PetscScalar exact = ByModes(&r, j, shift, PETSC_TRUE);

      worst = PetscMax(worst, PetscAbsScalar(p[j] - exact) / PetscAbsScalar(exact));
    }
    PetscCall(PetscPrintf(comm, "%8.1f", (double)Frequency(&r, i)));
    if (!r.test) PetscCall(PetscPrintf(comm, "%13" PetscInt_FMT " %8.3f", its, end - start));
    PetscCall(PetscPrintf(comm, "%8.2f   %8.2f\n", Level(p[0]), Level(ByModes(&r, 0, shift, PETSC_FALSE))));
    if (r.write && size == 1 && i == r.frequencies - 1) {
      char file[PETSC_MAX_PATH_LEN];

      PetscCall(PetscSNPrintf(file, sizeof(file), "%s/resonator.png", r.directory));
      PetscCall(Draw(&r, X, file));
      PetscCall(PetscPrintf(comm, "\nthe first loudspeaker's sound at %g Hz, in half the height, is in %s\n", (double)Frequency(&r, i), file));
    }
  }
  if (!r.test) {
    PetscCall(ExampleMachine(A, machine, sizeof(machine)));
    PetscCall(PetscPrintf(comm, "%.3f s of solves on %s, at most %.1e of the pressure from the sum over the modes of the grid\n", solves, machine, (double)worst));
  }
  PetscCheck(worst < 1e-4 || !r.test, comm, PETSC_ERR_PLIB, "The solution differs by %g of itself from the sum over the modes of the grid", (double)worst);

  PetscCall(PetscFree(p));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      requires: complex

   testset:
      args: -test_output -cells 12 -sources 5 -frequencies 3
      output_file: output/resonator_1.out
      test:
         nsize: {{1 3}}
         args: -mat_type {{aij aijtcu}}
      test:
         suffix: block
         nsize: {{1 2}}
         args: -mat_aijtcu_block_solvers always -ksp_type {{gmres bcgs}}
      test:
         suffix: cuda
         requires: cuda
         args: -use_gpu_aware_mpi 0

   test:
      suffix: picture
      args: -test_output -cells 8 -sources 1 -frequencies 1 -output_dir resonator-files
      filter: grep -c resonator-files/resonator.png

TEST*/
