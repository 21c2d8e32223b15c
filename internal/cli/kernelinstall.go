package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"den/internal/fault"
	"den/internal/ident"

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
	return &cobra.Command{
		Use: "install NAME", Short: "Write a systemd user unit that watches the agent", Example: "  den kernel install demo",
		Args: args(1, 1), ValidArgsFunction: a.completeInstance,
		RunE: func(_ *cobra.Command, given []string) error {
			known, _, err := a.leadingInstance(given, 0)
			if err != nil {
				return err
			}
			path, err := a.kernelUnit(known.Name)
			if err != nil {
				return err
			}
			watch, err := a.kernelUnitCommand("watch", known.Name, "--wait")
			if err != nil {
				return err
			}
			stop, err := a.kernelUnitCommand("stop", known.Name)
			if err != nil {
				return err
			}
			text := fmt.Sprintf(kernelUnitText, systemdEscape(known.Name), watch, a.kernelUnitEnvironment(), stop)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return fault.Errorf(fault.KindOf(err), "install: %w", err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return fault.Errorf(fault.KindOf(err), "install: %w", err)
			}
			unit := filepath.Base(path)
			next := "systemctl --user daemon-reload && systemctl --user enable --now " + unit
			return a.answer(map[string]any{"path": path, "unit": unit, "next": next}, func(w io.Writer) {
				fmt.Fprintf(w, "wrote %s\nswitch it on with: %s\n", path, next)
			})
		},
	}
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
	return &cobra.Command{
		Use: "uninstall NAME", Short: "Remove the systemd user unit of an agent", Example: "  den kernel uninstall demo",
		Args: args(1, 1), ValidArgsFunction: a.completeInstance,
		RunE: func(_ *cobra.Command, given []string) error {
			path, err := a.kernelUnit(given[0])
			if err != nil {
				return err
			}
			err = os.Remove(path)
			if errors.Is(err, fs.ErrNotExist) {
				return fault.Errorf(fault.NotFound, "'%s' is not installed as a service: there is no %s", given[0], path)
			}
			if err != nil {
				return fault.Errorf(fault.KindOf(err), "uninstall: %w", err)
			}
			next := "systemctl --user disable --now " + filepath.Base(path) + "; systemctl --user daemon-reload"
			return a.answer(map[string]any{"path": path, "next": next}, func(w io.Writer) {
				fmt.Fprintf(w, "removed %s\nif it runs, stop it with: %s\n", path, next)
			})
		},
	}
}
