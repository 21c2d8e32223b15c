package container_test

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

	"den/internal/need"
)

const howToGet = "'sh scripts/container-setup' installs what these tests need"

// baseImage has a static busybox and nothing else.
const baseImage = "localhost/den-test-base:1"

// podman is an engine of the tests' own: nothing of the machine's containers
// is seen or touched.
type podman struct {
	dir    string // state; also of others that must outlive one test
	socket string
	den    string // a static den
	cmd    *exec.Cmd
	api    *client.Client
}

var shared struct {
	once sync.Once
	*podman
	missing string // why there is none, or ""
	err     error
}

func TestMain(m *testing.M) {
	for _, key := range []string{"DOCKER_HOST", "CONTAINER_HOST"} {
		os.Unsetenv(key) // not to meet an engine of people by mistake
	}
	code := m.Run()
	if shared.podman != nil {
		shared.stop()
	}
	os.Exit(code)
}

// enginePodman returns the engine that all tests share.
func enginePodman(t *testing.T) *podman {
	t.Helper()
	shared.once.Do(func() {
		if shared.missing = whatIsMissing(); shared.missing == "" {
			shared.podman, shared.err = startPodman()
		}
	})
	if shared.missing != "" {
		need.Missing(t, "%s (%s)", shared.missing, howToGet)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.podman
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

func startPodman() (_ *podman, err error) {
	dir, err := os.MkdirTemp("", "denc")
	if err != nil {
		return nil, err
	}
	p := &podman{dir: dir, socket: filepath.Join(dir, "sock"), den: filepath.Join(dir, "den")}
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	build := exec.Command("go", "build", "-o", p.den, "den/cmd/den")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build den: %w\n%s", err, out)
	}
	if other := os.Getenv("DEN_TEST_ENGINE"); other != "" {
		p.socket = other
	} else if err := p.configure(); err != nil {
		return nil, err
	} else if err := p.serve(); err != nil {
		return nil, err
	}
	if p.api, err = client.New(client.WithHost("unix://" + p.socket)); err != nil {
		return nil, err
	}
	rootfs, err := busyboxRoot()
	if err != nil {
		return nil, err
	}
	return p, p.load(rootfs, baseImage)
}

// configure writes settings with which podman also works in a sandbox: limits
// that are ours already, no systemd, and a runtime for any cgroup layout.
func (p *podman) configure() error {
	conf := fmt.Sprintf("[containers]\ndefault_ulimits = [%q, %q]\n[network]\nnetwork_backend = \"netavark\"\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n",
		limit("nofile", syscall.RLIMIT_NOFILE), limit("nproc", 6))
	if _, err := exec.LookPath("runc"); err == nil {
		conf += "runtime = \"runc\"\n"
	}
	// The registry of a test speaks no TLS.
	registries := "[[registry]]\nprefix = \"127.0.0.1\"\nlocation = \"127.0.0.1\"\ninsecure = true\n"
	return errors.Join(
		os.WriteFile(filepath.Join(p.dir, "containers.conf"), []byte(conf), 0o600),
		os.WriteFile(filepath.Join(p.dir, "registries.conf"), []byte(registries), 0o600),
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
func (p *podman) command(args ...string) *exec.Cmd {
	cmd := exec.Command("podman", append([]string{"--root", p.dir + "/root", "--runroot", p.dir + "/run"}, args...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+p.dir+"/containers.conf", "CONTAINERS_REGISTRIES_CONF="+p.dir+"/registries.conf")
	return cmd
}

// serve starts the engine and waits until it listens.
func (p *podman) serve() error {
	var said bytes.Buffer
	p.cmd = p.command("system", "service", "--time=0", "unix://"+p.socket)
	p.cmd.Stdout, p.cmd.Stderr = &said, &said
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", p.socket); err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			p.endService() // its buffer is ours from here
			return fmt.Errorf("podman does not listen: %s", said.String())
		}
	}
}

func (p *podman) endService() {
	if p.cmd != nil && p.cmd.Process != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.cmd = nil
		os.Remove(p.socket)
	}
}

// stop ends the engine with all its containers and removes what it kept.
func (p *podman) stop() {
	if p.api != nil {
		p.api.Close()
	}
	if p.cmd != nil {
		p.endService()
		p.command("rm", "--all", "--force", "--time", "0").Run()
		syscall.Unmount(p.dir+"/root/overlay", syscall.MNT_DETACH)
	}
	os.RemoveAll(p.dir)
}

// load imports a root file system as an image, with lines of a Dockerfile.
func (p *podman) load(rootfs io.Reader, ref string, lines ...string) error {
	result, err := p.api.ImageImport(context.Background(), client.ImageImportSource{Source: rootfs, SourceName: "-"}, ref, client.ImageImportOptions{Changes: lines})
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

// busyboxRoot is a root file system with busybox under all its names.
func busyboxRoot() (io.Reader, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	if f, err := elf.Open(path); err != nil {
		return nil, err
	} else {
		defer f.Close()
		if libs, err := f.ImportedLibraries(); err != nil || len(libs) > 0 {
			return nil, fmt.Errorf("busybox is not static (%v, %v); %s", libs, err, howToGet)
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
