package k

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/lazy"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/cell"
)

// lines turns a session's log into what k shows of it: finished lines, and
// markers where cells begin and end and messages come.
type lines struct {
	program *replay.Lines
	last    string // the line printed last
	show    func(string) error
}

func newLines(term *vt.Terminal, show func(string) error) *lines {
	l := &lines{show: show}
	l.program = replay.NewLines(term, l.text)
	return l
}

// text is one line of the program's.
func (l *lines) text(line string) error {
	line = strings.TrimRight(line, " \t")
	if strings.TrimSpace(line) == "..." || strings.HasPrefix(strings.TrimSpace(line), "... ") {
		return nil // Python asks for more
	}
	return l.line(line)
}

func (l *lines) line(line string) error {
	if strings.TrimSpace(line) == "" || line == l.last {
		return nil
	}
	l.last = line
	return l.show(line)
}

func (l *lines) event(ev eventlog.Event) error {
	e, ok := session.EventOf(ev)
	switch {
	case ok && e.Status == session.StatusNotify:
		return l.line(fmt.Sprintf("\x1b[33m📢 %s\x1b[0m \x1b[2m(%s)\x1b[0m", strings.ReplaceAll(e.Message, "\n", `\n`), e.From))
	case ok && e.Status == string(cell.Fired):
		return l.line(fmt.Sprintf("\x1b[2;36m── %.8s ──\x1b[0m", e.CellID))
	case ok && (e.Status == string(cell.Done) || e.Status == string(cell.Unsure)):
		return l.line("\x1b[2;32m── ✓ ──\x1b[0m")
	}
	return l.program.Apply(ev)
}

// linesPerStep is what one of history's -n stands for.
const linesPerStep = 5

// watch is k watch: from now on, until Ctrl-C or the session's end.
func (k Tool) watch(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	s, err := k.live(name)
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	now, err := s.Replay(context.Background(), session.Now())
	if err != nil {
		return k.say(1, "ERR no log")
	}
	ctx, stop := untilInterrupted(syscall.SIGTERM)
	defer stop()
	k.say(0, "\x1b[2mwatching %s (ctrl-c to stop)\x1b[0m\n", name)
	l := newLines(now.Terminal, k.printLine)
	err = s.Follow(ctx, now.Position.Seq, l.event)
	switch {
	case errors.Is(err, context.Canceled):
		return k.say(0, "\n\x1b[2mstopped\x1b[0m")
	case err == nil:
		err = l.program.Finish()
	}
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	return 0
}

// history is k history: the last N×5 lines, or all for 0.
func (k Tool) history(args []string) int {
	n := 5
	for len(args) > 0 && args[0] == "-n" {
		ok := len(args) > 1
		if ok {
			n, ok = pyInt(args[1])
		}
		if !ok || n < 0 {
			return k.say(1, "%s", historyUsage)
		}
		args = args[2:]
	}
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	s, _, err := k.find(name)
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	shown, err := history(s, n*linesPerStep)
	if err != nil {
		return k.say(1, "ERR no log")
	}
	for _, l := range shown {
		if k.printLine(l) != nil {
			return 1
		}
	}
	return 0
}

// history returns the last lines of the log, or all for 0.
func history(s *session.Session, most int) ([]string, error) {
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return nil, err
	}
	var shown []string
	keep := func(line string) error {
		if shown = append(shown, line); most > 0 && len(shown) >= 2*most {
			shown = append(shown[:0], shown[len(shown)-most:]...)
		}
		return nil
	}
	var l *lines
	for ev, err := range log.Play() {
		if eventlog.Missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		cols, rows, size := ev.Size()
		switch {
		case size && ev.Repaint: // the beginning, or what is behind a gap
			l = newLines(vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: replay.Scrollback}), keep)
		default:
			l.event(ev) // keep never fails
		}
	}
	if l != nil {
		l.program.Finish() // as above
	}
	if most > 0 {
		shown = shown[max(0, len(shown)-most):]
	}
	return shown, nil
}

// monitor is one km: it prints a session's events as they come.
type monitor struct {
	Tool
	name string
	id   string // of the only cell to tell of, or ""
	once bool   // leave when a cell is over

	session *session.Session
	after   uint64 // what is told of lies behind this event
	open    string // the cell that runs, or ""
}

var (
	// oldID is the form of the ids of the tool that den replaces.
	oldID = lazy.Regexp{Expr: `^[0-9a-f]{12}$`}
	// errCompleted ends a km -1.
	errCompleted = errors.New("a cell is over")
)

