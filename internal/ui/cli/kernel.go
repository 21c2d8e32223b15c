package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/process/git"
	"den/internal/ticks/example"
	"den/internal/ticks/instance"
	"den/internal/ticks/registry"

	"github.com/spf13/cobra"
)

// kernelVariable has an instance's name in its terminals.
const kernelVariable = "DEN_KERNEL"

func (a *app) kernelCmd() *cobra.Command {
	return parentCmd(&cobra.Command{
		Use:   "kernel",
		Short: "Agents that sleep and wake: init, tick, watch, wake, notify, status",
		Long: `Run agents that live in a data repository and wake up for a tick: on a schedule, when they
are notified or triggered. In a tick an agent works in numbered terminals, and then sleeps
again; what it remembers is in its files.

NAME may be omitted in a terminal of the agent itself.`,
		Example: "  den kernel init demo --example && den kernel tick demo\n  den kernel watch demo",
	}, a.kernelInitCmd(), a.kernelListCmd(), a.kernelRemoveCmd(), a.kernelRunCmd("tick"), a.kernelRunCmd("watch"),
		a.kernelTriggerCmd(), a.kernelWakeCmd(), a.kernelNotifyCmd(), a.kernelPauseCmd(), a.kernelResumeCmd(),
		a.kernelStatusCmd(), a.kernelLogsCmd(), a.kernelReplayCmd(), a.kernelInstallCmd(), a.kernelUninstallCmd(), a.kernelToolCmd())
}

func (a *app) completeInstance(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeFirst(args, func() (names []string, err error) {
		all, err := a.instances()
		for _, known := range all {
			names = append(names, known.Name)
		}
		return names, err
	})
}

// instances lists those of this user.
func (a *app) instances() ([]registry.Instance, error) {
	r, err := registry.New(a.getenv)
	if err != nil {
		return nil, err
	}
	return r.List()
}

// onInstance makes cmd a verb for one instance, whose name may be omitted in
// its terminals, followed by at most a number of words.
func (a *app) onInstance(cmd *cobra.Command, words int, run func(ctx context.Context, in *instance.Instance, words []string) error) *cobra.Command {
	cmd.Args = args(0, words+1)
	cmd.ValidArgsFunction = a.completeInstance
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		known, rest, err := a.leadingInstance(given, words)
		if err != nil {
			return err
		}
		in, err := instance.Open(known, a.getenv)
		if err != nil {
			return err
		}
		defer in.Close() // Best effort: it is a directory that is open.
		return run(cmd.Context(), in, rest)
	}
	return cmd
}

// leadingInstance splits the arguments of a verb whose NAME may be omitted. In
// a terminal of an agent the first word is a name only if an instance has it.
func (a *app) leadingInstance(given []string, words int) (registry.Instance, []string, error) {
	if a.inKernelBox() {
		return a.ownInstance(given, words)
	}
	r, err := registry.New(a.getenv)
	if err != nil {
		return registry.Instance{}, nil, err
	}
	own := a.getenv(kernelVariable)
	switch {
	case len(given) == 0 && own == "":
		return registry.Instance{}, nil, fault.Hintf(fault.Errorf(fault.Usage, "no instance is named"), "'den kernel list' lists them")
	case len(given) == 0:
		known, err := r.Get(own)
		return known, nil, err
	}
	known, err := r.Get(given[0])
	if err != nil && own != "" && len(given) <= words {
		known, err = r.Get(own)
		return known, given, err
	}
	return known, given[1:], err
}

// kernelBoxVariable is set in an agent's container.
const kernelBoxVariable = "DEN_KERNEL_BOX"

// inKernelBox reports whether this is the container of an agent: nothing is
// known of instances there but the data of its own.
func (a *app) inKernelBox() bool {
	return a.getenv(kernelBoxVariable) != "" && a.getenv(kernelVariable) != "" && filepath.IsAbs(a.getenv("DATA_DIR"))
}

