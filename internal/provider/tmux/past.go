package tmux

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// What Stop took away is remembered by name, with how its command ended, in
// options of the server. There is room for so many: a name may push out
// another one, which then is as if it never was. The server's end ends all.
const graves = 1024

func grave(tmuxName string) string {
	h := fnv.New32a()
	h.Write([]byte(tmuxName)) // a hash takes everything
	return "@den-past-" + strconv.Itoa(int(h.Sum32()%graves))
}

// bury is the command that notes how a session ended.
func (p *Provider) bury(name string, one *pane) string {
	tmuxName := p.tmuxName(name)
	return command("set-option", "-g", grave(tmuxName), fmt.Sprintf("%s,%s,%s,%d", tmuxName, one.status, one.signal, one.died.Unix()))
}

// past returns a session that was stopped, or nil.
func (p *Provider) past(ctx context.Context, name string) (*pane, error) {
	tmuxName := p.tmuxName(name)
	lines, err := p.ask(ctx, command("show-options", "-gqv", grave(tmuxName)))
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
