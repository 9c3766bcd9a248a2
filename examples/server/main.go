// Command server serves one model over HTTP: the OpenAI-shaped API, /metrics, the
// events and rollups under /api/, a page that shows them at /, /healthz and /readyz.
// Without --model it serves the embedded demo model.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/studio"
	"github.com/paddock-go/paddock/metrics"
)

func main() {
	c, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(2)
	}
	// Two spare Ps keep HTTP and the garbage collector responsive while the
	// engine's workers compute.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	addr     string
	model    string
	names    []string
	key      string
	proxies  []netip.Prefix
	manager  string
	metrics  metrics.Auth
	noPage   bool // nor what it would show
	noEvents bool
	vllm     bool
	maxBatch int
	maxCtx   int
	maxQueue int
	kvPages  int
	kvType   paddock.KVType
	threads  int
	device   string
	panels   string
	ngram    int
	level    slog.Level
}

// draftTokens is how many tokens --spec ngram drafts at most.
const draftTokens = 8

func parseFlags(args []string) (*config, error) {
	c := &config{}
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	f.SetOutput(io.Discard) // main says what is wrong, once
	f.StringVar(&c.addr, "addr", "127.0.0.1:11540", "address to listen on")
	f.StringVar(&c.model, "model", "", "GGUF file to serve (none: the embedded demo model)")
	f.Func("served-model-name", "name that requests may give, repeatable; the first is the label in metrics", func(s string) error {
		if s == "" || strings.ContainsAny(s, "'\"\\") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return errors.New("must not be empty, nor hold quotes, backslashes, spaces or control characters")
		}
		c.names = append(c.names, s)
		return nil
	})
	f.StringVar(&c.key, "api-key", "", "key that clients from the network must bring (none: this machine only)")
	f.Func("trusted-proxy", "network of a proxy in front, as 10.0.0.0/8, repeatable; with one, nobody counts as this machine", func(s string) error {
		p, err := netip.ParsePrefix(s)
		c.proxies = append(c.proxies, p)
		return err
	})
	f.Func("metrics-auth", "who brings the key to /metrics: on (everyone) or off (nobody); not given: who is not on this machine", func(s string) (err error) {
		c.metrics, err = metrics.ParseAuth(s)
		return err
	})
	f.StringVar(&c.manager, "manager-url", "", "address of the machine's manager as a browser reaches it, for the page at / to link to")
	f.BoolVar(&c.noPage, "no-metrics", false, "record no metrics: no /metrics, /api/stats, /api/rollups")
	f.BoolVar(&c.noEvents, "no-events", false, "remember no requests: no /api/events")
	f.BoolVar(&c.vllm, "metrics-vllm", false, "show vLLM's families on /metrics too")
	f.IntVar(&c.maxBatch, "max-batch", 64, "most sequences in a step")
	f.IntVar(&c.maxCtx, "max-ctx", 0, "most tokens of prompt and answer (0: what the file says)")
	f.IntVar(&c.maxQueue, "max-queue", 1024, "most requests that wait")
	f.IntVar(&c.kvPages, "kv-pages", 0, "KV pages of 16 tokens (0: for max-batch full contexts, within memory)")
	f.IntVar(&c.threads, "threads", 0, "CPU workers (0: all cores)")
	f.StringVar(&c.panels, "panel-cache", "", "folder to keep weights in as the CPU lays them out, so that the next start maps them (Linux, GGUF files)")
	f.TextVar(&c.kvType, "kv-cache-dtype", paddock.KVF16, "element type of the KV cache: f32, f16, bf16 or q8_0; encoders keep nothing and stay f32")
	f.StringVar(&c.device, "device", "auto", "device: cuda (a GPU), cpu, or auto: a GPU that can run the model and has the memory, else the CPU")
	spec := f.String("spec", "off", "speculation: off or ngram")
	level := f.String("log-level", "info", "least level that is logged: debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(os.Stdout)
			f.PrintDefaults()
		}
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for _, choice := range []struct {
		flag, value string
		allowed     []string
	}{
		{"device", c.device, []string{"auto", "cpu", "cuda"}},
		{"spec", *spec, []string{"off", "ngram"}},
	} {
		if !slices.Contains(choice.allowed, choice.value) {
			return nil, fmt.Errorf("--%s is %q, must be one of: %s", choice.flag, choice.value, strings.Join(choice.allowed, ", "))
		}
	}
	for _, n := range []struct {
		flag         string
		value, least int
	}{{"max-batch", c.maxBatch, 1}, {"max-queue", c.maxQueue, 1}, {"max-ctx", c.maxCtx, 0}, {"kv-pages", c.kvPages, 0}, {"threads", c.threads, 0}} {
		if n.value < n.least {
			return nil, fmt.Errorf("--%s is %d, must be at least %d", n.flag, n.value, n.least)
		}
	}
	if c.device == "cuda" && c.panels != "" {
		return nil, errors.New("--panel-cache keeps weights as the CPU lays them out, and --device is cuda: set one of them")
	}
	if c.maxCtx == 1 {
		return nil, errors.New("--max-ctx is 1: a prompt and an answer need at least 2")
	}
	if o := c.page(nil); o.Validate() != nil {
		return nil, fmt.Errorf("--metrics-auth %v: %w (--api-key)", c.metrics, o.Validate())
	}
	if err := c.studio().Validate(); err != nil {
		return nil, fmt.Errorf("--manager-url: %w", err)
	}
	if *spec == "ngram" {
		c.ngram = draftTokens
	}
	if err := c.level.UnmarshalText([]byte(*level)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	return c, nil
}

// page is how /metrics and /api/ show a recorder, and to whom.
func (c *config) page(rec *metrics.Recorder) metrics.HandlerOptions {
	return metrics.HandlerOptions{
		Recorder: rec, Runtime: true, VLLM: c.vllm,
		Auth: c.metrics, Key: c.key, BehindProxy: len(c.proxies) > 0,
	}
}

// studio is how the page at / shows itself.
func (c *config) studio() studio.Options { return studio.Options{ManagerURL: c.manager} }
