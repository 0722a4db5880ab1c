/*
   MATAIJTCU: sparse matrix times block of dense vectors on tensor cores, as a PETSc matrix type.

   This is the only public header. A program needs it for the functions below only: the type itself works in unmodified
   programs through -dll_append and -mat_type aijtcu.
*/
#pragma once

#include <petscksp.h>

/*MC
   MATAIJTCU - MATAIJTCU = "aijtcu" - `MATSEQAIJTCU` on one process, `MATMPIAIJTCU` on more: a sparse matrix that
   multiplies blocks of dense vectors on tensor cores. On a device it is a `MATAIJCUSPARSE` in all else, on the host a
   `MATAIJ`

   Options Database Keys:
+  -mat_type aijtcu                            - use this type, in `MatSetFromOptions()`
.  -mat_aijtcu_path (auto|tcu|csr|cusparse)    - which path products with dense matrices take, see `MatAIJTCUSetPath()`
.  -mat_aijtcu_format brick,panel,block,window - format of the bricks, four whole numbers, see `MatAIJTCUSetFormat()`
.  -mat_aijtcu_precision (full|tf32)           - precision of the bricks on a device, see `MatAIJTCUSetPrecision()`
.  -mat_aijtcu_reorder (auto|never|always)     - whether bricks may be of the reordered matrix, see
                                                 `MatAIJTCUSetReorder()`
.  -mat_aijtcu_mult (auto|cusparse|csr|nodes|csr16) - what multiplies with one vector, see `MatAIJTCUSetMult()`
.  -mat_aijtcu_sparse (auto|cusparse|hash) - who makes products with sparse matrices, see `MatAIJTCUSetSparse()`
.  -mat_aijtcu_mg_precision (full|single)      - precision of a multigrid cycle for one vector, see
                                                 `MatAIJTCUSetMGPrecision()`
.  -mat_aijtcu_tune (none|proxy)               - whether path and format are chosen by timing, see `MatAIJTCUSetTune()`
.  -mat_aijtcu_products n                      - how many products are expected, see
                                                 `MatAIJTCUSetExpectedProducts()`
.  -mat_aijtcu_halo (auto|mpi|nccl)            - how processes exchange rows of the dense matrix, see
                                                 `MatAIJTCUSetHalo()`
.  -mat_aijtcu_synergy_threshold alpha         - least alpha for which `auto` takes bricks, see
                                                 `MatAIJTCUSetSynergyThreshold()`
.  -mat_aijtcu_workspace_max MiB               - device memory for copies of dense matrices, shared by all matrices; 0
                                                 (default) is a quarter of the device's. Products that need more are
                                                 made in pieces. No prefix
.  -mat_aijtcu_attach                          - matrices that are set to `MATAIJCUSPARSE` multiply dense blocks as a
                                                 `MATAIJTCU` does; see the notes. No prefix
.  -mat_aijtcu_for types                       - matrices whose type would be one of these, aij or aijcusparse, become
                                                 a `MATAIJTCU`; see the notes. No prefix
.  -mat_aijtcu_block_solvers (auto|always|off) - whether `KSPMatSolve()` with a KSP of type cg, bcg, chebyshev,
                                                 richardson, gmres, fgmres or bcgs solves with whole blocks; see the
                                                 notes. No prefix
.  -mat_aijtcu_view [viewer]                   - print what is known of the matrix when it is destroyed, see
                                                 `MatAIJTCUView()`
-  -mat_aijtcu_view_choice                     - at `PetscFinalize()`, print whether the type was at work, which path
                                                 the products took and how often. No prefix

   Level: beginner

   Notes:
   The full names of the types extend those of the parent types ("seqaijcusparsetcu", "mpiaijcusparsetcu"). So
   `PetscObjectBaseTypeCompare()` sees a `MATSEQAIJ` or `MATMPIAIJ`, and `MatSetType()` on an assembled `MATAIJ` or
   `MATAIJCUSPARSE` keeps its values. "seqaijtcu" and "mpiaijtcu" are accepted wherever a type is set.

   Kernels of this type compute C = A B, and C = A^T B where A is eternally symmetric (MAT_SYMMETRIC and
   MAT_SYMMETRY_ETERNAL), is on a device or is parallel. A is m x n, B a dense matrix with any number N of columns and
   any leading dimension, on the host or the device. On a device they also compute `MatMult()`, `MatMultAdd()` and
   products with the transpose: see `MatAIJTCUSetMult()`. All other products are those of the parent type.

   Bricks are small dense pieces of the matrix that hold its nonzeros. They are built at the first product that takes
   them. New values in the same nonzero pattern are packed again, a new pattern is built again. A matrix that cannot be
   packed (rows that are not sorted, no memory) is multiplied without bricks; `-info` says why.

   With `-mat_aijtcu_attach` a matrix whose type is set to `MATAIJCUSPARSE` multiplies dense blocks in the same way,
   also where a program names that type in its code. It keeps its type and its name; all functions for a `MATAIJTCU` and
   the options above apply to it. A matrix that `MatConvert()` makes of a `MATAIJ` is not among them.

   With `-mat_aijtcu_for aij,aijcusparse` matrices whose type would be `MATAIJ` or `MATAIJCUSPARSE` become a
   `MATAIJTCU`: those that `MatSetType()` sets to these names, and those that `MatSetFromOptions()` makes a `MATAIJ`
   because nobody gave a type. Matrices of any other type stay what they are, which `-mat_type aijtcu` does not let
   them. Those that are set to `MATSEQAIJ` or `MATMPIAIJ`, as by `MatCreateAIJ()`, stay, too.

   `KSPMatSolve()` with a `MATAIJTCU` on a device as operator works on the whole block of right-hand sides for the types
   `KSPCG`, `KSPCHEBYSHEV`, `KSPRICHARDSON`, `KSPGMRES`, `KSPFGMRES` and `KSPBCGS`, with PETSc 3.26 and real scalars.
   Each right-hand side has the scalars, the iterations and the test of `KSPSolve()` for it alone;
   `MatAIJTCUKSPGetColumns()` says how it fared. `KSPRICHARDSON` has PETSc's one test for the whole block. The type
   "bcg" is added: block conjugate gradients with one Krylov space for all right-hand sides, and `KSPCG` otherwise. What
   the block form lacks, such as monitors, other convergence tests, and the transpose with richardson, is solved as by
   PETSc; `-info` says why.

   Errors:
   A wrong argument is a `PETSC_ERR_ARG_OUTOFRANGE`, tf32 in double precision a `PETSC_ERR_SUP`. A wrong value of an
   option is an error that lists the valid ones. Nothing is set then. Functions that get something refuse a matrix of
   another type with `PETSC_ERR_ARG_WRONG`; functions that set something leave it alone.

   Source:
   Xiang, Asudeh, Sabin, Sukumaran-Rajam and Sadayappan, cuTeSpMM (2025): bricks (section 3.2), synergy (sections 4 and
   6.4, Table 1).

   Shi et al., FlashSparse (PPoPP 2025): bricks of 8 rows with exchanged operands.

.seealso: `MatCreateAIJTCU()`, `MatAIJTCUSetPath()`, `MatAIJTCUSetFormat()`, `MatAIJTCUSetPrecision()`,
          `MatAIJTCUSetReorder()`, `MatAIJTCUSetTune()`, `MatAIJTCUSetExpectedProducts()`, `MatAIJTCUSetHalo()`,
          `MatAIJTCUSetSynergyThreshold()`, `MatAIJTCUGetSynergy()`, `MatAIJTCUGetCounts()`, `MatAIJTCUView()`,
          `MatAIJTCUKSPGetColumns()`, `PetscDLLibraryRegister_petscaijtcu()`, `MATAIJCUSPARSE`, `MATAIJ`
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
+  `MAT_AIJTCU_PATH_AUTO`     - the faster one by a model of the times, or what a threshold says, see
                                `MatAIJTCUSetSynergyThreshold()`
.  `MAT_AIJTCU_PATH_TCU`      - bricks
.  `MAT_AIJTCU_PATH_CSR`      - no bricks: on a device kernels that read the CSR of the matrix, on the host the product
                                of the parent type
-  `MAT_AIJTCU_PATH_CUSPARSE` - the product of the parent type: on a device that of cuSPARSE

   Level: intermediate

   Note:
   `MatAIJTCUPaths` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetPath()`, `MatAIJTCUGetPath()`
E*/
typedef enum {
  MAT_AIJTCU_PATH_AUTO,
  MAT_AIJTCU_PATH_TCU,
  MAT_AIJTCU_PATH_CSR,
  MAT_AIJTCU_PATH_CUSPARSE
} MatAIJTCUPath;
PETSC_EXTERN const char *const MatAIJTCUPaths[];

