package script

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session/attention"
	"den/internal/session/cell"
	"den/internal/session/steps"
)

const (
	// restGap is how long nothing was printed or typed where a screen is taken for
	// one at rest. Hosts take as long for a pause.
	restGap = 200 * time.Millisecond
	// sureGap is after how long the host would have noted that a program works
	// which it noted as waiting before.
	sureGap = time.Second
	// longStretch is from when on a wait gets more time than others.
	longStretch = 10 * time.Second
)

// Options say how a script is made of a recording.
type Options struct {
	Command []string
	Term    string
	// Signal is what ended the program, or "". Who kills a session is not in the
	// script.
	Signal string
	// Until is how long the session has run, if it still does.
	Until time.Duration
	// Redact, or nil, finds what becomes a variable where it was typed, and is left
	// open where it is shown.
	Redact *redact.Redactor
	// Mask finds the parts of rows that may be anything of its form.
	Mask []*regexp.Regexp
	// Styles has the looks of screens expected, not only their text.
	Styles bool
	// Pictures, when not "", has pictures of screens expected. Their names begin so.
	Pictures string
}

// Derived is a script of a recording.
type Derived struct {
	Script
	// Warnings say what the script lacks of the recording.
	Warnings []string
	Pictures map[string][]byte // PNGs, by the names that the script has
}

// Derive makes a script of a recording: what was typed, and between it waits for
// what came of it then.
func Derive(log *eventlog.Log, o Options) (*Derived, error) {
	h, err := log.Header()
	if err != nil {
		return nil, err
	}
	segments, err := log.Segments()
	if err != nil {
		return nil, err
	}
	if len(segments) > 0 && segments[0].FirstSeq() > 1 {
		return nil, fault.Errorf(fault.Export, "the beginning of the recording was dropped, so nobody knows how to come to what is left")
	}
	r := &reader{o: o, term: vt.New(vt.Config{Cols: h.Cols, Rows: h.Rows, Scrollback: replay.Scrollback}), fresh: true, secrets: map[string]string{}, painter: steps.Painter{Hide: o.Redact}}
	r.out.Pictures = map[string][]byte{}
	r.out.Start = Start{Version: Version, Command: o.Command, Cols: h.Cols, Rows: h.Rows, Term: o.Term}
	for ev, err := range log.Events(0) {
		switch {
		case eventlog.Missing(err):
			r.warn("not in the recording: %v", err)
			r.fresh = true
		case err != nil:
			return nil, err
		default:
			r.take(ev)
		}
	}
	r.finish()
	if r.err != nil {
		return nil, r.err
	}
	for i := range r.out.Steps {
		if err := r.out.Steps[i].Check(); err != nil {
			return nil, fmt.Errorf("make step %d of the script: %w", i, err)
		}
	}
	return &r.out, nil
}

// reader goes through a recording. What lies between two inputs is a stretch.
type reader struct {
	o    Options
	out  Derived
	term *vt.Terminal
	keys *keyboard
	now  time.Duration // of the event in hand

	fresh   bool // the next repaint tells more than is known
	secret  bool // the next input is one
	ended   bool
	waiting bool // the last note: the program waits for input
	guess   bool // and the kernel does not say so

	// of the stretch
	input   uint64        // the event that began it, or 0
	began   time.Duration // when
	moved   time.Duration // when something was last printed or typed
	wrote   bool
	mute    bool     // something was typed since it last wrote
	noted   bool     // the program was noted as waiting since it last wrote
	before  string   // the screen when it began
	typed   string   // the text that began it
	pauses  []string // screens that stood for a while
	start   place    // where the input was typed
	alt     bool     // on the alternate screen
	entered bool     // with Enter, or with a key that ends what runs
	printed bool     // with text, which may be shown where the cursor was
	open    bool     // the last step may be gone on with
	pending *hidden  // input that was not recorded
	early   bool     // it began before what came of the one before had

	// of the cell that runs
	cell     string
	cellStep int
	asking   bool
	answer   []byte
	unknown  int  // bytes of the answer that were not recorded
	hides    bool // the answer is a secret
	did      bool // a cell's end is the end of the stretch

	// ahead is that something was typed ahead, and unsure the last line of the main
	// screen that depends on who was faster then: the terminal, or what read it.
	ahead  bool
	unsure int64

	shown   string            // how the last screen that is expected looks
	any     bool              // there is one
	secrets map[string]string // names of variables, by value
	unseen  int               // inputs that nobody knows

	page    redact.Page
	known   *redact.Redactor // of the first so many secrets
	knows   int
	painter steps.Painter
	picture []byte // of the last screen that was looked at
	err     error
}