// ownInstance is leadingInstance in an agent's container.
func (a *app) ownInstance(given []string, words int) (registry.Instance, []string, error) {
	own := registry.Instance{Name: a.getenv(kernelVariable), Path: a.getenv("DATA_DIR")}
	if len(given) > 0 && (given[0] == own.Name || len(given) > words) {
		if given[0] != own.Name {
			return own, nil, fault.Errorf(fault.NotFound, "no instance is named '%s' here: this is the container of '%s'", given[0], own.Name)
		}
		given = given[1:]
	}
	return own, given, nil
}

// outsideBox refuses what cannot be told or done in an agent's container.
func (a *app) outsideBox(what string) error {
	if !a.inKernelBox() {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.Unsupported, "%s in the agent's container", what), "wake, trigger and notify can be used here; ask outside for the rest")
}

func (a *app) kernelInitCmd() *cobra.Command {
	var dir, branch string
	var script bool
	cmd := &cobra.Command{
		Use:   "init NAME [URL]",
		Short: "Make, clone or register a data repository",
		Long: `Register an agent under NAME. With a URL its data repository is cloned; with --path an
existing directory is registered as it is, or a new one is made there. Without either, a new one
is made in ~/.local/share/den/kernel, whatever DEN_HOME says. With --example its mind is a
script, so a whole tick runs without a model.

For an existing git repository den records the URL of its remote 'origin', or the given URL. If
the agent lives in a container, its commits are pushed there and nowhere else.`,
		Example: "  den kernel init demo --example\n  den kernel init ada https://example.org/ada.git\n  den kernel init ada --path ~/ada",
		Args:    args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := newInstance{Instance: registry.Instance{Name: args[0], Path: dir}, branch: branch, chosen: dir != "", kind: example.Model}
			if script {
				n.kind = example.Script
			}
			if len(args) > 1 {
				n.Remote = args[1]
			}
			return a.initInstance(cmd.Context(), n, script)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&dir, "path", "p", "", "the `DIR` of the data repository")
	f.StringVarP(&branch, "branch", "b", "", "the `BRANCH` to clone")
	f.BoolVar(&script, "example", false, "write an example whose mind is a script")
	return cmd
}

// newInstance is one that is to be registered.
type newInstance struct {
	registry.Instance
	branch string
	chosen bool // a person named its path
	kind   example.Kind
}

func (a *app) initInstance(ctx context.Context, n newInstance, script bool) error {
	r, err := registry.New(a.getenv)
	if err != nil {
		return err
	}
	if err := ident.Check("instance", n.Name); err != nil {
		return err
	}
	if known, err := r.Get(n.Name); err == nil { // before anything is cloned
		return fault.Hintf(fault.Errorf(fault.Busy, "an instance is named '%s' already: %s", n.Name, known.Path), "choose another name, or run 'den kernel remove %s' first", n.Name)
	} else if fault.KindOf(err) != fault.NotFound {
		return err
	}
	if n.Path, err = a.dataDir(n.Name, n.Path); err != nil {
		return err
	}
	if err := n.provide(ctx, script, a.stderr); err != nil {
		return err
	}
	n.Created = time.Now()
	known, err := r.Add(ctx, n.Instance)
	return a.result(err, map[string]any{"name": known.Name, "path": known.Path, "remote": known.Remote}, func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s\n", known.Name, known.Path)
		if known.Remote != "" {
			fmt.Fprintf(w, "its remote is %s\n", withoutPassword(known.Remote))
		}
		fmt.Fprintf(w, "'den kernel tick %s' runs one tick; 'den kernel watch %[1]s' has it wake by itself\n", known.Name)
	})
}

