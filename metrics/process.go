package metrics

import (
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// modulePath is what this module is called in a build's information.
const modulePath = "github.com/paddock-go/paddock"

// unknown is what a fact about the build reads as where the build doesn't say.
const unknown = "unknown"

// build is what paddock_build_info shows.
type build struct{ version, commit, goVersion string }

// processFacts don't change while the process lives.
type processFacts struct {
	build                                          build
	start                                          float64 // Unix seconds
	serviceName, serviceVersion, serviceInstanceID string
	run                                            Run
}

func newProcessFacts(o *RecorderOptions) processFacts {
	p := processFacts{start: o.test.start,
		serviceName: o.ServiceName, serviceVersion: o.ServiceVersion, serviceInstanceID: o.ServiceInstanceID}
	if o.test.build != nil {
		p.build = *o.test.build
	} else {
		info, _ := debug.ReadBuildInfo()
		p.build = buildOf(info)
	}
	if p.start == 0 {
		p.start = processStart()
	}
	if p.serviceName == "" {
		p.serviceName = "paddock"
	}
	if p.serviceVersion == "" {
		p.serviceVersion = p.build.version
	}
	p.run = Run{ID: newUUID(), Start: p.start}
	if p.serviceInstanceID == "" {
		p.serviceInstanceID = newUUID()
	}
	return p
}

// buildOf reads paddock's version and commit out of info, where paddock is the main module or a dependency.
func buildOf(info *debug.BuildInfo) build {
	b := build{version: unknown, commit: unknown, goVersion: runtime.Version()}
	if info == nil {
		return b
	}
	if info.Main.Path == modulePath {
		b.setVersion(info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && s.Value != "" {
				b.commit = shortCommit(s.Value)
			}
		}
		return b
	}
	for _, d := range info.Deps {
		if d.Path != modulePath {
			continue
		}
		if d.Replace != nil { // a replacement's version is the truth; a directory has none
			d = d.Replace
		}
		b.setVersion(d.Version)
	}
	return b
}

// setVersion takes a module version, and the commit out of a pseudo-version (v0.0.0-20260102030405-abcdefabcdef).
func (b *build) setVersion(v string) {
	if v == "" || v == "(devel)" {
		return
	}
	b.version = v
	v, _, _ = strings.Cut(v, "+")
	if i := strings.LastIndexByte(v, '-'); i >= 0 && len(v)-i-1 == commitDigits && strings.Trim(v[i+1:], "0123456789abcdef") == "" {
		b.commit = v[i+1:]
	}
}

// commitDigits is how many hex digits of a commit are shown: as many as a pseudo-version has.
const commitDigits = 12

func shortCommit(rev string) string { return rev[:min(len(rev), commitDigits)] }

// processStart is when the process began, as the operating system says it, else when this package was initialised.
func processStart() float64 {
	fallback := unixSeconds(started)
	if s, ok := osProcessStart(); ok && s > 0 && s <= unixSeconds(time.Now()) {
		return s
	}
	return fallback
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
