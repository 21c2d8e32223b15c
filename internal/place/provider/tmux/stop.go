package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/process/tree"
)

const (
	killRound = 50 * time.Millisecond // between two kills of what does not end
	killLimit = 5 * time.Second       // only a process stuck in the kernel outlives that
	diedLimit = time.Second           // for tmux to take note of the command's end
	pollPause = 500 * time.Microsecond
)

// Stop ends a session's processes and then the session. Without a server there
// are no sessions, but what outlived it is ended.
func (p *Provider) Stop(ctx context.Context, name string) error {
	if err := provider.CheckName(name); err != nil {
		return err
	}
	one, err := p.find(ctx, name)
	if err != nil {
		return err
	}
	if one == nil {
		if err := p.end(ctx, p.marked(name), terminate); err != nil {
			return fmt.Errorf("stop session '%s': %w", name, err)
		}
		return nil
	}
	return p.remove(ctx, name, one)
}

// remove ends what a session still runs, lets tmux see the command's end, so
// that watchers hear of it, and takes the session away.
func (p *Provider) remove(ctx context.Context, name string, one *pane) error {
	if err := p.end(ctx, p.processesOf(name, one), hangUp, terminate); err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	last, err := p.awaitDeath(ctx, name, one)
	if err != nil {
		return fmt.Errorf("stop session '%s': %w", name, err)
	}
	_, err = p.askOf(ctx, one, sequence(p.recordEnd(name, last), command("kill-session", "-t", one.session)))
	if refused(err) || errors.Is(err, errNoServer) {
		return nil // it went by itself, or with its server
	}
	return err
}

// awaitDeath returns the session as tmux saw it last.
func (p *Provider) awaitDeath(ctx context.Context, name string, one *pane) (*pane, error) {
	// At the limit a process of somebody else holds the terminal.
	for limit := time.Now().Add(diedLimit); !one.ended() && time.Now().Before(limit); {
		now, err := p.find(ctx, name)
		if err != nil {
			return nil, err
		}
		if now == nil || now.session != one.session {
			return one, nil // somebody else took it away
		}
		one = now
		if !one.ended() {
			if err := poll.Pause(ctx, pollPause); err != nil {
				return nil, err
			}
		}
	}
	return one, nil
}

// The steps that ask. A stopped job must run to hear of it.
var (
	hangUp    = []os.Signal{syscall.SIGHUP, syscall.SIGCONT}
	terminate = []os.Signal{syscall.SIGTERM, syscall.SIGCONT}
)

// endTries bounds how often processes are looked for again because some could
// not be told to be the session's.
const endTries = 5

// end ends processes, also those that could not be told to be the session's at
// first.
func (p *Provider) end(ctx context.Context, processes func() ([]process, error), steps ...[]os.Signal) error {
	for try := 0; ; try++ {
		if err := p.endSeen(ctx, processes, steps...); err != nil {
			return err
		}
		if try == endTries || !tree.AwaitTransitions(ctx) {
			return nil
		}
	}
}

// endSeen ends the processes that are seen: each step asks harder, and lasts
// until all are gone or its time is up. The last step does not ask.
func (p *Provider) endSeen(ctx context.Context, processes func() ([]process, error), steps ...[]os.Signal) error {
	for _, signals := range steps {
		gone, err := sweep(ctx, processes, p.grace, p.grace, signals...)
		if gone || err != nil {
			return err
		}
	}
	gone, err := sweep(ctx, processes, killLimit, killRound, syscall.SIGKILL)
	if err == nil && !gone {
		left, _ := processes() // only to name them
		err = fault.Errorf(fault.Internal, "processes do not end, though they were killed: %v", numbers(left))
	}
	return err
}

// sweep signals all that is there, and again every round, until nothing is
// there. What forks meanwhile is found by the next look; each process is
// signalled once a round.
func sweep(ctx context.Context, processes func() ([]process, error), limit, round time.Duration, signals ...os.Signal) (gone bool, err error) {
	last := time.Now().Add(limit)
	for {
		all, err := processes()
		if err != nil || len(all) == 0 {
			return err == nil, err
		}
		for _, pr := range all {
			pr.signal(signals...)
		}
		until := time.Now().Add(round)
		for anyLives(all) && time.Now().Before(until) {
			if err := poll.Pause(ctx, pollPause); err != nil {
				return false, err
			}
		}
		if !time.Now().Before(last) {
			all, err = processes()
			return len(all) == 0 && err == nil, err
		}
	}
}

func anyLives(all []process) bool {
	for _, pr := range all {
		if pr.lives() {
			return true
		}
	}
	return false
}

