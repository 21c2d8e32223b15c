package agenttty

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/session"
	"den/internal/session/home"

	"github.com/spf13/pflag"
)

// Limits of den's terminals. The original has none.
const (
	maxCols = 2000
	maxRows = 1000
)

// nameLabel is the label that keeps --name, which need not be a name of den's.
const nameLabel = "agent-tty.name"

func createFlags(f *pflag.FlagSet) {
	f.String("shell", "", "the shell (default $SHELL, else /bin/sh)")
	f.String("command", "", "the same as --shell")
	f.String("cwd", "", "the working directory")
	f.Int("cols", 80, "columns")
	f.Int("rows", 24, "rows")
	f.StringArray("env", nil, "K=V, repeatable")
	f.String("term", session.DefaultTerm, "TERM")
	f.String("name", "", "a label")
	f.Int("idle-timeout-ms", 0, "0: no timeout. den has none")
}

type created struct {
	SessionID string            `json:"sessionId"`
	CreatedAt string            `json:"createdAt"`
	Cols      int               `json:"cols"`
	Rows      int               `json:"rows"`
	Shell     string            `json:"shell"`
	Env       map[string]string `json:"env,omitempty"`
}

func create(c *call) (outcome, error) {
	root, err := c.home()
	if err != nil {
		return outcome{}, err
	}
	spec, given, err := c.spec(root)
	if err != nil {
		return outcome{}, err
	}
	shell, err := c.shell()
	if err != nil {
		return outcome{}, err
	}
	spec.Command = c.args
	if len(spec.Command) == 0 {
		spec.Command = []string{shell}
	}
	o := c.options()
	o.Registry = home.NewRegistry(c.Getenv)
	_, m, err := session.Create(c.ctx, root, spec, o)
	if fault.KindOf(err) == fault.Busy { // a label need not be unique, a name must
		spec.Name, spec.Unnamed = "", true
		_, m, err = session.Create(c.ctx, root, spec, o)
	}
	if err != nil {
		return outcome{}, err
	}
	return outcome{result: created{m.ID, stamp(m.Created), m.Cols, m.Rows, shell, given}, text: m.ID}, nil
}

// spec returns the session that the flags describe, without its command, and
// what --env added.
func (c *call) spec(root home.Home) (home.Spec, map[string]string, error) {
	cols, rows, term := c.num("cols"), c.num("rows"), c.str("term")
	if err := checkSize(cols, rows); err != nil {
		return home.Spec{}, nil, err
	}
	if c.num("idle-timeout-ms") != 0 {
		return home.Spec{}, nil, coded(invalidInput, "--idle-timeout-ms: den ends no session by itself; 'wait --idle-ms' and 'destroy' do it")
	}
	cwd, err := filepath.Abs(c.str("cwd"))
	if err != nil {
		return home.Spec{}, nil, err
	}
	if fi, err := os.Stat(cwd); err != nil || !fi.IsDir() {
		return home.Spec{}, nil, coded(storageReadError, "--cwd: %s is not a directory", cwd)
	}
	pairs, _ := c.flags.GetStringArray("env") // it is defined
	var given map[string]string
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" || strings.ContainsRune(pair, 0) {
			return home.Spec{}, nil, coded(invalidInput, "--env: %q is not of the form KEY=VALUE", pair)
		}
		if given == nil {
			given = map[string]string{}
		}
		given[k] = v
	}
	spec := home.Spec{
		Unnamed: true, Cwd: cwd, Term: term, Cols: cols, Rows: rows, RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit,
		Env: append(append(session.WithoutTerminal(c.Environ), session.TerminalEnv(root, term, cwd, c.Version)...), pairs...),
	}
	if c.given("name") {
		name := strings.TrimSpace(c.str("name"))
		if name == "" {
			return home.Spec{}, nil, coded(invalidInput, "--name is blank")
		}
		spec.Labels = map[string]string{nameLabel: name}
		if ident.Check("session", name) == nil && !ident.IsID(name) {
			spec.Name, spec.Unnamed = name, false // so that den's own verbs take it
		}
	}
	return spec, given, nil
}

// shell returns the shell, which must exist even if it is not used.
func (c *call) shell() (string, error) {
	shell := cmp.Or(c.str("shell"), c.str("command"), c.Getenv("SHELL"), "/bin/sh")
	path, err := exec.LookPath(shell)
	if err != nil {
		return "", coded(invalidInput, "shell not found: %s", shell)
	}
	return path, nil
}

