package trees

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/place/workspace"
	"den/internal/place/worktree"
	"den/internal/testkit/need"
)

// Worktrees are looked at only while somebody asks, and whoever asks again soon
// does not wait.
func TestTreesAreLookedAtWhenAskedFor(t *testing.T) {
	t.Parallel()
	need.Program(t, "git")
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(top, "repo")
	script := `git init --quiet -b main "$1" && cd "$1" && echo 1 > file && git add file && git -c user.name=a -c user.email=a@example.org commit --quiet -m begin`
	if out, err := exec.Command("sh", "-c", script, "sh", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var place worktree.Location
	o := Options{Root: filepath.Join(top, "trees"), Paths: func() []string { return []string{place.Path} }}
	trees := New(o)
	ag := workspace.Agent{Name: "worker", Dir: repo, Worktree: true}
	place = Locate(o.Root, &workspace.Workspace{Name: "w"}, &ag, "w-worker")
	if ag.Dir != place.WorkDir || trees.At(place.Path) != nil {
		t.Errorf("it works in %s, and %+v was seen", ag.Dir, trees.At(place.Path))
	}
	want := keeper.Tree{Path: place.Path, Branch: "den/w/worker", Base: "main"}
	if _, err := trees.Maker(place)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := trees.At(place.Path); got == nil || *got != want {
		t.Errorf("when it was made: %+v, want %+v", got, want)
	}
	trees = New(o)
	looked := trees.ask(time.Now())
	if looked == nil {
		t.Fatal("nobody looked, and it is not old")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { trees.Run(ctx); close(done) }()
	<-looked
	if got := trees.At(place.Path); got == nil || *got != want {
		t.Errorf("seen %+v, want %+v", got, want)
	}
	if trees.ask(time.Now()) != nil {
		t.Error("old at once")
	}
	if trees.wanted(time.Now().Add(wantedFor)) {
		t.Error("looked at though nobody asks")
	}
	cancel()
	<-done
	if slow := trees.take(nil, time.Now().Add(-time.Minute), time.Now()); slow < lookShare*time.Minute {
		t.Errorf("a look that took a minute is repeated after %v", slow)
	}
}
