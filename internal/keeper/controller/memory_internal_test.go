package controller

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// What keep has returned for is on disk, however many keep at the same time.
func TestStateIsOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s, err := openState(path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			name := fmt.Sprint("a", i)
			for n := 1; n <= 5; n++ {
				if err := s.keep(name, &memory{Restarts: n}); err != nil {
					t.Error(err)
				}
				read, err := openState(path)
				if err != nil || read.agent(name).Restarts < n {
					t.Errorf("%s: %d on disk, want %d: %v", name, read.agent(name).Restarts, n, err)
				}
			}
		})
	}
	all.Wait()
	if err := s.keep("a0", nil); err != nil {
		t.Fatal(err)
	}
	if read, err := openState(path); err != nil || len(read.file.Agents) != 49 || read.file.V != stateVersion {
		t.Errorf("%d agents, version %d, %v", len(read.file.Agents), read.file.V, err)
	}
}

func TestStateTellsThatItCannotBeKept(t *testing.T) {
	s, err := openState(filepath.Join(t.TempDir(), "gone", "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.keep("a", &memory{}); err == nil {
			t.Error("a directory that is not there took it")
		}
	}
}
