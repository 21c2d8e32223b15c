package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
	"den/internal/keeper"
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
	config := a.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(a.getenv("HOME"), ".config")
	}
	if !filepath.IsAbs(config) {
		return fault.Errorf(fault.Usage, "install: neither XDG_CONFIG_HOME nor HOME is an absolute path")
	}
	name := "den-" + p.PathTag() + ".service"
	path := filepath.Join(config, "systemd", "user", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fault.Errorf(fault.KindOf(err), "install: %w", err)
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = systemdQuote(w)
	}
	dir := filepath.Dir(p.Config)
	text := fmt.Sprintf(unit, systemdEscape(dir), systemdEscape(dir), strings.Join(words, " "), systemdEscape(a.getenv("PATH")))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fault.Errorf(fault.KindOf(err), "install: %w", err)
	}
	next := "systemctl --user daemon-reload && systemctl --user enable --now " + name
	return a.answer(map[string]any{"path": path, "unit": name, "next": next}, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s\nswitch it on with: %s\n", path, next)
	})
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
