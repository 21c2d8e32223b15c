// Command bench runs den and its peers side by side and prints how they
// compare.
//
// Every suite alternates between the contestants, sample by sample, so that a
// noisy moment of the machine hits all of them. Nothing here fails because a
// figure is bad: the aims are printed beside the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// suites in the order in which they run: what is quick and most asked for first.
var suites = []struct {
	name string
	run  func(*bench) error
}{
	{"through", through},
	{"latency", besideTmux(latency)},
	{"run", besideTmux(cells)},
	{"idle", besideTmux(idle)},
	{"emulator", emulators},
	{"replay", inHome(replays)},
	{"snapshot", inHome(snapshots)},
	{"baseline", inHome(baselines)},
	{"many", besideTmux(many)},
	{"agents", agents},
	{"policy", policies},
	{"sandbox", sandboxes},
	{"render", inHome(renders)},
	{"dashboard", dashboards},
	{"chat", chats},
	{"minds", minds},
	{"mcp", inHome(mcpServers)},
	{"terminals", terminals},
	{"tasks", tasks},
	{"kubernetes", kubernetes},
}

// bench is what a suite needs to know.
type bench struct {
	ctx   context.Context
	den   string // absolute path of the den binary
	tmux  string // path of tmux, or empty: it is missing
	self  string // this binary, to be started again as a child
	tmp   string // everything is below it, and it goes at the end
	quick bool
	// transcripts is a directory for what agents did in tasks, or empty.
	transcripts string
	calm        *calm
	out         *report
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == childFlag {
		os.Exit(child(os.Args[2:]))
	}
	if len(os.Args) == 4 && os.Args[1] == ircFlag {
		os.Exit(serveIRC(os.Args[2:]))
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	den := flag.String("den", "../bin/den", "the den binary")
	only := flag.String("only", "", "run only these suites, by name, separated by commas")
	quick := flag.Bool("quick", false, "fewer samples, smaller inputs")
	jsonFile := flag.String("json", "", "also write all figures to this file")
	transcripts := flag.String("transcripts", "", "write each task's calls and answers into this directory")
	patience := flag.Duration("calm", time.Minute, "how long each suite may wait for moments in which the machine is calm")
	flag.Parse()

	// A second signal kills at once; the first one lets the suites clean up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{ctx: ctx, quick: *quick, transcripts: *transcripts, out: &report{}}
	if b.den, err = filepath.Abs(*den); err != nil {
		return err
	}
	if _, err := os.Stat(b.den); err != nil {
		return fmt.Errorf("no den binary (run 'make build' first): %w", err)
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.tmux, err = exec.LookPath("tmux"); err != nil {
		fmt.Println("tmux is missing: install it to see the comparison; den's own figures follow")
	}
	// Short, because a socket's path must fit into 104 bytes.
	if b.tmp, err = os.MkdirTemp("", "denbench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.tmp)) }()

	b.out.machine = describeMachine(b)
	fmt.Print(b.out.machine)
	for _, s := range suites {
		if !wanted(*only, s.name) {
			continue
		}
		b.out.begin(s.name)
		b.calm = &calm{ctx: ctx, limit: *patience}
		b.calm.await()
		if err := s.run(b); err != nil {
			return fmt.Errorf("suite %s: %w", s.name, err)
		}
		b.out.end(b.calm.String())
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	b.out.summary()
	if *jsonFile != "" {
		return b.out.writeJSON(*jsonFile)
	}
	return nil
}

func wanted(only, name string) bool {
	return only == "" || slices.Contains(strings.Split(only, ","), name)
}
