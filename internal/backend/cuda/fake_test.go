package cuda_test

import (
	"errors"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/quant"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// formats are those of weights that the device runs.
var formats = []quant.Type{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0, quant.Q4K, quant.Q6K}

// kvTypes are those of the cache.
var kvTypes = []backend.KVType{backend.KVF16, backend.KVF32, backend.KVBF16}

// refused tells an error that only says that the device has not all that a random
// program uses.
func refused(err error) bool {
	var u *cuda.UnsupportedError
	return errors.As(err, &u)
}

// simulated is a device whose kernels the interpreter runs, every buffer an allocation
// of its own that nothing has written. When the test ends nothing of it may be left, and no kernel may have
// broken a rule.
func simulated(t testing.TB, fo fakedriver.Options, o cuda.Options) (*cuda.Device, *fakedriver.Driver) {
	t.Helper()
	o.Apart = true
	if !fo.NoExecute { // else nothing writes what is read
		o.Rubbish = cuda.Left
	}
	return faked(t, fo, o)
}

// faked is such a device with memory laid out as o says.
func faked(t testing.TB, fo fakedriver.Options, o cuda.Options) (*cuda.Device, *fakedriver.Driver) {
	t.Helper()
	fake := fakedriver.New(fo)
	d, err := driver.New(fake.Library())
	if err != nil {
		t.Fatal(err)
	}
	o.Driver = d
	dev, err := cuda.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
		if err := fake.Fault(); err != nil {
			t.Errorf("a kernel broke a rule: %v", err)
		}
		if live := fake.Live(); len(live) > 0 {
			t.Errorf("not given back: %v", live)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev, fake
}

// near are the gates of the backend against the definition: sums are added in another
// order, and now and then an 8-bit activation falls the other way.
func near(models int) backendtest.Near {
	return backendtest.Near{Formats: formats, KV: kvTypes, Models: models, Poison: cuda.Poison, Refused: refused, Gate: 2e-5, Flip: 5e-2, Flips: 3}
}

// model is a small random program that the device takes, of one format.
func model(t testing.TB, d backend.Device, seed uint64, format quant.Type) *backendtest.Random {
	t.Helper()
	for ; ; seed++ {
		m := backendtest.NewRandom(seed, format)
		if _, err := d.Plan(m.Prog, m); err == nil {
			return m
		} else if !refused(err) {
			t.Fatal(err)
		}
	}
}

// limits of the runners of small programs.
func limits(kv backend.KVType) backend.Limits {
	return backend.Limits{Rows: 40, Seqs: 4, LogitRows: 4, Pages: 24, PageSize: 16, Context: 80, KVType: kv}
}

// load makes a model until the test ends.
func load(t testing.TB, d backend.Device, m *backendtest.Random) backend.Model {
	t.Helper()
	loaded, err := d.Load(m.Prog, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loaded.Close(); err != nil {
			t.Error(err)
		}
	})
	return loaded
}
