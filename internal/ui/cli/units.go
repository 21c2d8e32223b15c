package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/poll"
	"den/internal/keeper"
	"den/internal/ticks/instance"

	"github.com/spf13/cobra"
)

// unit is a systemd user unit. Agents outlive their keeper, so only the keeper
// is killed with the service; 'den down' stops the agents. A keeper that
// cannot start is not retried for ever.
const unit = `[Unit]
Description=den keeps the agents of %[1]s
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
WorkingDirectory=%[2]s
ExecStart=%[3]s
Restart=on-failure
RestartSec=2
KillMode=process
Environment=PATH=%[4]s

[Install]
WantedBy=default.target
`

// install writes the unit and prints how to enable it.
func (a *app) install(p keeper.StateDir, argv []string) error {
	name := "den-" + p.PathTag() + ".service"
	path, err := a.unitPath(name)
	if err != nil {
		return err
	}
	dir := filepath.Dir(p.Config)
	if err := writeUnit(path, fmt.Sprintf(unit, systemdEscape(dir), systemdEscape(dir), systemdLine(argv), systemdEscape(a.getenv("PATH")))); err != nil {
		return err
	}
	next := switchOnCommand + name
	return a.answer(map[string]any{"path": path, "unit": name, "next": next}, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s\nswitch it on with: %s\n", path, next)
	})
}

// switchOnCommand is for a person, with the name of a unit behind it.
const switchOnCommand = "systemctl --user daemon-reload && systemctl --user enable --now "

// unitPath is where a unit of this user is.
func (a *app) unitPath(name string) (string, error) {
	config := cmp.Or(a.getenv("XDG_CONFIG_HOME"), filepath.Join(a.getenv("HOME"), ".config"))
	if !filepath.IsAbs(config) {
		return "", fault.Errorf(fault.Usage, "install: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	return filepath.Join(config, "systemd", "user", name), nil
}

func writeUnit(path, text string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "install: %w", err)
	}
	return nil
}

// systemdLine is a command line in a unit.
func systemdLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = systemdQuote(w)
	}
	return strings.Join(words, " ")
}

// systemdEscape escapes percent signs, which systemd would interpret.
func systemdEscape(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// systemdValue escapes what is between double quotes in a value that is not a
// command line: there a dollar sign means itself.
func systemdValue(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(systemdEscape(s))
}

func systemdQuote(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", "$$").Replace(systemdEscape(s))
	return `"` + s + `"`
}

// kernelUnitText is a systemd user unit. Only the watcher is told to end, which
// ends a tick that runs in order; what that takes is bounded by hooks' limits.
// Then the agent's container ends, if it has one. It waits for a watcher that
// somebody runs by hand: it would be started in vain until systemd gives up. One
// that cannot start for another reason is not retried for ever.
const kernelUnitText = `[Unit]
Description=den watches the agent %[1]s
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
ExecStart=%[2]s
ExecStopPost=-%[4]s
Restart=on-failure
RestartSec=10
KillMode=mixed
TimeoutStopSec=600
%[3]s
[Install]
WantedBy=default.target
`

// kernelUnit is the path of an instance's unit.
func (a *app) kernelUnit(name string) (string, error) {
	if err := ident.Check("instance", name); err != nil {
		return "", err
	}
	return a.unitPath("den-kernel-" + name + ".service")
}

func (a *app) kernelInstallCmd() *cobra.Command {
	var now bool
	cmd := a.onInstance(&cobra.Command{
		Use: "install NAME", Short: "Write a systemd user unit that watches the agent", Example: "  den kernel install demo --now",
		Long: "Write a systemd user unit that watches the agent, if systemd takes it. With --now it is switched on, and the verb returns when\nthe agent is watched. A service of a user who is not logged in runs after 'loginctl enable-linger'.",
	}, 0, func(ctx context.Context, in *instance.Instance, _ []string) error {
		return a.installKernel(ctx, in, now)
	})
	cmd.Args = args(1, 1)
	cmd.Flags().BoolVar(&now, "now", false, "switch it on, and wait until it watches")
	return cmd
}

func (a *app) installKernel(ctx context.Context, in *instance.Instance, now bool) error {
	path, err := a.kernelUnit(in.Name)
	if err != nil {
		return err
	}
	text, err := a.kernelUnitFor(in.Name)
	if err != nil {
		return err
	}
	unit := filepath.Base(path)
	unchecked, err := a.checkUnit(ctx, unit, text)
	if err != nil {
		return err
	}
	if err := writeUnit(path, text); err != nil {
		return err
	}
	if now {
		if err := a.switchOn(ctx, unit, in); err != nil {
			return err
		}
	}
	next := switchOnCommand + unit
	answer := map[string]any{"path": path, "unit": unit, "verified": unchecked == ""}
	if !now {
		answer["next"] = next
	}
	return a.answer(answer, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s\n", path)
		if unchecked != "" {
			fmt.Fprintf(w, "it was not verified: %s\n", unchecked)
		}
		if now {
			fmt.Fprintf(w, "it is switched on, and '%s' is watched\n", in.Name)
		} else {
			fmt.Fprintf(w, "switch it on with: %s\n", next)
		}
	})
}