func numbers(all []process) []int {
	pids := make([]int, 0, len(all))
	for _, pr := range all {
		pids = append(pids, pr.pid)
	}
	return pids
}

// markKey is the variable that every process of a session is started with. By
// its value those are found that left the session's process tree: it says
// which server, which session and which start of it.
const markKey = "DEN_TMUX_SESSION"

// What is on its way to become a session's command is known by two others: the
// gate has the session's mark, and a child of the server that has yet to
// execute anything has the server's environment.
const (
	gateKey   = "DEN_TMUX_GATE"
	serverKey = "DEN_TMUX_SERVER"
)

func (p *Provider) markOf(name, start string) string {
	return p.realm + "." + p.tmuxName(name) + "." + start
}

// process is what the system says of one process. Number and start time
// together are never used again.
type process struct {
	pid, parent, session int
	started              uint64
	mark                 string // the value of markKey, or of gateKey, or ""
	server               string // the value of serverKey, or ""
	host                 bool   // a den host: what it runs is its own
}

// signal sends to exactly this process: a number that was given to another
// one meanwhile is left alone.
func (pr process) signal(signals ...os.Signal) {
	handle, err := os.FindProcess(pr.pid)
	if err != nil {
		return
	}
	defer handle.Release() // Best effort: it only frees the handle.
	if !pr.lives() {
		return
	}
	for _, s := range signals {
		handle.Signal(s) // Best effort: it may have ended.
	}
}

// belonging picks a session's processes out of all: the command's tree and its
// terminal session, those that bear a mark that is wanted, and all below them.
// Hosts of den that were started inside are not the session's, nor is what
// they run.
func belonging(all []process, leader int, wanted func(mark string) bool) []process {
	children := map[int][]process{}
	for _, pr := range all {
		children[pr.parent] = append(children[pr.parent], pr)
	}
	taken, foreign := map[int]bool{}, map[int]bool{}
	var found []process
	var take func(pr process)
	take = func(pr process) {
		if taken[pr.pid] || foreign[pr.pid] {
			return
		}
		taken[pr.pid] = true
		found = append(found, pr)
		for _, child := range children[pr.pid] {
			take(child)
		}
	}
	for _, pr := range all {
		if pr.host {
			disown(pr, children, foreign)
		}
	}
	for _, pr := range all {
		if leader != 0 && (pr.pid == leader || pr.session == leader) || pr.mark != "" && wanted(pr.mark) {
			take(pr)
		}
	}
	return found
}

func disown(pr process, children map[int][]process, foreign map[int]bool) {
	if foreign[pr.pid] {
		return
	}
	foreign[pr.pid] = true
	for _, child := range children[pr.pid] {
		disown(child, children, foreign)
	}
}

// marked is the question for what bears the mark of a session of this server,
// or of any where name is empty.
func (p *Provider) marked(name string) func() ([]process, error) {
	prefix := p.realm + "."
	if name != "" {
		prefix += p.tmuxName(name) + "."
	}
	return func() ([]process, error) {
		all, err := p.processes()
		return belonging(all, 0, func(mark string) bool { return strings.HasPrefix(mark, prefix) }), err
	}
}

// orphans is the question for what outlived the server: all that bears a mark,
// and what the server had not made a session's command yet.
func (p *Provider) orphans() ([]process, error) {
	found, err := p.marked("")()
	if err != nil {
		return nil, err
	}
	all, err := p.processes()
	for _, pr := range all {
		if pr.server == p.realm {
			found = append(found, pr)
		}
	}
	return found, err
}

// processesOf is the question for a session's processes. The command's number
// counts only while the command is tmux's child: afterwards it may be another's.
func (p *Provider) processesOf(name string, one *pane) func() ([]process, error) {
	mark, leader := p.markOf(name, one.start), one.pid
	if one.ended() {
		leader = 0
	}
	var known []process // what was the session's once stays so, also without leader and mark
	return func() ([]process, error) {
		all, err := p.processes()
		if leader != 0 && !slices.ContainsFunc(all, func(pr process) bool { return pr.pid == leader && pr.parent == one.server }) {
			leader = 0
		}
		found := belonging(all, leader, func(m string) bool { return m == mark })
		for _, pr := range known {
			if pr.lives() && !slices.ContainsFunc(found, func(f process) bool { return f.pid == pr.pid }) {
				found = append(found, pr)
			}
		}
		known = found
		return found, err
	}
}

// listing is the answer of allProcesses.
type listing struct {
	all []process
	err error
}

// processes lists the live processes of this user. Fifty sessions that end at
// once cost a few scans.
func (p *Provider) processes() ([]process, error) {
	l := p.scans.Find()
	return l.all, l.err
}
