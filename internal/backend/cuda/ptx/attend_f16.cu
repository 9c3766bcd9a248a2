// Attention over a cache of F16, row by row.
#include "attend.cuh"

ATTEND_FEW(f16, F16)
ATTEND_MANY_WIDE(f16, F16)
