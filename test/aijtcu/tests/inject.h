/*
   Counts the calls that the library makes, chooses one, and lets it fail. Needs _GNU_SOURCE, and a loader and calling
   conventions as on Linux.
*/
#pragma once

#include <petscmat.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

/*
   This stands between the library and all others. The table of functions that the library's loader filled in (the GOT)
   is changed, so that calls of the library, and only these, come by here.

   The arguments of a function are not known. But the calling conventions of x86-64 and AArch64 say where they are: in
   registers for integers, in registers for floating-point numbers, and on the stack. All of these are handed on.
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
  CUDA_LAUNCH, /* a later call of these functions returns the error */
  CUDA_QUESTION,
  CUDA_MEMORY,
  HOST_MEMORY,
  OTHER /* it never fails, but what it frees is noted */
} Kind;

typedef struct {
  const char *name;
  Kind        kind;
  PetscBool   releases; /* it is made, and then reports failure: otherwise what it was to release would be left, and no call to blame */
  Function    function;
} Import;

enum {
  MAX_IMPORTS = 1024,
  MAX_MADE    = 1 << 14
};
static Import imports[MAX_IMPORTS];
static int    nimports;

/* What the library made and has not destroyed */
static struct {
  const void *what;
  const char *by;
  int         line; /* of the source; where it was no function of PETSc, the number of the call */
} made[MAX_MADE];
static int nmade;

static enum {
  FAIL_CALL,
  FAIL_MEMORY,
  FAIL_CUDA,
  FAIL_LAUNCH,
  FAIL_REGISTER,
  FAIL_DEVICES
} mode;
static const char *const modes[] = {"call", "memory", "cuda", "launch", "register", "devices", "Fail", "FAIL_", NULL};

static PetscBool   recording, armed, fired, told;
static PetscInt    ncalls, which; /* calls that could have failed, and the one that shall fail; 0 for none */
static const char *victim;
static int         cuda_error; /* the error that the next query returns */
static int         depth;      /* depth of calls that the library makes */
static PetscMPIInt rank, size;

enum { /* error codes of CUDA */
  OUT_OF_MEMORY  = 2,
  NO_IMAGE       = 209,
  LAUNCH_FAILURE = 719
};
static PetscInt  code = LAUNCH_FAILURE; /* that of a launch which fails */
static PetscBool lasting;               /* launches behind it fail, too */
static PetscBool no_code;               /* kernels of the library were compiled for other GPUs */

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

/*
   Whether the call at hand is to fail. counts says whether it is of the kind that can. With lasting, all such calls
   after the first failure fail, too.
*/
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
  case CUDA_LAUNCH:
    cuda_error = (int)code;
    return code;
  case CUDA_CALL:
    if (!import->releases) cuda_error = LAUNCH_FAILURE;
    return LAUNCH_FAILURE;
  case CUDA_QUESTION:
    return LAUNCH_FAILURE;
  default:
    return 0; /* NULL */
  }
}

