package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"den/internal/base/build"
)

// manCmd makes manual pages from the same tree as the help.
func (a *app) manCmd() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Print den's manual page, or write one for each command",
		Example: "  den man | man -l -\n  den man --dir /usr/local/share/man/man1",
		GroupID: groupMachine,
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
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	fmt.Fprintf(w, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(long))
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
