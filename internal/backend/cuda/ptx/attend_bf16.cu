// Attention over a cache of BF16, row by row.
#include "attend.cuh"

ATTEND_ALL(bf16, BF16)
