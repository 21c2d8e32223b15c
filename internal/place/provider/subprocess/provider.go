// Package subprocess runs sessions without a terminal, each behind a shim that
// outlives the process that started it.
//
// A session's command has pipes instead of a terminal: input is written as
// lines, and the end of its output is kept. It is alive for as long as its shim
// holds the session's lock; PIDs are never used for that.
//
// Under Options.Dir each owner has a directory of its own:
//
//	OWNER/locks/NAME        held by the shim; has the count of starts
//	OWNER/sessions/NAME/    session.json, end.json, output.log, last, meta/
//
// with names encoded as fileName says. The files of an ended session stay until
// a session of that name is started again.
package subprocess

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/local"
)

// Options says where sessions are kept, and for whom.
type Options struct {
	Dir     string // absolute; made where it is missing
	Owner   string // whose sessions these are; others see none of them
	Binary  string // the den that is started as shim; "" means this one
	Version string // of this build, for people

	// Grace is how long processes may take to end by themselves, when they are
	// stopped or their command has left them behind, before they are killed;
	// 0 means 3 seconds.
	Grace time.Duration
}

// defaultGrace is that of 'den kill', too.
const defaultGrace = 3 * time.Second

// Provider is a provider.Provider. It keeps no state: two of them on one Dir
// and Owner, in one process or in two, see the same.
type Provider struct {
	local.Place
	root    root
	owner   string
	binary  string
	version string
	grace   time.Duration
}

var (
	_ provider.Provider      = (*Provider)(nil)
	_ provider.Postmortem    = (*Provider)(nil)
	_ provider.Watcher       = (*Provider)(nil)
	_ provider.Pruner        = (*Provider)(nil)
	_ provider.Stager        = (*Provider)(nil)
	_ provider.Execer        = (*Provider)(nil)
	_ provider.Observer      = (*Provider)(nil)
	_ provider.ChangeStamper = (*Provider)(nil)
)

// Open opens the sessions of one owner. It starts nothing.
func Open(o Options) (*Provider, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fault.Errorf(fault.Usage, "open subprocess provider: directory %q is not absolute", o.Dir)
	}
	if err := provider.CheckName(o.Owner); err != nil {
		return nil, fault.Errorf(fault.Usage, "open subprocess provider: owner: %w", err)
	}
	p := &Provider{owner: o.Owner, binary: o.Binary, version: o.Version, grace: o.Grace}
	if p.binary == "" {
		binary, err := os.Executable()
		if err != nil {
			return nil, fault.Errorf(fault.Internal, "find den's own binary: %w", err)
		}
		p.binary = binary
	}
	if p.grace <= 0 {
		p.grace = defaultGrace
	}
	p.root = root(filepath.Join(o.Dir, fileName(o.Owner)))
	return p, p.root.make()
}

// Attach is what a session without a terminal cannot do.
func (p *Provider) Attach(_ context.Context, name string, _ provider.Terminal) error {
	return noTerminal("attach to", name)
}

// SendKeys is what a session without a terminal cannot do.
func (p *Provider) SendKeys(_ context.Context, name string, _ ...string) error {
	return noTerminal("send keys to", name)
}

func noTerminal(what, name string) error {
	return fault.Hintf(fault.Errorf(fault.Unsupported, "%s session '%s': a subprocess has no terminal", what, name),
		"start it with the provider native or tmux; Nudge and Peek work here")
}
