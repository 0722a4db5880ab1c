/*
   A packed block taken apart by a kernel, in global or shared memory.
*/
#pragma once

#include "../common/shared.cuh"

/* x, or -x. Always the same instruction: whether to turn the sign differs from lane to lane */
__device__ __forceinline__ double WithSign(double x, bool minus)
{
  return __hiloint2double(__double2hiint(x) ^ (int)((uint32_t)minus << 31), __double2loint(x));
}
__device__ __forceinline__ float WithSign(float x, bool minus)
{
  return __uint_as_float(__float_as_uint(x) ^ (uint32_t)minus << 31);
}

/* An HrpbBrick in four registers, as one load brings it */
struct PackedBrick {
  uint4 words;

  PackedBrick() = default;
  __device__ __forceinline__ explicit PackedBrick(uint32_t shared) : words(ReadShared128(shared)) { }

  __device__ __forceinline__ uint32_t Pattern(int half) const { return half ? words.y : words.x; }
  __device__ __forceinline__ uint32_t Columns(void) const { return words.z; }
  __device__ __forceinline__ uint32_t Column(uint32_t slot) const { return __byte_perm(words.z, 0, 0x4440 | slot); }
  __device__ __forceinline__ uint32_t Value(int half) const { return half ? words.w >> 16 : words.w & 0xffff; }

  /* The entry of a bit of a half, from the values of the block */
  template <typename Scalar> __device__ __forceinline__ Scalar Entry(int half, uint32_t bit, bool pairs, const Scalar *values) const
  {
    const uint32_t before = __popc(Pattern(half) & HrpbCounted(bit, pairs));

    values += Value(half) + (pairs ? 2 * before + HrpbPairPart(bit) : before);
    return WithSign(*values, pairs && HrpbPairMinus(bit));
  }

  /*
     The slots of a lane: of row lane/4 and, with 16 rows, of row lane/4 + 8. They are zero where there is no entry, and
     all are zero unless the brick is to be used. values is the address in shared memory of the block's values.

     Of a pair a lane reads its number, and turns the sign if it is the block's second slot: neighbours read the same
  */
  template <int BM, bool PAIRS, typename Scalar> __device__ __forceinline__ void Decode(bool use, uint32_t values, uint32_t lane, Scalar a[BM / 8]) const
  {
    constexpr uint32_t STEP = (PAIRS ? 2 : 1) * sizeof(Scalar);
    const uint32_t     bit = 1u << lane, counted = HrpbCounted(lane, PAIRS), begin = values + (PAIRS ? HrpbPairPart(lane) * (uint32_t)sizeof(Scalar) : 0);

#pragma unroll
    for (int half = 0; half < BM / 8; half++) {
      a[half] = ReadSharedIf(use && Pattern(half) & bit, begin + Value(half) * (uint32_t)sizeof(Scalar) + __popc(Pattern(half) & counted) * STEP);
      if (PAIRS) a[half] = WithSign(a[half], HrpbPairMinus(lane));
    }
  }
};
static_assert(sizeof(PackedBrick) == sizeof(HrpbBrick) && offsetof(HrpbBrick, column) == 8 && offsetof(HrpbBrick, value) == 12, "the words are those of the layout");

/* The pattern run of a block; nstrips are the strips of a panel */
struct PackedBlock {
  const uint16_t    *strip_start;
  const PackedBrick *brick;

  __device__ __forceinline__ PackedBlock(const uint8_t *run, int32_t nstrips) : strip_start((const uint16_t *)(run + HrpbOffsetStripStart())), brick((const PackedBrick *)(run + HrpbOffsetBricks(nstrips))) { }
};
