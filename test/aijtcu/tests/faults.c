static char help[] = "What is left when a call fails. Scenarios are run again and again, and each time another call that the library makes fails: a call of PETSc,\n\
MPI, CUDA, or malloc(). The scenario must end with an error, or with the right numbers on another path; then it must succeed when it is tried again, and\n\
nothing that the library made may be left when all is destroyed. What PETSc's own functions leave after an error of theirs is not asked.\n\
-fail call: one call fails. -fail cuda: one call of CUDA. -fail memory: malloc() and cudaMalloc(), all from one call on. -fail petsc: an allocation of\n\
PETSc's in a call that the library makes, of an operation of a parent type too. -fail register: one call while the library is made known. -fail devices: only the first process has a device.\n\
-only name: this scenario. -for_device: those that differ on a device. -print: prints how many calls failed.\n\n";

#define _GNU_SOURCE /* RTLD_DI_LINKMAP */
#include <petscmat.h>
#include <petscviewer.h>
#include "petscaijtcu.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  #include <dlfcn.h>
  #include <execinfo.h>
  #include <link.h>
  #include <sys/mman.h>
  #include <unistd.h>

/*
   Between the library and all others: the table of functions that its loader filled in (the GOT) is changed, so that its calls come by
   here, and only its own.

   What a function takes is not known, but where the calling conventions of x86-64 and AArch64 put it: in so many registers for integers
   and for floating-point numbers, and the rest on the stack. All of that is handed on.
*/
  #define INTEGERS(X)  X(long, a0), X(long, a1), X(long, a2), X(long, a3), X(long, a4), X(long, a5), X(long, a6), X(long, a7)
  #define REALS(X)     X(double, r0), X(double, r1), X(double, r2), X(double, r3), X(double, r4), X(double, r5), X(double, r6), X(double, r7)
  #define STACK(X)     X(long, s0), X(long, s1), X(long, s2), X(long, s3), X(long, s4), X(long, s5), X(long, s6), X(long, s7), X(long, s8), X(long, s9), X(long, s10), X(long, s11)
  #define FORMAL(t, x) t x
  #define ACTUAL(t, x) x
  #define PARAMETERS   INTEGERS(FORMAL), REALS(FORMAL), STACK(FORMAL)
  #define ARGUMENTS    INTEGERS(ACTUAL), REALS(ACTUAL), STACK(ACTUAL)

typedef long (*Function)(PARAMETERS);

typedef enum {
  PETSC_CALL,
  MPI_CALL,
  CUDA_CALL,
  CUDA_LAUNCH, /* of these a later question tells the error */
  CUDA_QUESTION,
  CUDA_MEMORY,
  HOST_MEMORY,
  OTHER /* never fails, but what it frees is noted */
} Kind;

typedef struct {
  const char *name;
  Kind        kind;
  PetscBool   releases; /* is made, and then fails: otherwise what it was to release would be left, and nobody to blame */
  Function    function;
} Import;

enum {
  MAX_IMPORTS = 256,
  MAX_MADE    = 1 << 14
};
static Import imports[MAX_IMPORTS];
static int    nimports;

/* What the library made and has not destroyed */
static struct {
  const void *what;
  const char *by;
  int         line;
} made[MAX_MADE];
static int nmade;

static enum {
  FAIL_CALL,
  FAIL_MEMORY,
  FAIL_CUDA,
  FAIL_PETSC,
  FAIL_REGISTER,
  FAIL_DEVICES
} mode;
static const char *const modes[] = {"call", "memory", "cuda", "petsc", "register", "devices", "Fail", "FAIL_", NULL};

static PetscBool   recording, armed, fired, told;
static PetscInt    ncalls, which; /* calls that could have failed, and the one that shall; none if that is 0 */
static const char *victim;
static int         cuda_error; /* that the next question for it tells */
static int         depth;      /* of calls that the library makes */
static PetscBool   asked;      /* the call is its own request for memory */
static PetscMPIInt rank, size;

enum { /* of CUDA */
  OUT_OF_MEMORY  = 2,
  LAUNCH_FAILURE = 719
};

static void Make(const void *what, const char *by, int line)
{
  if (!recording || !what) return;
  if (nmade == MAX_MADE) abort();
  made[nmade].what   = what;
  made[nmade].by     = by;
  made[nmade++].line = line;
}

static void Unmake(const void *what)
{
  for (int i = nmade - 1; i >= 0; i--) {
    if (made[i].what != what) continue;
    made[i] = made[--nmade];
    break;
  }
}

/* Whether the call at hand is to fail; counts says whether it is of the kind that does, lasting that all after the first do */
static PetscBool Due(const char *name, PetscBool counts, PetscBool lasting)
{
  if (!armed || !counts) return PETSC_FALSE;
  ncalls++;
  if (!which || ncalls < which || (ncalls > which && !lasting)) return PETSC_FALSE;
  if (!fired) victim = name;
  fired = PETSC_TRUE;
  return PETSC_TRUE;
}

static long Failure(const Import *import)
{
  switch (import->kind) {
  case PETSC_CALL:
    return strcmp(import->name, "PetscMallocA") ? PETSC_ERR_SYS : PETSC_ERR_MEM;
  case MPI_CALL:
    return MPI_ERR_OTHER;
  case CUDA_MEMORY:
    cuda_error = OUT_OF_MEMORY;
    return OUT_OF_MEMORY;
  case CUDA_CALL:
  case CUDA_LAUNCH:
    if (!import->releases) cuda_error = LAUNCH_FAILURE;
    return LAUNCH_FAILURE;
  case CUDA_QUESTION:
    return LAUNCH_FAILURE;
  default:
    return 0; /* NULL */
  }
}

