package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// lasting are the agents that are in the file from the first to the last
// moment. Nothing that happens to the file may remove one.
var lasting = []string{"a0", "a1", "a2", "a3"}

// visitors come, go and are renamed into each other.
var visitors = []string{"x", "y"}

// stormFile is the workspace's file as somebody edits it.
type stormFile struct {
	kind     string
	visitors []string
	env      map[string]int // counts the changes of an agent's environment
	words    int            // counts the changes of the first words
}

func (s *storm) file() string { return filepath.Join(s.dir, "den.toml") }

func (s *storm) promptFile(agent string) string { return filepath.Join(s.dir, agent+".md") }

// render returns the file's text.
func (s *storm) render() string {
	text := fmt.Sprintf("[workspace]\nname = \"chaos\"\n[session]\nprovider = %q\n[keeper]\npatrol_interval = \"1s\"\n", s.config.kind)
	for _, name := range append(lasting[:len(lasting):len(lasting)], s.config.visitors...) {
		text += fmt.Sprintf("[[agents]]\nname = %q\nstart_command = [\"perl\", %q, %q, %q]\n", name, filepath.Join(s.dir, "recorder.pl"), name, s.traces)
		text += fmt.Sprintf("env = { EDIT = \"%d\" }\nprompt_template = %q\nnudge = %q\n", s.config.env[name], name+".md", s.firstWords(name))
		text += fmt.Sprintf("pre_start = [%q]\nsession_setup = [%q]\nsession_setup_script = \"script.sh\"\n",
			slowly(s.traces, "preparing", "prepared"), slowly(s.traces, "setting-up", "set-up"))
		text += "restart = { max_restarts = 100000, backoff = \"10ms\", backoff_max = \"50ms\" }\n"
		if s.config.kind != "subprocess" { // nobody sees a prompt there
			text += "ready_prompt_prefix = \"ready>\"\n"
		}
	}
	return text
}

func (s *storm) firstWords(name string) string {
	return fmt.Sprintf("%s %d of %s", firstWords, s.config.words, name)
}

const firstWords = "first words"

// save writes the file, in one of the ways of editors: over the old one, which
// is empty for a moment, or beside it.
func (s *storm) save(rnd *rand.Rand, text string) {
	path := s.file()
	if rnd.IntN(2) == 0 {
		path += ".new"
	}
	s.write(path, text)
	if path == s.file() {
		return
	}
	if err := os.Rename(path, s.file()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *storm) write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// edit changes something that a keeper may act on.
func (s *storm) edit(rnd *rand.Rand) {
	agent := lasting[rnd.IntN(len(lasting))]
	switch rnd.IntN(4) {
	case 0:
		s.figures.add("edits of an environment")
		s.config.env[agent]++
	case 1:
		s.figures.add("edits of a prompt")
		s.write(s.promptFile(agent), fmt.Sprintf("prompt %d\n", rnd.IntN(1e6)))
	case 2:
		s.figures.add("edits of first words")
		s.config.words++
	default:
		s.changeVisitors()
	}
	s.save(rnd, s.render())
	if rnd.IntN(2) == 0 { // else the keeper notices by itself
		s.must("reload")
	}
}

func (s *storm) changeVisitors() {
	switch {
	case len(s.config.visitors) == 0:
		s.figures.add("agents added")
		s.config.visitors = visitors[:1]
	case s.config.visitors[0] == visitors[0]:
		s.figures.add("agents renamed")
		s.config.visitors = visitors[1:]
	default:
		s.figures.add("agents removed")
		s.config.visitors = nil
	}
}

// ruin makes the file for a moment what a killed editor or a full disk leaves.
// The keeper must not take it, and ends nobody for it.
func (s *storm) ruin(rnd *rand.Rand) {
	whole := s.render()
	first := strings.Index(whole, "[[agents]]")
	second := first + strings.Index(whole[first+1:], "[[agents]]") + 1
	refused := true // and not held: it is no valid file
	switch rnd.IntN(4) {
	case 0:
		s.figures.add("files emptied")
		s.write(s.file(), "")
	case 1:
		s.figures.add("files of garbage")
		s.write(s.file(), "\x00\xff[[agents")
	case 2:
		s.figures.add("files cut anywhere in the first agent")
		s.write(s.file(), whole[:first+rnd.IntN(second-first)])
		refused = false
	default:
		s.figures.add("files cut after the first agent")
		s.write(s.file(), whole[:second])
		refused = false
	}
	if out, _, code := s.call("reload"); code == 0 {
		s.t.Errorf("the keeper took a ruined file: %s", out)
	}
	if refused && rnd.IntN(2) == 0 {
		s.killKeeperAs("keepers killed beside a ruined file")
		if out, _, code := s.call("up", "-t", "60s"); code == 0 {
			s.t.Errorf("a keeper started with a ruined file: %s", out)
		}
	}
	s.save(rnd, whole)
	s.up()
	s.must("reload")
}
