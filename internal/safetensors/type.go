package safetensors

// Type is the type of a tensor's values, as files name it.
type Type string

// The types whose values a model's weights have here.
const (
	F32    Type = "F32"
	F16    Type = "F16"
	BF16   Type = "BF16"
	F8E4M3 Type = "F8_E4M3"
)

// bits is the width of a value by type: of all types that files hold, since a
// reader must know them to find a tensor's end.
var bits = map[Type]uint64{
	"BOOL": 8, "U8": 8, "I8": 8, F8E4M3: 8, "F8_E5M2": 8, "F8_E8M0": 8,
	"I16": 16, "U16": 16, F16: 16, BF16: 16,
	"I32": 32, "U32": 32, F32: 32,
	"I64": 64, "U64": 64, "F64": 64, "C64": 64,
}
