package ptxsim

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// kernel wraps a body; %i and %o hold two buffers' addresses, %t the thread and %c
// the block.
func kernel(t testing.TB, decl, body string) *Kernel {
	t.Helper()
	m, err := Parse(".version 7.0\n.target sm_80\n.address_size 64\n" + decl + `
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p<8>;
.reg .b16 %h<8>;
.reg .b32 %r<16>, %t, %c;
.reg .f32 %f<8>;
.reg .b64 %d<16>, %i, %o, %a, %b;
mov.u32 %t, %tid.x;
mov.u32 %c, %ctaid.x;
ld.param.u64 %i, [in];
ld.param.u64 %o, [out];
mul.wide.u32 %d0, %t, 4;
add.s64 %a, %i, %d0;
add.s64 %b, %o, %d0;
` + body + "\nret;\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	return m.Kernel("k")
}

// launch runs k with two buffers of 4096 bytes, the first of them 0, 1, 2, ... and the
// second zero.
func launch(t testing.TB, k *Kernel, o Options, grid, threads, dyn uint32) ([]uint32, error) {
	t.Helper()
	x := NewMachine(o)
	in, out := alloc2(t, x, 4096, 4096)
	buf := make([]byte, 4096)
	for i := range 1024 {
		binary.LittleEndian.PutUint32(buf[4*i:], uint32(i))
	}
	must(t, x.Write(in, buf))
	must(t, x.Fill(out, 0, 4096))
	params := make([]byte, 16)
	binary.LittleEndian.PutUint64(params, in)
	binary.LittleEndian.PutUint64(params[8:], out)
	err := x.Launch(k, [3]uint32{grid, 1, 1}, [3]uint32{threads, 1, 1}, dyn, params)
	must(t, x.Read(out, buf))
	res := make([]uint32, 1024)
	for i := range res {
		res[i] = binary.LittleEndian.Uint32(buf[4*i:])
	}
	return res, err
}

const sharedArray = ".shared .align 16 .b8 s[4096];"

// TestFaults: each kind of fault, and beside it the nearest program without one.
func TestFaults(t *testing.T) {
	stage := "mov.u64 %d1, s; add.s64 %d1, %d1, %d0;\n"
	async := stage + "cvta.to.global.u64 %a, %a; cp.async.ca.shared.global [%d1], [%a], 4;\n"
	for _, c := range []struct {
		name, decl, body string
		grid, threads    uint32
		want             FaultKind // 0: none
	}{
		{"in bounds", "", "st.global.u32 [%b], %t;", 1, 1024, 0},
		{"out of bounds", "", "st.global.u32 [%b+4], %t;", 1, 1024, OutOfBounds},
		{"before the beginning", "", "ld.global.u32 %r1, [%i+-4]; st.global.u32 [%b], %r1;", 1, 1, OutOfBounds},
		{"read-only memory, written by the same block", "", "st.global.u32 [%b], %t; ld.global.nc.u32 %r1, [%b];", 1, 32, GlobalRace},
		{"read-only memory, written nearby", "", "st.global.u32 [%b+128], %t; ld.global.nc.u32 %r1, [%b];", 1, 32, 0},
		{"null", "", "mov.u64 %d1, 0; ld.global.u32 %r1, [%d1];", 1, 1, OutOfBounds},
		{"out of shared bounds", sharedArray, "mov.u64 %d1, s; st.shared.u32 [%d1+4096], %t;", 1, 1, OutOfBounds},
		{"out of local bounds", "", ".local .align 4 .b8 l[16]; mov.u64 %d1, l; st.local.u32 [%d1+16], %t;", 1, 1, OutOfBounds},
		{"misaligned", "", "ld.global.u32 %r1, [%i+2];", 1, 1, Misaligned},
		{"misaligned vector", "", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%i+8];", 1, 1, Misaligned},
		{"misaligned shared", sharedArray, "mov.u64 %d1, s; st.shared.u16 [%d1+1], %h1;\nmov.u16 %h1, 1;", 1, 1, Misaligned},
		{"own shared word", sharedArray, stage + "st.shared.u32 [%d1], %t; ld.shared.u32 %r1, [%d1];", 1, 256, 0},
		{"shared race, write and read", sharedArray, stage + "mov.u64 %d2, s; st.shared.u32 [%d1], %t; ld.shared.u32 %r1, [%d2];", 1, 32, SharedRace},
		{"ordered by a barrier", sharedArray, stage + "mov.u64 %d2, s; st.shared.u32 [%d1], %t; bar.sync 0; ld.shared.u32 %r1, [%d2];", 1, 256, 0},
		{"ordered within a warp", sharedArray, stage + "mov.u64 %d2, s; st.shared.u32 [%d1], %t; bar.warp.sync -1; ld.shared.u32 %r1, [%d2];", 1, 32, 0},
		{"ordered within a warp only", sharedArray, stage + "st.shared.u32 [%d1], 0; bar.sync 0; mov.u64 %d2, s; st.shared.u32 [%d1], %t; bar.warp.sync -1; ld.shared.u32 %r1, [%d2];", 1, 64, SharedRace},
		{"shared race, write and write", sharedArray, "mov.u64 %d2, s; st.shared.u32 [%d2], 1;", 1, 64, SharedRace},
		{"shared race, read then write", sharedArray, stage + "mov.u64 %d2, s; st.shared.u32 [%d1], %t; bar.sync 0; ld.shared.u32 %r1, [%d2]; setp.eq.u32 %p1, %t, 9; @%p1 st.shared.u32 [%d2], 3;", 1, 32, SharedRace},
		{"bytes of one shared word", sharedArray, "mov.u64 %d2, s; cvt.u64.u32 %d3, %t; add.s64 %d2, %d2, %d3; st.shared.u8 [%d2], %t; ld.shared.u8 %r1, [%d2];", 1, 64, 0},
		{"neighbour's byte of a shared word", sharedArray, "mov.u64 %d2, s; cvt.u64.u32 %d3, %t; add.s64 %d2, %d2, %d3; st.shared.u8 [%d2], %t; st.shared.u8 [%d2+1], %t;", 1, 64, SharedRace},
		{"shared atomics", sharedArray, "mov.u64 %d2, s; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [%d2], 0; bar.sync 0; atom.shared.add.u32 %r1, [%d2], 1; bar.sync 0; ld.shared.u32 %r2, [%d2]; st.global.u32 [%b], %r2;", 1, 128, 0},
		{"shared atomic and read", sharedArray, "mov.u64 %d2, s; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [%d2], 0; bar.sync 0; atom.shared.add.u32 %r1, [%d2], 1; ld.shared.u32 %r2, [%d2];", 1, 64, SharedRace},
		{"global race, write and write", "", "st.global.u32 [%b], %c;", 2, 32, GlobalRace},
		{"global race, write and read", "", "setp.eq.u32 %p1, %c, 0; @%p1 st.global.u32 [%b], 1; @!%p1 ld.global.u32 %r1, [%b];", 2, 32, GlobalRace},
		{"blocks apart", "", "mul.wide.u32 %d1, %c, 128; add.s64 %b, %b, %d1; st.global.u32 [%b], %c; ld.global.u32 %r1, [%b];", 8, 32, 0},
		{"blocks read alike", "", "ld.global.u32 %r1, [%a]; ld.global.u8 %r2, [%a+1];", 8, 32, 0},
		{"blocks' bytes of one word", "", "cvt.u64.u32 %d1, %c; add.s64 %o, %o, %d1; st.global.u8 [%o], %c; ld.global.u8 %r1, [%o];", 8, 1, 0},
		{"a byte of another block (in one order)", "", "cvt.u64.u32 %d1, %c; add.s64 %o, %o, %d1; st.global.u8 [%o], %c; ld.global.u8 %r1, [%o+1];", 2, 1, GlobalRace},
		{"blocks' atomics", "", "red.global.add.u32 [%o], 1; atom.global.max.u32 %r1, [%o+4], %c;", 8, 32, 0},
		{"an atomic and a write", "", "setp.eq.u32 %p1, %c, 0; @%p1 st.global.u32 [%o], 1; @!%p1 red.global.add.u32 [%o], 1;", 2, 1, GlobalRace},
		{"a barrier some skip", "", "setp.lt.u32 %p1, %t, 8; @%p1 bra L; bar.sync 0; L:", 1, 32, DivergentSync},
		{"a barrier a warp skips", "", "setp.lt.u32 %p1, %t, 32; @%p1 bra L; bar.sync 0; L:", 1, 64, DivergentSync},
		{"two barriers", "", "setp.lt.u32 %p1, %t, 32; @%p1 bra L; bar.sync 0; ret; L: bar.sync 0;", 1, 64, DivergentSync},
		{"barriers of different numbers", "", "setp.lt.u32 %p1, %t, 32; @%p1 bra L; bar.sync 1; ret; L: bar.sync 2;", 1, 64, DivergentSync},
		{"a barrier of half the block", "", "setp.lt.u32 %p1, %t, 64; @%p1 bra L; bar.sync 1, 64; L:", 1, 128, 0},
		{"a shuffle some skip", "", "setp.lt.u32 %p1, %t, 8; @%p1 bra L; shfl.sync.bfly.b32 %r1, %t, 1, 31, -1; L:", 1, 32, DivergentSync},
		{"a shuffle of those there", "", "setp.lt.u32 %p1, %t, 8; @%p1 bra L; shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xffffff00; L:", 1, 32, 0},
		{"a shuffle from a lane that is not named", "", "setp.lt.u32 %p1, %t, 8; @%p1 bra L; shfl.sync.idx.b32 %r1, %t, 1, 31, 0xffffff00; L:", 1, 32, DivergentSync},
		{"a shuffle without its own lane", "", "shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xffff;", 1, 32, DivergentSync},
		{"unwritten shared memory", sharedArray, "mov.u64 %d1, s; ld.shared.u32 %r1, [%d1];", 1, 1, Uninitialised},
		{"unwritten byte of a shared word", sharedArray, "mov.u64 %d1, s; st.shared.u8 [%d1], %t; ld.shared.u16 %r1, [%d1];", 1, 1, Uninitialised},
		{"unwritten local memory", "", ".local .align 4 .b8 l[16]; mov.u64 %d1, l; st.local.u32 [%d1], %t; ld.local.u32 %r1, [%d1+4];", 1, 1, Uninitialised},
		{"an endless loop", "", "L: bra L;", 1, 32, StepLimit},
		{"a trap", "", "setp.eq.u32 %p1, %t, 31; @%p1 trap;", 1, 32, Trapped},
		{"cp.async, waited for", sharedArray, async + "cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r1, [%d1]; st.global.u32 [%b], %r1;", 1, 64, 0},
		{"cp.async without a wait", sharedArray, async + "cp.async.commit_group; ld.shared.u32 %r1, [%d1];", 1, 64, Pending},
		{"cp.async, barrier but no wait", sharedArray, async + "cp.async.commit_group; bar.sync 0; ld.shared.u32 %r1, [%d1];", 1, 64, Pending},
		{"cp.async, the group before waited for", sharedArray, async + "cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r1, [%d1];", 1, 64, Pending},
		{"cp.async, not committed", sharedArray, async + "cp.async.wait_group 0; ld.shared.u32 %r1, [%d1];", 1, 64, Pending},
		{"cp.async, wait but no barrier", sharedArray, stage + "st.shared.u32 [%d1], 0; bar.sync 0;" + async + "cp.async.wait_all; mov.u64 %d2, s; ld.shared.u32 %r1, [%d2];", 1, 64, SharedRace},
		{"cp.async over what is read", sharedArray, stage + "st.shared.u32 [%d1], 0; bar.sync 0; mov.u64 %d2, s; ld.shared.u32 %r1, [%d2];" + async, 1, 64, SharedRace},
		{"written constants", ".const .align 4 .b8 tab[8];", "mov.u64 %d1, tab; cvta.const.u64 %d1, %d1; st.u32 [%d1], %t;", 1, 1, ReadOnlyWritten},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernel(t, c.decl, c.body)
			found := 0
			for seed := range uint64(6) {
				_, err := launch(t, k, Options{Seed: seed, MaxSteps: 100000}, c.grid, c.threads, 0)
				var f *Fault
				if err != nil {
					found++
				} else if strings.HasSuffix(c.name, "(in one order)") {
					continue
				}
				switch {
				case c.want == 0 && err != nil:
					t.Fatalf("seed %d: %v", seed, err)
				case c.want != 0 && (!errors.As(err, &f) || f.Kind != c.want):
					t.Fatalf("seed %d: %v, must be %v", seed, err, c.want)
				case c.want != 0 && (f.Line == 0 || f.Kernel != "k" || !strings.Contains(f.Error(), f.Kind.String())):
					t.Errorf("the fault says too little: %v", f)
				}
			}
			if c.want != 0 && found == 0 {
				t.Error("no seed found it")
			}
		})
	}
}

