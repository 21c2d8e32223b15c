package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
	"den/internal/testkit/providertest"
)

// den is the binary whose hosts the tests run.
var den string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds den, and keeps its sockets apart from those of people.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-n-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // Best effort.
	os.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("HOME", dir) // shells keep their history there
	return m.Run()
}

func open(t testing.TB, root home.Home, owner string) *native.Provider {
	t.Helper()
	p, err := native.Open(native.Options{Home: root, Owner: owner, Binary: den, Version: "test", Grace: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func homeOf(p provider.Provider) home.Home { return p.(*native.Provider).Home }

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Harness{
		New: func(t *testing.T) provider.Provider {
			return open(t, home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true}, "city")
		},
		Reopen: func(t *testing.T, p provider.Provider) provider.Provider { return open(t, homeOf(p), "city") },
		Owner2: func(t *testing.T, p provider.Provider) provider.Provider { return open(t, homeOf(p), "city.b") },
		Break: func(t *testing.T, p provider.Provider) func() {
			path := homeOf(p).Path
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Rename(path+".away", path); err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
			}
		},
		Detach: "\x1c\x1c",
	})
}
