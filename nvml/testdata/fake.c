// A library that answers as libnvidia-ml does, from a script. For tests:
//
//	gcc -shared -fPIC -O1 -o libnvidia-ml.so.1 fake.c
//
// A symbol is left out, as an older library lacks it, by renaming it:
//
//	gcc … -DnvmlDeviceGetMemoryInfo_v2=absent_1
//
// The script is the file that the environment's PADDOCK_FAKE_NVML names, or
// fake_script; it is read anew at every call, so it can change at run time: write
// another file and rename it over this one. Without one there is a single device with
// the values below. A line is a key and its value; later lines win; # begins a
// comment. Lines of a device begin with "gpu N", or "gpu *" for all.
//
//	devices 1                       how many there are
//	driver 570.86.15                version text
//	cuda 12080                      1000 · major + 10 · minor
//	return FUNCTION CODE            all calls of FUNCTION answer CODE
//	block FUNCTION MS               they take so long first
//	hold FUNCTION PATH              they wait for as long as there is a file at PATH
//	claim N                         the count of devices is said to be N
//
//	gpu N hold FUNCTION PATH        as hold, of the device alone
//	gpu N claim N                   its lists are said to be so long, whatever the room
//	gpu N lost 1                    all calls for the device answer 15
//	gpu N return FUNCTION CODE      those of FUNCTION do
//	gpu N name TEXT                 Fake GPU
//	gpu N uuid TEXT                 GPU-fake-N
//	gpu N pci TEXT                  00000000:0N:00.0
//	gpu N capability MAJOR MINOR    9 0
//	gpu N mig 0|1                   unsupported
//	gpu N utilization GPU MEMORY    37 12; percent
//	gpu N memory_total BYTES        85899345920
//	gpu N memory_used BYTES         1073741824
//	gpu N memory_reserved BYTES     536870912; the older call counts it as used
//	gpu N temperature CELSIUS       45
//	gpu N power_mw MILLIWATTS       250000
//	gpu N power_limit_mw MILLIWATTS 700000; in force; set_limit_mw is the one set, 650000
//	gpu N energy_mj MILLIJOULES     1000000
//	gpu N sm_clock_mhz MHZ          1980
//	gpu N memory_clock_mhz MHZ      2619
//	gpu N pcie_rx_bytes BYTES       unsupported; the device's count, and pcie_tx_bytes
//	gpu N pcie_rx_kbs KB/S          1000; the rate, and pcie_tx_kbs, 500
//	gpu N ecc_corrected COUNT       0; over the lifetime; and ecc_uncorrected
//	gpu N ecc_corrected_volatile COUNT      0; since load; and ecc_uncorrected_volatile
//	gpu N fan PERCENT               unsupported
//	gpu N throttle BITS             1; 0x… is taken
//	gpu N compute PID BYTES         a process; a line for each; BYTES may be hidden
//	gpu N graphics PID BYTES
//	gpu N grow TIMES                so many answers that could give a list find it one longer
//	                                than its room, by processes 900000, 900001, … of 1 MiB
//
// A value "unsupported" makes the call answer 3. fake_calls counts the calls of a
// function ("*": all), fake_threads the threads that they came from.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	INSUFFICIENT_SIZE = 7,
	GPU_IS_LOST = 15,
	ARGUMENT_VERSION_MISMATCH = 25,
};

enum { MOST_DEVICES = 64, MOST_NAMES = 64, MOST_THREADS = 64 };

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t;

// --- state that the script doesn't hold ----------------------------------------------

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[4096];
static int initialised;     // calls of nvmlInit that are not undone
static uintptr_t generation; // of handles: old ones are refused
static unsigned grown[MOST_DEVICES];
static struct {
	char name[64];
	uint64_t calls;
} counts[MOST_NAMES];
static pthread_t threads[MOST_THREADS];
static unsigned thread_count;

void fake_script(const char *p) {
	pthread_mutex_lock(&lock);
	snprintf(path, sizeof path, "%s", p);
	pthread_mutex_unlock(&lock);
}