func checkSize(cols, rows int) error {
	if cols < 1 || rows < 1 || cols > maxCols || rows > maxRows {
		return coded(invalidDimensions, "size %dx%d: 1 to %d columns and 1 to %d rows", cols, rows, maxCols, maxRows)
	}
	return nil
}

func flagAll(f *pflag.FlagSet) { f.Bool("all", false, "also those that are over") }

type listed struct {
	SessionID string   `json:"sessionId"`
	Status    string   `json:"status"`
	Command   []string `json:"command"`
	CreatedAt string   `json:"createdAt"`
	Name      string   `json:"name,omitempty"`
	PID       *int     `json:"pid"`
}

func list(c *call) (outcome, error) {
	root, err := c.home()
	if err != nil {
		return outcome{}, err
	}
	dirs, err := root.All()
	if err != nil {
		return outcome{}, err
	}
	sessions := []listed{}
	var text strings.Builder
	for _, d := range dirs {
		m, err := d.Reconcile()
		if err != nil || !c.bool("all") && !m.Status.Active() {
			continue // one whose record is damaged is left out, as in the original
		}
		l := listed{m.ID, statusOf(m.Status), m.Command, stamp(m.Created), labelOf(m), orNull(m.PID)}
		sessions = append(sessions, l)
		fmt.Fprintf(&text, "%s  %-10s  %-12s  %s\n", l.SessionID, l.Status, cmp.Or(l.Name, "-"), strings.Join(l.Command, " "))
	}
	return outcome{result: map[string]any{"sessions": sessions}, text: text.String()}, nil
}

// statusOf is a status as the original names it.
func statusOf(s home.Status) string {
	return cmp.Or(map[home.Status]string{home.Starting: "running", home.Lost: "failed"}[s], string(s))
}

// labelOf is what --name said, or the name that the session has in den; "" where
// it has none.
func labelOf(m *home.Manifest) string {
	if label := m.Labels[nameLabel]; label != "" || m.Name == m.ID {
		return label
	}
	return m.Name
}

func orNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// manifest is a session's record as the original writes it.
type manifest struct {
	Version       int      `json:"version"`
	SessionID     string   `json:"sessionId"`
	CreatedAt     string   `json:"createdAt"`
	UpdatedAt     string   `json:"updatedAt"`
	Status        string   `json:"status"`
	FailureReason string   `json:"failureReason,omitempty"`
	FailureOrigin string   `json:"failureOrigin,omitempty"`
	Command       []string `json:"command"`
	Cwd           string   `json:"cwd"`
	Name          string   `json:"name,omitempty"`
	Term          string   `json:"term"`
	Cols          int      `json:"cols"`
	Rows          int      `json:"rows"`
	HostPID       *int     `json:"hostPid"`
	ChildPID      *int     `json:"childPid"`
	ExitCode      *int     `json:"exitCode"`
	ExitSignal    *string  `json:"exitSignal"`
}

type inspected struct {
	Session             manifest          `json:"session"`
	EventCount          uint64            `json:"eventCount"`
	Uptime              int64             `json:"uptime"`
	LastEventSeq        uint64            `json:"lastEventSeq"`
	TerminationCategory string            `json:"terminationCategory"`
	UsedOfflineReplay   bool              `json:"usedOfflineReplay"`
	RendererRuntime     map[string]string `json:"rendererRuntime"`
	Host                map[string]string `json:"host,omitempty"`
	EventLogBytes       int64             `json:"eventLogBytes"`
	Artifacts           artifacts         `json:"artifacts"`
}

// artifacts is what became of the files that were written for a session.
type artifacts struct {
	Total        int               `json:"total"`
	ByKind       map[string]int    `json:"byKind"`
	MissingCount int               `json:"missingCount"`
	Health       string            `json:"health"` // healthy, missing-artifacts, manifest-invalid or no-artifacts
	Missing      []missingArtifact `json:"missing,omitempty"`
}

type missingArtifact struct {
	Kind     string `json:"kind"`
	Filename string `json:"filename"`
}

