#include "exchange.h"

/* What this process has spent in a stage so far */
PetscErrorCode ExampleExchangeNow(PetscLogStage stage, Exchange *x)
{
  const struct {
    const char     *name;
    PetscLogDouble *seconds;
  } events[] = {
    {"MatTCUPack", &x->pack},
    {"MatTCUExchange", &x->wait},
    {"MatTCUOffDiag", &x->offdiagonal}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(events); k++) {
    PetscLogEvent      event;
    PetscEventPerfInfo info;

    PetscCall(PetscLogEventGetId(events[k].name, &event));
    PetscCall(PetscLogEventGetPerfInfo(stage, event, &info));
    *events[k].seconds = info.time;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was spent since *x was asked for, on the process that spent the most. Collective */
PetscErrorCode ExampleExchangeSince(MPI_Comm comm, PetscLogStage stage, Exchange *x)
{
  Exchange       now;
  PetscLogDouble spent[3];

  PetscFunctionBegin;
  PetscCall(ExampleExchangeNow(stage, &now));
  spent[0] = now.pack - x->pack;
  spent[1] = now.wait - x->wait;
  spent[2] = now.offdiagonal - x->offdiagonal;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, spent, 3, MPI_DOUBLE, MPI_MAX, comm));
  *x = (Exchange){spent[0], spent[1], spent[2]};
  PetscFunctionReturn(PETSC_SUCCESS);
}