/*E
   MatAIJTCUPrecision - how exactly the bricks of a `MATAIJTCU` are multiplied on a device

   Values:
+  `MAT_AIJTCU_PRECISION_FULL` - that of `PetscScalar`: FP64 tensor cores in double precision, in single precision each
                                 operand as the sum of two TF32 numbers
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
   MatAIJTCUReorder - whether the bricks of a `MATAIJTCU` may be of the reordered matrix

   Values:
+  `MAT_AIJTCU_REORDER_AUTO`   - where the model says that it pays
.  `MAT_AIJTCU_REORDER_NEVER`  - bricks are of the matrix as it is
-  `MAT_AIJTCU_REORDER_ALWAYS` - wherever the matrix can be reordered

   Level: intermediate

   Note:
   `MatAIJTCUReorders` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetReorder()`, `MatAIJTCUGetReorder()`
E*/
typedef enum {
  MAT_AIJTCU_REORDER_AUTO,
  MAT_AIJTCU_REORDER_NEVER,
  MAT_AIJTCU_REORDER_ALWAYS
} MatAIJTCUReorder;
PETSC_EXTERN const char *const MatAIJTCUReorders[];

/*E
   MatAIJTCUTune - whether a `MATAIJTCU` on a device chooses path and format by timing

   Values:
+  `MAT_AIJTCU_TUNE_NONE`  - they follow from a model of the times
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
   MatAIJTCUMult - what multiplies a `MATAIJTCU` on a device with one vector

   Values:
+  `MAT_AIJTCU_MULT_AUTO`     - our kernels; after some products that for nodes, and columns of 16 bits where they reach
.  `MAT_AIJTCU_MULT_CUSPARSE` - the parent type: cuSPARSE
.  `MAT_AIJTCU_MULT_CSR`      - our kernels for any CSR matrix
.  `MAT_AIJTCU_MULT_NODES`    - from the first product on the kernel for nodes: rows that share their columns
-  `MAT_AIJTCU_MULT_CSR16`    - from the first product on the kernel for columns of 16 bits

   Level: intermediate

   Note:
   `MatAIJTCUMults` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetMult()`, `MatAIJTCUGetMult()`
E*/
typedef enum {
  MAT_AIJTCU_MULT_AUTO,
  MAT_AIJTCU_MULT_CUSPARSE,
  MAT_AIJTCU_MULT_CSR,
  MAT_AIJTCU_MULT_NODES,
  MAT_AIJTCU_MULT_CSR16
} MatAIJTCUMult;
PETSC_EXTERN const char *const MatAIJTCUMults[];

