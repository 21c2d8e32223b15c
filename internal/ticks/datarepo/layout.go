package datarepo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/lazy"
)

// The files of a data repository.
const (
	Notes         = "notes"
	System        = "system"
	Sandbox       = "sandbox"
	Tmp           = "tmp"
	Logs          = "system/logs"
	SessionLogs   = "system/logs/sessions"
	ContainerDir  = "system/container"
	Containerfile = "system/container/Containerfile"

	configFile     = "system/agent_config.json"
	promptFile     = "system/prompt.md"
	startupFile    = "system/startup.json"
	stateFile      = "system/state.json"
	triggerFile    = "system/tick_trigger"
	pausedFile     = "system/paused"
	crashFile      = "system/crash_notify.txt"
	crashStateFile = "system/crash_state.json"
	liveFile       = "tmp/live_status.json"
	InboxDir       = "system/notifications"
)

// The largest files that are read.
const (
	maxJSON         = 1 << 20
	maxPrompt       = 4 << 20
	maxTrigger      = 64 << 10
	maxNotification = 256 << 10
	maxPaused       = 64 << 10
)

// Prepare makes the directories that are missing, and puts back what a killed
// process was about to remove. Only whoever runs the agent's ticks may call it.
func (r *Repo) Prepare(now time.Time) error {
	for _, dir := range []string{Notes, System, InboxDir, Logs, Sandbox, Tmp} {
		if err := r.makeDir(dir); err != nil {
			return err
		}
	}
	for _, dir := range []string{System, InboxDir} {
		if err := r.tidy(dir, now); err != nil {
			return err
		}
	}
	return nil
}

// makeDir makes a directory. A link in its place stays: notes may be elsewhere,
// and den writes none.
func (r *Repo) makeDir(dir string) error {
	fi, err := r.root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := r.root.MkdirAll(dir, 0o755); err != nil {
			return r.failed("make", dir, err)
		}
		return nil
	case err != nil:
		return r.failed("make", dir, err)
	case fi.IsDir() || fi.Mode()&fs.ModeSymlink != 0:
		return nil
	}
	return r.failed("make", dir, errors.New("there is a file of that name, and no directory"))
}

// forgotten is the age of a temporary file that nobody writes any more.
const forgotten = time.Hour

// tidy removes temporary files of killed processes, and puts back what they
// had taken.
func (r *Repo) tidy(dir string, now time.Time) error {
	names, err := r.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		file := path.Join(dir, name)
		switch {
		case isTaken(name):
			err = r.putBack(file, original(file))
		case isTemporary(name):
			err = r.removeOld(file, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isTemporary reports whether a name is one that atomicfile gives to a file
// before it is complete.
func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, ".tmp-")
}

func (r *Repo) removeOld(file string, now time.Time) error {
	fi, err := r.root.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!fi.Mode().IsRegular() || now.Sub(fi.ModTime()) < forgotten) {
		return nil
	}
	if err == nil {
		_, err = r.Remove(file)
	}
	return err
}

// ClearTmp empties tmp, except for the names to keep. A link in the place of
// tmp is replaced by a directory.
func (r *Repo) ClearTmp(keep ...string) error {
	fi, err := r.root.Lstat(Tmp)
	if err == nil && !fi.IsDir() {
		_, err = r.Remove(Tmp)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.failed("empty", Tmp, err)
	}
	names, err := r.List(Tmp)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(keep, name) {
			continue
		}
		if err := r.root.RemoveAll(path.Join(Tmp, name)); err != nil {
			return r.failed("empty", Tmp, err)
		}
	}
	return r.makeDir(Tmp)
}

// OpenLogs opens the directory of the logs.
func (r *Repo) OpenLogs() (*os.Root, error) {
	if err := r.root.MkdirAll(Logs, 0o755); err != nil {
		return nil, r.failed("open", Logs, err)
	}
	root, err := r.root.OpenRoot(Logs)
	if err != nil {
		return nil, r.failed("open", Logs, err)
	}
	return root, nil
}

// TickLog is the name of a tick's transcript.
func TickLog(tick int) string { return fmt.Sprintf("%s/tick-%03d.jsonl", Logs, tick) }

// TickIndex is the name of a tick's index, which lists what belongs to it.
func TickIndex(tick int) string { return fmt.Sprintf("%s/tick-%03d.json", Logs, tick) }

// TerminalArchive is the name of the directory that has the files of a terminal
// after a tick. again counts terminals of one number in one tick, from 0.
func TerminalArchive(number, tick, again int) string {
	name := fmt.Sprintf("%s/tty_%d-tick-%03d", SessionLogs, number, tick)
	if again > 0 {
		name += "-" + strconv.Itoa(again)
	}
	return name
}

// The names by which a tick is known in the logs: its index, its transcript,
// perhaps compressed, and the archives of its terminals.
var (
	tickLogName = lazy.Regexp{Expr: `^tick-([0-9]{3,9})\.json`}
	archiveName = lazy.Regexp{Expr: `^tty_[0-9]+-tick-([0-9]{3,9})(-[0-9]+)?$`}
)

// HighestTick is the number of the last tick of which the logs have something,
// 0 if there is none.
func (r *Repo) HighestTick() (int, error) {
	highest := 0
	for dir, form := range map[string]*regexp.Regexp{Logs: tickLogName.Get(), SessionLogs: archiveName.Get()} {
		names, err := r.List(dir)
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			highest = max(highest, tickIn(name, form))
		}
	}
	return highest, nil
}

// tickIn is the number of the tick in a name, 0 if it has none.
func tickIn(name string, form *regexp.Regexp) int {
	found := form.FindStringSubmatch(name)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		return 0
	}
	return n
}
