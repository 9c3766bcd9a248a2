package driver

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/dl"
)

func TestOpenWithoutADriver(t *testing.T) {
	_, err := open([]string{"libpaddock-none.so.1"})
	var absent *AbsentError
	var tried *dl.OpenError
	if !errors.As(err, &absent) || !errors.As(err, &tried) {
		t.Fatalf("got %v, want an AbsentError that says what was tried", err)
	}
}

// TestSymbols holds each field against its symbol: named as it, and in no list twice.
func TestSymbols(t *testing.T) {
	var table Table
	var hot Hot
	seen := map[string]bool{}
	for _, c := range []struct {
		of   reflect.Value
		list []symbol
	}{{reflect.ValueOf(&table).Elem(), table.symbols()}, {reflect.ValueOf(&hot).Elem(), hot.symbols()}} {
		if c.of.NumField() != len(c.list) {
			t.Errorf("%v has %d functions, %d symbols", c.of.Type(), c.of.NumField(), len(c.list))
		}
		for i, s := range c.list {
			field := c.of.Type().Field(i)
			if c.of.Field(i).Addr().Interface() != s.fn || !strings.HasPrefix(s.name, "cu"+field.Name) {
				t.Errorf("symbol %d is %s, the field is %s", i, s.name, field.Name)
			}
			if seen[s.name] {
				t.Errorf("%s is there twice", s.name)
			}
			seen[s.name] = true
		}
	}
	for _, s := range hot.symbols() {
		if !bindHot(s.name, 1, s.fn) {
			t.Errorf("%s has no call without reflection", s.name)
		}
	}
	for _, s := range table.symbols() {
		if bindHot(s.name, 1, s.fn) {
			t.Errorf("%s is called as those of a step are", s.name)
		}
	}
}
