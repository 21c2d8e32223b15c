package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/procname"
)

// IsRunning reports whether the session's command runs.
func (p *Provider) IsRunning(ctx context.Context, name string) (bool, error) {
	one, err := p.find(ctx, name)
	return one != nil && !one.ended(), err
}

// ListRunning asks once for all.
func (p *Provider) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	all, err := p.panes(ctx, "1")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range all {
		if strings.HasPrefix(one.name, prefix) && !one.ended() {
			names = append(names, one.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ProcessAlive looks at the session's processes as they are now.
func (p *Provider) ProcessAlive(ctx context.Context, name string, processNames []string) (bool, error) {
	if len(processNames) == 0 {
		return p.IsRunning(ctx, name)
	}
	pids, err := p.Processes(ctx, name)
	if err != nil {
		return false, err
	}
	alive, err := procname.AnyBears(pids, processNames)
	if err != nil {
		return false, fmt.Errorf("processes of session '%s': %w", name, err)
	}
	return alive, nil
}

// Processes lists the session's processes.
func (p *Provider) Processes(ctx context.Context, name string) ([]int, error) {
	one, err := p.find(ctx, name)
	if err != nil || one == nil || one.ended() {
		return nil, err
	}
	all, err := p.processesOf(name, one)()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, pr := range all {
		pids = append(pids, pr.pid)
	}
	return pids, nil
}

// Title returns the pane's title. A pane whose program set none has the name
// of the machine, which tmux gives it.
func (p *Provider) Title(ctx context.Context, name string) (string, error) {
	one, err := p.running(ctx, name)
	if err != nil {
		return "", err
	}
	lines, err := p.askOf(ctx, one, command("display-message", "-p", "-t", one.id, "#{pane_title}"))
	switch {
	case errors.Is(err, errNoServer) || refused(err):
		return "", fault.Errorf(fault.NotRunning, "title of session '%s': it ended meanwhile", name)
	case err != nil:
		return "", fmt.Errorf("title of session '%s': %w", name, err)
	}
	return strings.Join(lines, " "), nil
}

// lostCode is the code of a command of which nobody knows how it ended.
const lostCode = -1

// Exit reads how the command ended from its pane, or from what Stop noted.
func (p *Provider) Exit(ctx context.Context, name string) (*provider.Exit, error) {
	one, err := p.find(ctx, name)
	if err == nil && one == nil {
		if one, err = p.past(ctx, name); err == nil && one == nil {
			err = fault.Errorf(fault.NotFound, "no session '%s'", name)
		}
		if err != nil {
			return nil, err
		}
		return exitOf(one), nil
	}
	if err != nil || !one.ended() {
		return nil, err
	}
	return exitOf(one), nil
}

func exitOf(one *pane) *provider.Exit {
	e := &provider.Exit{Code: lostCode, At: one.died}
	if code, err := strconv.Atoi(one.status); err == nil {
		e.Code = code
	} else if n, err := strconv.Atoi(one.signal); err == nil {
		e.Code, e.Signal = 128+n, signalName(syscall.Signal(n))
	}
	return e
}

// signalNames are those that end programs.
var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL", syscall.SIGTRAP: "SIGTRAP",
	syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1",
	syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2", syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM",
	syscall.SIGXCPU: "SIGXCPU", syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGPROF: "SIGPROF", syscall.SIGSYS: "SIGSYS",
}

func signalName(s syscall.Signal) string {
	if name, ok := signalNames[s]; ok {
		return name
	}
	return "SIG" + strconv.Itoa(int(s))
}

// GetLastActivity returns when the pane last printed, to the second: tmux
// counts no finer. A session that printed nothing has the time of its start.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	one, err := p.existing(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	return one.activity, nil
}

// Attached counts the session's terminals. tmux notes when a client last typed
// to the second, and takes its coming for the first key: somebody who has only
// looked on has typed when they came.
func (p *Provider) Attached(ctx context.Context, name string) (n int, typed time.Time, err error) {
	one, err := p.existing(ctx, name)
	if err != nil {
		return 0, time.Time{}, err
	}
	lines, err := p.askOf(ctx, one, command("list-clients", "-t", one.session, "-F", "#{client_control_mode},#{client_activity}"))
	if errors.Is(err, errNoServer) || refused(err) {
		return 0, time.Time{}, nil // it went meanwhile, and everybody with it
	}
	if err != nil {
		return 0, time.Time{}, err
	}
	for _, line := range lines {
		f := strings.Split(line, ",")
		if len(f) != 2 || f[0] == "1" {
			continue // a program's client, not a person's
		}
		n++
		if at := seconds(f[1]); at.After(typed) {
			typed = at
		}
	}
	return n, typed, nil
}

// stampAge is how old an answer about all panes may be that stamps are taken
// from: many sessions are asked about together, and tmux is asked once.
const stampAge = time.Second

// stamps is the last answer about all panes.
type stamps struct {
	mu     sync.Mutex
	taken  time.Time
	byName map[string]pane
}

// ChangeStamp names the session and when its pane last printed. tmux counts
// whole seconds: within the second after a print, every stamp differs.
func (p *Provider) ChangeStamp(ctx context.Context, name string) (string, error) {
	begun := time.Now()
	p.stamps.mu.Lock()
	defer p.stamps.mu.Unlock()
	one, ok := p.stamps.byName[name]
	// A session that is not in the last answer may have been started since.
	if begun.Sub(p.stamps.taken) > stampAge || !ok && begun.After(p.stamps.taken) {
		if err := p.takeStamps(ctx); err != nil {
			return "", err
		}
		one, ok = p.stamps.byName[name]
	}
	if !ok {
		return "", fault.Errorf(fault.NotFound, "no session '%s'", name)
	}
	stamp := fmt.Sprintf("%s:%d:%d", one.session, one.pid, one.activity.Unix())
	if p.stamps.taken.Sub(one.activity) < 2*time.Second {
		stamp += fmt.Sprintf(":%d", p.stamps.taken.UnixNano()) // more may come in the same second
	}
	return stamp, nil
}

// takeStamps asks tmux. The caller holds the lock: whoever comes meanwhile
// uses the same answer.
func (p *Provider) takeStamps(ctx context.Context) error {
	taken := time.Now()
	panes, err := p.list(ctx, "1")
	if err != nil {
		return err
	}
	p.stamps.taken, p.stamps.byName = taken, make(map[string]pane, len(panes))
	for _, one := range panes {
		p.stamps.byName[one.name] = one
	}
	return nil
}

// Observe asks twice for all: for the panes, and for the options in which
// metadata is kept.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	panes, err := p.panes(ctx, "1")
	if err != nil {
		return nil, err
	}
	all := map[string]provider.Observation{}
	var shown []pane
	for _, one := range panes {
		if strings.HasPrefix(one.name, prefix) {
			all[one.name] = observation(&one)
			shown = append(shown, one)
		}
	}
	meta, err := p.allMeta(ctx, shown)
	if err != nil {
		return nil, err
	}
	for _, one := range shown {
		o := all[one.name]
		o.Meta = meta[one.session]
		all[one.name] = o
	}
	return all, nil
}

