/*
   Products of a sparse matrix with a block of dense vectors, and sampled products: operands, facts, and the table of
   kernels.

   A kernel is an object at the end of its own file, and kernels/table.c has all of them in one array. Who wants a
   product describes it (SpmmOperands), takes the first kernel of the table that takes it (SpmmChooseKernel()), asks for
   its workspace (SpmmWork()) and runs it (SpmmRun()). Nothing outside of kernels/ names a kernel.

   Kernels on a device have all arrays there. The structs and their numbers are on the host, the device is the current
   one, and work goes to a stream. Kernels on the host are the reference of all others: plain loops, and all operands.
*/
#pragma once

#include "csr/csrdevice.h"
#include "vector/vector.h"
#include "model/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  SPMM_OP_PRODUCT, /* Y = A X and what SpmmUpdate adds to it */
  SPMM_OP_VECTOR,  /* the same for one column, in other bits: those of vector/vector.h */
  SPMM_OP_SAMPLED, /* B X^T at the entries of A: y_e = <b_i, x_j> for the entry e of row i and column j */
  SPMM_OP_FUSED    /* Y = W Z, where W is what SPMM_OP_SAMPLED makes, or its softmax. W is not stored */
} SpmmOp;

typedef enum {
  SPMM_CSR,
  SPMM_BRICKS
} SpmmFormat;

typedef enum {
  SPMM_COLUMN_MAJOR,
  SPMM_ROW_MAJOR,
  /*
     For X only: row-major, and csr-copy reads it where it is. Each row begins where 16 bytes do, all of its ld scalars
     can be read, and one more row, of zeros, follows the last
  */
  SPMM_ROW_MAJOR_PADDED
} SpmmLayout;

typedef struct {
  const HrpbScalar *array;
  int64_t           ld;
  SpmmLayout        layout;
} SpmmIn;

typedef struct {
  HrpbScalar *array;
  int64_t     ld;
  SpmmLayout  layout;
} SpmmOut;

typedef enum {
  SPMM_ASSIGN, /* Y = A X */
  SPMM_ADD,    /* Y = Y0 + A X */
  SPMM_STEP,   /* Y = a Y0 + b X + c D (B - A X) */
  SPMM_SCALE   /* y_e = a_e <b_i, x_j>, in sampled products; without it SPMM_ASSIGN */
} SpmmUpdate;

/*
   X is ncols x N; Y, Y0 and B are nrows x N. Y is another array than X and B, and may be Y0: Y0 is read until all that
   did not come out finite has been computed again. What is not mentioned in the update is not looked at.

   SPMM_STEP is a smoother's step, and A is square. Without Y0 (array NULL), without B, without D the term is left out:
   zero, zero, the identity. With a = 0 Y0 is not read, with b = 0 the term with X is left out, and with c = 0 that with
   D, whatever numbers are in there.

   In a sampled product Y.array has a number for each entry of A, in the order of the CSR. It is another array than A's
   values. B is column-major, and X column-major or padded.

   In a fused one X and B have K columns, and Z is ncols x N. All are column-major. With softmax the entries of a row of
   W are exp(w - most) divided by their sum, most being the largest; without entries the row of Y is zero.

   behind: the kernel before it in the stream is one of this library's, ends after those before it, and writes nothing
   of the matrix. The product may be brought to the device before that one has ended, and waits for it there. A kernel
   may do without
*/
typedef struct {
  int64_t           N;
  SpmmIn            X;
  SpmmOut           Y;
  SpmmUpdate        update;
  SpmmIn            Y0, B;
  HrpbScalar        a, b, c;
  const HrpbScalar *D;      /* the diagonal, or blocks along it one after the other, each column-major */
  int32_t           dblock; /* rows of a block, 1 for a diagonal; nrows is a multiple of it */
  int64_t           K;
  SpmmIn            Z;
  bool              softmax, behind;
} SpmmOperands;

/*
   The matrix as kernels see it. What a format does not have is NULL. Sampled products by bricks read the pattern of the
   CSR, too
*/
typedef struct {
  int64_t             nrows, ncols;
  const HrpbInt      *rowptr, *colidx;
  const HrpbScalar   *values;
  const CsrSchedule  *csr;          /* on a device */
  const VectorPlan   *vector;       /* on a device, for SPMM_OP_VECTOR */
  const Hrpb         *hrpb;
  const HrpbSchedule *schedule;     /* on a device */
  const HrpbScalar   *brick_values;
  HrpbPrecision       precision;    /* of bricks on a device */
} SpmmMatrix;

