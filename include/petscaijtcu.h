/*
   MATAIJTCU: sparse matrix times block of dense vectors on tensor cores, as a PETSc matrix type.

   This is the only public header. A program needs it for the functions below only: the type itself works in unmodified
   programs through -dll_append and -mat_type aijtcu.
*/
#pragma once

#include <petscmat.h>

/*MC
   MATAIJTCU - MATAIJTCU = "aijtcu" - `MATSEQAIJTCU` on one process, `MATMPIAIJTCU` on more: a `MATAIJCUSPARSE` (a `MATAIJ` where there
   is no device) that multiplies blocks of dense vectors with its nonzeros packed as HRPB bricks where that pays

   Options Database Keys:
+  -mat_type aijtcu                          - use this type, in `MatSetFromOptions()`
.  -mat_aijtcu_path (auto|tcu|scalar|parent) - which path products with dense matrices take, see `MatAIJTCUSetPath()`
.  -mat_aijtcu_precision (full|tf32)         - precision on a device, see `MatAIJTCUSetPrecision()`
.  -mat_aijtcu_brick_rows (8|16)             - rows of a brick, see `MatAIJTCUSetBrickRows()`
.  -mat_aijtcu_panel_rows rows               - rows of a row panel, see `MatAIJTCUSetPanelRows()`
.  -mat_aijtcu_block_cols cols               - columns of a block, see `MatAIJTCUSetBlockCols()`
.  -mat_aijtcu_window_cols (1|2|4|8|16)      - columns of a window, see `MatAIJTCUSetWindowCols()`
.  -mat_aijtcu_cluster (auto|never|always)   - whether bricks may be of the matrix in another order, see `MatAIJTCUSetCluster()`
.  -mat_aijtcu_tune (none|proxy)             - whether path and format are chosen by timing, see `MatAIJTCUSetTune()`
.  -mat_aijtcu_synergy_threshold alpha       - least alpha for which `auto` takes the brick path, see `MatAIJTCUSetSynergyThreshold()`
.  -mat_aijtcu_workspace_max MiB             - device memory for copies of dense matrices, shared by all matrices; 0 (default) is a quarter of the
                                               device's. Products that need more are made in pieces. No prefix
.  -mat_aijtcu_attach                        - matrices that are set to `MATAIJCUSPARSE` multiply dense blocks as a `MATAIJTCU` does; see the notes. No prefix
-  -mat_aijtcu_view_choice                   - at `PetscFinalize()`, print which path the products took and how often. No prefix

   Level: beginner

   Notes:
   The full names extend the parent's ("seqaijcusparsetcu", "mpiaijcusparsetcu"), so that `PetscObjectBaseTypeCompare()` sees a
   `MATSEQAIJ` or `MATMPIAIJ` and `MatSetType()` on an assembled `MATAIJ` or `MATAIJCUSPARSE` keeps its values. "seqaijtcu" and "mpiaijtcu"
   are accepted wherever a type is set.

   Kernels of this type make C = A B, and C = A^T B where A is known to be symmetric, with a dense B of any number of columns and any leading
   dimension, on the host or the device. All other products are the parent's.

   The plan (bricks and what is derived from them) is built at the first product with a dense matrix that takes bricks, and follows the matrix:
   a change of values refreshes the packed values, a change of the nonzero pattern rebuilds it. What cannot be packed (rows that are not sorted,
   complex scalars, no memory) is multiplied without bricks; run with `-info` to be told why.

   With `-mat_aijtcu_attach` a matrix whose type is set to `MATAIJCUSPARSE` gets a plan too, also where a program names the type in its code. It keeps
   its type and name; all functions for a `MATAIJTCU` and the options above apply to it. A matrix that `MatConvert()` makes of a `MATAIJ` gets none.

   Errors:
   A wrong argument is a `PETSC_ERR_ARG_OUTOFRANGE`, tf32 in double precision a `PETSC_ERR_SUP`, a wrong value of an option an error that lists the valid
   ones; nothing is set then. The functions that get something refuse a matrix of another type with `PETSC_ERR_ARG_WRONG`; those that set something
   leave it alone.

   Source:
   Xiang, Asudeh, Sabin, Sukumaran-Rajam and Sadayappan, cuTeSpMM (2025): bricks (section 3.2), synergy (sections 4 and 6.4, Table 1).

   Shi et al., FlashSparse (PPoPP 2025): bricks of 8 rows with exchanged operands.

.seealso: `MatCreateAIJTCU()`, `MatAIJTCUSetPath()`, `MatAIJTCUSetPrecision()`, `MatAIJTCUSetBrickRows()`, `MatAIJTCUSetPanelRows()`,
          `MatAIJTCUSetBlockCols()`, `MatAIJTCUSetWindowCols()`, `MatAIJTCUSetCluster()`, `MatAIJTCUSetTune()`, `MatAIJTCUSetSynergyThreshold()`, `MatAIJTCUGetSynergy()`, `MatAIJTCUGetCounts()`,
          `PetscDLLibraryRegister_petscaijtcu()`, `MATAIJCUSPARSE`, `MATAIJ`
M*/
#define MATAIJTCU    "aijtcu"
#define MATSEQAIJTCU "seqaijcusparsetcu"
#define MATMPIAIJTCU "mpiaijcusparsetcu"

