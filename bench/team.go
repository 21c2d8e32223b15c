package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"den/internal/chat/irc"
	"den/internal/keeper"
)

const teamChannel = "#team"

// teamScript answers a mention with the time at which it was read, and the
// last word of it.
const teamScript = `LC_ALL=C
read -r line
echo "$EPOCHREALTIME ${line##* }"
`

// team is a workspace of scripted agents in one channel, and a person there.
type team struct {
	home   *denHome
	dir    string // of the workspace
	n      int
	isUp   bool
	person *ircConn // or nil: has not joined
}

func (b *bench) newTeam(n int) (*team, error) {
	script := filepath.Join(b.tmp, "answer")
	if err := os.WriteFile(script, []byte(teamScript), 0o600); err != nil {
		return nil, err
	}
	config := "[workspace]\nname = \"bench\"\n"
	for i := range n {
		config += fmt.Sprintf("[[agents]]\nname = %q\nagent = \"script\"\nstart_command = [\"bash\", %q]\nchannels = [%q]\n", teamAgent(i), script, teamChannel)
	}
	home, file, err := b.newWorkspace(config)
	if err != nil {
		return nil, err
	}
	// The sockets that are found by nick belong to this Home too.
	home.env = append(home.env, "XDG_RUNTIME_DIR="+filepath.Dir(home.dir))
	return &team{home: home, dir: filepath.Dir(file), n: n}, nil
}

func teamAgent(i int) string { return fmt.Sprintf("a%03d", i) }

func (t *team) up() (ms float64, err error) {
	t.isUp = true
	return t.home.timed("up", "--wait", "-t", "3m")
}

func (t *team) down() (ms float64, err error) {
	t.isUp = false
	return t.home.timed("down", "-t", "3m")
}

func (t *team) close() (err error) {
	if t.person != nil {
		closeIRC([]*ircConn{t.person})
	}
	if t.isUp {
		_, err = t.down()
	}
	return errors.Join(err, t.home.end())
}

// join has the person enter the channel, and returns when all agents are there.
func (t *team) join() error {
	var ps keeper.Ps
	if err := t.home.ask(&ps, "ps"); err != nil {
		return err
	}
	if ps.Server == nil {
		return errors.New("the keeper has no chat server")
	}
	all, err := joinIRC(ps.Server.Socket, teamChannel, "person", 1)
	if err != nil {
		return err
	}
	t.person = all[0]
	for deadline := time.Now().Add(3 * time.Minute); ; {
		members, err := t.members()
		if err != nil || members == t.n+1 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d agents are in the channel", members-1, t.n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// members counts who is in the channel.
func (t *team) members() (n int, err error) {
	if err := t.person.send("WHO %s", teamChannel); err != nil {
		return 0, err
	}
	err = t.person.until(func(m irc.Message) bool {
		if m.Command == irc.RPL_WHOREPLY {
			n++
		}
		return m.Command == irc.RPL_ENDOFWHO
	})
	return n, err
}

// harnesses returns the processes of the agents' harnesses.
func (t *team) harnesses() ([]int, error) {
	var ps keeper.Ps
	if err := t.home.ask(&ps, "ps"); err != nil {
		return nil, err
	}
	var pids []int
	for _, a := range ps.Agents {
		s, err := t.home.status(a.DenSession)
		if err != nil {
			return nil, err
		}
		pids = append(pids, s.PID)
	}
	if len(pids) != t.n {
		return nil, fmt.Errorf("%d harnesses of %d agents", len(pids), t.n)
	}
	return pids, nil
}

// queue is where an agent's prompts are on disk.
func (t *team) queue(i int) string {
	return filepath.Join(t.dir, ".den", "minds", teamAgent(i), "queue")
}
