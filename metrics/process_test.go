package metrics

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestBuildOf(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}}
	rows := []struct {
		name            string
		info            *debug.BuildInfo
		version, commit string
	}{
		{"no information", nil, unknown, unknown},
		{"main module from a checkout", &debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}, Settings: settings}, unknown, "0123456789ab"},
		{"main module at a tag", &debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3"}, Settings: settings}, "v1.2.3", "0123456789ab"},
		{"short revision", &debug.BuildInfo{Main: debug.Module{Path: modulePath}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}}, unknown, "abc"},
		{"dependency at a tag", dep(&debug.Module{Path: modulePath, Version: "v0.4.0"}), "v0.4.0", unknown},
		{"dependency at a commit", dep(&debug.Module{Path: modulePath, Version: "v0.4.1-0.20260102030405-abcdefabcdef"}),
			"v0.4.1-0.20260102030405-abcdefabcdef", "abcdefabcdef"},
		{"dependency at a changed commit", dep(&debug.Module{Path: modulePath, Version: "v0.0.0-20260102030405-abcdefabcdef+dirty"}),
			"v0.0.0-20260102030405-abcdefabcdef+dirty", "abcdefabcdef"},
		{"dependency at a pre-release", dep(&debug.Module{Path: modulePath, Version: "v1.0.0-rc.1"}), "v1.0.0-rc.1", unknown},
		{"dependency replaced by a directory", dep(&debug.Module{Path: modulePath, Version: "v1.0.0", Replace: &debug.Module{Path: "../paddock"}}), unknown, unknown},
		{"not in the build", &debug.BuildInfo{Main: debug.Module{Path: "example.com/shop", Version: "v9.9.9"}, Settings: settings}, unknown, unknown},
	}
	for _, row := range rows {
		want := build{row.version, row.commit, runtime.Version()}
		if got := buildOf(row.info); got != want {
			t.Errorf("%s: %+v, want %+v", row.name, got, want)
		}
	}
}

// dep is a caller's build; its own revision must not pass for paddock's.
func dep(m *debug.Module) *debug.BuildInfo {
	return &debug.BuildInfo{Main: debug.Module{Path: "example.com/shop", Version: "v9.9.9"}, Deps: []*debug.Module{{Path: "example.com/other", Version: "v7.0.0"}, m},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "ffffffffffffffff"}}}
}

func TestProcessFactsDefaults(t *testing.T) {
	p, q := newProcessFacts(&RecorderOptions{}), newProcessFacts(&RecorderOptions{})
	if p.serviceName != "paddock" || p.serviceVersion != p.build.version {
		t.Errorf("service %q %q", p.serviceName, p.serviceVersion)
	}
	parts := strings.Split(p.serviceInstanceID, "-")
	if len(p.serviceInstanceID) != 36 || len(parts) != 5 || parts[2][0] != '4' || p.serviceInstanceID == q.serviceInstanceID {
		t.Errorf("instance ids %q and %q", p.serviceInstanceID, q.serviceInstanceID)
	}
	now := float64(time.Now().Unix()) + 1
	if p.start > now || p.start < now-24*3600 || p.start != q.start {
		t.Errorf("the process started at %v and %v, now is %v", p.start, q.start, now)
	}
	o := RecorderOptions{ServiceName: "shop", ServiceVersion: "9", ServiceInstanceID: "i"}
	if p := newProcessFacts(&o); p.serviceName != "shop" || p.serviceVersion != "9" || p.serviceInstanceID != "i" {
		t.Errorf("options are not kept: %+v", p)
	}
}
