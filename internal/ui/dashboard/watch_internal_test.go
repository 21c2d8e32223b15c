package dashboard

import (
	"os"
	"testing"
	"time"

	"den/internal/base/ident"
	"den/internal/session/attention"
	"den/internal/session/home"
)

// TestLookAtAnEndedSessionIsNoticed: a session that is over and needs somebody
// to look is watched until somebody did, and then no more.
func TestLookAtAnEndedSessionIsNoticed(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	d := root.Dir(ident.New(time.Now()))
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	listing := func(s attention.State) *Listing {
		return &Listing{Homes: []Home{{Path: root.Path, Sessions: []Session{
			{Dir: d, Status: home.Exited, Attention: attention.Attention{State: s}}}}}}
	}
	w := newWatcher()
	defer w.close()
	if w.w == nil {
		t.Fatal("directories cannot be watched here")
	}
	w.follow(&Model{}, listing(attention.Failed))
	if err := d.Look(time.Now()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.w.Events:
	case err := <-w.w.Errors:
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("nothing was noticed")
	}
	w.follow(&Model{}, listing(attention.Over))
	if w.watched[d.Path] {
		t.Error("it is watched for ever")
	}
}
