package history

import (
	"errors"
	"os"
	"testing"
)

func appendText(t *testing.T, l *Log, text string) {
	t.Helper()
	if _, err := l.Append(Record{Conversation: "#c", Command: "PRIVMSG", Source: "a", Target: "#c", Text: text}); err != nil {
		t.Fatal(err)
	}
}

// Messages are accepted and read while the disk is slow.
func TestNobodyWaitsForTheDisk(t *testing.T) {
	begun, disk := make(chan struct{}, 10), make(chan struct{})
	l, err := Open(t.TempDir(), Options{sync: func(*os.File) error {
		begun <- struct{}{}
		<-disk
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	appendText(t, l, "first")
	synced := make(chan error, 1)
	go func() { synced <- l.Sync() }()
	<-begun
	appendText(t, l, "second") // never returned while the sync held the lock
	if got, err := l.Select([]string{"#c"}, Range{Limit: 10}); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	close(disk)
	if err := <-synced; err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if len(begun) != 1 {
		t.Errorf("the second message was synced %d times", len(begun))
	}
}

// What could not be synced is synced the next time, also after a rotation.
func TestFailedSyncIsRepeated(t *testing.T) {
	full := errors.New("no space")
	var fails error
	synced := map[string]int{}
	l, err := Open(t.TempDir(), Options{SegmentBytes: 200, sync: func(f *os.File) error {
		if fails == nil {
			synced[f.Name()]++
		}
		return fails
	}})
	if err != nil {
		t.Fatal(err)
	}
	appendText(t, l, "first")
	fails = full
	if err := l.Sync(); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	appendText(t, l, "a text that does not fit in the first segment any more, whatever its header is")
	fails = nil
	if err := l.Sync(); err != nil {
		t.Error(err)
	}
	if len(synced) != 2 {
		t.Errorf("%v, want two files", synced)
	}
	if err := l.Sync(); err != nil || len(synced) != 2 {
		t.Errorf("%v, %v", synced, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
