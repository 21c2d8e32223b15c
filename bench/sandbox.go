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
	type contestant struct {
		line *series
		argv []string
	}
	all := []contestant{{b.out.series("/bin/true", "no sandbox", "ms", false), []string{"/bin/true"}}}
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
		all = append(all, contestant{b.out.series("/bin/true", who, "ms", false), p.Wrap(b.den, []string{"/bin/true"})})
	}
	for who, argv := range map[string][]string{
		"unshare": {"unshare", "--user", "--map-current-user", "--mount", "--ipc", "/bin/true"},
		"bwrap":   {"bwrap", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--unshare-ipc", "/bin/true"},
	} {
		if file, err := exec.LookPath(argv[0]); err == nil {
			argv[0] = file
			all = append(all, contestant{b.out.series("/bin/true", who, "ms", false), argv})
		}
	}
	if err := os.Chdir(b.tmp); err != nil { // where the policies let it be
		return err
	}
	for i := range b.rounds(60, 10) + 1 {
		b.calm.await()
		for _, c := range all {
			ms, err := timed(cleanEnv(), c.argv...)
			if err != nil {
				return err
			}
			if i > 0 { // the first round was for the caches
				c.line.add(ms)
			}
		}
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
	}
	for _, c := range all[1:] {
		b.out.note("%s adds %s ms to a start", c.line.Who, number(c.line.median()-all[0].line.median()))
	}
	return nil
}

// sandboxedAgents times 'den up --wait' of agents with a sandbox and without.
func (b *bench) sandboxedAgents() (err error) {
	n := 10
	if b.quick {
		n = 3
	}
	for _, sandboxed := range []bool{false, true} {
		who := "den, no sandbox"
		config := "[workspace]\nname = \"bench\"\n[defaults]\n"
		if sandboxed {
			who = "den, sandbox"
			config += "sandbox = true\n"
		}
		for i := range n {
			config += fmt.Sprintf("[[agents]]\nname = \"a%d\"\nstart_command = [\"bash\", \"--norc\"]\n", i)
		}
		line := b.out.series(fmt.Sprintf("%d agents, all running", n), who, "ms", false)
		for range b.rounds(10, 2) {
			if err := b.sandboxedUp(config, line); err != nil {
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
