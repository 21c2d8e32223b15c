package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/instance"

	"github.com/spf13/cobra"
)

func (a *app) kernelLogsCmd() *cobra.Command {
	lines, follow := 100, false
	cmd := a.onInstance(&cobra.Command{
		Use: "logs [NAME]", Short: "Print the end of the log, and follow it", Example: "  den kernel logs demo -n 20\n  den kernel logs demo -f",
		Long: "Print the last lines that ticks and the watcher logged. With -f, follow new lines. 'den kernel replay' tells what an agent\nsaid and did. With -f -j each line is an object.",
	}, 0, func(ctx context.Context, in *instance.Instance, _ []string) error {
		if lines < 0 {
			return fault.Errorf(fault.Usage, "-n is at least 0")
		}
		logs := openLogs(in.Repo)
		defer logs.close()
		all, err := logs.read()
		if err != nil {
			return err
		}
		all = all[max(0, len(all)-lines):]
		if follow {
			return a.followLogs(ctx, in.Name, logs, all)
		}
		return a.answer(map[string]any{"name": in.Name, "lines": append([]string{}, all...)}, func(w io.Writer) {
			for _, line := range all {
				fmt.Fprintln(w, line)
			}
		})
	})
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "how many")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "then print what is logged, until it is interrupted")
	return cmd
}

// logPoll is how often is looked for more. Nobody tells of it: the logs are
// written by other processes.
const logPoll = 250 * time.Millisecond

// followLogs prints records, and those that come, until the context ends.
func (a *app) followLogs(ctx context.Context, name string, logs instanceLogs, records []string) error {
	again := time.NewTicker(logPoll)
	defer again.Stop()
	for {
		for _, r := range records {
			var printing error
			err := a.answer(map[string]any{"name": name, "line": r}, func(w io.Writer) { _, printing = fmt.Fprintln(w, r) })
			if err := errors.Join(err, printing); err != nil {
				return err // who read it has gone
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		if records, err = logs.read(); err != nil {
			return err
		}
	}
}

// instanceLogs are the logs of an instance: that of ticks by hand, and that of
// its watcher.
type instanceLogs []*logTail

func openLogs(repo *datarepo.Repo) instanceLogs {
	var logs instanceLogs
	for _, name := range []string{"agent-current.log", "watcher-current.log"} {
		logs = append(logs, &logTail{repo: repo, name: datarepo.Logs + "/" + name})
	}
	return logs
}

func (l instanceLogs) close() {
	for _, t := range l {
		t.close()
	}
}

// read returns the records that were written since the last call, by time.
// Lines that continue a record are part of it.
func (l instanceLogs) read() ([]string, error) {
	var all []string
	for _, t := range l {
		lines, err := t.read()
		if err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "read the log: %w", err)
		}
		first := len(all)
		for _, line := range lines {
			if strings.HasPrefix(line, "[") || len(all) == first {
				all = append(all, line)
			} else {
				all[len(all)-1] += "\n" + line
			}
		}
	}
	slices.SortStableFunc(all, func(x, y string) int { return strings.Compare(stampOf(x), stampOf(y)) })
	return all, nil
}

// stampOf is the time that a record begins with: "[2026-11-16 09:00:00]".
func stampOf(record string) string {
	const length = len("[2026-11-16 09:00:00]")
	return record[:min(length, len(record))]
}

// maxLog is more than a log of this name grows to. Of a larger one the end is
// read.
const maxLog = 16 << 20

// logTail reads a log as it grows. When it is full, another file takes its name.
type logTail struct {
	repo *datarepo.Repo
	name string
	open *os.File // or nil: none is there, or none was looked for
	at   int64    // how much of it was read
	part []byte   // of a line that is not whole
}

// read returns the lines that were written since the last call.
func (t *logTail) read() ([]string, error) {
	var lines []string
	for range 2 { // the file, and the one that has taken its place
		if t.open == nil {
			if err := t.find(); errors.Is(err, fs.ErrNotExist) {
				return lines, nil
			} else if err != nil {
				return lines, err
			}
		}
		// Asked before it is read: what is replaced is not written any more.
		over, err := t.replaced()
		if err != nil {
			return lines, err
		}
		more, err := t.rest()
		lines = append(lines, more...)
		if err != nil || !over {
			return lines, err
		}
		if len(t.part) > 0 {
			lines = append(lines, string(t.part))
		}
		t.close()
	}
	return lines, nil
}

func (t *logTail) find() error {
	f, err := t.repo.Open(t.name)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err == nil {
		t.at, err = f.Seek(max(0, fi.Size()-maxLog), io.SeekStart)
	}
	if err != nil {
		f.Close() // Best effort: it was only read.
		return err
	}
	t.open = f
	return nil
}

// replaced reports whether another file has the name now, or whether it has
// been emptied.
func (t *logTail) replaced() (bool, error) {
	mine, err := t.open.Stat()
	if err != nil {
		return false, err
	}
	there, err := t.repo.Stat(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && (!os.SameFile(mine, there) || mine.Size() < t.at), err
}

// rest reads to the end of the file, and returns the lines that are whole.
func (t *logTail) rest() ([]string, error) {
	data, err := io.ReadAll(io.LimitReader(t.open, maxLog))
	t.at += int64(len(data))
	if err != nil {
		return nil, err
	}
	data = append(t.part, data...)
	whole := bytes.LastIndexByte(data, '\n') + 1
	if len(data)-whole > maxLog {
		whole = len(data) // somebody else writes it: it ends here
	}
	t.part = bytes.Clone(data[whole:])
	var lines []string
	for line := range strings.Lines(string(data[:whole])) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines, nil
}

func (t *logTail) close() {
	if t.open != nil {
		t.open.Close() // Best effort: it was only read.
	}
	t.open, t.at, t.part = nil, 0, nil
}