uint64_t fake_calls(const char *name) {
	uint64_t n = 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MOST_NAMES; i++)
		if (!strcmp(name, "*") || !strcmp(name, counts[i].name))
			n += counts[i].calls;
	pthread_mutex_unlock(&lock);
	return n;
}

uint64_t fake_threads(void) {
	pthread_mutex_lock(&lock);
	uint64_t n = thread_count;
	pthread_mutex_unlock(&lock);
	return n;
}

static void count(const char *function) {
	for (int i = 0; i < MOST_NAMES; i++) {
		if (counts[i].name[0] && strcmp(counts[i].name, function))
			continue;
		snprintf(counts[i].name, sizeof counts[i].name, "%s", function);
		counts[i].calls++;
		break;
	}
	for (unsigned i = 0; i < thread_count; i++)
		if (pthread_equal(threads[i], pthread_self()))
			return;
	if (thread_count < MOST_THREADS)
		threads[thread_count++] = pthread_self();
}

// --- the script ------------------------------------------------------------------------

// The text that the call in progress on this thread sees.
static __thread char script[1 << 16];

static void read_script(void) {
	const char *from = path[0] ? path : getenv("PADDOCK_FAKE_NVML");
	script[0] = 0;
	if (!from)
		return;
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	size_t n = 0;
	ssize_t got;
	while (n < sizeof script - 1 && ((got = read(fd, script + n, sizeof script - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
		n += got > 0 ? got : 0;
	close(fd);
	script[n] = 0;
}

// next_line copies the line at *at without its comment, and steps over it.
static int next_line(const char **at, char *line, size_t size) {
	if (!**at)
		return 0;
	size_t n = strcspn(*at, "\n");
	snprintf(line, size, "%.*s", (int)(n < size ? n : size - 1), *at);
	line[strcspn(line, "#")] = 0;
	for (size_t l = strlen(line); l > 0 && (line[l - 1] == ' ' || line[l - 1] == '\t' || line[l - 1] == '\r'); l--)
		line[l - 1] = 0;
	*at += n + ((*at)[n] == '\n');
	return 1;
}

// value_of gives what follows key on a line, if it is one of the device's (gpu -1: of none).
static char *value_of(char *line, int gpu, const char *key) {
	char *at = line + strspn(line, " \t");
	if (gpu >= 0) {
		int n = 0, number;
		if (sscanf(at, "gpu * %n", &n) != 0 || n == 0) {
			n = 0;
			if (sscanf(at, "gpu %d %n", &number, &n) != 1 || n == 0 || number != gpu)
				return NULL;
		}
		at += n;
	}
	size_t l = strlen(key);
	if (strncmp(at, key, l) || (at[l] != ' ' && at[l] != '\t'))
		return NULL;
	at += l;
	return at + strspn(at, " \t");
}

// text is the last value of key, or the given one.
static const char *text(int gpu, const char *key, const char *otherwise) {
	static __thread char found[512];
	char line[512];
	int any = 0;
	for (const char *at = script; next_line(&at, line, sizeof line);) {
		char *v = value_of(line, gpu, key);
		if (v) {
			snprintf(found, sizeof found, "%s", v);
			any = 1;
		}
	}
	return any ? found : otherwise;
}

// number is text as a number; the code is 3 where the script says unsupported.
static nvmlReturn_t number(int gpu, const char *key, const char *otherwise, uint64_t *to) {
	const char *v = text(gpu, key, otherwise);
	if (!strcmp(v, "unsupported"))
		return NOT_SUPPORTED;
	*to = strtoull(v, NULL, 0);
	return SUCCESS;
}

static nvmlReturn_t number32(int gpu, const char *key, const char *otherwise, unsigned *to) {
	uint64_t v = 0;
	nvmlReturn_t c = number(gpu, key, otherwise, &v);
	if (c == SUCCESS)
		*to = (unsigned)v;
	return c;
}

static unsigned devices(void) {
	uint64_t n = 0;
	number(-1, "devices", "1", &n);
	return n < MOST_DEVICES ? n : MOST_DEVICES;
}

static void sleep_ms(uint64_t ms) {
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

// enter is the beginning of every call: what the script has for it.
static nvmlReturn_t enter(const char *function, int gpu, int needs_init) {
	char key[128];
	uint64_t v = 0;
	pthread_mutex_lock(&lock);
	count(function);
	int ready = initialised;
	read_script();
	pthread_mutex_unlock(&lock);
	snprintf(key, sizeof key, "block %s", function);
	number(-1, key, "0", &v);
	if (v)
		sleep_ms(v);
	snprintf(key, sizeof key, "hold %s", function);
	const char *held = text(-1, key, "");
	if (!*held && gpu >= 0)
		held = text(gpu, key, "");
	while (*held && !access(held, F_OK))
		sleep_ms(5);
	if (needs_init && !ready)
		return UNINITIALIZED;
	snprintf(key, sizeof key, "return %s", function);
	v = 0;
	number(-1, key, "0", &v);
	if (v)
		return v;
	if (gpu >= 0) {
		if (number(gpu, "lost", "0", &v), v)
			return GPU_IS_LOST;
		number(gpu, key, "0", &v);
	}
	return v;
}

// index_of is the device of a handle, -1 for one of before the last nvmlInit.
static int index_of(nvmlDevice_t d) {
	uintptr_t h = (uintptr_t)d;
	return h >> 8 == generation && (h & 255) < MOST_DEVICES ? (int)(h & 255) : -1;
}

#define ENTER(d)                                        \
	int gpu = index_of(d);                          \
	if (gpu < 0)                                    \
		return INVALID_ARGUMENT;                \
	nvmlReturn_t code = enter(__func__, gpu, 1);    \
	if (code)                                       \
		return code

// --- the interface -----------------------------------------------------------------------

nvmlReturn_t nvmlInit_v2(void) {
	nvmlReturn_t code = enter("nvmlInit_v2", -1, 0);
	if (code)
		return code;
	pthread_mutex_lock(&lock);
	if (!initialised++) {
		generation++;
		memset(grown, 0, sizeof grown);
	}
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

nvmlReturn_t nvmlInit(void) { return nvmlInit_v2(); }

nvmlReturn_t nvmlShutdown(void) {
	nvmlReturn_t code = enter("nvmlShutdown", -1, 1);
	if (code)
		return code;
	pthread_mutex_lock(&lock);
	initialised--;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

static nvmlReturn_t copy(char *to, unsigned size, const char *from) {
	if (strlen(from) >= size)
		return INSUFFICIENT_SIZE;
	strcpy(to, from);
	return SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned size) {
	nvmlReturn_t code = enter(__func__, -1, 1);
	return code ? code : copy(to, size, text(-1, "driver", "570.86.15"));
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *to) {
	nvmlReturn_t code = enter(__func__, -1, 1);
	return code ? code : number32(-1, "cuda", "12080", (unsigned *)to);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *to) {
	nvmlReturn_t code = enter(__func__, -1, 1);
	if (code)
		return code;
	const char *claimed = text(-1, "claim", "");
	*to = *claimed ? strtoul(claimed, NULL, 0) : devices();
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *to) {
	nvmlReturn_t code = enter(__func__, index, 1);
	if (code)
		return code;
	if (index >= devices())
		return INVALID_ARGUMENT;
	*to = (nvmlDevice_t)(generation << 8 | index);
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned size) {
	ENTER(d);
	return copy(to, size, text(gpu, "name", "Fake GPU"));
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned size) {
	ENTER(d);
	char otherwise[32];
	snprintf(otherwise, sizeof otherwise, "GPU-fake-%d", gpu);
	return copy(to, size, text(gpu, "uuid", otherwise));
}

struct pci_v2 {
	char busId[16];
	unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
};

struct pci_v3 {
	struct pci_v2 old;
	char busId[32];
};

_Static_assert(sizeof(struct pci_v3) == 68, "layout");

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, struct pci_v2 *to) {
	ENTER(d);
	snprintf(to->busId, sizeof to->busId, "0000:%02X:00.0", gpu & 0xffu);
	to->bus = gpu;
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, struct pci_v3 *to) {
	ENTER(d);
	char otherwise[32];
	snprintf(otherwise, sizeof otherwise, "00000000:%02X:00.0", gpu & 0xffu);
	snprintf(to->old.busId, sizeof to->old.busId, "0000:%02X:00.0", gpu & 0xffu);
	to->old.bus = gpu;
	return copy(to->busId, sizeof to->busId, text(gpu, "pci", otherwise));
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) {
	ENTER(d);
	return sscanf(text(gpu, "capability", "9 0"), "%d %d", major, minor) == 2 ? SUCCESS : NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *current, unsigned *pending) {
	ENTER(d);
	*pending = 0;
	return number32(gpu, "mig", "unsupported", current);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, unsigned to[2]) {
	ENTER(d);
	return sscanf(text(gpu, "utilization", "37 12"), "%u %u", &to[0], &to[1]) == 2 ? SUCCESS : NOT_SUPPORTED;
}

struct memory {
	uint64_t total, reserved, free, used;
};

static nvmlReturn_t memory(int gpu, struct memory *m) {
	nvmlReturn_t c;
	if ((c = number(gpu, "memory_total", "85899345920", &m->total)) ||
	    (c = number(gpu, "memory_used", "1073741824", &m->used)) ||
	    (c = number(gpu, "memory_reserved", "536870912", &m->reserved)))
		return c;
	m->free = m->total - m->used - m->reserved;
	return SUCCESS;
}

struct memory_v2 {
	unsigned version;
	struct memory m;
};

_Static_assert(sizeof(struct memory_v2) == 40, "layout");

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, struct memory_v2 *to) {
	ENTER(d);
	if (to->version != (sizeof *to | 2 << 24))
		return ARGUMENT_VERSION_MISMATCH;
	return memory(gpu, &to->m);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, uint64_t to[3]) {
	ENTER(d);
	struct memory m;
	if ((code = memory(gpu, &m)))
		return code;
	to[0] = m.total;
	to[1] = m.free;
	to[2] = m.used + m.reserved;
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, unsigned sensor, unsigned *to) {
	ENTER(d);
	return sensor ? INVALID_ARGUMENT : number32(gpu, "temperature", "45", to);
}

struct temperature_v1 {
	unsigned version, sensor;
	int celsius;
};

_Static_assert(sizeof(struct temperature_v1) == 12, "layout");

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, struct temperature_v1 *to) {
	ENTER(d);
	if (to->version != (sizeof *to | 1 << 24))
		return ARGUMENT_VERSION_MISMATCH;
	return to->sensor ? INVALID_ARGUMENT : number32(gpu, "temperature", "45", (unsigned *)&to->celsius);
}

#define NUMBER(function, type, ask, key, otherwise)          \
	nvmlReturn_t function(nvmlDevice_t d, type *to) {    \
		ENTER(d);                                    \
		return ask(gpu, key, otherwise, to);         \
	}

NUMBER(nvmlDeviceGetPowerUsage, unsigned, number32, "power_mw", "250000")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, number32, "power_limit_mw", "700000")
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, number32, "set_limit_mw", "650000")
NUMBER(nvmlDeviceGetTotalEnergyConsumption, uint64_t, number, "energy_mj", "1000000")
NUMBER(nvmlDeviceGetFanSpeed, unsigned, number32, "fan", "unsupported")
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, uint64_t, number, "throttle", "1")
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, uint64_t, number, "throttle", "1")

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, unsigned which, unsigned *to) {
	ENTER(d);
	switch (which) {
	case 1:
		return number32(gpu, "sm_clock_mhz", "1980", to);
	case 2:
		return number32(gpu, "memory_clock_mhz", "2619", to);
	}
	return INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t d, unsigned which, unsigned *to) {
	ENTER(d);
	return which ? number32(gpu, "pcie_rx_kbs", "1000", to) : number32(gpu, "pcie_tx_kbs", "500", to);
}

