package fakedriver

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
)

// module is PTX that was loaded.
type module struct{ text *ptxsim.Module }

// function is a kernel of a module.
type function struct {
	module  driver.Module
	kernel  *ptxsim.Kernel
	dynamic int    // most dynamic shared memory of a launch
	runs    *int64 // of all kernels of this name
}

// maxText bounds what is read of a C string: no kernel's text is as long.
const maxText = 64 << 20

// cString is the text at p up to its zero byte.
func cString(p *byte) string {
	n := 0
	for n < maxText && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

func (d *Driver) moduleLoadDataEx(m *driver.Module, image *byte, count uint32, options *driver.JITOption, values *uintptr) driver.Result {
	if r := d.enter(cuModuleLoadDataEx); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if m == nil || image == nil || count > 0 && (options == nil || values == nil) {
		return driver.InvalidValue
	}
	logs := newJITLogs(unsafe.Slice(options, count), unsafe.Slice(values, count))
	if logs == nil {
		return driver.InvalidValue
	}
	text, err := ptxsim.Parse(cString(image))
	if err != nil {
		logs.write(driver.JITErrorLog, "fake ptxas error   : "+err.Error())
		return driver.InvalidPTX
	}
	if v, most := number(text.Version()), d.ptxVersion(); v > most {
		logs.write(driver.JITErrorLog, fmt.Sprintf("fake ptxas fatal   : PTX version %s is newer than the driver's %d.%d", text.Version(), most/10, most%10))
		return unsupportedVersion
	}
	if arch := strings.TrimPrefix(text.Target(), "sm_"); number(arch) > d.card.Major*10+d.card.Minor {
		return noBinary
	}
	if !d.mem.take(ofModule) {
		return driver.OutOfMemory
	}
	logs.write(driver.JITInfoLog, "fake ptxas info    : 0 bytes gmem")
	*m = driver.Module(d.handle())
	d.modules[*m] = &module{text}
	return driver.Success
}

// ptxVersion is the newest PTX that the driver reads, times 10: CUDA 11.0 brought 7.0,
// 12.0 brought 8.0, and each minor version one more.
func (d *Driver) ptxVersion() int {
	return (d.opts.Version/1000-4)*10 + d.opts.Version%1000/10
}

// number is a version without its point.
func number(s string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(s, ".", ""))
	if err != nil {
		return 0
	}
	return n
}

// jitLogs are the buffers for the compiler's messages.
type jitLogs struct {
	buffer map[driver.JITOption]*byte
	bytes  map[driver.JITOption]*uintptr // by the option of the buffer
}

// newJITLogs reads the options; nil where one is not known.
func newJITLogs(options []driver.JITOption, values []uintptr) *jitLogs {
	l := &jitLogs{map[driver.JITOption]*byte{}, map[driver.JITOption]*uintptr{}}
	for i, o := range options {
		switch o {
		case driver.JITInfoLog, driver.JITErrorLog:
			l.buffer[o] = *(**byte)(unsafe.Pointer(&values[i])) // an address among words
		case driver.JITInfoLogBytes, driver.JITErrorLogBytes:
			l.bytes[o-1] = &values[i]
		default:
			return nil
		}
	}
	for o := range l.buffer {
		if l.bytes[o] == nil {
			return nil
		}
	}
	return l
}

// write fills a buffer as far as it goes, and says how much it is.
func (l *jitLogs) write(o driver.JITOption, text string) {
	at, size := l.buffer[o], l.bytes[o]
	if at == nil || *size == 0 {
		return
	}
	to := unsafe.Slice(at, *size)
	n := copy(to[:len(to)-1], text)
	to[n] = 0
	*size = uintptr(n + 1)
}

func (d *Driver) moduleUnload(m driver.Module) driver.Result {
	if r := d.enter(cuModuleUnload); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if d.modules[m] == nil {
		return invalidHandle
	}
	if d.queued(func(t *task) bool { return t.kind == launch && t.fn.module == m }) {
		return d.fail(illegalAddress, errEarlyUnload)
	}
	delete(d.modules, m)
	d.mem.giveBack(ofModule)
	for h, f := range d.funcs {
		if f.module == m {
			delete(d.funcs, h)
		}
	}
	return driver.Success
}

