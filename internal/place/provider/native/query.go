package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/procname"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/session/home"
)

// IsRunning goes by the record and the host's lock. A name whose last session
// is on its way out runs until its record is closed: until then it cannot be
// started again, and how it ended is not known.
func (p *Provider) IsRunning(_ context.Context, name string) (bool, error) {
	_, m, err := p.find(name)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return m.Status.Active(), nil
}

// ListRunning reads the Home's names, and the record of each that is ours.
func (p *Provider) ListRunning(_ context.Context, prefix string) ([]string, error) {
	p.children.Reap()
	refs, err := p.mine()
	if err != nil {
		return nil, err
	}
	var running []string
	for _, ref := range refs {
		_, m, err := p.inspect(ref)
		if fault.KindOf(err) == fault.NotFound {
			continue // collected meanwhile, or somebody else's
		}
		if err != nil {
			return nil, err
		}
		if name := m.Labels[NameLabel]; m.Status.Active() && strings.HasPrefix(name, prefix) {
			running = append(running, name)
		}
	}
	slices.Sort(running)
	return running, nil
}

// lostCode is the code of a command of which nobody knows how it ended: its
// host died first.
const lostCode = -1

// Exit reads how the command ended from the record. If the host died without
// closing it, the code is -1.
func (p *Provider) Exit(_ context.Context, name string) (*provider.Exit, error) {
	_, m, err := p.find(name)
	if err != nil {
		return nil, err
	}
	if m.Status.Active() {
		return nil, nil
	}
	return exitOf(m), nil
}

func exitOf(m *home.Manifest) *provider.Exit {
	e := &provider.Exit{Code: lostCode, Signal: m.ExitSignal, At: m.Ended}
	if m.ExitCode != nil {
		e.Code = *m.ExitCode
	}
	return e
}

// GetLastActivity returns when the session last wrote something, and when it
// began if it never did.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	d, m, err := p.find(name)
	if err != nil {
		return time.Time{}, err
	}
	if m.Status.Active() {
		s, err := p.session(d).HostStatus(ctx)
		switch {
		case err == nil && s.LastOutput != nil:
			return *s.LastOutput, nil
		case err == nil:
			return m.Created, nil
		case fault.KindOf(err) != fault.NotRunning:
			return time.Time{}, fmt.Errorf("last activity of session '%s': %w", name, err)
		}
	}
	at, err := d.LastWrite()
	if err != nil {
		return time.Time{}, fault.Errorf(fault.Storage, "last activity of session '%s': %w", name, err)
	}
	return at, nil
}

// Title asks the host for the window title.
func (p *Provider) Title(ctx context.Context, name string) (string, error) {
	d, _, err := p.find(name)
	if err != nil {
		return "", err
	}
	s, err := p.session(d).HostStatus(ctx)
	if err != nil {
		return "", fmt.Errorf("title of session '%s': %w", name, err)
	}
	return s.Title, nil
}

// Attached asks the host who looks on.
func (p *Provider) Attached(ctx context.Context, name string) (n int, typed time.Time, err error) {
	d, _, err := p.find(name)
	if err != nil {
		return 0, time.Time{}, err
	}
	s, err := p.session(d).HostStatus(ctx)
	if err != nil {
		return 0, time.Time{}, err
	}
	if s.LastTyped != nil {
		typed = *s.LastTyped
	}
	return s.Attached, typed, nil
}

// Observe reads the records of all sessions of this owner. No host is asked:
// one that hangs must not keep the others from being observed.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	p.children.Reap()
	refs, err := p.mine()
	if err != nil {
		return nil, err
	}
	all := make(map[string]provider.Observation, len(refs))
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, m, err := p.inspect(ref)
		if fault.KindOf(err) == fault.NotFound {
			continue // removed meanwhile, or somebody else's
		}
		if err != nil {
			return nil, err
		}
		name := m.Labels[NameLabel]
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if all[name], err = observation(d, m); err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "observe session '%s': %w", name, err)
		}
	}
	return all, nil
}

func observation(d home.Dir, m *home.Manifest) (provider.Observation, error) {
	o := provider.Observation{Running: m.Status.Active()}
	if !o.Running {
		o.Exit = exitOf(m)
	}
	meta, err := readMeta(d)
	if err != nil {
		return o, err
	}
	o.Meta = meta.all()
	return o, nil
}

// ChangeStamp names the session and the end of its log. Neither the record is
// read nor the host asked.
func (p *Provider) ChangeStamp(_ context.Context, name string) (string, error) {
	if err := provider.CheckName(name); err != nil {
		return "", err
	}
	target, err := os.Readlink(filepath.Join(p.names(), p.ref(name)))
	if err != nil {
		return "", p.stampError(name, err)
	}
	id := filepath.Base(target)
	segment, size, err := p.Home.Dir(id).LogEnd()
	if err != nil {
		return "", p.stampError(name, err)
	}
	return fmt.Sprintf("%s/%s:%d", id, segment, size), nil
}

func (p *Provider) stampError(name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "stamp of session '%s': %w", name, err)
	}
	if err := p.present(); err != nil {
		return err
	}
	return fault.Errorf(fault.NotFound, "no session '%s' of owner '%s'", name, p.Owner)
}

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
	bears, err := procname.AnyBears(processesOf(m), processNames)
	if err == nil && !bears {
		err = ctx.Err()
	}
	return bears, err
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
		return tree.Below(m.HostPID)
	}
	return pty.Marked(home.ProgramMark + "=" + m.ID)
}
