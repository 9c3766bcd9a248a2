package api

import (
	"sync"
	"testing"

	alloc "github.com/paddock-go/paddock/internal/bounded" // this package has a bounded of its own
	"github.com/paddock-go/paddock/internal/scripted"
)

// TestSlowTemplates: what a template is made to be slow with holds the first requests,
// who come at once, no longer than a few short renderings: the worst of these once took
// minutes.
func TestSlowTemplates(t *testing.T) {
	for _, template := range []string{
		`{{ "<|start|><|message|>" * 20000 }}`,
		`{{ "<|start|><|message|>" * 75000 }}`,
		`<tool_call>{{ '{"function":' * 9000 }}1{{ '}' * 9000 }}</tool_call>`,
		`<｜tool▁calls▁begin｜>{{ "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>" * 20000 }}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}`,
	} {
		e := openScripted(t, scripted.Model{Template: template})
		// Once for all of them: all values of all renderings, and what is read back of them.
		alloc.Hold(t, alloc.Bytes{Base: 64 << 20}, 0, func() {
			var wait sync.WaitGroup
			for range 50 {
				wait.Go(func() { e.ChatTraits() })
			}
			wait.Wait()
		})
	}
}
