package nvml

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/dl"
)

// symbols are the library's functions that are used. An optional one that the
// library lacks is nil.
type symbols struct {
	initialize    func() Code
	shutdown      func() Code
	driverVersion func(text *byte, size uint32) Code
	cudaVersion   func(*int32) Code

	count         func(*uint32) Code
	byIndex       func(uint32, *handle) Code
	name          func(handle, *byte, uint32) Code
	uuid          func(handle, *byte, uint32) Code
	pciV3, pciV2  func(handle, *pciV3) Code
	capability    func(handle, *int32, *int32) Code
	migMode       func(handle, *uint32, *uint32) Code
	utilization   func(handle, *utilization) Code
	memoryV2      func(handle, *memoryV2) Code
	memoryV1      func(handle, *memoryV1) Code
	temperature   func(handle, uint32, *uint32) Code
	temperatureV  func(handle, *temperatureV1) Code
	power         func(handle, *uint32) Code
	enforcedLimit func(handle, *uint32) Code
	managedLimit  func(handle, *uint32) Code
	energy        func(handle, *uint64) Code
	clock         func(handle, uint32, *uint32) Code
	fields        func(handle, int32, *fieldValue) Code
	pcie          func(handle, uint32, *uint32) Code
	ecc           func(handle, uint32, uint32, *uint64) Code
	fan           func(handle, *uint32) Code
	throttle      func(handle, *uint64) Code

	// Lists of processes. The entries of one symbol's lists are processV2, the
	// other's processV1.
	compute, graphics     func(handle, *uint32, *processV2) Code
	computeV1, graphicsV1 func(handle, *uint32, *processV1) Code
}

// binding is where a symbol goes. Of several names the first that the library has is
// taken: newest first, all of one layout and meaning. Names that differ in those are
// rows of their own.
type binding struct {
	fptr     any
	required bool
	names    []string
}

func (s *symbols) bindings() []binding {
	return []binding{
		{&s.initialize, true, []string{"nvmlInit_v2", "nvmlInit"}},
		{&s.shutdown, true, []string{"nvmlShutdown"}},
		{&s.driverVersion, false, []string{"nvmlSystemGetDriverVersion"}},
		{&s.cudaVersion, false, []string{"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}},
		// The unversioned pair counts and numbers devices otherwise: no fallback.
		{&s.count, true, []string{"nvmlDeviceGetCount_v2"}},
		{&s.byIndex, true, []string{"nvmlDeviceGetHandleByIndex_v2"}},
		{&s.name, false, []string{"nvmlDeviceGetName"}},
		{&s.uuid, true, []string{"nvmlDeviceGetUUID"}},
		{&s.pciV3, false, []string{"nvmlDeviceGetPciInfo_v3"}},
		{&s.pciV2, false, []string{"nvmlDeviceGetPciInfo_v2"}},
		{&s.capability, false, []string{"nvmlDeviceGetCudaComputeCapability"}},
		{&s.migMode, false, []string{"nvmlDeviceGetMigMode"}},
		{&s.utilization, false, []string{"nvmlDeviceGetUtilizationRates"}},
		{&s.memoryV2, false, []string{"nvmlDeviceGetMemoryInfo_v2"}},
		{&s.memoryV1, false, []string{"nvmlDeviceGetMemoryInfo"}},
		{&s.temperature, false, []string{"nvmlDeviceGetTemperature"}},
		{&s.temperatureV, false, []string{"nvmlDeviceGetTemperatureV"}}, // of CUDA 13, which calls the other outdated
		{&s.power, false, []string{"nvmlDeviceGetPowerUsage"}},
		{&s.enforcedLimit, false, []string{"nvmlDeviceGetEnforcedPowerLimit"}},
		{&s.managedLimit, false, []string{"nvmlDeviceGetPowerManagementLimit"}},
		{&s.energy, false, []string{"nvmlDeviceGetTotalEnergyConsumption"}},
		{&s.clock, false, []string{"nvmlDeviceGetClockInfo"}},
		{&s.fields, false, []string{"nvmlDeviceGetFieldValues"}},
		{&s.pcie, false, []string{"nvmlDeviceGetPcieThroughput"}},
		{&s.ecc, false, []string{"nvmlDeviceGetTotalEccErrors"}},
		{&s.fan, false, []string{"nvmlDeviceGetFanSpeed"}},
		{&s.throttle, false, []string{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
		{&s.compute, false, []string{"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}},
		{&s.graphics, false, []string{"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"}},
		{&s.computeV1, false, []string{"nvmlDeviceGetComputeRunningProcesses"}},
		{&s.graphicsV1, false, []string{"nvmlDeviceGetGraphicsRunningProcesses"}},
	}
}

// bind looks every symbol up before it is bound.
func (s *symbols) bind(lib *dl.Library) error {
	for _, b := range s.bindings() {
		var err error
		for _, name := range b.names {
			if err = lib.Bind(name, b.fptr); err == nil {
				break
			}
		}
		if err != nil && b.required {
			return fmt.Errorf("not a library of this driver's interface: %w", err)
		}
	}
	return nil
}
