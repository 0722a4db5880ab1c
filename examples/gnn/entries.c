#include "entries.h"

#define ENTRIES_ON_HOST(op)                       \
  void op##OnHost(const op *a, int64_t n)         \
  {                                               \
    for (int64_t i = 0; i < n; i++) op##At(a, i); \
  }
ENTRIES(ENTRIES_ON_HOST)