// TestUninitialised: global memory is checked byte by byte, for kernels and the host.
func TestUninitialised(t *testing.T) {
	k := kernel(t, "", "ld.global.u32 %r1, [%i]; st.global.u8 [%o+2], %r1;")
	x := NewMachine(Options{})
	in, out := alloc2(t, x, 16, 16)
	params := make([]byte, 16)
	binary.LittleEndian.PutUint64(params, in)
	binary.LittleEndian.PutUint64(params[8:], out)
	must(t, x.Write(in, []byte{1, 2, 3}))
	run := func() error { return x.Launch(k, [3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 0, params) }
	var f *Fault
	if err := run(); !errors.As(err, &f) || f.Kind != Uninitialised {
		t.Errorf("%v", err)
	}
	must(t, x.Fill(in+3, 0, 1))
	must(t, run())
	if err := x.Read(out, make([]byte, 4)); !errors.As(err, &f) || f.Kind != Uninitialised {
		t.Errorf("the host read what nothing wrote: %v", err)
	}
	one := make([]byte, 1)
	must(t, x.Read(out+2, one))
	if one[0] != 1 {
		t.Errorf("read %d", one[0])
	}
}

// TestCopyKeepsUnwritten: a copy makes nothing written that wasn't.
func TestCopyKeepsUnwritten(t *testing.T) {
	x := NewMachine(Options{})
	a, b := alloc2(t, x, 64, 64)
	must(t, x.Write(a+8, []byte{1, 2, 3, 4}))
	must(t, x.Fill(b, 9, 64))
	must(t, x.Copy(b+16, a+6, 8))
	got := make([]byte, 4)
	must(t, x.Read(b+18, got))
	if string(got) != "\x01\x02\x03\x04" {
		t.Errorf("copied %v", got)
	}
	for _, at := range []uint64{16, 17, 22, 23} {
		if err := x.Read(b+at, got[:1]); err == nil {
			t.Errorf("byte %d counts as written", at)
		}
	}
	must(t, x.Read(b, make([]byte, 16)))
	must(t, x.Read(b+24, make([]byte, 40)))
	for _, err := range []error{x.Copy(b, a, 65), x.Write(a+60, make([]byte, 5)), x.Read(a-1, got), x.Free(a + 1), x.Fill(a+64, 0, 1), x.Fill32(a+2, 0, 1)} {
		if err == nil {
			t.Error("an access past an allocation was accepted")
		}
	}
	must(t, x.Free(a))
	if err := x.Write(a, got); err == nil {
		t.Error("freed memory was written")
	}
}

// TestBadLaunches: what a driver refuses.
func TestBadLaunches(t *testing.T) {
	k := kernel(t, ".extern .shared .align 16 .b8 dyn[];", "mov.u64 %d1, dyn; st.shared.u32 [%d1], %t;")
	for _, c := range []struct {
		grid, block [3]uint32
		dyn         uint32
		params      int
		want        FaultKind
	}{
		{[3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 4, 16, 0},
		{[3]uint32{0, 1, 1}, [3]uint32{1, 1, 1}, 4, 16, BadLaunch},
		{[3]uint32{1, 65536, 1}, [3]uint32{1, 1, 1}, 4, 16, BadLaunch},
		{[3]uint32{1, 1, 1}, [3]uint32{1025, 1, 1}, 4, 16, BadLaunch},
		{[3]uint32{1, 1, 1}, [3]uint32{64, 32, 1}, 4, 16, BadLaunch},
		{[3]uint32{1, 1, 1}, [3]uint32{1, 1, 65}, 4, 16, BadLaunch},
		{[3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 4, 12, BadLaunch},
		{[3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 0, 16, SharedBytes},
		{[3]uint32{1, 1, 1}, [3]uint32{1, 1, 1}, 99<<10 + 1, 16, SharedBytes},
	} {
		x := NewMachine(Options{})
		err := x.Launch(k, c.grid, c.block, c.dyn, make([]byte, c.params))
		var f *Fault
		if c.want == 0 {
			must(t, err)
		} else if !errors.As(err, &f) || f.Kind != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
