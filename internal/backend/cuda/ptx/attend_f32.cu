// Attention over a cache of F32, row by row.
#include "attend.cuh"

ATTEND_FEW(f32, F32)
ATTEND_MANY(f32, F32)
