package fakedriver

import "github.com/paddock-go/paddock/internal/backend/cuda/driver"

// call is one function of the library.
type call int

const (
	cuInit call = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetAttribute
	cuDeviceTotalMem
	cuDeviceGetUuid
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxSetCurrent
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuFuncGetAttribute
	cuFuncSetAttribute
	cuMemAlloc
	cuMemFree
	cuMemGetInfo
	cuMemHostAlloc
	cuMemFreeHost
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemsetD8Async
	cuLaunchKernel
	cuStreamCreate
	cuStreamDestroy
	cuStreamSynchronize
	cuStreamQuery
	cuStreamWaitEvent
	cuStreamBeginCapture
	cuStreamEndCapture
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventQuery
	cuEventSynchronize
	cuEventElapsedTime
	cuGraphInstantiate
	cuGraphLaunch
	cuGraphExecDestroy
	cuGraphDestroy
	callCount
)

// need is what must hold before a function does anything.
type need uint8

const (
	start   need = 1 << iota // cuInit
	context                  // one that is current on the thread, and sound
	quiet                    // no capture that forbids it: allocations, waits
)

// calls are the functions' names and needs.
var calls = [callCount]struct {
	name string
	need need
}{
	cuInit:                    {"cuInit", 0},
	cuDriverGetVersion:        {"cuDriverGetVersion", 0},
	cuGetErrorName:            {"cuGetErrorName", 0},
	cuGetErrorString:          {"cuGetErrorString", 0},
	cuDeviceGetCount:          {"cuDeviceGetCount", start},
	cuDeviceGet:               {"cuDeviceGet", start},
	cuDeviceGetName:           {"cuDeviceGetName", start},
	cuDeviceGetAttribute:      {"cuDeviceGetAttribute", start},
	cuDeviceTotalMem:          {"cuDeviceTotalMem_v2", start},
	cuDeviceGetUuid:           {"cuDeviceGetUuid_v2", start},
	cuDevicePrimaryCtxRetain:  {"cuDevicePrimaryCtxRetain", start},
	cuDevicePrimaryCtxRelease: {"cuDevicePrimaryCtxRelease_v2", start},
	cuCtxSetCurrent:           {"cuCtxSetCurrent", start},
	cuModuleLoadDataEx:        {"cuModuleLoadDataEx", start | context | quiet},
	cuModuleUnload:            {"cuModuleUnload", start | context | quiet},
	cuModuleGetFunction:       {"cuModuleGetFunction", start | context},
	cuFuncGetAttribute:        {"cuFuncGetAttribute", start | context},
	cuFuncSetAttribute:        {"cuFuncSetAttribute", start | context},
	cuMemAlloc:                {"cuMemAlloc_v2", start | context | quiet},
	cuMemFree:                 {"cuMemFree_v2", start | context | quiet},
	cuMemGetInfo:              {"cuMemGetInfo_v2", start | context},
	cuMemHostAlloc:            {"cuMemHostAlloc", start | context | quiet},
	cuMemFreeHost:             {"cuMemFreeHost", start | context | quiet},
	cuMemcpyHtoDAsync:         {"cuMemcpyHtoDAsync_v2", start | context},
	cuMemcpyDtoHAsync:         {"cuMemcpyDtoHAsync_v2", start | context},
	cuMemcpyDtoDAsync:         {"cuMemcpyDtoDAsync_v2", start | context},
	cuMemsetD8Async:           {"cuMemsetD8Async", start | context},
	cuLaunchKernel:            {"cuLaunchKernel", start | context},
	cuStreamCreate:            {"cuStreamCreate", start | context},
	cuStreamDestroy:           {"cuStreamDestroy_v2", start | context},
	cuStreamSynchronize:       {"cuStreamSynchronize", start | context | quiet},
	cuStreamQuery:             {"cuStreamQuery", start | context | quiet},
	cuStreamWaitEvent:         {"cuStreamWaitEvent", start | context},
	cuStreamBeginCapture:      {"cuStreamBeginCapture_v2", start | context},
	cuStreamEndCapture:        {"cuStreamEndCapture", start | context},
	cuEventCreate:             {"cuEventCreate", start | context},
	cuEventDestroy:            {"cuEventDestroy_v2", start | context},
	cuEventRecord:             {"cuEventRecord", start | context},
	cuEventQuery:              {"cuEventQuery", start | context | quiet},
	cuEventSynchronize:        {"cuEventSynchronize", start | context | quiet},
	cuEventElapsedTime:        {"cuEventElapsedTime", start | context},
	cuGraphInstantiate:        {"cuGraphInstantiateWithFlags", start | context},
	cuGraphLaunch:             {"cuGraphLaunch", start | context},
	cuGraphExecDestroy:        {"cuGraphExecDestroy", start | context},
	cuGraphDestroy:            {"cuGraphDestroy", start | context},
}

