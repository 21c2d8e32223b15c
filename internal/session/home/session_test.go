package home_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/session/home"
)

var statuses = []home.Status{
	home.Starting, home.Running, home.Exiting, home.Exited,
	home.Failed, home.Destroying, home.Destroyed, home.Lost,
}

func TestStatusTable(t *testing.T) {
	for _, s := range statuses {
		if s.Active() == s.Final() {
			t.Errorf("%s is active %v and final %v", s, s.Active(), s.Final())
		}
		if s.Commandable() && !s.Active() {
			t.Errorf("%s takes commands but is not active", s)
		}
		if s.Final() && s != home.Destroyed {
			if _, err := s.Advance(home.Destroyed); err != nil {
				t.Errorf("a final session cannot be closed: %v", err)
			}
			if got, err := s.Advance(home.Running); err == nil || got != s {
				t.Errorf("%s came back to life", s)
			}
		}
	}
	if _, err := home.Destroyed.Advance(home.Lost); err == nil {
		t.Error("destroyed is not the end")
	}
}

// record makes a session directory with a record in the given status.
func record(t *testing.T, root home.Home, m home.Manifest) home.Dir {
	t.Helper()
	if m.ID == "" {
		m.ID = ident.New(time.Now())
	}
	d := root.Dir(m.ID)
	for _, dir := range []string{d.Log(), d.Artifacts(), filepath.Join(root.Path, "names")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Save(&m); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRecordWithoutHostIsLost(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	for from, want := range map[home.Status]home.Status{
		home.Starting: home.Lost, home.Running: home.Lost, home.Exiting: home.Lost,
		home.Destroying: home.Destroyed, home.Exited: home.Exited, home.Failed: home.Failed,
	} {
		d := record(t, root, home.Manifest{Name: "x", Status: from})
		m, err := d.Inspect()
		if err != nil {
			t.Fatal(err)
		}
		if m.Status != want {
			t.Errorf("%s without a host is %s, want %s", from, m.Status, want)
		}
		if onDisk, err := d.Load(); err != nil || onDisk.Status != from {
			t.Errorf("Inspect wrote %s (%v)", onDisk.Status, err)
		}
		if m, err = d.Reconcile(); err != nil || m.Status != want {
			t.Errorf("Reconcile = %v, %v", m.Status, err)
		}
		if onDisk, err := d.Load(); err != nil || onDisk.Status != want {
			t.Errorf("Reconcile left %s on disk (%v)", onDisk.Status, err)
		}
	}
}

func TestRecordKeepsWhatItDoesNotKnow(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	d := record(t, root, home.Manifest{Name: "x", Status: home.Exited, Failure: "old"})
	path := filepath.Join(d.Path, "session.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw = []byte(strings.Replace(string(raw), `"v": 1`, `"v": 1, "from_the_future": {"a":[1,2]}`, 1))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	m.Failure = ""
	if _, err := d.Close(m); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	raw, _ = os.ReadFile(path)
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got["from_the_future"] == nil || got["status"] != "destroyed" || got["failure"] != nil {
		t.Errorf("the record became %s", raw)
	}
}

func TestNewerRecordIsRefused(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	d := record(t, root, home.Manifest{Name: "x", Status: home.Exited})
	os.WriteFile(filepath.Join(d.Path, "session.json"), []byte(`{"v":99}`), 0o600)
	if _, err := d.Load(); fault.KindOf(err) != fault.Protocol || !strings.Contains(err.Error(), "99") {
		t.Errorf("Load = %v", err)
	}
	os.WriteFile(filepath.Join(d.Path, "session.json"), []byte(`{"v":`), 0o600)
	if _, err := d.Load(); fault.KindOf(err) != fault.Storage {
		t.Errorf("Load of a damaged record = %v", err)
	}
}

func TestCollectKeepsActiveYoungAndNewest(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	now := time.Now()
	for i, s := range []struct {
		name  string
		ended time.Duration
	}{{"oldest", 3 * time.Hour}, {"old", 2 * time.Hour}, {"young", time.Minute}} {
		record(t, root, home.Manifest{
			ID: ident.New(now.Add(time.Duration(i) * time.Second)), Name: s.name, Status: home.Exited, Ended: now.Add(-s.ended),
		})
	}
	names := func(o home.GCOptions) string {
		o.DryRun = true
		got, err := root.Collect(now, o)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range got {
			out = append(out, c.Session)
		}
		return strings.Join(out, " ")
	}
	for want, o := range map[string]home.GCOptions{
		"young old oldest": {},
		"old oldest":       {OlderThan: time.Hour},
		"oldest":           {OlderThan: time.Hour, Keep: 2},
		"":                 {Keep: 3},
	} {
		if got := names(o); got != want {
			t.Errorf("Collect(%+v) = %q, want %q", o, got, want)
		}
	}
	if _, err := root.Collect(now, home.GCOptions{}); err != nil {
		t.Fatal(err)
	}
	if left, _ := root.All(); len(left) != 0 {
		t.Errorf("%d sessions are left", len(left))
	}
}

// A record that cannot be looked at belongs to a session all the same.
func TestUnreadableRecordIsNoDebris(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	id := ident.New(time.Now())
	record(t, root, home.Manifest{ID: id, Name: "odd", Status: home.Exited, Ended: time.Now()})
	d := root.Dir(id)
	file := filepath.Join(d.Path, "session.json")
	if err := errors.Join(os.Remove(file), os.Symlink("session.json", file)); err != nil {
		t.Fatal(err)
	}
	if found, err := root.Find(id); err != nil || found != d {
		t.Errorf("Find = %v, %v", found, err)
	}
	if all, err := root.All(); err != nil || len(all) != 1 {
		t.Errorf("All = %v, %v", all, err)
	}
	if _, err := d.Load(); fault.KindOf(err) != fault.Storage {
		t.Errorf("Load = %v", err)
	}
	root.Collect(time.Now().Add(time.Hour), home.GCOptions{}) // may well complain
	if _, err := os.Stat(d.Path); err != nil {
		t.Errorf("gc took it for debris: %v", err)
	}
}

func TestRegistryLosesNoUpdate(t *testing.T) {
	dir := t.TempDir()
	r := home.NewRegistry(func(k string) string { return map[string]string{"XDG_STATE_HOME": dir}[k] })
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := r.Add(home.Home{Path: filepath.Join("/homes", string(rune('a'+i)))}, time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	homes, err := r.Homes()
	if err != nil || len(homes) != 20 {
		t.Fatalf("%d Homes (%v), want 20", len(homes), err)
	}
	if found, err := r.Remove("/homes/c"); !found || err != nil {
		t.Errorf("Remove = %v, %v", found, err)
	}
	if found, _ := r.Remove("/homes/c"); found {
		t.Error("removed twice")
	}
	os.WriteFile(r.Path, []byte("garbage"), 0o600)
	if homes, err := r.Homes(); err != nil || len(homes) != 0 {
		t.Errorf("a damaged registry: %v, %v", homes, err)
	}
}

func TestArtifactsAreBounded(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	d := record(t, root, home.Manifest{Name: "x", Status: home.Exited})
	for i := range 210 {
		path, err := d.ArtifactPath("snapshot-" + ident.New(time.Now()) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SaveArtifact(path, home.Artifact{Kind: "snapshot", Seq: uint64(i)}, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := filepath.Glob(filepath.Join(d.Artifacts(), "snapshot-*"))
	if err != nil || len(got) > 200 || len(got) < 150 {
		t.Errorf("%d artifacts (%v), want at most 200", len(got), err)
	}
	list, err := os.ReadFile(filepath.Join(d.Artifacts(), "manifest.jsonl"))
	if err != nil || strings.Count(string(list), "\n") != len(got) {
		t.Errorf("%d lines for %d artifacts (%v)", strings.Count(string(list), "\n"), len(got), err)
	}
	if _, err := d.ArtifactPath("../x"); err == nil {
		t.Error("an artifact may leave its directory")
	}
}

func TestFindRefusesPaths(t *testing.T) {
	root := home.Home{Path: t.TempDir()}
	for _, ref := range []string{"../x", "a/b", "..", ""} {
		if _, err := root.Find(ref); fault.KindOf(err) != fault.Usage {
			t.Errorf("Find(%q) = %v", ref, err)
		}
	}
	if _, err := root.Find("nosuch"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("Find = %v", err)
	}
}
