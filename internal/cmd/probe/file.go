package main

import (
	"errors"
	"fmt"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/tokenizer"
	"github.com/paddock-go/paddock/internal/vocab"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// maxContext is the most tokens of a sequence, as the golden references had it.
const maxContext = 512

// Sizes of the bare runner.
const (
	pageSize = 16
	rows     = 64 // tokens of a step
)

// file is an opened model file. Its parts are made when an op first needs them.
type file struct {
	path string
	tok  *tokenizer.Tokenizer
	eng  *engine.Engine
	bare *bare
}

// bare is a model without scheduler and engine: one sequence in pages 0, 1, ….
type bare struct {
	device backend.Device
	model  backend.Model
	runner backend.Runner
	vocab  int
	batch  prog.Batch
	logits []float32
}

// file returns the file of a path, which need not be readable yet.
func (p *probe) file(path string) (*file, error) {
	if path == "" {
		return nil, errors.New("model is missing")
	}
	f := p.files[path]
	if f == nil {
		f = &file{path: path}
		p.files[path] = f
	}
	return f, nil
}

func (p *probe) close() {
	for _, f := range p.files {
		if f.eng != nil {
			f.eng.Close()
		}
		if f.bare != nil {
			f.bare.close()
		}
	}
}

func (f *file) tokenizer() (*tokenizer.Tokenizer, error) {
	if f.tok != nil {
		return f.tok, nil
	}
	g, err := gguf.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	v, err := vocab.FromGGUF(g)
	if err != nil {
		return nil, err
	}
	f.tok, err = tokenizer.New(v)
	return f.tok, err
}

func (f *file) engine() (*engine.Engine, error) {
	if f.eng != nil {
		return f.eng, nil
	}
	var err error
	f.eng, err = engine.Open(f.path, engine.Options{
		MaxContext: maxContext, Metrics: metrics.Off, Limits: sched.Limits{MaxSequences: 1, MaxTokens: rows},
	})
	return f.eng, err
}

// run computes tokens as one sequence and hands out the logits of every position,
// or of the last one alone.
func (f *file) run(tokens []int32, all bool, each func(pos int, row []float32)) error {
	if len(tokens) == 0 || len(tokens) > maxContext {
		return fmt.Errorf("%d tokens, must be 1 to %d", len(tokens), maxContext)
	}
	if f.bare == nil {
		b, err := openBare(f.path)
		if err != nil {
			return err
		}
		f.bare = b
	}
	return f.bare.run(tokens, all, each)
}

func openBare(path string) (_ *bare, err error) {
	g, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	m, err := model.Lower(g)
	if err != nil {
		return nil, err
	}
	b := &bare{device: cpu.New(cpu.Options{}), vocab: m.Program.Vocab}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.model, err = b.device.Load(m.Program, model.NewSource(g), nil); err != nil {
		return nil, err
	}
	b.runner, err = b.model.NewRunner(backend.Limits{
		Rows: rows, Seqs: 1, LogitRows: rows, Pages: maxContext / pageSize, PageSize: pageSize, Context: maxContext,
	})
	b.logits = make([]float32, rows*b.vocab)
	return b, err
}

func (b *bare) close() {
	if b.runner != nil {
		b.runner.Close()
	}
	if b.model != nil {
		b.model.Close()
	}
	b.device.Close()
}

func (b *bare) run(tokens []int32, all bool, each func(pos int, row []float32)) error {
	for _, id := range tokens {
		if id < 0 || int(id) >= b.vocab {
			return fmt.Errorf("token %d, the vocabulary has ids 0 to %d", id, b.vocab-1)
		}
	}
	for from := 0; from < len(tokens); from += rows {
		to := min(from+rows, len(tokens))
		b.fill(tokens, from, to, all)
		n := len(b.batch.Logits)
		if err := b.runner.Run(&b.batch, b.logits[:n*b.vocab]); err != nil {
			return err
		}
		for i, row := range b.batch.Logits {
			each(from+int(row), b.logits[i*b.vocab:(i+1)*b.vocab])
		}
	}
	return nil
}

// fill writes rows from..to of the one sequence into the batch.
func (b *bare) fill(tokens []int32, from, to int, all bool) {
	x := &b.batch
	x.Reset()
	for pos := from; pos < to; pos++ {
		x.Tokens = append(x.Tokens, tokens[pos])
		x.Pos = append(x.Pos, int32(pos))
		x.Slots = append(x.Slots, int32(pos)) // page p holds positions 16p…16p+15
		if all || pos == len(tokens)-1 {
			x.Logits = append(x.Logits, int32(pos-from))
		}
	}
	x.SeqStart = append(x.SeqStart, 0, int32(to-from))
	x.CtxLen = append(x.CtxLen, int32(to))
	x.Stride = (to + pageSize - 1) / pageSize
	for page := range x.Stride {
		x.Tables = append(x.Tables, int32(page))
	}
}
