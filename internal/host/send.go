package host

import (
	"path/filepath"
	"strings"

	"den/internal/cell"
	"den/internal/keys"
	"den/internal/wire"
)

// send types the code, whole into a shell with marks, and otherwise the first
// of its lines.
func (r *running) send(s seen) {
	c := r.cells.h.core
	code := strings.TrimRight(r.code, "\n")
	r.prompt = r.cells.learn(s.prompt)
	r.byShell = (s.shell.atPrompt() || s.cleared) && r.cells.given == "" && r.cells.hook == ""
	r.lines = strings.Split(code, "\n")
	if path := r.cells.hook; path != "" {
		hook, err := startHook(path)
		if err != nil {
			r.finish(cell.Result{Status: cell.Failed, Output: err.Error()})
			return
		}
		r.turn.hook = hook
	}
	c.mu.Lock()
	r.turn.ends = c.shell.ends
	c.cell = r.turn
	r.sentSeq = c.outputSeq
	c.mu.Unlock()
	if r.byShell && !s.shell.silent && (len(r.lines) == 1 || s.bracket) {
		c.mu.Lock()
		r.turn.typed = &typedAt{s.line, s.prompt.col, r.lines}
		c.mu.Unlock()
		r.lines = nil
		r.submit(code, s)
		return
	}
	r.next(s)
}

// keepsRefused reports whether the session's shell leaves code that it refused
// in its editor.
func (h *Host) keepsRefused() bool { return filepath.Base(h.manifest().Command[0]) == "fish" }

// clearing reports whether something that stood behind the shell's prompt is
// being dropped, and sees to it. A shell that was drawing its prompt may have
// lost the key: it is pressed again.
func (r *running) clearing(s seen) bool {
	switch {
	case r.cleared == 0 && (s.shell.leftover(s.prompt.text) || s.shell.refused && r.cells.h.keepsRefused()):
		r.cleared = s.shell.ends + 1
		r.clear()
		return true
	case r.cleared > 0 && s.shell.ends < r.cleared && r.clears < intPresses:
		if s.quiet > clearRest {
			r.clear()
		}
		return true
	}
	return false
}

// clear drops what stands behind the shell's prompt, as a person would: the
// code is run alone.
func (r *running) clear() {
	r.clears++
	if _, err := r.cells.h.sendInput(wire.Input{Keys: []string{"C-c"}}); err != nil {
		r.finish(cell.Result{Status: cell.Failed, Output: "send failed: " + err.Error()})
	}
}

// next types one more line of the code.
func (r *running) next(s seen) {
	line := r.lines[0]
	r.lines, r.typed = r.lines[1:], line
	c := r.cells.h.core
	c.mu.Lock()
	r.turn.take = cell.NewCollector(r.turn.sink, s.line, s.prompt.col)
	if r.redraws(s) {
		primary := r.prompt.text
		r.turn.take.ExpectRedrawn(line, func(text string) bool {
			return cell.SamePrompt(text, primary) || cell.IsContinuation(text, primary)
		})
	} else {
		r.turn.take.Expect(line)
	}
	c.mu.Unlock()
	r.submit(line, s)
}

// redraws reports whether the program has an editor of its own that may draw
// its input again (irb, ipython): its prompt counts, in a terminal that does
// not edit for it.
func (r *running) redraws(s seen) bool {
	return !s.probe.Canonical && strings.ContainsAny(s.prompt.text, "0123456789")
}

// submit sends text and Enter. In paste brackets a tab completes nothing; where
// there is none they are left away, because readline draws a pasted line twice,
// and at the wrong place behind output without a newline. A shell's line editor
// takes text and Enter in one write; of other programs it is not known, so they
// read the text before Enter comes.
func (r *running) submit(text string, s seen) {
	h := r.cells.h
	bracket := s.bracket
	in := wire.Input{Text: &text, Enter: true}
	switch {
	case bracket && strings.ContainsAny(text, "\t\n"):
		in = wire.Input{Raw: append(keys.Paste([]byte(text), h.core.modes()), '\r')}
	case r.byShell:
		in = wire.Input{Raw: append(keys.Text(text), '\r')}
	}
	if _, err := h.typeIn(in, typist{brisk: !r.redraws(s)}); err != nil {
		r.finish(cell.Result{Status: cell.Failed, Output: "send failed: " + err.Error()})
	}
}

// nextCommand types one more line of the code at the shell's prompt.
func (r *running) nextCommand(s seen) {
	c := r.cells.h.core
	c.mu.Lock()
	r.turn.over, r.turn.ends = false, c.shell.ends
	c.mu.Unlock()
	r.next(s)
}

// feedBlock makes Python's REPL take what a file would mean: empty lines
// inside a block do not end it, and a line at the margin does. An empty line
// that did not end it is not sent again.
func (r *running) feedBlock() {
	if r.python().Within() {
		return
	}
	for len(r.lines) > 1 && strings.TrimSpace(r.lines[0]) == "" {
		r.lines = r.lines[1:]
	}
	if r.typed != "" && !r.python().Decorated() && cell.EndsBefore(r.lines[0]) {
		r.lines = append([]string{""}, r.lines...)
	}
}

// python is how far the code that was typed has come, for Python's REPL.
func (r *running) python() *cell.Python {
	lines := strings.Split(strings.TrimRight(r.code, "\n"), "\n")
	for done := len(lines) - len(r.lines); r.pythonDone < done; r.pythonDone++ {
		r.pythonSeen.Add(lines[r.pythonDone])
	}
	return &r.pythonSeen
}