#define PETSCAIJTCU_VERSION_MAJOR    0
#define PETSCAIJTCU_VERSION_MINOR    1
#define PETSCAIJTCU_VERSION_SUBMINOR 0

/*E
   MatAIJTCUPath - which path a product of a `MATAIJTCU` with a dense matrix takes

   Values:
+  `MAT_AIJTCU_PATH_AUTO`   - what the model says, or the threshold of `MatAIJTCUSetSynergyThreshold()` where one is set
.  `MAT_AIJTCU_PATH_TCU`    - bricks
.  `MAT_AIJTCU_PATH_SCALAR` - without bricks: on a device a kernel for CSR, on the host the parent type's product
-  `MAT_AIJTCU_PATH_PARENT` - the parent type's product: on a device that of cuSPARSE

   Level: intermediate

   Note:
   `MatAIJTCUPaths` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetPath()`, `MatAIJTCUGetPath()`
E*/
typedef enum {
  MAT_AIJTCU_PATH_AUTO,
  MAT_AIJTCU_PATH_TCU,
  MAT_AIJTCU_PATH_SCALAR,
  MAT_AIJTCU_PATH_PARENT
} MatAIJTCUPath;
PETSC_EXTERN const char *const MatAIJTCUPaths[];

/*E
   MatAIJTCUPrecision - how exactly the bricks of a `MATAIJTCU` are multiplied on a device

   Values:
+  `MAT_AIJTCU_PRECISION_FULL` - that of `PetscScalar`: FP64 tensor cores in double precision; in single precision operands split into two TF32 numbers
-  `MAT_AIJTCU_PRECISION_TF32` - operands rounded to TF32, 11 bits; in single precision only

   Level: intermediate

   Note:
   `MatAIJTCUPrecisions` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetPrecision()`, `MatAIJTCUGetPrecision()`
E*/
typedef enum {
  MAT_AIJTCU_PRECISION_FULL,
  MAT_AIJTCU_PRECISION_TF32
} MatAIJTCUPrecision;
PETSC_EXTERN const char *const MatAIJTCUPrecisions[];

/*E
   MatAIJTCUCluster - whether the bricks of a `MATAIJTCU` may be of the matrix in another order of its rows and columns

   Values:
+  `MAT_AIJTCU_CLUSTER_AUTO`   - where the model says that it pays
.  `MAT_AIJTCU_CLUSTER_NEVER`  - bricks are of the matrix as it is
-  `MAT_AIJTCU_CLUSTER_ALWAYS` - wherever there can be

   Level: intermediate

   Note:
   `MatAIJTCUClusters` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetCluster()`, `MatAIJTCUGetCluster()`
E*/
typedef enum {
  MAT_AIJTCU_CLUSTER_AUTO,
  MAT_AIJTCU_CLUSTER_NEVER,
  MAT_AIJTCU_CLUSTER_ALWAYS
} MatAIJTCUCluster;
PETSC_EXTERN const char *const MatAIJTCUClusters[];

/*E
   MatAIJTCUTune - whether a `MATAIJTCU` on a device chooses path and format by timing

   Values:
+  `MAT_AIJTCU_TUNE_NONE`  - they follow from a model
-  `MAT_AIJTCU_TUNE_PROXY` - products with a few rows that stand for all are timed

   Level: intermediate

   Note:
   `MatAIJTCUTunes` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetTune()`, `MatAIJTCUGetTune()`
E*/
typedef enum {
  MAT_AIJTCU_TUNE_NONE,
  MAT_AIJTCU_TUNE_PROXY
} MatAIJTCUTune;
PETSC_EXTERN const char *const MatAIJTCUTunes[];

/*E
   MatAIJTCUSynergyClass - how well a matrix suits tensor cores (cuTeSpMM, Table 1)

   Values:
+  `MAT_AIJTCU_SYNERGY_LOW`    - alpha < 12.5 %
.  `MAT_AIJTCU_SYNERGY_MEDIUM` - 12.5 % <= alpha < 25 %
-  `MAT_AIJTCU_SYNERGY_HIGH`   - alpha >= 25 %

   Level: intermediate

   Note:
   `MatAIJTCUSynergyClasses` has the names, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSynergy`, `MatAIJTCUGetSynergy()`
E*/
typedef enum {
  MAT_AIJTCU_SYNERGY_LOW,
  MAT_AIJTCU_SYNERGY_MEDIUM,
  MAT_AIJTCU_SYNERGY_HIGH
} MatAIJTCUSynergyClass;
PETSC_EXTERN const char *const MatAIJTCUSynergyClasses[];

