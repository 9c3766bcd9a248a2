package fakedriver_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model/synth"
	"github.com/paddock-go/paddock/internal/race"
	"github.com/paddock-go/paddock/internal/session"
)

// TestPlanted puts a fault into a kernel that is committed, and runs a model on it:
// the interpreter must catch each.
func TestPlanted(t *testing.T) {
	if race.Enabled {
		return // the interpreter has one goroutine, and is twenty times as slow
	}
	file, want := tiny(t)
	got, fake, err := simulated(t, file, ptx.Files)
	if err != nil {
		t.Fatalf("the kernels as they are: %v; %v", err, fake.Fault())
	}
	if off := apart(want, got); off > 1e-5 {
		t.Fatalf("the kernels as they are: logits differ by %.2g of the largest", off)
	}
	for _, c := range []struct {
		what, module, kernel string
		old, new             string // a regular expression within the kernel, and what takes the place of its last match
		faults               []ptxsim.FaultKind
	}{
		{"a missing barrier", "norm.ptx", "norm_rms_q8x32", `\tbar\.sync \t0;\n`, "", []ptxsim.FaultKind{ptxsim.SharedRace, ptxsim.Uninitialised}},
		{"a race", "norm.ptx", "norm_rms_q8x32", `(add\.s64 \t%rd\d+, (%rd\d+), %rd\d+;\n\tst\.shared\.f32 \t)\[%rd\d+\]`, "$1[$2]", []ptxsim.FaultKind{ptxsim.SharedRace}},
		// By more than all memory: by less, the write may hit what another block reads
		// before it hits nothing, and is caught as a race.
		{"a write beyond a buffer", "act.ptx", "gate_mul_q8x32", `st\.global\.v4\.f32 \t\[(%rd\d+)\]`, "st.global.v4.f32 \t[$1+16777216]", []ptxsim.FaultKind{ptxsim.OutOfBounds}},
	} {
		if testing.Short() && c.what != "a missing barrier" {
			continue
		}
		t.Run(c.what, func(t *testing.T) {
			_, fake, err := simulated(t, file, edited(t, c.module, c.kernel, c.old, c.new))
			var failed *driver.Error
			var fault *ptxsim.Fault
			if !errors.As(err, &failed) || !errors.As(fake.Fault(), &fault) {
				t.Fatalf("it was not caught: %v; %v", err, fake.Fault())
			}
			if !slices.Contains(c.faults, fault.Kind) || fault.Kernel != c.kernel {
				t.Errorf("caught as %v, want %v in %s", fault, c.faults, c.kernel)
			}
		})
	}
}

// TestPlantedSub flips one add into a sub: no check of the interpreter can know, but the
// logits do.
func TestPlantedSub(t *testing.T) {
	if race.Enabled {
		return
	}
	file, want := tiny(t)
	for _, c := range []struct{ module, kernel, old, new string }{
		{"norm.ptx", "norm_rms_q8x32", `(shfl\.sync\.bfly[^\n]*\n\t)add\.f32 `, "${1}sub.f32 "},
		{"linear_q8_0.ptx", "gemv_q8_0_8", `(shfl\.sync\.bfly[^\n]*\n\t)add\.f32 `, "${1}sub.f32 "},
		{"rope.ptx", "rope_append_f16", `\tadd\.rn\.f32 `, "\tsub.rn.f32 "},
	} {
		if testing.Short() && c.kernel != "norm_rms_q8x32" {
			continue
		}
		t.Run(c.kernel, func(t *testing.T) {
			got, fake, err := simulated(t, file, edited(t, c.module, c.kernel, c.old, c.new))
			if err != nil {
				t.Fatalf("it was caught before the logits: %v; %v", err, fake.Fault())
			}
			if off := apart(want, got); off < 1e-3 {
				t.Errorf("logits differ by %.2g of the largest: the flipped add was not caught", off)
			}
		})
	}
}

// tiny is a model and its logits on the CPU.
func tiny(t *testing.T) (file []byte, want []float32) {
	t.Helper()
	var b bytes.Buffer
	if err := synth.Write(&b, "tiny-llama", "Q8_0", 1); err != nil {
		t.Fatal(err)
	}
	host := cpu.New(cpu.Options{Threads: 1})
	defer host.Close()
	want, err := logits(b.Bytes(), host)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), want
}

// edited is the committed modules with one edit.
func edited(t *testing.T, module, kernel, old, new string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	texts, err := ptx.Read(ptx.Files)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		out[name] = &fstest.MapFile{Data: text}
	}
	text := string(out[module].Data)
	begin := strings.Index(text, ".entry "+kernel+"(")
	if begin < 0 {
		t.Fatalf("%s has no kernel %s", module, kernel)
	}
	body := text[begin:]
	if end := strings.Index(body[1:], ".entry "); end >= 0 {
		body = body[:end+1]
	}
	pattern := regexp.MustCompile(old)
	all := pattern.FindAllStringSubmatchIndex(body, -1)
	if len(all) == 0 {
		t.Fatalf("kernel %s has no %s: the fault that this test plants must be looked for anew", kernel, old)
	}
	m := all[len(all)-1]
	changed := body[:m[0]] + string(pattern.ExpandString(nil, new, body, m)) + body[m[1]:]
	out[module] = &fstest.MapFile{Data: []byte(text[:begin] + changed + text[begin+len(body):])}
	return out
}

// simulated runs a prompt on the backend over a fake driver.
func simulated(t *testing.T, file []byte, modules fs.FS) ([]float32, *fakedriver.Driver, error) {
	t.Helper()
	fake := fakedriver.New(fakedriver.Options{})
	d, err := driver.New(fake.Library())
	if err != nil {
		t.Fatal(err)
	}
	dev, err := cuda.Open(cuda.Options{Driver: d, Modules: modules, Apart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	out, err := logits(file, dev)
	return out, fake, err
}

// logits are those after a prompt of five tokens.
func logits(file []byte, d backend.Device) ([]float32, error) {
	f, err := gguf.Parse(file)
	if err != nil {
		return nil, err
	}
	s, err := session.OpenFile(f, d, session.Limits{Seqs: 1, Context: 16, Rows: 5, Logits: 1}, nil)
	if err != nil {
		return nil, err
	}
	out, err := s.Step(session.Span{Tokens: []int32{3, 141, 59, 26, 5}})
	out = append([]float32(nil), out...)
	return out, errors.Join(err, s.Close())
}

// apart is the largest difference, as a share of the largest value.
func apart(want, got []float32) float64 {
	size, off := 0.0, 0.0
	for i := range want {
		size = max(size, math.Abs(float64(want[i])))
		d := math.Abs(float64(want[i]) - float64(got[i]))
		if d != d {
			return math.Inf(1)
		}
		off = max(off, d)
	}
	return off / size
}
