package cuda

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/prog"
)

// le is the byte order of the device.
var le = binary.LittleEndian

// compiler makes an op of the program for a runner. What is not supported is an
// *UnsupportedError, whatever the limits.
type compiler func(r *rig, o prog.Op) (op, error)

// compilers are the ops that this backend has.
var compilers = map[string]compiler{
	prog.Activate{}.Kind():   of(compileActivate),
	prog.AddTo{}.Kind():      of(compileAddTo),
	prog.Attend{}.Kind():     of(compileAttend),
	prog.Embed{}.Kind():      of(compileEmbed),
	prog.Experts{}.Kind():    of(compileExperts),
	prog.GateMul{}.Kind():    of(compileGateMul),
	prog.Head{}.Kind():       of(compileHead),
	prog.HeadLinear{}.Kind(): of(compileHeadLinear),
	prog.Linear{}.Kind():     of(compileLinear),
	prog.Norm{}.Kind():       of(compileNorm),
	prog.Output{}.Kind():     of(compileOutput),
	prog.Pool{}.Kind():       of(compilePool),
	prog.Route{}.Kind():      of(compileRoute),
	prog.RopeAppend{}.Kind(): of(compileRopeAppend),
	prog.RowScale{}.Kind():   of(compileRowScale),
	prog.ShortConv{}.Kind():  of(compileShortConv),
	prog.TakeRows{}.Kind():   of(compileTakeRows),
}

// of is a compiler of one kind of op.
func of[O prog.Op](compile func(r *rig, o O) (op, error)) compiler {
	return func(r *rig, o prog.Op) (op, error) { return compile(r, o.(O)) }
}
