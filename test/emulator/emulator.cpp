/*
   Thread blocks of fibers: see cuda_runtime.h.
*/
#include "cuda_runtime.h"
#include "attributes.h"

#include <stdio.h>

#include <vector>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
  #include <sanitizer/asan_interface.h>
  /* For functions that take most of the time, and get no addresses from kernels */
  #define UNCHECKED __attribute__((no_sanitize_address))
#else
  #define UNCHECKED
  #define ASAN_POISON_MEMORY_REGION(p, bytes)   ((void)0)
  #define ASAN_UNPOISON_MEMORY_REGION(p, bytes) ((void)0)
#endif

enum {
  LANES        = 32,
  MOST_THREADS = 1024,
  STACK_BYTES  = 80 << 10, /* the first page is not mapped, so that a fiber which needs more is stopped */
  PAGE_BYTES   = 4 << 10,
  SHARED_BYTES = EmulatedAttribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, EMULATED_ARCH / 10), /* the most that a thread block can have */
  /*
     Number of places in which stacks begin, COLOR_BYTES apart. If all began in the same place, they would share a few
     lines of a cache
  */
  COLORS       = 61,
  COLOR_BYTES  = 5 * 64,
  /*
     JUNK: each byte of shared memory at first. As numbers these are finite. Numbers that are not finite would be
     computed again, which would hide a read of what was not written
  */
  JUNK         = 0x41
};

dim3 threadIdx, blockIdx, blockDim, gridDim;

/* An mbarrier in 64 bits */
struct Barrier {
  uint32_t phase : 1, count : 15, pending : 16; /* arrivals that a phase takes, and those still missing */
  int32_t  bytes;                               /* bytes still missing */
};
static_assert(sizeof(Barrier) == 8, "the size of an mbarrier");

struct Copy {
  uint32_t    to;
  const void *from;
  int         bytes;
};

struct Warp {
  uint32_t      turn, arrived; /* exchanges so far, and lanes that have arrived at the next */
  unsigned char buffer[2][LANES][64];
};

struct Fiber {
  void               *stack; /* where it continues */
  const uint32_t     *turn;  /* it waits until this counter differs from before */
  const Barrier      *barrier; /* or it waits until this phase is over */
  uint32_t            before, phase;
  bool                done;
  dim3                index;
  std::vector<Copy>   copies; /* copies under way */
  std::vector<size_t> groups; /* ends of the groups of copies; later copies are in no group yet */
};

static struct {
  alignas(1024) unsigned char shared[SHARED_BYTES];
  unsigned char *stacks;
  Fiber          fiber[MOST_THREADS];
  Warp           warp[MOST_THREADS / LANES];
  uint32_t       turn, arrived, any; /* counts of __syncthreads() */
  int            current, nthreads, nwarps;
  int            warp_at, lane_at; /* who is next: this many warps and lanes from the first, or from the last */
  bool           last_warp_first, last_lane_first, lanes_went, warps_went;
  size_t         shared_bytes;
  void          *scheduler; /* where it continues */
  void (*kernel)(const void *);
  const void *arguments;
} e;

unsigned char *const emulated_base = e.shared; /* it begins where 1024 bytes do */

#if !defined(__x86_64__)
  #error "Stacks are switched for x86-64 only"
