package cli

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/build"
	"den/internal/base/fault"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCmd makes manual pages from the same tree as the help.
func (a *app) manCmd() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Print den's manual page, or write one for each command",
		Example: "  den man | man -l -\n  den man --dir /usr/local/share/man/man1",
		Args:    args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			root := newRoot(a, nil) // with all verbs
			if dir == "" {
				manPage(a.stdout, root)
				return nil
			}
			return writeManPages(dir, root)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages into `DIR`")
	return cmd
}

func writeManPages(dir string, cmd *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write manual: %w", err)
	}
	var b strings.Builder
	manPage(&b, cmd)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write manual: %w", err)
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			if err := writeManPages(dir, sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// manPage writes one page in the man macros.
func manPage(w io.Writer, cmd *cobra.Command) {
	title := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(w, ".TH %q 1 \"\" \"den %s\" \"den manual\"\n", strings.ToUpper(title), build.Version)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(title), roff(cmd.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	fmt.Fprintf(w, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(cmp.Or(cmd.Long, cmd.Short)))
	manFlags(w, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(w, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLE\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	manCommands(w, cmd)
	fmt.Fprintf(w, ".SH EXIT STATUS\n.nf\n%s\n.fi\n", roff(exitCodesHelp))
	if !cmd.HasParent() {
		fmt.Fprintf(w, ".SH ENVIRONMENT\n.nf\n%s\n.fi\n", roff(environmentHelp))
	}
}

func manFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s", roff(name), roff(value), roff(usage))
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			fmt.Fprintf(w, " (default %s)", roff(f.DefValue))
		}
		fmt.Fprintln(w)
	})
}

func manCommands(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(w, ".SH COMMANDS")
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(sub.UseLine()), roff(sub.Short))
		}
	}
}

// roff escapes text for roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	var b strings.Builder
	for line := range strings.Lines(s) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		b.WriteString(line)
	}
	return b.String()
}

// helpCmd is 'den help'. cobra's own says nothing of an unknown topic in its
// exit code.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND|TOPIC]",
		Short:   "Help about any command",
		Long:    "Help about any command, and about what belongs to none: exit-codes, environment.",
		Example: "  den help run\n  den help exit-codes",
		GroupID: groupMachine,
		RunE: func(_ *cobra.Command, words []string) error {
			cmd, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 {
				return fault.Hintf(fault.Errorf(fault.Usage, "no help for '%s'", strings.Join(words, " ")), "'den --help' lists the commands")
			}
			cmd.InitDefaultHelpFlag() // it is listed too
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, words []string, begin string) ([]string, cobra.ShellCompDirective) {
			cmd, _, err := root.Find(words)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, sub := range cmd.Commands() {
				if strings.HasPrefix(sub.Name(), begin) && !sub.Hidden {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// addCompletion adds cobra's 'den completion', which must refuse an unknown
// shell.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = unknownVerb
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// helpTopics returns the pages of 'den help' that belong to no verb.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What den's exit codes mean", Long: exitCodesHelp},
		{Use: "environment", Short: "The environment variables that den reads and sets", Long: environmentHelp},
	}
}

const exitCodesHelp = `den's exit codes. With --json the error object has the same kind.

   0               done
   1  internal     unclassified
   2  usage        unknown verb or flag, bad argument
   3  not_found    no such session
   4  not_running  the session does not accept input (exited, destroying, lost)
   5  busy         a lock is held, a name is taken, input is not read
   6  unreachable  the host does not answer
   7  export       an artifact could not be made
   8  storage      disk: full, unreadable, damaged
   9  protocol     the peer speaks an unsupported protocol version
  10  unsupported  not supported by this terminal or machine
  11  timeout      the condition was not met in time
  12  denied       not allowed
  13  waiting      the cell is not done: the program waits for input
  14  unsure       the cell's program is silent, and nothing says that it is done
 125               with 'run --exit-code', an error of den's own, of any kind
 130               interrupted (Ctrl-C)`

const environmentHelp = `Read:
  DEN_HOME         the Home, unless --home names one; default ~/.den
  DEN_SESSION      the default session of verbs
  DEN_RUN_DIR      a short directory for sockets; default $XDG_RUNTIME_DIR/den, else /tmp/den-UID
  XDG_STATE_HOME   where the registry of Homes is kept (den/homes.json)
  SHELL            what 'den new' starts when no command is given
  NO_COLOR, TERM   whether text on a terminal is coloured
  DEN_KERNEL       the instance of 'den kernel' verbs without a NAME; set in its terminals

Set inside every session:
  DEN_SESSION      the session's name
  DEN_SESSION_ID   its id
  DEN_SESSION_MARK how den finds processes that a killed host left
  DEN_HOME         its Home
  TERM, COLORTERM, TERM_PROGRAM=den, TERM_PROGRAM_VERSION`

//go:embed skills
var skillFiles embed.FS

// agentDirs are where coding agents look for skills, below the user's home
// and below a project.
var agentDirs = []string{".claude/skills", ".agents/skills"}

type skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Content     string `json:"content,omitempty"`
}

