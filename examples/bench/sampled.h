/*
   Sampled products as operations of the benchmark: C = X Y^T at the entries of A, and R = C Z in one pass
*/
#pragma once

#include "rounds.h"

PETSC_INTERN const Operations SampledOperations, FusedOperations;
