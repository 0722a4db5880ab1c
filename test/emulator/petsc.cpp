/*
   How threads of PETSc's kernels run on a host: see petsc.h.
*/
#include "cuda_runtime.h"

struct EmulatedWait { };
bool emulated_threads_wait;

void EmulatedThreads(dim3 blocks, dim3 threads, void (*kernel)(const void *), const void *arguments)
{
  gridDim  = blocks;
  blockDim = threads;
  try {
    for (unsigned int b = 0; b < blocks.x; b++) {
      for (unsigned int t = 0; t < threads.x; t++) {
        blockIdx  = dim3(b, 0, 0);
        threadIdx = dim3(t, 0, 0);
        kernel(arguments);
      }
    }
  } catch (const EmulatedWait &) { /* the first thread of the first block: none has written anything yet */
    emulated_threads_wait = true;
    EmulatedRun(blocks, threads, 0, kernel, arguments);
    emulated_threads_wait = false;
  }
}
