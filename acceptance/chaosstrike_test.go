package acceptance

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// strike does something bad, and sees to it that a keeper runs afterwards.
func (s *storm) strike(rnd *rand.Rand) {
	switch rnd.IntN(12) {
	case 0:
		s.killKeeperAs("keepers killed")
		s.up()
	case 1, 2, 3:
		s.killKeeperInStart(rnd)
	case 4:
		s.killHolder(rnd)
	case 5, 6:
		s.killAgent(rnd)
	case 7, 8:
		s.edit(rnd)
	case 9:
		s.ruin(rnd)
	case 10:
		s.downAndUp()
	default:
		time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond) // let it breathe
	}
}

func (s *storm) up() { s.must("up", "-t", "60s") }

func (s *storm) killKeeperAs(how string) {
	s.figures.add(how)
	s.killKeeper()
}

// killKeeperInStart orders a restart and kills the keeper at some point of it.
func (s *storm) killKeeperInStart(rnd *rand.Rand) {
	agent, at := lasting[rnd.IntN(len(lasting))], stages[rnd.IntN(len(stages))]
	before := len(s.stagesOf(agent))
	s.must("agent", "restart", agent, "--no-wait")
	var since []string
	for end := time.Now().Add(10 * time.Second); !slices.Contains(since, at) && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		since = s.stagesOf(agent)[before:]
	}
	time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond) // anywhere between this stage and the next
	stage := "stopping"
	if since = s.stagesOf(agent)[before:]; len(since) > 0 {
		stage = since[len(since)-1]
	}
	s.killKeeperAs("keepers killed in a start, after " + stage)
	s.up()
}

// holders are the processes that hold the terminals or the pipes of agents.
var holders = map[string][]string{"native": {"den", "host"}, "tmux": {"tmux"}, "subprocess": {"den", "shim"}}

// killHolder kills one of them.
func (s *storm) killHolder(rnd *rand.Rand) {
	command := holders[s.config.kind]
	if victims := s.processes(command...); len(victims) > 0 {
		s.figures.add(strings.Join(command, " ") + " processes killed")
		s.kill([]int{victims[rnd.IntN(len(victims))]})
	}
}

func (s *storm) killAgent(rnd *rand.Rand) {
	name := lasting[rnd.IntN(len(lasting))]
	for _, r := range s.recorders() {
		if r.name == name {
			s.figures.add("agents killed")
			s.killRecorder(r.pid, name)
		}
	}
}

func (s *storm) downAndUp() {
	s.figures.add("downs")
	s.watch.pause()
	defer s.watch.resume()
	s.must("down", "-t", "60s")
	if left := s.recorders(); len(left) > 0 {
		s.t.Errorf("after 'down' there are %v", left)
	}
	s.up()
}
