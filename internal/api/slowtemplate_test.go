package api

import (
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/scripted"
)

// TestSlowTemplates: what a template is made to be slow with holds the first requests,
// who come at once, no longer than a rendering may take.
func TestSlowTemplates(t *testing.T) {
	for _, template := range []string{
		`{{ "<|start|><|message|>" * 20000 }}`,
		`{{ "<|start|><|message|>" * 75000 }}`,
		`<tool_call>{{ '{"function":' * 9000 }}1{{ '}' * 9000 }}</tool_call>`,
		`<｜tool▁calls▁begin｜>{{ "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>" * 20000 }}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}`,
	} {
		e := openScripted(t, scripted.Model{Template: template})
		start := time.Now()
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() { e.ChatTraits() })
		}
		wait.Wait()
		if took := time.Since(start); took > 3*time.Second { // a hundredth of that, but on a busy machine
			t.Errorf("%.40s: %v", template, took)
		}
	}
}
