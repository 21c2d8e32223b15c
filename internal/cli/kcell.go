package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/atomicfile"
	"den/internal/cell"
	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"
)

// Lines that k prints when it is called wrongly.
const (
	kRunUsage     = "usage: k run [-j] [-t N] [session] <code>"
	kFireUsage    = "usage: k fire [-t N] [session] <code>"
	kHistoryUsage = "usage: k history [-n N] [session]"
)

// What k says of cells.
const (
	kUseInt     = "use k int or k kill"
	kLockFailed = "lock update failed; " + kUseInt
	kIntFailed  = "interrupt failed; use k kill"
	kUnknown    = "unknown cell"
	kDied       = "watcher died"
)

// kCode is the command line of run and fire.
type kCode struct {
	json    bool
	timeout time.Duration
	name    string
	code    string
}

// codeArgs reads [-j] [-t N] [SESSION] CODE. More words mean nothing.
func (k kTool) codeArgs(args []string, c *kCode, usage string, flagJ bool) bool {
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
		c.timeout = kTimeout(n)
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

// kTimeout is -t: 0 is no end, and less is over at once.
func kTimeout(n int) time.Duration {
	const most = 1 << 33 // seconds, which a time.Duration just holds
	if n < 0 {
		return time.Nanosecond
	}
	return time.Duration(min(n, most)) * time.Second
}

// takes finds the session for the code, and makes the code fit to be typed.
func (k kTool) takes(c *kCode) (home.Dir, error) {
	d, err := k.live(c.name)
	if err != nil {
		return d, err
	}
	c.code, err = typable(c.code)
	return d, err
}

// fire is k fire.
func (k kTool) fire(args []string) int {
	c := kCode{json: true, timeout: 300 * time.Second}
	if !k.codeArgs(args, &c, kFireUsage, false) {
		return 1
	}
	d, err := k.takes(&c)
	if err != nil {
		return k.refused(c, err)
	}
	var r cell.Result
	err = k.call(context.Background(), d, wire.MethodRun, wire.Run{Code: c.code, Timeout: c.timeout, Fire: true}, &r)
	if err != nil {
		return k.refused(c, err)
	}
	return k.say(0, "%s", kJSON("cell_id", r.CellID, "status", string(cell.Fired)))
}

// run is k run. What the program asks on the way is not told: the cell runs
// until it is done or time is up. Ctrl-C goes on to the program.
func (k kTool) run(args []string) int {
	c := kCode{timeout: 30 * time.Second}
	if !k.codeArgs(args, &c, kRunUsage, true) {
		return 1
	}
	d, err := k.takes(&c)
	if err != nil {
		return k.refused(c, err)
	}
	ctx, stop := kCanceled()
	defer stop()
	begun := time.Now()
	r, err := k.runCell(ctx, d, wire.Run{Code: c.code, Timeout: c.timeout, KeepWaiting: true})
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return k.runInterrupted(d, c)
	case err != nil:
		// The host may have gone with the cell.
		rec, lerr := kStore(d).Load("")
		if lerr != nil || rec.Code != c.code || rec.Started.Before(begun) || fault.KindOf(err) != fault.NotRunning {
			return k.refused(c, err)
		}
		if r = rec.Result; !r.Final() {
			r = cell.Result{CellID: rec.CellID, Status: cell.Failed, Output: kDied}
		}
	}
	if r.Final() {
		k.told(d, r.CellID, cell.Done) // or poll would tell it once more
	}
	k.show(r, c.json)
	if r.Status == cell.Failed {
		return 1
	}
	return 0
}

// runInterrupted is how k run ends by Ctrl-C.
func (k kTool) runInterrupted(d home.Dir, c kCode) int {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	var r cell.Result
	err := k.call(ctx, d, wire.MethodInt, nil, &r)
	if r.CellID == "" { // it did not react, or was done already
		rec, lerr := kStore(d).Load("")
		if lerr != nil {
			return k.refused(c, lerr)
		}
		r = rec.Result
	}
	if err != nil && !r.Final() {
		r.Status, r.Output = cell.Failed, kIntFailed
	} else if r.Final() {
		k.told(d, r.CellID, cell.Done)
	}
	k.show(r, c.json)
	return 1
}

// refused says why there is no cell.
func (k kTool) refused(c kCode, err error) int {
	text := err.Error()
	switch kind := fault.KindOf(err); {
	case kind == fault.NotFound || kind == fault.NotRunning:
		text = kNoSession(c.name).Error()
	case kind == fault.Busy && strings.HasPrefix(text, "active cell "):
	default:
		text = "send failed: " + text
	}
	if c.json {
		return k.say(1, "%s", kJSON("status", string(cell.Failed), "output", text))
	}
	return k.say(1, "%s", text)
}

