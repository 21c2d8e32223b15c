// Package served is the life of a part of dend that serves clients: its flags,
// its signals, and where it says at which address it is.
package served

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"den/internal/base/fault"
)

// Main reads the flags, has run serve until the process is told to stop, and
// returns the process status. run gets the words behind the flags, and whether
// addresses are printed as JSON, which Main adds a flag for.
func Main(f *flag.FlagSet, usage string, args []string, stdout, stderr io.Writer, run func(ctx context.Context, words []string, asJSON bool) error) int {
	asJSON := f.Bool("j", false, "print the address, or an error, as JSON")
	f.SetOutput(io.Discard) // what is wrong is said once, below
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(stderr, usage)
		f.SetOutput(stderr)
		f.PrintDefaults()
		return 0
	case err != nil:
		err = fault.Errorf(fault.Usage, "%w", err)
	default:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err = run(ctx, f.Args(), *asJSON)
	}
	return fault.Printer{Program: "den", JSON: *asJSON, Stdout: stdout, Stderr: stderr}.Print(err)
}

// Announce prints where something is served: as an object, or as text.
func Announce(w io.Writer, what string, asJSON bool, object map[string]string, text string) error {
	var err error
	if asJSON {
		err = json.NewEncoder(w).Encode(object)
	} else {
		_, err = fmt.Fprintln(w, text)
	}
	if err != nil {
		return fmt.Errorf("tell the %s's address: %w", what, err)
	}
	return nil
}
