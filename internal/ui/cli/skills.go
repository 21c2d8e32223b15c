package cli

import (
	"embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"

	"github.com/spf13/cobra"
)

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
		GroupID: groupMachine,
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
		RunE: func(_ *cobra.Command, args []string) error { return a.getSkill(args[0]) },
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

func (a *app) getSkill(name string) error {
	s, err := loadSkill(name)
	return a.result(err, s, func(w io.Writer) { fmt.Fprint(w, s.Content) })
}

// ownDirs are where each kind of agent looks for skills, below the user's home
// and below a project.
var ownDirs = map[string][]string{
	"claude": {".claude/skills"}, "codex": {".codex/skills", ".agents/skills"},
	"copilot": {".copilot/skills", ".agents/skills"}, "acp": {".agents/skills", ".claude/skills"},
}

func (a *app) installSkill(args []string, project bool, to string) error {
	names, below := []string{"den"}, agentDirs
	if len(args) == 1 {
		names = args
		if own, ok := ownDirs[args[0]]; ok {
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