/*E
   MatAIJTCUSparse - who makes products of a `MATAIJTCU` on a device with sparse matrices

   Values:
+  `MAT_AIJTCU_SPARSE_AUTO`     - our kernels
.  `MAT_AIJTCU_SPARSE_CUSPARSE` - the parent type: cuSPARSE
-  `MAT_AIJTCU_SPARSE_HASH`     - our kernels, which find the columns of a row by hashing

   Level: intermediate

   Note:
   `MatAIJTCUSparses` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetSparse()`, `MatAIJTCUGetSparse()`
E*/
typedef enum {
  MAT_AIJTCU_SPARSE_AUTO,
  MAT_AIJTCU_SPARSE_CUSPARSE,
  MAT_AIJTCU_SPARSE_HASH
} MatAIJTCUSparse;
PETSC_EXTERN const char *const MatAIJTCUSparses[];

/*E
   MatAIJTCUMGPrecision - the precision in which multigrid with a `MATAIJTCU` works on one vector on a device

   Values:
+  `MAT_AIJTCU_MG_PRECISION_FULL`   - that of `PetscScalar`
-  `MAT_AIJTCU_MG_PRECISION_SINGLE` - single precision, but for the coarse solve

   Level: intermediate

   Note:
   `MatAIJTCUMGPrecisions` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetMGPrecision()`, `MatAIJTCUGetMGPrecision()`
E*/
typedef enum {
  MAT_AIJTCU_MG_PRECISION_FULL,
  MAT_AIJTCU_MG_PRECISION_SINGLE
} MatAIJTCUMGPrecision;
PETSC_EXTERN const char *const MatAIJTCUMGPrecisions[];