func (a *app) skillsCmd() *cobra.Command {
	cmd := parentCmd(&cobra.Command{
		Use:     "skills",
		Short:   "Teach a coding agent to use den",
		Example: "  den skills get den\n  den skills install --project",
	})
	var project bool
	var to string
	install := &cobra.Command{
		Use:   "install [NAME|AGENT]",
		Short: "Install a skill for coding agents",
		Long: `Install a skill (default: den) where coding agents look for skills: under your home
directory, with --project under this directory, or under the directory given with --to.
For claude, codex, copilot or acp all skills are installed where that agent looks.`,
		Example: "  den skills install\n  den skills install claude\n  den skills install channel --project",
		Args:    args(0, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.installSkill(args, project, to) },
	}
	install.Flags().BoolVar(&project, "project", false, "for this project only")
	install.Flags().StringVar(&to, "to", "", "a directory of skills (`DIR`/den/SKILL.md is written)")
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the skills", Example: "  den skills list -j", Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.listSkills() },
	}, &cobra.Command{
		Use: "get NAME", Short: "Print a skill", Example: "  den skills get den", Args: args(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := loadSkill(args[0])
			return a.result(err, s, func(w io.Writer) { fmt.Fprint(w, s.Content) })
		},
	}, install)
	return cmd
}

func loadSkill(name string) (skill, error) {
	raw, err := skillFiles.ReadFile(path.Join("skills", name, "SKILL.md"))
	if err != nil {
		return skill{}, fault.Hintf(fault.Errorf(fault.NotFound, "no skill '%s'", name), "'den skills list' lists them")
	}
	s := skill{Name: name, Content: string(raw)}
	for line := range strings.Lines(s.Content) {
		if d, ok := strings.CutPrefix(line, "description: "); ok {
			s.Description = strings.TrimSpace(d)
		}
	}
	return s, nil
}

func (a *app) listSkills() error {
	entries, err := skillFiles.ReadDir("skills")
	if err != nil {
		return err
	}
	var all []skill
	for _, e := range entries {
		s, err := loadSkill(e.Name())
		if err != nil {
			return err
		}
		s.Content = ""
		all = append(all, s)
	}
	return a.answer(map[string]any{"skills": all}, func(w io.Writer) {
		for _, s := range all {
			fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Description)
		}
	})
}

// ownDirs are where each kind of agent looks for skills, below the user's home
// and below a project.
func ownDirs() map[string][]string {
	return map[string][]string{
		"claude": {".claude/skills"}, "codex": {".codex/skills", ".agents/skills"},
		"copilot": {".copilot/skills", ".agents/skills"}, "acp": {".agents/skills", ".claude/skills"},
	}
}

func (a *app) installSkill(args []string, project bool, to string) error {
	names, below := []string{"den"}, agentDirs
	if len(args) == 1 {
		names = args
		if own, ok := ownDirs()[args[0]]; ok {
			names, below = []string{"den", "channel"}, own
		}
	}
	var dirs []string
	switch {
	case to != "":
		dirs = []string{to}
	case project:
		dirs = below
	default:
		home := a.getenv("HOME")
		if home == "" {
			return fault.Hintf(fault.Errorf(fault.Usage, "HOME is not set"), "say where with --to DIR")
		}
		for _, d := range below {
			dirs = append(dirs, filepath.Join(home, d))
		}
	}
	var written []string
	for _, name := range names {
		files, err := writeSkill(name, dirs)
		if err != nil {
			return err
		}
		written = append(written, files...)
	}
	return a.answer(map[string]any{"installed": written}, func(w io.Writer) {
		for _, file := range written {
			fmt.Fprintln(w, file)
		}
	})
}

// writeSkill puts a skill into directories of skills.
func writeSkill(name string, dirs []string) (written []string, err error) {
	s, err := loadSkill(name)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return nil, fmt.Errorf("install skill '%s': %w", name, err)
		}
		file := filepath.Join(target, "SKILL.md")
		if err := atomicfile.Write(file, []byte(s.Content)); err != nil {
			return nil, fmt.Errorf("install skill '%s': %w", name, err)
		}
		written = append(written, file)
	}
	return written, nil
}
