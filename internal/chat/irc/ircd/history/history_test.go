package history_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc/ircd/history"
)

func open(t *testing.T, dir string, options history.Options) *history.Log {
	t.Helper()
	l, err := history.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func add(t *testing.T, l *history.Log, conversation, text string) history.Record {
	t.Helper()
	r, err := l.Append(history.Record{Conversation: conversation, Command: "PRIVMSG", Source: "a!b@c", Target: conversation, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func texts(t *testing.T, l *history.Log, conversation string, r history.Range) string {
	t.Helper()
	if r.Limit == 0 {
		r.Limit = 1000
	}
	records, err := l.Select([]string{conversation}, r)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, record := range records {
		all = append(all, record.Text)
	}
	return strings.Join(all, " ")
}

func TestSelect(t *testing.T) {
	l := open(t, t.TempDir(), history.Options{})
	var ids []uint64
	for i := range 6 {
		ids = append(ids, add(t, l, "#c", fmt.Sprint(i)).ID)
		add(t, l, "#other", "x")
	}
	for _, c := range []struct {
		name string
		r    history.Range
		want string
	}{
		{"all", history.Range{}, "0 1 2 3 4 5"},
		{"latest", history.Range{Newest: true, Limit: 2}, "4 5"},
		{"oldest", history.Range{Limit: 2}, "0 1"},
		{"after", history.Range{After: ids[3]}, "4 5"},
		{"before", history.Range{Before: ids[3], Newest: true, Limit: 2}, "1 2"},
		{"between", history.Range{After: ids[0], Before: ids[5], Limit: 3}, "1 2 3"},
		{"nothing between", history.Range{After: ids[5], Before: ids[0]}, ""},
		{"after the end", history.Range{After: ids[5]}, ""},
	} {
		if got := texts(t, l, "#c", c.r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := texts(t, l, "#none", history.Range{}); got != "" {
		t.Errorf("a conversation that never was: %q", got)
	}
}

// IDs grow although the clock stands still or goes back, also over a restart.
func TestIDsGrow(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	options := history.Options{Now: func() time.Time { return now }}
	dir := t.TempDir()
	l := open(t, dir, options)
	first := add(t, l, "#c", "a")
	second := add(t, l, "#c", "b")
	if first.ID != uint64(now.UnixMicro()) || second.ID != first.ID+1 || !first.Time().Equal(now) {
		t.Errorf("%d, %d", first.ID, second.ID)
	}
	l.Close()
	now = now.Add(-time.Hour)
	l = open(t, dir, options)
	if third := add(t, l, "#c", "c"); third.ID != second.ID+1 {
		t.Errorf("%d after %d", third.ID, second.ID)
	}
}

func TestConversations(t *testing.T) {
	l := open(t, t.TempDir(), history.Options{})
	add(t, l, "#a", "1")
	b := add(t, l, "#b", "2")
	add(t, l, "#secret", "3")
	last := add(t, l, "#a", "4")
	all := func(name string) bool { return name != "#secret" }
	got := l.Conversations(0, last.ID+1, 10, all)
	if len(got) != 2 || got[0].Name != "#b" || got[1].Name != "#a" {
		t.Errorf("%v", got)
	}
	if got := l.Conversations(b.ID, last.ID, 10, all); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := l.Conversations(0, last.ID+1, 1, all); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// Text is kept byte by byte, whatever it is.
func TestAnyBytesSurvive(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, history.Options{})
	text := "\xff\x01ACTION é <&>\u2028\x7f"
	add(t, l, "#c", text)
	l.Close()
	if got := texts(t, open(t, dir, history.Options{}), "#c", history.Range{}); got != text {
		t.Errorf("%q, want %q", got, text)
	}
}

func TestOldSegmentsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	options := history.Options{MaxBytes: 8 << 10, SegmentBytes: 1 << 10}
	l := open(t, dir, options)
	add(t, l, "#early", "x")
	for i := range 500 {
		add(t, l, "#c", fmt.Sprint(i))
	}
	check := func(l *history.Log) {
		t.Helper()
		if got := texts(t, l, "#c", history.Range{Newest: true, Limit: 1}); got != "499" {
			t.Errorf("newest %q", got)
		}
		if got := texts(t, l, "#early", history.Range{}); got != "" {
			t.Errorf("the oldest is still there: %q", got)
		}
		got := strings.Fields(texts(t, l, "#c", history.Range{}))
		for i, text := range got {
			if text != fmt.Sprint(500-len(got)+i) {
				t.Fatalf("message %d is %q", i, text)
			}
		}
		if len(got) < 20 {
			t.Errorf("only %d messages kept", len(got))
		}
	}
	check(l)
	if size := sizeOf(t, dir); size > options.MaxBytes {
		t.Errorf("%d bytes, and the limit is %d", size, options.MaxBytes)
	}
	l.Close()
	check(open(t, dir, options))
}

func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	for _, path := range files(t, dir) {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += fi.Size()
	}
	return size
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "history-*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Whatever a crash leaves at the end, what was there before is read, and what
// is appended afterwards too.
func TestDamagedEnd(t *testing.T) {
	for _, tail := range []string{
		`{"id":`, "\x00\x00\x00\x00", "garbage\n", `{"id":99999999999999999,"conversation":"#c"`,
		strings.Repeat("x", 300<<10), strings.Repeat("y", 300<<10) + "\n", "{}\n", `{"id":1,"conversation":"#c","command":"PRIVMSG"}` + "\n",
	} {
		dir := t.TempDir()
		l := open(t, dir, history.Options{})
		add(t, l, "#c", "one")
		l.Close()
		appendTo(t, files(t, dir)[0], tail)
		l = open(t, dir, history.Options{})
		if l.Damaged() != 1 {
			t.Errorf("%.20q: %d damaged", tail, l.Damaged())
		}
		add(t, l, "#c", "two")
		l.Close()
		l = open(t, dir, history.Options{})
		if got := texts(t, l, "#c", history.Range{}); got != "one two" || l.Damaged() != 0 {
			t.Errorf("%.20q: %q, %d damaged", tail, got, l.Damaged())
		}
	}
}

func TestDamageInTheMiddleIsSkipped(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, history.Options{})
	for _, text := range []string{"one", "broken", "three"} {
		add(t, l, "#c", text)
	}
	l.Close()
	path := files(t, dir)[0]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"broken"}`, `"broken"]`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, history.Options{})
	if got := texts(t, l, "#c", history.Range{}); got != "one three" || l.Damaged() != 1 {
		t.Errorf("%q, %d damaged", got, l.Damaged())
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// A crash while a segment was made leaves a file with a part of its header.
func TestCutHeader(t *testing.T) {
	for _, content := range []string{"", `{"form`} {
		dir := t.TempDir()
		l := open(t, dir, history.Options{})
		add(t, l, "#c", "one")
		l.Close()
		if err := os.WriteFile(filepath.Join(dir, "history-00000002.jsonl"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		l = open(t, dir, history.Options{})
		add(t, l, "#c", "two")
		if got := texts(t, l, "#c", history.Range{}); got != "one two" {
			t.Errorf("%q: %q", content, got)
		}
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "history-00000001.jsonl"), []byte(`{"format":"den-irc-history","version":2}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := history.Open(dir, history.Options{})
	if fault.KindOf(err) != fault.Protocol || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "knows 1") {
		t.Errorf("%v", err)
	}
}

const writerVar = "DEN_HISTORY_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVar); dir != "" {
		writeForever(dir)
	}
	os.Exit(m.Run())
}

// writeForever prints the number of every message that Append accepted.
func writeForever(dir string) {
	l, err := history.Open(dir, history.Options{SegmentBytes: 4 << 10})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if _, err := l.Append(history.Record{Conversation: "#c", Command: "PRIVMSG", Source: "a", Target: "#c", Text: fmt.Sprint(i)}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// What was accepted before SIGKILL is there after it.
func TestKillLosesNothingAccepted(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	accepted := ""
	for n := 0; n < 200 && lines.Scan(); n++ {
		accepted = lines.Text()
	}
	cmd.Process.Kill()
	for lines.Scan() {
		accepted = lines.Text()
	}
	cmd.Wait() // Best effort: it was killed.
	l := open(t, dir, history.Options{})
	got := strings.Fields(texts(t, l, "#c", history.Range{Limit: 1 << 20}))
	for i, text := range got {
		if text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, text)
		}
	}
	if last := len(got) - 1; fmt.Sprint(last) != accepted && fmt.Sprint(last-1) != accepted {
		t.Errorf("accepted up to %s, found up to %d", accepted, last)
	}
}

// Opening ends and appending works for any bytes in the file.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"format":"den-irc-history","version":1}` + "\n" + `{"id":5,"conversation":"#c","command":"PRIVMSG","source":"a","target":"#c"}` + "\n{"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "history-00000001.jsonl"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := history.Open(dir, history.Options{})
		if err != nil {
			return
		}
		defer l.Close()
		want := add(t, l, "#c", "new")
		got, err := l.Select([]string{"#c"}, history.Range{Newest: true, Limit: 1})
		if err != nil || len(got) != 1 || got[0].ID != want.ID {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	})
}
