// A driver library that writes down how it was called: what the Go side passes must
// arrive as the C declarations have it, 64 bits where they have 64.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void *handle;
typedef unsigned long long ptr;

static char calls[1 << 16];
static const char *failing = "";
static int failing_code, version = 12040;

static int note(const char *name, const char *format, ...) {
	size_t n = strlen(calls);
	n += snprintf(calls + n, sizeof calls - n, "%s", name);
	va_list args;
	va_start(args, format);
	n += vsnprintf(calls + n, sizeof calls - n, format, args);
	va_end(args);
	snprintf(calls + n, sizeof calls - n, "\n");
	return strcmp(name, failing) ? 0 : failing_code;
}

// What the tests ask and set.
const char *fake_calls(void) { return calls; }
void fake_reset(void) { calls[0] = 0; }
void fake_fail(const char *name, int code) {
	static char keep[64];
	snprintf(keep, sizeof keep, "%s", name);
	failing = keep, failing_code = code;
}
void fake_version(int v) { version = v; }

int cuInit(unsigned flags) { return note("cuInit", " %u", flags); }
int cuDriverGetVersion(int *v) { *v = version; return 0; }
int cuGetErrorName(int code, const char **s) { *s = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : 0; return *s ? 0 : 1; }
int cuGetErrorString(int code, const char **s) { *s = code == 2 ? "out of memory" : 0; return *s ? 0 : 1; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *d, int ordinal) { *d = 40 + ordinal; return note("cuDeviceGet", " %d", ordinal); }
int cuDeviceGetName(char *name, int size, int d) { snprintf(name, size, "Fake %d", d); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = 1000 * a + d; return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = 0x2300000000ull + d; return 0; }
int cuDeviceGetUuid_v2(unsigned char *u, int d) { for (int i = 0; i < 16; i++) u[i] = i * 16 + 1; (void)d; return 0; }
int cuDevicePrimaryCtxRetain(handle *c, int d) { *c = (handle)(0x7100000000 + d); return note("cuDevicePrimaryCtxRetain", " %d", d); }
int cuDevicePrimaryCtxRelease_v2(int d) { return note("cuDevicePrimaryCtxRelease_v2", " %d", d); }
int cuCtxSetCurrent(handle c) { return note("cuCtxSetCurrent", " %p", c); }
int cuModuleLoadDataEx(handle *m, const char *image, unsigned n, const int *options, void **values) {
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == 3) snprintf(values[i], (size_t)values[i + 1], "a remark");
		if (options[i] == 5) snprintf(values[i], (size_t)values[i + 1], "line 3: a fault");
	}
	*m = (handle)0x7200000001;
	return note("cuModuleLoadDataEx", " %s %u %d %d", image, n, options[0], options[3]);
}
int cuModuleUnload(handle m) { return note("cuModuleUnload", " %p", m); }
int cuModuleGetFunction(handle *f, handle m, const char *name) { *f = (handle)0x7300000001; return note("cuModuleGetFunction", " %p %s", m, name); }
int cuFuncGetAttribute(int *v, int a, handle f) { *v = 7; return note("cuFuncGetAttribute", " %d %p", a, f); }
int cuFuncSetAttribute(handle f, int a, int v) { return note("cuFuncSetAttribute", " %p %d %d", f, a, v); }
int cuMemAlloc_v2(ptr *p, size_t n) { *p = 0x7400000000; return note("cuMemAlloc_v2", " %zu", n); }
int cuMemFree_v2(ptr p) { return note("cuMemFree_v2", " %llx", p); }
int cuMemGetInfo_v2(size_t *free, size_t *all) { *free = 0x1100000000; *all = 0x2200000000; return 0; }
static char host[64];
int cuMemHostAlloc(void **p, size_t n, unsigned flags) { *p = host; return note("cuMemHostAlloc", " %zu %u", n, flags); }
int cuMemFreeHost(void *p) { return note("cuMemFreeHost", " %d", p == host); }
int cuMemcpyHtoDAsync_v2(ptr to, const void *from, size_t n, handle s) { return note("cuMemcpyHtoDAsync_v2", " %llx %d %zu %p", to, from == host, n, s); }
int cuMemcpyDtoHAsync_v2(void *to, ptr from, size_t n, handle s) { return note("cuMemcpyDtoHAsync_v2", " %d %llx %zu %p", to == host, from, n, s); }
int cuMemcpyDtoDAsync_v2(ptr to, ptr from, size_t n, handle s) { return note("cuMemcpyDtoDAsync_v2", " %llx %llx %zu %p", to, from, n, s); }
int cuMemsetD8Async(ptr p, unsigned char v, size_t n, handle s) { return note("cuMemsetD8Async", " %llx %d %zu %p", p, v, n, s); }
int cuStreamCreate(handle *s, unsigned flags) { *s = (handle)0x7500000001; return note("cuStreamCreate", " %u", flags); }
int cuStreamDestroy_v2(handle s) { return note("cuStreamDestroy_v2", " %p", s); }
int cuStreamSynchronize(handle s) { return note("cuStreamSynchronize", " %p", s); }
int cuStreamBeginCapture_v2(handle s, int mode) { return note("cuStreamBeginCapture_v2", " %p %d", s, mode); }
int cuStreamEndCapture(handle s, handle *g) { *g = (handle)0x7600000001; return note("cuStreamEndCapture", " %p", s); }
int cuEventCreate(handle *e, unsigned flags) { *e = (handle)0x7700000001; return note("cuEventCreate", " %u", flags); }
int cuEventDestroy_v2(handle e) { return note("cuEventDestroy_v2", " %p", e); }
int cuEventRecord(handle e, handle s) { return note("cuEventRecord", " %p %p", e, s); }
int cuEventSynchronize(handle e) { return note("cuEventSynchronize", " %p", e); }
int cuEventElapsedTime(float *ms, handle a, handle b) { *ms = 1.5f; return note("cuEventElapsedTime", " %p %p", a, b); }
int cuGraphInstantiateWithFlags(handle *x, handle g, unsigned long long flags) { *x = (handle)0x7800000001; return note("cuGraphInstantiateWithFlags", " %p %llu", g, flags); }
int cuGraphLaunch(handle x, handle s) { return note("cuGraphLaunch", " %p %p", x, s); }
int cuGraphExecDestroy(handle x) { return note("cuGraphExecDestroy", " %p", x); }
int cuGraphDestroy(handle g) { return note("cuGraphDestroy", " %p", g); }
int cuLaunchKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, handle s,
		void **params, void **extra) {
	return note("cuLaunchKernel", " %p %u %u %u %u %u %u %u %p %llx %d %p", f, gx, gy, gz, bx, by, bz, shared, s,
		*(ptr *)params[0], *(int *)params[1], (void *)extra);
}

// The names before _v2 are there too, as in the real library, with signatures of 32
// bits: nobody may call them.
int cuMemAlloc(unsigned *p, unsigned n) { *p = n; return note("cuMemAlloc", ""); }
int cuMemFree(unsigned p) { (void)p; return note("cuMemFree", ""); }