// functions are the typed functions by their symbols.
func (d *Driver) functions() map[string]any {
	f := [callCount]any{
		cuInit: d.init, cuDriverGetVersion: d.driverGetVersion, cuGetErrorName: d.getErrorName, cuGetErrorString: d.getErrorString,
		cuDeviceGetCount: d.deviceGetCount, cuDeviceGet: d.deviceGet, cuDeviceGetName: d.deviceGetName,
		cuDeviceGetAttribute: d.deviceGetAttribute, cuDeviceTotalMem: d.deviceTotalMem, cuDeviceGetUuid: d.deviceGetUUID,
		cuDevicePrimaryCtxRetain: d.primaryCtxRetain, cuDevicePrimaryCtxRelease: d.primaryCtxRelease, cuCtxSetCurrent: d.ctxSetCurrent,
		cuModuleLoadDataEx: d.moduleLoadDataEx, cuModuleUnload: d.moduleUnload, cuModuleGetFunction: d.moduleGetFunction,
		cuFuncGetAttribute: d.funcGetAttribute, cuFuncSetAttribute: d.funcSetAttribute,
		cuMemAlloc: d.memAlloc, cuMemFree: d.memFree, cuMemGetInfo: d.memGetInfo, cuMemHostAlloc: d.memHostAlloc, cuMemFreeHost: d.memFreeHost,
		cuMemcpyHtoDAsync: d.memcpyHtoDAsync, cuMemcpyDtoHAsync: d.memcpyDtoHAsync, cuMemcpyDtoDAsync: d.memcpyDtoDAsync,
		cuMemsetD8Async: d.memsetD8Async, cuLaunchKernel: d.launchKernel,
		cuStreamCreate: d.streamCreate, cuStreamDestroy: d.streamDestroy, cuStreamSynchronize: d.streamSynchronize,
		cuStreamQuery: d.streamQuery, cuStreamWaitEvent: d.streamWaitEvent,
		cuStreamBeginCapture: d.streamBeginCapture, cuStreamEndCapture: d.streamEndCapture,
		cuEventCreate: d.eventCreate, cuEventDestroy: d.eventDestroy, cuEventRecord: d.eventRecord, cuEventQuery: d.eventQuery,
		cuEventSynchronize: d.eventSynchronize, cuEventElapsedTime: d.eventElapsedTime,
		cuGraphInstantiate: d.graphInstantiate, cuGraphLaunch: d.graphLaunch, cuGraphExecDestroy: d.graphExecDestroy, cuGraphDestroy: d.graphDestroy,
	}
	out := make(map[string]any, callCount)
	for i, fn := range f {
		out[calls[i].name] = fn
	}
	return out
}

// enter begins a call: it takes the lock, counts, and checks what the function needs.
// Where it gives another code than success, the lock is free again and the call is
// over.
func (d *Driver) enter(c call) driver.Result {
	d.mu.Lock()
	r := d.admit(c)
	if r != driver.Success {
		d.mu.Unlock()
	}
	return r
}

func (d *Driver) admit(c call) driver.Result {
	d.counts[c]++
	d.proceed()
	need := calls[c].need
	if need&start != 0 && !d.started {
		return notInitialized
	}
	if need&context != 0 {
		if r := d.sound(); r != driver.Success {
			return r
		}
	}
	if need&quiet != 0 {
		if r := d.forbidden(); r != driver.Success {
			return r
		}
	}
	return d.scripted(c)
}
