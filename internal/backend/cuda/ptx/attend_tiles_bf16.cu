// Attention over a cache of BF16 by tensor cores.
#include "attend_tiles.cuh"

ATTEND_TILES_ALL(bf16, BF16)
