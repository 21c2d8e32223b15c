package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/workspace"

	"golang.org/x/term"
)

// checkTrust asks before a workspace that came from elsewhere runs for the
// first time. One that this user wrote here, or that was up before, passes.
func (a *app) checkTrust(ctx context.Context, p keeper.StateDir, ws *workspace.Workspace, trusted bool) error {
	root, err := a.home()
	if err != nil {
		return err
	}
	why, err := p.Foreign(keeper.Caller{Home: root, Getenv: a.getenv})
	if err != nil || why == "" || trusted {
		return err
	}
	fmt.Fprintf(a.stderr, "%s. ", oneLine(why, 300))
	showWorkspace(a.stderr, ws)
	if yes, err := a.confirm(ctx, "Run it? [y/N] "); yes || err != nil {
		return err
	}
	return fault.Hintf(fault.Errorf(fault.Denied, "workspace %s was not made here, and is not trusted", p.Config),
		"read it, then 'den up --trust'")
}

// confirm asks a person at a terminal. Without a terminal the answer is no.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	if terminalOf(a.stderr) == nil || !term.IsTerminal(int(a.stdin.Fd())) {
		return false, nil
	}
	fmt.Fprint(a.stderr, question)
	var line string
	err := a.whileReading(ctx, func(stdin io.Reader) (err error) {
		line, err = bufio.NewReader(stdin).ReadString('\n')
		return err
	})
	if errors.Is(err, io.EOF) {
		return false, nil // Ctrl-D is no yes
	}
	if err != nil {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
