package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strings"
)

// remote is a command on another machine, whose key is not known yet: ssh asks
// whether it is the right one. The other machine is a server of the task's own.
var remote = task{
	name: "ssh", about: "ssh to a new machine", needs: []string{"ssh", "ssh-keygen", "/usr/sbin/sshd"},
	lay: func(g *ground) (map[string]string, error) {
		fingerprint, err := laySSH(g)
		return map[string]string{"fingerprint": fingerprint, "disk": g.key, "exit code": "5"}, err
	},
	cli: func(a *agent) {
		a.learns("fingerprint", fingerprintIn, a.needs("(yes/no", a.sh(`den new work && den run work 'ssh -F ssh_config far' -j`)))
		end := a.sh(`den answer work yes -j; den run work ./check.sh -j`)
		a.learns("disk", `disk lamp(\d+)`, end)
		a.learns("exit code", `"exit_code":(\d+)`, end)
	},
	mcp: func(a *agent) {
		a.learns("fingerprint", fingerprintIn, a.needs("(yes/no", a.use("run", arguments{"code": "ssh -F ssh_config far"})))
		a.needs("far$", a.use("answer", arguments{"text": "yes"}))
		end := a.use("answer", arguments{"text": "./check.sh; echo exit=$?"})
		a.learns("disk", `disk lamp(\d+)`, end)
		a.learns("exit code", `exit=(\d+)`, end)
	},
	tmux: func(a *agent) {
		look := func() string { return a.sh(`look t`) }
		first := a.sh(`tmux new-session -d -s t; tmux send-keys -t t 'ssh -F ssh_config far' Enter; look t`)
		a.learns("fingerprint", fingerprintIn, a.again("(yes/no", first, look))
		a.again("far$", a.sh(`tmux send-keys -t t yes Enter; look t`), look)
		end := a.sh(`tmux send-keys -t t './check.sh; echo exit=$?' Enter; look t 'exit=[0-9]'`)
		a.learns("disk", `disk lamp(\d+)`, end)
		a.learns("exit code", `exit=(\d+)`, end)
	},
	commander: func(a *agent) {
		pid, first := a.start(withTerminal("ssh -F ssh_config far"), commanderPatience)
		look := func() string { return a.last(pid, 5) }
		a.learns("fingerprint", fingerprintIn, a.again("(yes/no", first, look))
		a.again("far$", a.enters(pid, "yes"), look)
		end := a.again("disk lamp", a.enters(pid, "./check.sh; echo exit=$?"), look)
		a.learns("disk", `disk lamp(\d+)`, end)
		a.learns("exit code", `exit=(\d+)`, end)
	},
}

const fingerprintIn = `(SHA256:[\w+/]+)`

// laySSH starts a server that knows the agent's key, and returns the
// fingerprint of its own. Whoever comes gets a plain bash.
func laySSH(g *ground) (fingerprint string, err error) {
	for _, key := range []string{"hostkey", "userkey"} {
		if _, err := g.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key); err != nil {
			return "", err
		}
	}
	shown, err := g.run("ssh-keygen", "-l", "-f", "hostkey.pub")
	if err != nil {
		return "", err
	}
	words := strings.Fields(shown)
	if len(words) < 2 {
		return "", fmt.Errorf("ssh-keygen shows no fingerprint: %q", shown)
	}
	me, err := user.Current()
	if err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	server := fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PrintMotd no
PrintLastLog no
ForceCommand cd %s && exec env -i TERM=xterm LC_ALL=C.UTF-8 PATH=/usr/bin:/bin 'PS1=far$ ' bash --norc --noprofile
`, port, g.path("hostkey"), g.path("userkey.pub"), g.dir)
	client := fmt.Sprintf(`Host far
HostName 127.0.0.1
Port %d
User %s
IdentityFile %s
IdentitiesOnly yes
UserKnownHostsFile %s
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking ask
`, port, me.Username, g.path("userkey"), g.path("known_hosts"))
	if err := errors.Join(g.write("sshd_config", server), g.write("ssh_config", client)); err != nil {
		return "", err
	}
	return words[1], g.startSSHD(port)
}

func (g *ground) startSSHD(port int) error {
	const privsep = "/run/sshd" // as root it insists on it
	if os.Getuid() == 0 {
		switch err := os.Mkdir(privsep, 0o755); {
		case err == nil:
			g.stop = append(g.stop, func() error { return os.Remove(privsep) })
		case !errors.Is(err, os.ErrExist):
			return err
		}
	}
	cmd := exec.Command("/usr/sbin/sshd", "-D", "-f", g.path("sshd_config"))
	if err := cmd.Start(); err != nil {
		return err
	}
	g.stop = append(g.stop, func() error {
		kill(cmd)
		return nil
	})
	return awaitPort(port)
}
