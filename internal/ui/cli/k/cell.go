package k

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/plainjson"
	"den/internal/session"
	"den/internal/session/cell"
)

// Lines that k prints when it is called wrongly.
const (
	runUsage     = "usage: k run [-j] [-t N] [session] <code>"
	fireUsage    = "usage: k fire [-t N] [session] <code>"
	historyUsage = "usage: k history [-n N] [session]"
)

// What k says of cells.
const (
	useInt      = "use k int or k kill"
	lockFailed  = "lock update failed; " + useInt
	intFailed   = "interrupt failed; use k kill"
	unknownCell = "unknown cell"
	hostDied    = "watcher died"
)

// intLimit is how long a program may take to end at Ctrl-C.
const intLimit = 5 * time.Second

// codeArgs is the command line of run and fire.
type codeArgs struct {
	json    bool
	timeout time.Duration
	name    string
	code    string
}

// parseCode reads [-j] [-t N] [SESSION] CODE. More words mean nothing.
func (k Tool) parseCode(args []string, c *codeArgs, usage string, flagJ bool) bool {
	for len(args) > 0 {
		if flagJ && args[0] == "-j" {
			c.json = true
			args = args[1:]
			continue
		}
		if args[0] != "-t" {
			break
		}
		if len(args) < 2 {
			k.say(1, "%s", usage)
			return false
		}
		n, ok := pyInt(args[1])
		if !ok {
			k.say(1, "%s", usage)
			return false
		}
		c.timeout = timeoutOf(n)
		args = args[2:]
	}
	if len(args) == 0 {
		k.say(1, "%s", usage)
		return false
	}
	ok := false
	if len(args) == 1 {
		c.code = args[0]
		c.name, ok = k.implied(nil)
	} else {
		c.code = args[1]
		c.name, ok = k.checked(args[0])
	}
	return ok
}

// timeoutOf is -t: 0 is no end, and less is over at once.
func timeoutOf(n int) time.Duration {
	const most = 1 << 33 // seconds, which a time.Duration just holds
	if n < 0 {
		return time.Nanosecond
	}
	return time.Duration(min(n, most)) * time.Second
}

// fire is k fire.
func (k Tool) fire(args []string) int {
	c := codeArgs{json: true, timeout: 300 * time.Second}
	if !k.parseCode(args, &c, fireUsage, false) {
		return 1
	}
	s, err := k.live(c.name)
	if err != nil {
		return k.refused(s, c, err)
	}
	r, err := s.Fire(context.Background(), c.code, c.timeout)
	if err != nil {
		return k.refused(s, c, err)
	}
	return k.say(0, "%s", object("cell_id", r.CellID, "status", string(cell.Fired)))
}

// run is k run. What the program asks on the way is not told: the cell runs
// until it is done or time is up. Ctrl-C goes on to the program.
func (k Tool) run(args []string) int {
	c := codeArgs{timeout: 30 * time.Second}
	if !k.parseCode(args, &c, runUsage, true) {
		return 1
	}
	s, err := k.live(c.name)
	if err != nil {
		return k.refused(s, c, err)
	}
	ctx, stop := untilInterrupted()
	defer stop()
	begun := time.Now()
	r, err := s.Run(ctx, session.Run{Code: c.code, Timeout: c.timeout, KeepWaiting: true})
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return k.runInterrupted(s, c)
	case err != nil:
		var found bool
		if r, found = endedWithHost(s, c.code, begun, err); !found {
			return k.refused(s, c, err)
		}
	}
	if r.Final() {
		k.told(s, r.CellID, cell.Done) // or poll would tell it once more
	}
	k.show(s, r, c.json)
	if r.Status == cell.Failed || r.Interrupted {
		return 1
	}
	return 0
}

// endedWithHost finds the cell for the code that was sent after begun, if its
// host has gone with it.
func endedWithHost(s *session.Session, code string, begun time.Time, err error) (cell.Result, bool) {
	if fault.KindOf(err) != fault.NotRunning {
		return cell.Result{}, false
	}
	code, err = session.Typable(code)
	rec, lerr := s.Cells().Load("")
	if err != nil || lerr != nil || rec.Code != code || rec.Started.Before(begun) {
		return cell.Result{}, false
	}
	if !rec.Result.Final() {
		return cell.Result{CellID: rec.CellID, Status: cell.Failed, Output: hostDied}, true
	}
	return rec.Result, true
}

// runInterrupted is how k run ends by Ctrl-C.
func (k Tool) runInterrupted(s *session.Session, c codeArgs) int {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	r, err := s.Interrupt(ctx, session.Run{Timeout: intLimit})
	if r.CellID == "" { // it did not react, or was done already
		rec, lerr := s.Cells().Load("")
		if lerr != nil {
			return k.refused(s, c, lerr)
		}
		r = rec.Result
	}
	if err != nil && !r.Final() {
		r.Status, r.Output = cell.Failed, intFailed
	} else if r.Final() {
		k.told(s, r.CellID, cell.Done)
	}
	k.show(s, r, c.json)
	return 1
}

// refused says why there is no cell. s is nil where there is no session.
func (k Tool) refused(s *session.Session, c codeArgs, err error) int {
	text := "send failed: " + err.Error()
	if isOver(err) {
		text = noSession(c.name).Error()
	} else if s != nil && fault.KindOf(err) == fault.Busy {
		if id := s.ActiveCell(); id != "" {
			text = "active cell '" + id + "'"
		}
	}
	if c.json {
		return k.say(1, "%s", object("status", string(cell.Failed), "output", text))
	}
	return k.say(1, "%s", text)
}