// hidden is input of which only the length is known. Where the program repeated
// it, it stands on the screen.
type hidden struct {
	bytes int
	count int // inputs
	at    place
	alt   bool
	text  string
	enter bool
	known bool
	moved bool // the cursor has left the line
	// secret is what it was, where it is recorded and must not be told; or "".
	secret string
}

// place is one in the text, on the main screen by the number of its line.
type place struct {
	line int64
	col  int
}

func (r *reader) cursor() place {
	c := r.term.Cursor()
	return place{r.term.ScreenLine() + int64(c.Row), c.Col}
}

func (r *reader) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(r.out.Warnings, w) {
		r.out.Warnings = append(r.out.Warnings, w)
	}
}

func (r *reader) take(ev eventlog.Event) {
	r.now = ev.Time
	if ev.Repaint {
		if r.fresh {
			replay.Apply(r.term, ev)
			r.fresh = false
		}
		return
	}
	if _, ok := ev.Output(); ok {
		if ev.Time-r.moved >= restGap && r.wrote {
			r.pauses = append(r.pauses, screen.Text(r.term))
		}
		replay.Apply(r.term, ev)
		r.wrote, r.mute, r.moved, r.noted = true, false, ev.Time, false
		r.recover()
		return
	}
	if raw, ok := ev.Input(); ok {
		secret := r.secret
		r.secret = false
		r.typedIn(raw, 0, secret, ev.Seq)
		return
	}
	switch ev.Code {
	case eventlog.Hidden:
		var h struct {
			Bytes int `json:"bytes"`
		}
		if json.Unmarshal(ev.Data, &h) == nil && h.Bytes > 0 {
			r.typedIn(nil, h.Bytes, false, ev.Seq)
		}
	case eventlog.Resize:
		if cols, rows, ok := ev.Size(); ok {
			r.settle(ev.Time)
			replay.Apply(r.term, ev)
			r.append(steps.Step{Resize: &steps.Size{Cols: cols, Rows: rows}})
			r.begin(ev.Seq)
		}
	case eventlog.Clear:
		replay.Apply(r.term, ev)
	case eventlog.Signal:
		r.warn("SIG%s was sent to the program: no step does that", strings.TrimPrefix(string(ev.Data), "SIG"))
	case eventlog.Note:
		if n, ok := ev.ActivityNote(); ok {
			r.waiting, r.guess = n.Activity == string(attention.Waiting), n.Guess
			r.noted = r.waiting
		}
		r.secret = r.secret || ev.Unechoed()
	case eventlog.Cell:
		r.takeCell(ev)
	case eventlog.Exit:
		r.exit(ev)
	}
}

// append adds a step. Those after it are of another stretch.
func (r *reader) append(s steps.Step, comments ...string) {
	r.out.Steps = append(r.out.Steps, Step{Step: s, comments: comments})
}

// begin begins a stretch, with the event of its input.
func (r *reader) begin(seq uint64) {
	r.input, r.began, r.moved = seq, r.now, r.now
	r.before, r.typed, r.pauses = screen.Text(r.term), "", nil
	r.wrote, r.mute, r.noted, r.did, r.entered, r.printed = false, false, false, false, false, false
	r.start, r.alt = r.cursor(), r.term.Modes().AltScreen
}

// typedIn takes input: bytes, which may be a secret, or how many there were.
func (r *reader) typedIn(raw []byte, unknown int, secret bool, seq uint64) {
	switch {
	case r.cell != "" && !r.asking:
		return // what den types for the cell
	case r.cell != "":
		r.answer, r.unknown, r.hides = append(r.answer, raw...), r.unknown+unknown, r.hides || secret
		return
	}
	if secret {
		unknown = len(raw)
	}
	if r.goesOn(unknown > 0) {
		r.moved, r.mute = r.now, r.wrote
	} else {
		r.settle(r.now)
		r.noteAhead()
		r.begin(seq)
	}
	if unknown > 0 {
		if r.pending == nil {
			r.pending = &hidden{at: r.cursor(), alt: r.term.Modes().AltScreen}
		}
		r.pending.bytes += unknown
		r.pending.secret += string(raw)
		r.pending.count++
		r.pending.known = false
		return
	}
	m := r.term.Modes()
	if r.keys == nil || r.keys.modes != m {
		r.keys = newKeyboard(m)
	}
	all := r.keys.tokens(raw)
	for _, t := range all {
		r.add(t, m.AltScreen && len(all) == 1 && len([]rune(t.text)) == 1)
	}
}

