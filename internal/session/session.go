// Package session runs a model without scheduler and engine: a fixed number of
// sequences, each in pages of its own, stepped by hand. The probe and the
// benchmark use it, since they want bare logits and bare steps.
package session

import (
	"errors"
	"fmt"
	"os"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/prog"
)

const pageSize = 16

// Limits are what a session's memory is made for.
type Limits struct {
	Seqs    int // sequences
	Context int // tokens of each
	Rows    int // most tokens of one step, over all sequences
	Logits  int // most rows of logits of one step
	KVType  backend.KVType
}

// Session is an open model with its sequences. One goroutine uses it at a time.
type Session struct {
	limits Limits
	pages  int // of a sequence
	vocab  int
	width  int  // of a row of output
	embeds bool // output is embeddings
	atomic bool // a sequence is one step
	model  backend.Model
	runner backend.Runner
	reads  *reads
	batch  prog.Batch
	logits []float32
}

// Span is a part of one sequence in a step: tokens that come at positions From
// and on.
type Span struct {
	Seq    int
	From   int
	Tokens []int32
	All    bool // logits of every token, else of the last one
}

// Open loads the GGUF file or the folder of safetensors at path onto a device, which
// stays the caller's. progress may be nil.
func Open(path string, device backend.Device, l Limits, progress func(done, total int64)) (*Session, error) {
	f, err := openPath(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return OpenFile(f, device, l, progress)
}

func openPath(path string) (*gguf.File, error) {
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return gguf.Open(path)
	}
	m, err := hf.Open(path, hf.Options{})
	if err != nil {
		return nil, err
	}
	return m.File, nil
}

// OpenFile is Open of an open file, which stays the caller's and is of no more use to
// the session afterwards.
func OpenFile(f *gguf.File, device backend.Device, l Limits, progress func(done, total int64)) (_ *Session, err error) {
	m, err := model.Lower(f, model.Options{Context: l.Context})
	if err != nil {
		return nil, err
	}
	l.Context = min(l.Context, m.Program.Context)
	if m.Program.Atomic {
		l.Rows = max(l.Rows, l.Context)
	}
	s := &Session{limits: l, pages: (l.Context + pageSize - 1) / pageSize, vocab: m.Program.Vocab, width: m.Program.OutWidth()}
	s.embeds, s.atomic = m.Program.Embeds(), m.Program.Atomic
	s.reads = newReads(f, m.Program, l.KVType)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.model, err = device.Load(m.Program, model.NewSource(f), progress); err != nil {
		return nil, err
	}
	s.runner, err = s.model.NewRunner(backend.Limits{
		Rows: l.Rows, Seqs: l.Seqs, LogitRows: l.Logits, Pages: s.pages * l.Seqs, PageSize: pageSize, Context: l.Context, KVType: l.KVType,
	})
	s.logits = make([]float32, l.Logits*s.width)
	return s, err
}

// Vocab is the number of tokens, and the width of a row of logits.
func (s *Session) Vocab() int { return s.vocab }

// Embeds tells whether rows of output are embeddings and not logits.
func (s *Session) Embeds() bool { return s.embeds }

// Atomic tells whether a sequence has to be one step.
func (s *Session) Atomic() bool { return s.atomic }

// Context is the most tokens of a sequence.
func (s *Session) Context() int { return s.limits.Context }

// WeightBytes is the memory that the weights take.
func (s *Session) WeightBytes() int64 { return s.model.WeightBytes() }

// Step computes spans in one step and returns the rows of logits that they want,
// in order, or the pooled rows of a model that embeds, valid until the next call. In a warm session it allocates nothing.
func (s *Session) Step(spans ...Span) ([]float32, error) {
	b := &s.batch
	b.Reset()
	b.SeqStart = append(b.SeqStart, 0)
	b.Stride = s.pages
	for _, p := range spans {
		if p.Seq < 0 || p.Seq >= s.limits.Seqs || p.From < 0 || len(p.Tokens) == 0 || p.From+len(p.Tokens) > s.limits.Context {
			return nil, fmt.Errorf("session: %d tokens at %d of sequence %d do not fit %d sequences of %d tokens",
				len(p.Tokens), p.From, p.Seq, s.limits.Seqs, s.limits.Context)
		}
		first := p.Seq * s.pages
		for i, id := range p.Tokens {
			if id < 0 || int(id) >= s.vocab {
				return nil, fmt.Errorf("session: token %d, the vocabulary has ids 0 to %d", id, s.vocab-1)
			}
			if p.All || i == len(p.Tokens)-1 {
				b.Logits = append(b.Logits, int32(len(b.Tokens)))
			}
			b.Tokens = append(b.Tokens, id)
			b.Pos = append(b.Pos, int32(p.From+i))
			b.Slots = append(b.Slots, int32(first*pageSize+p.From+i))
		}
		b.SeqStart = append(b.SeqStart, int32(len(b.Tokens)))
		b.CtxLen = append(b.CtxLen, int32(p.From+len(p.Tokens)))
		for page := range s.pages {
			b.Tables = append(b.Tables, int32(first+page))
		}
	}
	if len(b.Logits) > s.limits.Logits {
		return nil, fmt.Errorf("session: %d rows of logits, at most %d fit", len(b.Logits), s.limits.Logits)
	}
	out := s.logits[:len(b.Logits)*s.width]
	return out, s.runner.Run(b, out)
}

// Close frees runner and weights.
func (s *Session) Close() error {
	var errs []error
	if s.runner != nil {
		errs = append(errs, s.runner.Close())
	}
	if s.model != nil {
		errs = append(errs, s.model.Close())
	}
	return errors.Join(errs...)
}
