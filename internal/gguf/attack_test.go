package gguf_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
)

// raw builds files byte by byte, right or wrong.
type raw struct {
	b  []byte
	v1 bool // sizes of 32 bits
}

func (r *raw) u8(v ...uint8) *raw    { r.b = append(r.b, v...); return r }
func (r *raw) u32(v uint32) *raw     { r.b = binary.LittleEndian.AppendUint32(r.b, v); return r }
func (r *raw) u64(v uint64) *raw     { r.b = binary.LittleEndian.AppendUint64(r.b, v); return r }
func (r *raw) text(s string) *raw    { r.b = append(r.b, s...); return r }
func (r *raw) zeros(n int) *raw      { r.b = append(r.b, make([]byte, n)...); return r }
func (r *raw) kind(k gguf.Kind) *raw { return r.u32(uint32(k)) }

func (r *raw) size(v uint64) *raw {
	if r.v1 {
		return r.u32(uint32(v))
	}
	return r.u64(v)
}

func (r *raw) str(s string) *raw { return r.size(uint64(len(s))).text(s) }

// file begins a file.
func file(version uint32, tensors, keys uint64) *raw {
	r := &raw{v1: version == 1}
	return r.text("GGUF").u32(version).size(tensors).size(keys)
}

// key begins a key.
func (r *raw) key(name string, k gguf.Kind) *raw { return r.str(name).kind(k) }

// tensor describes a tensor.
func (r *raw) tensor(name string, typ uint32, offset uint64, dims ...uint64) *raw {
	r.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		r.size(d)
	}
	return r.u32(typ).u64(offset)
}

// pad fills up to a multiple of n, then adds data.
func (r *raw) pad(n, data int) *raw { return r.zeros((n - len(r.b)%n) % n).zeros(data) }

// attack is a file that must be refused, and how.
type attack struct {
	file []byte
	is   error
	name string // key or tensor blamed
	what string
	val  uint64
}

