package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"den/internal/base/brief"
	"den/internal/base/fault"
	"den/internal/session/home"

	"github.com/spf13/cobra"
)

func (a *app) gcCmd() *cobra.Command {
	var older duration
	var o home.GCOptions
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove sessions that are over",
		Long: `Remove the directories of sessions that are over, with their event logs and
artifacts. An active session is never touched. Without --home or DEN_HOME all known
Homes are cleaned, and missing Homes are removed from the registry.`,
		Example: "  den gc --older-than 24h\n  den gc --keep 10 --dry-run",
		Args:    args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			o.OlderThan = time.Duration(older)
			return a.runGC(o)
		},
	}
	f := cmd.Flags()
	f.Var(&older, "older-than", "only those that ended at least this long ago")
	f.IntVar(&o.Keep, "keep", 0, "keep the newest `N` in each Home")
	f.BoolVar(&o.DryRun, "dry-run", false, "only print what would be removed")
	return cmd
}

func (a *app) runGC(o home.GCOptions) error {
	homes, registry, err := a.sweepScope()
	if err != nil {
		return err
	}
	removed, bytes := []home.Collected{}, int64(0)
	var errs []error
	for _, root := range homes {
		got, err := root.Collect(time.Now(), o)
		errs = append(errs, err)
		for _, c := range got {
			removed = append(removed, c)
			bytes += c.Bytes
		}
		if _, err := os.Stat(root.Path); errors.Is(err, fs.ErrNotExist) && !o.DryRun {
			_, err := registry.Remove(root.Path)
			errs = append(errs, err)
		}
	}
	return a.answerPartly(errors.Join(errs...), map[string]any{"removed": removed, "bytes": bytes, "dry_run": o.DryRun}, func(w io.Writer) {
		for _, c := range removed {
			fmt.Fprintf(w, "%s\t%s\t%s\n", c.Session, c.Status, formatBytes(c.Bytes))
		}
		verb := "removed"
		if o.DryRun {
			verb = "would be removed"
		}
		fmt.Fprintf(w, "%d sessions, %s %s\n", len(removed), formatBytes(bytes), verb)
	})
}

// sweepScope returns the Home that the user named, or all known ones.
func (a *app) sweepScope() ([]home.Home, home.Registry, error) {
	registry := home.NewRegistry(a.getenv)
	root, err := a.home()
	if err != nil {
		return nil, registry, err
	}
	if root.Explicit {
		return []home.Home{root}, registry, nil
	}
	homes, err := withKnown(root, registry)
	return homes, registry, err
}

// withKnown adds to a user's own Home the others that are known.
func withKnown(own home.Home, registry home.Registry) ([]home.Home, error) {
	homes := []home.Home{own}
	known, err := registry.Homes()
	for _, k := range known {
		if k.Path != own.Path {
			homes = append(homes, home.Home{Path: k.Path})
		}
	}
	return homes, err
}

// listedHome is a Home as homes shows it.
type listedHome struct {
	Path     string    `json:"path"`
	Active   int       `json:"active"`
	Sessions int       `json:"sessions"`
	LastSeen time.Time `json:"last_seen"`
	Missing  bool      `json:"missing,omitempty"`
}

func (a *app) homesCmd() *cobra.Command {
	var all bool
	list := func(*cobra.Command, []string) error { return a.runHomes(all) }
	cmd := &cobra.Command{
		Use:     "homes",
		Short:   "List the Homes of this machine",
		Long:    "List the Homes that have hosted a session on this machine: those with an active\nsession, or with --all every known one.",
		Example: "  den homes\n  den homes --all -j\n  den homes rm ~/old-project/.den",
		Args:    unknownVerb,
		RunE:    list,
	}
	cmd.PersistentFlags().BoolVar(&all, "all", false, "also Homes without an active session")
	cmd.AddCommand(&cobra.Command{
		Use: "ls", Short: "List the Homes of this machine", Example: "  den homes ls --all", Args: args(0, 0), RunE: list,
	}, &cobra.Command{
		Use: "rm PATH", Short: "Remove a Home from the registry; its files are not touched", Example: "  den homes rm ~/old-project/.den",
		Args: args(1, 1), RunE: func(_ *cobra.Command, args []string) error { return a.forgetHome(args[0]) },
	})
	return cmd
}

func (a *app) runHomes(all bool) error {
	known, err := home.NewRegistry(a.getenv).Homes()
	if err != nil {
		return err
	}
	homes := []listedHome{}
	for _, k := range known {
		h := listedHome{Path: k.Path, LastSeen: k.LastSeen}
		dirs, err := home.Home{Path: k.Path}.All()
		if err != nil {
			fmt.Fprintf(a.stderr, "den: %s: %v\n", k.Path, err)
		}
		if _, err := os.Stat(k.Path); errors.Is(err, fs.ErrNotExist) {
			h.Missing = true
		}
		for _, d := range dirs {
			h.Sessions++
			if m, err := d.Inspect(); err == nil && m.Status.Active() {
				h.Active++
			}
		}
		if all || h.Active > 0 {
			homes = append(homes, h)
		}
	}
	return a.answer(map[string]any{"homes": homes}, func(w io.Writer) { printHomes(w, homes, all) })
}

func printHomes(w io.Writer, homes []listedHome, all bool) {
	if len(homes) == 0 {
		if all {
			fmt.Fprintln(w, "no Homes are known")
		} else {
			fmt.Fprintln(w, "no Home has an active session; 'den homes --all' lists all that are known")
		}
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "HOME\tACTIVE\tSESSIONS\tLAST SEEN")
	for _, h := range homes {
		path := h.Path
		if h.Missing {
			path += " (gone)"
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s ago\n", path, h.Active, h.Sessions, brief.Age(time.Since(h.LastSeen)))
	}
	tw.Flush() // to stdout: as good as Fprintln
}

func (a *app) forgetHome(path string) error {
	root, err := home.ResolveHome(path, a.getenv)
	if err != nil {
		return err
	}
	found, err := home.NewRegistry(a.getenv).Remove(root.Path)
	if err != nil {
		return err
	}
	if !found {
		return fault.Hintf(fault.Errorf(fault.NotFound, "no Home '%s' is registered", root.Path), "'den homes --all' lists them")
	}
	return a.answer(map[string]any{"path": root.Path, "forgotten": true}, func(w io.Writer) { fmt.Fprintln(w, "forgotten", root.Path) })
}
