package container_test

import (
	"os"
	"testing"

	"den/internal/provider"
	"den/internal/provider/container"
	"den/internal/provider/providertest"
)

func TestConformance(t *testing.T) {
	e := enginePodman(t)
	home := func(p provider.Provider) string { return p.(*container.Provider).Home.Path }
	providertest.Run(t, providertest.Harness{
		New:    func(t *testing.T) provider.Provider { return opened(t, e, "city") },
		Reopen: func(t *testing.T, p provider.Provider) provider.Provider { return openedAt(t, e, "city", home(p)) },
		Owner2: func(t *testing.T, p provider.Provider) provider.Provider { return openedAt(t, e, "city.b", home(p)) },
		Break: func(t *testing.T, p provider.Provider) func() {
			path := home(p)
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := os.Rename(path+".away", path); err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
			}
		},
		Base:        provider.Config{Container: provider.Container{Image: baseImage, Network: "none"}},
		Unsupported: []string{providertest.ClearScrollback},
		Detach:      "\x1c\x1c",
		Sessions:    12, // each is a container
	})
}
