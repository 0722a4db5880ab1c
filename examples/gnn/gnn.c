static char help[] = "Graph networks with two layers, trained to tell the classes of nodes: GCN, AGNN and GAT.\n\n"
                     "  ./gnn -network gat\n"
                     "  ./gnn -f ../graphs/cora -seeds 5 -output_dir .\n"
                     "  mpiexec -n 2 ./gnn -nodes 2000 -mat_type aijtcu\n\n";

#include "csv.h"
#include "files.h"
#include "machine.h"
#include "options.h"
#include "train.h"
#include <petscaijtcu.h>

typedef struct {
  NetworkOptions network;
  PetscInt       nodes, seeds, every;
  PetscReal      neighbours;
  PetscBool      check, test; /* -check_gradient, -test_output */
  char           file[PETSC_MAX_PATH_LEN], output[PETSC_MAX_PATH_LEN];
  ExampleTable   table;
} Options;

static PetscErrorCode GetOptions(Options *o)
{
  NetworkOptions *n = &o->network;
  char            name[16];
  PetscEnum       kind;
  PetscBool       found;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  o->nodes      = 400;
  o->neighbours = 7;
  o->seeds      = 1;
  o->every      = 20;
  PetscCall(PetscStrncpy(name, "gcn", sizeof(name)));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Graph network", NULL);
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-network", "gcn, agnn or gat", name, sizeof(name), NULL));
  PetscCall(PetscEnumFind(NetworkKinds, name, &kind, &found));
  PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-network %s: must be gcn, agnn or gat", name);
  NetworkUsual((NetworkKind)kind, n);
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-f", "A graph: NAME for NAME.graph.mtx, NAME.features.mtx (both also with .gz) and NAME.labels.txt", o->file, sizeof(o->file), NULL));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-nodes", "Nodes of the generated graph, without -f", 40, &o->nodes));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-neighbours", "Neighbours of a node of the generated graph, on average", &o->neighbours));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-hidden", "Features between the layers, for each head", 1, &n->hidden));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-heads", "Heads of the first layer of gat", 1, &n->heads));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-dropout", "Probability that an entry is dropped", &n->dropout));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-decay", "L2 regularization", &n->decay));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-rate", "Step of Adam", &n->rate));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-epochs", "Most epochs", 1, &n->epochs));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-patience", "Epochs without a better validation after which training ends; 0 for never", 0, &n->patience));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-seeds", "Train with seeds 1, 2, ..., so many", 1, &o->seeds));
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-every", "Epochs between two lines; 0 for no lines", 0, &o->every));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-check_gradient", "Compare gradients with differences of the loss, and train nothing", &o->check));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-output_dir", "Folder for a picture of loss and accuracy with the first seed; made if missing", o->output, sizeof(o->output), NULL));
  PetscCall(ExampleOptionsTable(PetscOptionsObject, &o->table));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-test_output", "Print only what is the same on every machine", &o->test));
  PetscOptionsEnd();
  PetscCheck(n->dropout >= 0 && n->dropout < 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-dropout %g: must be at least 0, and less than 1", (double)n->dropout);
  PetscCheck(o->neighbours >= 0 && o->neighbours <= 10000, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-neighbours %g: must be at least 0, and 10000 at most", (double)o->neighbours);
  if (o->output[0] && !o->check) PetscCall(ExampleFolderMake(PETSC_COMM_WORLD, o->output));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Draw(const Options *o, const Training *t)
{
  char        file[PETSC_MAX_PATH_LEN];
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s.svg", o->output, NetworkKinds[o->network.kind]));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) PetscCall(TrainDraw(t, file));
  if (!o->test) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrote %s\n", file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char columns[] = "network,graph,nodes,neighbours,type,hidden,seeds,epochs,accuracy,deviation,setup_s,first_epoch_s,epoch_s,least_epoch_s,precision,commit,petsc,cuda,machine,processes";

/* What all seeds have in common */
typedef struct {
  PetscInt  epochs;                /* of all */
  PetscReal accuracy, deviation;   /* on the test set, in percent */
  PetscReal setup;                 /* seconds to make the network of the graph */
  PetscReal start, seconds, least; /* of the first epoch of the first seed; of an epoch; the same of the fastest seed */
} Summary;

static PetscErrorCode AppendCSV(const Options *o, const Network *w, PetscReal neighbours, const Summary *s)
{
  const char *name = o->file[0] ? o->file : "generated";
  FILE       *fp;
  MatType     type;
  char        petsc[32], cuda[16], machine[128], *slash;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscStrrchr(name, '/', &slash));
  PetscCall(MatGetType(w->P, &type));
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(ExampleCUDAVersion(w->P, cuda, sizeof(cuda)));
  PetscCall(ExampleMachine(w->P, machine, sizeof(machine)));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ExampleCSVOpen(PETSC_COMM_WORLD, o->table.file, columns, &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%s,%s,%" PetscInt_FMT ",%.0f,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",", NetworkKinds[o->network.kind], slash, w->nodes.N, (double)neighbours, type, o->network.hidden, o->seeds, s->epochs));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%.2f,%.2f,%.4e,%.4e,%.4e,%.4e,", (double)s->accuracy, (double)s->deviation, (double)s->setup, (double)s->start, (double)s->seconds, (double)s->least));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, fp, "%s,%s,%s,%s,\"%s\",%d\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double", o->table.commit, petsc, cuda, machine, size));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TrainSeed(const Options *o, Network *w, PetscInt seed, Summary *s)
{
  Training  t;
  PetscReal accuracy;

  PetscFunctionBegin;
  PetscCall(TrainRun(w, &o->network, (uint64_t)seed, o->test ? 0 : o->every, &t));
  accuracy = 100 * t.scored.accuracy[SPLIT_TEST];
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %" PetscInt_FMT ": %" PetscInt_FMT " epochs, weights of epoch %" PetscInt_FMT ", test accuracy %.1f %%", seed, t.epochs, t.best, (double)accuracy));
  if (!o->test) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %.2f ms an epoch", 1e3 * (double)t.seconds));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  if (seed == 1) {
    s->start = t.start;
    s->least = t.seconds;
    if (o->output[0]) PetscCall(Draw(o, &t));
  }
  s->least = PetscMin(s->least, t.seconds);
  s->seconds += t.seconds / (PetscReal)o->seeds;
  s->epochs += t.epochs;
  s->accuracy += accuracy / (PetscReal)o->seeds;
  s->deviation += accuracy * accuracy / (PetscReal)o->seeds;
  PetscCall(TrainDestroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Train(const Options *o, Network *w, PetscReal neighbours, PetscReal setup)
{
  Summary s;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.setup = setup;
  for (PetscInt seed = 1; seed <= o->seeds; seed++) PetscCall(TrainSeed(o, w, seed, &s));
  s.deviation = PetscSqrtReal(PetscMax(0, s.deviation - s.accuracy * s.accuracy));
  if (o->seeds > 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "test accuracy %.2f +- %.2f %%\n", (double)s.accuracy, (double)s.deviation));
  if (o->table.file[0]) PetscCall(AppendCSV(o, w, neighbours, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  Options        o;
  Graph          g;
  Network        w;
  PetscInt       wrong = 0, N;
  MatInfo        info;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCheck(!PetscDefined(USE_COMPLEX), PETSC_COMM_WORLD, PETSC_ERR_SUP, "Networks need a PETSc with real scalars");
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(GetOptions(&o));
  if (o.file[0]) PetscCall(GraphLoad(PETSC_COMM_WORLD, o.file, &g));
  else PetscCall(GraphGenerate(PETSC_COMM_WORLD, o.nodes, o.neighbours, &g));
  PetscCall(ExampleTime(g.A, &begin));
  PetscCall(NetworkCreate(&g, &o.network, &w));
  PetscCall(ExampleTime(w.P, &end));
  PetscCall(MatGetSize(g.A, &N, NULL));
  PetscCall(MatGetInfo(g.A, MAT_GLOBAL_SUM, &info));
  if (!o.check) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " nodes, %.0f neighbours, %" PetscInt_FMT " classes, %" PetscInt_FMT " weights\n", NetworkKinds[o.network.kind], N, info.nz_used - N, g.classes, w.params.size));
  if (!o.check && !o.test) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  the network was made in %.3g s\n", (double)(end - begin)));
  if (o.check) PetscCall(TrainCheckGradient(&w, 1, &wrong));
  else PetscCall(Train(&o, &w, (PetscReal)info.nz_used - (PetscReal)N, (PetscReal)(end - begin)));
  PetscCall(NetworkDestroy(&w));
  PetscCall(GraphDestroy(&g));
  PetscCheck(!wrong, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " gradients are wrong", wrong);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      requires: !complex

   testset: # with dropout
      requires: double
      args: -check_gradient -nodes 64 -network {{gcn agnn gat}}
      output_file: output/empty.out
      test:
         suffix: gradient
         nsize: {{1 2}}
         args: -mat_type {{aij aijtcu}}
      test:
         suffix: gradient_cuda
         requires: cuda
         args: -mat_type {{aijcusparse aijtcu}} -use_gpu_aware_mpi 0
      test: # not with aijcusparse: see README.md
         suffix: gradient_cuda_parallel
         requires: cuda
         nsize: 2
         args: -mat_type aijtcu -use_gpu_aware_mpi 0

   testset: # two rings: a graph that was found to be symmetric, as those of files are
      requires: double
      args: -check_gradient -f rings -dropout 0 -network {{gcn agnn gat}}
      output_file: output/empty.out
      localrunfiles: rings.graph.mtx rings.features.mtx rings.labels.txt
      test:
         suffix: gradient_files
         nsize: {{1 2}}
         args: -mat_type {{aij aijtcu}}
      test:
         suffix: gradient_files_cuda
         requires: cuda
         args: -mat_type {{aijcusparse aijtcu}} -use_gpu_aware_mpi 0

   testset: # the same numbers on any number of processes
      requires: double
      args: -test_output -nodes 120 -epochs 40 -network gcn
      output_file: output/gnn_gcn.out
      test:
         suffix: gcn
         nsize: {{1 2}}
      test:
         suffix: gcn_cuda
         requires: cuda
         nsize: {{1 2}}
         args: -use_gpu_aware_mpi 0

   testset:
      requires: double
      args: -test_output -nodes 120 -epochs 40 -network agnn
      output_file: output/gnn_agnn.out
      test:
         suffix: agnn
         nsize: {{1 2}}
      test:
         suffix: agnn_cuda
         requires: cuda
         nsize: {{1 2}}
         args: -use_gpu_aware_mpi 0

   testset:
      requires: double
      args: -test_output -nodes 120 -epochs 40 -network gat
      output_file: output/gnn_gat.out
      test:
         suffix: gat
         nsize: {{1 2}}
      test:
         suffix: gat_cuda
         requires: cuda
         nsize: {{1 2}}
         args: -use_gpu_aware_mpi 0

   test: # two rings
      suffix: files
      nsize: {{1 2}}
      args: -test_output -f rings -hidden 4 -dropout 0 -rate 0.1
      localrunfiles: rings.graph.mtx rings.features.mtx rings.labels.txt

   test: # a graph with values other than one; the picture's folder is made
      suffix: weights
      nsize: {{1 2}}
      args: -f weights -epochs 1 -dropout 0 -network {{gcn agnn}} -output_dir made/for/pictures
      localrunfiles: weights.graph.mtx weights.features.mtx weights.labels.txt
      filter: grep -o -e "weights.graph.mtx: .*" -e "made/for/pictures" | uniq

   test: # nothing is trained for a picture that cannot be drawn
      suffix: folder
      args: -nodes 40 -epochs 1 -output_dir rings.labels.txt/pictures
      localrunfiles: rings.labels.txt
      filter: Error: grep -o -m 1 -e "test accuracy" -e "rings.labels.txt/pictures cannot.*"

   test:
      suffix: labels
      args: -f short
      localrunfiles: short.graph.mtx short.features.mtx short.labels.txt
      filter: Error: grep -o -m 1 -e "short.labels.txt: must have.*"

   test:
      suffix: banana
      args: -network banana
      filter: Error: grep -o -m 1 -e "-network banana.*"

TEST*/
