package providertest

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

var talkCases = []testCase{
	{"NudgeFidelity", nudgeFidelity},
	{"NudgeLong", nudgeLong},
	{"NudgeMarked", nudgeMarked},
	{"NudgesDoNotMix", nudgesDoNotMix},
	{"InterruptDoesNotMix", interruptDoesNotMix},
	{"NudgeNothing", nudgeNothing},
	{"NudgeControls", nudgeControls},
	{"NudgeCutOff", nudgeCutOff},
	{"SendKeys", sendKeys},
	{"PeekCounts", peekCounts},
	{"PeekAfterTheEnd", peekAfterTheEnd},
}

// texts are what commands, shells and terminals like to take for their own.
var texts = []string{
	"plain", "-leading", "--", "-t", "trailing;", ";", ";;", `\;`, "Enter", "C-c", "Escape", "two\nlines", "three\n\nlines\n",
	"%", "%s %d", "#{pane_id}", "#[fg=red]", "#", "$HOME $(id) `id`", `"double" 'single'`, `back\slash\n`, "tab\there", "  spaces  ",
	"größe 名前 🎉 e\u0301 \u200d", "~", "!!", "{}", "[200~", "a=b", "&", "<&1", "*", "\u2028", "'",
}

func nudgeFidelity(w *world) {
	w.needs(Nudge)
	file := w.path("typed")
	w.start("w", "read", file)
	want := ""
	for _, text := range texts {
		if err := w.p.Nudge(w.Context(), "w", text); err != nil {
			w.Fatalf("Nudge(%q): %v", text, err)
		}
		want += w.typed(text)
		w.reads(file, want)
	}
}

// typed is what a program reads of a nudge.
func (w *world) typed(text string) string { return w.lineEnds(text) + w.h.Enter }

// lineEnds is what a program reads of a text without an Enter behind it.
func (w *world) lineEnds(text string) string { return strings.ReplaceAll(text, "\n", w.h.Enter) }

// reads waits until the program has read so much, and compares.
func (w *world) reads(file, want string) {
	w.Helper()
	if got := w.readBytes(file, len(want)); got != want {
		at := 0
		for at < len(got) && at < len(want) && got[at] == want[at] {
			at++
		}
		w.Fatalf("at byte %d the program read %.80q, want %.80q", at, got[at:], want[at:])
	}
}

// readBytes waits until the program has read so many bytes, and returns all that
// it has read.
func (w *world) readBytes(file string, n int) (got string) {
	w.Helper()
	w.eventually("the program has read "+strconv.Itoa(n)+" bytes", func() bool {
		raw, err := os.ReadFile(file)
		w.ok("read file", err)
		got = string(raw)
		return len(got) >= n
	})
	return got
}

func nudgeLong(w *world) {
	w.needs(Nudge)
	file := w.path("typed")
	w.start("w", "read", file)
	var long strings.Builder
	for i := 0; long.Len() < 64<<10; i++ {
		long.WriteString(strconv.Itoa(i) + " ü ")
	}
	w.ok("Nudge", w.p.Nudge(w.Context(), "w", long.String()))
	w.reads(file, w.typed(long.String()))
}

// nudgeMarked is a program that asked for pastes to be marked.
func nudgeMarked(w *world) {
	w.needs(Nudge, Terminal)
	file := w.path("typed")
	w.start("w", "paste", file)
	want := ""
	// What the program asked for may not have been read when it says so.
	w.eventually("a nudge is marked as a paste", func() bool {
		w.ok("Nudge", w.p.Nudge(w.Context(), "w", "probe"))
		want += "probe" + w.h.Enter
		w.eventually("the program has read the probe", func() bool {
			raw, err := os.ReadFile(file)
			w.ok("read file", err)
			return strings.HasSuffix(string(raw), w.h.Enter) && strings.Count(string(raw), w.h.Enter) == strings.Count(want, w.h.Enter)
		})
		raw, err := os.ReadFile(file)
		w.ok("read file", err)
		if string(raw) == want {
			return false
		}
		want = strings.TrimSuffix(want, "probe"+w.h.Enter) + "\x1b[200~probe\x1b[201~" + w.h.Enter
		return true
	})
	w.reads(file, want)
	text := "two\nlines of; -x"
	w.ok("Nudge", w.p.Nudge(w.Context(), "w", text))
	w.reads(file, want+"\x1b[200~"+strings.ReplaceAll(text, "\n", w.h.Enter)+"\x1b[201~"+w.h.Enter)
}

func nudgesDoNotMix(w *world) {
	w.needs(Nudge)
	file := w.path("typed")
	w.start("w", "read", file)
	again := w.opened(w.h.Reopen(w.T, w.p))
	var all []string
	var nudges sync.WaitGroup
	size := 0
	for i := range 8 {
		text := strings.Repeat(string(rune('a'+i)), 3000)
		all = append(all, text)
		size += len(w.typed(text))
		p := []provider.Provider{w.p, again}[i%2]
		nudges.Go(func() {
			if err := p.Nudge(w.Context(), "w", text); err != nil {
				w.Errorf("Nudge: %v", err)
			}
		})
	}
	nudges.Wait()
	lines := strings.Split(strings.TrimSuffix(w.readBytes(file, size), w.h.Enter), w.h.Enter)
	slices.Sort(lines)
	if !slices.Equal(lines, all) {
		w.Errorf("%d nudges came as %d lines, or mixed", len(all), len(lines))
	}
}

