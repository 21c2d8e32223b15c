package agenttty

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/screen/render/film"
	"den/internal/session/home"

	"github.com/spf13/pflag"
)

func gcFlags(f *pflag.FlagSet) {
	f.Bool("dry-run", false, "remove nothing")
	f.Bool("stale-only", false, "only sessions whose host this run found dead")
	f.String("older-than", "", "only those that ended so long ago: a number and m, h or d")
}

type sweptHome struct {
	Home            string    `json:"home"`
	Existed         bool      `json:"existed"`
	RemovedSessions []string  `json:"removedSessions"`
	SkippedSessions []skipped `json:"skippedSessions"`
	TotalBytesFreed int64     `json:"totalBytesFreed"`
	Deregistered    bool      `json:"deregistered"`
}

type skipped struct {
	SessionID string `json:"sessionId"`
	Reason    string `json:"reason"`
}

type sweep struct {
	DryRun              bool        `json:"dryRun"`
	Homes               []sweptHome `json:"homes"`
	RemovedSessionCount int         `json:"removedSessionCount"`
	TotalBytesFreed     int64       `json:"totalBytesFreed"`
	DeregisteredHomes   []string    `json:"deregisteredHomes"`
}

func collect(c *call) (outcome, error) {
	older, err := parseAge(c.str("older-than"))
	if err != nil {
		return outcome{}, err
	}
	homes, registry, err := c.sweepScope()
	if err != nil {
		return outcome{}, err
	}
	o := home.GCOptions{OlderThan: older, DryRun: c.bool("dry-run")}
	s := sweep{DryRun: o.DryRun, Homes: []sweptHome{}, DeregisteredHomes: []string{}}
	for _, root := range homes {
		swept, err := sweepHome(root, o, c.bool("stale-only"))
		if err != nil {
			return outcome{}, err
		}
		if !root.Explicit && !o.DryRun && len(swept.SkippedSessions) == 0 {
			if swept.Deregistered, err = registry.Remove(root.Path); err != nil {
				return outcome{}, err
			}
		}
		if swept.Deregistered {
			s.DeregisteredHomes = append(s.DeregisteredHomes, root.Path)
		}
		s.Homes = append(s.Homes, swept)
		s.RemovedSessionCount += len(swept.RemovedSessions)
		s.TotalBytesFreed += swept.TotalBytesFreed
	}
	text := fmt.Sprintf("%d sessions removed, %d bytes freed", s.RemovedSessionCount, s.TotalBytesFreed)
	for _, path := range s.DeregisteredHomes {
		text += "\nno longer registered: " + path
	}
	return outcome{result: s, text: text}, nil
}

// sweepScope returns the Home that was named, or all that are known.
func (c *call) sweepScope() ([]home.Home, home.Registry, error) {
	registry := home.NewRegistry(c.Getenv)
	root, err := c.home()
	if err != nil || root.Explicit {
		return []home.Home{root}, registry, err
	}
	known, err := registry.Homes()
	homes := []home.Home{root}
	for _, k := range known {
		if k.Path != root.Path {
			homes = append(homes, home.Home{Path: k.Path})
		}
	}
	return homes, registry, err
}

func sweepHome(root home.Home, o home.GCOptions, staleOnly bool) (sweptHome, error) {
	swept := sweptHome{Home: root.Path, RemovedSessions: []string{}, SkippedSessions: []skipped{}}
	_, err := os.Stat(root.Path)
	if swept.Existed = !errors.Is(err, fs.ErrNotExist); !swept.Existed {
		return swept, nil
	}
	if staleOnly {
		stale, err := staleIn(root)
		if err != nil {
			return swept, err
		}
		o.Only = func(id string) bool { return stale[id] }
	}
	removed, err := root.Collect(time.Now(), o)
	if err != nil {
		return swept, err
	}
	gone := map[string]bool{}
	for _, r := range removed {
		gone[r.ID] = true
		swept.RemovedSessions = append(swept.RemovedSessions, r.ID)
		swept.TotalBytesFreed += r.Bytes
	}
	left, err := root.All()
	if err != nil {
		return swept, err
	}
	for _, d := range left {
		if m, err := d.Inspect(); err == nil && !gone[d.ID] {
			reason := "too recent, or not stale"
			if m.Status.Active() {
				reason = "active"
			}
			swept.SkippedSessions = append(swept.SkippedSessions, skipped{d.ID, reason})
		}
	}
	return swept, nil
}

// staleIn returns the sessions that are recorded as active and whose host is
// dead.
func staleIn(root home.Home) (map[string]bool, error) {
	dirs, err := root.All()
	if err != nil {
		return nil, err
	}
	stale := map[string]bool{}
	for _, d := range dirs {
		stored, err := d.Load()
		if err != nil {
			continue // damaged: nobody can tell
		}
		if now, err := d.Inspect(); err == nil && stored.Status.Active() && !now.Status.Active() {
			stale[d.ID] = true
		}
	}
	return stale, nil
}

