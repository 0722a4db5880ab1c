#include "profile.h"
#include "machine.h"

const char *const ProfileParts[] = {"other", "product", "orthogonalization", "projection", "update", "preconditioner", "dense"};

enum {
  DEPTH = 16 /* most events of the list that are nested */
};

static const struct {
  const char *event;
  ProfilePart part;
} list[] = {
  {"BVMatMult", PROFILE_PRODUCT},
  {"BVOrthogonalize", PROFILE_ORTHOGONALIZATION},
  {"BVMatProject", PROFILE_PROJECTION},
  {"BVMult", PROFILE_UPDATE},
  {"STMatSolve", PROFILE_PRECONDITIONER},
  {"DSSolve", PROFILE_DENSE},
  {"DSVectors", PROFILE_DENSE}};

/* One profile at a time, because PETSc's event callbacks get no context */
static struct {
  Profile        *profile;
  Mat             A;
  PetscLogHandler handler;
  PetscLogEvent   event[PETSC_STATIC_ARRAY_LENGTH(list)];
  ProfilePart     part[DEPTH]; /* innermost last; the first is the rest of the solve */
  int             depth;
  PetscLogDouble  last; /* when a part last got its time */
} now;

/* Give the time since the last call to the innermost part */
static PetscErrorCode Account(void)
{
  PetscLogDouble time;

  PetscFunctionBegin;
  PetscCall(ExampleTime(now.A, &time));
  now.profile->seconds[now.part[now.depth]] += (PetscReal)(time - now.last);
  now.last = time;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Find(PetscLogEvent event, ProfilePart *part)
{
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(list); k++) {
    *part = list[k].part;
    if (event == now.event[k]) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static PetscErrorCode EventBegin(PetscLogEvent event, int unused, PetscObject o1, PetscObject o2, PetscObject o3, PetscObject o4)
{
  ProfilePart part;

  PetscFunctionBegin;
  (void)unused, (void)o1, (void)o2, (void)o3, (void)o4;
  if (!Find(event, &part)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Account());
  PetscCheck(now.depth + 1 < DEPTH, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many events in each other");
  now.part[++now.depth] = part;
  if (part == PROFILE_PRODUCT) now.profile->products++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EventEnd(PetscLogEvent event, int unused, PetscObject o1, PetscObject o2, PetscObject o3, PetscObject o4)
{
  ProfilePart part;

  PetscFunctionBegin;
  (void)unused, (void)o1, (void)o2, (void)o3, (void)o4;
  if (!Find(event, &part)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Account());
  now.depth--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Start a profile of a solve with A. SLEPc must have been used before, so that the events are known */
PetscErrorCode ProfileBegin(Mat A, Profile *profile)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(profile, sizeof(*profile)));
  now.profile = profile;
  now.A       = A;
  now.depth   = 0;
  now.part[0] = PROFILE_OTHER;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(list); k++) PetscCall(PetscLogEventGetId(list[k].event, &now.event[k]));
  PetscCall(PetscLogHandlerCreateLegacy(PETSC_COMM_SELF, EventBegin, EventEnd, NULL, NULL, &now.handler));
  PetscCall(ExampleTime(A, &now.last));
  PetscCall(PetscLogHandlerStart(now.handler));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProfileEnd(void)
{
  PetscFunctionBegin;
  PetscCall(Account());
  PetscCall(PetscLogHandlerStop(now.handler));
  PetscCall(PetscLogHandlerDestroy(&now.handler));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The share of each part that has half a percent of the time or more */
PetscErrorCode ProfilePrint(MPI_Comm comm, const Profile *profile)
{
  PetscReal all = 0;

  PetscFunctionBegin;
  for (int p = 0; p < PROFILE_PARTS; p++) all += profile->seconds[p];
  for (int p = 1; p < PROFILE_PARTS; p++) {
    const PetscReal share = profile->seconds[p] / all;

    if (share >= (PetscReal)0.005) PetscCall(PetscPrintf(comm, " %s %.0f %%", ProfileParts[p], 100 * (double)share));
  }
  PetscCall(PetscPrintf(comm, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
