package daemon

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/controller"
	"den/internal/keeper/lead"
	"den/internal/process/tree"
	"den/internal/session/home"
)

// verbDown makes a keeper that only ends the workspace's agents.
const verbDown = "down"

// options are what the command line says.
type options struct {
	file     string
	home     string
	den      string // the den binary
	announce bool   // tell on stdout, once, that it runs or why not
	json     bool   // print the error that ends it as an object
	yes      bool   // end agents that run, however many the file has no more
	lease    string // of the cluster, which a keeper must hold; "" for none
	from     string // the directory that the workspace's files are brought from, or ""
	id       string // of a workspace that was never kept, or "" for a new one
	verb     []string

	told context.Context // ends when a signal tells the keeper to, or nil: a lease is waited for before that is listened to
}

// Main is the process of a keeper, and of the verbs that do a keeper's work where
// none runs. It returns the process status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	log.SetOutput(stderr)
	log.SetFlags(log.LstdFlags | log.LUTC | log.Lmsgprefix)
	log.SetPrefix("dend: ")
	o, err := parse(args[1:], stderr)
	switch {
	case err != nil:
	case len(o.verb) == 0 && o.lease != "":
		err = lead.Lead(lead.Options{File: o.file, Lease: o.lease, From: o.from}, environment.Getter(environ), func(told context.Context, id string) error {
			o.told, o.id = told, id
			return run(o, environ, stdout)
		})
	case len(o.verb) == 0, len(o.verb) == 1 && o.verb[0] == verbDown:
		err = run(o, environ, stdout)
	case len(o.verb) == 2 && o.verb[0] == "attach":
		err = attach(o, environ, o.verb[1])
	case len(o.verb) > 0 && o.verb[0] == verbWorktree:
		err = worktreesAlone(o, environ, stdout)
	case len(o.verb) > 0 && o.verb[0] == verbPermissions:
		err = permissionsAlone(o, environ, stdout)
	default:
		err = fault.Errorf(fault.Usage, "dend knows no %q", strings.Join(o.verb, " "))
	}
	return fault.Printer{Program: "dend", JSON: o.json, Stdout: stdout, Stderr: stderr}.Print(err)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	version := false
	f := flag.NewFlagSet("dend", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.file, "f", "den.toml", "the workspace's `FILE`")
	f.StringVar(&o.home, "home", "", "the Home `DIR` that holds the sessions (default $DEN_HOME, else ~/.den)")
	f.StringVar(&o.den, "den", "", "the den `BINARY` (default: beside dend)")
	f.BoolVar(&o.announce, "announce", false, "write one line to stdout when it serves, or cannot")
	f.BoolVar(&o.json, "j", false, "print errors as JSON")
	f.BoolVar(&o.yes, "yes", false, "begin also with a file that ends more than half of the agents that run")
	f.StringVar(&o.lease, "lease", os.Getenv(keeper.LeaseMark), "keep the workspace only while this pod holds the cluster's lease `NAME` (default $"+keeper.LeaseMark+")")
	f.StringVar(&o.from, "from", "", "with --lease: bring the workspace's files from `DIR`, such as a ConfigMap's, and follow its changes")
	f.BoolVar(&version, "version", false, "print the version")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.verb = f.Args()
	if version {
		fmt.Fprintln(os.Stdout, build.Version)
		os.Exit(0)
	}
	if o.den == "" {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find this binary: %w", err)
		}
		o.den = filepath.Join(filepath.Dir(self), "den")
	}
	if _, err := os.Stat(o.den); err != nil {
		return o, fault.Hintf(fault.Errorf(fault.NotFound, "den, which runs the sessions, is not at %s", o.den), "name it with --den")
	}
	return o, nil
}

// run is one keeper's life.
func run(o options, environ []string, stdout io.Writer) (err error) {
	announced := false
	announce := func(err error) {
		if announced || !o.announce {
			return
		}
		announced = true
		var said struct {
			Error *rpc.Error `json:"error,omitempty"`
		}
		if err != nil {
			said.Error = rpc.FromError(err)
		}
		if werr := json.NewEncoder(stdout).Encode(said); werr != nil {
			log.Printf("tell who started us: %v", werr) // it went away; the keeper stays
		}
		if f, ok := stdout.(*os.File); ok {
			tree.LetGo(f) // the one who started us waits for no more
		}
	}
	defer func() { announce(err) }()

	// What a keeper starts is not a keeper.
	os.Unsetenv(home.HostMark) // Best effort: it fails for names that are none.
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, home.HostMark+"=") })
	var lock *os.File
	s, err := openSite(o, environ, func(p keeper.StateDir, c keeper.Caller) (keeper.Registration, error) {
		err := p.Make()
		if err == nil {
			lock, err = p.Lock()
		}
		if err != nil {
			return keeper.Registration{}, err
		}
		return p.Establish(c)
	})
	if lock != nil {
		defer lock.Close()
	}
	if err != nil {
		return err
	}
	only, err := s.registration.Lock()
	if err != nil {
		return err
	}
	defer only.Close()
	var d *daemon
	c, err := controller.Open(controller.Options{State: s.state.State(), Events: s.state.Events(), Glance: func(ctx context.Context) map[string]controller.Seen { return d.glance(ctx) }})
	if err != nil {
		return err
	}
	defer c.Close()
	d = newDaemon(s, lock, c, len(o.verb) == 0, o.told)
	defer d.close()
	up, known := c.LastUp()
	lost := !known && len(s.registration.Providers) > 0 // it was kept before
	err = d.load(false)
	if len(o.verb) > 0 { // down
		if err != nil {
			log.Printf("%v; all sessions of the workspace are ended without it", err)
		}
		c.End() // before anything runs: nothing is started
		d.end.begin()
		return d.serve(func(error) {}, nil) // announced when it is done
	}
	if err != nil {
		return err
	}
	var running map[string]listing
	if !o.yes {
		if running, err = d.holdAtStart(context.Background(), up, lost); err != nil {
			c.Event(keeper.Event{Type: keeper.EventHeld, Why: err.Error()})
			return err
		}
	}
	return d.serve(announce, running)
}
