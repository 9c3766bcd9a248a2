package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/session"
	"github.com/paddock-go/paddock/internal/tokenizer"
	"github.com/paddock-go/paddock/internal/vocab"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// maxContext is the most tokens of a sequence, as the golden references had it.
const maxContext = 512

// rows is the most tokens of a step.
const rows = 64

// file is an opened model file. Its parts are made when an op first needs them.
type file struct {
	path string
	tok  *tokenizer.Tokenizer
	eng  *engine.Engine
	dev  *cpu.Device
	bare *session.Session
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
			f.bare.Close()
			f.dev.Close()
		}
	}
}

func (f *file) tokenizer() (*tokenizer.Tokenizer, error) {
	if f.tok != nil {
		return f.tok, nil
	}
	v, err := readVocab(f.path)
	if err != nil {
		return nil, err
	}
	f.tok, err = tokenizer.New(v)
	return f.tok, err
}

// readVocab reads the vocabulary of a GGUF file, of a tokenizer.json, or of a folder
// that holds one and a tokenizer_config.json.
func readVocab(path string) (tokenizer.Vocab, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return tokenizer.Vocab{}, err
	case info.IsDir():
		return readFolder(path)
	case strings.EqualFold(filepath.Ext(path), ".json"):
		data, err := os.ReadFile(path)
		if err != nil {
			return tokenizer.Vocab{}, err
		}
		return vocab.FromJSON(data)
	}
	g, err := gguf.Open(path)
	if err != nil {
		return tokenizer.Vocab{}, err
	}
	defer g.Close()
	return vocab.FromGGUF(g)
}

func readFolder(path string) (tokenizer.Vocab, error) {
	data, err := os.ReadFile(filepath.Join(path, "tokenizer.json"))
	if err != nil {
		return tokenizer.Vocab{}, err
	}
	v, err := vocab.FromJSON(data)
	if err != nil {
		return v, err
	}
	data, err = os.ReadFile(filepath.Join(path, "tokenizer_config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	c, err := vocab.ReadConfig(data)
	if err == nil {
		c.Apply(&v)
	}
	return v, err
}

func (f *file) engine() (*engine.Engine, error) {
	if f.eng != nil {
		return f.eng, nil
	}
	var err error
	f.eng, err = engine.Open(f.path, engine.Options{
		MaxContext: maxContext, KVType: engine.KVF32, Metrics: metrics.Off, Limits: sched.Limits{MaxSequences: 1, MaxTokens: rows},
	})
	return f.eng, err
}

// session is the file's model without an engine.
func (f *file) session() (_ *session.Session, err error) {
	if f.bare != nil {
		return f.bare, nil
	}
	dev := cpu.New(cpu.Options{})
	f.bare, err = session.Open(f.path, dev, session.Limits{Seqs: 1, Context: maxContext, Rows: rows, Logits: rows, KVType: engine.KVF32}, nil)
	if err != nil {
		dev.Close()
		return nil, err
	}
	f.dev = dev
	return f.bare, nil
}

// run computes tokens as one sequence and hands out the logits of every position,
// or of the last one alone.
func (f *file) run(tokens []int32, all bool, each func(pos int, row []float32)) error {
	s, err := f.opened(tokens)
	if err != nil {
		return err
	}
	if s.Embeds() {
		return errors.New("the model gives embeddings and no logits; ask embed")
	}
	return steps(s, tokens, all, each)
}

// embed is the pooled row of tokens.
func (f *file) embed(tokens []int32) (pooled []float32, err error) {
	s, err := f.opened(tokens)
	if err != nil {
		return nil, err
	}
	if !s.Embeds() {
		return nil, errors.New("the model's file names no pooling_type, so it gives logits and no embedding")
	}
	err = steps(s, tokens, false, func(_ int, row []float32) { pooled = append(pooled, row...) })
	return pooled, err
}

// opened is the session for a sequence of tokens.
func (f *file) opened(tokens []int32) (*session.Session, error) {
	s, err := f.session()
	if err == nil && (len(tokens) == 0 || len(tokens) > s.Context()) {
		err = fmt.Errorf("%d tokens, must be 1 to %d", len(tokens), s.Context())
	}
	if err != nil || s.Embeds() { // the width of its rows is not that of the vocabulary
		return s, err
	}
	for i, id := range tokens { // those of a later step are the answers of an earlier one
		if id < 0 || int(id) >= s.Vocab() {
			return nil, fmt.Errorf("tokens[%d] is %d, the vocabulary has ids 0 to %d", i, id, s.Vocab()-1)
		}
	}
	return s, nil
}

// steps computes tokens in chunks, or at once where they can't be cut.
func steps(s *session.Session, tokens []int32, all bool, each func(pos int, row []float32)) error {
	chunk := rows
	if s.Atomic() {
		chunk = len(tokens)
	}
	for from := 0; from < len(tokens); from += chunk {
		to := min(from+chunk, len(tokens))
		out, err := s.Step(session.Span{From: from, Tokens: tokens[from:to], All: all})
		if err != nil {
			return err
		}
		if all {
			for i := range to - from {
				each(from+i, out[i*s.Vocab():(i+1)*s.Vocab()])
			}
		} else if to == len(tokens) {
			each(to-1, out)
		}
	}
	return nil
}
