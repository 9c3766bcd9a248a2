// Attention over a cache of F16 by tensor cores.
#include "attend_tiles.cuh"

ATTEND_TILES_ALL(f16, F16)
