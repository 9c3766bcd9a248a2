package nvml

import "unsafe"

// What the library writes, as its interface of 64-bit systems lays it out. An array
// of the right size stands beside each, so that a layout that moved doesn't compile.

// handle is a device to the library.
type handle uintptr

// utilization is in percent.
type utilization struct{ gpu, memory uint32 }

var _ [8]byte = [unsafe.Sizeof(utilization{})]byte{}

// memoryV1 counts what the driver keeps for itself as used.
type memoryV1 struct{ total, free, used uint64 }

var _ [24]byte = [unsafe.Sizeof(memoryV1{})]byte{}

type memoryV2 struct {
	version uint32
	_       uint32
	total   uint64
	_       uint64 // reserved
	free    uint64
	used    uint64
}

var _ [40]byte = [unsafe.Sizeof(memoryV2{})]byte{}

// memoryVersion2 is how the library knows the layout: size, and version above it.
const memoryVersion2 = uint32(unsafe.Sizeof(memoryV2{})) | 2<<24

// temperatureV1 says which sensor is asked for, and is answered.
type temperatureV1 struct {
	version, sensor uint32
	celsius         int32
}

var _ [12]byte = [unsafe.Sizeof(temperatureV1{})]byte{}

const temperatureVersion1 = uint32(unsafe.Sizeof(temperatureV1{})) | 1<<24

// pciV3 begins as version 2 does, which ends within it.
type pciV3 struct {
	legacyID [16]byte
	_        [5]uint32 // domain, bus, device, and what card it is
	id       [32]byte
}

var _ [68]byte = [unsafe.Sizeof(pciV3{})]byte{}

// processV1 is an entry of the unversioned lists.
type processV1 struct {
	pid    uint32
	_      uint32
	memory uint64
}

var _ [16]byte = [unsafe.Sizeof(processV1{})]byte{}

// processV2 is an entry of the lists of versions 2 and 3.
type processV2 struct {
	pid    uint32
	_      uint32
	memory uint64
	_, _   uint32 // instances of a divided card
}

var _ [24]byte = [unsafe.Sizeof(processV2{})]byte{}

// memoryHidden is a process's memory where the driver doesn't tell it.
const memoryHidden = ^uint64(0)

// fieldValue is one of the values that are asked for by number.
type fieldValue struct {
	field, _ uint32   // scope
	_        [2]int64 // when it was taken, how long that took
	kind     uint32
	code     Code
	value    uint64
}

var _ [40]byte = [unsafe.Sizeof(fieldValue{})]byte{}

// Numbers that the interface gives.
const (
	fieldPCIeTxBytes = 197
	fieldPCIeRxBytes = 198

	kindUnsignedLong     = 2
	kindUnsignedLongLong = 3

	sensorGPU = 0

	clockSM, clockMemory = 1, 2

	pcieTx, pcieRx = 0, 1

	eccCorrected, eccUncorrected  = 0, 1
	eccSinceLoad, eccOverLifetime = 0, 1

	nameSize = 96 // of names and UUIDs; versions need 80
)