// noteAhead notes that more is typed although the program has not come to rest
// behind a line that was entered, or behind its start.
func (r *reader) noteAhead() {
	if (r.entered || r.input == 0) && !r.rested(r.now) && !r.term.Modes().AltScreen {
		r.ahead = true
		r.warn("something was typed ahead: no screen is expected until what it left has scrolled away")
	}
}

// goesOn reports whether what is typed now belongs to what was typed before: the
// program has only repeated that, or done nothing yet.
func (r *reader) goesOn(isHidden bool) bool {
	if (r.pending != nil) != isHidden || r.pending == nil && !r.open {
		return false
	}
	if !r.wrote || r.mute {
		return true
	}
	if r.term.Modes().AltScreen {
		return false
	}
	if p := r.pending; p != nil {
		return p.known && !p.enter && p.bytes == len(p.text)
	}
	return r.typed != "" && r.echoed()
}

// echoed reports whether the text left of the cursor ends with what was typed,
// and the line has not been ended.
func (r *reader) echoed() bool {
	last := &r.out.Steps[len(r.out.Steps)-1]
	if last.Type == nil || last.Enter {
		return false
	}
	c := r.term.Cursor()
	row := r.term.Row(c.Row)
	var left []byte
	for col := range min(c.Col, row.Len()) {
		was := len(left)
		if left = row.AppendCell(left, col); len(left) == was && row.Width(col) > 0 {
			left = append(left, ' ')
		}
	}
	return strings.HasSuffix(string(left), r.typed)
}

// add takes a part of what was typed.
func (r *reader) add(t token, alone bool) {
	r.noteAhead()
	var last *steps.Step
	if n := len(r.out.Steps); n > 0 && r.open {
		last = &r.out.Steps[n-1].Step
	}
	typing := last != nil && last.Type != nil && !last.Enter
	switch {
	case t.paste:
		text := r.variables(t.text)
		r.append(steps.Step{Paste: &text})
	case t.key == "Enter" && typing:
		last.Enter = true
	case t.key != "" || alone:
		key := t.key
		if alone && key == "" {
			key = t.text
			if key == " " {
				key = "Space"
			}
		}
		if last != nil && last.Keys != nil {
			last.Keys = append(last.Keys, key)
		} else {
			r.append(steps.Step{Keys: []string{key}})
		}
	case !strings.Contains(strings.ToValidUTF8(t.text, "\uffff"), "\uffff") && typing:
		text := r.variables(*last.Type + t.text)
		last.Type = &text
	default:
		clean := strings.ToValidUTF8(t.text, "")
		if clean != t.text {
			r.warn("input that is not UTF-8 was typed: the script lacks it")
		}
		if clean == "" {
			return
		}
		text := r.variables(clean)
		r.append(steps.Step{Type: &text})
	}
	if t.key == "" && !t.paste && !alone {
		r.typed += t.text
	}
	r.printed = r.printed || t.key == "" || alone
	r.entered = t.key == "Enter" || t.key == "C-c" || t.key == "C-d" || t.paste
	r.open = true
}

// variables puts variables where a text has secrets.
func (r *reader) variables(text string) string {
	spans := r.o.Redact.Spans([]byte(text))
	for _, sp := range slices.Backward(spans) {
		text = text[:sp.From] + "${" + r.variable(text[sp.From:sp.To]) + "}" + text[sp.To:]
	}
	return text
}

// variable names a secret, or another one that nobody knows.
func (r *reader) variable(value string) string {
	if name, ok := r.secrets[value]; ok && value != "" {
		return name
	}
	name := fmt.Sprintf("SECRET_%d", len(r.out.Vars)+1)
	r.out.Vars = append(r.out.Vars, name)
	if value != "" {
		r.secrets[value] = name
	}
	return name
}

