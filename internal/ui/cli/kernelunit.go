package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/instance"
)

// checkUnit has systemd read a unit before it is in its place. What it says of
// it is the error; unchecked is why it could not be asked, or "".
func (a *app) checkUnit(ctx context.Context, unit, text string) (unchecked string, err error) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return "there is no systemd-analyze", nil
	}
	dir, err := os.MkdirTemp("", "den-unit-")
	if err != nil {
		return "", fault.Errorf(fault.KindOf(err), "install: %w", err)
	}
	defer os.RemoveAll(dir) // Best effort: it is in the directory for temporary files.
	path := filepath.Join(dir, unit)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", fault.Errorf(fault.KindOf(err), "install: %w", err)
	}
	cmd := exec.CommandContext(ctx, analyze, "--user", "verify", path)
	// Units of this login are looked for there; without one there are none.
	cmd.Env = append(a.environ[:len(a.environ):len(a.environ)], "LC_ALL=C", "XDG_RUNTIME_DIR="+cmp.Or(a.getenv("XDG_RUNTIME_DIR"), dir))
	out, err := cmd.CombinedOutput()
	var about []string // what is said of other units is not ours to mend
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, unit) {
			about = append(about, strings.ReplaceAll(strings.TrimSpace(line), path, unit))
		}
	}
	switch {
	case len(about) > 0:
		return "", fault.Errorf(fault.Internal, "install: systemd does not take the unit, and nothing was written: %s", strings.Join(about, "; "))
	case err != nil:
		return fmt.Sprintf("systemd-analyze: %v: %s", err, strings.TrimSpace(string(out))), ctx.Err()
	}
	return "", nil
}

// systemctl runs it for this user's services, and returns what it prints.
func (a *app) systemctl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...)
	cmd.Env = a.environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fault.Errorf(fault.Internal, "systemctl --user %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// switchOn has systemd start the unit of an instance, now and at each login. It
// returns when the instance is watched.
func (a *app) switchOn(ctx context.Context, unit string, in *instance.Instance) error {
	if _, err := a.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	if _, err := a.systemctl(ctx, "enable", "--now", unit); err != nil {
		return err
	}
	return a.awaitUnit(ctx, unit, in)
}

const (
	unitPoll  = 100 * time.Millisecond
	unitLimit = 30 * time.Second // until a service that was started watches
)

// awaitUnit reads back what became of a unit that was started.
func (a *app) awaitUnit(ctx context.Context, unit string, in *instance.Instance) error {
	again := time.NewTicker(unitPoll)
	defer again.Stop()
	for end := time.Now().Add(unitLimit); ; {
		active, sub, err := a.unitState(ctx, unit)
		if err != nil {
			return err
		}
		watched, err := in.Watched()
		if err != nil {
			return err
		}
		switch {
		case active == "active" && watched:
			return nil
		case active == "failed" || sub == "auto-restart" || time.Now().After(end):
			return fault.Hintf(fault.Errorf(fault.Internal, "%s was switched on, and is %s (%s); '%s' is not watched by it", unit, active, sub, in.Name), "'journalctl --user --unit %s' tells why", unit)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unitState is what systemd says of a unit: such as active, running.
func (a *app) unitState(ctx context.Context, unit string) (active, sub string, err error) {
	out, err := a.systemctl(ctx, "show", "--property=ActiveState", "--property=SubState", unit)
	for line := range strings.Lines(out) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "ActiveState":
			active = value
		case "SubState":
			sub = value
		}
	}
	return active, sub, err
}
