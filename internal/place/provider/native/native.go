// Package native is the provider whose sessions are den's own: one host
// process each, in a Home.
//
// There is nothing to keep in memory: the Home says which sessions there are,
// whose they are (by the labels OwnerLabel and NameLabel), whether they run
// (by the host's lock) and how they ended. So any number of providers, in any
// number of processes, may be open on one Home.
package native

import (
	"os"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/children"
	"den/internal/place/provider/local"
	"den/internal/session"
	"den/internal/session/home"
)

// The labels of a session's record that this provider goes by.
const (
	OwnerLabel  = home.OwnerLabel
	NameLabel   = "den.name"
	beforeLabel = "den.before" // the id of the session of that name before this one
)

// Options says where sessions run and whose they are.
type Options struct {
	Home    home.Home
	Owner   string // whose sessions these are; other owners' are not seen
	Binary  string // den, as an absolute path
	Version string // this build's, for hosts to know who calls
	// Grace is how long each way of asking a session to end may take before
	// the next, harder one; 0 means 3 seconds.
	Grace time.Duration
}

// Provider runs sessions in a Home. It starts no goroutine but those of Watch.
type Provider struct {
	Options
	local.Place
	tag      string // the owner as the first part of session names
	children children.Set
}

var (
	_ provider.Provider      = (*Provider)(nil)
	_ provider.Postmortem    = (*Provider)(nil)
	_ provider.Watcher       = (*Provider)(nil)
	_ provider.Stager        = (*Provider)(nil)
	_ provider.Execer        = (*Provider)(nil)
	_ provider.Observer      = (*Provider)(nil)
	_ provider.ChangeStamper = (*Provider)(nil)
	_ provider.Readier       = (*Provider)(nil)
	_ provider.Audience      = (*Provider)(nil)
	_ provider.InHome        = (*Provider)(nil)
	_ provider.Looker        = (*Provider)(nil)
	_ provider.ProcessLister = (*Provider)(nil)
	_ provider.Titler        = (*Provider)(nil)
)

const defaultGrace = 3 * time.Second

// Open returns the provider for a Home, which is made if there is none.
func Open(o Options) (*Provider, error) {
	switch {
	case o.Owner == "":
		return nil, fault.Errorf(fault.Usage, "open native provider: no owner is given")
	case !filepath.IsAbs(o.Home.Path):
		return nil, fault.Errorf(fault.Usage, "open native provider: Home '%s' is not an absolute path", o.Home.Path)
	case !filepath.IsAbs(o.Binary):
		return nil, fault.Errorf(fault.Usage, "open native provider: den's binary '%s' is not an absolute path", o.Binary)
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	p := &Provider{Options: o, tag: ownerTag(o.Owner)}
	// Made now, so that a Home that is missing later is known to be gone, not
	// taken for one without sessions.
	for _, dir := range []string{p.sessions(), p.names()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fault.Hintf(fault.Errorf(fault.KindOf(err), "create Home %s: %w", o.Home.Path, err), "choose a directory that you may write to")
		}
	}
	return p, nil
}

// The two directories of a Home; see docs/protocol/home.md.
func (p *Provider) sessions() string { return filepath.Join(p.Home.Path, "sessions") }
func (p *Provider) names() string    { return filepath.Join(p.Home.Path, "names") }

// session is how a session is talked to.
func (p *Provider) session(d home.Dir) *session.Session {
	return session.In(d, session.Options{Version: p.Version})
}