// show prints a cell that is over, or that its caller no longer waits for.
func (k kTool) show(r cell.Result, asJSON bool) {
	r = kWhole(r)
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
	k.say(0, "%s", kJSON(pairs...))
}

func kStore(d home.Dir) cell.Store { return cell.Store{Dir: d.Cells()} }

// pollCell is k poll: [SESSION] [CELL]. It reads a record and asks nobody.
func (k kTool) pollCell(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	d, m, err := k.find(name)
	if len(args) > 1 {
		if m == nil || m.Name != name { // none; what is left of a killed one can be read
			return k.cellError(1, args[1], kUnknown)
		}
		return k.pollID(d, args[1])
	}
	if err != nil {
		return k.idle(name)
	}
	rec, err := kStore(d).Load("")
	if err != nil || !k.pending(d, rec) {
		return k.idle(name)
	}
	return k.tell(d, rec)
}

func (k kTool) pollID(d home.Dir, id string) int {
	rec, err := kStore(d).Load(id)
	switch kind := fault.KindOf(err); {
	case err == nil && rec.CellID == id:
		return k.tell(d, rec)
	case err == nil, kind == fault.NotFound, kind == fault.Usage:
		return k.cellError(1, id, kUnknown)
	}
	return k.cellError(1, id, err.Error())
}

func (k kTool) idle(name string) int {
	return k.say(1, "%s", kJSON("status", string(cell.Failed), "output", "no active cell on '"+name+"'"))
}

func (k kTool) cellError(status int, id, text string) int {
	return k.say(status, "%s", kJSON("cell_id", id, "status", string(cell.Failed), "output", text))
}

// tell answers a poll, and notes what it has told.
func (k kTool) tell(d home.Dir, rec cell.Record) int {
	if rec.Final() {
		k.told(d, rec.CellID, cell.Done) // Best effort: it would be told again.
		k.show(rec.Result, true)
		return 0
	}
	if m, err := d.Reconcile(); err == nil && m.Status.Final() {
		// Its host may have written the end between the two looks.
		if again, err := kStore(d).Load(rec.CellID); err == nil && again.Final() {
			return k.tell(d, again)
		}
		k.told(d, rec.CellID, cell.Done)
		return k.cellError(1, rec.CellID, kDied)
	}
	if rec.Status != cell.TimedOut {
		return k.say(0, "%s", kJSON("cell_id", rec.CellID, "status", string(cell.Running)))
	}
	if k.wasTold(d, rec.CellID) == cell.TimedOut {
		return k.say(1, "%s", kJSON("cell_id", rec.CellID, "status", string(cell.TimedOut), "output", kUseInt))
	}
	if err := k.told(d, rec.CellID, cell.TimedOut); err != nil {
		return k.cellError(1, rec.CellID, kLockFailed)
	}
	k.show(rec.Result, true)
	return 0
}

// pending reports whether the last cell still belongs to somebody: it runs, or
// its end was told to nobody. Who interrupts a cell knows its end.
func (k kTool) pending(d home.Dir, rec cell.Record) bool {
	return rec.By != cell.ByInt && k.wasTold(d, rec.CellID) != cell.Done
}

// told notes what k has told of a session's last cell.
func (k kTool) told(d home.Dir, id string, what cell.Status) error {
	return atomicfile.Replace(filepath.Join(d.Cells(), "k-told"), []byte(id+" "+string(what)))
}

func (k kTool) wasTold(d home.Dir, id string) cell.Status {
	raw, err := os.ReadFile(filepath.Join(d.Cells(), "k-told"))
	if err != nil {
		return ""
	}
	of, what, _ := strings.Cut(string(raw), " ")
	if of != id {
		return ""
	}
	return cell.Status(what)
}

// kWhole puts the whole output in the place of its two ends, if it was kept.
// k knows no bound.
func kWhole(r cell.Result) cell.Result {
	if !r.Truncated || r.OutputFile == "" {
		return r
	}
	raw, err := os.ReadFile(r.OutputFile)
	text := strings.TrimSuffix(string(raw), "\n")
	head, _, _ := strings.Cut(r.Output, "\n[... ")
	_, tail, cut := strings.Cut(r.Output, "...]\n")
	// A file that lacks a part of the two ends is not whole.
	if err != nil || !cut || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
		return r
	}
	r.Output, r.Truncated = text, false
	return r
}