func (d *Driver) moduleGetFunction(fn *driver.Function, m driver.Module, name *byte) driver.Result {
	if r := d.enter(cuModuleGetFunction); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	mod := d.modules[m]
	switch {
	case mod == nil:
		return invalidHandle
	case fn == nil || name == nil:
		return driver.InvalidValue
	}
	k := mod.text.Kernel(cString(name))
	if k == nil {
		return driver.NotFound
	}
	*fn = driver.Function(d.handle())
	if d.launches[k.Name] == nil {
		d.launches[k.Name] = new(int64)
	}
	d.funcs[*fn] = &function{module: m, kernel: k, dynamic: max(0, maxShared-k.SharedBytes), runs: d.launches[k.Name]}
	return driver.Success
}

// mostRegisters is what a card can give a thread.
const mostRegisters = 255

func (d *Driver) funcGetAttribute(value *int32, attribute driver.FuncAttribute, fn driver.Function) driver.Result {
	if r := d.enter(cuFuncGetAttribute); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	f := d.funcs[fn]
	if f == nil {
		return invalidHandle
	}
	switch attribute {
	case driver.FuncMaxThreads:
		*value = int32(f.threads())
	case driver.FuncShared:
		*value = int32(f.kernel.SharedBytes)
	case driver.FuncLocal:
		*value = int32(f.kernel.LocalBytes)
	case driver.FuncRegisters:
		*value = int32(min(f.kernel.Live, mostRegisters)) // a compiler needs about as many
	case driver.FuncMaxDynamic:
		*value = int32(f.dynamic)
	default:
		return driver.InvalidValue
	}
	return driver.Success
}

func (f *function) threads() int {
	if f.kernel.MaxThreads > 0 {
		return min(f.kernel.MaxThreads, maxThreads)
	}
	return maxThreads
}

func (d *Driver) funcSetAttribute(fn driver.Function, attribute driver.FuncAttribute, value int32) driver.Result {
	if r := d.enter(cuFuncSetAttribute); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	f := d.funcs[fn]
	if f == nil {
		return invalidHandle
	}
	if attribute != driver.FuncMaxDynamic || value < 0 || int(value)+f.kernel.SharedBytes > d.card.SharedOptin {
		return driver.InvalidValue
	}
	f.dynamic = int(value)
	return driver.Success
}

func (d *Driver) launchKernel(fn driver.Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, st driver.Stream, params, extra *unsafe.Pointer) driver.Result {
	if r := d.enter(cuLaunchKernel); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	f := d.funcs[fn]
	if f == nil {
		return invalidHandle
	}
	s, r := d.stream(st)
	if r != driver.Success {
		return r
	}
	threads := uint64(blockX) * uint64(blockY) * uint64(blockZ)
	switch {
	case gridX == 0 || gridY == 0 || gridZ == 0 || gridX > maxGridX || gridY > maxGridYZ || gridZ > maxGridYZ,
		threads == 0 || blockX > maxThreads || blockY > maxThreads || blockZ > maxBlockZ || threads > maxThreads,
		int64(shared) > int64(f.dynamic),
		extra != nil || params == nil && len(f.kernel.Params) > 0:
		return driver.InvalidValue
	case threads > uint64(f.threads()):
		return outOfResources
	}
	values := unsafe.Slice(params, len(f.kernel.Params))
	for _, v := range values {
		if v == nil {
			return driver.InvalidValue
		}
	}
	t := d.put(s, cuLaunchKernel)
	t.kind, t.fn, t.shared = launch, f, shared
	t.grid, t.block = [3]uint32{gridX, gridY, gridZ}, [3]uint32{blockX, blockY, blockZ}
	for i, p := range f.kernel.Params {
		for len(t.params) < p.Offset {
			t.params = append(t.params, 0)
		}
		t.params = append(t.params, unsafe.Slice((*byte)(values[i]), p.Size)...)
	}
	return d.placed(s)
}