#endif
/* Continue with another stack, and note here where to continue with this one */
extern "C" void EmulatedSwitch(void **here, void *there);
asm(".text\n.globl EmulatedSwitch\nEmulatedSwitch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static void Fail(const char *what)
{
  fprintf(stderr, "emulator: thread block %u %u, thread %u: %s\n", blockIdx.x, blockIdx.y, threadIdx.x, what);
  abort();
}

/* Random numbers, the same in each run */
UNCHECKED static bool TossCoin(void)
{
  static uint64_t x = 88172645463325252ull;

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x >> 40 & 1;
}

UNCHECKED static inline bool Ready(const Fiber &f)
{
  return !f.done && (!f.turn || *f.turn != f.before) && (!f.barrier || f.barrier->phase != f.phase);
}

/*
   The next fiber that can run: the lanes of a warp until all of them wait, then another warp. The direction is first
   to last, or last to first. So code that relies on an order is wrong half of the time. NULL if all wait.
*/
UNCHECKED static Fiber *Next(void)
{
  for (;;) {
    const int first = LANES * (e.last_warp_first ? e.nwarps - 1 - e.warp_at : e.warp_at);

    while (e.lane_at < LANES) {
      const int i = first + (e.last_lane_first ? LANES - 1 - e.lane_at : e.lane_at);

      e.lane_at++;
      if (Ready(e.fiber[i])) {
        e.current    = i;
        e.lanes_went = true;
        return &e.fiber[i];
      }
    }
    if (e.lanes_went) e.warps_went = true;
    else if (++e.warp_at == e.nwarps) {
      if (!e.warps_went) return NULL;
      e.warps_went      = false;
      e.warp_at         = 0;
      e.last_warp_first = TossCoin();
    }
    e.lane_at         = 0;
    e.lanes_went      = false;
    e.last_lane_first = TossCoin();
  }
}

/*
   Switch from this fiber, which continues when it is called, to the next one that does not wait, or back to RunBlock()
*/
UNCHECKED static void Yield(void **here)
{
  Fiber *f = Next();

  if (!f) EmulatedSwitch(here, e.scheduler);
  else {
    f->turn         = NULL;
    f->barrier      = NULL;
    threadIdx = f->index;
    if (&f->stack != here) EmulatedSwitch(here, f->stack);
  }
}

UNCHECKED static void Yield(void)
{
  Yield(&e.fiber[e.current].stack);
}

static void Begin(void)
{
  e.kernel(e.arguments);
  e.fiber[e.current].done = true;
  Yield();
}

UNCHECKED static void RunBlock(void)
{
  const int n = e.nthreads;

  memset(e.shared, JUNK, e.shared_bytes);
  e.nwarps = n / LANES;
  for (int i = 0; i < e.nwarps; i++) e.warp[i].turn = e.warp[i].arrived = 0;
  e.turn = e.arrived = e.any = 0;
  for (int i = 0; i < n; i++) {
    Fiber &f     = e.fiber[i];
    /* Room for six registers, the address of Begin() to return to, and a place that makes it look called */
    void **stack = (void **)(e.stacks + (size_t)(i + 1) * STACK_BYTES - (size_t)(i % COLORS) * COLOR_BYTES) - 8;

    stack[6]  = (void *)Begin;
    f.stack   = stack;
    f.index   = dim3((unsigned int)i % blockDim.x, (unsigned int)i / blockDim.x, 0);
    f.done    = false;
    f.turn    = NULL;
    f.barrier = NULL;
    if (!f.copies.empty()) f.copies.clear();
    if (!f.groups.empty()) f.groups.clear();
  }
  e.warp_at = e.lane_at = 0;
  e.lanes_went = e.warps_went = false;
  e.last_warp_first           = TossCoin();
  e.last_lane_first           = TossCoin();
  Yield(&e.scheduler);
  for (int i = 0; i < n; i++) {
    if (!e.fiber[i].done) Fail("all threads wait");
  }
}

static void CreateStacks(void)
{
  e.stacks = (unsigned char *)mmap(NULL, (size_t)MOST_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (e.stacks == MAP_FAILED) Fail("no memory for stacks");
  for (int i = 0; i < MOST_THREADS; i++) {
    if (mprotect(e.stacks + (size_t)i * STACK_BYTES, PAGE_BYTES, PROT_NONE)) Fail("no end of a stack");
  }
}

void EmulatedRun(dim3 blocks, dim3 threads, size_t shared, void (*kernel)(const void *), const void *arguments)
{
  if (!e.stacks) CreateStacks();
  gridDim  = blocks;
  blockDim = threads;
  e.nthreads       = (int)(threads.x * threads.y);
  e.shared_bytes   = shared;
  e.kernel         = kernel;
  e.arguments      = arguments;
  if (e.nthreads < 1 || e.nthreads > MOST_THREADS || e.nthreads % LANES || threads.z > 1 || shared > SHARED_BYTES) Fail("a launch that is not possible");
  ASAN_UNPOISON_MEMORY_REGION(e.shared, shared);
  ASAN_POISON_MEMORY_REGION(e.shared + shared, SHARED_BYTES - shared);
  blockIdx.z = 0;
  for (blockIdx.y = 0; blockIdx.y < blocks.y; blockIdx.y++) {
    for (blockIdx.x = 0; blockIdx.x < blocks.x; blockIdx.x++) RunBlock();
  }
}

void *EmulatedShared(void)
{
  return e.shared;
}

/* Two buffers are enough: no lane can be two exchanges ahead of one that has not read yet */
UNCHECKED const unsigned char *EmulatedExchange(const void *x, size_t bytes)
{
  Warp          &w      = e.warp[e.current / LANES];
  unsigned char *all = w.buffer[w.turn % 2][0], *buffer = all;

  if (bytes > sizeof(w.buffer[0][0])) Fail("an exchange of too many bytes");
  buffer += 64 * (e.current % LANES);
  if (bytes == 4) __builtin_memcpy(buffer, x, 4);
  else if (bytes == 8) __builtin_memcpy(buffer, x, 8);
  else if (bytes) memcpy(buffer, x, bytes);
  if (++w.arrived == LANES) {
    w.arrived = 0;
    w.turn++;
  } else {
    e.fiber[e.current].turn   = &w.turn;
    e.fiber[e.current].before = w.turn;
    Yield();
  }
  return all;
}

UNCHECKED int __syncthreads_or(int x)
{
  static uint32_t result[2];
  const uint32_t  turn = e.turn;

  e.any |= x != 0;
  if (++e.arrived == (uint32_t)e.nthreads) {
    result[turn % 2] = e.any;
    e.arrived = e.any = 0;
    e.turn++;
  } else {
    e.fiber[e.current].turn   = &e.turn;
    e.fiber[e.current].before = turn;
    Yield();
  }
  return (int)result[turn % 2];
}

void __syncthreads(void)
{
  (void)__syncthreads_or(0);
}

static Barrier *At(uint32_t barrier)
{
  if (barrier % sizeof(Barrier)) Fail("a barrier that is not aligned");
  return (Barrier *)EmulatedAt(barrier);
}

/* A phase is over when all have arrived and all bytes have come */
static void EndPhase(Barrier *b)
{
  if (b->pending || b->bytes) return;
  b->phase ^= 1;
  b->pending = b->count;
}

void ptx_mbarrier_init(uint32_t barrier, uint32_t count)
{
  *At(barrier) = {0, count, count, 0};
}

void ptx_mbarrier_arrive(uint32_t barrier)
{
  Barrier *b = At(barrier);

  if (!b->pending) Fail("more arrivals at a barrier than it takes");
  b->pending--;
  EndPhase(b);
}

void ptx_mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes)
{
  At(barrier)->bytes += (int32_t)bytes;
  ptx_mbarrier_arrive(barrier);
}

void ptx_mbarrier_wait(uint32_t &done, uint32_t barrier, uint32_t parity)
{
  const Barrier *b = At(barrier);

  if (b->phase == parity) {
    e.fiber[e.current].barrier = b;
    e.fiber[e.current].phase   = parity;
    Yield();
  }
  done = 1;
}

void ptx_cp_async(uint32_t to, const void *from, int bytes)
{
  if (to % bytes || (size_t)from % bytes) Fail("a copy that is not aligned");
  e.fiber[e.current].copies.push_back({to, from, bytes});
}

void ptx_cp_async_commit(void)
{
  e.fiber[e.current].groups.push_back(e.fiber[e.current].copies.size());
}

/* Finish all groups except the last ones */
void ptx_cp_async_wait(int most)
{
  Fiber       &f = e.fiber[e.current];
  const size_t n = f.groups.size() > (size_t)most ? f.groups.size() - (size_t)most : 0, end = n ? f.groups[n - 1] : 0;

  if (!n) return;
  for (const Copy *c = f.copies.data(), *last = c + end; c != last; c++) {
    void *to = EmulatedAt(c->to);

    /* With a number that is known to the compiler, the sanitizer's test of the addresses is a few instructions here */
    if (c->bytes == 16) __builtin_memcpy(to, c->from, 16);
    else if (c->bytes == 8) __builtin_memcpy(to, c->from, 8);
    else memcpy(to, c->from, (size_t)c->bytes);
  }
  f.copies.erase(f.copies.begin(), f.copies.begin() + (ptrdiff_t)end);
  f.groups.erase(f.groups.begin(), f.groups.begin() + (ptrdiff_t)n);
  for (size_t &g : f.groups) g -= end;
}

void ptx_cp_async_arrive(uint32_t barrier)
{
  ptx_cp_async_commit();
  ptx_cp_async_wait(0);
  ptx_mbarrier_arrive(barrier);
}

void ptx_cp_async_bulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier)
{
  Barrier *b = At(barrier);

  if (to % 16 || (size_t)from % 16 || bytes % 16) Fail("a bulk copy that is not aligned");
  memcpy(EmulatedAt(to), from, bytes);
  b->bytes -= (int32_t)bytes;
  EndPhase(b);
}