/* What is known of a matrix, without a pointer into a device. What has not been found out yet is zero */
typedef struct {
  int64_t    nrows, ncols, nnz;
  int64_t    longest; /* entries of the longest row */
  HrpbSurvey survey;  /* of the rows in the order in which they are multiplied */

  /* Of the CsrSchedule */
  int32_t direct_columns, panel_rows, staged_rows, panels_sampled, rows_entries;

  /* Of the VectorPlan */
  int32_t nodes, pair_panels; /* pair_panels: rows of a panel of complex numbers (real/panels.cu), or zero */
  bool    bins, staged, short_columns; /* bins: the lanes of a row follow from its length */

  /*
     Of the Hrpb: whether a block fits into shared memory. Where bricks are not built yet the choice of a kernel goes by
     their parameters. It is made again when they are
  */
  uint32_t max_pattern, max_values;

  int64_t turns; /* of the CsrSchedule; zero where that is not known */
} SpmmFacts;

/* What a matrix that can be multiplied says of itself: all but the survey */
SpmmFacts SpmmFactsOf(const SpmmMatrix *);
void      SpmmFactsOfCsr(const CsrSchedule *, SpmmFacts *); /* what the schedule says alone */

/*
   Whether the columns of a matrix come in runs: at least half of the rows of B that bricks would bring into shared
   memory are needed
*/
bool SpmmColumnsRun(const HrpbSurvey *);

/*
   Whether bricks of which a panel's rows of B are staged may be faster than CSR: columns run, or the rows of a panel
   share columns, wherever these are
*/
bool SpmmPanelsShareRows(const HrpbSurvey *);

/* Whether panels may need far fewer rows of B in another order: columns do not run, or panels need many */
bool SpmmOrderMayHelp(const SpmmFacts *);

typedef struct {
  char             name[256];  /* as CUDA has it */
  int              cc;         /* compute capability, 90 for 9.0 */
  int              code;       /* that of the compiled kernels, which may be an earlier one; 0: none run */
  int              nsm;        /* multiprocessors */
  size_t           memory;     /* bytes of device memory */
  double           bandwidth;  /* of device memory, bytes per second */
  int              cache;      /* bytes of L2 */
  int              shared_sm;  /* bytes of shared memory of a multiprocessor */
  int              shared_cta; /* bytes of shared memory that one thread block can have */
  int              shared_own; /* bytes of each thread block's shared memory that the system keeps */
  const SpmmModel *model;      /* of the nearest device that there is one of */
} SpmmDevice;

/* The current one. What it points to stays as long as the thread that asked */
HrpbError SpmmGetDevice(const SpmmDevice **);

/* Whether the matrix has so few panels of HrpbStagedParams() that shorter ones, of which there are more, are faster */
bool SpmmHasFewPanels(int64_t nrows, const SpmmDevice *);

/* Columns of a window that suit the matrix: fewer where wide windows stage many rows of B that no entry needs */
int32_t SpmmWindowColumns(const SpmmFacts *);

/* The format of bricks for a matrix of which none was set, from its survey */
HrpbParams SpmmBrickFormat(const SpmmFacts *, const SpmmDevice *);

/* The same where the matrix was reordered */
HrpbParams SpmmBrickFormatReordered(const SpmmFacts *);

typedef struct {
  const char *name; /* "csr-direct" */
  const char *what; /* a line for a person */
  SpmmOp      op;
  SpmmFormat  format;
  bool        host;

  /*
     Whether it multiplies such a matrix with such operands. A product in pieces asks for all of it, and then uses the
     same kernel for each. The parameters are those of bricks, else NULL; so is the device on the host
  */
  bool (*takes)(const SpmmFacts *, const HrpbParams *, const SpmmOperands *, const SpmmDevice *);

  /* Bytes of workspace; no fewer for more columns of the same layout. NULL: none */
  HrpbError (*work)(const SpmmMatrix *, const SpmmOperands *, size_t *bytes);

  /* The model of its time, for a plain product; NULL where there is none */
  double (*seconds)(const SpmmFacts *, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *);

  /* Leading dimension of the row-major copy that it makes of a column-major X; NULL where it makes none */
  int32_t (*copies)(int64_t N);

  HrpbError (*run)(const SpmmMatrix *, const SpmmOperands *, void *work, HrpbStream);
} SpmmKernel;

/* SPMM_KERNEL(SpmmOfSuchAName) = {...}; at the end of a kernel's file, and the name in table.c */
#ifdef __cplusplus
  #define SPMM_KERNEL(kernel) \
    extern "C" const SpmmKernel kernel; \
    const SpmmKernel            kernel
#else
  #define SPMM_KERNEL(kernel) \
    extern const SpmmKernel kernel; \
    const SpmmKernel        kernel