// interruptDoesNotMix presses Ctrl-C while nudges are typed. It never comes
// between a text and its Enter, where it would drop the text and leave the Enter.
func interruptDoesNotMix(w *world) {
	w.needs(Nudge, Terminal)
	file := w.path("typed")
	w.start("w", "read", file) // without the terminal's signals: Ctrl-C is a byte
	const rounds = 30
	again := w.opened(w.h.Reopen(w.T, w.p))
	var interrupts sync.WaitGroup
	interrupts.Go(func() {
		for range rounds {
			if err := again.Interrupt(w.Context(), "w"); err != nil {
				w.Errorf("Interrupt: %v", err)
			}
		}
	})
	for range rounds {
		w.ok("Nudge", w.p.Nudge(w.Context(), "w", "text"))
	}
	interrupts.Wait()
	got := w.readBytes(file, rounds*len("\x03"+w.typed("text")))
	if whole := strings.Count(got, w.typed("text")); whole != rounds {
		w.Errorf("%d of %d nudges came whole: %q", whole, rounds, got)
	}
}

func nudgeNothing(w *world) {
	w.needs(Nudge)
	file := w.path("typed")
	w.start("w", "read", file)
	w.is("Nudge with no text", w.p.Nudge(w.Context(), "w", ""), fault.Usage)
	w.ok("Nudge", w.p.Nudge(w.Context(), "w", "x"))
	w.reads(file, w.typed("x")) // and no Enter before it
}

// nudgeControls may be refused, but not changed.
func nudgeControls(w *world) {
	w.needs(Nudge)
	file := w.path("typed")
	w.start("w", "read", file)
	want := ""
	for _, text := range []string{"esc \x1b[31m", "intr \x03", "eof \x04", "del \x7f"} {
		err := w.p.Nudge(w.Context(), "w", text)
		if err != nil {
			w.is("Nudge with a control character", err, fault.Usage)
			continue
		}
		want += w.typed(text)
		w.reads(file, want)
	}
}

// nudgeCutOff is a nudge whose session is killed together with what holds it,
// as soon as the program has read the line. An error that says the session is
// not running must not hide that: whoever sends the text again sends it twice.
func nudgeCutOff(w *world) {
	w.needs(Nudge)
	for i, text := range slices.Repeat([]string{"once", "once\nand more"}, max(1, w.h.Sessions/10)) {
		name := "w" + strconv.Itoa(i)
		ready, read := w.path("ready-"+name), w.path("read-"+name)
		w.startConfig(w.p, name, w.command("/bin/sh", "-c", `: > "$1"; read -r line; printf %s "$line" > "$2"; kill -9 $PPID`, "sh", ready, read))
		w.appears(ready)
		err := w.p.Nudge(w.Context(), name, text)
		w.ends(name)
		if _, missing := os.Stat(read); missing != nil || err == nil || errors.Is(err, provider.ErrUnanswered) {
			continue
		}
		switch fault.KindOf(err) {
		case fault.NotFound, fault.NotRunning, fault.Busy:
			w.Errorf("Nudge = %v (kind %q), and the program has read it: want the error to wrap ErrUnanswered", err, fault.KindOf(err))
		}
	}
}

func sendKeys(w *world) {
	w.needs(SendKeys, Terminal)
	file := w.path("typed")
	w.start("w", "read", file)
	w.is("an unknown chord", w.p.SendKeys(w.Context(), "w", "a", "NoSuchKey"), fault.Usage)
	w.is("no chord", w.p.SendKeys(w.Context(), "w"), fault.Usage)
	w.ok("SendKeys", w.p.SendKeys(w.Context(), "w", "b", "-", ";", "Enter", "C-c", "Down", "Tab", "Esc", "ü", "Space", "Backspace", "M-x"))
	w.reads(file, "b-;\r\x03\x1b[B\t\x1bü \x7f\x1bx")
}

// sees waits until a session's text has a line.
func (w *world) sees(p provider.Provider, name, line string) {
	w.Helper()
	w.eventually(name+" shows "+strconv.Quote(line), func() bool {
		return slices.Contains(strings.Split(w.peek(p, name, 0), "\n"), line)
	})
}

func (w *world) peek(p provider.Provider, name string, n int) string {
	w.Helper()
	text, err := p.Peek(w.Context(), name, n)
	w.ok("Peek", err)
	return text
}

// numbered are the lines that the helper prints.
func numbered(from, to int) string {
	var lines []string
	for i := from; i <= to; i++ {
		lines = append(lines, "line "+strconv.Itoa(i))
	}
	return strings.Join(lines, "\n")
}

func peekCounts(w *world) {
	w.needs(Peek)
	const many = 300 // more than a screen
	w.start("w", "lines", strconv.Itoa(many), "0")
	w.sees(w.p, "w", "line 300")
	for _, n := range []int{1, 2, 5, 39, 40, 41, 100, many} {
		w.equal("Peek("+strconv.Itoa(n)+")", w.peek(w.p, "w", n), numbered(many-n+1, many))
	}
	w.equal("Peek of more than there is", w.peek(w.p, "w", 1000), numbered(1, many))
	w.equal("Peek(0)", w.peek(w.p, "w", 0), numbered(1, many))
	w.start("blank", "lines", "10", "100") // what was printed last is blank
	w.eventually("all is printed", func() bool { return w.peek(w.p, "blank", 0) == numbered(1, 10) })
	w.equal("Peek(3) above blank lines", w.peek(w.p, "blank", 3), numbered(8, 10))
	w.start("silent", "idle")
	w.equal("Peek of a silent session", w.peek(w.p, "silent", 10), "")
	_, err := w.p.Peek(w.Context(), "w", -1)
	w.is("Peek(-1)", err, fault.Usage)
}

func peekAfterTheEnd(w *world) {
	w.needs(Peek)
	w.start("w", "lines", "100", "0", "end")
	w.ends("w")
	w.equal("Peek(7)", w.peek(w.p, "w", 7), numbered(94, 100))
	w.equal("Peek(0)", w.peek(w.p, "w", 0), numbered(1, 100))
}