func attacks() map[string]attack {
	const max = math.MaxUint64
	list := map[string]attack{
		"no magic":             {[]byte("ggml\x03\x00\x00\x00"), gguf.ErrMagic, "", "magic", 0x6c6d6767},
		"version 0":            {file(0, 0, 0).b, gguf.ErrVersion, "", "version", 0},
		"version 4":            {file(4, 0, 0).b, gguf.ErrVersion, "", "version", 4},
		"big-endian":           {(&raw{}).text("GGUF").u8(0, 0, 0, 3).zeros(16).b, gguf.ErrBigEndian, "", "version", 3 << 24},
		"big-endian magic":     {(&raw{}).text("FUGG").u8(0, 0, 0, 3).zeros(16).b, gguf.ErrBigEndian, "", "magic", 0x47475546},
		"tensor count 2^63":    {file(3, 1<<63, 0).zeros(100).b, gguf.ErrTruncated, "", "tensor count", 1 << 63},
		"tensor count max":     {file(3, max, 0).zeros(100).b, gguf.ErrTruncated, "", "tensor count", max},
		"tensor count 2^60":    {file(2, 1<<60, 0).zeros(100).b, gguf.ErrTruncated, "", "tensor count", 1 << 60},
		"key count 2^63-1":     {file(3, 0, 1<<63-1).zeros(100).b, gguf.ErrTruncated, "", "key count", 1<<63 - 1},
		"key count max":        {file(3, 0, max).zeros(100).b, gguf.ErrTruncated, "", "key count", max},
		"v1 counts max":        {file(1, math.MaxUint32, math.MaxUint32).zeros(100).b, gguf.ErrTruncated, "", "tensor count", math.MaxUint32},
		"too many tensors":     {file(3, 1<<16+1, 0).zeros(4 << 20).b, gguf.ErrInvalid, "", "tensor count", 1<<16 + 1},
		"too many keys":        {file(3, 0, 1<<16+1).zeros(2 << 20).b, gguf.ErrInvalid, "", "key count", 1<<16 + 1},
		"key of no bytes":      {file(3, 0, 1).key("", gguf.KindUint8).zeros(9).b, gguf.ErrInvalid, "", "key length", 0},
		"key of 2^64-1 bytes":  {file(3, 0, 1).u64(max).zeros(50).b, gguf.ErrTruncated, "", "key length", max},
		"key of 70000 bytes":   {file(3, 0, 1).u64(70000).zeros(80000).b, gguf.ErrInvalid, "", "key length", 70000},
		"string of 2^64-1":     {file(3, 0, 1).key("a.b", gguf.KindString).u64(max).zeros(50).b, gguf.ErrTruncated, "a.b", "string length", max},
		"string one too long":  {file(3, 0, 1).key("a.b", gguf.KindString).u64(51).zeros(50).b, gguf.ErrTruncated, "a.b", "string length", 51},
		"unknown value type":   {file(3, 0, 1).key("a.b", 13).zeros(50).b, gguf.ErrType, "a.b", "value type", 13},
		"value type 2^32-1":    {file(3, 0, 1).key("a.b", math.MaxUint32).zeros(50).b, gguf.ErrType, "a.b", "value type", math.MaxUint32},
		"unknown element type": {file(3, 0, 1).key("a.b", gguf.KindArray).kind(99).u64(1).zeros(50).b, gguf.ErrType, "a.b", "array element type", 99},
		"array of 2^64-1":      {file(3, 0, 1).key("a.b", gguf.KindArray).kind(gguf.KindUint8).u64(max).zeros(50).b, gguf.ErrTruncated, "a.b", "array length", max},
		"array bytes wrap":     {file(3, 0, 1).key("a.b", gguf.KindArray).kind(gguf.KindUint64).u64(1<<61 + 1).zeros(50).b, gguf.ErrTruncated, "a.b", "array length", 1<<61 + 1},
		"array one too long":   {file(3, 0, 1).key("a.b", gguf.KindArray).kind(gguf.KindInt32).u64(13).zeros(51).b, gguf.ErrTruncated, "a.b", "array length", 13},
		"strings beyond end":   {file(3, 0, 1).key("a.b", gguf.KindArray).kind(gguf.KindString).u64(2).str("x").u64(1 << 40).zeros(50).b, gguf.ErrTruncated, "a.b", "string length", 1 << 40},
		"bool of 2":            {file(3, 0, 1).key("a.b", gguf.KindBool).u8(2).b, gguf.ErrInvalid, "a.b", "bool", 2},
		"bool of 7 in array":   {file(3, 0, 1).key("a.b", gguf.KindArray).kind(gguf.KindBool).u64(2).u8(1, 7).b, gguf.ErrInvalid, "a.b", "bool", 7},
		"value cut off":        {file(3, 0, 1).key("a.bcd", gguf.KindUint64).zeros(7).b, gguf.ErrTruncated, "a.bcd", "uint64 bytes", 8},
		"key twice":            {file(3, 0, 2).key("a.b", gguf.KindUint8).u8(1).key("a.b", gguf.KindUint8).u8(1).b, gguf.ErrDuplicate, "a.b", "key at byte", 40},
		"no dimensions":        {file(3, 1, 0).tensor("w", 0, 0).zeros(64).b, gguf.ErrInvalid, "w", "dimension count", 0},
		"five dimensions":      {file(3, 1, 0).tensor("w", 0, 0, 1, 1, 1, 1, 1).zeros(64).b, gguf.ErrInvalid, "w", "dimension count", 5},
		"2^32-1 dimensions":    {file(3, 1, 0).str("w").u32(math.MaxUint32).zeros(64).b, gguf.ErrInvalid, "w", "dimension count", math.MaxUint32},
		"dimension 0":          {file(3, 1, 0).tensor("w", 0, 0, 4, 0).zeros(64).b, gguf.ErrInvalid, "w", "dimension", 0},
		"dimensions wrap to 0": {file(3, 1, 0).tensor("w", 0, 0, 1<<32, 1<<32).zeros(64).b, gguf.ErrTruncated, "w", "dimension", 1 << 32},
		"dimensions wrap to 4": {file(3, 1, 0).tensor("w", 0, 0, 4, 1<<62+1).zeros(64).b, gguf.ErrTruncated, "w", "dimension", 1<<62 + 1},
		"dimension 2^63":       {file(3, 1, 0).tensor("w", 0, 0, 1<<63).zeros(64).b, gguf.ErrTruncated, "w", "dimension", 1 << 63},
		"bytes wrap":           {file(3, 1, 0).tensor("w", 28, 0, 1<<61).zeros(64).b, gguf.ErrTruncated, "w", "dimension", 1 << 61},
		"v1 dimensions wrap":   {file(1, 1, 0).tensor("w", 0, 0, 1<<31, 1<<31, 1<<31).zeros(64).b, gguf.ErrTruncated, "w", "dimension", 1 << 31},
		"withdrawn type":       {file(3, 1, 0).tensor("w", 4, 0, 32).zeros(64).b, gguf.ErrType, "w", "tensor type", 4},
		"type 2^32-1":          {file(3, 1, 0).tensor("w", math.MaxUint32, 0, 32).zeros(64).b, gguf.ErrType, "w", "tensor type", math.MaxUint32},
		"part of a block":      {file(3, 1, 0).tensor("w", 8, 0, 33).pad(32, 64).b, gguf.ErrInvalid, "w", "first dimension", 33},
		"name of no bytes":     {file(3, 1, 0).tensor("", 0, 0, 1).pad(32, 64).b, gguf.ErrInvalid, "", "tensor name length", 0},
		"name too long":        {file(3, 1, 0).tensor(string(make([]byte, 300)), 0, 0, 1).pad(32, 64).b, gguf.ErrInvalid, "", "tensor name length", 300},
		"name of 2^64-1":       {file(3, 1, 0).u64(max).zeros(64).b, gguf.ErrTruncated, "", "tensor name length", max},
		"tensor beyond end":    {file(3, 1, 0).tensor("w", 0, 0, 17).pad(32, 64).b, gguf.ErrTruncated, "w", "tensor bytes", 68},
		"offset beyond end":    {file(3, 1, 0).tensor("w", 0, 96, 1).pad(32, 64).b, gguf.ErrTruncated, "w", "tensor offset", 96},
		"offset 2^64-32":       {file(3, 1, 0).tensor("w", 0, max-31, 16).pad(32, 64).b, gguf.ErrTruncated, "w", "tensor offset", max - 31},
		"offset not aligned":   {file(3, 1, 0).tensor("w", 0, 4, 1).pad(32, 64).b, gguf.ErrInvalid, "w", "tensor offset", 4},
		"tensor without data":  {file(3, 1, 0).tensor("w", 0, 0, 1).b, gguf.ErrTruncated, "", "start of the tensor data", 64},
		"tensor twice":         {file(3, 2, 0).tensor("w", 0, 0, 1).tensor("w", 0, 32, 1).pad(32, 64).b, gguf.ErrDuplicate, "w", "tensor at byte", 57},
		"tensors overlap":      {file(3, 2, 0).tensor("a", 0, 0, 16).tensor("b", 0, 32, 1).pad(32, 64).b, gguf.ErrInvalid, "b", "tensor offset", 32},
		"tensors on one place": {file(3, 2, 0).tensor("a", 0, 0, 16).tensor("b", 0, 0, 16).pad(32, 64).b, gguf.ErrInvalid, "", "tensor offset", 0},
	}
	for _, v := range []uint32{0, 3, 33, math.MaxUint32} {
		list[fmt.Sprint("alignment ", v)] = attack{file(3, 0, 1).key("general.alignment", gguf.KindUint32).u32(v).b, gguf.ErrInvalid, "general.alignment", "alignment", uint64(v)}
	}
	list["alignment 2^31"] = attack{file(3, 1, 1).key("general.alignment", gguf.KindUint32).u32(1<<31).tensor("w", 0, 0, 1).pad(32, 64).b, gguf.ErrTruncated, "", "start of the tensor data", 1 << 31}
	list["alignment of a wrong type"] = attack{file(3, 0, 1).key("general.alignment", gguf.KindString).str("32").b, gguf.ErrType, "general.alignment", "alignment's type", uint64(gguf.KindString)}
	list["alignment cut off"] = attack{file(3, 0, 1).key("general.alignment", gguf.KindUint32).u8(32).b, gguf.ErrTruncated, "general.alignment", "alignment", 4}
	nested := file(3, 0, 1).key("a.b", gguf.KindArray)
	for range 1000 {
		nested.kind(gguf.KindArray).u64(1)
	}
	list["arrays 1000 deep"] = attack{nested.kind(gguf.KindUint8).u64(0).b, gguf.ErrInvalid, "a.b", "array depth", 5}
	return list
}

