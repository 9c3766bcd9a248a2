package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/quant"
)

// query is an input line: the fields of all ops.
type query struct {
	Op           string          `json:"op"`
	Model        string          `json:"model"`
	Tokens       []int32         `json:"tokens"`
	N            int             `json:"n"`
	Text         string          `json:"text"`
	AddSpecial   bool            `json:"add_special"`
	ParseSpecial bool            `json:"parse_special"`
	IDs          []int32         `json:"ids"`
	SkipSpecial  bool            `json:"skip_special"`
	Template     string          `json:"template"`
	Input        json.RawMessage `json:"input"`
	Now          string          `json:"now"`
	Type         string          `json:"type"`
	Hex          string          `json:"hex"`
}

// ops is the table of what can be asked.
var ops = map[string]func(p *probe, q *query) (map[string]any, error){
	"logits":     logits,
	"greedy":     greedy,
	"nll":        nll,
	"embed":      embed,
	"tokenize":   tokenize,
	"detokenize": detokenize,
	"template":   template,
	"dequant":    dequant,
}

// probe holds the opened files.
type probe struct {
	files map[string]*file
}

// answer carries out one line. A panic is an error like others.
func (p *probe) answer(line []byte) (out map[string]any) {
	defer func() {
		if r := recover(); r != nil {
			out = failure(fmt.Errorf("panic: %v", r))
		}
	}()
	var q query
	if err := json.Unmarshal(line, &q); err != nil {
		return failure(err)
	}
	op, ok := ops[q.Op]
	if !ok {
		return failure(errors.New("unsupported op: " + q.Op))
	}
	out, err := op(p, &q)
	if err != nil {
		return failure(err)
	}
	return out
}

func logits(p *probe, q *query) (map[string]any, error) {
	f, err := p.file(q.Model)
	if err != nil {
		return nil, err
	}
	var last []float32
	err = f.run(q.Tokens, false, func(_ int, row []float32) { last = append(last[:0], row...) })
	if err != nil {
		return nil, err
	}
	return map[string]any{"logits": last}, nil
}

func embed(p *probe, q *query) (map[string]any, error) {
	f, err := p.file(q.Model)
	if err != nil {
		return nil, err
	}
	pooled, err := f.embed(q.Tokens)
	if err != nil {
		return nil, err
	}
	return map[string]any{"embedding": pooled}, nil
}

func nll(p *probe, q *query) (map[string]any, error) {
	f, err := p.file(q.Model)
	if err != nil {
		return nil, err
	}
	losses := []float64{}
	err = f.run(q.Tokens, true, func(pos int, row []float32) {
		if pos+1 == len(q.Tokens) {
			return
		}
		top, sum := math.Inf(-1), 0.0
		for _, x := range row {
			top = max(top, float64(x))
		}
		for _, x := range row {
			sum += num.Exp64(float64(x) - top)
		}
		losses = append(losses, top+num.Log64(sum)-float64(row[q.Tokens[pos+1]]))
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"nll": losses}, nil
}

func greedy(p *probe, q *query) (map[string]any, error) {
	f, err := p.file(q.Model)
	if err != nil {
		return nil, err
	}
	e, err := f.engine()
	if err != nil {
		return nil, err
	}
	r, err := e.Complete(context.Background(), engine.Request{Tokens: q.Tokens, MaxTokens: q.N, IgnoreEOS: true})
	if err != nil {
		return nil, err
	}
	ids := []int32{}
	for _, t := range r.Choices[0].Tokens {
		ids = append(ids, t.ID)
	}
	return map[string]any{"tokens": ids}, nil
}

func tokenize(p *probe, q *query) (map[string]any, error) {
	f, err := p.file(q.Model)
	if err != nil {
		return nil, err
	}
	tok, err := f.tokenizer()
	if err != nil {
		return nil, err
	}
	return map[string]any{"ids": append([]int32{}, tok.Encode(q.Text, q.AddSpecial, q.ParseSpecial)...)}, nil
}

func detokenize(p *probe, q *query) (map[string]any, error) {
	f, err := p.file(q.Model)
	if err != nil {
		return nil, err
	}
	tok, err := f.tokenizer()
	if err != nil {
		return nil, err
	}
	return map[string]any{"text": tok.DecodeAsReference(q.IDs, q.SkipSpecial)}, nil
}

func template(_ *probe, q *query) (map[string]any, error) {
	now := time.Now()
	if q.Now != "" {
		var err error
		if now, err = time.Parse("2006-01-02T15:04:05", q.Now); err != nil {
			return nil, err
		}
	}
	t, err := chat.Compile(q.Template)
	if err != nil {
		return nil, err
	}
	v, err := chat.DecodeJSON(q.Input, 0)
	if err != nil {
		return nil, err
	}
	vars, ok := v.(*chat.Map)
	if !ok {
		return nil, errors.New("input is no JSON object")
	}
	text, err := t.Render(vars, chat.Options{Now: now})
	if err != nil {
		return nil, err
	}
	return map[string]any{"text": text}, nil
}

func dequant(_ *probe, q *query) (map[string]any, error) {
	f, ok := quant.ByName(q.Type)
	if !ok {
		return nil, fmt.Errorf("no format %q; there are %s", q.Type, strings.Join(formatNames(), ", "))
	}
	raw, err := hex.DecodeString(q.Hex)
	if err != nil {
		return nil, err
	}
	if len(raw)%f.BlockBytes != 0 {
		return nil, fmt.Errorf("%d bytes are not whole blocks of %d", len(raw), f.BlockBytes)
	}
	values := make([]float32, len(raw)/f.BlockBytes*f.BlockElems)
	f.Decode(values, raw)
	return map[string]any{"values": values}, nil
}

func formatNames() []string {
	var names []string
	for _, f := range quant.Formats() {
		names = append(names, f.Name)
	}
	return names
}
