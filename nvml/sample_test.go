package nvml

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestSampleOfEverything(t *testing.T) {
	t.Parallel()
	f := newFake(t, `
gpu 0 name NVIDIA Test 9000
gpu 0 uuid GPU-1
gpu 0 pci 00000000:C1:00.0
gpu 0 utilization 81 40
gpu 0 memory_total 1000000
gpu 0 memory_used 300000
gpu 0 memory_reserved 100000
gpu 0 temperature 61
gpu 0 power_mw 123456
gpu 0 power_limit_mw 450000
gpu 0 energy_mj 5000500
gpu 0 sm_clock_mhz 1500
gpu 0 memory_clock_mhz 9501
gpu 0 pcie_rx_bytes 5000000000000
gpu 0 pcie_tx_bytes 7
gpu 0 ecc_corrected 3
gpu 0 ecc_uncorrected 1
gpu 0 fan 110
gpu 0 throttle 0x405
gpu 0 mig 1
`)
	d := f.device()
	if got, want := d.Info(), (Info{Name: "NVIDIA Test 9000", UUID: "GPU-1", PCI: "00000000:C1:00.0", MemoryTotal: 1000000, MIG: true, Driver: "570.86.15", CUDA: "12.8", Compute: "9.0"}); got != want {
		t.Errorf("info\n got %+v\nwant %+v", got, want)
	}
	s := f.sample(d)
	if s.Time.IsZero() {
		t.Error("no time")
	}
	s.Time = time.Time{}
	want := Sample{
		Utilization: some(0.81), MemoryUtilization: some(0.4),
		MemoryUsed: some[uint64](300000), MemoryFree: some[uint64](600000), MemoryTotal: some[uint64](1000000),
		Temperature: some(61.0), Power: some(123.456), PowerLimit: some(450.0), Energy: some(5000.5),
		SMClock: some(1.5e9), MemoryClock: some(9.501e9),
		PCIeRxBytes: some[uint64](5e12), PCIeTxBytes: some[uint64](7),
		ECCCorrected: some[uint64](3), ECCUncorrected: some[uint64](1),
		Fan: some(1.1), Throttle: some(Throttle(0x405)), Processes: some([]Process{}),
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("sample\n got %+v\nwant %+v", s, want)
	}
	if got, want := s.Throttle.V.Names(), []string{"gpu_idle", "sw_power_cap", "other"}; !slices.Equal(got, want) {
		t.Errorf("throttle reasons %v, want %v", got, want)
	}
}

// What a device can't tell is asked for once.
func TestNotSupportedIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t, "gpu 0 utilization unsupported\ngpu 0 return nvmlDeviceGetTemperature 3\ngpu 0 fan unsupported\ngpu 0 return nvmlDeviceGetPowerUsage 999\n")
	d := f.device()
	for range 5 {
		s := f.sample(d)
		if s.Utilization.OK || s.Temperature.OK || s.Fan.OK || s.Power.OK {
			t.Fatalf("a reading that is not there: %+v", s)
		}
		if !s.Energy.OK || !s.SMClock.OK || !s.MemoryUsed.OK {
			t.Fatalf("a reading is missing: %+v", s)
		}
	}
	for call, want := range map[string]uint64{
		"nvmlDeviceGetUtilizationRates": 1, "nvmlDeviceGetTemperature": 1, "nvmlDeviceGetFanSpeed": 1,
		"nvmlDeviceGetFieldValues": 1, // the count that this device doesn't keep
		"nvmlDeviceGetPowerUsage":  5, // an error that may pass
		"nvmlDeviceGetClockInfo":   10,
	} {
		if got := f.calls(call); got != want {
			t.Errorf("%s was called %d times, want %d", call, got, want)
		}
	}
	f.say("gpu 0 power_mw 5000\n")
	if s := f.sample(d); s.Power != some(5.0) {
		t.Errorf("power %+v after the error passed", s.Power)
	}
}