// kernelUnitFor is the text of an instance's unit.
func (a *app) kernelUnitFor(name string) (string, error) {
	watch, err := a.kernelArgv("watch", name, "--wait")
	if err != nil {
		return "", err
	}
	stop, err := a.kernelArgv("stop", name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(kernelUnitText, systemdEscape(name), systemdLine(watch), a.kernelUnitEnvironment(), systemdLine(stop)), nil
}

// kernelUnitVariables say where den and the agent's engine find their things. A
// shell's profile may set them, and the service manager does not read it: a
// watcher without them would have other locks and another list of instances
// than the verbs that a person uses.
var kernelUnitVariables = []string{"PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "DEN_RUN_DIR", "DOCKER_HOST", "CONTAINER_HOST"}

// kernelUnitEnvironment has a line for each of them that is set.
func (a *app) kernelUnitEnvironment() string {
	var lines strings.Builder
	for _, key := range kernelUnitVariables {
		if value := a.getenv(key); value != "" {
			fmt.Fprintf(&lines, "Environment=\"%s=%s\"\n", key, systemdValue(value))
		}
	}
	return lines.String()
}

func (a *app) kernelUninstallCmd() *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use: "uninstall NAME", Short: "Remove the systemd user unit of an agent", Example: "  den kernel uninstall demo --now",
		Args: args(1, 1), ValidArgsFunction: a.completeInstance,
		RunE: func(cmd *cobra.Command, given []string) error {
			path, err := a.kernelUnit(given[0])
			if err != nil {
				return err
			}
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				return fault.Errorf(fault.NotFound, "'%s' is not installed as a service: there is no %s", given[0], path)
			}
			return a.uninstallKernel(cmd.Context(), path, now)
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "stop it first; a tick that runs ends in order")
	return cmd
}

func (a *app) uninstallKernel(ctx context.Context, path string, now bool) error {
	unit := filepath.Base(path)
	if now {
		if _, err := a.systemctl(ctx, "disable", "--now", unit); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil {
		return fault.Errorf(fault.KindOf(err), "uninstall: %w", err)
	}
	answer := map[string]any{"path": path}
	if now {
		if _, err := a.systemctl(ctx, "daemon-reload"); err != nil {
			return err
		}
		return a.answer(answer, func(w io.Writer) { fmt.Fprintf(w, "stopped it, and removed %s\n", path) })
	}
	next := "systemctl --user disable --now " + unit + "; systemctl --user daemon-reload"
	answer["next"] = next
	return a.answer(answer, func(w io.Writer) {
		fmt.Fprintf(w, "removed %s\nif it runs, stop it with: %s\n", path, next)
	})
}

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
		if err := poll.Pause(ctx, unitPoll); err != nil {
			return err
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