// recover looks for what was typed without being recorded: a line editor shows it
// from where the cursor stood.
func (r *reader) recover() {
	p := r.pending
	if p == nil || p.enter || p.alt || p.secret != "" || r.term.Modes().AltScreen {
		return
	}
	cur := r.cursor()
	y := p.at.line - r.term.ScreenLine()
	_, rows := r.term.Size()
	if y < 0 || y >= int64(rows) {
		return
	}
	var line []byte
	col, at := p.at.col, p.at.line
	toCursor := ""
	for ; y < int64(rows); y++ {
		row := r.term.Row(int(y))
		for ; col < row.Len(); col++ {
			if at == cur.line && col == cur.col {
				toCursor = string(line)
			}
			was := len(line)
			if line = row.AppendCell(line, col); len(line) == was && row.Width(col) > 0 {
				line = append(line, ' ')
			}
		}
		if !row.Wrapped() {
			break
		}
		col, at = 0, at+1
	}
	whole := strings.TrimRight(string(line), " ")
	p.moved = cur.line > at
	switch {
	case strings.Trim(whole, "*•") == "" && whole != "":
		return // a password, as it is shown
	case p.moved && len(whole) == p.bytes-1:
		p.text, p.enter, p.known = whole, true, true
	case !p.moved && len(toCursor) == p.bytes && strings.TrimRight(toCursor, " ") == whole:
		p.text, p.known = toCursor, true
	}
}

// resolve makes steps of input that was not recorded.
func (r *reader) resolve() {
	p := r.pending
	if p == nil {
		return
	}
	r.pending = nil
	if p.known {
		if p.text != "" {
			r.add(token{text: p.text}, false)
		}
		if p.enter {
			r.add(token{key: "Enter"}, false)
		}
		return
	}
	value, enter := strings.CutSuffix(p.secret, "\r")
	if p.secret == "" {
		r.unseen += p.count
		enter = p.moved && p.bytes > 1
	}
	name := r.variable(value)
	text := "${" + name + "}"
	r.append(steps.Step{Type: &text, Enter: enter},
		fmt.Sprintf("%s: %d bytes that were typed without echo, at %v%s", name, p.bytes, r.began.Round(time.Millisecond), enterToo(enter)))
	r.open, r.entered, r.printed = false, enter, true
}

func enterToo(enter bool) string {
	if enter {
		return ", the last of them Enter"
	}
	return ""
}

// settle ends a stretch: it adds a wait for what came of the input, and the screen
// if it was one at rest.
func (r *reader) settle(at time.Duration) {
	r.resolve()
	rested := r.rested(at)
	// What comes behind an input may be of the one before, where the program had not
	// come to rest in between. Then it may also come before the input.
	early := r.early
	r.early = !rested || !r.wrote && r.input == 0
	if !r.wrote && (r.any || r.input > 0) {
		r.open = r.open && !rested
		return
	}
	if !r.wrote {
		return
	}
	r.open = false
	r.hide()
	w := steps.Wait{Timeout: r.limit(at), Early: early}
	if text := r.news(); text != "" {
		w.Text = &text
	}
	w.Ready = rested && !r.ended && r.waiting && !r.guess && (r.noted || at-r.moved >= sureGap)
	var s *steps.Screen // that is expected
	if rested {
		shown, look := r.screen()
		switch {
		case r.isNew(look):
			s = shown
			r.shown, r.any = look, true
		case w.Text != nil || w.Ready || r.ended: // it is waited for
		case r.any && look == r.shown:
			w.Cursor = r.movedTo(shown)
		default:
			w.Text = r.freshLine()
		}
	}
	if !r.did && (w.Text != nil || w.Ready || w.Cursor != nil) {
		r.append(steps.Step{Wait: &w})
	}
	if s != nil {
		r.expect(s, w.Timeout)
	}
}

// isNew reports whether a screen is to be expected: not the one that was last, and
// sure to be the same again.
func (r *reader) isNew(look string) bool { return (!r.any || look != r.shown) && r.sure() }

// expect adds a screen.
func (r *reader) expect(s *steps.Screen, limit *steps.Duration) {
	if r.o.Pictures != "" {
		s.Picture = fmt.Sprintf("%s-%d.png", r.o.Pictures, len(r.out.Pictures)+1)
		r.out.Pictures[s.Picture] = r.picture
	}
	r.append(steps.Step{Screen: s, Timeout: limit})
}

