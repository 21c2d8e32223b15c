package container_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/place/workspace"
	"den/internal/testkit/podmantest"

	"github.com/moby/moby/client"
)

// contextOf makes a build context.
func contextOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// images counts the built images of a provider's owner.
func images(t *testing.T, e *podmantest.Engine, p *container.Provider) int {
	t.Helper()
	var list client.ImageListResult
	err := container.RetryWhileRemoving(t.Context(), func() (err error) {
		list, err = e.API.ImageList(t.Context(), client.ImageListOptions{Filters: client.Filters{}.Add("label", "den.home="+p.Home.Path)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

func TestImageIsBuiltWhenItsContextIsNew(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	dir := contextOf(t, map[string]string{
		"Containerfile": "FROM " + podmantest.BaseImage + "\nENV FLAVOUR=built\nCOPY word /word\nRUN cat /word > /made\n", "word": "first",
	})
	c := shell(t, `echo "$FLAVOUR $(cat /made)."; sleep 1000`)
	c.Options = container.Spec{Context: workspace.Path(dir), Network: "none"}
	run := func(name, want string) {
		t.Helper()
		if err := p.Start(t.Context(), name, c); err != nil {
			t.Fatal(err)
		}
		sees(t, p, name, want)
	}
	var starts sync.WaitGroup
	for _, name := range []string{"a", "b"} { // together: one builds, one waits
		starts.Go(func() { run(name, "built first.") })
	}
	starts.Wait()
	run("c", "built first.")
	if n := images(t, e, p); n != 1 {
		t.Fatalf("%d images of one context", n)
	}
	write(t, dir, map[string]string{"word": "second"})
	run("d", "built second.")
	if n := images(t, e, p); n != 2 {
		t.Fatalf("%d images of two contexts", n)
	}
	// Nothing in use goes.
	if done, err := p.Prune(t.Context(), 0); err != nil || done.Containers != 0 || done.Images != 0 {
		t.Fatalf("pruned %+v, %v", done, err)
	}
	if err := p.Stop(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	if done, err := p.Prune(t.Context(), 0); err != nil || done.Images != 1 {
		t.Fatalf("pruned %+v, %v", done, err)
	}
}

func TestBuildThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	dir := contextOf(t, map[string]string{"Containerfile": "FROM " + podmantest.BaseImage + "\n"})
	c := shell(t, "echo old; exit 3")
	c.Options = container.Spec{Context: workspace.Path(dir), Network: "none"}
	if err := p.Start(t.Context(), "w", c); err != nil {
		t.Fatal(err)
	}
	ended(t, p, "w")
	write(t, dir, map[string]string{"Containerfile": "FROM " + podmantest.BaseImage + "\nRUN echo to-stdout; echo to-stderr >&2; exit 9\n"})
	err := p.Start(t.Context(), "w", c)
	if fault.KindOf(err) != fault.Usage {
		t.Fatalf("%v, want usage", err)
	}
	for _, want := range []string{"to-stdout", "to-stderr", "9"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if exit, err := p.Exit(t.Context(), "w"); err != nil || exit.Code != 3 {
		t.Errorf("the old session: %+v, %v", exit, err)
	}
	sees(t, p, "w", "old")
	if n := images(t, e, p); n != 1 {
		t.Errorf("%d images", n)
	}
	if n := len(containers(t, e, p)); n != 1 {
		t.Errorf("%d containers", n)
	}
}

func TestImageOfOneProgram(t *testing.T) {
	t.Parallel()
	e := podmantest.Shared(t)
	p := opened(t, e, "city")
	dir := contextOf(t, map[string]string{"Containerfile": "FROM scratch\nCOPY only /only\nUSER 1234\nWORKDIR /nowhere\nENTRYPOINT [\"/only\"]\n"})
	source := contextOf(t, map[string]string{"main.go": `package main

import ("fmt"; "os"; "bufio")

func main() {
	fmt.Println("alone as", os.Getuid())
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Print("heard ", line)
	os.Exit(5)
}
`})
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "only"), filepath.Join(source, "main.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := provider.Config{Argv: []string{"/only"}, WorkDir: t.TempDir(), Options: container.Spec{Context: workspace.Path(dir), Network: "none"}}
	if err := p.Start(t.Context(), "w", c); err != nil {
		t.Fatal(err)
	}
	sees(t, p, "w", "alone as 0")
	if err := p.Nudge(t.Context(), "w", "you"); err != nil {
		t.Fatal(err)
	}
	ended(t, p, "w")
	sees(t, p, "w", "heard you")
	if exit, err := p.Exit(t.Context(), "w"); err != nil || exit.Code != 5 {
		t.Fatalf("%+v, %v", exit, err)
	}
	c.Argv = []string{"sh"}
	if err := p.Start(t.Context(), "no-shell", c); err == nil {
		t.Fatal("a shell was started where there is none")
	}
}

func TestImageThatIsNone(t *testing.T) {
	t.Parallel()
	p := opened(t, podmantest.Shared(t), "city")
	for what, c := range map[string]container.Spec{
		"nothing":       {},
		"both":          {Image: podmantest.BaseImage, Context: "/x"},
		"no context":    {Context: workspace.Path(filepath.Join(t.TempDir(), "none"))},
		"no such image": {Image: "localhost/den-test-no-such-image:1"},
		"no reference":  {Image: "::"},
	} {
		config := shell(t, "true")
		config.Options = c
		if err := p.Start(t.Context(), "w", config); err == nil {
			t.Errorf("%s: started", what)
		} else if fault.KindOf(err) == fault.Busy || fault.KindOf(err) == fault.NotRunning {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left, err := p.ListRunning(t.Context(), ""); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
