package podmantest

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"den/internal/testkit/dentest"
	"den/internal/testkit/need"
)

// HowToGet says how to get what is missing.
const HowToGet = "'sh scripts/container-setup' installs what these tests need"

// BaseImage has a static busybox and nothing else.
const BaseImage = "localhost/den-test-base:1"

// Engine is podman.
type Engine struct {
	Dir    string // state; also of others that must outlive one test
	Socket string
	Den    string // a static den
	API    *client.Client

	cmd *exec.Cmd // or nil: it runs already, or was ended
}

var shared struct {
	once sync.Once
	*Engine
	missing string // why there is none, or ""
	err     error
}

// Main runs a package's tests and ends the engine that they share.
func Main(m *testing.M) int {
	for _, key := range []string{"DOCKER_HOST", "CONTAINER_HOST"} {
		os.Unsetenv(key) // not to meet an engine of people by mistake
	}
	code := m.Run()
	if shared.Engine != nil {
		shared.Stop()
	}
	return code
}

// Shared returns the engine that all tests of a package share, whose TestMain
// calls Main.
func Shared(t testing.TB) *Engine {
	t.Helper()
	shared.once.Do(func() {
		if shared.missing = whatIsMissing(); shared.missing == "" {
			shared.Engine, shared.err = Start()
		}
	})
	if shared.missing != "" {
		need.Missing(t, "%s (%s)", shared.missing, HowToGet)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Engine
}

// Own returns an engine that ends with the test.
func Own(t testing.TB) *Engine {
	t.Helper()
	if missing := whatIsMissing(); missing != "" {
		need.Missing(t, "%s (%s)", missing, HowToGet)
	}
	e, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	return e
}

func whatIsMissing() string {
	if os.Getenv("DEN_TEST_ENGINE") != "" {
		return "" // the socket of an engine that runs already
	}
	if os.Getuid() != 0 {
		return "podman with a storage of its own needs root here"
	}
	for _, program := range []string{"podman", "conmon", "busybox"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	return ""
}

// Start starts an engine. Its caller stops it.
func Start() (_ *Engine, err error) {
	dir, err := os.MkdirTemp("", "denc")
	if err != nil {
		return nil, err
	}
	p := &Engine{Dir: dir, Socket: filepath.Join(dir, "sock"), Den: filepath.Join(dir, "den")}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	if err := dentest.Build(dir, "den"); err != nil {
		return nil, err
	}
	if other := os.Getenv("DEN_TEST_ENGINE"); other != "" {
		p.Socket = other
	} else if err := p.configure(); err != nil {
		return nil, err
	} else if err := p.Serve(); err != nil {
		return nil, err
	}
	if p.API, err = client.New(client.WithHost("unix://" + p.Socket)); err != nil {
		return nil, err
	}
	rootfs, err := BusyboxRoot()
	if err != nil {
		return nil, err
	}
	return p, p.Load(rootfs, BaseImage)
}

// configure writes settings with which podman also works in a sandbox: limits
// that are ours already, no systemd, and a runtime for any cgroup layout.
func (p *Engine) configure() error {
	conf := fmt.Sprintf("[containers]\ndefault_ulimits = [%q, %q]\n[network]\nnetwork_backend = \"netavark\"\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n",
		limit("nofile", syscall.RLIMIT_NOFILE), limit("nproc", 6))
	if _, err := exec.LookPath("runc"); err == nil {
		conf += "runtime = \"runc\"\n"
	}
	// The registry of a test speaks no TLS.
	registries := "[[registry]]\nprefix = \"127.0.0.1\"\nlocation = \"127.0.0.1\"\ninsecure = true\n"
	return errors.Join(
		os.WriteFile(filepath.Join(p.Dir, "containers.conf"), []byte(conf), 0o600),
		os.WriteFile(filepath.Join(p.Dir, "registries.conf"), []byte(registries), 0o600),
	)
}

func limit(name string, resource int) string {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil {
		panic(err) // both exist on every Linux
	}
	return fmt.Sprintf("%s=%d:%d", name, min(l.Cur, 1<<14), min(l.Max, 1<<14))
}

// command is podman on this storage.
func (p *Engine) command(args ...string) *exec.Cmd {
	cmd := exec.Command("podman", append([]string{"--root", p.Dir + "/root", "--runroot", p.Dir + "/run"}, args...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+p.Dir+"/containers.conf", "CONTAINERS_REGISTRIES_CONF="+p.Dir+"/registries.conf")
	return cmd
}

// Serve starts the engine and waits until it listens.
func (p *Engine) Serve() error {
	var said bytes.Buffer
	p.cmd = p.command("system", "service", "--time=0", "unix://"+p.Socket)
	p.cmd.Stdout, p.cmd.Stderr = &said, &said
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", p.Socket); err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			p.EndService() // its buffer is ours from here
			return fmt.Errorf("podman does not listen: %s", said.String())
		}
	}
}

// EndService kills the engine's service. Containers go on.
func (p *Engine) EndService() {
	if p.cmd != nil && p.cmd.Process != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.cmd = nil
		os.Remove(p.Socket)
	}
}

// Stop ends the engine with all its containers and removes what it kept.
func (p *Engine) Stop() {
	if p.API != nil {
		p.API.Close()
	}
	if p.cmd != nil {
		p.EndService()
		p.command("rm", "--all", "--force", "--time", "0").Run()
		syscall.Unmount(p.Dir+"/root/overlay", syscall.MNT_DETACH)
	}
	os.RemoveAll(p.Dir)
}

// Load imports a root file system as an image, with lines of a Dockerfile.
func (p *Engine) Load(rootfs io.Reader, ref string, lines ...string) error {
	result, err := p.API.ImageImport(context.Background(), client.ImageImportSource{Source: rootfs, SourceName: "-"}, ref, client.ImageImportOptions{Changes: lines})
	if err != nil {
		return fmt.Errorf("import image: %w", err)
	}
	defer result.Close()
	said, err := io.ReadAll(result)
	if err != nil || bytes.Contains(said, []byte(`"error"`)) {
		return fmt.Errorf("import image: %w: %s", err, said)
	}
	return nil
}

// BusyboxRoot is a root file system with busybox under all its names.
func BusyboxRoot() (io.Reader, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	if f, err := elf.Open(path); err != nil {
		return nil, err
	} else {
		defer f.Close()
		if libs, err := f.ImportedLibraries(); err != nil || len(libs) > 0 {
			return nil, fmt.Errorf("busybox is not static (%v, %v); %s", libs, err, HowToGet)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(path, "--list").Output()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "bin/busybox", Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg})
	w.Write(content)
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			w.WriteHeader(&tar.Header{Name: "bin/" + name, Linkname: "busybox", Mode: 0o777, Typeflag: tar.TypeSymlink})
		}
	}
	w.WriteHeader(&tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir})
	return &b, w.Close()
}
