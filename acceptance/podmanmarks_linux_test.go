package acceptance

import (
	"testing"

	"den/internal/testkit/need"
	"den/internal/testkit/servertest"
)

// TestMarksInAContainer brings marks into the shell that 'podman exec -it'
// starts. It takes long on a small machine: make test-podman.
func TestMarksInAContainer(t *testing.T) {
	need.Target(t, "DEN_TEST_PODMAN", "make test-podman")
	podman := startContainer(t)
	argv := append(podman.Argv, "exec", "-it", "box", "sh")
	w := newWorld(t)
	w.env = append(w.env, podman.Env...)
	w.do(append([]string{"new", "p", "--"}, argv...)...)
	w.do("wait", "p", "--regex", `[$#] $`, "-t", "60s")
	w.unmarked("p")
	w.marked("p", "2")
	w.do("new", "outer", "bash", "--norc")
	w.do("fire", "outer", quoted(argv))
	w.do("wait", "outer", "--regex", `/ # $`, "-t", "60s")
	w.do("release", "outer")
	w.marked("outer", "2")
	if r := w.ask("run", "outer", "for i in 1 2\ndo echo $i\ndone", "-t", "60s"); r["output"] != "1\n2" {
		t.Errorf("code of several lines: %v", r)
	}
}

// container is the one that servertest starts.
type container struct{ servertest.Container }

func startContainer(t *testing.T) container {
	t.Helper()
	return container{servertest.StartContainer(t)}
}