// freshLine is the line on which the cursor is, if it was written since the input:
// the next prompt, where nothing else tells that the program has done what it was
// told; or nil.
func (r *reader) freshLine() *string {
	y := r.term.Cursor().Row
	row := r.term.Row(y)
	text := strings.TrimSpace(string(row.AppendText(nil)))
	restless := r.restless()
	if text == "" || r.input > 0 && r.isStart(y) || !r.isFresh(row) || y < len(restless) && restless[y] || r.opened(text, r.secretsIn(y)) != "" || strings.Contains(r.typed, text) {
		return nil
	}
	return &text
}

// movedTo is where the cursor is, if that is all that tells of the input; or nil.
func (r *reader) movedTo(s *steps.Screen) *string {
	c := r.term.Cursor()
	if !c.Visible || r.cursor() == r.start && r.term.Modes().AltScreen == r.alt || slices.Contains(r.restless(), true) {
		return nil
	}
	if c.Row < len(s.Rows) && (s.Rows[c.Row].Any || s.Rows[c.Row].Regex != "") {
		return nil // with what stands there, its column may differ
	}
	at := fmt.Sprintf("%d,%d", c.Row, c.Col)
	return &at
}

// rested reports whether the screen was one at rest at a time. It is not while
// nothing has come of what was typed last: a busy machine is slow to repeat a key.
func (r *reader) rested(at time.Duration) bool {
	return r.did || r.ended || !r.mute && (r.noted || at-r.moved >= restGap)
}

// sure reports whether the screen would be the same again. What is typed ahead is
// echoed at once by the terminal, or later by the editor of a line, or twice. Once
// it has scrolled away, or was cleared, that does not matter any more.
func (r *reader) sure() bool {
	if r.term.Modes().AltScreen {
		return true
	}
	cur := r.cursor()
	if r.ahead {
		r.ahead, r.unsure = false, cur.line
	}
	if r.unsure > 0 && (r.term.ScreenLine() > r.unsure || r.term.Cursor().Row == 0) {
		r.unsure = 0
	}
	return r.unsure == 0
}

// limit is how long what took until now may take again, or nil for the usual
// time.
func (r *reader) limit(at time.Duration) *steps.Duration {
	took := r.moved - r.began
	if took < longStretch {
		return nil
	}
	d := steps.Duration((3*took + steps.DefaultTimeout).Round(time.Second))
	return &d
}

// screen is the expectation of what the terminal shows, without the name of its
// picture, and all that is compared of it.
func (r *reader) screen() (s *steps.Screen, look string) {
	shot := screen.Capture(r.term, 0)
	s = steps.ScreenOf(&shot, r.o.Styles)
	restless := r.restless()
	for y := range s.Rows {
		row := &s.Rows[y]
		if y < len(restless) && restless[y] {
			*row = steps.Row{Any: true}
		} else if expr := r.opened(row.Text, r.secretsIn(y)); expr != "" {
			*row = steps.Row{Regex: expr}
		}
	}
	look = shot.Text + "\x00" + strings.Join(s.Styles, "\n")
	if r.o.Pictures != "" && r.err == nil {
		r.picture, r.err = r.painter.Draw(s, &shot)
		look += string(r.picture)
	}
	return s, look
}

// hide finds the secrets on the screen, also those that rows break.
func (r *reader) hide() {
	if len(r.secrets) != r.knows {
		r.knows = len(r.secrets)
		var values []string
		for value := range r.secrets {
			values = append(values, regexp.QuoteMeta(value))
		}
		if r.known, r.err = redact.New(values, false); r.err != nil {
			return
		}
	}
	r.page.Take(r.term, 0)
	r.page.Hide(r.o.Redact)
	r.page.Hide(r.known)
}

// secretsIn are the parts of a row of the screen that hide has found.
func (r *reader) secretsIn(y int) (parts []part) {
	row, hidden := r.term.Row(y), r.page.Hidden(y)
	var line []byte
	for col := range min(row.Len(), len(hidden)) {
		was := len(line)
		if line = row.AppendCell(line, col); len(line) == was && row.Width(col) > 0 {
			line = append(line, ' ')
		}
		switch n := len(parts); {
		case !hidden[col]:
		case n > 0 && parts[n-1].to == was:
			parts[n-1].to = len(line)
		default:
			parts = append(parts, part{was, len(line), ".+"})
		}
	}
	return parts
}

