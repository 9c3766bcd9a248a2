package driver

// Handles of the driver. Pointers of its own are words here: nothing looks inside.
type (
	Result    uint32  // CUresult
	Device    int32   // CUdevice
	Context   uintptr // CUcontext
	Module    uintptr // CUmodule
	Function  uintptr // CUfunction
	Stream    uintptr // CUstream
	Event     uintptr // CUevent
	Graph     uintptr // CUgraph
	GraphExec uintptr // CUgraphExec
	DevicePtr uint64  // CUdeviceptr
)

// Codes that a caller branches on.
const (
	Success       Result = 0
	InvalidValue  Result = 1
	OutOfMemory   Result = 2
	NoDevice      Result = 100
	InvalidPTX    Result = 218
	NotFound      Result = 500
	LaunchFailure Result = 719
)

// Attribute is a CUdevice_attribute.
type Attribute int32

// The attributes that are asked for.
const (
	MaxThreadsPerBlock     Attribute = 1
	MaxBlockX              Attribute = 2 // Y and Z follow
	MaxGridX               Attribute = 5 // Y and Z follow
	Multiprocessors        Attribute = 16
	Integrated             Attribute = 18 // shares the system's memory
	CapabilityMajor        Attribute = 75
	CapabilityMinor        Attribute = 76
	MaxSharedPerBlockOptin Attribute = 97
)

// FuncAttribute is a CUfunction_attribute.
type FuncAttribute int32

// The attributes that are asked for or set.
const (
	FuncMaxThreads FuncAttribute = 0 // of a block, as its registers allow
	FuncShared     FuncAttribute = 1 // static shared memory in bytes
	FuncLocal      FuncAttribute = 3 // local memory of a thread in bytes
	FuncRegisters  FuncAttribute = 4 // of a thread
	FuncMaxDynamic FuncAttribute = 8 // most dynamic shared memory of a launch; may be set
)

// JITOption is a CUjit_option. Sizes and flags are values in the place of a pointer.
type JITOption int32

// The options of cuModuleLoadDataEx that are used.
const (
	JITInfoLog       JITOption = 3 // buffer
	JITInfoLogBytes  JITOption = 4
	JITErrorLog      JITOption = 5 // buffer
	JITErrorLogBytes JITOption = 6
)

// Flags.
const (
	StreamNonBlocking  uint32 = 1 // no implicit order with the default stream
	EventBlocking      uint32 = 1 // a waiter sleeps
	EventNoTiming      uint32 = 2
	CaptureThreadLocal uint32 = 1 // only this thread may not do what breaks a capture
)