/*E
   MatAIJTCUHalo - how the processes of a `MATAIJTCU` exchange rows of the dense matrix

   Values:
+  `MAT_AIJTCU_HALO_AUTO` - from device to device within a machine where CUDA lets processes do so, otherwise messages
                            of MPI
.  `MAT_AIJTCU_HALO_MPI`  - messages of MPI between buffers that the matrix keeps
-  `MAT_AIJTCU_HALO_NCCL` - messages of NCCL between devices. Each process must have a GPU of its own

   Level: advanced

   Note:
   `MatAIJTCUHalos` has the names that options take, in this order.

.seealso: `MATAIJTCU`, `MatAIJTCUSetHalo()`, `MatAIJTCUGetHalo()`
E*/
typedef enum {
  MAT_AIJTCU_HALO_AUTO,
  MAT_AIJTCU_HALO_MPI,
  MAT_AIJTCU_HALO_NCCL
} MatAIJTCUHalo;
PETSC_EXTERN const char *const MatAIJTCUHalos[];

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
   MatAIJTCUFormat - the format of the bricks of a `MATAIJTCU`

   Fields:
+  brick_rows  - rows of a brick: 8 (FlashSparse) or 16 (cuTeSpMM, section 3.2). A brick has 4 columns
.  panel_rows  - rows of a panel (TM): a multiple of the rows of a brick, up to 256. A panel is stored as a sequence of
                 blocks
.  block_cols  - columns of a block (TK), up to 256: a multiple of 4 and of the columns of a window
-  window_cols - columns of a window (TW): 1, 2, 4, 8 or 16. As many consecutive rows of the dense matrix are staged
                 together

   Level: intermediate

   Note:
   Four zeros are no format: none is set, or nothing has bricks.

.seealso: `MATAIJTCU`, `MatAIJTCUSetFormat()`, `MatAIJTCUGetFormat()`, `MatAIJTCUVariant`
S*/
typedef struct {
  PetscInt brick_rows, panel_rows, block_cols, window_cols;
} MatAIJTCUFormat;

/*S
   MatAIJTCUSynergy - how the local rows of a `MATAIJTCU` suit tensor cores

   Fields:
+  alpha        - nonzeros for each slot of the active columns of strips of 16 rows, in [0,1] (cuTeSpMM, section 4)
.  alpha8       - the same with strips of 8 rows
.  cls          - class by alpha
.  threshold    - least alpha for which `MAT_AIJTCU_PATH_AUTO` takes bricks: the one that is set. Otherwise, where a
                  model of the times decides, the alpha at which the two times of this matrix meet, with `columns`
                  columns: 0 where bricks are faster at any alpha, or before the first product, and 2 (never) where they
                  are slower at any, or without a model
.  columns      - columns of the last product; zero before the first
.  bricks_seconds - time of that product by bricks, by the model; zero where nothing was compared
.  csr_seconds  - the same by the CSR path
.  built        - whether bricks exist; the next five are zero while they do not
.  reordered    - whether they are of the reordered matrix
.  beta         - bricks for each group of four active columns of a block: how often a row of B is used that was staged
                  for an entry
.  fill         - nonzeros for each slot of the bricks, in [0,1]
.  bricks       - number of bricks
.  hrpb_bytes   - bytes of the bricks, with the packed values and what the reordering needs
.  csr_bytes    - bytes of the CSR of the same rows
-  device_bytes - bytes of device memory that products have made for themselves so far and keep: bricks, where their
                  values come from (once these have changed), the reordering, the schedule of the CSR path. The
                  workspace, which all matrices share, is not counted

   Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSynergyClass`, `MatAIJTCUGetSynergy()`
S*/
typedef struct {
  PetscReal             alpha, alpha8;
  MatAIJTCUSynergyClass cls;
  PetscReal             threshold;
  PetscInt              columns;
  PetscReal             bricks_seconds, csr_seconds;
  PetscBool             built, reordered;
  PetscReal             beta, fill;
  PetscInt64            bricks;
  PetscInt64            hrpb_bytes, csr_bytes, device_bytes;
} MatAIJTCUSynergy;

