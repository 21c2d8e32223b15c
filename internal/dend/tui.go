package dend

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"den/internal/dashboard"
	"den/internal/dashboard/tui"
	"den/internal/fault"
	"den/internal/session"
)

// showDashboard is 'dend tui': what 'den dashboard' becomes.
func showDashboard(args, environ []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("dend tui", flag.ContinueOnError)
	f.SetOutput(stderr)
	home := f.String("home", "", "the own Home, a `DIR`")
	ref := f.String("select", "", "the `SESSION` to begin with")
	all := f.Bool("all", false, "also sessions that are over")
	if err := f.Parse(args); err != nil {
		return fault.Errorf(fault.Usage, "%w", err)
	}
	getenv := lookup(environ)
	h, err := session.ResolveHome(*home, getenv)
	if err != nil {
		return err
	}
	out, ok := stdout.(*os.File)
	if !ok {
		return fault.Errorf(fault.Usage, "show the dashboard: this is not a terminal")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	model := dashboard.New(dashboard.Options{Home: h, Registry: session.NewRegistry(getenv)})
	defer model.Close()
	return tui.Run(ctx, tui.Options{Model: model, In: os.Stdin, Out: out, Environ: environ, Now: time.Now, All: *all, Select: *ref})
}