/*
   Fragments: PTX ISA, warp-level matrix instructions. Lane 4 g + k holds: rows g and g + 8 of A and C, column g of B;
   columns k of A and rows k of B; columns 2 k and 2 k + 1 of C.
*/
template <typename T> UNCHECKED static inline T Lane(const unsigned char *all, int lane)
{
  T x;

  __builtin_memcpy(&x, all + 64 * lane, sizeof(x));
  return x;
}

UNCHECKED static inline double Product4(const unsigned char *all, int a, int row, int col, double c)
{
  for (int k = 0; k < 4; k++) c = std::fma(Lane<double>(all + 8 * a, 4 * row + k), Lane<double>(all + 16, 4 * col + k), c);
  return c;
}

UNCHECKED void ptx_mma_m16n8k4(double &c0, double &c1, double &c2, double &c3, double a0, double a1, double b)
{
  const double         mine[] = {a0, a1, b};
  const unsigned char *all    = EmulatedExchange(mine, sizeof(mine));
  const int            g = e.current % LANES / 4, k = e.current % 4;

  c0 = Product4(all, 0, g, 2 * k, c0);
  c1 = Product4(all, 0, g, 2 * k + 1, c1);
  c2 = Product4(all, 1, g, 2 * k, c2);
  c3 = Product4(all, 1, g, 2 * k + 1, c3);
}