// provide has the repository be there: cloned, made, or as it is.
func (n *newInstance) provide(ctx context.Context, script bool, stderr io.Writer) error {
	empty := isEmpty(n.Path)
	switch {
	case n.Remote != "" && script:
		return fault.Errorf(fault.Usage, "a repository that is cloned is no example: leave out the URL or --example")
	case n.Remote != "" && !empty && (!n.chosen || !git.IsTop(n.Path)):
		return fault.Hintf(fault.Errorf(fault.Busy, "clone into %s: it is not empty", n.Path), "choose another directory with --path; one that is a git repository is registered as it is")
	case n.branch != "" && (n.Remote == "" || !empty):
		return fault.Errorf(fault.Usage, "--branch is for a repository that is cloned")
	case n.Remote != "" && !empty:
		return nil
	case n.Remote != "":
		return git.Git{Environ: os.Environ()}.Clone(ctx, n.Remote, n.branch, n.Path, stderr)
	case empty || script:
		if err := example.Write(n.Path, n.kind); err != nil {
			return err
		}
		if !git.Installed() {
			return nil // it works without
		}
		return git.Git{Environ: os.Environ()}.Init(ctx, n.Path)
	}
	var err error
	n.Remote, err = originOf(n.Path)
	return err
}

// dataDir is where the repository of an instance is, absolute.
func (a *app) dataDir(name, given string) (string, error) {
	if given != "" {
		abs, err := filepath.Abs(given)
		if err != nil {
			return "", fault.Errorf(fault.Usage, "init %s: %w", given, err)
		}
		return abs, nil
	}
	data := a.getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		data = filepath.Join(a.getenv("HOME"), ".local", "share")
	}
	if !filepath.IsAbs(data) {
		return "", fault.Errorf(fault.Usage, "init: neither XDG_DATA_HOME nor HOME is an absolute path; use --path")
	}
	return filepath.Join(data, "den", "kernel", name), nil
}

func isEmpty(dir string) bool {
	there, err := os.ReadDir(dir)
	return err != nil && os.IsNotExist(err) || err == nil && len(there) == 0
}

func (a *app) kernelListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the instances", Example: "  den kernel list -j", Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := a.instances()
			if err != nil {
				return err
			}
			listed := make([]listedInstance, len(all))
			for i, known := range all {
				listed[i] = a.listInstance(cmd.Context(), known)
			}
			return a.answer(map[string]any{"instances": listed}, func(w io.Writer) { printInstances(w, listed) })
		},
	}
}

// listedInstance is one of a list.
type listedInstance struct {
	Name    string         `json:"name"`
	Path    string         `json:"path"`
	Remote  string         `json:"remote,omitempty"`
	Created time.Time      `json:"created"`
	State   instance.State `json:"state"` // "missing" where there is no repository
	Tick    int            `json:"tick,omitempty"`
	Why     string         `json:"why,omitempty"`
}

func (a *app) listInstance(ctx context.Context, known registry.Instance) listedInstance {
	l := listedInstance{Name: known.Name, Path: known.Path, Remote: known.Remote, Created: known.Created, State: "missing"}
	in, err := instance.Open(known, a.getenv)
	if err != nil {
		l.Why = err.Error()
		return l
	}
	defer in.Close() // Best effort: it is a directory that is open.
	s, err := in.Status(ctx, time.Now())
	if err != nil {
		l.State, l.Why = instance.Unknown, err.Error()
		return l
	}
	l.State, l.Why, l.Tick = s.State, s.Why, s.Tick
	return l
}

func printInstances(w io.Writer, all []listedInstance) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no instances; 'den kernel init demo --example' makes one")
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NAME\tSTATE\tTICK\tPATH\tWHY")
	for _, l := range all {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\n", l.Name, l.State, l.Tick, l.Path, l.Why)
	}
	tw.Flush() // Best effort, as all of this is.
}

