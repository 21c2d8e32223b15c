package dashboard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/session/attention"
	"den/internal/session/home"
)

// record is the cached record of a session that is over: there may be
// thousands, and they do not change.
type record struct {
	written time.Time // of the file
	size    int64
	session Session
	news    *attention.Ending
}

// List lists all Homes. What cannot be read is reported in the listing and
// does not hide the rest.
func (m *Model) List() *Listing {
	l := &Listing{}
	homes, err := m.registry.Homes()
	if err != nil {
		l.Problem = err.Error()
	}
	seen := map[string]bool{}
	add := func(root home.Home, own bool, last time.Time) {
		if root.Path == "" || seen[root.Path] {
			return
		}
		seen[root.Path] = true
		if _, err := os.Stat(root.Path); !own && errors.Is(err, fs.ErrNotExist) {
			return // the registry is advisory: this one is gone
		}
		h := m.listHome(root)
		h.Own, h.LastSeen = own, last
		l.Homes = append(l.Homes, h)
	}
	own := slices.IndexFunc(homes, func(h home.RegisteredHome) bool { return h.Path == m.home.Path })
	if own >= 0 {
		add(m.home, true, homes[own].LastSeen)
	} else {
		add(m.home, true, time.Time{})
	}
	for _, h := range homes {
		add(home.Home{Path: h.Path}, false, h.LastSeen)
	}
	m.forgetUnlisted(l)
	return l
}

func (m *Model) listHome(root home.Home) Home {
	h := Home{Path: root.Path, Sessions: []Session{}}
	dirs, err := root.All()
	if err != nil {
		h.Problem = err.Error()
		return h
	}
	for _, d := range dirs {
		s, ok := m.inspect(d)
		if !ok {
			continue
		}
		if s.Status.Active() {
			h.Active++
		}
		h.Sessions = append(h.Sessions, s)
	}
	slices.SortFunc(h.Sessions, byRelevance)
	return h
}

// inspect returns the current state of one session, or false if it was removed
// meanwhile.
func (m *Model) inspect(d home.Dir) (Session, bool) {
	fi, err := os.Stat(filepath.Join(d.Path, "session.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Session{}, false
	}
	if err == nil {
		m.mu.Lock()
		r, ok := m.records[d.Path]
		m.mu.Unlock()
		if ok && r.written.Equal(fi.ModTime()) && r.size == fi.Size() {
			r.session.Attention = d.AttentionEnded(r.news) // somebody may have looked
			return r.session, true
		}
	}
	man, err := d.Inspect()
	if err != nil {
		return Session{Dir: d, ID: d.ID, Name: d.ID, Home: d.Home.Path, Problem: err.Error()}, true
	}
	s := describe(d, man)
	s.Attention = d.Attention(man)
	if t, err := d.LastWrite(); err == nil {
		s.LastOutput = t
	}
	// fi is from before the read: a record that changed in between is read
	// again.
	if s.Status.Final() && fi != nil {
		m.mu.Lock()
		m.records[d.Path] = record{fi.ModTime(), fi.Size(), s, man.LastNews()}
		m.mu.Unlock()
	}
	return s, true
}

// forgetUnlisted drops the records of sessions that are gone.
func (m *Model) forgetUnlisted(l *Listing) {
	listed := map[string]bool{}
	for _, h := range l.Homes {
		for _, s := range h.Sessions {
			listed[s.Dir.Path] = true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for path := range m.records {
		if !listed[path] {
			delete(m.records, path)
		}
	}
}