// Monitor runs km SESSION [CELL] [-1] and returns the process status.
func (k Tool) Monitor(args []string) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(k.Stdout, monitorHelp)
		return 0
	}
	m := monitor{Tool: k, name: args[0]}
	if !validName(m.name) {
		fmt.Fprintf(k.Stderr, "km: invalid session name: %s\n", pyRepr(m.name))
		return 1
	}
	for _, arg := range args[1:] {
		switch {
		case arg == "-1":
			m.once = true
		case ident.IsID(arg) || oldID.Get().MatchString(arg):
			m.id = arg
		default:
			fmt.Fprintf(k.Stderr, "unknown arg: %s\n", arg)
			return 1
		}
	}
	ctx, stop := untilInterrupted(syscall.SIGTERM)
	defer stop()
	err := m.run(ctx)
	switch {
	case errors.Is(err, errCompleted), errors.Is(err, context.Canceled):
		return 0
	case err != nil:
		m.print("session", m.name, "status", "error", "message", err.Error())
	}
	return 1
}

// run follows the session and returns errCompleted, or nil when it closed.
func (m *monitor) run(ctx context.Context) error {
	s, man, err := m.find(m.name)
	if man == nil || man.Name != m.name {
		return err
	}
	m.session = s
	wanted, werr := m.wanted() // also of a session that is over: results stay
	if werr != nil {
		return werr
	}
	if err != nil || man.Status.Final() {
		return noSession(m.name)
	}
	if m.after, err = s.LastSeq(ctx); err != nil && !eventlog.Missing(err) {
		return err
	}
	from := m.after
	if wanted != "" {
		// It may have ended after its record was read.
		if from, err = s.BeforeCell(wanted); err != nil {
			return err
		}
	}
	err = s.Events(ctx, min(from, m.after), func(e session.Event) error { return m.event(e, wanted) })
	if err != nil {
		return err
	}
	if err := m.closing(ctx); err != nil {
		return err
	}
	return m.print("session", m.name, "status", "closed")
}

// wanted returns the cell for which a km -1 was started: the given one, else
// the last if nobody was told of its end. If it is over, that is told here.
func (m *monitor) wanted() (string, error) {
	rec, err := m.session.Cells().Load(m.id)
	if err == nil && !rec.Final() && (m.id == "" || rec.CellID == m.id) {
		m.open = rec.CellID
	}
	if !m.once {
		return "", nil
	}
	if err != nil {
		if m.id == "" {
			return "", nil // the first is still to come
		}
		if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Usage {
			err = errors.New(unknownCell)
		}
		return "", err
	}
	if m.id == "" && (!m.pending(m.session, rec) || m.wasReported(rec.CellID)) {
		return "", nil
	}
	if rec.Final() {
		return "", m.completed(rec.Result)
	}
	return rec.CellID, nil
}

// event tells of one event of the log. Of what was before the start only the
// end of the wanted cell counts.
func (m *monitor) event(e session.Event, wanted string) error {
	early := e.Seq <= m.after
	switch {
	case early && (e.CellID == "" || e.CellID != wanted || !e.CellEnded()):
		return nil
	case e.Status == session.StatusNotify:
		return m.print("session", m.name, "status", "notify", "from", e.From, "message", e.Message)
	case e.CellID == "" || m.id != "" && e.CellID != m.id:
		return nil // closed is told at the end
	case e.Status == string(cell.Fired):
		m.open = e.CellID
		return m.print("cell_id", e.CellID, "session", m.name, "status", "fired")
	case cell.Status(e.Status).Final():
		r := cell.Result{CellID: e.CellID, Status: cell.Status(e.Status), By: cell.By(e.By)}
		if rec, err := m.session.Cells().Load(e.CellID); err == nil && rec.Final() {
			r = rec.Result
		}
		return m.completed(r)
	}
	return nil
}

// completed tells that a cell is over.
func (m *monitor) completed(r cell.Result) error {
	m.open = ""
	r = inWords(r)
	pairs := []any{"cell_id", r.CellID, "session", m.name, "status", string(r.Status)}
	if r.Status == cell.Failed {
		pairs = append(pairs, "message", r.Output)
	}
	if err := m.print(pairs...); err != nil {
		return err
	}
	if m.once {
		m.setReported(r.CellID)
		return errCompleted
	}
	return nil
}

// closing tells of the cell that ended with the session: its host wrote that
// down behind the log's end.
func (m *monitor) closing(ctx context.Context) error {
	if m.open == "" {
		return nil
	}
	_ = m.session.WaitGone(ctx) // Best effort: what could not be waited for is looked at all the same.
	if rec, err := m.session.Cells().Load(m.open); err == nil && rec.Final() {
		return m.completed(rec.Result)
	}
	return ctx.Err()
}

// print writes one event, with the time at its end.
func (m *monitor) print(pairs ...any) error {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	return m.printLine(object(append(pairs, "ts", now)...))
}

// setReported records that a km -1 has reported the end of cell id.
func (m *monitor) setReported(id string) {
	_ = atomicfile.Replace(m.reportedFile(), []byte(id)) // Best effort: the next one reports it again.
}

func (m *monitor) wasReported(id string) bool {
	raw, err := os.ReadFile(m.reportedFile())
	return err == nil && string(raw) == id
}

func (m *monitor) reportedFile() string { return filepath.Join(m.session.Dir.Cells(), "k-heard") }