// An older library lacks symbols; the older calls mean what they meant.
func TestMissingSymbols(t *testing.T) {
	t.Parallel()
	const script = "gpu 0 compute 10 100\ngpu 0 graphics 11 200\ngpu 0 ecc_corrected 4\n"
	t.Run("of newer versions", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, script, "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetPciInfo_v3", "nvmlSystemGetCudaDriverVersion_v2",
			"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
			"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
			"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetFieldValues")
		d := f.device()
		if got := d.Info().PCI; got != "0000:00:00.0" {
			t.Errorf("bus id %q of the older layout", got)
		}
		s := f.sample(d)
		if want := some(uint64(1<<30 + 1<<29)); s.MemoryUsed != want {
			t.Errorf("memory used %+v, want %+v: the older call counts what is reserved", s.MemoryUsed, want)
		}
		if want := []Process{{10, some[uint64](100)}, {11, some[uint64](200)}}; !slices.Equal(s.Processes.V, want) {
			t.Errorf("processes %+v, want %+v", s.Processes.V, want)
		}
		if s.PowerLimit != some(650.0) || s.Throttle != some(Throttle(1)) || s.PCIeRx != some(1e6) {
			t.Errorf("limit %+v, throttle %+v, pcie %+v", s.PowerLimit, s.Throttle, s.PCIeRx)
		}
	})
	t.Run("of processes of version 3", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, script, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3")
		if s := f.sample(f.device()); len(s.Processes.V) != 2 || s.Processes.V[1] != (Process{11, some[uint64](200)}) {
			t.Errorf("processes %+v", s.Processes)
		}
	})
	t.Run("all that may be", func(t *testing.T) {
		t.Parallel()
		var lacks []string
		for _, b := range new(symbols).bindings() {
			if !b.required {
				lacks = append(lacks, b.names...)
			}
		}
		f := newFake(t, script, lacks...)
		d := f.device()
		if got, want := d.Info(), (Info{UUID: "GPU-fake-0"}); got != want {
			t.Errorf("info %+v, want %+v", got, want)
		}
		s := f.sample(d)
		s.Time = time.Time{}
		if !reflect.DeepEqual(s, Sample{}) {
			t.Errorf("sample %+v of nothing", s)
		}
	})
	t.Run("that must be", func(t *testing.T) {
		t.Parallel()
		for _, lacks := range []string{"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlShutdown"} {
			_, err := Open(newFake(t, "", lacks).options())
			var open *OpenError
			if !errors.As(err, &open) || len(open.Tried) != 1 {
				t.Errorf("without %s: %v", lacks, err)
			}
		}
	})
}

// A library that doesn't know version 2 of an argument is asked in version 1.
func TestArgumentVersion(t *testing.T) {
	t.Parallel()
	f := newFake(t, "gpu 0 return nvmlDeviceGetMemoryInfo_v2 25\n")
	d := f.device()
	for range 3 {
		if s := f.sample(d); s.MemoryUsed != some(uint64(1<<30+1<<29)) {
			t.Errorf("memory used %+v", s.MemoryUsed)
		}
	}
	if d.Info().Unified {
		t.Error("unified")
	}
	if n := f.calls("nvmlDeviceGetMemoryInfo_v2"); n != 1 {
		t.Errorf("version 2 was asked for %d times", n)
	}
}

// A library without the older call for the temperature, or that doesn't answer it any
// more, is asked by the newer one.
func TestTemperatureByTheNewerCall(t *testing.T) {
	t.Parallel()
	const older, newer = "nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"
	for name, f := range map[string]*fake{
		"lacks":      newFake(t, "gpu 0 temperature 61\n", older),
		"deprecated": newFake(t, "gpu 0 temperature 61\ngpu 0 return "+older+" 26\n"),
	} {
		d := f.device()
		for range 3 {
			if s := f.sample(d); s.Temperature != some(61.0) {
				t.Errorf("%s: temperature %+v", name, s.Temperature)
			}
		}
		if n := f.calls(older); n > 1 {
			t.Errorf("%s: the older call was made %d times", name, n)
		}
	}
	f := newFake(t, "gpu 0 temperature 61\n")
	if s := f.sample(f.device()); s.Temperature != some(61.0) || f.calls(newer) != 0 {
		t.Errorf("temperature %+v, by %d calls of the newer kind", s.Temperature, f.calls(newer))
	}
}

// A part without a framebuffer shows the system's memory, and says so.
func TestUnifiedMemory(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"not supported": "gpu 0 memory_total unsupported\n",
		"none":          "gpu 0 memory_total 0\ngpu 0 memory_used 0\ngpu 0 memory_reserved 0\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script)
			d := f.device()
			total, _, ok := hostMemory()
			if !ok {
				t.Fatal("the system doesn't tell its memory")
			}
			if i := d.Info(); !i.Unified || i.MemoryTotal != total {
				t.Errorf("info %+v, want unified memory of %d bytes", i, total)
			}
			d.lib.host = func() (uint64, uint64, bool) { return 1000, 400, true }
			if s := f.sample(d); s.MemoryTotal != some[uint64](1000) || s.MemoryUsed != some[uint64](400) {
				t.Errorf("memory %+v of %+v", s.MemoryUsed, s.MemoryTotal)
			}
			d.lib.host = func() (uint64, uint64, bool) { return 0, 0, false }
			if s := f.sample(d); s.MemoryTotal.OK || s.MemoryUsed.OK {
				t.Errorf("memory %+v of %+v of a system that doesn't tell", s.MemoryUsed, s.MemoryTotal)
			}
		})
	}
}

