// A library for the package's test.

#include <stdint.h>

static int64_t last[12];

int sample_negative(void) { return -7; }

uint64_t sample_sum(uint32_t a, const uint64_t *b, const char *text) {
	uint64_t n = a + *b;
	for (; *text; text++)
		n++;
	return n;
}

// Twelve arguments of which each must arrive in its place.
uint64_t sample_twelve(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
		       uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l) {
	uint64_t all[12] = {a, b, c, d, e, f, g, h, i, j, k, l}, n = 0;
	for (int at = 0; at < 12; at++) {
		last[at] = all[at];
		n += all[at] * (at + 1);
	}
	return n;
}

void sample_store(uint64_t *to, uint64_t value) { *to = value; }
