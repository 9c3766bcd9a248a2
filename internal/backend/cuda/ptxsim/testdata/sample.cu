// Kernels for the interpreter's tests, compiled as ../../ptx is:
// clang-16 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -O3 -S --cuda-feature=+ptx70
#define GLOBAL extern "C" __attribute__((global))
#define SHARED __attribute__((shared)) __attribute__((aligned(128)))
typedef unsigned int u32;
static __attribute__((device)) inline int tid() { return __nvvm_read_ptx_sreg_tid_x(); }
static __attribute__((device)) inline int block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
static __attribute__((device)) inline u32 at(const void *p) {
	u32 a;
	asm("{ .reg .u64 g; cvta.to.shared.u64 g, %1; cvt.u32.u64 %0, g; }" : "=r"(a) : "l"(p));
	return a;
}

// y[r] = scale[r] * sum over k of w[r][k] * x[k], signed bytes, a warp for each row.
GLOBAL void dot_rows(const int *w, const int *x, const float *scale, float *y, int words) {
	long row = (long)block() * 8 + tid() / 32;
	int lane = tid() & 31, sum = 0;
	for (int i = lane; i < words; i += 32)
		asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(w[row * words + i]), "r"(x[i]));
	for (int m = 16; m; m >>= 1) sum += __nvvm_shfl_sync_bfly_i32(0xffffffffu, sum, m, 31);
	if (lane == 0) y[row] = scale[row] * (float)sum;
}

// Softmax of a row per block of 128 threads, at most 1024 wide.
GLOBAL void softmax(float *x, int n) {
	SHARED float row[1024];
	SHARED float part[8];
	float m = -3.4e38f;
	x += (long)block() * n;
	for (int i = tid(); i < n; i += 128) m = __builtin_fmaxf(m, row[i] = x[i]);
	for (int k = 16; k; k >>= 1) m = __builtin_fmaxf(m, __nvvm_shfl_sync_bfly_f32(0xffffffffu, m, k, 31));
	if ((tid() & 31) == 0) part[tid() / 32] = m;
	__syncthreads();
	for (int i = 0; i < 4; i++) m = __builtin_fmaxf(m, part[i]);
	float s = 0;
	for (int i = tid(); i < n; i += 128) s += row[i] = __nvvm_ex2_approx_f((row[i] - m) * 1.4426950408889634f);
	for (int k = 16; k; k >>= 1) s += __nvvm_shfl_sync_bfly_f32(0xffffffffu, s, k, 31);
	if ((tid() & 31) == 0) part[4 + tid() / 32] = s;
	__syncthreads();
	s = part[4] + part[5] + part[6] + part[7];
	for (int i = tid(); i < n; i += 128) x[i] = row[i] / s;
}

// c[16][8] = a[16][k] * b[8][k], halves into floats, one warp, a copied two steps ahead.
GLOBAL void tile(const unsigned short *a, const unsigned short *b, float *c, int k) {
	SHARED unsigned short as[2][16][16];
	float d[4] = {0, 0, 0, 0};
	int lane = tid(), steps = k / 16;
	for (int s = 0; s < 2; s++) {
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&as[s][lane / 2][lane % 2 * 8])), "l"(a + (long)(lane / 2) * k + s * 16 + lane % 2 * 8) : "memory");
		asm volatile("cp.async.commit_group;" ::: "memory");
	}
	for (int s = 0; s < steps; s++) {
		asm volatile("cp.async.wait_group 1;" ::: "memory");
		__syncthreads();
		u32 r[4], q[2];
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(&as[s & 1][lane & 15][lane / 16 * 8])) : "memory");
		for (int i = 0; i < 2; i++) q[i] = *(const u32 *)(b + (long)(lane / 4) * k + s * 16 + i * 8 + lane % 4 * 2);
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(q[0]), "r"(q[1]));
		__syncthreads();
		if (s + 2 < steps)
			asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&as[s & 1][lane / 2][lane % 2 * 8])), "l"(a + (long)(lane / 2) * k + (s + 2) * 16 + lane % 2 * 8) : "memory");
		asm volatile("cp.async.commit_group;" ::: "memory");
	}
	for (int i = 0; i < 4; i++) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + (i & 1)] = d[i];
}

// Steps of the Collatz sequence: as divergent as code can be.
GLOBAL void collatz(u32 *n) {
	u32 v = n[tid()], s = 0;
	while (v != 1) {
		if (v & 1) v = 3 * v + 1;
		else v /= 2;
		s++;
	}
	n[tid()] = s;
}
