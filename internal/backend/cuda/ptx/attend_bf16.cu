// Attention over a cache of BF16, row by row.
#include "attend.cuh"

ATTEND_FEW(bf16, BF16)
ATTEND_MANY_WIDE(bf16, BF16)
