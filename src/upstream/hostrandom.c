/*
   PETSCCURAND writes into arrays of the host from a kernel

     PetscRandomGetValues_CURAND() gives each array to cuRAND, which takes it for one of the device. MatSetRandom() of a
     MATSEQDENSE asks it for one number after the other, into an array of the host. The kernel ends with an illegal
     address. From then on each call of CUDA is an error in this process, and in all that share the GPU with it by MPS.
     SLEPc does that: a BV of a device has a PETSCCURAND, and CISS of EPS, PEP and NEP fills a small MATSEQDENSE by it
     before its second iteration.

       PetscRandomSetType(r, PETSCCURAND);
       PetscRandomGetValue(r, &value);

     What would help: PetscGetMemType(), and numbers by way of the device, or of another generator, for an array of the
     host.

   Needed: 3.24 to 3.26. Gone when: nothing says it, as what follows such an error is lost; try the lines above. Ours:
   type.c, solvers.c, with a GPU.

   Here arrays of the host get numbers from a PETSCRANDER48 with the seed and the interval of the other one
*/
#include "upstream.h"

#if PetscDefined(HAVE_CUDA)
  #include <petscdevice.h>
  #include <petsc/private/randomimpl.h>

  #define HOST_KEY "aijtcu_host_random"

static PetscErrorCode (*AIJTCURandomCreate)(PetscRandom);
static struct _PetscRandomOps AIJTCURandomOps; /* PETSc's */

/* The generator for arrays of the host, NULL if val is on the device */
static PetscErrorCode AIJTCUHostRandom(PetscRandom r, const void *val, PetscRandom *host)
{
  PetscMemType type;

  PetscFunctionBegin;
  *host = NULL;
  PetscCall(PetscGetMemType(val, &type));
  if (PetscMemTypeDevice(type)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQuery((PetscObject)r, HOST_KEY, (PetscObject *)host));
  if (!*host) {
    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, host));
    PetscCall(PetscRandomSetType(*host, PETSCRANDER48));
    PetscCall(PetscRandomSetSeed(*host, r->seed));
    PetscCall(PetscRandomSeed(*host));
    PetscCall(PetscObjectCompose((PetscObject)r, HOST_KEY, (PetscObject)*host));
    PetscCall(PetscObjectDereference((PetscObject)*host)); /* r has it */
  }
  (*host)->low   = r->low;
  (*host)->width = r->width;
  (*host)->iset  = r->iset;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRandomGetValues_CURAND_AIJTCU(PetscRandom r, PetscInt n, PetscScalar *val)
{
  PetscRandom host;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostRandom(r, val, &host));
  if (host) PetscCall(PetscRandomGetValues(host, n, val));
  else PetscCall((*AIJTCURandomOps.getvalues)(r, n, val));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRandomGetValuesReal_CURAND_AIJTCU(PetscRandom r, PetscInt n, PetscReal *val)
{
  PetscRandom host;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostRandom(r, val, &host));
  if (host) PetscCall(PetscRandomGetValuesReal(host, n, val));
  else PetscCall((*AIJTCURandomOps.getvaluesreal)(r, n, val));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRandomSeed_CURAND_AIJTCU(PetscRandom r)
{
  PetscFunctionBegin;
  PetscCall((*AIJTCURandomOps.seed)(r));
  PetscCall(PetscObjectCompose((PetscObject)r, HOST_KEY, NULL)); /* the next one has the seed */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRandomCreate_CURAND_AIJTCU(PetscRandom r)
{
  PetscFunctionBegin;
  PetscCall((*AIJTCURandomCreate)(r));
  AIJTCURandomOps       = *r->ops;
  r->ops->seed          = PetscRandomSeed_CURAND_AIJTCU;
  r->ops->getvalues     = PetscRandomGetValues_CURAND_AIJTCU;
  r->ops->getvaluesreal = PetscRandomGetValuesReal_CURAND_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* When the library is loaded */
PetscErrorCode AIJTCURegisterRandom(void)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscRandomInitializePackage());
  PetscCall(AIJTCUReplaceCreator(PetscRandomList, PETSCCURAND, PetscRandomCreate_CURAND_AIJTCU, &AIJTCURandomCreate));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
