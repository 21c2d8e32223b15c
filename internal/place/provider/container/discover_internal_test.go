package container

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
)

// A workspace that names podman or docker gets that one, or none.
func TestBrandChoosesTheSocket(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "den-cd-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	docker := filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", docker)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	runtimeDir := func(key string) string {
		if key == "XDG_RUNTIME_DIR" {
			return dir
		}
		return ""
	}
	if path, err := findSocket(t.Context(), "", Docker, runtimeDir); err != nil || filepath.Base(path) != "docker.sock" {
		t.Errorf("docker: %s, %v", path, err)
	}
	for _, path := range usualSockets(Podman, runtimeDir) {
		if filepath.Base(path) != "podman.sock" {
			t.Errorf("podman would be looked for at %s", path)
		}
	}
	named := func(key string) string {
		return map[string]string{"DOCKER_HOST": "unix:///d", "CONTAINER_HOST": "unix:///p"}[key]
	}
	for brand, want := range map[string]string{"": "/d", Docker: "/d", Podman: "/p"} {
		if path, err := findSocket(t.Context(), "", brand, named); err != nil || path != want {
			t.Errorf("%q by its variable: %s, %v", brand, path, err)
		}
	}
	if path, err := findSocket(t.Context(), "/mine", Podman, named); err != nil || path != "/mine" {
		t.Errorf("a configured socket: %s, %v", path, err)
	}
	if _, err := findSocket(t.Context(), "relative", "", named); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "unix socket") {
		t.Errorf("a bad address: %v", err)
	}
}
