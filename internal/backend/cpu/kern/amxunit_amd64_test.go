//go:build !noasm

package kern

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/paddock-go/paddock/internal/cpuid"
)

// The unit is asked for only where there is one, and a refusal leaves the level
// below.
func TestTilesRefused(t *testing.T) {
	asked := 0
	refuse := func() bool { asked++; return false }
	if u := newAMXUnit(cpuid.Features{}, refuse); u != nil || asked != 0 {
		t.Errorf("without tiles: unit %v, asked %d times, want none and never", u, asked)
	}
	u := newAMXUnit(cpuid.Features{AMXInt8: true, AMXBF16: true}, refuse)
	if u != nil || asked != 1 {
		t.Errorf("refused: unit %v, asked %d times, want none and once", u, asked)
	}
	k := &Kernels{level: AMX}
	if k.useTiles(u); k.Level() != AVX512VNNI {
		t.Errorf("refused: level %v, want %v", k.Level(), AVX512VNNI)
	}
}

// A part of the unit that computes otherwise than the portable kernels is not
// used, and the other part is.
func TestTilesTriedOut(t *testing.T) {
	for _, c := range []struct {
		name       string
		spoil      string // what goes wrong, once in each product
		int8, bf16 bool
	}{
		{"sound", "", true, true},
		{"wrong bytes", "tdpbssd", false, true},
		{"wrong bf16", "tdpbf16ps", true, false},
		{"wrong both", "tdp", false, false},
	} {
		var e emulator
		u := *e.kernels(t).amx
		e.machine.memory = nil
		if c.spoil != "" {
			e.machine.tiles.spoil = func(dst int, m *machine) {
				for name := range m.counts {
					if strings.HasPrefix(name, c.spoil) {
						m.tiles.data[dst][7][33] ^= 1
					}
				}
			}
		}
		e.lent = []span{{"everything", 0, math.MaxUint, true}}
		got := u.tried()
		if got == nil {
			got = &amxUnit{}
		}
		if (got.int8 != nil) != c.int8 || (got.bf16 != nil) != c.bf16 {
			t.Errorf("%s: int8 %v, bf16 %v, want %v, %v", c.name, got.int8 != nil, got.bf16 != nil, c.int8, c.bf16)
		}
	}
}

// The loop that measures the unit does what it says and leaves it released.
func TestTilePeak(t *testing.T) {
	var m machine
	ops := tilePeak(func(config *[64]byte, turns int) {
		m.memory = []span{spanOf("the configuration", config[:], false)}
		m.call(amxPeakCode(), uint64(uintptr(unsafe.Pointer(config))), uint64(turns))
	}, 3)
	if m.counts["tdpbssd"] != 12 || ops != 12*2*16*16*64 || m.counts["ldtilecfg"] != 1 || m.counts["tilerelease"] != 1 {
		t.Errorf("3 turns: %d operations, instructions %v", ops, m.counts)
	}
	if !cpuid.Detect().AMXInt8 && TilePeak(1) != 0 {
		t.Error("operations without a tile unit")
	}
}

func amxPeakCode() uintptr { return amxCode(codePeak) }

