// Command media makes the pictures of the README. It starts a workspace with
// real coding agents whose model is a stub, films a story in it, and takes
// pictures of what den shows. scripts/readme-media runs it, in a mount
// namespace in which the workspace has a short path.
//
// How fast the machine is does not show: how long a frame of the film stands
// is part of the story.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"den/internal/testkit/browser"
	"den/internal/testkit/modelstub"
)

func main() {
	den := flag.String("den", "", "`path` of den; dend is beside it")
	root := flag.String("root", "/srv", "empty `directory` in which all of it happens; its name is seen")
	out := flag.String("out", "docs/media", "`directory` for the pictures")
	pods := flag.String("pods", "", "make only the picture of agents in pods of the cluster DEN_TEST_KUBECONFIG, with this `image`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *den, *root, *out, *pods); err != nil {
		fmt.Fprintln(os.Stderr, "media:", err)
		stop()
		os.Exit(1)
	}
}

// run makes all pictures, or the one of pods. What it started is ended when it returns.
func run(ctx context.Context, den, root, out, pods string) (err error) {
	h := &host{}
	defer func() { err = h.end(recover(), err) }()
	out, err = filepath.Abs(out)
	if err != nil {
		return err
	}
	w := newWorld(ctx, h, den, root)
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	h.Cleanup(func() { h.check(b.Close()) })
	s := &studio{world: w, browser: b, out: out}
	if pods != "" {
		takePods(w, s, pods)
		return nil
	}
	c := newCast(w, modelstub.Start(h))
	c.openShop()

	film := &film{studio: s}
	film.story(c)
	film.save("demo.gif")
	c.takeStills(s)
	c.takeTeam(s)
	return nil
}
