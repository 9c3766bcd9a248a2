package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/draft"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/internal/tokenizer"
	"github.com/paddock-go/paddock/internal/vocab"
	"github.com/paddock-go/paddock/kvcache"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// pageSize is the number of tokens in a KV page.
const pageSize = kvcache.DefaultPageSize

// draftRows bounds the rows of logits that drafts add to a step: a row is as wide
// as the vocabulary.
const draftRows = 128

// partEnding ends the name of a split file's first part.
var partEnding = regexp.MustCompile(`-[0-9]{5}-of-[0-9]{5}$`)

// Open loads the GGUF file at path; one that is split into parts by the path of
// the first, NAME-00001-of-0000N.gguf, which lies beside the others. A folder is
// loaded as the transformers library writes it: config.json, safetensors,
// tokenizer.json and what belongs to them. Nothing at path is touched once Open has
// returned.
func Open(path string, o Options) (*Engine, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		m, err := hf.Open(path, hf.Options{Q8_0: o.Weights == WeightsQ8_0})
		return openFolder(m, err, filepath.Base(path), o)
	}
	f, err := gguf.Open(path)
	return openGGUF(f, err, filepath.Base(path), o)
}

// OpenFS is Open of a file or folder of a file system, such as an embedded one.
func OpenFS(fsys fs.FS, name string, o Options) (*Engine, error) {
	if st, err := fs.Stat(fsys, name); err == nil && st.IsDir() {
		if err := refuseFS(fsys, name, &o); err != nil {
			return nil, err
		}
		m, err := hf.OpenFS(fsys, name, hf.Options{Q8_0: o.Weights == WeightsQ8_0})
		return openFolder(m, err, path.Base(name), o)
	}
	if err := refuseFS(fsys, name, &o); err != nil {
		return nil, err
	}
	f, err := gguf.OpenFS(fsys, name)
	return openGGUF(f, err, path.Base(name), o)
}

// text is what turns text into tokens and back, as a model comes with it.
type text struct {
	vocab    tokenizer.Vocab
	template string // "": none
}

func openFolder(m *hf.Model, err error, file string, o Options) (*Engine, error) {
	if err != nil {
		return nil, err
	}
	var x *text
	if m.Text {
		x = &text{m.Vocab, m.Template}
	}
	from := origin{notes: m.Notes, kind: "folder of safetensors", weights: "kept", weightsWhy: "Options.Weights is WeightsKept: F32, F16 and BF16 as they are, FP8 as F32"}
	if o.Weights == WeightsQ8_0 {
		from.weights, from.weightsWhy = "Q8_0", "Options.Weights is WeightsQ8_0: matrices whose rows are whole blocks of 32"
	}
	return open(m.File, file, o, from, func() (*text, error) { return x, nil })
}

func openGGUF(f *gguf.File, err error, file string, o Options) (*Engine, error) {
	if err != nil {
		return nil, err
	}
	if o.Weights != WeightsKept {
		return nil, errors.Join(&OptionsError{errors.New("Weights is for folders of safetensors; a GGUF file is loaded as it is")}, f.Close())
	}
	from := origin{kind: "GGUF", weights: "kept", weightsWhy: "a GGUF file's are always computed with in its formats"}
	if f.Parts() > 1 {
		from.kind = "split GGUF"
	}
	return open(f, file, o, from, func() (*text, error) {
		v, err := vocab.FromGGUF(f)
		if errors.Is(err, vocab.ErrNone) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		template, err := vocab.Template(f)
		return &text{v, template}, err
	})
}

// open makes an engine of a file, which it closes; read reads its text, nil if it has
// none.
func open(f *gguf.File, file string, o Options, from origin, read func() (*text, error)) (_ *Engine, err error) {
	defer f.Close()
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = partEnding.ReplaceAllString(strings.TrimSuffix(file, ".gguf"), "")
	}
	m, err := model.Lower(f, model.Options{Context: o.MaxContext})
	if err != nil {
		return nil, err
	}
	e := &Engine{name: o.Name, vocab: m.Program.Vocab, spec: o.Spec, log: o.Logger, rec: o.Metrics}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.free())
		}
	}()
	if len(o.Devices) == 0 {
		device := cpuDevice(o)
		e.release = append(e.release, device.Close)
		o.Devices = []Device{device}
		from.device = "the CPU, as Options name no device, with the widest instructions that it and its kernel have"
	}
	e.context, e.contextWhy = m.Program.Context, "the file's"
	e.pooled = pooledOf(m)
	if o.MaxContext > 0 && o.MaxContext < e.context {
		e.context, e.contextWhy = o.MaxContext, "Options.MaxContext"
	}
	src := model.NewSource(f)
	at, err := e.place(o, m.Program, src)
	if err != nil {
		return nil, err
	}
	device, sizes, r := at.device, at.plan, at.room
	if from.device == "" {
		from.device = at.why
	}
	if from.text, err = e.readText(read); err != nil {
		return nil, err
	}
	if e.tok != nil && e.tok.VocabSize() > e.vocab { // its last tokens would reach beyond the embedding
		return nil, &model.KeyError{Key: "tokenizer.ggml.tokens", Value: e.tok.VocabSize(), Bound: fmt.Sprintf("at most the rows of token_embd.weight, %d", e.vocab)}
	}
	for _, note := range from.notes {
		e.log.Warn("not all of the folder is used", "model", e.name, "what", note)
	}
	e.card = e.cardOf(f, m, device, sizes, r, o, from)
	loaded, err := device.Load(m.Program, src, func(done, total int64) {
		if o.Progress != nil {
			o.Progress(Progress{done, total})
		}
	})
	if err != nil {
		return nil, err
	}
	e.release = append(e.release, loaded.Close)
	defer func() {
		if c, ok := loaded.(backend.PanelCached); ok && err != nil {
			c.GiveUpPanels() // who is told of an error need not wait for them
		}
	}()
	e.card.addCache(loaded)
	return e.start(o, loaded, r, newEstimator(m.Program, model.WeightBytes(f), o.KVType))
}