/* Note what a call that has succeeded made or destroyed */
static void Note(const Import *import, long result, long a0)
{
  const char *name = import->name;

  if (import->kind == HOST_MEMORY) Make((void *)result, name, 0);
  else if (!strcmp(name, "free") || !strcmp(name, "cudaFree") || !strcmp(name, "cudaEventDestroy") || !strcmp(name, "cudaStreamDestroy")) Unmake((void *)a0);
  else if (!result && (import->kind == CUDA_MEMORY || !strncmp(name, "cudaEventCreate", 15) || !strncmp(name, "cudaStreamCreate", 16))) Make(*(void **)a0, name, 0);
}

static PetscBool IsOneOf(const char *name, const char *const names[])
{
  for (; *names; names++) {
    if (!strcmp(name, *names)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static PetscBool Contains(const char *name, const char *const parts[])
{
  for (; *parts; parts++) {
    if (strstr(name, *parts)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* A request for memory that the library can do without: a failure of it is to end on another path */
static PetscBool IsOptional(const Import *import, long a3)
{
  if (!strcmp(import->name, "PetscMallocA")) return (PetscBool)!strcmp((const char *)a3, "AIJTCUHostBuild"); /* the function that asks */
  return (PetscBool)(import->kind == HOST_MEMORY || import->kind == CUDA_MEMORY);
}

/* Whether a call is of those of which one is to fail */
static PetscBool Counts(Kind kind, PetscBool optional)
{
  switch (mode) {
  case FAIL_CALL:
  case FAIL_REGISTER:
    return (PetscBool)(kind != OTHER);
  case FAIL_CUDA:
    return (PetscBool)(kind == CUDA_CALL || kind == CUDA_LAUNCH || kind == CUDA_QUESTION || kind == CUDA_MEMORY);
  case FAIL_MEMORY: /* the library's answer to that is no matter of other processes: they need not have it */
    return (PetscBool)(optional && !rank);
  default:
    return PETSC_FALSE;
  }
}

static const char *const refusals[] = {"aijtcu: no ", "aijtcu: synergy is unknown", NULL}; /* lines of the log that tell of another path */

static long Call(int i, PARAMETERS)
{
  const Import   *import = &imports[i];
  const PetscBool fail = Due(import->name, Counts(import->kind, IsOptional(import, a3)), (PetscBool)(mode == FAIL_MEMORY));
  long            result;

  if (fired && !strcmp(import->name, "PetscInfo_Private") && Contains((const char *)a2, refusals)) told = PETSC_TRUE;
  if (mode == FAIL_DEVICES && armed && !strcmp(import->name, "cudaGetDeviceCount")) {
    fired      = PETSC_TRUE;
    *(int *)a0 = rank == 0;
    return 0;
  }
  if (fail && !import->releases) return Failure(import);
  if (cuda_error && import->kind == CUDA_QUESTION) {
    result = cuda_error;
    if (!strcmp(import->name, "cudaGetLastError")) cuda_error = 0;
    return result;
  }
  depth++;
  asked = (PetscBool)!strcmp(import->name, "PetscMallocA");
  if (import->releases) Note(import, 0, a0); /* before its address can be given to another */
  result = import->function(ARGUMENTS);
  if (!import->releases) Note(import, result, a0);
  asked = PETSC_FALSE;
  depth--;
  return fail ? Failure(import) : result;
}

  #define ONE(i) \
    static long Call##i(PARAMETERS) \
    { \
      return Call(0x##i, ARGUMENTS); \
    }
  #define SIXTEEN(h, X) X(h##0) X(h##1) X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7) X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e) X(h##f)
  #define HALF(X)       SIXTEEN(0, X) SIXTEEN(1, X) SIXTEEN(2, X) SIXTEEN(3, X) SIXTEEN(4, X) SIXTEEN(5, X) SIXTEEN(6, X) SIXTEEN(7, X)
  #define ALL(X)        HALF(X) SIXTEEN(8, X) SIXTEEN(9, X) SIXTEEN(a, X) SIXTEEN(b, X) SIXTEEN(c, X) SIXTEEN(d, X) SIXTEEN(e, X) SIXTEEN(f, X)
ALL(ONE)
  #define NAME(i) Call##i,
static const Function calls[MAX_IMPORTS] = {ALL(NAME)};

/* Whether calls of a function are to come by, and what kind of answer it has */
static PetscBool KindOf(const char *name, Kind *kind)
{
  const char *const answers[]   = {"PetscError", "PetscObjectComm", "PetscMPIErrorString", "cudaGetErrorString", "cudaGetErrorName", NULL}; /* no error codes */
  const char *const memory[]    = {"malloc", "calloc", "aligned_alloc", NULL};
  const char *const questions[] = {"cudaGetLastError", "cudaPeekAtLastError", NULL};
  const char *const launches[]  = {"cudaLaunchKernel", "__cudaLaunchKernel", NULL};

  if (IsOneOf(name, answers)) return PETSC_FALSE;
  if (IsOneOf(name, memory)) *kind = HOST_MEMORY;
  else if (IsOneOf(name, launches)) *kind = CUDA_LAUNCH;
  else if (IsOneOf(name, questions)) *kind = CUDA_QUESTION;
  else if (!strcmp(name, "cudaMalloc")) *kind = CUDA_MEMORY;
  else if (!strcmp(name, "free")) *kind = OTHER;
  else if (!strncmp(name, "cuda", 4)) *kind = CUDA_CALL;
  else if (!strncmp(name, "MPI", 3)) *kind = MPI_CALL;
  else if (!strncmp(name, "Petsc", 5) || !strncmp(name, "Mat", 3) || !strncmp(name, "Vec", 3)) *kind = PETSC_CALL;
  else return PETSC_FALSE;
  return PETSC_TRUE;
}

/*
   Where the library's code is, and whether it has called for what is done: by its table, or by a pointer, as it calls the operations of a parent type. Those are
   left out of parallel matrices, where PETSc's do not survive it: MatProductCreateWithMat() destroys operands that it has not yet counted a reference to, and
   MatSetPreallocationCOO() cannot be called again once it has destroyed the blocks
*/
static uintptr_t code_begin, code_end;

static PetscBool Asked(void)
{
  void     *frames[100];
  const int n = size > 1 || depth ? 0 : backtrace(frames, (int)PETSC_STATIC_ARRAY_LENGTH(frames));

  if (depth) return PETSC_TRUE;

  for (int i = 0; i < n; i++) {
    if ((uintptr_t)frames[i] >= code_begin && (uintptr_t)frames[i] < code_end) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static int FindCode(struct dl_phdr_info *info, size_t bytes, void *name)
{
  (void)bytes;
  if (strcmp(info->dlpi_name, (const char *)name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];

    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    code_begin = info->dlpi_addr + p->p_vaddr;
    code_end   = code_begin + p->p_memsz;
  }
  return 1;
}

/* Let one entry of the library's table lead here */
static PetscErrorCode Interpose(void **entry, const char *name)
{
  const char *const release[] = {"Destroy", "Restore", "Free", "free", "End", "Pop", NULL};
  const uintptr_t   page      = (uintptr_t)sysconf(_SC_PAGESIZE);
  Kind              kind;

  PetscFunctionBegin;
  if (!KindOf(name, &kind)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(nimports < MAX_IMPORTS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The library calls more than %d functions", MAX_IMPORTS);
  imports[nimports].name                = name;
  imports[nimports].kind                = kind;
  imports[nimports].releases            = Contains(name, release);
  *(void **)&imports[nimports].function = dlsym(RTLD_DEFAULT, name); /* the entry itself may lead to the loader, until the first call */
  PetscCheck(imports[nimports].function, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No function %s", name);
  PetscCheck(!mprotect((void *)((uintptr_t)entry / page * page), page, PROT_READ | PROT_WRITE), PETSC_COMM_SELF, PETSC_ERR_SYS, "mprotect() failed");
  memcpy(entry, &calls[nimports++], sizeof(*entry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InterposeAll(const struct link_map *map)
{
  const ElfW(Sym) *symbols = NULL;
  const char *strings      = NULL;
  struct {
    const ElfW(Rela) *entries;
    size_t bytes;
  } tables[2] = {{NULL, 0}};

  PetscFunctionBegin;
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
    else if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
    else if (d->d_tag == DT_JMPREL) tables[0].entries = (const ElfW(Rela) *)d->d_un.d_ptr;
    else if (d->d_tag == DT_PLTRELSZ) tables[0].bytes = d->d_un.d_val;
    else if (d->d_tag == DT_RELA) tables[1].entries = (const ElfW(Rela) *)d->d_un.d_ptr;
    else if (d->d_tag == DT_RELASZ) tables[1].bytes = d->d_un.d_val;
  }
  for (int t = 0; t < 2; t++) {
    for (size_t i = 0; i < tables[t].bytes / sizeof(ElfW(Rela)); i++) {
      const ElfW(Rela) *r      = &tables[t].entries[i];
      const ElfW(Sym) *symbol  = &symbols[ELF64_R_SYM(r->r_info)];
      const PetscBool function = (PetscBool)(ELF64_ST_TYPE(symbol->st_info) == STT_FUNC || (t == 0 && ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE));

      if (symbol->st_shndx == SHN_UNDEF && function) PetscCall(Interpose((void **)(map->l_addr + r->r_offset), strings + symbol->st_name));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InterposeLibrary(void)
{
  void                  *program = dlopen(NULL, RTLD_LAZY);
  const struct link_map *map;

  PetscFunctionBegin;
  PetscCheck(program && !dlinfo(program, RTLD_DI_LINKMAP, &map), PETSC_COMM_SELF, PETSC_ERR_PLIB, "No list of what is loaded");
  for (; map; map = map->l_next) {
    if (!strstr(map->l_name, "/libpetscaijtcu.so")) continue;
    PetscCall(InterposeAll(map));
    (void)dl_iterate_phdr(FindCode, map->l_name);
  }
  PetscCheck(nimports, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No libpetscaijtcu.so is loaded");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   PETSc's functions destroy their temporary matrices once, and leave them if that fails. And where they exchange the data of two matrices, a failure to destroy
   the old ones leaves a matrix without a type, of whatever type it was, which is good for nothing, not even to be destroyed
*/
static PetscBool lost, half;

PETSC_EXTERN PetscErrorCode MatHeaderMerge(Mat A, Mat *B)
{
  static PetscErrorCode (*next)(Mat, Mat *);
  PetscErrorCode ierr;

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MatHeaderMerge");
  ierr = (*next)(A, B);
  if (ierr) lost = half = PETSC_TRUE;
  return ierr;
}

PETSC_EXTERN PetscErrorCode MatDestroy(Mat *A)
{
  static PetscErrorCode (*next)(Mat *);
  PetscErrorCode ierr;

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MatDestroy");
  ierr = (*next)(A);
  if (ierr) lost = PETSC_TRUE;
  return ierr;
}

/* PETSc's allocations on behalf of the library come by here */
static PetscErrorCode (*next_malloc)(size_t, PetscBool, int, const char[], const char[], void **);
static PetscErrorCode (*next_free)(void *, int, const char[], const char[]);
static PetscErrorCode (*next_realloc)(size_t, int, const char[], const char[], void **);

/*
   Not when it is the library's own request, which is in the table and fails there; nor what PETSc allocates on its own account, for some of its objects cannot be destroyed after
   that. A failure inside of PETSc may leave things of PETSc's, so that only what the library asked for itself is noted then
*/
static PetscErrorCode Malloc(size_t n, PetscBool clear, int line, const char function[], const char file[], void **p)
{
  const PetscBool own = asked;

  asked = PETSC_FALSE;
  if (Due(file, (PetscBool)(mode == FAIL_PETSC && armed && !own && n > 0 && Asked()), PETSC_FALSE)) {
    *p = NULL;
    return PETSC_ERR_MEM;
  }
  PetscCall((*next_malloc)(n, clear, line, function, file, p));
  if (mode == FAIL_PETSC ? own : depth > 0) Make(*p, file, line);
  return PETSC_SUCCESS;
}

static PetscErrorCode Free(void *p, int line, const char function[], const char file[])
{
  Unmake(p);
  return (*next_free)(p, line, function, file);
}

static PetscErrorCode Realloc(size_t n, int line, const char function[], const char file[], void **p)
{
  void *old = *p;

  PetscCall((*next_realloc)(n, line, function, file, p));
  for (int i = 0; i < nmade; i++) {
    if (made[i].what == old) made[i].what = *p;
  }
  return PETSC_SUCCESS;
}

/* Before anything is allocated that would be freed elsewhere, and after everything is freed */
static void InterposeMalloc(PetscBool on)
{
  if (on) {
    next_malloc    = PetscTrMalloc;
    next_free      = PetscTrFree;
    next_realloc   = PetscTrRealloc;
    PetscTrMalloc  = Malloc;
    PetscTrFree    = Free;
    PetscTrRealloc = Realloc;
  } else {
    PetscTrMalloc  = next_malloc;
    PetscTrFree    = next_free;
    PetscTrRealloc = next_realloc;
  }
}

/*
   The matrix of all scenarios: a ring, so that it looks the same from each process. Its entries and those of B are small whole numbers,
   products of which have no roundings: right means equal
*/
enum {
  ROWS = 48,
  COLS = 3
};
  #define FILENAME "faults.dat" /* in the folder of the test */

typedef struct {
  Mat         A, B, C; /* C = A B, or A^T B, once it is made */
  Mat         M;       /* another matrix with the entries of A, once it is made */
  Mat         X;       /* an operand, or the factor of the block of A on this process, once it is made */
  Vec         x, y;    /* of the host: y = A x, once they are made; or of the block of A: x is A y */
  IS          rows;    /* of that block */
  PetscViewer viewer;
  PetscInt    values, pattern; /* which A has, */
  PetscInt    factor, shift;   /* times that factor, and so much more on the diagonal */
  PetscBool   transposed;
} World;

static PetscInt EntryA(PetscInt values, PetscInt pattern, PetscInt i, PetscInt j)
{
  const PetscInt d = PetscAbsInt(i - j), ring = PetscMin(d, ROWS - d);

  if (ring > 2 && ring != ROWS / 2 && !(pattern && ring == 5)) return 0;
  return 1 + (i + j + values) % 7; /* symmetric */
}

static PetscInt EntryB(PetscInt i, PetscInt j)
{
  return (3 * i + 5 * j) % 11 - 4;
}

static PetscErrorCode Fill(Mat A, PetscInt values, PetscInt pattern)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < ROWS; j++) {
      const PetscInt a = EntryA(values, pattern, i, j);

      if (a) PetscCall(MatSetValue(A, i, j, (PetscScalar)a, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by coordinates; the first time, and for another pattern, these come first */
static PetscErrorCode FillCOO(Mat A, PetscBool coordinates, PetscInt values, PetscInt pattern)
{
  static PetscInt    row[ROWS * ROWS], col[ROWS * ROWS];
  static PetscScalar value[ROWS * ROWS];
  PetscInt           begin, end, n = 0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < ROWS; j++) {
      const PetscInt a = EntryA(values, pattern, i, j);

      if (!a) continue;
      row[n]     = i;
      col[n]     = j;
      value[n++] = (PetscScalar)a;
    }
  }
  if (coordinates) PetscCall(MatSetPreallocationCOO(A, n, row, col));
  PetscCall(MatSetValuesCOO(A, value, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also the way a program makes it: the type by an option, then the rest of the options */
static PetscErrorCode Create(MatType type, PetscInt values, PetscInt pattern, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 8, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 8, NULL, 8, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(Fill(*A, values, pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateB(Mat *B)
{
  PetscInt  begin, end;
  PetscBool cuda = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-dense_cuda", &cuda, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS));
  PetscCall(MatSetType(*B, cuda ? MATDENSECUDA : MATDENSE));
  PetscCall(MatSetUp(*B));
  PetscCall(MatGetOwnershipRange(*B, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < COLS; j++) PetscCall(MatSetValue(*B, i, j, (PetscScalar)EntryB(i, j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorldCreate(World *w)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(w, sizeof(*w)));
  w->factor = 1;
  PetscCall(CreateB(&w->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows from begin on of an array are those of the first ncols columns of A B */
static PetscBool AreRows(const World *w, const PetscScalar c[], PetscInt ldc, PetscInt ncols, PetscInt begin, PetscInt end)
{
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt n = 0; n < ncols; n++) {
      PetscInt sum = w->shift * EntryB(i, n);

      for (PetscInt j = 0; j < ROWS; j++) sum += w->factor * EntryA(w->values, w->pattern, i, j) * EntryB(j, n);
      if (c[i - begin + n * ldc] != (PetscScalar)sum) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

static PetscErrorCode IsProduct(Mat C, const World *w, PetscBool *is)
{
  const PetscScalar *c;
  PetscInt           begin, end, ldc;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(C, &begin, &end));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArrayRead(C, &c));
  *is = AreRows(w, c, ldc, COLS, begin, end);
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsProductWithVector(const World *w, PetscBool *is)
{
  const PetscScalar *y;
  PetscInt           begin, end;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(w->y, &begin, &end));
  PetscCall(VecGetArrayRead(w->y, &y));
  *is = AreRows(w, y, ROWS, 1, begin, end);
  PetscCall(VecRestoreArrayRead(w->y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = D y with the block D of A on this process */
static PetscErrorCode IsSolution(const World *w, PetscBool *is)
{
  Mat       D;
  Vec       r;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(VecDuplicate(w->x, &r));
  PetscCall(MatMult(D, w->y, r));
  PetscCall(VecAXPY(r, -1, w->x));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  *is = (PetscBool)(norm < 100 * PETSC_MACHINE_EPSILON); /* of x, which is 1 everywhere */
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Product(World *w, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (w->transposed) PetscCall(MatTransposeMatMult(w->A, w->B, reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMult(w->A, w->B, reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scenarios: what is made ready, and what is then done while calls fail */
static PetscErrorCode ReadyA(World *w)
{
  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 0, 0, &w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyAIJ(World *w)
{
  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 0, 0, &w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadySymmetric(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(MatSetOption(w->A, MAT_SYMMETRIC, PETSC_TRUE));
  w->transposed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyUnsymmetric(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  w->transposed = PETSC_TRUE; /* the matrix is symmetric, which is not said */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyProduct(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyNewValues(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(Fill(w->A, w->values = 2, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyNewPattern(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(Fill(w->A, w->values = 1, w->pattern = 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyDestroy(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(MatDestroy(&w->C)); /* which has a reference to A */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyAIJCopy(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(MatConvert(w->A, MATAIJ, MAT_INITIAL_MATRIX, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateVectors(World *w)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_WORLD, &w->x));
  PetscCall(VecSetSizes(w->x, PETSC_DECIDE, ROWS));
  PetscCall(VecSetType(w->x, VECSTANDARD));
  PetscCall(VecDuplicate(w->x, &w->y));
  PetscCall(VecGetOwnershipRange(w->x, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(VecSetValue(w->x, i, (PetscScalar)EntryB(i, 0), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(w->x));
  PetscCall(VecAssemblyEnd(w->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyVectors(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(CreateVectors(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyOperand(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(CreateVectors(w));
  PetscCall(Create(MATAIJTCU, 2, 0, &w->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyOtherPattern(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(Create(MATAIJTCU, 2, 1, &w->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyCOO(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(FillCOO(w->A, PETSC_TRUE, 0, 0));
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every block of A is positive definite: the sum of a row is below the shift */
static PetscErrorCode ReadyFactor(World *w)
{
  Mat      D;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(MatShift(w->A, (PetscScalar)(w->shift = 64)));
  PetscCall(MatSetOption(w->A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatCreateVecs(D, &w->y, &w->x));
  PetscCall(VecSet(w->x, 1));
  PetscCall(VecGetLocalSize(w->x, &n));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &w->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyView(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &w->viewer));
  PetscCall(PetscViewerPushFormat(w->viewer, PETSC_VIEWER_ASCII_INFO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyFile(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, FILENAME, FILE_MODE_WRITE, &w->viewer));
  PetscCall(MatView(w->A, w->viewer));
  PetscCall(PetscViewerDestroy(&w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoCreate(World *w)
{
  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 0, 0, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoAssemble(World *w)
{
  PetscFunctionBegin;
  PetscCall(Fill(w->A, 3, 0));
  w->values = 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoCoordinates(World *w)
{
  PetscFunctionBegin;
  PetscCall(FillCOO(w->A, PETSC_TRUE, 3, 1));
  w->values  = 3;
  w->pattern = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoCoordinateValues(World *w)
{
  PetscFunctionBegin;
  PetscCall(FillCOO(w->A, PETSC_FALSE, 3, 0));
  w->values = 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This can be repeated, whatever A holds; so what changes A's values begins with it */
static PetscErrorCode DoCopy(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatCopy(w->X, w->A, SAME_NONZERO_PATTERN));
  w->values = 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoAXPY(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(MatAXPY(w->A, 2, w->X, SAME_NONZERO_PATTERN));
  w->factor = 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoAXPYOtherPattern(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(w->A));
  PetscCall(MatAXPY(w->A, 5, w->X, DIFFERENT_NONZERO_PATTERN));
  w->values  = 2;
  w->pattern = 1;
  w->factor  = 5;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoScale(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(MatScale(w->A, 2));
  w->factor = 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoDiagonalScale(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(VecSet(w->y, 2));
  PetscCall(VecSet(w->x, 3));
  PetscCall(MatDiagonalScale(w->A, w->y, w->x));
  w->factor = 6;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoShift(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(MatShift(w->A, 4));
  w->shift = 4;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLU(World *w)
{
  MatFactorInfo info;
  Mat           D;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatGetFactor(D, NULL, MAT_FACTOR_LU, &w->X));
  PetscCall(MatLUFactorSymbolic(w->X, D, w->rows, w->rows, &info));
  PetscCall(MatLUFactorNumeric(w->X, D, &info));
  PetscCall(MatSolve(w->X, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoCholesky(World *w)
{
  MatFactorInfo info;
  Mat           D;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatGetFactor(D, NULL, MAT_FACTOR_CHOLESKY, &w->X));
  PetscCall(MatCholeskyFactorSymbolic(w->X, D, w->rows, &info));
  PetscCall(MatCholeskyFactorNumeric(w->X, D, &info));
  PetscCall(MatSolve(w->X, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLUInPlace(World *w)
{
  MatFactorInfo info;
  Mat           D;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatDuplicate(D, MAT_COPY_VALUES, &w->X));
  PetscCall(MatLUFactor(w->X, w->rows, w->rows, &info));
  PetscCall(MatSolve(w->X, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoSetType(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(w->A, MATAIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoConvert(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(w->A, MATAIJTCU, MAT_INITIAL_MATRIX, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoConvertBack(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(w->A, MATAIJ, w->M ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoConvertInPlace(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(w->A, MATAIJ, MAT_INPLACE_MATRIX, &w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoDuplicate(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatDuplicate(w->A, MAT_COPY_VALUES, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoProduct(World *w)
{
  PetscFunctionBegin;
  PetscCall(Product(w, w->C ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoMult(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatMult(w->A, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoView(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatView(w->A, w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLoad(World *w)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerDestroy(&w->viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, FILENAME, FILE_MODE_READ, &w->viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &w->M));
  PetscCall(MatSetType(w->M, MATAIJTCU));
  PetscCall(MatLoad(w->M, w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoDestroy(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  PetscErrorCode (*ready)(World *);
  PetscErrorCode (*act)(World *);
  PetscBool device; /* differs on a device */
} Scenario;

static const Scenario scenarios[] = {
  {"create",                    ReadyA,            DoCreate,           PETSC_FALSE},
  {"assemble",                  ReadyProduct,      DoAssemble,         PETSC_TRUE }, /* wrapped on a device only */
  {"assemble by coordinates",   ReadyProduct,      DoCoordinates,      PETSC_TRUE },
  {"new values by coordinates", ReadyCOO,          DoCoordinateValues, PETSC_TRUE },
  {"set type",                  ReadyAIJ,          DoSetType,          PETSC_FALSE},
  {"convert",                   ReadyAIJ,          DoConvert,          PETSC_FALSE},
  {"convert back",              ReadyProduct,      DoConvertBack,      PETSC_FALSE},
  {"convert back again",        ReadyAIJCopy,      DoConvertBack,      PETSC_FALSE},
  {"convert in place",          ReadyProduct,      DoConvertInPlace,   PETSC_FALSE},
  {"duplicate",                 ReadyProduct,      DoDuplicate,        PETSC_FALSE},
  {"copy",                      ReadyOperand,      DoCopy,             PETSC_TRUE },
  {"axpy",                      ReadyOperand,      DoAXPY,             PETSC_TRUE },
  {"axpy of another pattern",   ReadyOtherPattern, DoAXPYOtherPattern, PETSC_TRUE },
  {"scale",                     ReadyOperand,      DoScale,            PETSC_TRUE },
  {"diagonal scale",            ReadyOperand,      DoDiagonalScale,    PETSC_TRUE },
  {"shift",                     ReadyOperand,      DoShift,            PETSC_TRUE },
  {"lu",                        ReadyFactor,       DoLU,               PETSC_TRUE },
  {"cholesky",                  ReadyFactor,       DoCholesky,         PETSC_TRUE },
  {"lu in place",               ReadyFactor,       DoLUInPlace,        PETSC_FALSE},
  {"first product",             ReadyA,            DoProduct,          PETSC_TRUE },
  {"product",                   ReadyProduct,      DoProduct,          PETSC_TRUE },
  {"product of new values",     ReadyNewValues,    DoProduct,          PETSC_TRUE },
  {"product of a new pattern",  ReadyNewPattern,   DoProduct,          PETSC_TRUE },
  {"symmetric transpose",       ReadySymmetric,    DoProduct,          PETSC_FALSE},
  {"transpose",                 ReadyUnsymmetric,  DoProduct,          PETSC_FALSE},
  {"product with a vector",     ReadyVectors,      DoMult,             PETSC_TRUE },
  {"view",                      ReadyView,         DoView,             PETSC_TRUE },
  {"load",                      ReadyFile,         DoLoad,             PETSC_FALSE},
  {"destroy",                   ReadyDestroy,      DoDestroy,          PETSC_TRUE }
};

static PetscInt ncomplaints;

static void Complain(const Scenario *s, PetscInt k, const char text[])
{
  if (ncomplaints++ < 40) fprintf(stdout, "[%d] %s, call %d, %s: %s\n", rank, s->name, (int)k, victim ? victim : "none", text);
}

/*
   A must have its type, and a product with it be right. The type may be the parent's where the question for the plan failed, with which a view of the parent ends: it
   has to be asked, for the matrix may have been replaced, and cannot fail on an object that is one
*/
static PetscErrorCode CheckProduct(const Scenario *s, PetscInt k, const World *w, Mat A, PetscBool aijtcu, const char text[])
{
  const char *const questions[] = {"PetscObjectQuery", "PetscContainerGetPointer", NULL};
  World             u           = *w;
  PetscBool         is          = PETSC_FALSE, own;

  PetscFunctionBegin;
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &own, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  if (own != aijtcu && !(victim && IsOneOf(victim, questions))) Complain(s, k, own ? "the type is still aijtcu" : "the type is not aijtcu any more");
  u.A = A;
  u.C = NULL;
  if (!Product(&u, MAT_INITIAL_MATRIX, &u.C)) PetscCall(IsProduct(u.C, &u, &is));
  if (!is) Complain(s, k, text);
  PetscCall(MatDestroy(&u.C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&w->B));
  PetscCall(MatDestroy(&w->C));
  PetscCall(MatDestroy(&w->M));
  PetscCall(MatDestroy(&w->X));
  if (w->A && mode == FAIL_PETSC) { /* what PETSc has left may have a reference to A */
    PetscInt references;

    PetscCall(PetscObjectGetReference((PetscObject)w->A, &references));
    if (references > 1) lost = PETSC_TRUE;
  }
  PetscCall(MatDestroy(&w->A));
  PetscCall(VecDestroy(&w->x));
  PetscCall(VecDestroy(&w->y));
  PetscCall(ISDestroy(&w->rows));
  PetscCall(PetscViewerDestroy(&w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In PETSc 3.24 a parallel product sets those of its blocks up anew every time. The local part of C keeps one whose set-up has failed, and PETSc then
   takes it for one that is set up: such a C, of an aij as well, is of no use, but another one is
*/
static PetscErrorCode ActAgain(const Scenario *s, World *w, PetscErrorCode *ierr)
{
  PetscFunctionBegin;
  *ierr = (*s->act)(w);
#if PETSC_VERSION_LT(3, 25, 0)
  {
    PetscInt spoilt = *ierr == PETSC_ERR_PLIB && s->act == DoProduct && w->C;

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &spoilt, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
    if (size > 1 && spoilt) {
      PetscCall(MatDestroy(&w->C));
      *ierr = (*s->act)(w);
    }
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In debug builds an error inside of MPIU_Allreduce(), a macro there, takes its caller off PETSc's stack of functions twice: what is on it is put back */
static PetscErrorCode Act(const Scenario *s, World *w)
{
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  const PetscStack     stack = petscstack;
  const PetscErrorCode ierr  = (*s->act)(w);

  if (ierr) petscstack = stack;
  return ierr;
#else
  return (*s->act)(w);
#endif
}

/* Run a scenario with call k failing, or none if that is 0: then only the calls are counted, and what PETSc makes once and keeps is made */
static PetscErrorCode Attempt(const Scenario *s, PetscInt k)
{
  World          w;
  PetscErrorCode ierr, again;
  PetscBool      is = PETSC_TRUE, made_C, made_M, made_X;

  PetscFunctionBegin;
  victim     = NULL;
  cuda_error = 0;
  fired = told = lost = half = PETSC_FALSE;
  recording           = (PetscBool)(k > 0);
  PetscCall(WorldCreate(&w));
  PetscCall((*s->ready)(&w));
  made_C = (PetscBool)!w.C;
  made_M = (PetscBool)!w.M;
  made_X = (PetscBool)!w.X;

  ncalls = 0;
  which  = k;
  armed  = PETSC_TRUE;
  ierr   = Act(s, &w);
  armed  = PETSC_FALSE;
  if (ierr && !fired) Complain(s, k, "fails by itself");
  if (ierr && mode == FAIL_MEMORY) Complain(s, k, "no other path where memory runs out");
  if (!ierr && fired && mode == FAIL_MEMORY && !told) Complain(s, k, "nothing in the log of memory that runs out");
  if (!ierr && cuda_error) Complain(s, k, "an error of CUDA is left to others");
  cuda_error = 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &half, 1, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD));
  if (half) { /* nothing of this world can be used */
    recording = PETSC_FALSE;
    nmade     = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ierr) { /* what is half made can be destroyed, and all be done again */
    if (made_C && MatDestroy(&w.C)) Complain(s, k, "the product cannot be destroyed");
    if (made_M && MatDestroy(&w.M)) Complain(s, k, "the other matrix cannot be destroyed");
    if (made_X && MatDestroy(&w.X)) Complain(s, k, "the factor cannot be destroyed");
    PetscCall(ActAgain(s, &w, &again));
    if (again) Complain(s, k, "fails again");
  }
  if (s->act == DoProduct && w.C) PetscCall(IsProduct(w.C, &w, &is));
  if (s->act == DoMult) PetscCall(IsProductWithVector(&w, &is));
  if (s->ready == ReadyFactor) PetscCall(IsSolution(&w, &is));
  if (!is) Complain(s, k, ierr ? "wrong result at the second time" : "wrong result");
  PetscCall(CheckProduct(s, k, &w, w.A, (PetscBool)(s->act != DoConvert && s->act != DoConvertInPlace), "no right product afterwards"));
  PetscCall(CheckProduct(s, k, &w, w.M, (PetscBool)(s->act != DoConvertBack), "no right product of the other matrix"));
  if (Destroy(&w)) Complain(s, k, "what was made cannot be destroyed");
  if (nmade && (!lost || s->act == DoDestroy)) {
    char text[256];

    PetscCall(PetscSNPrintf(text, sizeof(text), "left: %d things, one made by %s, line %d", nmade, made[0].by, made[0].line));
    Complain(s, k, text);
  }
  recording = PETSC_FALSE;
  nmade     = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AttemptAll(const Scenario *s, PetscBool print)
{
  PetscInt n, k;

  PetscFunctionBegin;
  PetscCall(Attempt(s, 0));
  PetscCallMPI(MPIU_Allreduce(&ncalls, &n, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  for (k = 1; k <= n; k++) PetscCall(Attempt(s, k));
  if (print) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " calls failed\n", s->name, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunScenarios(void)
{
  char      only[64] = "";
  PetscBool print = PETSC_FALSE, for_device = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-for_device", &for_device, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  InterposeMalloc(PETSC_TRUE);
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(scenarios); i++) {
    if ((only[0] && strcmp(only, scenarios[i].name)) || (for_device && !scenarios[i].device)) continue;
    PetscCall(AttemptAll(&scenarios[i], print));
  }
  InterposeMalloc(PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type must work now */
static PetscErrorCode TryType(const Scenario *s, PetscInt k)
{
  World w;

  PetscFunctionBegin;
  PetscCall(WorldCreate(&w));
  if (ReadyA(&w)) Complain(s, k, "no matrix of the type");
  PetscCall(CheckProduct(s, k, &w, w.A, PETSC_TRUE, "no right product"));
  PetscCall(Destroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetMode(void)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-fail", modes, (PetscEnum *)&mode, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The library is made known anew after each PetscInitialize(). This is not on PETSc's stack of functions, which PetscFinalize() empties */
static PetscErrorCode RunRegister(int argc, char **argv)
{
  const Scenario s = {"register", NULL, NULL, PETSC_FALSE};

  for (PetscInt k = 0, n = 1; k <= n; k++) {
    if (k) {
      PetscCall(PetscPopErrorHandler());
      PetscCall(PetscFinalize());
      PetscCall(PetscInitialize(&argc, &argv, NULL, help));
      PetscCall(GetMode());
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    }
    ncalls = 0;
    which  = k;
    victim = NULL;
    armed  = PETSC_TRUE;
    if (PetscDLLibraryRegister_petscaijtcu() && PetscDLLibraryRegister_petscaijtcu()) Complain(&s, k, "fails again");
    armed = PETSC_FALSE;
    if (!k) n = ncalls;
    PetscCall(TryType(&s, k));
  }
  return PETSC_SUCCESS;
}

/* With a device on some processes only, all stay on the host */
static PetscErrorCode RunDevices(void)
{
  const Scenario s = {"devices", NULL, NULL, PETSC_FALSE};
  World          w;
  VecType        type = NULL;

  PetscFunctionBegin;
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(WorldCreate(&w));
  armed = PETSC_TRUE;
  if (ReadyA(&w)) Complain(&s, 0, "no matrix of the type");
  else PetscCall(MatGetVecType(w.A, &type));
  if (type && strcmp(type, VECSTANDARD)) Complain(&s, 0, "the matrix is not on the host");
  if (PetscDefined(HAVE_CUDA) && !fired) Complain(&s, 0, "nobody has asked for a device");
  PetscCall(Destroy(&w));
  PetscCall(TryType(&s, 0));
  armed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCallMPI(MPI_Init(&argc, &argv)); /* which PetscFinalize() leaves alone then */
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GetMode());
  PetscCall(InterposeLibrary());
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (mode == FAIL_REGISTER) PetscCall(RunRegister(argc, argv));
  else if (mode == FAIL_DEVICES) PetscCall(RunDevices());
  else {
    PetscCall(PetscDLLibraryRegister_petscaijtcu());
    PetscCall(RunScenarios());
  }
  PetscCall(PetscPopErrorHandler());
#endif
  PetscCall(PetscFinalize());
  PetscCallMPI(MPI_Finalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2}}
    test:
      suffix: call
      timeoutfactor: 5
      args: -fail call -mat_aijtcu_path {{tcu scalar}} -malloc_dump 0 -checkfunctionlist 0
    test: # on the host: types of the device that fail halfway leave matrices that cannot be used
      suffix: petsc
      env: CUDA_VISIBLE_DEVICES=
      args: -fail petsc -mat_aijtcu_path tcu -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: memory
      args: -fail memory -mat_aijtcu_path tcu

  test:
    suffix: register
    output_file: output/empty.out
    args: -fail register -mat_aijtcu_attach {{0 1}} -malloc_dump 0 -checkfunctionlist 0

  test:
    suffix: devices
    nsize: 2
    output_file: output/empty.out
    args: -fail devices -mat_aijtcu_path {{tcu auto}}

  testset:
    requires: cuda !complex
    output_file: output/empty.out
    args: -for_device -mat_aijtcu_path {{tcu scalar}} -malloc_dump 0 -checkfunctionlist 0
    test:
      suffix: cuda
      args: -fail cuda -dense_cuda {{0 1}}
    test:
      suffix: cuda_memory
      args: -fail memory
    test:
      suffix: cuda_call
      args: -fail call

TEST*/
