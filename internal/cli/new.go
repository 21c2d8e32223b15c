package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/host"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

type newOptions struct {
	cols, rows  int
	cwd         string
	env         []string
	labels      []string
	term        string
	prompt      string
	logLimit    string
	logSync     string
	recordInput string
}

func (a *app) newCmd() *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:     "new SESSION [CMD...]",
		Aliases: []string{"create"},
		Short:   "Start a program in a new session",
		Long: `Start CMD (default: your shell) in a terminal of its own. The session lives until
the program ends or 'den kill' ends it, whoever started it.

den's own flags stand before CMD: everything from its first word on belongs to it.`,
		Example: "  den new work\n  den new py --cols 100 python3 -q\n  den new build -- make -j4 test",
		GroupID: groupSession,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.Hintf(fault.Errorf(fault.Usage, "new needs a name for the session"), "for example 'den new work'")
			}
			// Flags may also stand between the name and the command.
			if err := cmd.Flags().Parse(args[1:]); err != nil {
				return cmd.FlagErrorFunc()(cmd, err)
			}
			return a.runNew(cmd, args[0], cmd.Flags().Args(), o)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.IntVar(&o.cols, "cols", 120, "columns of the terminal")
	f.IntVar(&o.rows, "rows", 40, "rows of the terminal")
	f.StringVar(&o.cwd, "cwd", "", "working `DIR` of the program (default: here)")
	f.StringArrayVar(&o.env, "env", nil, "set `K=V` in the program's environment (repeatable)")
	f.StringArrayVar(&o.labels, "label", nil, "attach `K=V` to the session's record (repeatable)")
	f.StringVar(&o.term, "term", "xterm-256color", "TERM of the program")
	f.StringVar(&o.prompt, "prompt", "", "the program's prompt, or the path of a hook, by which cells end")
	f.StringVar(&o.logLimit, "log-limit", "256MiB", "size of the event log beyond which its oldest part goes; 0: no limit")
	f.StringVar(&o.logSync, "log-sync", "rotate", "when the log is forced to the disk: rotate or always")
	f.StringVar(&o.recordInput, "record-input", host.RecordAuto, "record what is typed: auto (not while echo is off), all or none")
	return cmd
}

func (a *app) runNew(cmd *cobra.Command, name string, command []string, o newOptions) error {
	root, err := a.home()
	if err != nil {
		return err
	}
	spec, err := a.spec(root, name, command, o)
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find den's own binary: %w", err)
	}
	d, m, err := root.Create(cmd.Context(), spec, binary)
	if err != nil {
		return err
	}
	if err := home.NewRegistry(a.getenv).Add(root, time.Now()); err != nil {
		fmt.Fprintf(a.stderr, "den: the session runs, but its Home was not registered: %v\n", err)
	}
	return a.answer(struct {
		Session string      `json:"session"`
		ID      string      `json:"id"`
		Status  home.Status `json:"status"`
		PID     int         `json:"pid"`
		Home    string      `json:"home"`
	}{m.Name, d.ID, m.Status, m.PID, root.Path}, func(w io.Writer) {
		fmt.Fprintf(w, "%s\t%s\tpid %d\n", m.Name, m.Status, m.PID)
	})
}

func (a *app) spec(root home.Home, name string, command []string, o newOptions) (home.Spec, error) {
	var spec home.Spec
	if err := host.CheckSize(o.cols, o.rows); err != nil {
		return spec, err
	}
	if !slices.Contains([]string{host.RecordAuto, host.RecordAll, host.RecordNone}, o.recordInput) {
		return spec, fault.Errorf(fault.Usage, "--record-input is auto, all or none, not '%s'", o.recordInput)
	}
	if o.logSync != "rotate" && o.logSync != "always" {
		return spec, fault.Errorf(fault.Usage, "--log-sync is rotate or always, not '%s'", o.logSync)
	}
	limit, err := parseBytes(o.logLimit)
	if err != nil {
		return spec, fault.Errorf(fault.Usage, "--log-limit: %w", err)
	}
	labels, err := parsePairs("--label", o.labels)
	if err != nil {
		return spec, err
	}
	if _, err := parsePairs("--env", o.env); err != nil {
		return spec, err
	}
	cwd, err := filepath.Abs(o.cwd)
	if err != nil {
		return spec, fmt.Errorf("--cwd: %w", err)
	}
	if fi, err := os.Stat(cwd); err != nil || !fi.IsDir() {
		return spec, fault.Errorf(fault.Usage, "--cwd: %s is not a directory", cwd)
	}
	if len(command) == 0 {
		command = []string{a.shell()}
	}
	if o.prompt, err = hookPath(o.prompt); err != nil {
		return spec, err
	}
	return home.Spec{
		Name: name, Command: command, Cwd: cwd, Term: o.term, Cols: o.cols, Rows: o.rows,
		Env: a.programEnv(root, o, cwd), Labels: labels, Prompt: o.prompt,
		RecordInput: o.recordInput, LogLimit: limit, SyncAlways: o.logSync == "always",
	}, nil
}

// hookPath makes the path of a hook absolute; a prompt without a separator is
// text and stays as it is.
func hookPath(prompt string) (string, error) {
	if !strings.ContainsRune(prompt, filepath.Separator) {
		return prompt, nil
	}
	path, err := filepath.Abs(prompt)
	if err != nil {
		return "", fmt.Errorf("--prompt: %w", err)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return "", fault.Errorf(fault.Usage, "--prompt: hook not found: %s", path)
	}
	if !fi.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil {
		return "", fault.Errorf(fault.Usage, "--prompt: hook not executable: %s", path)
	}
	return path, nil
}

// shell is the user's own, else bash, else what every system has.
func (a *app) shell() string {
	if sh := a.getenv("SHELL"); sh != "" {
		return sh
	}
	if sh, err := exec.LookPath("bash"); err == nil {
		return sh
	}
	return "/bin/sh"
}

// outer are variables that describe the terminal den was called from. In the
// session they would be lies.
var outer = []string{
	"DEN_TMUX_SESSION",
	"TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLUMNS", "LINES",
	"TMUX", "TMUX_PANE", "STY", "WINDOW", "WINDOWID", "VTE_VERSION", "WT_SESSION", "KITTY_WINDOW_ID", "KITTY_PID",
	"KITTY_LISTEN_ON", "WEZTERM_PANE", "ALACRITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "KONSOLE_VERSION", "ITERM_SESSION_ID",
	home.HostMark, home.ProgramMark, "DEN_SESSION", "DEN_HOME",
}

// programEnv is the program's whole environment. DEN_SESSION_ID is added by
// Create, which makes the id.
func (a *app) programEnv(root home.Home, o newOptions, cwd string) []string {
	var env []string
	for _, kv := range a.environ {
		if k, _, _ := strings.Cut(kv, "="); !slices.Contains(outer, k) && k != "PWD" {
			env = append(env, kv)
		}
	}
	env = append(env, "TERM="+o.term, "COLORTERM=truecolor", "TERM_PROGRAM=den", "TERM_PROGRAM_VERSION="+Version,
		"PWD="+cwd, "DEN_HOME="+root.Path)
	return append(env, o.env...)
}

func parsePairs(flag string, pairs []string) (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range pairs {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" || strings.ContainsRune(kv, 0) {
			return nil, fault.Errorf(fault.Usage, "%s: '%s' is not of the form K=V", flag, kv)
		}
		m[k] = v
	}
	return m, nil
}