/*S
   MatAIJTCUCounts - what happened to the plans of a `MATAIJTCU` on this process so far

   Fields:
+  builds      - how often bricks were built
.  refreshes   - how often only packed values were renewed; the first packing of a build is not counted
.  tcu         - products that took bricks
.  csr         - products that took the CSR path
.  cusparse    - products left to the parent type: as set or, on a device, because no kernel could be had
.  sampled_tcu - sampled products on a device that took bricks
.  sampled_csr - sampled products on a device that took the CSR path
.  fused       - sampled products that were multiplied by a dense matrix in the same pass (`MatCreateSampledLR()`)
.  sparse      - products of sparse matrices by our kernels that gave this matrix its values
.  mult        - products with one vector (`MatMult()` and its kin) by kernels of this library
-  mult_parent - those left to the parent type on a device; on the host all are, and none is counted

   Level: developer

   Note:
   A product of a `MATMPIAIJTCU` counts once for each local block (diagonal, off-diagonal) that takes part.

.seealso: `MATAIJTCU`, `MatAIJTCUGetCounts()`
S*/
typedef struct {
  PetscInt64 builds, refreshes, tcu, csr, cusparse, sampled_tcu, sampled_csr, fused, sparse, mult, mult_parent;
} MatAIJTCUCounts;

/*S
   MatSampledRows - the rows of a sparse matrix, as `MatSampledApply()` gives them to a function

   Fields:
+  nrows   - local rows
.  blocks  - local blocks: 2 for a parallel matrix, whose rows are in the diagonal and the off-diagonal block, else 1
.  entries - of each block
.  rowptr  - for each block: entries of row i are those from rowptr[i] to rowptr[i + 1] - 1
.  values  - of the entries of each block; both arrays of a block without entries may be `NULL`
.  mem     - where the arrays are
-  stream  - on a device of CUDA the cudaStream_t that all work must go to

   Level: advanced

.seealso: `MATAIJTCU`, `MatSampledApply()`
S*/
typedef struct {
  PetscInt        nrows, blocks, entries[2];
  const PetscInt *rowptr[2];
  PetscScalar    *values[2];
  PetscMemType    mem;
  void           *stream;
} MatSampledRows;

/* A function for MatSampledApply() */
typedef PetscErrorCode (*MatSampledFn)(const MatSampledRows *rows, void *ctx);

/*S
   MatAIJTCUFacts - what the model of times reads of the local rows of a `MATAIJTCU`, and the kernel of its products

   Fields:
+  path             - path of a product
.  kernel           - name of the kernel that makes it; empty where it is the parent type's product
.  model            - name of the device that the model's numbers are of, which may be another one; empty on the host
.  seconds          - time of the product by the model; zero where it says nothing
.  reordered        - whether the product is of the reordered matrix; then the next five are of that
.  strip_cols8      - active columns of strips of 8 rows, all together
.  strip_cols16     - active columns of strips of 16 rows, all together
.  staged_rows      - rows of the dense matrix that all panels bring into shared memory; zero on the host, as are the
                      next two
.  needed_rows      - the staged rows that an entry needs
.  most_staged_rows - staged rows of the panel with most
.  turns            - entries, if each row that is not cut had as many as the longest such row of its eight; zero on
                      the host
.  levels           - levels of the search for a reordering; zero where there was none
.  direct_columns   - most columns of the dense matrix for which the CSR path goes column by column; zero on the host,
                      as are the next two
.  panel_rows       - rows of a panel of the CSR path, where it has rows of the dense matrix in shared memory; zero
                      where it does not
-  rows_entries     - most entries of a group of rows, where the CSR path takes rows as they come; zero where it does
                      not

   Level: developer

.seealso: `MATAIJTCU`, `MatAIJTCUGetFacts()`
S*/
typedef struct {
  MatAIJTCUPath path;
  const char   *kernel, *model;
  PetscReal     seconds;
  PetscBool     reordered;
  PetscInt64    strip_cols8, strip_cols16, staged_rows, needed_rows, most_staged_rows, turns;
  PetscInt      levels, direct_columns, panel_rows, rows_entries;
} MatAIJTCUFacts;