/* Note what a successful call made or destroyed */
static void Note(const Import *import, long result, long a0)
{
  const char *name = import->name;

  if (import->kind == HOST_MEMORY) Make((void *)result, name, (int)ncalls);
  else if (!strcmp(name, "free") || !strcmp(name, "cudaFree") || !strcmp(name, "cudaFreeAsync") || !strcmp(name, "cudaEventDestroy") || !strcmp(name, "cudaStreamDestroy")) Unmake((void *)a0);
  else if (!result && (import->kind == CUDA_MEMORY || !strncmp(name, "cudaEventCreate", 15) || !strncmp(name, "cudaStreamCreate", 16))) Make(*(void **)a0, name, (int)ncalls);
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

/* A request for memory that the library can do without. If it fails, the library has to go another way */
static PetscBool IsOptional(const Import *import, long a3)
{
  /* the function that makes the request */
  if (!strcmp(import->name, "PetscMallocA")) return (PetscBool)!strcmp((const char *)a3, "AIJTCUHostBuild");
  return (PetscBool)(import->kind == HOST_MEMORY || import->kind == CUDA_MEMORY);
}

/* Whether a call is one of those of which one is to fail */
static PetscBool Counts(Kind kind, PetscBool optional)
{
  switch (mode) {
  case FAIL_CALL:
  case FAIL_REGISTER:
    return (PetscBool)(kind != OTHER);
  case FAIL_CUDA:
    return (PetscBool)(kind == CUDA_CALL || kind == CUDA_LAUNCH || kind == CUDA_QUESTION || kind == CUDA_MEMORY);
  case FAIL_LAUNCH:
    return (PetscBool)(kind == CUDA_LAUNCH);
  case FAIL_MEMORY: /* an error here is a local matter: other processes need not have it */
    return (PetscBool)(optional && !rank);
  default:
    return PETSC_FALSE;
  }
}

/* lines of the log that show that another path was taken */
static const char *const refusals[] = {"aijtcu: no ", "aijtcu: synergy is unknown", "by the parent: ", "on the host: ", NULL};

static long Call(int i, PARAMETERS)
{
  const Import   *import = &imports[i];
  const PetscBool fail   = Due(import->name, Counts(import->kind, IsOptional(import, a3)), (PetscBool)(mode == FAIL_MEMORY || lasting));
  long            result;

  if (fired && !strcmp(import->name, "PetscInfo_Private") && Contains((const char *)a2, refusals)) told = PETSC_TRUE;
  if (no_code && import->kind == CUDA_LAUNCH) {
    cuda_error = NO_IMAGE;
    return NO_IMAGE;
  }
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
  if (import->releases) Note(import, 0, a0); /* before its address can be given to another object */
  result = import->function(ARGUMENTS);
  if (!import->releases) Note(import, result, a0);
  depth--;
  return fail ? Failure(import) : result;
}

#define ONE(i)                     \
  static long Call##i(PARAMETERS)  \
  {                                \
    return Call(0x##i, ARGUMENTS); \
  }
#define SIXTEEN(h, X) X(h##0) X(h##1) X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7) X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e) X(h##f)
#define HALF(h, X)    SIXTEEN(h##0, X) SIXTEEN(h##1, X) SIXTEEN(h##2, X) SIXTEEN(h##3, X) SIXTEEN(h##4, X) SIXTEEN(h##5, X) SIXTEEN(h##6, X) SIXTEEN(h##7, X)
#define REST(h, X)    SIXTEEN(h##8, X) SIXTEEN(h##9, X) SIXTEEN(h##a, X) SIXTEEN(h##b, X) SIXTEEN(h##c, X) SIXTEEN(h##d, X) SIXTEEN(h##e, X) SIXTEEN(h##f, X)
#define ALL(X)        HALF(0, X) REST(0, X) HALF(1, X) REST(1, X)
ALL(ONE)
#define NAME(i) Call##i,
static const Function calls[MAX_IMPORTS] = {ALL(NAME)};

/* Whether calls of a function come by here, and what kind of answer it has */
static PetscBool KindOf(const char *name, Kind *kind)
{
  /* These return no error codes, or are called by PETSc */
  const char *const answers[]   = {"PetscCtxDestroyDefault", "PetscError", "PetscObjectComm", "PetscMPIErrorString", "cudaGetErrorString", "cudaGetErrorName", "MPI_Wtime", "PetscIsInfReal", "PetscIsNanReal", NULL};
  const char *const memory[]    = {"malloc", "calloc", "aligned_alloc", NULL};
  const char *const questions[] = {"cudaGetLastError", "cudaPeekAtLastError", NULL};
  /* the last brings a kernel to the device */
  const char *const launches[]  = {"cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchKernelExC", "cudaFuncGetAttributes", NULL};

  if (IsOneOf(name, answers)) return PETSC_FALSE;
  if (IsOneOf(name, memory)) *kind = HOST_MEMORY;
  else if (IsOneOf(name, launches)) *kind = CUDA_LAUNCH;
  else if (IsOneOf(name, questions)) *kind = CUDA_QUESTION;
  else if (!strcmp(name, "cudaMallocAsync")) *kind = CUDA_MEMORY;
  else if (!strcmp(name, "free")) *kind = OTHER;
  else if (!strncmp(name, "cuda", 4)) *kind = CUDA_CALL;
  else if (!strncmp(name, "MPI", 3)) *kind = MPI_CALL;
  else if (!strncmp(name, "Petsc", 5) || !strncmp(name, "Mat", 3) || !strncmp(name, "Vec", 3)) *kind = PETSC_CALL;
  else return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Make one entry of the library's table lead here */
static PetscErrorCode Interpose(void **entry, const char *name)
{
  const char *const release[] = {"Destroy", "Restore", "Free", "free", "End", "Pop", NULL};
  const char *const hooks[]   = {"SetContextDestroy", NULL}; /* these only say what is to destroy later */
  const uintptr_t   page      = (uintptr_t)sysconf(_SC_PAGESIZE);
  Kind              kind;

  PetscFunctionBegin;
  if (!KindOf(name, &kind)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(nimports < MAX_IMPORTS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The library calls more than %d functions", MAX_IMPORTS);
  imports[nimports].name                = name;
  imports[nimports].kind                = kind;
  imports[nimports].releases            = (PetscBool)(Contains(name, release) && !Contains(name, hooks));
  *(void **)&imports[nimports].function = dlsym(RTLD_DEFAULT, name); /* the entry may lead to the loader until the first call */
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
    const ElfW(Rela) * entries;
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
  }
  PetscCheck(nimports, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No libpetscaijtcu.so is loaded");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Exceptions for two habits of PETSc. Its functions destroy their temporary matrices once, and leave them if that
   fails. Where functions exchange the data of two matrices, a failure to destroy the old data leaves a matrix without
   a type. Such a matrix cannot be used, nor even destroyed.
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

/* PETSc's allocations for the library come by here */
static PetscErrorCode (*next_malloc)(size_t, PetscBool, int, const char[], const char[], void **);
static PetscErrorCode (*next_free)(void *, int, const char[], const char[]);
static PetscErrorCode (*next_realloc)(size_t, int, const char[], const char[], void **);

static PetscErrorCode Malloc(size_t n, PetscBool clear, int line, const char function[], const char file[], void **p)
{
  PetscCall((*next_malloc)(n, clear, line, function, file, p));
  if (depth > 0) Make(*p, file, line);
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

/* Switch on before anything is allocated that would be freed elsewhere, and off after everything is freed */
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