/*S
   MatAIJTCUSynergy - the model's view of the local rows of a `MATAIJTCU`

   Fields:
+  alpha        - nonzeros per slot of the active columns of strips of 16 rows, in [0,1] (cuTeSpMM, section 4)
.  alpha8       - the same with strips of 8 rows
.  intensity    - modelled operational intensity on shared memory, 512 alpha at TN = 32 (cuTeSpMM, section 4), in flop per transaction
.  cls          - class by alpha
.  built        - whether bricks exist; the next five are zero while they do not
.  clustered    - whether they are of the matrix in another order
.  beta         - bricks per group of four active columns of a block: how often a row of B is used that was staged for an entry
.  fill         - nonzeros per slot of the bricks, in [0,1]
.  bricks       - number of bricks
.  hrpb_bytes   - bytes of the bricks, packed values and what another order needs included
.  csr_bytes    - bytes of the CSR of the same rows
-  device_bytes - bytes of device memory that products have made for themselves so far and keep: of bricks, of where their values come from (once these have changed), of another order, of how
                  rows are cut for the scalar path. Without the workspace, which all matrices share

   Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSynergyClass`, `MatAIJTCUGetSynergy()`
S*/
typedef struct {
  PetscReal             alpha, alpha8, intensity;
  MatAIJTCUSynergyClass cls;
  PetscBool             built, clustered;
  PetscReal             beta, fill;
  PetscInt64            bricks;
  PetscInt64            hrpb_bytes, csr_bytes, device_bytes;
} MatAIJTCUSynergy;

/*S
   MatAIJTCUCounts - what happened to the plans of a `MATAIJTCU` on this process so far

   Fields:
+  builds    - times bricks were built
.  refreshes - times only packed values were renewed (not counting the first packing of a build)
.  tcu       - products that took the brick path
.  scalar    - products that took the scalar path
-  parent    - products left to the parent: as set, or, on a device, because no kernel could be had

   Level: developer

   Note:
   A product of a `MATMPIAIJTCU` counts once for each local block (diagonal, off-diagonal) that takes part.

.seealso: `MATAIJTCU`, `MatAIJTCUGetCounts()`
S*/
typedef struct {
  PetscInt64 builds, refreshes, tcu, scalar, parent;
} MatAIJTCUCounts;

/*S
   MatAIJTCUVariant - one of the ways to multiply that `MAT_AIJTCU_TUNE_PROXY` compares

   Fields:
+  path        - `MAT_AIJTCU_PATH_TCU` or `MAT_AIJTCU_PATH_SCALAR`, for which the next four are zero
.  brick_rows  - rows of a brick
.  panel_rows  - rows of a row panel
.  block_cols  - columns of a block
.  window_cols - columns of a window
-  seconds     - of a product with the whole matrix, as the proxy has it; zero where it was not timed

   Level: advanced

.seealso: `MATAIJTCU`, `MatAIJTCUTuning`, `MatAIJTCUGetTuning()`
S*/
typedef struct {
  MatAIJTCUPath path;
  PetscInt      brick_rows, panel_rows, block_cols, window_cols;
  PetscReal     seconds;
} MatAIJTCUVariant;

/*S
   MatAIJTCUTuning - what `MAT_AIJTCU_TUNE_PROXY` found for a number of columns

   Fields:
+  nvariants - number of variants; zero where nothing was tuned
.  variant   - the variants
.  winner    - which of them products take; -1 where the model decides
.  share     - rows of the proxy for each row of the matrix
.  products  - how many products of the winner the timed ones took together
-  seconds   - from the beginning to the end of the tuning

   Level: advanced

.seealso: `MATAIJTCU`, `MatAIJTCUVariant`, `MatAIJTCUGetTuning()`
S*/
typedef struct {
  PetscInt                nvariants;
  const MatAIJTCUVariant *variant;
  PetscInt                winner;
  PetscReal               share, products, seconds;
} MatAIJTCUTuning;

PETSC_EXTERN PetscErrorCode MatCreateAIJTCU(MPI_Comm, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, const PetscInt[], PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetPath(Mat, MatAIJTCUPath);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetPath(Mat, MatAIJTCUPath *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetPrecision(Mat, MatAIJTCUPrecision);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetPrecision(Mat, MatAIJTCUPrecision *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetTune(Mat, MatAIJTCUTune);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetTune(Mat, MatAIJTCUTune *);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetTuning(Mat, PetscInt, MatAIJTCUTuning *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetBrickRows(Mat, PetscInt);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetBrickRows(Mat, PetscInt *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetPanelRows(Mat, PetscInt);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetPanelRows(Mat, PetscInt *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetBlockCols(Mat, PetscInt);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetBlockCols(Mat, PetscInt *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetWindowCols(Mat, PetscInt);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetWindowCols(Mat, PetscInt *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetCluster(Mat, MatAIJTCUCluster);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetCluster(Mat, MatAIJTCUCluster *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetSynergyThreshold(Mat, PetscReal);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetSynergyThreshold(Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetSynergy(Mat, MatAIJTCUSynergy *);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetCounts(Mat, MatAIJTCUCounts *);

/* Called by -dll_append; a program that links the library calls it once after PetscInitialize() */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscaijtcu(void);
