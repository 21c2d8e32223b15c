package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"den/internal/atomicfile"
	"den/internal/cell"
	"den/internal/eventlog"
	"den/internal/fault"
	"den/internal/home"
	"den/internal/ident"
)

// kMonitor is one km: it prints a session's events as they come.
type kMonitor struct {
	kTool
	name string
	id   string // of the only cell to tell of, or ""
	once bool   // leave when a cell is over

	dir   home.Dir
	after uint64 // what is told of lies behind this event
	open  string // the cell that runs, or ""
}

var (
	kOldID = regexp.MustCompile(`^[0-9a-f]{12}$`) // of the tool that den replaces
	// errCompleted ends a km -1.
	errCompleted = errors.New("a cell is over")
)

// monitor is km SESSION [CELL] [-1].
func (k kTool) monitor(args []string) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(k.stdout, kmHelp)
		return 0
	}
	m := kMonitor{kTool: k, name: args[0]}
	if !kNameOK(m.name) {
		fmt.Fprintf(k.stderr, "km: invalid session name: %s\n", pyRepr(m.name))
		return 1
	}
	for _, arg := range args[1:] {
		switch {
		case arg == "-1":
			m.once = true
		case ident.IsID(arg) || kOldID.MatchString(arg):
			m.id = arg
		default:
			fmt.Fprintf(k.stderr, "unknown arg: %s\n", arg)
			return 1
		}
	}
	ctx, stop := kCanceled(syscall.SIGTERM)
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
func (m *kMonitor) run(ctx context.Context) error {
	d, man, err := m.find(m.name)
	if man == nil || man.Name != m.name {
		return err
	}
	m.dir = d
	wanted, werr := m.wanted() // also of a session that is over: results stay
	if werr != nil {
		return werr
	}
	if err != nil || man.Status.Final() {
		return kNoSession(m.name)
	}
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return err
	}
	last, err := log.Last()
	if err != nil && !eventlog.Missing(err) {
		return err
	}
	m.after = last.Seq
	from := last.Seq
	if wanted != "" {
		// It may have ended between the two looks.
		if from, err = eventsBegin(d, wanted, false); err != nil {
			return err
		}
	}
	err = m.followSession(ctx, d, min(from, last.Seq), func(ev eventlog.Event) error { return m.event(ev, wanted) })
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
func (m *kMonitor) wanted() (string, error) {
	rec, err := kStore(m.dir).Load(m.id)
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
			err = errors.New(kUnknown)
		}
		return "", err
	}
	if m.id == "" && (!m.pending(m.dir, rec) || m.heard(rec.CellID)) {
		return "", nil
	}
	if rec.Final() {
		return "", m.completed(rec.Result)
	}
	return rec.CellID, nil
}

// event tells of one event of the log. Of what was before the start only the
// end of the wanted cell counts.
func (m *kMonitor) event(ev eventlog.Event, wanted string) error {
	e, ok := eventOf(ev)
	early := ev.Seq <= m.after
	switch {
	case !ok || early && (e.CellID == "" || e.CellID != wanted || e.Status == "fired"):
		return nil
	case e.Status == "notify":
		return m.print("session", m.name, "status", "notify", "from", e.From, "message", e.Message)
	case e.CellID == "" || m.id != "" && e.CellID != m.id:
		return nil // closed is told at the end
	case e.Status == "fired":
		m.open = e.CellID
		return m.print("cell_id", e.CellID, "session", m.name, "status", "fired")
	case e.Status == string(cell.Done), e.Status == string(cell.Failed):
		r := cell.Result{CellID: e.CellID, Status: cell.Status(e.Status), By: cell.By(e.By)}
		if rec, err := kStore(m.dir).Load(e.CellID); err == nil && rec.Final() {
			r = rec.Result
		}
		return m.completed(r)
	}
	return nil
}

// completed tells that a cell is over.
func (m *kMonitor) completed(r cell.Result) error {
	m.open = ""
	pairs := []any{"cell_id", r.CellID, "session", m.name, "status", string(r.Status)}
	if r.Status == cell.Failed {
		message := r.Output
		if r.By == cell.ByInt {
			message = "interrupted"
		}
		pairs = append(pairs, "message", message)
	}
	if err := m.print(pairs...); err != nil {
		return err
	}
	if m.once {
		m.hear(r.CellID)
		return errCompleted
	}
	return nil
}

// closing tells of the cell that ended with the session: its host wrote that
// down behind the log's end.
func (m *kMonitor) closing(ctx context.Context) error {
	if m.open == "" {
		return nil
	}
	m.awaitGone(ctx, m.dir)
	if rec, err := kStore(m.dir).Load(m.open); err == nil && rec.Final() {
		return m.completed(rec.Result)
	}
	return ctx.Err()
}

// print writes one event, with the time at its end.
func (m *kMonitor) print(pairs ...any) error {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	return m.printLine(kJSON(append(pairs, "ts", now)...))
}

// hear notes the cell of whose end a km -1 has told.
func (m *kMonitor) hear(id string) {
	_ = atomicfile.Replace(m.heardFile(), []byte(id)) // Best effort: the next one hears of it again.
}

func (m *kMonitor) heard(id string) bool {
	raw, err := os.ReadFile(m.heardFile())
	return err == nil && string(raw) == id
}

func (m *kMonitor) heardFile() string { return filepath.Join(m.dir.Cells(), "k-heard") }