struct field {
	unsigned id, scope;
	int64_t timestamp, latency;
	unsigned type;
	nvmlReturn_t code;
	uint64_t value;
};

_Static_assert(sizeof(struct field) == 40, "layout");

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, struct field *f) {
	ENTER(d);
	for (int i = 0; i < n; i++) {
		f[i].type = 3;
		f[i].code = f[i].id == 197   ? number(gpu, "pcie_tx_bytes", "unsupported", &f[i].value)
			    : f[i].id == 198 ? number(gpu, "pcie_rx_bytes", "unsupported", &f[i].value)
					     : INVALID_ARGUMENT;
	}
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, unsigned kind, unsigned over, uint64_t *to) {
	ENTER(d);
	static const char *const keys[2][2] = {
		{"ecc_corrected_volatile", "ecc_corrected"},
		{"ecc_uncorrected_volatile", "ecc_uncorrected"},
	};
	return kind > 1 || over > 1 ? INVALID_ARGUMENT : number(gpu, keys[kind][over], "0", to);
}

// --- processes -----------------------------------------------------------------------------

struct process_v1 {
	unsigned pid;
	uint64_t memory;
};

struct process_v2 {
	unsigned pid;
	uint64_t memory;
	unsigned instance, computes;
};

_Static_assert(sizeof(struct process_v1) == 16 && sizeof(struct process_v2) == 24, "layout");

