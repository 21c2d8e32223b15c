package web

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strconv"
	"syscall"

	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/session/home"
	"den/internal/ui/dashboard"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"
)

type options struct {
	addr string
	home string
	file string
	json bool
	act  bool
}

// Main runs 'dend web' with the arguments after that word. It serves until it
// is told to stop, and returns the process status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err = run(ctx, o, environ, stdout, stderr)
	}
	return fault.Printer{Program: "den", JSON: o.json, Stdout: stdout, Stderr: stderr}.Print(err)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("dend web", flag.ContinueOnError)
	f.SetOutput(io.Discard) // what is wrong is said once, by Main
	f.StringVar(&o.home, "home", "", "the own Home, a `DIR` (default $DEN_HOME, else ~/.den)")
	f.StringVar(&o.file, "f", "den.toml", "the `FILE` of the workspace whose agents are shown")
	f.BoolVar(&o.json, "j", false, "print the address, or an error, as JSON")
	f.BoolVar(&o.act, "allow-actions", false, "let the page act: approve, answer, send messages, take over terminals, stop")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(stderr, "Usage: dend web [flags] [ADDR]\n\nServe the dashboard on ADDR, HOST:PORT (default 127.0.0.1:0).")
		f.SetOutput(stderr)
		f.PrintDefaults()
		return o, err
	case err != nil:
		return o, fault.Errorf(fault.Usage, "%w", err)
	case f.NArg() > 1:
		return o, fault.Errorf(fault.Usage, "one address, not %q", f.Args())
	}
	o.addr = f.Arg(0)
	return o, nil
}

func run(ctx context.Context, o options, environ []string, stdout, stderr io.Writer) error {
	getenv := environment.Getter(environ)
	root, err := home.ResolveHome(o.home, getenv)
	if err != nil {
		return err
	}
	place, err := fleet.At(o.file)
	if err != nil {
		return err
	}
	agents, err := nights.New(getenv)
	if err != nil {
		fmt.Fprintln(stderr, "den: agents that sleep and wake are not shown:", err)
	}
	m := dashboard.New(dashboard.Options{Home: root, Registry: home.NewRegistry(getenv)})
	defer m.Close()
	s, err := Listen(ctx, Options{Model: m, Nights: agents, Workspace: place, AllowActions: o.act, Audit: root.PageActions(), User: userName(), Addr: o.addr, Words: stderr})
	if err != nil {
		return err
	}
	if !s.Loopback() {
		fmt.Fprintln(stderr, "den: other machines can reach this address, and nothing is encrypted: anybody on the way sees the screens and the token")
	}
	if err := announce(stdout, s.URL(), o.json); err != nil {
		return err
	}
	return s.Serve(ctx)
}

// userName is who uses the page, for audit logs.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "user " + strconv.Itoa(os.Getuid())
	}
	return u.Username
}

// announce prints the page's URL. This is the only place where the token is
// written.
func announce(w io.Writer, url string, asJSON bool) error {
	var err error
	if asJSON {
		err = json.NewEncoder(w).Encode(map[string]string{"url": url})
	} else {
		_, err = fmt.Fprintln(w, url)
	}
	if err != nil {
		return fmt.Errorf("tell the dashboard's address: %w", err)
	}
	return nil
}
