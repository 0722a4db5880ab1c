#include "fuzz.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
   Options of the sanitizers; gcc has no header for these. A finding ends in SIGABRT, so that the input can be told.
   Leaks are looked for after every input.
*/
#define VISIBLE __attribute__((visibility("default"))) /* with any flags of PETSc's compiler */
size_t              __sanitizer_get_current_allocated_bytes(void);
VISIBLE const char *__asan_default_options(void);
VISIBLE const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
  /* Small: the delay before freed memory is used again. Largest: what a damaged size may lead to. The gap is CUDA's */
  return "abort_on_error=1:detect_leaks=0:quarantine_size_mb=16:max_allocation_size_mb=1024:protect_shadow_gap=0";
}

const char *__ubsan_default_options(void)
{
  return "abort_on_error=1:print_stacktrace=1";
}

/*
   Memory that MPI allocates for waiting messages, on a busy machine, comes now on one process and now on another. A
   leak comes each time in the same place.
*/
enum {
  ATTEMPTS = 10
};

static struct {
  const char *name;
  long long   runs, seed, first, progress;
  long long   input; /* the number of the input at hand */
} fuzz = {.runs = 10000, .seed = 1};

/* splitmix64 */
uint64_t RandomBits(Random *r)
{
  uint64_t x = r->state += 0x9e3779b97f4a7c15;

  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

int64_t RandomBelow(Random *r, int64_t n)
{
  return (int64_t)(RandomBits(r) % (uint64_t)n);
}

bool RandomOneIn(Random *r, int64_t n)
{
  return RandomBelow(r, n) == 0;
}

static void TellInput(void)
{
  fprintf(stderr, "%s: this was input %lld; it alone: -seed %lld -first %lld -runs 1\n", fuzz.name, fuzz.input, fuzz.seed, fuzz.input);
}

void FuzzFail(const char *format, ...)
{
  va_list args;

  fprintf(stderr, "%s: ", fuzz.name);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "\n");
  TellInput();
  _Exit(1);
}

static void OnAbort(int signal)
{
  (void)signal;
  TellInput();
  _Exit(1);
}

static void Parse(int argc, char **argv)
{
  const struct {
    const char *name;
    long long  *value;
  } options[] = {
    {"-runs", &fuzz.runs},
    {"-seed", &fuzz.seed},
    {"-first", &fuzz.first},
    {"-progress", &fuzz.progress}};

  for (int i = 1; i < argc; i += 2) {
    size_t k   = 0;
    char  *end = NULL;

    while (k < 4 && strcmp(argv[i], options[k].name)) k++;
    if (k < 4 && i + 1 < argc) *options[k].value = strtoll(argv[i + 1], &end, 10);
    if (!end || end == argv[i + 1] || *end || *options[k].value < 0) {
      fprintf(stderr, "%s: the options are -runs, -seed, -first and -progress, each with a number\n", fuzz.name);
      exit(2);
    }
  }
}

/* Bytes that an input leaves allocated */
static size_t Left(void (*one)(Random *))
{
  Random       random = {(uint64_t)fuzz.seed};
  const size_t before = __sanitizer_get_current_allocated_bytes();
  size_t       after;

  random.state = RandomBits(&random) + (uint64_t)fuzz.input;
  random.state = RandomBits(&random); /* so that neighbours have nothing in common */
  one(&random);
  after = __sanitizer_get_current_allocated_bytes();
  return after > before ? after - before : 0;
}

int FuzzRun(int argc, char **argv, const char *name, void (*one)(Random *), bool (*any)(bool), bool quiet)
{
  time_t start = time(NULL), told = start;

  fuzz.name = name;
  Parse(argc, argv);
  (void)signal(SIGABRT, OnAbort);
  for (fuzz.input = fuzz.first; fuzz.input < fuzz.first + fuzz.runs; fuzz.input++) {
    size_t least  = SIZE_MAX; /* on this process */
    bool   leaves = true;

    for (int attempt = 0; attempt < ATTEMPTS && leaves; attempt++) {
      const size_t left = Left(one);

      if (left < least) least = left;
      leaves = any ? any(least > 0) : least > 0;
    }
    FuzzCheck(!leaves, "memory is left allocated, every time, %zu bytes at least on this process", least);
    if (!quiet && fuzz.progress && time(NULL) >= told + fuzz.progress) {
      told = time(NULL);
      printf("%s: %lld of %lld inputs in %lld s\n", name, fuzz.input - fuzz.first + 1, fuzz.runs, (long long)(told - start));
      fflush(stdout);
    }
  }
  if (!quiet) printf("%s: %lld inputs from seed %lld, %lld s\n", name, fuzz.runs, fuzz.seed, (long long)(time(NULL) - start));
  return 0;
}
