/*
   Names that all files may use: of options' values, of log events, and of what is set for the whole program.
   register.c gives them their values.
*/
#include "common.h"

PetscLogEvent MAT_AIJTCU_Analyse, MAT_AIJTCU_Reorder, MAT_AIJTCU_Tune, MAT_AIJTCU_Build, MAT_AIJTCU_Refresh, MAT_AIJTCU_Tcu, MAT_AIJTCU_CSR, MAT_AIJTCU_CuSPARSE, MAT_AIJTCU_Sampled, MAT_AIJTCU_Pack, MAT_AIJTCU_Exchange, MAT_AIJTCU_OffDiagonal;

const char *const MatAIJTCUPaths[]          = {"auto", "tcu", "csr", "cusparse", "MatAIJTCUPath", "MAT_AIJTCU_PATH_", NULL};
const char *const MatAIJTCUPrecisions[]     = {"full", "tf32", "MatAIJTCUPrecision", "MAT_AIJTCU_PRECISION_", NULL};
const char *const MatAIJTCUReorders[]       = {"auto", "never", "always", "MatAIJTCUReorder", "MAT_AIJTCU_REORDER_", NULL};
const char *const MatAIJTCUTunes[]          = {"none", "proxy", "MatAIJTCUTune", "MAT_AIJTCU_TUNE_", NULL};
const char *const MatAIJTCUMults[]          = {"auto", "cusparse", "csr", "nodes", "csr16", "MatAIJTCUMult", "MAT_AIJTCU_MULT_", NULL};
const char *const MatAIJTCUSparses[]        = {"auto", "cusparse", "hash", "MatAIJTCUSparse", "MAT_AIJTCU_SPARSE_", NULL};
const char *const MatAIJTCUMGPrecisions[]   = {"full", "single", "MatAIJTCUMGPrecision", "MAT_AIJTCU_MG_PRECISION_", NULL};
const char *const MatAIJTCUHalos[]          = {"auto", "mpi", "nccl", "MatAIJTCUHalo", "MAT_AIJTCU_HALO_", NULL};
const char *const MatAIJTCUSynergyClasses[] = {"low", "medium", "high", "MatAIJTCUSynergyClass", "MAT_AIJTCU_SYNERGY_", NULL};

AIJTCUBlockSolversMode AIJTCUBlockSolvers = AIJTCU_BLOCK_SOLVERS_AUTO;
#if AIJTCU_HAVE_DEVICE
PetscReal AIJTCUWorkspaceMax = 0;
#endif
