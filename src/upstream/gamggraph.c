/*
   PCGAMG squares its graph on the host, also where the graph is on a device, and is slow to make an order of its nodes

     MatProductSetFromOptions() takes a structure-only product A B or A^T B of sparse matrices to the product of the
     host, before it asks their types. For a graph of 786k nodes with 79 neighbours each this is 8.6 s of the 9.6 s of a
     set-up with aijcusparse on an H200.

       MatProductCreate(G, G, NULL, &S);                     // G is a seqaijcusparse, or derived from it
       MatSetOption(S, MAT_STRUCTURE_ONLY, PETSC_TRUE);
       MatProductSetType(S, MATPRODUCT_AB);
       MatProductSetFromOptions(S);                          // does not call G's function

     What would help: to ask the types first, and to go to the host where they do not make such a product.

     PCGAMGCoarsen_AGG() exchanges each node with a random one, in three arrays, after it has asked for the length of
     each row. Where there are many nodes it waits for memory most of the time.

     What would help: to draw some of the places ahead, one bit in place of a PetscBool for each, and no degrees where
     nobody sorts by them.

   Needed: 3.26. Gone when: MatProductSetFromOptions() calls the function of a type, and PCGAMG lets the order be given.
   Ours: gamg.c of src/sparse, which needs to know what PCGAMG by aggregation is set to. The test: gamggraph.c.

   Here is a copy of the struct that says so. What is set through PETSc's functions must be found in it
*/
#include "upstream.h"

#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcgamgimpl.h>

static const AIJTCUAggregation *AIJTCUAggregationOf(PC pc)
{
  return (const AIJTCUAggregation *)((const PC_GAMG *)((const PC_MG *)pc->data)->innerctx)->subctx;
}

/* Whether the copy is right for the PETSc that is loaded */
static PetscErrorCode AIJTCUAggregationFits(KSP ksp, PetscBool *fits)
{
  const AIJTCUAggregation *a;
  PC                       pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGSetType(pc, PCGAMGAGG));
  PetscCall(PCGAMGSetNSmooths(pc, 5));
  PetscCall(PCGAMGSetAggressiveLevels(pc, 7));
  PetscCall(PCGAMGMISkSetAggressive(pc, 3));
  PetscCall(PCGAMGSetAggressiveSquareGraph(pc, PETSC_TRUE));
  PetscCall(PCGAMGMISkSetMinDegreeOrdering(pc, PETSC_FALSE));
  a     = AIJTCUAggregationOf(pc);
  *fits = (PetscBool)(a->nsmooths == 5 && a->aggressive_coarsening_levels == 7 && a->aggressive_mis_k == 3 &&
                      a->use_aggressive_square_graph == PETSC_TRUE && a->use_minimum_degree_ordering == PETSC_FALSE);
  PetscCall(PCGAMGSetAggressiveSquareGraph(pc, PETSC_FALSE));
  PetscCall(PCGAMGMISkSetMinDegreeOrdering(pc, PETSC_TRUE));
  *fits = (PetscBool)(*fits && a->use_aggressive_square_graph == PETSC_FALSE && a->use_minimum_degree_ordering == PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCGAMG by aggregation is set to, or NULL if that is not known */
PetscErrorCode AIJTCUGAMGAggregation(PC pc, const AIJTCUAggregation **a)
{
  static AIJTCUKSPTrial trial;
  PetscBool             fits;

  PetscFunctionBegin;
  PetscCall(AIJTCUKSPFits(AIJTCUAggregationFits, &trial, &fits));
  *a = fits ? AIJTCUAggregationOf(pc) : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
