/*
   CUB's scan, selection and sorts on a host, as kernels/ uses them. Without temporary memory they say how much they
   need. With it, they do their work. See cuda_runtime.h.
*/
#pragma once

#include <cuda_runtime.h>

#include <numeric>
#include <vector>

namespace thrust
{
template <typename T> struct counting_iterator {
  T first;

  explicit counting_iterator(T first) : first(first) { }
  T operator[](int64_t i) const { return first + (T)i; }
};
} // namespace thrust

namespace cub
{
/* Whether the call asks for the size of temporary memory */
static inline bool AskForBytes(const void *temporary, size_t &bytes)
{
  if (!temporary) bytes = 1;
  return !temporary;
}

/* A stable sort by the bits of the keys from begin to end - 1 */
template <typename K, typename V> static inline void SortByKey(const K *key, K *sorted_key, const V *value, V *sorted, int64_t n, int begin = 0, int end = 8 * sizeof(K))
{
  std::vector<int64_t> order((size_t)n);
  const auto           bits = [=](int64_t i) { return (uint64_t)key[i] << (64 - end) >> (64 - end + begin); };

  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [=](int64_t i, int64_t j) { return bits(i) < bits(j); });
  for (int64_t i = 0; i < n; i++) {
    sorted_key[i] = key[order[i]];
    sorted[i]     = value[order[i]];
  }
}

struct DeviceScan {
  template <typename T> static cudaError_t ExclusiveSum(void *temporary, size_t &bytes, const T *in, T *out, int64_t n, cudaStream_t)
  {
    T sum = {};

    if (AskForBytes(temporary, bytes)) return cudaSuccess;
    for (int64_t i = 0; i < n; i++) {
      const T x = in[i];

      out[i] = sum;
      sum    = (T)(sum + x);
    }
    return cudaSuccess;
  }
};

struct DeviceSelect {
  template <typename In, typename T, typename Is> static cudaError_t If(void *temporary, size_t &bytes, In in, T *out, int32_t *count, int64_t n, Is is, cudaStream_t)
  {
    if (AskForBytes(temporary, bytes)) return cudaSuccess;
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
      if (is(in[i])) out[(*count)++] = in[i];
    }
    return cudaSuccess;
  }
};

struct DeviceRadixSort {
  template <typename K, typename V> static cudaError_t SortPairs(void *temporary, size_t &bytes, const K *key, K *sorted_key, const V *value, V *sorted, int64_t n, int begin, int end, cudaStream_t)
  {
    if (!AskForBytes(temporary, bytes)) SortByKey(key, sorted_key, value, sorted, n, begin, end);
    return cudaSuccess;
  }
};

struct DeviceSegmentedSort {
  template <typename K, typename I> static cudaError_t SortKeys(void *temporary, size_t &bytes, const K *key, K *sorted, int64_t, int64_t nsegments, const I *begin, const I *end, cudaStream_t)
  {
    if (AskForBytes(temporary, bytes)) return cudaSuccess;
    for (int64_t s = 0; s < nsegments; s++) {
      std::copy(key + begin[s], key + end[s], sorted + begin[s]);
      std::sort(sorted + begin[s], sorted + end[s]);
    }
    return cudaSuccess;
  }

  template <typename K, typename V, typename I> static cudaError_t SortPairs(void *temporary, size_t &bytes, const K *key, K *sorted_key, const V *value, V *sorted, int64_t, int64_t nsegments, const I *begin, const I *end, cudaStream_t)
  {
    if (AskForBytes(temporary, bytes)) return cudaSuccess;
    for (int64_t s = 0; s < nsegments; s++) SortByKey(key + begin[s], sorted_key + begin[s], value + begin[s], sorted + begin[s], (int64_t)(end[s] - begin[s]));
    return cudaSuccess;
  }
};
} // namespace cub
