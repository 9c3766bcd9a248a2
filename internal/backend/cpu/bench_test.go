package cpu_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/model/synth"
)

// synthetic writes a made-up model of a shape and type.
func synthetic(tb testing.TB, shape, typ string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), shape+"."+typ+".gguf")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := synth.Write(w, shape, typ, 1); err != nil {
		tb.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

func benchLimits(context int) backend.Limits {
	return backend.Limits{Rows: 512, Seqs: 8, LogitRows: 8, Pages: 8 * (context + 15) / 16, PageSize: 16, Context: context}
}

// BenchmarkDecode is one sequence, a token a step, after a short prompt: the
// weights are read once a token.
func BenchmarkDecode(b *testing.B) {
	for _, typ := range []string{"Q8_0", "Q4_0"} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("135m/%s/threads=%d", typ, threads), func(b *testing.B) {
				d := cpu.New(cpu.Options{Threads: threads})
				p, m := backendtest.Load(b, d, synthetic(b, "135m", typ))
				s := backendtest.NewSession(b, p, m, benchLimits(512), nil)
				var seq backendtest.Seq
				s.Step(backendtest.Part{Seq: &seq, Tokens: make([]int32, 16), Logits: true})
				batch := s.Fill(backendtest.Part{Seq: &seq, Tokens: []int32{1}, Logits: true})
				logits := make([]float32, p.Vocab)
				b.SetBytes(m.WeightBytes())
				b.ReportAllocs()
				for b.Loop() { // the same position again and again: the same work
					if err := s.Runner().Run(batch, logits); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tok/s")
			})
		}
	}
}

// BenchmarkPrompt is one prompt of 512 tokens in one batch.
func BenchmarkPrompt(b *testing.B) {
	for _, typ := range []string{"Q8_0", "Q4_0"} {
		b.Run("135m/"+typ, func(b *testing.B) {
			d := cpu.New(cpu.Options{})
			p, m := backendtest.Load(b, d, synthetic(b, "135m", typ))
			s := backendtest.NewSession(b, p, m, benchLimits(512), nil)
			var seq backendtest.Seq
			batch := s.Fill(backendtest.Part{Seq: &seq, Tokens: make([]int32, 512), Logits: true})
			logits := make([]float32, p.Vocab)
			for b.Loop() {
				if err := s.Runner().Run(batch, logits); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(512*float64(b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}
