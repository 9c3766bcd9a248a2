package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/paddock-go/paddock/metrics"
)

// config is what the flags say.
type config struct {
	addr      string
	runners   []*target
	probe     portRange
	key       string
	metrics   metrics.Auth
	proxies   []netip.Prefix
	dcgmNames bool
	dcgmAddr  string
	data      string
	nvmlFile  string
	lock      string
	level     slog.Level
}

// portRange is the ports of this machine on which runners are looked for; the zero value: none.
type portRange struct{ first, last int }

// maxProbe is how many ports may be looked at: a handful where servers stand, no scan.
const maxProbe = 64

func parseFlags(args []string) (*config, error) {
	c := &config{probe: portRange{11540, 11559}}
	var urls []string
	f := flag.NewFlagSet("manager", flag.ContinueOnError)
	f.SetOutput(io.Discard) // main says what is wrong, once
	f.StringVar(&c.addr, "addr", "127.0.0.1:11500", "address to listen on")
	f.Func("runner", "address of a runner, as http://127.0.0.1:11540, repeatable", func(s string) error {
		_, err := parseTarget(s, "")
		urls = append(urls, s)
		return err
	})
	f.Func("probe", "ports of 127.0.0.1 on which runners are looked for, as 11540-11559, or off", func(s string) (err error) {
		c.probe, err = parsePorts(s)
		return err
	})
	runnerKey := f.String("runner-key", "", "key that the runners of --runner want; those that are found are asked without")
	f.StringVar(&c.key, "api-key", "", "key that clients from the network must bring (none: this machine only)")
	f.Func("metrics-auth", "who brings the key to /metrics: on (everyone) or off (nobody); not given: who is not on this machine", func(s string) (err error) {
		c.metrics, err = metrics.ParseAuth(s)
		return err
	})
	f.Func("trusted-proxy", "network of a proxy in front, as 10.0.0.0/8, repeatable; with one, nobody counts as this machine", func(s string) error {
		p, err := netip.ParsePrefix(s)
		c.proxies = append(c.proxies, p)
		return err
	})
	f.BoolVar(&c.dcgmNames, "dcgm-names", false, "show the GPUs on /metrics under dcgm-exporter's names too")
	f.StringVar(&c.dcgmAddr, "dcgm-addr", "", "address of a page with dcgm-exporter's names alone, as :9400, where tools look for them")
	f.StringVar(&c.data, "data", "", "folder of the history (none: the user's cache folder)")
	f.StringVar(&c.nvmlFile, "nvml-library", "", "library to load instead of the driver's libnvidia-ml")
	f.StringVar(&c.lock, "nvml-lock", "", "file by which one process of the machine reads its GPUs, instead of the usual one")
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
	seen := map[string]bool{}
	for _, u := range urls {
		t, err := parseTarget(u, *runnerKey)
		if err != nil {
			return nil, err
		}
		if seen[t.id] {
			return nil, fmt.Errorf("--runner %s is given twice", u)
		}
		seen[t.id] = true
		c.runners = append(c.runners, t)
	}
	if len(c.runners) > maxRunners {
		return nil, fmt.Errorf("%d runners are given, the most is %d", len(c.runners), maxRunners)
	}
	if o := c.page(); o.Validate() != nil {
		return nil, fmt.Errorf("--metrics-auth %v: %w (--api-key)", c.metrics, o.Validate())
	}
	if c.data == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("where the history lies is not known: %w; give --data", err)
		}
		c.data = filepath.Join(cache, "paddock", "manager")
	}
	if err := c.level.UnmarshalText([]byte(*level)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	return c, nil
}

func parsePorts(s string) (portRange, error) {
	if s == "off" {
		return portRange{}, nil
	}
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || first < 1 || last > 65535 || last < first || last-first >= maxProbe {
		return portRange{}, fmt.Errorf("ports are %.40q, give two as 11540-11559, at most %d of them, or off", s, maxProbe)
	}
	return portRange{first, last}, nil
}

// page is how /metrics is shown, and to whom; /api/ follows the first row of the same table.
func (c *config) page() metrics.HandlerOptions {
	return metrics.HandlerOptions{ProcessOnly: true, Runtime: true, Auth: c.metrics, Key: c.key, BehindProxy: len(c.proxies) > 0}
}
