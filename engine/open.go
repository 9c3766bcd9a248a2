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
		m, err := hf.OpenFS(fsys, name, hf.Options{Q8_0: o.Weights == WeightsQ8_0})
		return openFolder(m, err, path.Base(name), o)
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
	return open(m.File, file, o, func() (*text, error) { return x, nil })
}

func openGGUF(f *gguf.File, err error, file string, o Options) (*Engine, error) {
	if err != nil {
		return nil, err
	}
	if o.Weights != WeightsKept {
		return nil, errors.Join(&OptionsError{errors.New("Weights is for folders of safetensors; a GGUF file is loaded as it is")}, f.Close())
	}
	return open(f, file, o, func() (*text, error) {
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
func open(f *gguf.File, file string, o Options, read func() (*text, error)) (_ *Engine, err error) {
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
	if err := e.readText(read); err != nil {
		return nil, err
	}
	if e.tok != nil && e.tok.VocabSize() > e.vocab { // its last tokens would reach beyond the embedding
		return nil, &model.KeyError{Key: "tokenizer.ggml.tokens", Value: e.tok.VocabSize(), Bound: fmt.Sprintf("at most the rows of token_embd.weight, %d", e.vocab)}
	}
	e.context = m.Program.Context
	e.pooled = pooledOf(m)
	if o.MaxContext > 0 {
		e.context = min(e.context, o.MaxContext)
	}

	device := backend.Device(nil)
	if len(o.Devices) > 0 {
		device = o.Devices[0] // the caller's, who closes it
	} else {
		device = cpuDevice(o)
		e.release = append(e.release, device.Close)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.free())
		}
	}()
	loaded, err := device.Load(m.Program, model.NewSource(f), func(done, total int64) {
		if o.Progress != nil {
			o.Progress(Progress{done, total})
		}
	})
	if err != nil {
		return nil, err
	}
	e.release = append(e.release, loaded.Close)
	return e.start(o, loaded, newEstimator(m.Program, weightBytes(f), kvBytes[o.KVType]))
}

// readText makes tokenizer and template. A model without a tokenizer serves requests
// that bring tokens.
func (e *Engine) readText(read func() (*text, error)) error {
	x, err := read()
	if err != nil || x == nil {
		return err
	}
	if e.tok, err = tokenizer.New(x.vocab); err != nil || x.template == "" {
		return err
	}
	if e.tmpl, err = chat.Compile(x.template); err != nil {
		return fmt.Errorf("engine: the model's chat template: %w", err)
	}
	return nil
}

// start makes scheduler, runner and loop, and sets the loop going. Without costs
// nothing is estimated.
func (e *Engine) start(o Options, loaded backend.Model, costs *estimator) (*Engine, error) {
	s, limits, err := e.scheduler(o, loaded)
	if err != nil {
		return nil, err
	}
	runner, err := loaded.NewRunner(limits)
	if err != nil {
		return nil, err
	}
	// The runner goes first, then the weights, then the device.
	e.release = append(e.release, runner.Close)
	kv, scratch := loaded.RunnerBytes(limits)
	l := &loop{
		sched: s, runner: runner, text: e.tokenBytes, in: &inbox{wake: make(chan struct{}, 1)}, pub: &publisher{},
		now: o.Metrics.Now, vocab: e.vocab, page: pageSize, context: e.context,
		spec:    draft.NGram{Max: 4, Min: 2, K: o.Spec.NGram},
		live:    make(map[sched.SeqID]*choice),
		width:   e.width(),
		maxRows: limits.LogitRows, maxSeqs: limits.Seqs,
		logits:  make([]float32, limits.LogitRows*e.width()),
		scratch: sample.NewScratch(e.vocab),
		costs:   costs,
		log:     e.log,
		status:  &e.status,
	}
	l.books.fixed = metrics.Snapshot{PageSize: pageSize, MaxContext: e.context, KVType: metrics.KVF32}
	l.books.fixed.Memory[metrics.MemoryWeights] = loaded.WeightBytes()
	l.books.fixed.Memory[metrics.MemoryKV] = kv
	l.books.fixed.Memory[metrics.MemoryScratch] = scratch + int64(len(l.logits))*4
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
	e.log.Info("model open", "model", e.name, "context", e.context, "kv_pages", limits.Pages,
		"weights_bytes", loaded.WeightBytes(), "kv_bytes", kv, "scratch_bytes", scratch)
	return e, nil
}

// scheduler returns the caller's scheduler or a new one, and the limits that the
// runner is made for.
func (e *Engine) scheduler(o Options, loaded backend.Model) (*sched.Scheduler, backend.Limits, error) {
	l := backend.Limits{PageSize: pageSize, Context: e.context, KVType: o.KVType}
	s := o.Scheduler
	if s != nil {
		if got := s.Pool().PageSize(); got != pageSize {
			return nil, l, &OptionsError{fmt.Errorf("the pool of Scheduler has pages of %d tokens, must be %d", got, pageSize)}
		}
		sl := s.Limits()
		l.Pages, l.Rows, l.Seqs = s.Pool().Pages(), sl.MaxTokens, sl.MaxSequences
		if sl.MaxContext > 0 {
			e.context = min(e.context, sl.MaxContext)
			l.Context = e.context
		}
	} else {
		if o.Limits.MaxContext > 0 {
			e.context = min(e.context, o.Limits.MaxContext)
			l.Context = e.context
		}
		if e.pooled.atomic && o.Limits.MaxTokens == 0 { // a sequence is one step
			o.Limits.MaxTokens = max(sched.DefaultMaxTokens, o.Limits.MaxSequences, e.context)
		}
		o.Limits.MaxContext = e.context
		d := o.Limits.WithDefaults()
		l.Rows, l.Seqs = d.MaxTokens, d.MaxSequences
	}
	if e.pooled.atomic {
		e.context = min(e.context, l.Rows)
		l.Context = e.context
	}
	e.window = min(l.Seqs, queueOf(o, s))
	l.LogitRows = l.Seqs + min(l.Seqs*e.spec.NGram, draftRows)
	if s == nil {
		l.Pages = e.pages(o, loaded, l)
	}
	kv, scratch := loaded.RunnerBytes(l)
	kv += int64(l.Pages) * recordBytes
	scratch += 4 * int64(l.LogitRows) * int64(e.width())
	if avail := availableMemory(); kv < 0 || scratch < 0 || kv > avail-scratch { // the weights are there already
		return nil, l, &MemoryError{Weights: loaded.WeightBytes(), KV: kv, Scratch: scratch, Available: avail + loaded.WeightBytes()}
	}
	if s == nil {
		pool, err := kvcache.New(l.Pages, pageSize)
		if err != nil {
			return nil, l, &OptionsError{err}
		}
		s = sched.New(pool, o.Limits)
	}
	if !s.Claim() || !s.Idle() {
		return nil, l, &OptionsError{errors.New("the Scheduler is in use already; make one for each engine")}
	}
	return s, l, nil
}

// recordBytes is about what scheduler and cache keep of a page, beside its content.
const recordBytes = 200

// mostPages bounds the default number of pages: the context that a file states
// must not decide alone how much is kept of them.
const mostPages = 1 << 20

// pages is the number of KV pages to make: as asked, or full contexts for all
// sequences as far as memory goes, and one full context at least.
func (e *Engine) pages(o Options, loaded backend.Model, l backend.Limits) int {
	if o.KVPages > 0 {
		return o.KVPages
	}
	context := (e.context + pageSize - 1) / pageSize
	if e.pooled.atomic { // nothing is kept from one step to the next
		return max(context, l.Rows/pageSize+l.Seqs)
	}
	one := l
	one.Pages = 1
	perPage, _ := loaded.RunnerBytes(one)
	perPage += recordBytes
	fit := int(kvShare * float64(availableMemory()) / float64(max(perPage, 1)))
	return max(context, min(l.Seqs*context, fit, mostPages))
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
