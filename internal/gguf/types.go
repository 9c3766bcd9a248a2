package gguf

import "fmt"

// Layout is how a tensor format packs values into bytes. That is a fact of the
// file format: a reader must know it to find a tensor's end. What the bytes
// mean is another package's business.
type Layout struct {
	ID         uint32
	Name       string
	BlockElems uint32
	BlockBytes uint32
}

// layouts lists every tensor type that files hold today. The numbers between
// belonged to formats that were withdrawn.
var layouts = [...]Layout{
	{0, "f32", 1, 4},
	{1, "f16", 1, 2},
	{2, "q4_0", 32, 18},
	{3, "q4_1", 32, 20},
	{6, "q5_0", 32, 22},
	{7, "q5_1", 32, 24},
	{8, "q8_0", 32, 34},
	{9, "q8_1", 32, 36},
	{10, "q2_K", 256, 84},
	{11, "q3_K", 256, 110},
	{12, "q4_K", 256, 144},
	{13, "q5_K", 256, 176},
	{14, "q6_K", 256, 210},
	{15, "q8_K", 256, 292},
	{16, "iq2_xxs", 256, 66},
	{17, "iq2_xs", 256, 74},
	{18, "iq3_xxs", 256, 98},
	{19, "iq1_s", 256, 50},
	{20, "iq4_nl", 32, 18},
	{21, "iq3_s", 256, 110},
	{22, "iq2_s", 256, 82},
	{23, "iq4_xs", 256, 136},
	{24, "i8", 1, 1},
	{25, "i16", 1, 2},
	{26, "i32", 1, 4},
	{27, "i64", 1, 8},
	{28, "f64", 1, 8},
	{29, "iq1_m", 256, 56},
	{30, "bf16", 1, 2},
	{34, "tq1_0", 256, 54},
	{35, "tq2_0", 256, 66},
	{39, "mxfp4", 32, 17},
	{40, "nvfp4", 64, 36},
	{41, "q1_0", 128, 18},
	{42, "q2_0", 64, 18},
}

// LayoutOf finds the layout of a tensor type. Safe for concurrent use.
func LayoutOf(id uint32) (Layout, bool) {
	if l := findLayout(id); l != nil {
		return *l, true
	}
	return Layout{}, false
}

func findLayout(id uint32) *Layout {
	for i := range layouts {
		if layouts[i].ID == id {
			return &layouts[i]
		}
	}
	return nil
}

// Layouts returns a copy of the table, in order of ID. Safe for concurrent
// use.
func Layouts() []Layout { return append([]Layout(nil), layouts[:]...) }

// Kind is the type of a key's value, numbered as in files.
type Kind uint32

// The kinds of value.
const (
	KindUint8 Kind = iota
	KindInt8
	KindUint16
	KindInt16
	KindUint32
	KindInt32
	KindFloat32
	KindBool
	KindString
	KindArray
	KindUint64
	KindInt64
	KindFloat64
)

// kinds holds each kind's name and bytes; 0 bytes: not of fixed size.
var kinds = [...]struct {
	name string
	size uint64
}{
	{"uint8", 1}, {"int8", 1}, {"uint16", 2}, {"int16", 2}, {"uint32", 4}, {"int32", 4}, {"float32", 4},
	{"bool", 1}, {"string", 0}, {"array", 0}, {"uint64", 8}, {"int64", 8}, {"float64", 8},
}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("kind %d", uint32(k))
}