// opened is a regular expression for a row with parts that differ from time to
// time, or must not be told, as these; "" for others.
func (r *reader) opened(row string, parts []part) string {
	parts = append(parts, secretParts(r.o.Redact.Spans([]byte(row)))...)
	for value := range r.secrets {
		if i := strings.Index(row, value); i >= 0 {
			parts = append(parts, part{i, i + len(value), ".+"})
		}
	}
	for _, m := range r.o.Mask {
		for _, at := range m.FindAllStringIndex(row, -1) {
			if at[0] < at[1] {
				parts = append(parts, part{at[0], at[1], "(?:" + m.String() + ")"})
			}
		}
	}
	return withOpen(row, parts)
}

// part is a part of a row that a regular expression stands for.
type part struct {
	from, to int
	expr     string
}

func secretParts(spans []redact.Span) (parts []part) {
	for _, sp := range spans {
		parts = append(parts, part{sp.From, sp.To, ".+"})
	}
	return parts
}

// withOpen is a regular expression for a row with such parts, or "".
func withOpen(row string, parts []part) string {
	if len(parts) == 0 {
		return ""
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.from - b.from })
	var b strings.Builder
	done := 0
	for _, p := range parts {
		if p.to = min(p.to, len(row)); p.to <= done {
			continue
		}
		if p.from < done { // what is behind the part before must not be told either
			p.from, p.expr = done, ".+"
		}
		b.WriteString(regexp.QuoteMeta(row[done:p.from]) + p.expr)
		done = p.to
	}
	return b.String() + regexp.QuoteMeta(row[done:])
}

// restless tells which rows have changed again and again while nobody typed: a
// clock, a spinner, a list of processes.
func (r *reader) restless() []bool {
	if len(r.pauses) == 0 {
		return nil
	}
	_, rows := r.term.Size()
	changes := make([]int, rows)
	screens := append(slices.Clone(r.pauses), screen.Text(r.term))
	for i := 1; i < len(screens); i++ {
		a, b := strings.Split(screens[i-1], "\n"), strings.Split(screens[i], "\n")
		for y := range min(len(a), len(b), rows) {
			if a[y] != b[y] && a[y] != "" && b[y] != "" {
				changes[y]++
			}
		}
	}
	found := make([]bool, rows)
	for y, n := range changes {
		found[y] = n >= 2
	}
	return found
}

// news is a row that was written since the input, and stood nowhere before. What
// the terminal repeated of the input is none. A row of words is the first choice,
// and one with digits the last: they may be a time.
func (r *reader) news() string {
	_, rows := r.term.Size()
	restless := r.restless()
	var found [3]string
	for y := rows - 1; y >= 0; y-- {
		row := r.term.Row(y)
		if row.MaxSeq() <= r.input || y < len(restless) && restless[y] || r.input > 0 && r.isStart(y) {
			continue
		}
		text := strings.TrimSpace(string(row.AppendText(nil)))
		choice := 1
		switch {
		case text == "" || strings.Contains(r.before, text) || r.opened(text, r.secretsIn(y)) != "" || !r.isFresh(row):
			continue
		case r.typed != "" && (strings.Contains(text, r.typed) || strings.Contains(r.typed, text)):
			continue
		case hasDigits(text):
			choice = 2
		case hasWord(text):
			choice = 0
		}
		if found[choice] == "" {
			found[choice] = text
		}
	}
	return cmp.Or(found[:]...)
}

// isStart reports whether a row is the one in which the input was typed: the
// program, or the terminal, repeats it there. Full screens repeat no keys.
func (r *reader) isStart(y int) bool {
	alt := r.term.Modes().AltScreen
	return alt == r.alt && (r.printed || !alt) && r.start.line == r.term.ScreenLine()+int64(y)
}

// hasWord reports whether three letters stand beside each other.
func hasWord(text string) bool {
	n := 0
	for _, c := range text {
		if n++; !unicode.IsLetter(c) {
			n = 0
		}
		if n == 3 {
			return true
		}
	}
	return false
}

// isFresh reports whether a character of the row was written since the input.
func (r *reader) isFresh(row vt.Row) bool {
	for col := range row.Len() {
		if text := row.AppendCell(nil, col); len(text) > 0 && string(text) != " " && row.Seq(col) > r.input {
			return true
		}
	}
	return false
}

