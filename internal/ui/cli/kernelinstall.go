package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/ticks/instance"

	"github.com/spf13/cobra"
)

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
	config := a.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(a.getenv("HOME"), ".config")
	}
	if !filepath.IsAbs(config) {
		return "", fault.Errorf(fault.Usage, "install: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	return filepath.Join(config, "systemd", "user", "den-kernel-"+name+".service"), nil
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
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fault.Errorf(fault.KindOf(err), "install: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fault.Errorf(fault.KindOf(err), "install: %w", err)
	}
	if now {
		if err := a.switchOn(ctx, unit, in); err != nil {
			return err
		}
	}
	next := "systemctl --user daemon-reload && systemctl --user enable --now " + unit
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
	watch, err := a.kernelUnitCommand("watch", name, "--wait")
	if err != nil {
		return "", err
	}
	stop, err := a.kernelUnitCommand("stop", name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(kernelUnitText, systemdEscape(name), watch, a.kernelUnitEnvironment(), stop), nil
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

// kernelUnitCommand is a verb of dend's as a command line in a unit.
func (a *app) kernelUnitCommand(verb, name string, flags ...string) (string, error) {
	argv, err := a.kernelArgv(verb, name, flags...)
	if err != nil {
		return "", err
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = systemdQuote(w)
	}
	return strings.Join(words, " "), nil
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
