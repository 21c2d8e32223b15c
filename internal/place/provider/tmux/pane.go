package tmux

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
)

// pane is what the server says of one session's command.
type pane struct {
	session  string // tmux's id, "$3": never used again by this server, but by the next
	id       string // "%5", or "" where somebody closed it
	pid      int
	server   int  // the server's own process
	dead     bool // tmux has closed the terminal
	status   string
	signal   string
	died     time.Time
	activity time.Time
	tty      string
	start    string // the id of this start, which its processes bear
	name     string
	modes    string
	keyMode  string
}

// paneFields is the question; parsePane reads the answer. What may hold any
// character is encoded.
var paneFields = strings.Join([]string{
	"#{session_id}", "#{pane_id}", "#{@den-pane}", "#{pane_pid}", "#{pane_dead}", "#{pane_dead_status}", "#{pane_dead_signal}", "#{pane_dead_time}",
	"#{window_activity}", "#{@den-owner}", "#{pane_tty}", "#{@den-start}", "#{@den-name}",
	"#{keypad_cursor_flag}#{keypad_flag}#{alternate_on}#{mouse_standard_flag}#{mouse_button_flag}#{mouse_all_flag}#{mouse_utf8_flag}#{mouse_sgr_flag}",
	"#{pane_key_mode}", "#{pid}",
}, ",")

func parsePane(line string) (p pane, first bool, err error) {
	f := strings.Split(line, ",")
	if len(f) != 16 {
		return pane{}, false, fmt.Errorf("tmux listed a pane as %q", line)
	}
	p = pane{
		session: f[0], id: f[1], dead: f[4] == "1", status: f[5], signal: f[6], tty: f[10], start: f[11], modes: f[13], keyMode: f[14],
		died: seconds(f[7]), activity: seconds(f[8]),
	}
	var bad [3]error
	p.pid, bad[0] = strconv.Atoi(f[3])
	p.name, bad[1] = decoded(f[12])
	p.server, bad[2] = strconv.Atoi(f[15])
	return p, f[1] == f[2], errors.Join(bad[:]...)
}