func (a *app) kernelRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Forget an instance; its data repository stays", Example: "  den kernel remove demo",
		Args: args(1, 1), ValidArgsFunction: a.completeInstance,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := registry.New(a.getenv)
			if err != nil {
				return err
			}
			if path, err := a.kernelUnit(args[0]); err == nil {
				if _, err := os.Stat(path); err == nil {
					return fault.Hintf(fault.Errorf(fault.Busy, "'%s' is installed as a service: %s", args[0], path), "run 'den kernel uninstall %s' first", args[0])
				}
			}
			known, err := r.Get(args[0])
			if err == nil {
				err = a.leaveContainer(cmd.Context(), known)
			}
			if err != nil {
				return err
			}
			if known, err = r.Remove(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.answer(map[string]any{"name": known.Name, "path": known.Path}, func(w io.Writer) {
				fmt.Fprintf(w, "forgot %s; its data is still in %s\n", known.Name, known.Path)
			})
		},
	}
}

// leaveContainer ends the container of an instance that is going to be
// forgotten, and removes its images. One whose data is gone may have had none.
func (a *app) leaveContainer(ctx context.Context, known registry.Instance) error {
	dir, err := instance.At(known.Path, a.getenv)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	box, err := dir.LoadBox()
	if err != nil || box.Image == "" {
		return err
	}
	argv, err := a.kernelArgv("leave", known.Name)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = a.environ, &said, &said
	if err := cmd.Run(); err != nil {
		return fault.Hintf(fault.Errorf(fault.Internal, "end the container of '%s': %w: %s", known.Name, err, strings.TrimSpace(said.String())),
			"start its engine and try again, or remove the container by hand and then %s", filepath.Join(dir.Path, "box.json"))
	}
	return nil
}

// kernelRunCmd is a verb that dend runs: this binary links no runners.
func (a *app) kernelRunCmd(verb string) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "tick NAME", Short: "Run one tick now, and wait for its end", Example: "  den kernel tick demo -j",
		Long: "Run one tick and print how it ended. The tick also answers what is due, such as a trigger.\nThe exit code is 1 if the tick did not end normally.",
	}
	if verb == "watch" {
		cmd = &cobra.Command{
			Use: "watch NAME", Short: "Run ticks whenever there is a reason, until it is interrupted", Example: "  den kernel watch demo",
			Long: "Wait for wakes, triggers and notifications, and run a tick when there is one. After ticks that fail it waits, longer and\nlonger. Only one process watches an instance: with --wait a second one takes over when the first ends. 'den kernel install'\nmakes a service of it.",
		}
		cmd.Flags().BoolVar(&wait, "wait", false, "if another process watches it, wait for its end")
	}
	cmd.Args, cmd.ValidArgsFunction = args(0, 1), a.completeInstance
	cmd.RunE = func(_ *cobra.Command, given []string) error {
		known, _, err := a.leadingInstance(given, 0)
		if err != nil {
			return err
		}
		argv, err := a.kernelArgv(verb, known.Name, appendIf(wait, appendIf(a.json, nil, "-j"), "--wait")...)
		if err != nil {
			return err
		}
		return a.exec(argv)
	}
	return cmd
}

// kernelArgv is the command line of the process that runs ticks.
func (a *app) kernelArgv(verb, name string, flags ...string) ([]string, error) {
	argv, err := a.dendArgv("kernel", flags...)
	if err != nil {
		return nil, err
	}
	return append(argv, verb, name), nil
}

// originOf is the URL that 'git push' of a repository goes to, as its own
// configuration says now; "" if there is none. It is recorded when a person
// registers the repository: once an agent lives in it, the agent writes that
// configuration.
func originOf(dir string) (string, error) {
	if !git.IsTop(dir) {
		return "", nil // nothing is pushed from it
	}
	origin, err := git.Origin(dir)
	if err != nil {
		return "", fault.Hintf(fault.Errorf(fault.KindOf(err), "find the remote of %s: %w", dir, err), "name it: den kernel init NAME --path DIR URL")
	}
	return origin, nil
}

// withoutPassword is a URL as it can be printed.
func withoutPassword(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.User == nil {
		return remote // also user@host:path, which has none
	}
	return u.Redacted()
}
