package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"den/internal/place/sandbox"
)

// sandboxes measures what a sandbox adds to the start of a program, and to that
// of an agent.
func sandboxes(b *bench) error {
	support := sandbox.Probe(b.den)
	if support.Landlock == 0 {
		b.out.note("this kernel has no Landlock: there is no sandbox")
		return nil
	}
	if err := b.sandboxedPrograms(support); err != nil {
		return err
	}
	return b.sandboxedAgents()
}

// sandboxedPrograms times /bin/true from spawn to exit.
func (b *bench) sandboxedPrograms(support sandbox.Support) error {
	program := func(who string, argv []string) lane {
		return lane{b.out.series("/bin/true", who, "ms", false), func() (float64, error) { return timed(cleanEnv(), argv...) }}
	}
	all := []lane{program("no sandbox", []string{"/bin/true"})}
	ways := map[string]sandbox.Support{"den, Landlock alone": {Landlock: support.Landlock}}
	if support.Namespaces != "" {
		ways["den, namespaces"] = support
	}
	for who, held := range ways {
		p := sandbox.Policy{
			Agent: "bench", WorkDir: b.tmp, Home: must(os.UserHomeDir()), Private: filepath.Join(b.tmp, "sandbox", who), Network: sandbox.NetworkAny, Held: held,
		}
		if err := p.Prepare(); err != nil {
			return err
		}
		all = append(all, program(who, p.Wrap(b.den, []string{"/bin/true"})))
	}
	for who, argv := range map[string][]string{
		"unshare": {"unshare", "--user", "--map-current-user", "--mount", "--ipc", "/bin/true"},
		"bwrap":   {"bwrap", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--unshare-ipc", "/bin/true"},
	} {
		if file, err := exec.LookPath(argv[0]); err == nil {
			argv[0] = file
			all = append(all, program(who, argv))
		}
	}
	if err := os.Chdir(b.tmp); err != nil { // where the policies let it be
		return err
	}
	if err := b.warmRace(b.rounds(60, 10), all...); err != nil {
		return err
	}
	for _, c := range all[1:] {
		b.out.note("%s adds %s ms to a start", c.line.Who, number(c.line.median()-all[0].line.median()))
	}
	return nil
}

// sandboxedAgents times 'den up --wait' of agents with a sandbox and without.
func (b *bench) sandboxedAgents() (err error) {
	n := pick(b, 10, 3)
	for _, sandboxed := range []bool{false, true} {
		who := "den, no sandbox"
		config := "[workspace]\nname = \"bench\"\n[defaults]\n"
		if sandboxed {
			who = "den, sandbox"
			config += "sandbox = true\n"
		}
		line := b.out.series(fmt.Sprintf("%d agents, all running", n), who, "ms", false)
		for range b.rounds(10, 2) {
			if err := b.sandboxedUp(config+bashAgents(n), line); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) sandboxedUp(config string, line *series) (err error) {
	home, _, err := b.newWorkspace(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.do("down"), home.end()) }()
	b.calm.await()
	ms, err := home.timed("up", "--wait", "--trust")
	line.add(ms)
	return err
}
