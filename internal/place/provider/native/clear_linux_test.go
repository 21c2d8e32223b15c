package native_test

import (
	"strings"
	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/session"
)

// What was cleared while the session lived is not in its last screen either:
// the replay of the log equals what the host showed.
func TestClearScrollbackIsRecorded(t *testing.T) {
	p := newProvider(t)
	// It ends in the middle of a sequence, on the alternate screen: neither
	// keeps the scrollback from being cleared, nor is it disturbed.
	script := `i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; done; printf '\033[?1049hover\033[3'; cat > /dev/null; printf '1mred\033[?1049l'`
	if err := p.Start(t.Context(), "w", provider.Config{Argv: []string{"/bin/sh", "-c", script}, WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	peek := func() string {
		text, err := p.Peek(t.Context(), "w", 0)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for deadline := time.Now().Add(patience); !strings.HasSuffix(peek(), "over"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it shows %q", peek())
		}
	}
	if before := peek(); !strings.Contains(before, "line 1\n") {
		t.Fatalf("there is no scrollback to clear: %q", before)
	}
	d, _ := record(t, p, "city.w")
	s := session.In(d, session.Options{})
	if _, err := s.ClearScrollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if live := peek(); strings.TrimSpace(live) != "over" {
		t.Errorf("after ClearScrollback: %q", live)
	}
	if err := p.SendKeys(t.Context(), "w", "C-d"); err != nil {
		t.Fatal(err)
	}
	ended(t, p, "w")
	last := peek()
	if strings.Contains(last, "line 1\n") || !strings.HasSuffix(last, "line 300") || strings.Contains(last, "[3") {
		t.Errorf("the replayed screen is %q", last)
	}
	if _, err := s.ClearScrollback(t.Context()); err == nil {
		t.Error("ClearScrollback of an ended session: no error")
	}
}
