package cell

import (
	"strings"
	"testing"

	"den/internal/process/pty"
)

// Which command lines lead to a shell.
func TestLeads(t *testing.T) {
	for _, c := range []struct {
		argv string
		want Evidence
	}{
		{"ssh host", Carries},
		{"ssh -p 22 -o BatchMode=yes -tt -i key me@host", Carries},
		{"ssh -t host sudo -s", Carries},
		{"ssh host psql", NoShell},
		{"ssh -t host docker exec -it db psql", NoShell},
		{"ssh -t host docker exec -it web bash", Carries},
		{"sudo -s", Carries},
		{"sudo -u me -i", Carries},
		{"sudo -n bash --norc", Carries},
		{"sudo vim /etc/hosts", NoShell},
		{"su", Carries},
		{"su - me", Carries},
		{"su me -c psql", NoShell},
		{"docker exec -it web sh", Carries},
		{"docker exec -it db psql", NoShell},
		{"docker exec -it bash-1 psql", NoShell},
		{"docker run -it debian", MayCarry},
		{"docker logs -f web", NoShell},
		{"podman --root /r exec -it box /bin/sh", Carries},
		{"kubectl exec -it pod -- bash", Carries},
		{"kubectl logs pod", NoShell},
		{"nsenter -t 1 -a", MayCarry},
		{"nsenter -t 1 -a bash", MayCarry},
		{"bash --norc", Carries},
		{"-bash", Carries},
		{"bash ask.sh", NoShell},
		{"bash -c read", NoShell},
		{"zsh -f", Carries},
		{"dash", Carries},
		{"python3", NoShell},
		{"psql postgres", NoShell},
	} {
		argv := strings.Fields(c.argv)
		if got := leads(shellName(argv[0]), argv); got != c.want {
			t.Errorf("%s: %q, want %q", c.argv, got, c.want)
		}
	}
	for code, want := range map[string]Evidence{
		"bash --norc": Carries, "exec zsh -f": Carries, "cd /; sudo -s": Carries, "FOO=1 su": Carries, "ssh 'host'": Carries,
		"make": NoShell, "": NoShell, "bash -c 'read x'": NoShell, "sudo -s; psql": NoShell, `read -e -p "$ " x`: NoShell,
	} {
		if got := leadsCode(code); got != want {
			t.Errorf("code %s: %q, want %q", code, got, want)
		}
	}
}

// What the kernel says of the foreground counts, not what a process calls itself.
func TestShellAmong(t *testing.T) {
	bash := pty.Program{Process: pty.Process{PID: 7}, Name: "bash", Exe: "bash", Argv: []string{"bash"}}
	liar := pty.Program{Process: pty.Process{PID: 7}, Name: "bash", Exe: "python3.13", Argv: []string{"bash"}}
	root := pty.Program{Process: pty.Process{PID: 7}, Name: "bash", Argv: []string{"bash"}}
	ssh := pty.Program{Process: pty.Process{PID: 8}, Name: "ssh", Exe: "ssh", Argv: []string{"ssh", "host"}}
	for _, c := range []struct {
		name     string
		programs []pty.Program
		reader   int
		want     Evidence
	}{
		{"a shell reads", []pty.Program{bash}, 7, Reads},
		{"something reads that calls itself a shell", []pty.Program{liar}, 7, NoShell},
		{"something calls itself a shell", []pty.Program{liar}, 0, NoShell},
		{"a shell that may not be looked at", []pty.Program{root}, 0, Carries},
		{"ssh beside others", []pty.Program{liar, ssh}, 0, Carries},
		{"nothing", nil, 0, NoShell},
	} {
		if got := shellAmong(c.programs, c.reader); got.Evidence != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Evidence, c.want)
		}
	}
}

// A shell with marks that runs a command is not at its prompt, except where that
// command has put another shell in its place.
func TestLookInsideOfAShellWithMarks(t *testing.T) {
	programs := []pty.Program{{Process: pty.Process{PID: 7}, Exe: "bash", Argv: []string{"bash"}}}
	for code, want := range map[string]Evidence{`read -e -p "$ " x`: NoShell, "exec bash": Reads, "": NoShell} {
		o := Observed{Ready: true, Probe: pty.Readiness{State: pty.Ready, PID: 7}, Shell: runs}
		o.Shell.Input.Line, o.Shell.Inquiry.Code = 3, code
		if o.LookInside(programs, 7); o.Inside.Evidence != want {
			t.Errorf("%q: %q, want %q", code, o.Inside.Evidence, want)
		}
	}
}

func TestShellPrompts(t *testing.T) {
	for _, prompt := range []string{
		"$ ", "# ", "me@host:~$ ", "root@3f2a1b:/var/log# ", "[root@host ~]# ", "bash-5.2$ ", "/ # ", "~/src $ ", "(venv) me@host:~$ ", "(venv) $ ", "host% ", "remote$ ", "me@host ~ % ",
	} {
		if !shellPrompt.Get().MatchString(prompt) {
			t.Errorf("%q is not taken for a shell's prompt", prompt)
		}
	}
	for _, other := range []string{
		"", ">>> ", "... ", "db=# ", "db=> ", "postgres-# ", "db(# ", "% ", "mysql> ", "(gdb) ", "sqlite> ", "irb(main):001> ", "Password: ", "Continue? ", "Price in $ ", "100% ", "router#", "> ", "In [1]: ",
	} {
		if shellPrompt.Get().MatchString(other) {
			t.Errorf("%q is taken for a shell's prompt", other)
		}
	}
}
