package ptxsim

import (
	"errors"
	"strings"
	"testing"
)

// TestRefusals: what is not known is refused by name and line, never guessed.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ body, what string }{
		{"frobnicate.u32 %r1, %r2;", "instruction frobnicate.u32 is not known"},
		{"add.rz.f32 %f1, %f1, %f1;", "add.rz.f32 is not known"},
		{"add.u8 %h1, %h1, %h1;", "add.u8 is not known"},
		{"add.u32 %r1, %r1;", "2 operands, must be 3 to 3"},
		{"add.u32 %r1, %nope, 1;", `"%nope" is not declared`},
		{"add.u64 %d1, %d1, %r1;", "register %r1 of 32 bits where 64 are read"},
		{"mul.wide.s32 %r1, %t, %t;", "register %r1 of 32 bits for a result of 64"},
		{"add.u32 %r1, %r2, 1;", "nothing writes"},
		{"setp.lo.s32 %p1, %t, 1;", "setp.lo.s32 is not known"},
		{"cvt.f32.bf16 %f1, %h1;", "is not known"},
		{"cvt.f32.s32 %f1, %t;", "is not known"},
		{"ld.global.b128 %d1, [%i];", "is not known"},
		{"ld.global.u32 %r1, [%t];", "global address in register %t of 32 bits"},
		{"st.const.u32 [%i], %t;", "is not known"},
		{"bra NOWHERE;", "no such label"},
		{"shfl.bfly.b32 %r1, %t, 1, 31;", "is not known"},
		{"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d1}, {%d1}, {%d1,%d2};", "is not known"},
		{"cp.async.cg.shared.global [%d1], [%i], 8;", "a copy of 8 bytes"},
		{"call f, (%r1);", "instruction call is not known"},
		{"wgmma.fence.sync.aligned;", "is not known"},
		{"@%t add.u32 %r1, %t, 1;", "no predicate"},
	} {
		_, err := Parse(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>, %t;\n.reg .f32 %f<8>;\n.reg .b64 %d<8>, %i;\nmov.u32 %t, %tid.x; mov.u64 %i, 0; mov.f32 %f1, %f1; mov.u16 %h1, 1; mov.u64 %d1, 1;\n" + c.body + "\nret;\n}\n")
		var p *ParseError
		if !errors.As(err, &p) || p.Line != 12 || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: %v, must be refused in line 12 with %q", c.body, err, c.what)
		}
	}
	for _, src := range []string{"", "hello", ".version 7.0\n.target sm_80\n.extern .func f;\n", ".target sm_80\n.entry k()\n{\n.reg .b32 %r1;\n", ".target sm_80\n.entry k(.param .u64", ".target sm_80\n.address_size 32\n"} {
		if _, err := Parse(src); err == nil {
			t.Errorf("%q was accepted", src)
		}
	}
}
