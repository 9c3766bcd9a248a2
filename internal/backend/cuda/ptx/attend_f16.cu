// Attention over a cache of F16, row by row.
#include "attend.cuh"

ATTEND_ALL(f16, F16)
