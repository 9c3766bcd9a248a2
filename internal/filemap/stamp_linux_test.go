package filemap_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/filemap"
)

// TestStampOfACopy: a file that takes another's place with its size and its time of
// modification is told from it, in memory already and at the next Open.
func TestStampOfACopy(t *testing.T) {
	path, when := filepath.Join(t.TempDir(), "m"), time.Unix(1, 0)
	put := func(at, text string) {
		if err := errors.Join(os.WriteFile(at, []byte(text), 0o600), os.Chtimes(at, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *filemap.Map {
		m, err := filemap.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	put(path, "one")
	old := open()
	first, ok := old.Stamp()
	if again, still := open().Stamp(); !ok || !still || again != first {
		t.Errorf("the same file has the stamps %+v (%v) and %+v (%v)", first, ok, again, still)
	}
	put(path+"2", "two")
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	if s, ok := old.Stamp(); ok {
		t.Errorf("the stamp %+v still holds for another file", s)
	}
	second, ok := open().Stamp()
	if !ok || second == first || second.Modified != first.Modified || second.Size != first.Size {
		t.Errorf("the copy's stamp is %+v (%v), the first file's %+v", second, ok, first)
	}
}
