package acceptance

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"den/internal/session/home"
	"den/internal/testkit/need"
)

// Where no cgroup can be made, a process that forked twice, cleared its
// environment and lost its host outlives 'den kill', which says so.
func TestKillWithoutCgroupTellsOfSurvivors(t *testing.T) {
	if os.Getuid() != 0 {
		need.Feature(t, "only root can run den as a user who cannot make cgroups")
	}
	dir := nobodyDir(t)
	w := newWorldAt(t, filepath.Join(dir, "home")).as(65534)
	w = w.with("DEN_RUN_DIR=" + filepath.Join(dir, "run"))
	w.home = home.Home{Path: filepath.Join(dir, "home"), Explicit: true}
	file := filepath.Join(dir, "pid")
	w.do("new", "s", "sh", "-c", "(env -i setsid sh -c 'echo $$ > "+file+".new; mv "+file+".new "+file+"; exec sleep 1000' >/dev/null 2>&1 </dev/null &); while [ ! -e "+file+" ]; do :; done; echo up; cat")
	w.do("wait", "s", "--text", "up")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	d, err := home.Home{Path: filepath.Join(dir, "home"), Explicit: true}.Find("s")
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	if m.Cgroup != "" {
		t.Fatalf("user nobody has a cgroup: %s", m.Cgroup)
	}
	gone, err := d.Gone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-gone
	killed := w.ask("kill", "s")
	if words, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err != nil || len(words) == 0 {
		t.Errorf("process %d did not outlive the kill: %v; the test shows nothing", pid, err)
	}
	if killed["may_have_survivors"] != true {
		t.Errorf("%v", killed)
	}
}
