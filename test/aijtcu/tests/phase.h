/*
   What makes numbers of tests complex where scalars are: Phase() has the modulus 1, and gives a symmetric matrix whose
   entries it multiplies a Hermitian one of no smaller diagonal dominance. With real scalars it is 1, and Turned() the number.
*/
#pragma once

#include <petscsys.h>

static inline PetscScalar Phase(PetscInt i, PetscInt j)
{
#if PetscDefined(USE_COMPLEX)
  const PetscReal angle = 2 * PetscSinReal(3 * PetscMin(i, j) + 7 * PetscMax(i, j) + 1);

  if (i != j) return PetscCMPLX(PetscCosReal(angle), i < j ? PetscSinReal(angle) : -PetscSinReal(angle));
#endif
  (void)i;
  (void)j;
  return 1;
}

/* x with another angle for each i */
static inline PetscScalar Turned(PetscReal x, PetscInt i)
{
#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(x * PetscCosReal(5 * i + 1), x * PetscSinReal(5 * i + 1));
#else
  (void)i;
  return x;
#endif
}