func seconds(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n == 0 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// encoded makes any text a word without meaning to tmux. It is never empty, so
// an option that is set is never taken for one that is not.
func encoded(s string) string { return "b" + base64.RawURLEncoding.EncodeToString([]byte(s)) }

func decoded(s string) (string, error) {
	raw, ok := strings.CutPrefix(s, "b")
	if !ok {
		return "", fmt.Errorf("option value %q was not written by den", s)
	}
	b, err := base64.RawURLEncoding.DecodeString(raw)
	return string(b), err
}

// ended reports whether the command is over. tmux calls a pane dead also when
// the command only let go of its terminal: without a status it has not ended,
// or tmux has not been told yet how. Until then its number is its own.
func (p *pane) ended() bool {
	return p.id == "" || p.dead && (p.status != "" || p.signal != "")
}

// collectTries bounds how often tmux is asked again about a command that the
// system says has ended, with collectPause between.
const (
	collectTries = 20
	collectPause = 500 * time.Microsecond
)

// panes lists the first pane of every session of this owner that the filter
// lets through, in one question. Where a command has ended and tmux does not
// know yet, it has a moment to find out.
func (p *Provider) panes(ctx context.Context, filter string) ([]pane, error) {
	for try := 1; ; try++ {
		all, err := p.list(ctx, filter)
		if err != nil || try > collectTries || !pokeServer(all, try == collectTries) {
			return all, err
		}
		if err := poll.Pause(ctx, collectPause); err != nil {
			return nil, err
		}
	}
}

// pokeServer reports whether a command has ended without tmux having noticed,
// and then sends the server a SIGCHLD. tmux 3.3 with utmp support may miss a
// child's exit while a helper of its own runs, and would not collect it before
// the next exit. An open pane may hold output that tmux has not read and would
// drop: its server is poked only when late is set.
func pokeServer(all []pane, late bool) bool {
	missed, server := false, 0
	for _, one := range all {
		if !one.ended() && !processRuns(one.pid) {
			missed = true
			if one.dead || late {
				server = one.server
			}
		}
	}
	if server != 0 {
		syscall.Kill(server, syscall.SIGCHLD) // Best effort: the next listing shows whether it worked.
	}
	return missed
}

func (p *Provider) list(ctx context.Context, filter string) ([]pane, error) {
	lines, err := p.ask(ctx, command("list-panes", "-a", "-f", filter, "-F", paneFields))
	if errors.Is(err, errNoServer) {
		return nil, nil
	}
	if refused(err) {
		return nil, unasked(err)
	}
	if err != nil {
		return nil, err
	}
	return p.mine(lines)
}

// mine picks this owner's sessions. A session whose first pane is gone, while
// a person's other panes keep it, is listed without one.
func (p *Provider) mine(lines []string) ([]pane, error) {
	var all []pane
	at := map[string]int{}
	for _, line := range lines {
		if f := strings.Split(line, ","); len(f) > 9 && f[9] != encoded(p.owner) {
			continue // somebody else's
		}
		one, first, err := parsePane(line)
		if err != nil {
			return nil, unasked(err)
		}
		if !first {
			one.id = ""
		}
		if i, seen := at[one.session]; !seen {
			at[one.session] = len(all)
			all = append(all, one)
		} else if first {
			all[i] = one
		}
	}
	return all, nil
}

// find returns a session by its exact name, or nil.
func (p *Provider) find(ctx context.Context, name string) (*pane, error) {
	all, err := p.panes(ctx, "#{==:#{session_name},"+p.tmuxName(name)+"}")
	if err != nil {
		return nil, fmt.Errorf("session '%s': %w", name, err)
	}
	for _, one := range all {
		if one.name == name {
			return &one, nil
		}
	}
	return nil, nil
}

// existing is find where a session must be.
func (p *Provider) existing(ctx context.Context, name string) (*pane, error) {
	one, err := p.find(ctx, name)
	if err == nil && one == nil {
		err = fault.Errorf(fault.NotFound, "no session '%s'", name)
	}
	return one, err
}

// running is find where a session's command must run.
func (p *Provider) running(ctx context.Context, name string) (*pane, error) {
	one, err := p.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if one == nil {
		past, err := p.past(ctx, name)
		if err != nil {
			return nil, err
		}
		if past != nil {
			return nil, fault.Errorf(fault.NotRunning, "session '%s' was stopped", name)
		}
		return nil, fault.Errorf(fault.NotFound, "no session '%s'", name)
	}
	if one.ended() {
		return nil, fault.Hintf(fault.Errorf(fault.NotRunning, "the command of session '%s' has ended", name), "Peek shows its last screen, Exit how it ended")
	}
	return one, nil
}

// maxPast bounds the stopped sessions whose exit is remembered. They are kept
// in options of the server, by a hash of their name: two names with one hash
// replace each other, and all are lost when the server ends.
const maxPast = 1024

func pastOption(tmuxName string) string {
	h := fnv.New32a()
	h.Write([]byte(tmuxName)) // a hash takes everything
	return "@den-past-" + strconv.Itoa(int(h.Sum32()%maxPast))
}

// recordEnd returns the tmux command that records how a session ended.
func (p *Provider) recordEnd(name string, one *pane) string {
	tmuxName := p.tmuxName(name)
	return command("set-option", "-g", pastOption(tmuxName), fmt.Sprintf("%s,%s,%s,%d", tmuxName, one.status, one.signal, one.died.Unix()))
}

// past returns a session that was stopped, or nil.
func (p *Provider) past(ctx context.Context, name string) (*pane, error) {
	tmuxName := p.tmuxName(name)
	lines, err := p.ask(ctx, command("show-options", "-gqv", pastOption(tmuxName)))
	if errors.Is(err, errNoServer) {
		return nil, nil
	}
	if refused(err) {
		return nil, unasked(err)
	}
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	f := strings.Split(lines[0], ",")
	if len(f) != 4 || f[0] != tmuxName {
		return nil, nil // another name's
	}
	return &pane{status: f[1], signal: f[2], died: seconds(f[3])}, nil
}
