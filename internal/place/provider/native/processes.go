package native

import (
	"context"

	"den/internal/base/fault"
	"den/internal/place/provider/procname"
	"den/internal/process/pty"
	"den/internal/process/supervise"
	"den/internal/session/home"
)

// ProcessAlive looks at the processes below the session's host, as they are
// now. Hosts that were started inside, and what they run, are not the
// session's.
func (p *Provider) ProcessAlive(ctx context.Context, name string, processNames []string) (bool, error) {
	_, m, err := p.find(name)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil || !m.Status.Active() {
		return false, err
	}
	if len(processNames) == 0 {
		return true, nil
	}
	for _, pid := range processesOf(m) {
		comm, argv, err := procname.Describe(pid)
		if err != nil {
			return false, err
		}
		if procname.Bears(comm, argv, processNames) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// Processes lists the session's processes.
func (p *Provider) Processes(ctx context.Context, name string) ([]int, error) {
	_, m, err := p.find(name)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil || !m.Status.Active() {
		return nil, err
	}
	return processesOf(m), ctx.Err()
}

// processesOf lists a session's processes. Its host has not ended, for it
// holds its lock, so its number is its own; but where it runs elsewhere it may
// be another's here, and the processes are found by their mark.
func processesOf(m *home.Manifest) []int {
	if pty.HasEnv(m.HostPID, home.HostMark) {
		return supervise.Below(m.HostPID)
	}
	return pty.Marked(home.ProgramMark + "=" + m.ID)
}
