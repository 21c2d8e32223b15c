package subprocess_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/place/provider/subprocess"
	"den/internal/testkit/providertest"
)

// placed is a provider that remembers where it is.
type placed struct {
	*subprocess.Provider
	dir string
}

func TestConformance(t *testing.T) {
	open := func(t *testing.T, dir, owner string) provider.Provider {
		t.Helper()
		p, err := subprocess.Open(subprocess.Options{Dir: dir, Owner: owner, Version: "test", Grace: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return placed{p, dir}
	}
	providertest.Run(t, providertest.Harness{
		New: func(t *testing.T) provider.Provider {
			dir := filepath.Join(t.TempDir(), "place")
			t.Cleanup(func() { quiet(t, dir) })
			return open(t, dir, "city")
		},
		Reopen: func(t *testing.T, p provider.Provider) provider.Provider {
			return open(t, p.(placed).dir, "city")
		},
		Owner2: func(t *testing.T, p provider.Provider) provider.Provider {
			return open(t, p.(placed).dir, "city.b")
		},
		Break: func(t *testing.T, p provider.Provider) func() {
			dir := p.(placed).dir
			if err := os.Rename(dir, dir+".away"); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Rename(dir+".away", dir); err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
			}
		},
		Unsupported: []string{providertest.Attach, providertest.SendKeys, providertest.Terminal},
		Enter:       "\n",
	})
}
