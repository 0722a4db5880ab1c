/*
   The decision: how a product is made. See choice.c; nothing here knows a Mat.
*/
#pragma once

#include <petscaijtcu.h>
#include <hrpbdevice.h>
#include <csrdevice.h>
#if defined(__has_include)
  #if __has_include(<spmm.h>)
    #include <spmm.h>
    #define AIJTCU_HAVE_TABLE 1
  #endif
#endif
#if !defined(AIJTCU_HAVE_TABLE) /* until the table of kernels is there */
typedef enum {
  SPMM_OP_PRODUCT
} SpmmOp;
typedef struct SpmmKernel_ SpmmKernel;
#endif

/* Why a product takes its path. AIJTCUReasons has the words that -mat_aijtcu_view_choice and -info print, in this order */
typedef enum {
  AIJTCU_REASON_UNKNOWN,
  AIJTCU_REASON_SET,
  AIJTCU_REASON_SCALAR_TYPE,
  AIJTCU_REASON_NO_DEVICE,
  AIJTCU_REASON_NO_KERNEL,
  AIJTCU_REASON_THRESHOLD_ABOVE_ONE,
  AIJTCU_REASON_BOUND,
  AIJTCU_REASON_ANY_ALPHA,
  AIJTCU_REASON_ALPHA_HIGH,
  AIJTCU_REASON_ALPHA_LOW,
  AIJTCU_REASON_TUNED,
  AIJTCU_REASON_NO_ENTRIES,
  AIJTCU_REASON_FEW_ENTRIES,
  AIJTCU_REASON_SHORT_ROWS,
  AIJTCU_REASON_NO_SYNERGY,
  AIJTCU_REASON_SCATTERED,
  AIJTCU_REASON_REORDERED_FASTER,
  AIJTCU_REASON_BRICKS_SLOWER,
  AIJTCU_REASON_BRICKS_FASTER,
  AIJTCU_REASON_NO_CSR_KERNEL,
  AIJTCU_NREASONS
} AIJTCUReason;
PETSC_INTERN const char *const AIJTCUReasons[AIJTCU_NREASONS];

/* What a decision wants to know more of */
typedef enum {
  AIJTCU_NEED_NOTHING,
  AIJTCU_NEED_CSR,    /* how the rows are cut for the kernels on CSR */
  AIJTCU_NEED_SURVEY, /* the columns of the matrix, counted */
  AIJTCU_NEED_ORDER,  /* a reordering, found through so many levels at most */
  AIJTCU_NEED_TUNING  /* the times of a proxy */
} AIJTCUNeedFact;

typedef struct {
  SpmmOp            op;
  PetscInt          N;      /* columns of the dense operand */
  MatAIJTCUPath     path;   /* MAT_AIJTCU_PATH_AUTO while that is not known */
  AIJTCUReason      reason; /* of the path */
  const SpmmKernel *kernel; /* NULL: the parent's product */
  HrpbParams        format; /* of the bricks, if the path takes them, */
  PetscBool         reordered; /* and whether they are of the reordered matrix */
  AIJTCUNeedFact    need;   /* what has to be known before the rest is */
  PetscInt          levels; /* for AIJTCU_NEED_ORDER */
} AIJTCUDecision;
