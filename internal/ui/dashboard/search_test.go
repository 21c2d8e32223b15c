package dashboard_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/ui/dashboard"
)

// A search finds what stood on the screen, however it came there, at the moment
// at which it came.
func TestSearchFindsWhatWasShown(t *testing.T) {
	rec := record(t, 0)
	rec.turn("o", "nothing yet\r\n")
	coloured := rec.turn("o", "an \x1b[31mer\x1b[1mror\x1b[m occurred\r\n")
	rec.turn("o", "another line\r\n")
	placed := rec.turn("o", "\x1b[8;20Hor\x1b[8;17Herr") // drawn back to front
	cleared := rec.turn("o", "\x1b[2J\x1b[H")
	alt := rec.turn("o", "\x1b[?1049h\x1b[3;3HERROR 7")
	rec.turn("o", "\x1b[3;12Hmore") // it is another line now
	rec.turn("o", "\x1b[?1049l")
	flood := rec.turn("o", strings.Repeat("x\r\n", 200)+"error in a flood\r\n"+strings.Repeat("y\r\n", 200))
	wrapped := rec.turn("o", strings.Repeat("w", 57)+"ERROR at the edge\r\n")
	brief := rec.turn("o", "a short error")
	rec.now -= 95 * time.Millisecond // it is erased 5 ms later
	rec.turn("o", "\x1b[H\x1b[2J")
	found, err := model(t).Search(within(t), dashboard.Of(rec.dir), "Error", 0)
	if err != nil {
		t.Fatal(err)
	}
	hits := found.Hits
	if last := hits[len(hits)-1]; last.Seq != brief || last.Line != "a short error" {
		t.Errorf("what was soon erased: %+v, want event %d", last, brief)
	}
	hits = hits[:len(hits)-1]
	var got []string
	for _, h := range hits {
		got = append(got, fmt.Sprintf("%d %s", h.Seq, h.Line))
	}
	want := []string{
		fmt.Sprintf("%d an error occurred", coloured), fmt.Sprintf("%d error", placed), fmt.Sprintf("%d ERROR 7", alt),
		fmt.Sprintf("%d ERROR 7  more", alt+1), fmt.Sprintf("%d error in a flood", flood), fmt.Sprintf("%d %sERROR at the edge", wrapped, strings.Repeat("w", 57)),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f, err := model(t).AtSeq(within(t), dashboard.Of(rec.dir), hits[1].Seq); err != nil || !strings.Contains(f.Screen.Text, "error") || hits[1].Seq >= cleared {
		t.Errorf("the moment of a hit shows it not: %v", err)
	}
}

// A search before an event finds what came before it, across segments, once.
func TestSearchBefore(t *testing.T) {
	rec := record(t, 64<<10)
	r := rand.New(rand.NewPCG(1, 2))
	const events = 60
	for i := range events {
		rec.turn("o", lines(r, 8<<10)+fmt.Sprintf("needle %d\r\n", i+1))
	}
	m := model(t)
	for _, before := range []uint64{0, 1, 2, 9, 30, 31, events, events + 1, events + 100} {
		f, err := m.Search(within(t), dashboard.Of(rec.dir), "needle", before)
		if err != nil {
			t.Fatal(err)
		}
		want := before - 1
		if before == 0 || before > events {
			want = events
		}
		if uint64(len(f.Hits)) != want || f.More || want > 0 && f.Hits[want-1].Line != fmt.Sprintf("needle %d", want) {
			t.Errorf("before %d: %d hits, want %d; more: %v", before, len(f.Hits), want, f.More)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	rec := record(t, 0)
	for i := range 1000 {
		rec.turn("o", fmt.Sprintf("hit %d %s\r\n", i, strings.Repeat("long ", 200)))
	}
	f, err := model(t).Search(within(t), dashboard.Of(rec.dir), "hit", 0)
	if err != nil || len(f.Hits) > 200 || len(f.Hits)+f.Dropped != 1000 || len(f.Hits[0].Line) > 300 || !strings.HasPrefix(f.Hits[len(f.Hits)-1].Line, "hit 999 ") {
		t.Errorf("%d hits and %d more, %v", len(f.Hits), f.Dropped, err)
	}
	for _, words := range []string{"", " x ", strings.Repeat("x", 201)} {
		if _, err := model(t).Search(within(t), dashboard.Of(rec.dir), words, 0); fault.KindOf(err) != fault.Usage {
			t.Errorf("%.10q: %v", words, err)
		}
	}
}
