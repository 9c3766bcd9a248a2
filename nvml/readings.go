package nvml

import "runtime"

// reading is a value, or a few that are asked for together.
type reading struct {
	call string // by which it is known in errors
	read func(*Device, *Sample) Code
}

// readings are all that a sample holds. A code that is for good takes the whole row
// out, so a row holds what a device has or lacks together.
var readings = [...]reading{
	{"nvmlDeviceGetUtilizationRates", readUtilization},
	{"nvmlDeviceGetMemoryInfo_v2", readMemory},
	{"nvmlDeviceGetTemperature", readTemperature},
	{"nvmlDeviceGetPowerUsage", readPower},
	{"nvmlDeviceGetEnforcedPowerLimit", readPowerLimit},
	{"nvmlDeviceGetTotalEnergyConsumption", readEnergy},
	{"nvmlDeviceGetClockInfo", func(d *Device, s *Sample) Code { return readClock(d, clockSM, &s.SMClock) }},
	{"nvmlDeviceGetClockInfo", func(d *Device, s *Sample) Code { return readClock(d, clockMemory, &s.MemoryClock) }},
	{"nvmlDeviceGetFieldValues", readPCIeBytes},
	{"nvmlDeviceGetPcieThroughput", readPCIeRate},
	{"nvmlDeviceGetTotalEccErrors", readECC},
	{"nvmlDeviceGetFanSpeed", readFan},
	{"nvmlDeviceGetCurrentClocksEventReasons", readThrottle},
	{"nvmlDeviceGetComputeRunningProcesses_v3", readProcesses},
}

var _ [32 - len(readings)]struct{} // a Device has a bit for each

func readUtilization(d *Device, s *Sample) Code {
	if d.lib.call.utilization == nil {
		return FunctionNotFound
	}
	var u utilization
	c := d.lib.call.utilization(d.handle, &u)
	if c == Success {
		s.Utilization, s.MemoryUtilization = some(float64(u.gpu)/100), some(float64(u.memory)/100)
	}
	return c
}

func readMemory(d *Device, s *Sample) Code {
	if d.info.Unified {
		total, used, ok := d.lib.host()
		if !ok {
			return NoData
		}
		s.MemoryTotal, s.MemoryUsed, s.MemoryFree = some(total), some(used), some(total-used)
		return Success
	}
	c := FunctionNotFound
	if d.lib.call.memoryV2 != nil && !d.noV2 {
		m := memoryV2{version: memoryVersion2}
		if c = d.lib.call.memoryV2(d.handle, &m); c == Success && m.total > 0 {
			s.MemoryTotal, s.MemoryUsed, s.MemoryFree = some(m.total), some(m.used), some(m.free)
			return Success
		}
		if c != Success && !c.forGood() {
			return c
		}
		d.noV2 = true // the older call decides
	}
	if d.lib.call.memoryV1 == nil {
		return noMemory(c)
	}
	var m memoryV1
	if c = d.lib.call.memoryV1(d.handle, &m); c != Success || m.total == 0 {
		return noMemory(c)
	}
	s.MemoryTotal, s.MemoryUsed, s.MemoryFree = some(m.total), some(m.used), some(m.free)
	return Success
}

// noMemory is the code of a device that answers, and has none.
func noMemory(c Code) Code {
	if c == Success {
		return NotSupported
	}
	return c
}

// readNumber asks for a number of 32 bits and gives it in another unit.
func readNumber(d *Device, call func(handle, *uint32) Code, per float64, to *Opt[float64]) Code {
	if call == nil {
		return FunctionNotFound
	}
	var v uint32
	c := call(d.handle, &v)
	if c == Success {
		*to = some(float64(v) / per)
	}
	return c
}

// readTemperature prefers the call that every library so far has; a later one may offer
// the other alone.
func readTemperature(d *Device, s *Sample) Code {
	var celsius int32
	c := FunctionNotFound
	if call := d.lib.call.temperature; call != nil && !d.newTemperature {
		var v uint32
		c = call(d.handle, sensorGPU, &v)
		celsius = int32(v)
	}
	if call := d.lib.call.temperatureV; call != nil && (c == FunctionNotFound || c == Deprecated) {
		d.newTemperature = true
		t := temperatureV1{version: temperatureVersion1, sensor: sensorGPU}
		c = call(d.handle, &t)
		celsius = t.celsius
	}
	if c == Success {
		s.Temperature = some(float64(celsius))
	}
	return c
}

func readPower(d *Device, s *Sample) Code {
	return readNumber(d, d.lib.call.power, 1000, &s.Power)
}