var age = lazy.Regexp{Expr: `^([0-9]{1,6})([mhd])$`}

// parseAge reads 30m, 12h or 7d.
func parseAge(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	m := age.Get().FindStringSubmatch(s)
	if m == nil {
		return 0, coded(invalidDuration, "--older-than: %q is not a number and m, h or d", s)
	}
	n, _ := strconv.Atoi(m[1]) // digits
	unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[m[2]]
	return time.Duration(n) * unit, nil
}

type knownHome struct {
	Path           string `json:"path"`
	ActiveSessions int    `json:"activeSessions"`
	TotalSessions  int    `json:"totalSessions"`
	LastSeenAt     string `json:"lastSeenAt"`
}

func homeList(c *call) (outcome, error) {
	known, err := home.NewRegistry(c.Getenv).Homes()
	if err != nil {
		return outcome{}, err
	}
	homes := []knownHome{}
	var text strings.Builder
	for _, k := range known {
		h := knownHome{Path: k.Path, LastSeenAt: stamp(k.LastSeen)}
		dirs, _ := home.Home{Path: k.Path}.All() // Best effort: one that cannot be read has none to show.
		for _, d := range dirs {
			m, err := d.Inspect()
			if err != nil || m.Status == home.Destroyed {
				continue
			}
			h.TotalSessions++
			if m.Status.Active() {
				h.ActiveSessions++
			}
		}
		if h.ActiveSessions > 0 || c.bool("all") && h.TotalSessions > 0 {
			homes = append(homes, h)
			fmt.Fprintf(&text, "%s  %d active, %d in all\n", h.Path, h.ActiveSessions, h.TotalSessions)
		}
	}
	return outcome{result: map[string]any{"homes": homes}, text: text.String()}, nil
}

func homeForget(c *call) (outcome, error) {
	path, err := filepath.Abs(c.args[0])
	if err != nil {
		return outcome{}, err
	}
	forgotten, err := home.NewRegistry(c.Getenv).Remove(path)
	if err != nil {
		return outcome{}, err
	}
	text := "not registered: " + path
	if forgotten {
		text = "forgotten: " + path
	}
	return outcome{result: struct {
		Path      string `json:"path"`
		Forgotten bool   `json:"forgotten"`
	}{path, forgotten}, text: text}, nil
}

func dashboardFlags(f *pflag.FlagSet) {
	f.Bool("all", false, "also sessions that are over")
	f.String("session", "", "the session to begin with")
}

// dashboard shows den's own, of one Home.
func dashboard(c *call) (outcome, error) {
	root, err := c.home()
	if err != nil {
		return outcome{}, err
	}
	if c.json {
		return outcome{}, coded(invalidInput, "dashboard has no --json")
	}
	args := []string{"dashboard", "--one-home", "--home", root.Path}
	if ref := c.str("session"); ref != "" {
		d, err := find(root, ref)
		if err != nil {
			return outcome{}, err
		}
		args = append(args, d.ID)
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
func checkNames() map[string]string {
	return map[string]string{"home": "home-writable", "disk": "event-log-writable", "terminal": "pty-spawn", "session": "socket-viable"}
}

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
		name := cmp.Or(checkNames()[k.Name], k.Name)
		status := map[string]string{"ok": "pass", "warn": "skip", "fail": "fail"}[k.Status]
		environment = append(environment, check{name, status, k.Message, k.DurationMS})
		fmt.Fprintf(&text, "%s  %s  %s\n", status, name, k.Message)
	}
	renderer := []check{{Name: "screenshot_viable", Status: "pass", Message: "den draws pictures itself"}, videoCheck()}
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

// videoCheck tells whether this machine can make videos. Who makes none lacks
// nothing, so it is no failure that it cannot.
func videoCheck() check {
	if problem := noVideo(); problem != "" {
		return check{Name: "webm_viable", Status: "skip", Message: problem}
	}
	return check{Name: "webm_viable", Status: "pass", Message: film.Encoder + " is installed"}
}

// noVideo says why videos cannot be made, "" where they can.
func noVideo() string {
	if _, err := exec.LookPath(film.Encoder); err != nil {
		return film.Encoder + " is not installed"
	}
	return ""
}

type capability struct {
	Name   string `json:"name"`
	Status string `json:"status"` // available or unavailable
	Reason string `json:"reason,omitempty"`
}

func capabilities() []capability {
	var all []capability
	for _, name := range []string{"snapshot", "wait", "screenshot", "record-export-asciicast", "dashboard"} {
		all = append(all, capability{Name: name, Status: "available"})
	}
	video := capability{Name: "record-export-webm", Status: "available", Reason: noVideo()}
	if video.Reason != "" {
		video.Status = "unavailable"
	}
	return append(all, video)
}

// protocolVersion is the original's.
const protocolVersion = "0.1.0"

func version(c *call) (outcome, error) {
	arch := cmp.Or(map[string]string{"amd64": "x64", "386": "ia32"}[runtime.GOARCH], runtime.GOARCH)
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
