package driver

import "unsafe"

// Library binds the driver's functions by name. It may be used by several goroutines
// at once, Close excepted.
type Library interface {
	// Bind sets the func that fn points to, a field of a Table or a Hot, to the
	// function of exactly this name. What it sets for a Hot belongs to one goroutine
	// at a time.
	Bind(symbol string, fn any) error
	// Name says which library it is.
	Name() string
	Close() error
}

// Table are the functions that are called seldom, each named as its symbol less "cu"
// and a suffix. They may be called by several goroutines at once, of which each is
// locked to its thread and has made a context current. Pointers are only used during
// the call, but for memory of MemHostAlloc.
type Table struct {
	Init             func(flags uint32) Result
	DriverGetVersion func(version *int32) Result
	GetErrorName     func(code Result, text **byte) Result
	GetErrorString   func(code Result, text **byte) Result

	DeviceGetCount     func(count *int32) Result
	DeviceGet          func(device *Device, ordinal int32) Result
	DeviceGetName      func(name *byte, size int32, device Device) Result
	DeviceGetAttribute func(value *int32, attribute Attribute, device Device) Result
	DeviceTotalMem     func(bytes *uint64, device Device) Result
	DeviceGetUuid      func(uuid *[16]byte, device Device) Result

	DevicePrimaryCtxRetain  func(context *Context, device Device) Result
	DevicePrimaryCtxRelease func(device Device) Result
	CtxSetCurrent           func(context Context) Result

	// ModuleLoadDataEx takes PTX that ends in a zero byte.
	ModuleLoadDataEx  func(module *Module, image *byte, options uint32, option *JITOption, value *uintptr) Result
	ModuleUnload      func(module Module) Result
	ModuleGetFunction func(function *Function, module Module, name *byte) Result
	FuncGetAttribute  func(value *int32, attribute FuncAttribute, function Function) Result
	FuncSetAttribute  func(function Function, attribute FuncAttribute, value int32) Result

	MemAlloc     func(at *DevicePtr, bytes uint64) Result
	MemFree      func(at DevicePtr) Result
	MemGetInfo   func(free, total *uint64) Result
	MemHostAlloc func(at *unsafe.Pointer, bytes uint64, flags uint32) Result
	MemFreeHost  func(at unsafe.Pointer) Result

	StreamCreate       func(stream *Stream, flags uint32) Result
	StreamDestroy      func(stream Stream) Result
	StreamBeginCapture func(stream Stream, mode uint32) Result
	StreamEndCapture   func(stream Stream, graph *Graph) Result
	EventCreate        func(event *Event, flags uint32) Result
	EventDestroy       func(event Event) Result
	EventElapsedTime   func(milliseconds *float32, from, to Event) Result

	GraphInstantiate func(exec *GraphExec, graph Graph, flags uint64) Result
	GraphExecDestroy func(exec GraphExec) Result
	GraphDestroy     func(graph Graph) Result
}

// Hot are the functions that a step calls. They allocate nothing and take no pointer
// to Go memory that may move: what they are given is memory of MemHostAlloc, or
// pinned. A Hot belongs to one goroutine at a time, locked to its thread.
type Hot struct {
	MemcpyHtoDAsync func(to DevicePtr, from unsafe.Pointer, bytes uint64, stream Stream) Result
	MemcpyDtoHAsync func(to unsafe.Pointer, from DevicePtr, bytes uint64, stream Stream) Result
	MemcpyDtoDAsync func(to, from DevicePtr, bytes uint64, stream Stream) Result
	MemsetD8Async   func(at DevicePtr, value uint8, bytes uint64, stream Stream) Result

	// LaunchKernel: params points to one pointer for each parameter, each to its
	// value; extra is nil.
	LaunchKernel func(function Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, stream Stream,
		params, extra *unsafe.Pointer) Result
	GraphLaunch func(exec GraphExec, stream Stream) Result

	StreamSynchronize func(stream Stream) Result
	EventRecord       func(event Event, stream Stream) Result
	EventSynchronize  func(event Event) Result
}

// symbol is a function's exact name, and where it goes.
type symbol struct {
	name string
	fn   any
}

// base are those that every driver has.
func (t *Table) base() []symbol {
	return []symbol{
		{"cuInit", &t.Init},
		{"cuDriverGetVersion", &t.DriverGetVersion},
		{"cuGetErrorName", &t.GetErrorName},
		{"cuGetErrorString", &t.GetErrorString},
	}
}

func (t *Table) symbols() []symbol {
	return append(t.base(), []symbol{
		{"cuDeviceGetCount", &t.DeviceGetCount},
		{"cuDeviceGet", &t.DeviceGet},
		{"cuDeviceGetName", &t.DeviceGetName},
		{"cuDeviceGetAttribute", &t.DeviceGetAttribute},
		{"cuDeviceTotalMem_v2", &t.DeviceTotalMem},
		{"cuDeviceGetUuid_v2", &t.DeviceGetUuid},
		{"cuDevicePrimaryCtxRetain", &t.DevicePrimaryCtxRetain},
		{"cuDevicePrimaryCtxRelease_v2", &t.DevicePrimaryCtxRelease},
		{"cuCtxSetCurrent", &t.CtxSetCurrent},
		{"cuModuleLoadDataEx", &t.ModuleLoadDataEx},
		{"cuModuleUnload", &t.ModuleUnload},
		{"cuModuleGetFunction", &t.ModuleGetFunction},
		{"cuFuncGetAttribute", &t.FuncGetAttribute},
		{"cuFuncSetAttribute", &t.FuncSetAttribute},
		{"cuMemAlloc_v2", &t.MemAlloc},
		{"cuMemFree_v2", &t.MemFree},
		{"cuMemGetInfo_v2", &t.MemGetInfo},
		{"cuMemHostAlloc", &t.MemHostAlloc},
		{"cuMemFreeHost", &t.MemFreeHost},
		{"cuStreamCreate", &t.StreamCreate},
		{"cuStreamDestroy_v2", &t.StreamDestroy},
		{"cuStreamBeginCapture_v2", &t.StreamBeginCapture},
		{"cuStreamEndCapture", &t.StreamEndCapture},
		{"cuEventCreate", &t.EventCreate},
		{"cuEventDestroy_v2", &t.EventDestroy},
		{"cuEventElapsedTime", &t.EventElapsedTime},
		{"cuGraphInstantiateWithFlags", &t.GraphInstantiate},
		{"cuGraphExecDestroy", &t.GraphExecDestroy},
		{"cuGraphDestroy", &t.GraphDestroy},
	}...)
}

func (h *Hot) symbols() []symbol {
	return []symbol{
		{"cuMemcpyHtoDAsync_v2", &h.MemcpyHtoDAsync},
		{"cuMemcpyDtoHAsync_v2", &h.MemcpyDtoHAsync},
		{"cuMemcpyDtoDAsync_v2", &h.MemcpyDtoDAsync},
		{"cuMemsetD8Async", &h.MemsetD8Async},
		{"cuLaunchKernel", &h.LaunchKernel},
		{"cuGraphLaunch", &h.GraphLaunch},
		{"cuStreamSynchronize", &h.StreamSynchronize},
		{"cuEventRecord", &h.EventRecord},
		{"cuEventSynchronize", &h.EventSynchronize},
	}
}

func bind(l Library, list []symbol) error {
	for _, s := range list {
		if err := l.Bind(s.name, s.fn); err != nil {
			return err
		}
	}
	return nil
}
