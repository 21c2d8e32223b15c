package agenttty

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"den/internal/base/fault"

	"github.com/spf13/pflag"
)

func dashboardFlags(f *pflag.FlagSet) {
	f.Bool("all", false, "also sessions that are over")
	f.String("session", "", "the session to begin with")
}

// dashboard shows den's own.
func dashboard(c *call) (outcome, error) {
	root, err := c.home()
	if err != nil {
		return outcome{}, err
	}
	if c.json {
		return outcome{}, coded(invalidInput, "dashboard has no --json")
	}
	args := []string{"dashboard", "--home", root.Path}
	if id := c.str("session"); id != "" {
		args = append(args, id)
	}
	if c.bool("all") {
		args = append(args, "--all")
	}
	return outcome{status: c.Den(nil, nil, args...)}, nil
}

type check struct {
	Name       string `json:"name"`
	Status     string `json:"status"` // pass, fail or skip
	Message    string `json:"message"`
	DurationMS int64  `json:"durationMs"`
}

// checkNames are the original's names of den's checks.
var checkNames = map[string]string{"home": "home-writable", "disk": "event-log-writable", "terminal": "pty-spawn", "session": "socket-viable"}

func doctor(c *call) (outcome, error) {
	var d struct {
		OK     bool
		Checks []struct {
			Name, Status, Message string
			DurationMS            int64 `json:"duration_ms"`
		}
	}
	if err := c.den(&d, "doctor"); err != nil {
		return outcome{}, err
	}
	environment := []check{}
	var text strings.Builder
	for _, k := range d.Checks {
		name := k.Name
		if other, ok := checkNames[name]; ok {
			name = other
		}
		status := map[string]string{"ok": "pass", "warn": "skip", "fail": "fail"}[k.Status]
		environment = append(environment, check{name, status, k.Message, k.DurationMS})
		fmt.Fprintf(&text, "%s  %s  %s\n", status, name, k.Message)
	}
	renderer := []check{{Name: "screenshot_viable", Status: "pass", Message: "den draws pictures itself"}}
	o := outcome{result: struct {
		OK           bool               `json:"ok"`
		Checks       map[string][]check `json:"checks"`
		Capabilities []capability       `json:"capabilities"`
	}{d.OK, map[string][]check{"environment": environment, "renderer": renderer}, capabilities()}, text: text.String()}
	if !d.OK {
		o.status = 1
	}
	return o, nil
}

type capability struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

func capabilities() []capability {
	var all []capability
	for _, name := range []string{"snapshot", "wait", "screenshot", "record-export-asciicast", "record-export-webm", "dashboard"} {
		all = append(all, capability{name, "available"})
	}
	return all
}

// protocolVersion is the original's.
const protocolVersion = "0.1.0"

func version(c *call) (outcome, error) {
	arch := map[string]string{"amd64": "x64", "386": "ia32"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return outcome{result: struct {
		CLIVersion       string            `json:"cliVersion"`
		ProtocolVersion  string            `json:"protocolVersion"`
		RendererBackends []string          `json:"rendererBackends"`
		Runtime          map[string]string `json:"runtime"`
		Capabilities     []capability      `json:"capabilities"`
	}{c.Version, protocolVersion, []string{backend}, map[string]string{"go": runtime.Version(), "platform": runtime.GOOS, "arch": arch}, capabilities()},
		text: "agent-tty (den " + c.Version + ")"}, nil
}

type skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Source      string `json:"source"`
	Path        string `json:"path,omitempty"`
	Content     string `json:"content,omitempty"`
}

const bundled = "bundled"

func skillsList(c *call) (outcome, error) {
	var l struct{ Skills []skill }
	if err := c.den(&l, "skills", "list"); err != nil {
		return outcome{}, err
	}
	var text strings.Builder
	for i := range l.Skills {
		l.Skills[i].Source = bundled
		fmt.Fprintf(&text, "%s  %s\n", l.Skills[i].Name, l.Skills[i].Description)
	}
	return outcome{result: map[string]any{"skills": l.Skills}, text: text.String()}, nil
}

func skillsGet(c *call) (outcome, error) {
	s, err := c.skill()
	if err != nil {
		return outcome{}, err
	}
	return outcome{result: s, text: s.Content}, nil
}

// skillsPath tells where the skill is. den carries it in its binary: it is
// written to the user's state directory first.
func skillsPath(c *call) (outcome, error) {
	s, err := c.skill()
	if err != nil {
		return outcome{}, err
	}
	s.Content = ""
	return outcome{result: s, text: s.Path}, nil
}

func (c *call) skill() (skill, error) {
	var s skill
	if err := c.den(&s, "skills", "get", c.args[0]); err != nil {
		return s, as(fault.NotFound, skillNotFound, err)
	}
	state := c.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		state = filepath.Join(c.Getenv("HOME"), ".local", "state")
	}
	var made struct{ Installed []string }
	if err := c.den(&made, "skills", "install", s.Name, "--to", filepath.Join(state, "den", "skills")); err != nil {
		return s, err
	}
	slices.Sort(made.Installed)
	s.Description, s.Source, s.Path = "", bundled, filepath.Dir(made.Installed[0])
	return s, nil
}
