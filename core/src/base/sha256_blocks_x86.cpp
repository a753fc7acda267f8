// SHA-NI (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2B, SHA256RNDS2 and related).
// The build targets any processor of the family; this function needs one with these instructions.
#include "base/sha256_blocks.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

namespace crosscut {
namespace {

constexpr int groups_of_rounds = 16;  // of four rounds each

}  // namespace

bool has_sha256_instructions() {
  constexpr unsigned sse_4_1 = 1u << 19, ssse_3 = 1u << 9, sha = 1u << 29;  // CPUID leaf 1 ECX; leaf 7 EBX
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & sse_4_1) == 0 || (c & ssse_3) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & sha) != 0;
}

__attribute__((target("sha,sse4.1,ssse3"))) void sha256_blocks_by_instruction(Sha256State& state,
                                                                              const std::uint8_t* blocks,
                                                                              std::size_t count) {
  const auto load = [](const void* at) __attribute__((target("sha,sse4.1,ssse3"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
  };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions expect the words a, b, e, f in one register and c, d, g, h in the other.
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; --count, blocks += sha256_block_bytes) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];  // the latest sixteen words of the schedule
#pragma GCC unroll 16
    for (int group = 0; group < groups_of_rounds; ++group) {
      __m128i& now = words[group % 4];
      if (group < 4) {
        now = _mm_shuffle_epi8(load(blocks + std::ptrdiff_t{16} * group), big_endian);
      } else {
        const __m128i last = words[(group + 3) % 4], before_last = words[(group + 2) % 4];
        const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, words[(group + 1) % 4]),
                                          _mm_alignr_epi8(last, before_last, 4));
        now = _mm_sha256msg2_epu32(sum, last);
      }
      const __m128i added =
          _mm_add_epi32(now, load(sha256_round_constants.data() + std::ptrdiff_t{4} * group));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace crosscut
#else
namespace crosscut {

bool has_sha256_instructions() { return false; }

void sha256_blocks_by_instruction(Sha256State& state, const std::uint8_t* blocks, std::size_t count) {
  sha256_blocks_portable(state, blocks, count);
}

}  // namespace crosscut
#endif