/*S
   MatAIJTCUVariant - one of the ways to multiply that `MAT_AIJTCU_TUNE_PROXY` compares

   Fields:
+  path    - `MAT_AIJTCU_PATH_TCU` or `MAT_AIJTCU_PATH_CSR`
.  format  - of the bricks; zeros for the CSR path
-  seconds - of a product with the whole matrix, as the proxy has it; zero where it was not timed, mostly because the
             model has another much faster

   Level: advanced

.seealso: `MATAIJTCU`, `MatAIJTCUFormat`, `MatAIJTCUTuning`, `MatAIJTCUGetTuning()`
S*/
typedef struct {
  MatAIJTCUPath   path;
  MatAIJTCUFormat format;
  PetscReal       seconds;
} MatAIJTCUVariant;

/*S
   MatAIJTCUTuning - what `MAT_AIJTCU_TUNE_PROXY` found for a number of columns

   Fields:
+  nvariants - number of variants; zero where nothing was tuned
.  variant   - the variants
.  winner    - index of the variant that products take; -1 where the model decides
.  share     - rows of the proxy for each row of the matrix; zero where nothing was timed
.  products  - how many products of the winner would have taken as long as the timed ones did together; zero where
               nothing was timed
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

PETSC_EXTERN PetscErrorCode MatCreateAIJTCU(MPI_Comm, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, const PetscInt[],
                                            PetscInt, const PetscInt[], Mat *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetPath(Mat, MatAIJTCUPath);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetPath(Mat, MatAIJTCUPath *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetFormat(Mat, const MatAIJTCUFormat *);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetFormat(Mat, MatAIJTCUFormat *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetPrecision(Mat, MatAIJTCUPrecision);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetPrecision(Mat, MatAIJTCUPrecision *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetReorder(Mat, MatAIJTCUReorder);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetReorder(Mat, MatAIJTCUReorder *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetTune(Mat, MatAIJTCUTune);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetTune(Mat, MatAIJTCUTune *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetMult(Mat, MatAIJTCUMult);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetMult(Mat, MatAIJTCUMult *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetSparse(Mat, MatAIJTCUSparse);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetSparse(Mat, MatAIJTCUSparse *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetMGPrecision(Mat, MatAIJTCUMGPrecision);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetMGPrecision(Mat, MatAIJTCUMGPrecision *);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetTuning(Mat, PetscInt, MatAIJTCUTuning *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetExpectedProducts(Mat, PetscInt);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetExpectedProducts(Mat, PetscInt *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetHalo(Mat, MatAIJTCUHalo);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetHalo(Mat, MatAIJTCUHalo *);
PETSC_EXTERN PetscErrorCode MatAIJTCUSetSynergyThreshold(Mat, PetscReal);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetSynergyThreshold(Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetSynergy(Mat, MatAIJTCUSynergy *);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetCounts(Mat, MatAIJTCUCounts *);
PETSC_EXTERN PetscErrorCode MatAIJTCUView(Mat, PetscViewer);
PETSC_EXTERN PetscErrorCode MatAIJTCUGetFacts(Mat, PetscInt, MatAIJTCUFacts *);
PETSC_EXTERN PetscErrorCode MatAIJTCUKSPGetColumns(KSP, PetscInt *, const KSPConvergedReason *[], const PetscInt *[], const PetscReal *[]);
PETSC_EXTERN PetscErrorCode MatSampledMatTransposeMult(Mat, Mat, Mat, PetscBool, MatReuse, Mat *);
PETSC_EXTERN PetscErrorCode MatCreateSampledLR(Mat, Mat, Mat, PetscBool, Mat *);
PETSC_EXTERN PetscErrorCode MatSampledLRSetSoftmax(Mat, PetscBool);
PETSC_EXTERN PetscErrorCode MatSampledLRGetSoftmax(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MatSampledApply(Mat, MatSampledFn, void *);
PETSC_EXTERN PetscErrorCode MatSampledSoftmax(Mat);
PETSC_EXTERN PetscErrorCode MatSampledSoftmaxGradient(Mat, Mat);
PETSC_EXTERN PetscErrorCode MatSampledLeakyReLU(Mat, PetscReal);
PETSC_EXTERN PetscErrorCode MatSampledLeakyReLUGradient(Mat, PetscReal, Mat);

/* Called by -dll_append; a program that links the library calls it once after PetscInitialize() */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscaijtcu(void);
