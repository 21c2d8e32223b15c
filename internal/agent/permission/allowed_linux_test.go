package permission_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/permission/commandline"
	"den/internal/testkit/jail"
	"den/internal/testkit/jail/lines"
	"den/internal/testkit/need"
)

// jailed is the default policy of an agent in the jail's directory.
func jailed(t testing.TB) *permission.Policy {
	t.Helper()
	p, err := permission.NewPolicy(permission.Settings{
		Dir: jail.Dir, Home: jail.Home, Exists: func(file string) bool { return file == jail.Dir+"/.git" },
		Readlink: func(file string) (string, error) {
			if to, ok := jail.Links[file]; ok {
				return to, nil
			}
			return "", os.ErrNotExist
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// harmlessPrograms are the programs of the commands that the default allows.
func harmlessPrograms() (all []lines.Program, names []string) {
	for _, name := range slices.Sorted(maps.Keys(permission.HarmlessCommands())) {
		all = append(all, lines.Program{Name: name, Options: permission.HarmlessCommands()[name]})
		program, _, _ := strings.Cut(name, " ")
		names = append(names, program)
	}
	return all, names
}

// runners are programs that harmless commands may be run by.
var runners = []string{"env", "timeout", "nice", "nohup", "setsid", "stdbuf", "xargs", "time", "ionice", "taskset", "chrt"}

// linesRun is how many allowed lines each shell runs; DEN_JAIL is how many are
// made instead.
const linesRun = 300

// What the default policy allows unasked starts no program but harmless ones,
// reads nothing outside the agent's directory, reaches nothing and writes
// nothing but the files that its redirections name. The oracles are the shells
// themselves.
func TestAllowedLinesDoNoHarm(t *testing.T) {
	made, _ := strconv.Atoi(os.Getenv("DEN_JAIL"))
	for i, shell := range []string{"bash", "dash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			need.Program(t, shell)
			programs, names := harmlessPrograms()
			j := jail.Open(t, append(names, runners...)...)
			p := jailed(t)
			g := lines.Generator{Rand: rand.New(rand.NewPCG(uint64(i), seed(t))), Programs: programs, Files: []string{"a.txt", "'b c.txt'", "sub", "sub/d.txt", ".", "./a.txt", jail.Dir + "/a.txt", "nosuch", "sub/../a.txt"}}
			n, allowed, cut, violations := 0, 0, 0, 0
			for made > 0 && n < made || made == 0 && allowed < linesRun {
				n++
				line := g.Line()
				if outcome, _ := p.Decide(run(line)); outcome != permission.Allow {
					continue
				}
				allowed++
				did, err := j.Run(shell, line)
				if err != nil {
					t.Fatal(err)
				}
				if did.TimedOut {
					cut++
				}
				if why := harm(line, did); why != "" {
					violations++
					t.Errorf("%s %s\nby a line that is allowed unasked: %q", shell, why, line)
				}
			}
			t.Logf("%s: %d lines made, %d allowed and run (%d %%), %d cut off after a time, %d violations", shell, n, allowed, 100*allowed/n, cut, violations)
		})
	}
}

// The lines that were holes are asked for, and what is near to them and plain
// is not: a policy that asks for everything is soon switched off.
func TestHolesAreAskedForAndPlainLinesAreNot(t *testing.T) {
	p := jailed(t)
	for want, all := range map[permission.Outcome][]string{permission.Ask: lines.Holes, permission.Allow: lines.Plain} {
		for _, line := range all {
			if outcome, why := p.Decide(run(line)); outcome != want {
				t.Errorf("%q: %s (%s), want %s", line, outcome, why, want)
			}
		}
	}
}

// seed is another one for each long run.
func seed(t *testing.T) uint64 {
	if text := os.Getenv("DEN_JAIL_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 20261128
}

// harm says what a line did that it must not, "" if nothing.
func harm(line string, did jail.Did) string {
	switch {
	case len(did.Calls) > 0:
		return "runs " + strings.Join(did.Calls[0], " ")
	case len(did.Read) > 0:
		return "reads " + did.Read[0]
	case did.Reached > 0:
		return "reaches the network"
	}
	said := commandline.Parse(line).Files
	for _, file := range did.Changed {
		if file == jail.Dir || file == jail.Dir+"/sub" || file == "/tmp" {
			continue // told by the file that is new in it; zsh has here-documents in files that are gone at once
		}
		if strings.HasPrefix(file, jail.Dir+"/.git/index") || file == jail.Dir+"/.git" {
			continue // git keeps there what it has seen of the files
		}
		if !strings.HasPrefix(file, jail.Dir+"/") || !slices.ContainsFunc(said, func(f commandline.File) bool {
			return f.Write && strings.HasSuffix(file, "/"+path.Base(f.Path))
		}) {
			return "writes " + file
		}
	}
	return ""
}

// FuzzAllowedLines: a line that is allowed unasked hides nothing that stands
// before or behind it, and runs harmless commands only.
func FuzzAllowedLines(f *testing.F) {
	for _, line := range slices.Concat(lines.Holes, lines.Plain) {
		f.Add(line)
	}
	p := jailed(f)
	known := permission.HarmlessCommands()
	f.Fuzz(func(t *testing.T, line string) {
		allowed := func(line string) bool {
			outcome, _ := p.Decide(run(line))
			return outcome == permission.Allow
		}
		if !allowed(line) {
			return
		}
		for _, longer := range []string{line + "\npwn", "pwn\n" + line, "pwn | " + line, line + "\n$(pwn)", "$(pwn) " + line, "echo $x[" + line} {
			if allowed(longer) {
				t.Errorf("%q is allowed, and so is %q", line, longer)
			}
		}
		if !allowed("\n " + line + "\n\n") {
			t.Errorf("%q is allowed, and asked for with blanks around it", line)
		}
		for _, c := range innermost(commandline.Parse(line).Commands) {
			name := c.Name().Text
			if _, ok := known[name]; !ok && name != "git" {
				t.Errorf("%q is allowed and runs %s", line, name)
			}
		}
	})
}

// innermost are the commands that wrappers run, and those that run no others.
func innermost(commands []commandline.Command) (all []commandline.Command) {
	for _, c := range commands {
		if len(c.Runs) > 0 {
			all = append(all, innermost(c.Runs)...)
		} else if c.Name().Text != "" {
			all = append(all, c)
		}
	}
	return all
}