// readPowerLimit prefers the limit in force; the other is the one that was set.
func readPowerLimit(d *Device, s *Sample) Code {
	c := readNumber(d, d.lib.call.enforcedLimit, 1000, &s.PowerLimit)
	if c.forGood() {
		return readNumber(d, d.lib.call.managedLimit, 1000, &s.PowerLimit)
	}
	return c
}

func readEnergy(d *Device, s *Sample) Code {
	if d.lib.call.energy == nil {
		return FunctionNotFound
	}
	var v uint64
	c := d.lib.call.energy(d.handle, &v)
	if c == Success {
		s.Energy = some(float64(v) / 1000)
	}
	return c
}

func readClock(d *Device, which uint32, to *Opt[float64]) Code {
	if d.lib.call.clock == nil {
		return FunctionNotFound
	}
	var v uint32
	c := d.lib.call.clock(d.handle, which, &v)
	if c == Success {
		*to = some(float64(v) * 1e6)
	}
	return c
}

// readPCIeBytes takes 64-bit counts alone: narrower ones wrap between two samples, more
// than once where much is copied. There are drivers whose counts have 32 bits whatever
// their kind says; they are found out when they fall, and rates are measured from then on.
func readPCIeBytes(d *Device, s *Sample) Code {
	if d.lib.call.fields == nil {
		return FunctionNotFound
	}
	v := [2]fieldValue{{field: fieldPCIeRxBytes}, {field: fieldPCIeTxBytes}}
	if c := d.lib.call.fields(d.handle, int32(len(v)), &v[0]); c != Success {
		return c
	}
	for _, f := range v {
		if f.code != Success {
			return f.code
		}
		if !wide(f.kind, runtime.GOOS) {
			return NotSupported
		}
	}
	rx, tx := v[0].value, v[1].value
	p := &d.pcie
	if p.wraps(rx, tx) {
		*p = pcieState{}
		return NotSupported
	}
	s.PCIeRxBytes, s.PCIeTxBytes = some(rx), some(tx)
	if took := s.Time.Sub(p.at).Seconds(); !p.at.IsZero() && took > 0 && rx >= p.rxBytes && tx >= p.txBytes {
		s.PCIeRx, s.PCIeTx = some(float64(rx-p.rxBytes)/took), some(float64(tx-p.txBytes)/took)
	}
	p.at, p.rxBytes, p.txBytes, p.counts = s.Time, rx, tx, true
	return Success
}

// wide tells whether a value of the kind has 64 bits: C's unsigned long has 32 on Windows.
func wide(kind uint32, goos string) bool {
	return kind == kindUnsignedLongLong || kind == kindUnsignedLong && goos != "windows"
}

// readPCIeRate is for devices that don't count.
func readPCIeRate(d *Device, s *Sample) Code {
	if d.pcie.counts {
		return NoData // nor is it needed, unless the counts turn out to be none
	}
	if d.lib.call.pcie == nil {
		return FunctionNotFound
	}
	if p := &d.pcie; p.at.IsZero() || s.Time.Sub(p.at) >= pcieEvery {
		var rx, tx uint32
		if c := d.lib.call.pcie(d.handle, pcieRx, &rx); c != Success {
			return c
		}
		if c := d.lib.call.pcie(d.handle, pcieTx, &tx); c != Success {
			return c
		}
		p.at, p.rx, p.tx = s.Time, float64(rx)*1000, float64(tx)*1000 // from KB/s
	}
	s.PCIeRx, s.PCIeTx, s.pcieAt = some(d.pcie.rx), some(d.pcie.tx), d.pcie.at
	return Success
}

// readECC takes the count over the lifetime, or the other for good: the two must not
// take turns.
func readECC(d *Device, s *Sample) Code {
	if d.lib.call.ecc == nil {
		return FunctionNotFound
	}
	var n [2]uint64
	for kind := range uint32(2) {
		c := d.lib.call.ecc(d.handle, kind, d.eccOf, &n[kind])
		if c.forGood() && d.eccOf == eccOverLifetime && kind == eccCorrected {
			d.eccOf = eccSinceLoad
			c = d.lib.call.ecc(d.handle, kind, d.eccOf, &n[kind])
		}
		if c != Success {
			return c
		}
	}
	s.ECCCorrected, s.ECCUncorrected = some(n[eccCorrected]), some(n[eccUncorrected])
	return Success
}

func readFan(d *Device, s *Sample) Code { return readNumber(d, d.lib.call.fan, 100, &s.Fan) }

func readThrottle(d *Device, s *Sample) Code {
	if d.lib.call.throttle == nil {
		return FunctionNotFound
	}
	var v uint64
	c := d.lib.call.throttle(d.handle, &v)
	if c == Success {
		s.Throttle = some(Throttle(v))
	}
	return c
}
