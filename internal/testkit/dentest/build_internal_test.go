package dentest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// A copy can be run as soon as it is made, whatever other tests start meanwhile.
func TestCopyCanBeRunAtOnce(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	defer others.Wait()
	stop := make(chan struct{})
	defer close(stop)
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command("/bin/true").Run() // Best effort: only that it is started counts.
				}
			}
		})
	}
	dir := t.TempDir()
	for i := range 30 {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := copyBinary(path, self); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "-test.run=^$")
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