// inWords is a result in the words that k knows.
func inWords(r cell.Result) cell.Result {
	switch {
	case r.Interrupted:
		r.Status, r.Output = cell.Failed, "interrupted"
	case r.Status == cell.Unsure:
		r.Status = cell.Done
	}
	return r
}

// show prints a cell that is over, or that its caller no longer waits for.
func (k Tool) show(s *session.Session, r cell.Result, asJSON bool) {
	r = inWords(whole(s, r))
	if !asJSON {
		k.say(0, "%s", r.Output)
		return
	}
	pairs := []any{"cell_id", r.CellID, "status", string(r.Status), "output", r.Output}
	if r.Status == cell.Done && r.ExitCode != nil && *r.ExitCode != 0 {
		pairs = append(pairs, "exit_code", *r.ExitCode)
	}
	if r.Truncated {
		pairs = append(pairs, "truncated", true)
		if r.OutputFile != "" {
			pairs = append(pairs, "output_file", r.OutputFile)
		}
	}
	k.say(0, "%s", object(pairs...))
}

// poll is k poll: [SESSION] [CELL]. It reads a record and asks nobody.
func (k Tool) poll(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	s, m, err := k.find(name)
	if len(args) > 1 {
		if m == nil || m.Name != name { // none; what is left of a killed one can be read
			return k.cellError(1, args[1], unknownCell)
		}
		return k.pollID(s, args[1])
	}
	if err != nil {
		return k.idle(name)
	}
	rec, err := s.Cells().Load("")
	if err != nil || !k.pending(s, rec) {
		return k.idle(name)
	}
	return k.tell(s, rec)
}

func (k Tool) pollID(s *session.Session, id string) int {
	rec, err := s.Cells().Load(id)
	switch kind := fault.KindOf(err); {
	case err == nil && rec.CellID == id:
		return k.tell(s, rec)
	case err == nil, kind == fault.NotFound, kind == fault.Usage:
		return k.cellError(1, id, unknownCell)
	}
	return k.cellError(1, id, err.Error())
}

func (k Tool) idle(name string) int {
	return k.say(1, "%s", object("status", string(cell.Failed), "output", "no active cell on '"+name+"'"))
}

func (k Tool) cellError(status int, id, text string) int {
	return k.say(status, "%s", object("cell_id", id, "status", string(cell.Failed), "output", text))
}

// tell answers a poll, and notes what it has told.
func (k Tool) tell(s *session.Session, rec cell.Record) int {
	if rec.Final() {
		k.told(s, rec.CellID, cell.Done) // Best effort: it would be told again.
		k.show(s, rec.Result, true)
		return 0
	}
	if m, err := s.Dir.Reconcile(); err == nil && m.Status.Final() {
		// Its host may have written the end between the two looks.
		if again, err := s.Cells().Load(rec.CellID); err == nil && again.Final() {
			return k.tell(s, again)
		}
		k.told(s, rec.CellID, cell.Done)
		return k.cellError(1, rec.CellID, hostDied)
	}
	if rec.Status != cell.TimedOut {
		return k.say(0, "%s", object("cell_id", rec.CellID, "status", string(cell.Running)))
	}
	if k.wasTold(s, rec.CellID) == cell.TimedOut {
		return k.say(1, "%s", object("cell_id", rec.CellID, "status", string(cell.TimedOut), "output", useInt))
	}
	if err := k.told(s, rec.CellID, cell.TimedOut); err != nil {
		return k.cellError(1, rec.CellID, lockFailed)
	}
	k.show(s, rec.Result, true)
	return 0
}

// pending reports whether the last cell still belongs to somebody: it runs, or
// its end was told to nobody. Who interrupts a cell knows its end.
func (k Tool) pending(s *session.Session, rec cell.Record) bool {
	return !rec.Interrupted && k.wasTold(s, rec.CellID) != cell.Done
}

// told notes what k has told of a session's last cell.
func (k Tool) told(s *session.Session, id string, what cell.Status) error {
	return atomicfile.Replace(filepath.Join(s.Dir.Cells(), "k-told"), []byte(id+" "+string(what)))
}

func (k Tool) wasTold(s *session.Session, id string) cell.Status {
	raw, err := os.ReadFile(filepath.Join(s.Dir.Cells(), "k-told"))
	if err != nil {
		return ""
	}
	of, what, _ := strings.Cut(string(raw), " ")
	if of != id {
		return ""
	}
	return cell.Status(what)
}

// whole puts the whole output in the place of its two ends, if it was kept.
// k knows no bound.
func whole(s *session.Session, r cell.Result) cell.Result {
	if !r.Truncated || r.OutputFile == "" {
		return r
	}
	text, err := s.ReadOutput(r.CellID)
	if err != nil || int64(len(text)) != r.OutputBytes { // a part could not be kept
		return r
	}
	text = strings.TrimSuffix(text, "\n")
	r.Output, r.Truncated = text, false
	return r
}

// object is an object of the given keys and values in this order, spaced like
// Python's: scripts compare these bytes.
func object(pairs ...any) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: ", pyQuote(pairs[i].(string)))
		if s, ok := pairs[i+1].(string); ok {
			b.WriteString(pyQuote(s))
			continue
		}
		fmt.Fprint(&b, pairs[i+1]) // a number or a truth value
	}
	b.WriteByte('}')
	return b.String()
}

// pyQuote is a JSON string with nothing escaped but what must be, and what would
// drive a terminal.
func pyQuote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < ' ' || plainjson.Misleads(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
				continue
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// pyRepr is a text as Python shows it in a message.
func pyRepr(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\udc%02x`, s[0]) // how Python holds a byte that is no text
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[n:]
	}
	b.WriteByte(quote)
	return b.String()
}