func TestProcessesAreMerged(t *testing.T) {
	t.Parallel()
	f := newFake(t, `
gpu 0 compute 30 500
gpu 0 compute 10 100
gpu 0 compute 20 hidden
gpu 0 compute 40 hidden
gpu 0 compute 50 7      # of two instances
gpu 0 compute 50 8
gpu 0 graphics 10 300
gpu 0 graphics 30 20
gpu 0 graphics 40 9
gpu 0 graphics 60 1
`)
	want := []Process{{10, some[uint64](300)}, {20, Opt[uint64]{}}, {30, some[uint64](500)}, {40, some[uint64](9)}, {50, some[uint64](15)}, {60, some[uint64](1)}}
	if s := f.sample(f.device()); !slices.Equal(s.Processes.V, want) {
		t.Errorf("processes\n got %+v\nwant %+v", s.Processes.V, want)
	}
	// Of a device with one list, that list.
	f = newFake(t, "gpu 0 graphics 1 2\ngpu 0 return nvmlDeviceGetComputeRunningProcesses_v3 3\n")
	if s := f.sample(f.device()); !slices.Equal(s.Processes.V, []Process{{1, some[uint64](2)}}) {
		t.Errorf("processes of the graphics list alone: %+v", s.Processes)
	}
}

// A list may grow between the call that says how long it is and the one that gives it.
func TestProcessListGrows(t *testing.T) {
	t.Parallel()
	const base = "gpu 0 compute 1 1\ngpu 0 return nvmlDeviceGetGraphicsRunningProcesses_v3 3\n"
	f := newFake(t, base+"gpu 0 grow 2\n")
	d := f.device()
	if s := f.sample(d); len(s.Processes.V) != 3 || s.Processes.V[2].PID != 900001 {
		t.Errorf("processes %+v, want that of the script and two that began", s.Processes)
	}
	calls := f.calls("nvmlDeviceGetComputeRunningProcesses_v3")
	if calls > listTries {
		t.Errorf("%d calls for one list", calls)
	}
	if s := f.sample(d); len(s.Processes.V) != 3 || f.calls("nvmlDeviceGetComputeRunningProcesses_v3") != calls+1 {
		t.Errorf("a list whose room is there took more than one call: %+v", s.Processes)
	}
	// One that always grows is given up, this once.
	f = newFake(t, base+"gpu 0 grow 1000\n")
	d = f.device()
	for i := range 3 {
		if s := f.sample(d); s.Processes.OK || !s.Temperature.OK {
			t.Errorf("processes %+v of a list that has no end", s.Processes)
		}
		if n := f.calls("nvmlDeviceGetComputeRunningProcesses_v3"); n != uint64(listTries*(i+1)) {
			t.Errorf("%d calls after %d samples", n, i+1)
		}
	}
	f.say(base)
	if s := f.sample(d); !s.Processes.OK {
		t.Error("no processes once the list has an end")
	}
}

// The rate over PCIe holds the library up: it is measured every 2 s, and not where the
// device counts.
func TestPCIeRate(t *testing.T) {
	t.Parallel()
	f := newFake(t, "gpu 0 pcie_rx_kbs 1000\ngpu 0 pcie_tx_kbs 500\n")
	c := newFakeClock()
	o := f.options()
	o.Clock = c
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := l.Devices()[0]
	for range 11 { // 4 s
		if s := f.sample(d); s.PCIeRx != some(1e6) || s.PCIeTx != some(5e5) {
			t.Errorf("rates %+v, %+v", s.PCIeRx, s.PCIeTx)
		}
		c.Advance(watchedEvery)
	}
	if n := f.calls("nvmlDeviceGetPcieThroughput"); n != 6 {
		t.Errorf("%d calls in 4 s, want 2 each at 0, 2 and 4 s", n)
	}
	f = newFake(t, "gpu 0 pcie_rx_bytes 1\ngpu 0 pcie_tx_bytes 2\n")
	if f.sample(f.device()); f.calls("nvmlDeviceGetPcieThroughput") != 0 {
		t.Error("a rate was measured of a device that counts")
	}
}

func TestECCSinceLoad(t *testing.T) {
	t.Parallel()
	f := newFake(t, "gpu 0 ecc_corrected unsupported\ngpu 0 ecc_uncorrected unsupported\ngpu 0 ecc_corrected_volatile 8\ngpu 0 ecc_uncorrected_volatile 9\n")
	d := f.device()
	if s := f.sample(d); s.ECCCorrected != some[uint64](8) || s.ECCUncorrected != some[uint64](9) {
		t.Errorf("errors %+v, %+v", s.ECCCorrected, s.ECCUncorrected)
	}
}
