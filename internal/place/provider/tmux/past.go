package tmux

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

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