func artifactsOf(d home.Dir) artifacts {
	a := artifacts{ByKind: map[string]int{}, Health: "no-artifacts"}
	listed, err := d.ListedArtifacts()
	if err != nil {
		a.Health = "manifest-invalid"
		return a
	}
	seen := map[string]bool{}
	for _, one := range listed {
		if seen[one.File] {
			continue
		}
		seen[one.File] = true
		a.Total++
		a.ByKind[one.Kind]++
		if _, err := os.Lstat(filepath.Join(d.Artifacts(), filepath.Base(one.File))); err != nil {
			a.Missing = append(a.Missing, missingArtifact{one.Kind, one.File})
		}
	}
	if a.MissingCount = len(a.Missing); a.MissingCount > 0 {
		a.Health = "missing-artifacts"
	} else if a.Total > 0 {
		a.Health = "healthy"
	}
	return a
}

func inspect(c *call, s *session.Session) (outcome, error) {
	st, err := s.Status(c.ctx)
	if err != nil {
		return outcome{}, err
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return outcome{}, err
	}
	end := time.Now()
	if st.Ended != nil {
		end = *st.Ended
	}
	updated := st.Created
	if st.LastOutput != nil {
		updated = *st.LastOutput
	}
	r := inspected{
		Session: manifest{
			Version: 1, SessionID: st.ID, CreatedAt: stamp(st.Created), UpdatedAt: stamp(updated), Status: statusOf(m.Status),
			FailureReason: st.Failure, Command: st.Command, Cwd: st.Cwd, Name: labelOf(m), Term: st.Term,
			Cols: st.Cols, Rows: st.Rows, HostPID: orNull(st.HostPID), ChildPID: orNull(st.PID),
		},
		EventCount: st.Seq, LastEventSeq: st.Seq, Uptime: end.Sub(st.Created).Milliseconds(), TerminationCategory: category(m),
		EventLogBytes: st.Log.Bytes, Artifacts: artifactsOf(s.Dir), RendererRuntime: map[string]string{"backend": backend, "mode": "live-host", "status": "healthy"},
	}
	r.Session.ExitCode, r.Session.ExitSignal = exitOfProgram(m)
	if m.Status == home.Lost {
		r.Session.FailureOrigin = "host-death"
		r.Session.FailureReason = "host process died unexpectedly"
	}
	if m.Status.Final() {
		r.UsedOfflineReplay, r.RendererRuntime["mode"], r.RendererRuntime["reason"] = true, "offline-replay", "session-not-running"
	} else {
		r.Host = map[string]string{"cliVersion": st.HostVersion, "rpcSocketPath": m.Socket}
	}
	text := fmt.Sprintf("%s  %s  %s\n%dx%d, %d events, %s", st.ID, r.Session.Status, strings.Join(st.Command, " "), st.Cols, st.Rows, r.EventCount, r.TerminationCategory)
	return outcome{result: r, text: text}, nil
}

// backend is den's own renderer.
const backend = "den"

// exitOfProgram returns the exit code, or the number of the signal.
func exitOfProgram(m *home.Manifest) (code *int, signal *string) {
	if m.ExitSignal == "" || m.ExitCode == nil {
		return m.ExitCode, nil
	}
	number := strconv.Itoa(*m.ExitCode - 128) // as shells count
	return nil, &number
}

// category says how a session ended.
func category(m *home.Manifest) string {
	switch {
	case m.Status.Active():
		return "running"
	case m.Status == home.Destroyed:
		return "destroyed"
	case m.Status == home.Lost:
		return "host-death"
	case m.ExitSignal != "":
		return "signal-exit"
	case m.ExitCode == nil:
		return "unknown"
	case *m.ExitCode != 0:
		return "nonzero-exit"
	}
	return "clean-exit"
}

func destroyFlags(f *pflag.FlagSet) { f.Bool("force", false, "also kill a host that does not answer") }

// destroyGrace is how long each of the signals that end a session may take.
const destroyGrace = 3 * time.Second

func destroy(c *call, s *session.Session) (outcome, error) {
	m, err := s.Dir.Inspect()
	if err != nil {
		return outcome{}, err
	}
	if m.Status == home.Destroyed {
		return outcome{}, coded(alreadyDestroyed, "session %s is destroyed already", m.ID)
	}
	end := s.Kill
	if c.bool("force") {
		end = s.ForceKill
	}
	if _, err := end(c.ctx, destroyGrace); err != nil {
		return outcome{}, err
	}
	return outcome{result: struct {
		SessionID string `json:"sessionId"`
		Destroyed bool   `json:"destroyed"`
	}{m.ID, true}, text: "destroyed " + m.ID}, nil
}