// list gives the processes in entries of the size, of which only the newer have more
// than the first two fields.
static nvmlReturn_t list(int gpu, const char *key, unsigned *n, char *to, size_t size) {
	unsigned room = *n, at = 0;
	uint64_t grow = 0;
	char line[512];
	uint64_t claimed = 0;
	number(gpu, "grow", "0", &grow);
	number(gpu, "claim", "0", &claimed);
	if (claimed) {
		*n = claimed;
		return INSUFFICIENT_SIZE;
	}
	unsigned more = grown[gpu], longest = 0;
	for (const char *p = script; next_line(&p, line, sizeof line);)
		longest += value_of(line, gpu, key) != NULL;
	longest += more;
	if (to && room >= longest && grown[gpu] < grow) { // it could be given, but for those that just began
		grown[gpu]++;
		*n = room + 1;
		return INSUFFICIENT_SIZE;
	}
	if (longest > 0 && (!to || room < longest)) {
		*n = longest;
		return INSUFFICIENT_SIZE;
	}
	for (const char *p = script; next_line(&p, line, sizeof line);) {
		char *v = value_of(line, gpu, key);
		if (!v)
			continue;
		struct process_v2 *e = (struct process_v2 *)(to + size * at++);
		char *end;
		e->pid = strtoul(v, &end, 10);
		end += strspn(end, " \t");
		e->memory = strcmp(end, "hidden") ? strtoull(end, NULL, 0) : ~0ull;
	}
	for (unsigned i = 0; i < more; i++) {
		struct process_v2 *e = (struct process_v2 *)(to + size * at++);
		e->pid = 900000 + i;
		e->memory = 1 << 20;
	}
	if (size == sizeof(struct process_v2))
		for (unsigned i = 0; i < at; i++)
			((struct process_v2 *)to)[i].instance = ((struct process_v2 *)to)[i].computes = ~0u;
	*n = at;
	return SUCCESS;
}

#define LIST(function, key, layout)                                              \
	nvmlReturn_t function(nvmlDevice_t d, unsigned *n, struct layout *to) {  \
		ENTER(d);                                                        \
		return list(gpu, key, n, (char *)to, sizeof *to);                \
	}

LIST(nvmlDeviceGetComputeRunningProcesses, "compute", process_v1)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, "compute", process_v2)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, "compute", process_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses, "graphics", process_v1)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics", process_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics", process_v2)
