package container_test

import (
	"os"
	"slices"
	"testing"

	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/place/workspace"
	"den/internal/testkit/podmantest"
	"den/internal/testkit/providertest"
)

func TestConformance(t *testing.T) {
	e := podmantest.Shared(t)
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
		Base: provider.Config{Options: container.Spec{Image: podmantest.BaseImage, Network: "none"}},
		Share: func(c *provider.Config, dirs ...string) {
			spec := c.Options.(container.Spec)
			spec.Mounts = slices.Clone(spec.Mounts)
			for _, dir := range dirs {
				spec.Mounts = append(spec.Mounts, workspace.Path(dir))
			}
			c.Options = spec
		},
		Detach:   "\x1c\x1c",
		Sessions: 12, // each is a container
	})
}