// allocated returns the bytes that fn allocates: the first run of some that
// keeps within limit, else the least, since the runtime's own allocations now
// and then are not fn's.
func allocated(limit int, fn func()) uint64 {
	least := uint64(math.MaxUint64)
	for i := 0; i < 5 && least > uint64(limit); i++ {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fn()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// errorBytes is what a refusal may allocate where the file is smaller: the
// error value itself and 64 bytes of the name it blames, in the allocator's
// size classes, and 8 bytes for each of the table's one or two items.
const errorBytes = 208

// TestAttacks: each file is refused with one typed error that blames the right
// thing, and costs less memory than the file has bytes.
func TestAttacks(t *testing.T) {
	for name, a := range attacks() {
		t.Run(name, func(t *testing.T) {
			f, err := gguf.Parse(a.file)
			var fe *gguf.FormatError
			if f != nil || !errors.As(err, &fe) {
				t.Fatalf("got %v, %v", f, err)
			}
			if !errors.Is(err, a.is) || fe.What != a.what || fe.Value != a.val {
				t.Errorf("got %q: what %q, value %d; want %q, what %q, value %d", err, fe.What, fe.Value, a.is, a.what, a.val)
			}
			if a.name != "" && fe.Name != a.name {
				t.Errorf("got %q, which blames %q and not %q", err, fe.Name, a.name)
			}
			if fe.Detail == "" || err.Error() == "" {
				t.Errorf("no bound is told: %q", err)
			}
			limit := max(errorBytes, len(a.file)-1)
			if got := allocated(limit, func() { gguf.Parse(a.file) }); got > uint64(limit) {
				t.Errorf("a file of %d bytes made the reader allocate %d", len(a.file), got)
			}
		})
	}
}

// TestShortFiles: every beginning of a good file is refused, until it is whole.
func TestShortFiles(t *testing.T) {
	for version := uint32(1); version <= 3; version++ {
		good := goodFile(version)
		for n := range good {
			f, err := gguf.Parse(good[:n])
			var fe *gguf.FormatError
			if f != nil || !errors.As(err, &fe) {
				t.Fatalf("version %d, the first %d of %d bytes: %v, %v", version, n, len(good), f, err)
			}
			if got := allocated(errorBytes, func() { gguf.Parse(good[:n]) }); got > errorBytes {
				t.Fatalf("version %d, the first %d of %d bytes: %d allocated", version, n, len(good), got)
			}
		}
		if _, err := gguf.Parse(good); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 65 {
		for _, fill := range []byte{0x00, 0x01, 0x7f, 0xff} {
			for _, magic := range []string{"", "GGUF", "GGUF\x03\x00\x00\x00"} {
				b := make([]byte, n)
				for i := range b {
					b[i] = fill
				}
				copy(b, magic)
				_, err := gguf.Parse(b)
				var fe *gguf.FormatError
				if n >= 24 && fill == 0 && len(magic) == 8 {
					if err != nil {
						t.Fatalf("an empty file of %d bytes: %v", n, err)
					}
				} else if !errors.As(err, &fe) {
					t.Fatalf("%d bytes of %#02x after %q: %v", n, fill, magic, err)
				}
			}
		}
	}
}

// TestDuplicateAmongMany: finding one takes less memory than the file.
func TestDuplicateAmongMany(t *testing.T) {
	const n = 50000
	r := file(3, 0, n)
	for i := range n - 1 {
		r.key(fmt.Sprintf("%c%c%c", 'a'+i%26, 'a'+i/26%26, rune(i/676+'0')), gguf.KindUint8).u8(0)
	}
	r.key("aa0", gguf.KindUint8).u8(0)
	_, err := gguf.Parse(r.b)
	if !errors.Is(err, gguf.ErrDuplicate) {
		t.Fatal(err)
	}
	if got := allocated(len(r.b)-1, func() { gguf.Parse(r.b) }); got >= uint64(len(r.b)) {
		t.Errorf("%d bytes allocated for a file of %d", got, len(r.b))
	}
}