// takeCell takes the start, a question or the end of a cell.
func (r *reader) takeCell(ev eventlog.Event) {
	var c struct {
		Cell   string `json:"cell_id"`
		Status string `json:"status"`
		Code   string `json:"code"`
		By     string `json:"by"`
	}
	if json.Unmarshal(ev.Data, &c) != nil || c.Cell == "" {
		return
	}
	switch {
	case c.Status == string(cell.Fired):
		r.settle(r.now)
		code := r.variables(c.Code)
		r.append(steps.Step{Run: &code})
		r.cell, r.cellStep, r.asking, r.open = c.Cell, len(r.out.Steps)-1, false, false
		r.answer, r.unknown, r.hides = nil, 0, false
		r.begin(ev.Seq)
		r.printed = true
	case c.Cell != r.cell:
	case c.Status == cell.Asking:
		r.answered()
		r.asking = true
	default:
		r.answered()
		if c.By == string(cell.ByInt) {
			r.uncell()
			r.append(steps.Step{Keys: []string{"C-c"}})
		} else {
			r.did = c.By != string(cell.ByRelease)
			r.out.Steps[len(r.out.Steps)-1].Timeout = r.limit(r.now)
		}
		r.cell, r.asking = "", false
	}
}

// answered makes a step of the answer to a question.
func (r *reader) answered() {
	raw, unknown, hides := r.answer, r.unknown, r.hides
	r.answer, r.unknown, r.hides = nil, 0, false
	if !r.asking || len(raw)+unknown == 0 {
		return
	}
	a := &steps.Answer{}
	text, enter := bytes.CutSuffix(raw, []byte("\r"))
	switch {
	case hides && unknown == 0:
		word := "${" + r.variable(string(text)) + "}"
		a.Text = &word
	case unknown > 0:
		name := r.variable("")
		secret := "${" + name + "}"
		a.Text = &secret
		r.append(steps.Step{Answer: a}, fmt.Sprintf("%s: %d bytes that were typed without echo, at %v, the last of them Enter", name, unknown, r.now.Round(time.Millisecond)))
		return
	case enter && !bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		word := r.variables(string(text))
		a.Text = &word
	default:
		for _, t := range newKeyboard(r.term.Modes()).tokens(raw) {
			if t.key != "" {
				a.Keys = append(a.Keys, t.key)
				continue
			}
			for _, c := range t.text {
				a.Keys = append(a.Keys, strings.Replace(string(c), " ", "Space", 1))
			}
		}
	}
	r.append(steps.Step{Answer: a})
}

// uncell makes typed text of a cell that has no end of its own.
func (r *reader) uncell() {
	s := &r.out.Steps[r.cellStep].Step
	*s = steps.Step{Type: s.Run, Enter: true}
	r.typed = *s.Type
}

// exit ends the recording with the program.
func (r *reader) exit(ev eventlog.Event) {
	var code int
	if _, err := fmt.Sscanf(string(ev.Data), "%d", &code); err != nil {
		return
	}
	r.resolve()
	r.ended = true
	if r.cell != "" {
		r.uncell()
		r.cell = ""
	}
	if r.o.Signal != "" {
		r.settle(r.now)
		r.warn("the session was ended by %s: the script ends before that", r.o.Signal)
		return
	}
	r.append(steps.Step{Exit: &steps.Exit{Code: code}, Timeout: r.limit(r.now)})
	r.hide()
	if s, look := r.screen(); r.isNew(look) {
		r.expect(s, nil)
	}
}

// count counts the inputs, and the screens that are expected before the last.
func (r *reader) count() (inputs, screens int) {
	seen := 0
	for i := range r.out.Steps {
		switch s := &r.out.Steps[i]; {
		case s.Screen != nil:
			seen++
		case s.Type != nil || s.Keys != nil || s.Paste != nil:
			inputs, screens = inputs+1, seen
		}
	}
	return inputs, screens
}

// finish ends the script of a recording that has no end.
func (r *reader) finish() {
	if !r.ended {
		if r.cell != "" {
			r.uncell()
			r.cell = ""
		}
		r.settle(max(r.o.Until, r.now))
	}
	if inputs, screens := r.count(); inputs > 1 && screens == 0 {
		r.warn("while something was typed no screen stood for %v, so the script expects none: 'den wait --idle 300ms' makes such a pause", restGap)
	}
	if r.unseen > 0 {
		r.warn("%d inputs were not recorded: each is a variable. 'den new --record-input all' records what is typed without echo too", r.unseen)
	}
}
