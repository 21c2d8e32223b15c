package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"den/internal/chat/irc/ircd/history"
)

// Another process reads the log page by page while its owner writes it.
func TestReadWithoutOwning(t *testing.T) {
	dir := t.TempDir()
	if page, err := history.Read(filepath.Join(dir, "none"), 0, 10, func(history.Record) bool { return true }); err != nil || len(page.Records) > 0 || page.More {
		t.Errorf("no log: %+v, %v", page, err)
	}
	l, err := history.Open(dir, history.Options{MaxBytes: 1 << 20, SegmentBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const all = 100
	for i := range all {
		for _, to := range []string{"#den", "#other"} {
			if _, err := l.Append(history.Record{Conversation: to, Command: "PRIVMSG", Source: "a!b@c", Target: to, Text: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d segments, %v", len(paths), err)
	}
	newest, err := os.OpenFile(paths[len(paths)-1], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer newest.Close()
	if _, err := newest.WriteString(`{"id":99999999999999999,"conversation":"#den","command":"PRIVMSG","source":"half a rec`); err != nil {
		t.Fatal(err)
	}
	next, before := all-1, uint64(0)
	for pages := 0; ; pages++ {
		page, err := history.Read(dir, before, 7, func(r history.Record) bool { return r.Conversation == "#den" })
		if err != nil || pages > all {
			t.Fatal(err)
		}
		for i := len(page.Records) - 1; i >= 0; i-- {
			if got := page.Records[i]; got.Text != fmt.Sprint(next) || got.Conversation != "#den" {
				t.Fatalf("%+v, want %d", got, next)
			}
			next--
		}
		if !page.More {
			break
		}
		before = page.Next
	}
	if next != -1 {
		t.Errorf("those up to %d are missing", next)
	}
}