#endif

/* NULL behind the last. Kernels of a device are in the table of a program that was linked with them */
const SpmmKernel *SpmmKernelGet(int i);
const SpmmKernel *SpmmKernelFind(const char name[]);

/*
   The first of the table that takes it; NULL if none does, which is only so where the program has no kernel for this
   format and place
*/
const SpmmKernel *SpmmChooseKernel(SpmmOp, SpmmFormat, bool host, const SpmmFacts *, const HrpbParams *, const SpmmOperands *, const SpmmDevice *);

/*
   Workspace on a device is aligned to 256 bytes, as cudaMalloc() has it, may be NULL where none is needed, and is in
   use until the stream is through. On the host there is none, and the stream is NULL. Products with one HrpbSchedule
   follow each other, as those with one workspace do: what counts the parts of its panels lies there.

   What runs on a device follows from the arguments and from the structs that they point to, and from nothing that lies
   on the device. It is launched without waiting and without asking for memory. So a run can be captured in a CUDA
   graph, which stands for it as long as these numbers stay the same.

   A column of Y depends on the matrix, its format, the precision, the device's model and that column of the operands
   alone, to the bit. What does not come out finite is computed again entry by entry, so that NaN and Inf reach only the
   rows that have an entry in their row of X.

   HRPB_ERR_OPERANDS for operands that are wrong, HRPB_ERR_OVERFLOW for more than HRPB_MAX_COLUMNS of them on a device,
   HRPB_ERR_UNSUPPORTED where the device has no tensor cores that pay for bricks of this precision, or the kernel does
   not take the operands
*/
HrpbError SpmmWork(const SpmmKernel *, const SpmmMatrix *, const SpmmOperands *, size_t *bytes);
HrpbError SpmmRun(const SpmmKernel *, const SpmmMatrix *, const SpmmOperands *, void *work, HrpbStream);

/*
   What launch() launches, as a CUDA graph, which can be launched in any stream. launch() is called once, with a stream
   of its own, where nothing runs yet. NULL where it has an error, or CUDA makes no graph
*/
typedef struct CUgraphExec_st *SpmmGraph; /* cudaGraphExec_t */
SpmmGraph SpmmCapture(HrpbError (*launch)(void *ctx, HrpbStream), void *ctx);

/*
   Bring the kernels that launch() launches to the device, and launch none. Without an error a run with the same
   arguments lacks no memory. launch() may clear its workspace, and nothing else
*/
HrpbError SpmmLoad(HrpbError (*launch)(void *ctx, HrpbStream), void *ctx, HrpbStream);

/* A sampled product of left (nrows x N) and right (ncols x N), both column-major, scaled by A's values or not */
SpmmOperands SpmmSampled(int64_t N, const HrpbScalar *left, int64_t ldleft, const HrpbScalar *right, int64_t ldright, bool scale, HrpbScalar *y);

/* A fused product: K columns of left and right, and N of z and y */
SpmmOperands SpmmFused(int64_t K, const HrpbScalar *left, int64_t ldleft, const HrpbScalar *right, int64_t ldright, bool scale, bool softmax, int64_t N, const HrpbScalar *z, int64_t ldz, HrpbScalar *y, int64_t ldy);

/* Y = A X, all column-major */
SpmmOperands SpmmPlain(int64_t N, const HrpbScalar *X, int64_t ldx, HrpbScalar *Y, int64_t ldy);
bool         SpmmIsPlain(const SpmmOperands *);

/* The same for columns first to first + N - 1 of them. Some columns of a padded X are row-major without padding */
SpmmOperands SpmmColumns(const SpmmOperands *, int64_t first, int64_t N);

/*
   Times around bricks, and bricks of a reordered matrix (order/reorder.h), in seconds.

   SpmmSecondsToBuild()        to build bricks, beyond what the CSR path takes to begin
   SpmmSecondsToReorder()      to find the order, by a search with this number of levels, and to build bricks in it
   SpmmSecondsReordered()      a product with those bricks, both ways of the vectors included
   SpmmFactsReorderedAtBest()  before there is an order: the facts of the best that can come of it
*/
double    SpmmSecondsToBuild(const SpmmFacts *, const SpmmDevice *);
double    SpmmSecondsToReorder(const SpmmFacts *, int32_t levels, const SpmmDevice *);
double    SpmmSecondsReordered(const SpmmFacts *reordered, HrpbPrecision, int64_t N, const SpmmDevice *);
SpmmFacts SpmmFactsReorderedAtBest(const SpmmFacts *);

#ifdef __cplusplus
}
#endif
