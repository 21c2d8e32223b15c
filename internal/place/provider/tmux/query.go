package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	one, err := p.find(ctx, name)
	if err != nil || one == nil || one.ended() {
		return false, err
	}
	if len(processNames) == 0 {
		return true, nil
	}
	all, err := p.processesOf(name, one)()
	if err != nil {
		return false, err
	}
	for _, pr := range all {
		argv, err := arguments(pr.pid)
		if err != nil {
			return false, fmt.Errorf("processes of session '%s': %w", name, err)
		}
		if procname.Bears(pr.comm, argv, processNames) {
			return true, nil
		}
	}
	return false, nil
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