func observation(one *pane) provider.Observation {
	o := provider.Observation{Running: !one.ended()}
	if !o.Running {
		o.Exit = exitOf(one)
	}
	return o
}

// allMeta returns the metadata of sessions, by tmux's id of each. A session that
// goes meanwhile has none; those behind it in the question are asked for again.
func (p *Provider) allMeta(ctx context.Context, panes []pane) (map[string]map[string]string, error) {
	meta := map[string]map[string]string{}
	for len(panes) > 0 {
		var line []string
		for _, one := range panes {
			line = append(line, command("display-message", "-p", "-t", one.session+":", metaOf+"#{session_id}"), command("show-options", "-t", one.session+":"))
		}
		lines, err := p.askOf(ctx, &panes[0], sequence(line...)) // all are of one server: they were listed at once
		switch {
		case errors.Is(err, errNoServer):
			return meta, nil
		case err != nil && !refused(err):
			return nil, err
		}
		answered, perr := parseMeta(lines, meta)
		if perr != nil {
			return nil, unasked(perr)
		}
		if err == nil {
			return meta, nil
		}
		panes = panes[min(answered+1, len(panes)):] // behind the one that went
	}
	return meta, nil
}

// metaOf begins the line before a session's options.
const metaOf = "den-options-of "

// parseMeta reads the options of sessions and counts the sessions.
func parseMeta(lines []string, into map[string]map[string]string) (sessions int, err error) {
	var values map[string]string
	prefix := metaOption("")
	for _, line := range lines {
		if session, ok := strings.CutPrefix(line, metaOf); ok {
			values = map[string]string{}
			into[session] = values
			sessions++
			continue
		}
		option, value, _ := strings.Cut(line, " ")
		encodedKey, ok := strings.CutPrefix(option, prefix)
		if !ok || values == nil {
			continue
		}
		key, ok := decode(encodedKey)
		text, verr := decoded(strings.Trim(value, `"`))
		if !ok || verr != nil {
			return sessions, fmt.Errorf("tmux shows metadata as %q", line)
		}
		values[key] = text
	}
	return sessions, nil
}

// Metadata is kept in options of the session: it does not reach its programs,
// and goes with it.

func metaOption(key string) string { return "@den-meta-" + encode(key) }

// SetMeta keeps a value.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	if err := provider.CheckKey(key); err != nil {
		return err
	}
	_, err := p.option(ctx, name, "set-option", metaOption(key), encoded(value))
	return err
}

// GetMeta returns a value.
func (p *Provider) GetMeta(ctx context.Context, name, key string) (string, error) {
	if err := provider.CheckKey(key); err != nil {
		return "", err
	}
	lines, err := p.option(ctx, name, "show-options", "-qv", metaOption(key))
	if err != nil || len(lines) == 0 || lines[0] == "" {
		return "", err
	}
	value, err := decoded(lines[0])
	if err != nil {
		return "", fmt.Errorf("metadata %s of session '%s': %w", key, name, err)
	}
	return value, nil
}

// RemoveMeta forgets a value.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	if err := provider.CheckKey(key); err != nil {
		return err
	}
	_, err := p.option(ctx, name, "set-option", "-qu", metaOption(key))
	return err
}

// option runs a command on the options of the session that stands under the
// name now.
func (p *Provider) option(ctx context.Context, name, verb string, args ...string) ([]string, error) {
	one, err := p.existing(ctx, name)
	if err != nil {
		return nil, err
	}
	lines, err := p.askOf(ctx, one, command(append([]string{verb, "-t", one.session + ":"}, args...)...))
	if errors.Is(err, errNoServer) || refused(err) {
		return nil, fault.Errorf(fault.NotFound, "metadata of session '%s': it went meanwhile (%w)", name, err)
	}
	return lines, err
}
