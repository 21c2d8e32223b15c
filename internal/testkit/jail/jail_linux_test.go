package jail_test

import (
	"slices"
	"testing"

	"den/internal/testkit/jail"
	"den/internal/testkit/need"
)

// A jail that sees nothing proves nothing: each sort of harm is seen.
func TestHarmIsSeen(t *testing.T) {
	called := func(d jail.Did) bool { return len(d.Calls) > 0 && len(d.Changed) == 0 }
	wrote := func(file string) func(jail.Did) bool {
		return func(d jail.Did) bool { return slices.Contains(d.Changed, file) && len(d.Calls) == 0 }
	}
	j := jail.Open(t, "cat", "sleep", "setsid", "chmod", "rm", "touch", "true")
	for _, row := range []struct {
		name, line string
		shells     []string // all where there is none
		seen       func(jail.Did) bool
	}{
		{name: "program", line: "pwn a 'b c'", seen: func(d jail.Did) bool {
			return len(d.Calls) == 1 && slices.Equal(d.Calls[0], []string{"pwn", "a", "b c"})
		}},
		{name: "program by its path", line: "/usr/bin/pwn", seen: called},
		{name: "program in the background", line: "{ sleep 0.2; pwn; } &", seen: called},
		{name: "program that lost its parent", line: "( ( setsid sh -c 'sleep 0.2; pwn' & ) & ); exit 3", seen: func(d jail.Did) bool { return called(d) && d.Status == 3 }},
		{name: "new file", line: "echo > new", seen: wrote(jail.Dir + "/new")},
		{name: "file outside", line: "echo > ../outside/new", seen: wrote(jail.Home + "/outside/new")},
		{name: "temporary file", line: "echo > /tmp/new", seen: wrote("/tmp/new")},
		{name: "other content", line: "echo X=2 > .env", seen: wrote(jail.Dir + "/.env")},
		{name: "other rights", line: "chmod 777 .env", seen: wrote(jail.Dir + "/.env")},
		{name: "removed file", line: "rm .env", seen: wrote(jail.Dir + "/.env")},
		{name: "file that is made and removed", line: "touch new; rm new", seen: wrote(jail.Dir)},
		{name: "file that is read", line: "cat sub/secret", seen: func(d jail.Did) bool {
			return slices.Equal(d.Read, []string{jail.Outside + "/secret"}) && len(d.Changed) == 0
		}},
		{name: "names that are read", line: "sleep 0.1; echo ../outside/*", seen: func(d jail.Did) bool { return slices.Equal(d.Read, []string{jail.Outside}) && len(d.Changed) == 0 }},
		{name: "connection", line: "exec 3<>/dev/tcp/127.0.0.1/7", shells: []string{"bash"}, seen: func(d jail.Did) bool { return d.Reached == 1 }},
		{name: "datagram", line: "echo > /dev/udp/127.0.0.1/7", shells: []string{"bash"}, seen: func(d jail.Did) bool { return d.Reached == 1 }},
		{name: "code in arithmetic", line: "true 'a[$(pwn)]'; echo $((_))", shells: []string{"bash"}, seen: called},
		{name: "code in a subscript", line: "echo $path['$(pwn)']", shells: []string{"zsh"}, seen: called},
		{name: "redirection that runs a program", line: "< a.txt", shells: []string{"zsh"}, seen: called},
	} {
		t.Run(row.name, func(t *testing.T) {
			shells := row.shells
			if shells == nil {
				shells = []string{"bash", "dash", "zsh"}
			}
			for _, shell := range shells {
				need.Program(t, shell)
				did, err := j.Run(shell, row.line)
				if err != nil || !row.seen(did) || !did.Harm() {
					t.Errorf("%s: %+v, %v", shell, did, err)
				}
				if after, err := j.Run(shell, ":"); err != nil || after.Harm() {
					t.Errorf("%s: the next line: %+v, %v", shell, after, err)
				}
			}
		})
	}
}

// The machine's own programs and files are not there.
func TestNothingOfTheMachineIsThere(t *testing.T) {
	j := jail.Open(t)
	for _, line := range []string{"test ! -e /root", "test ! -e /etc/shadow", "test ! -e /bin/id", "test ! -e /.old", "! echo > /bin/x", "test $$ -ne 1"} {
		if did, err := j.Run("dash", line); err != nil || did.Status != 0 || did.Harm() {
			t.Errorf("%s: %+v, %v", line, did, err)
		}
	}
}