// Products by hand: signs, and the order of bf16.
func TestMachineProducts(t *testing.T) {
	var m machine
	f := &m.tiles
	one := func(name string, a, b [4]byte, sum uint32) uint32 {
		*f = tileFile{on: true}
		for i := range 3 {
			f.rows[i], f.cols[i] = 1, 4
		}
		copy(f.data[1][0][:], a[:])
		copy(f.data[2][0][:], b[:])
		binary.LittleEndian.PutUint32(f.data[0][0][:], sum)
		f.product(&m, name, 0, 1, 2)
		return binary.LittleEndian.Uint32(f.data[0][0][:])
	}
	a, b := [4]byte{0xff, 2, 0, 0x80}, [4]byte{0xff, 3, 9, 0x80}
	for name, want := range map[string]int32{
		"tdpbssd": 5 + 1 + 6 + 128*128, "tdpbsud": 5 - 255 + 6 - 128*128, "tdpbusd": 5 - 255 + 6 - 128*128, "tdpbuud": 5 + 255*255 + 6 + 128*128,
	} {
		if got := int32(one(name, a, b, 5)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	half := func(even, odd float32) (p [4]byte) {
		binary.LittleEndian.PutUint16(p[:], uint16(math.Float32bits(even)>>16))
		binary.LittleEndian.PutUint16(p[2:], uint16(math.Float32bits(odd)>>16))
		return p
	}
	for _, c := range []struct {
		a, b [4]byte
		sum  float32
		want float32
	}{
		{half(3, 5), half(7, -2), 0.5, 11.5},
		{half(0x1p60, -0x1p60), half(0x1p60, 0x1p60), 1, 1}, // both cancel before the sum joins
		{half(0x1p-127, 0), half(0x1p100, 0), 0, 0},         // a denormal is zero
		{half(0x1p-70, 0), half(0x1p-60, 0), 0, 0},          // and so is a denormal result
		{half(0, 0), half(0, 0), 0x1p-130, 0},               // and a denormal sum
	} {
		if got := math.Float32frombits(one("tdpbf16ps", c.a, c.b, math.Float32bits(c.sum))); got != c.want {
			t.Errorf("bf16 % x × % x + %v: %v, want %v", c.a, c.b, c.sum, got, c.want)
		}
	}
}

// The machine stops at whatever the code must not do.
func TestMachineFaults(t *testing.T) {
	const (
		config  = "c4e2784900" // ldtilecfg [AX]
		release = "c4e27849c0"
		ret     = "c3"
		rax     = "488b442408" // mov AX, [SP + 8]
		stride  = "41bb40000000"
	)
	words := map[string]string{
		"rax": rax, "config": config, "release": release, "ret": ret, "stride": stride,
		"zero": "c4e27b49c0", "zero7": "c4e27b49f8", "load": "c4a27b4b2418", "store": "c4a27a4b2418",
		"dot": "c4e26b5ec1", "bf16": "c4e26a5cc1", "same": "c4e2735ec1", "misfit": "c4e26b5ed9", "cpuid": "0fa2", "high": "c4e2335ec1", "jump": "75f0",
		"call": "ffd1",
	}
	for _, c := range []struct{ code, want string }{
		{"rax config zero dot bf16 release ret", ""},
		{"rax config zero release", "unknown instruction"}, // runs on into zeros
		{"cpuid", "unknown instruction"},
		{"rax zero ret", "without a configuration"},
		{"rax config ret", "in use at the return"},
		{"rax config zero7 ret", "tile 7 is not configured"},
		{"rax config stride load ret", "64 bytes at 64 of the configuration"},
		{"rax config stride store ret", "write of 64 bytes to the configuration"},
		{"rax config same ret", "one twice"},
		{"rax config misfit ret", "tdpbssd of 3 ×"},
		{"rax config high ret", "beyond the eighth"},
		{"jump", "flags that nobody set"},
		{"call", "no vector phase"},
	} {
		var code []byte
		for _, w := range strings.Fields(c.code) {
			code = append(code, unhex(t, words[w])...)
		}
		code = append(code, make([]byte, 32)...)
		cfg := [64]byte{0: 1}
		for tile, shape := range [][2]byte{{2, 8}, {2, 4}, {1, 8}, {3, 4}, {2, 64}} {
			cfg[48+tile], cfg[16+2*tile] = shape[0], shape[1]
		}
		var m machine
		m.memory = []span{spanOf("the configuration", cfg[:], false)}
		got := faultOf(func() { m.call(uintptr(unsafe.Pointer(&code[0])), uint64(uintptr(unsafe.Pointer(&cfg)))) })
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: fault %q, want %q", c.code, got, c.want)
		}
	}
	// Memory: what is lent for reading is not written, and ends where it ends.
	data := make([]byte, 64)
	m := machine{memory: []span{spanOf("data", data[:32], false)}, pc: uintptr(unsafe.Pointer(&data[0]))}
	at := uintptr(unsafe.Pointer(&data[0]))
	for want, f := range map[string]func(){
		"":               func() { m.bytes(at, 32, false) },
		"write of":       func() { m.bytes(at, 32, true) },
		"32 bytes at 1 ": func() { m.bytes(at+1, 32, false) },
	} {
		if got := faultOf(f); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("fault %q, want %q", got, want)
		}
	}
	// Configurations that LDTILECFG refuses.
	for i, v := range map[int]byte{0: 2, 1: 1, 5: 1, 17: 1, 33: 1, 48: 17, 53: 3, 60: 1} {
		cfg := [64]byte{0: 1}
		cfg[i] = v
		if got := faultOf(func() { new(tileFile).configure(&m, cfg[:]) }); got == "" {
			t.Errorf("byte %d of a configuration as %d did not fault", i, v)
		}
	}
}

// faultOf is the fault that f ends with, or "".
func faultOf(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = string(r.(fault))
		}
	}()
	f()
	return ""
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	if s == "" || len(s)%2 != 0 {
		t.Fatalf("no such word of code: %q", s)
	}
	b := make([]byte, len(s)/2)
	for i := range b {
		for _, c := range s[2*i : 2*i+2] {
			b[i] = b[i]<<4 | byte(strings.IndexRune("0123456789abcdef", c))
		}
	}
	return b
}
