// Attention over a cache of F32, row by row.
#include "attend.cuh"

ATTEND_ALL(f32, F32)