// readText makes tokenizer and template. A model without a tokenizer serves requests
// that bring tokens.
func (e *Engine) readText(read func() (*text, error)) (*text, error) {
	x, err := read()
	if err != nil || x == nil {
		return nil, err
	}
	if e.tok, err = tokenizer.New(x.vocab); err != nil || x.template == "" {
		return x, err
	}
	e.learnt.source = x.template
	if e.tmpl, err = chat.Compile(x.template); err != nil {
		return nil, fmt.Errorf("engine: the model's chat template: %w", err)
	}
	return x, nil
}

// start makes scheduler, runner and loop, and sets the loop going. Without costs
// nothing is estimated.
func (e *Engine) start(o Options, loaded backend.Model, room *room, costs *estimator) (*Engine, error) {
	s, err := e.scheduler(o, room)
	if err != nil {
		return nil, err
	}
	limits := room.limits
	runner, err := loaded.NewRunner(limits)
	if err != nil {
		return nil, err
	}
	// The runner goes first, then the weights, then the device.
	e.release = append(e.release, runner.Close)
	l := &loop{
		sched: s, runner: runner, text: e.tokenBytes, in: &inbox{wake: make(chan struct{}, 1)}, pub: &publisher{},
		now: o.Metrics.Now, vocab: e.vocab, page: pageSize, context: e.context,
		spec:    draft.NGram{Max: 4, Min: 2, K: o.Spec.NGram},
		live:    make(map[sched.SeqID]*choice),
		width:   e.width(),
		maxRows: limits.LogitRows, maxSeqs: limits.Seqs,
		logits:  make([]float32, limits.LogitRows*e.width()),
		scratch: sample.NewScratch(e.vocab),
		pick:    newPicking(runner, limits.LogitRows),
		costs:   costs,
		log:     e.log,
		status:  &e.status,
	}
	l.books.fixed = metrics.Snapshot{PageSize: pageSize, MaxContext: e.context, KVType: kvLabels[limits.KVType]}
	l.books.fixed.Memory[metrics.MemoryWeights] = loaded.WeightBytes()
	l.books.fixed.Memory[metrics.MemoryKV] = room.kv
	l.books.fixed.Memory[metrics.MemoryScratch] = room.scratch
	l.books.fixed.Spec.Positions = o.Spec.NGram
	l.books.fixed.Estimated = costs != nil
	if o.ResidencySample > 0 {
		l.books.fixed.Residency = true
		s.Pool().Sample(max(1, uint64(o.ResidencySample*kvcache.SampleAll)), l.evicted)
	}
	l.publish()
	serves := e.serves()
	if e.model, err = o.Metrics.OpenModel(e.name, serves, l.pub); err != nil {
		return nil, err
	}
	e.release = append(e.release, e.model.Close)
	l.model = e.model
	e.inbox, e.pub, e.done = l.in, l.pub, make(chan struct{})
	go func() {
		defer close(e.done)
		e.loopErr = l.run()
	}()
	e.log.Info("model open", "model", e.name, "arch", e.card.Arch, "parameters", e.card.Params, "active", e.card.ActiveParams,
		"context", e.context, "kv_pages", limits.Pages, "weights_bytes", loaded.WeightBytes(), "kv_bytes", room.kv, "scratch_bytes", room.scratch)
	for _, c := range e.card.Choices {
		e.log.Debug("chosen", "model", e.name, "what", c.What, "choice", c.Choice, "why", c.Why)
	}
	return e, nil
}

// free releases what Open made so far, latest first.
func (e *Engine) free() error {
	var errs []error
	for i := len(e.release) - 1; i >= 0; i-- {
		errs = append(errs, e.release[i]())
	}
	e.release = nil
	return errors.Join(errs...)
}