UNCHECKED void ptx_mma_m8n8k4(double &c0, double &c1, double a, double b)
{
  const double         mine[] = {a, 0, b};
  const unsigned char *all    = EmulatedExchange(mine, sizeof(mine));
  const int            g = e.current % LANES / 4, k = e.current % 4;

  c0 = Product4(all, 0, g, 2 * k, c0);
  c1 = Product4(all, 0, g, 2 * k + 1, c1);
}

UNCHECKED static inline float TowardZero(double x)
{
  const float y = (float)x;

  return std::isfinite(y) && std::fabs((double)y) > std::fabs(x) ? std::nextafter(y, 0.0f) : y;
}

UNCHECKED void ptx_mma_m16n8k8(float &c0, float &c1, float &c2, float &c3, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
  const uint32_t       mine[] = {a0, a1, a2, a3, b0, b1};
  const unsigned char *all    = EmulatedExchange(mine, sizeof(mine));
  const int            g = e.current % LANES / 4, k = e.current % 4;
  float *const         c[] = {&c0, &c1, &c2, &c3};

  for (int i = 0; i < 4; i++) {
    double sum = *c[i];

    for (int j = 0; j < 8; j++) {
      const uint32_t a = Lane<uint32_t>(all + 4 * (i / 2 + 2 * (j / 4)), 4 * g + j % 4), b = Lane<uint32_t>(all + 4 * (4 + j / 4), 4 * (2 * k + i % 2) + j % 4);

      sum += (double)__uint_as_float(a & 0xffffe000u) * (double)__uint_as_float(b & 0xffffe000u);
    }
    *c[i] = TowardZero(sum);
  }
}

#if !defined(EMULATED_LIBRARY)
static cudaError_t last_error = cudaSuccess;

/*
   Launches so far, and the one that fails: a test sets it. 0: none. With emulated_failure_lasts those behind it fail,
   too
*/
int         emulated_launches, emulated_failing;
bool        emulated_failure_lasts;
cudaError_t emulated_failure = cudaErrorMemoryAllocation;

cudaError_t cudaLaunchKernel(const void *, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t)
{
  ++emulated_launches;
  if (emulated_failing && (emulated_launches == emulated_failing || (emulated_failure_lasts && emulated_launches > emulated_failing))) return last_error = emulated_failure;
  EmulatedRun(blocks, threads, shared, (void (*)(const void *))arguments[1], arguments[2]);
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
  const cudaError_t err = last_error;

  last_error = cudaSuccess;
  return err;
}

cudaError_t EmulatedAllocate(void **p, size_t bytes)
{
  *p = NULL;
  if (posix_memalign(p, 256, bytes ? bytes : 1)) return cudaErrorMemoryAllocation;
  memset(*p, 0xff, bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
  free(p);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
  if (bytes) memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows, cudaMemcpyKind)
{
  for (size_t i = 0; i < rows; i++) memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *p, int x, size_t bytes)
{
  if (bytes) memset(p, x, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) /* just enough for the largest tests */
{
  *unused = *total = (size_t)1 << 30;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *x, cudaDeviceAttr attribute, int)
{
  *x = attribute == cudaDevAttrMemoryClockRate ? 1593000 : EmulatedAttribute(attribute, EMULATED_ARCH / 10);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
  snprintf(p->name, sizeof(p->name), "emulator");
  p->major                  = EMULATED_ARCH / 100;
  p->totalGlobalMem         = (size_t)1 << 30;
  p->sharedMemPerBlockOptin = (size_t)EmulatedAttribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, EMULATED_ARCH / 10);
  return cudaSuccess;
}
#endif
