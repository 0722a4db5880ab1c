#include "table.h"

static const char columns[] = "matrix,rows,cols,nonzeros,alpha,alpha8,class,N,operation,variant,type,path,median_s,least_s,repeat,cycle_s,speedup,cycle_speedup,first_N,first_s,setup_s,refresh_s,break_even,csr_bytes,hrpb_bytes,bricks,fill,beta,"
                              "limit_bytes,executed_flops,limit_s,limit_fraction,gflops,error,copy_gbytes_per_s,tensor_tflops,launch_s,"
                              "kernel,model,model_s,reordered,longest,csr_turns,strip_cols8,strip_cols16,staged_rows,needed_rows,most_staged_rows,csr_panel_rows,order_levels,cc,multiprocessors,memory_gbytes_per_s,precision,commit,petsc,cuda,machine";

/* Number of products after which s has cost less than the parent, both set up for a new pattern */
static PetscErrorCode BreakEven(const Subject *s, const Subject *parent, char text[], size_t len)
{
  const PetscReal gain = parent->steady.median - s->steady.median, cost = s->setup - parent->setup;

  PetscFunctionBegin;
  if (!s->variant->ours) PetscCall(PetscStrncpy(text, "", len));
  else if (gain > 0) PetscCall(PetscSNPrintf(text, len, "%.0f", cost > 0 ? ceil((double)(cost / gain)) : 0.));
  else PetscCall(PetscStrncpy(text, "never", len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt LongestRow(const GenerateCSR *csr)
{
  PetscInt longest = 0;

  for (PetscInt i = 0; i < csr->m; i++) longest = PetscMax(longest, csr->i[i + 1] - csr->i[i]);
  return longest;
}

/*
   The facts that the model of times reads. They are of the reordered matrix if that is multiplied, and zeros for the
   parent. examples/bench/fit fits the model to them.
*/
static PetscErrorCode AppendFacts(FILE *fp, const Machine *machine, const GenerateCSR *csr, const MatAIJTCUFacts *facts)
{
  PetscFunctionBegin;
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%s,%s,%.4e,%d,%" PetscInt_FMT ",%" PetscInt64_FMT ",%" PetscInt64_FMT ",%" PetscInt64_FMT ",%" PetscInt64_FMT ",%" PetscInt64_FMT ",%" PetscInt64_FMT ",", facts->kernel ? facts->kernel : "", facts->model ? facts->model : "", (double)facts->seconds, (int)facts->reordered, LongestRow(csr), facts->turns, facts->strip_cols8, facts->strip_cols16, facts->staged_rows, facts->needed_rows, facts->most_staged_rows));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%.1f,", facts->panel_rows, facts->levels, machine->cc, machine->multiprocessors, (double)(machine->memory * 1e-9)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Append the row of one subject. Before the first row, write the names of the columns */
PetscErrorCode TableAppend(const ExampleTable *table, const Machine *machine, const char name[], const GenerateCSR *csr, const MatAIJTCUSynergy *synergy, const Operations *operations, PetscInt N, PetscInt first_N, const Subject *s, const Subject *parent)
{
  FILE           *fp;
  const PetscReal nnz = (PetscReal)csr->i[csr->m];
  Limit           limit;
  char            even[32], petsc[32], cycle[32] = "", faster[32] = ""; /* empty where no cycle is timed */

  PetscFunctionBegin;
  PetscCall(ExamplePETScVersion(petsc, sizeof(petsc)));
  PetscCall(LimitOf(machine, s, csr, operations, N, &limit));
  PetscCall(BreakEven(s, parent, even, sizeof(even)));
  PetscCall(ExampleCSVOpen(PETSC_COMM_SELF, table->file, columns, &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%.0f,%.4f,%.4f,%s,%" PetscInt_FMT ",%s,%s,%s,%s,", name, csr->m, csr->n, (double)nnz, (double)synergy->alpha, (double)synergy->alpha8, MatAIJTCUSynergyClasses[synergy->cls], N, operations->name, s->variant->name, s->type, s->path));
  if (operations->cycle && !s->variant->rows) {
    PetscCall(PetscSNPrintf(cycle, sizeof(cycle), "%.4e", (double)s->cycle.median));
    PetscCall(PetscSNPrintf(faster, sizeof(faster), "%.4f", (double)(parent->cycle.median / s->cycle.median)));
  }
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%.4e,%.4e,%" PetscInt_FMT ",%s,%.4f,%s,", (double)s->steady.median, (double)s->steady.least, s->repeat, cycle, (double)(parent->steady.median / s->steady.median), faster));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%" PetscInt_FMT ",%.4e,%.4e,%.4e,%s,", first_N, (double)s->first, (double)s->setup, (double)s->refresh, even));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%" PetscInt64_FMT ",%" PetscInt64_FMT ",%" PetscInt64_FMT ",%.4f,%.4f,", synergy->csr_bytes, s->synergy.hrpb_bytes, s->synergy.bricks, (double)s->synergy.fill, (double)s->synergy.beta));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%.6e,%.6e,%.4e,%.4f,%.5g,%.2e,", (double)limit.bytes, (double)limit.flops, (double)limit.seconds, (double)(limit.seconds / s->steady.median), (double)(2e-9 * operations->terms * nnz * N / s->steady.median), (double)s->error));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%.1f,%.4g,%.4e,", (double)(machine->copy * 1e-9), (double)(machine->tensor * 1e-12), (double)machine->launch));
  PetscCall(AppendFacts(fp, machine, csr, &s->facts));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%s%s,%s,%s,%s,\"%s\"\n", PetscDefined(USE_COMPLEX) ? "complex " : "", PetscDefined(USE_REAL_SINGLE) ? "single" : "double", table->commit, petsc, machine->cuda, machine->name));
  PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
