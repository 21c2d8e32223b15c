package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// commanderVariable names the command of Desktop Commander, if it is to be
// measured too: scripts/desktop-commander installs it and prints it.
const commanderVariable = "DESKTOP_COMMANDER_BIN"

// bytesOfAToken is how many bytes of JSON a model's tokenizer takes for a
// token, about.
const bytesOfAToken = 4

// mcpServers measures den's terminals as an MCP client uses them, beside those
// of Desktop Commander.
func mcpServers(b *bench, home *denHome) (err error) {
	den, err := startMCP(home.env, b.tmp, home.bin, "mcp", "--shell", "/bin/bash")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, den.close()) }()
	peer, err := b.startCommander()
	if err != nil {
		return err
	}
	if peer != nil {
		defer func() { err = errors.Join(err, peer.close()) }()
	}
	for _, part := range []func(*bench, *mcpClient, *mcpClient) error{mcpList, mcpTrue, mcpQuestion, mcpREPL} {
		if err := part(b, den, peer); err != nil {
			return err
		}
	}
	return nil
}

// startCommander starts Desktop Commander in a home of its own, or returns nil
// where it is not installed.
func (b *bench) startCommander() (*mcpClient, error) {
	bin := os.Getenv(commanderVariable)
	if bin == "" {
		b.noCommander()
		return nil, nil
	}
	dir := filepath.Join(b.tmp, "commander")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return startMCP(cleanEnv("HOME="+dir, "SHELL=/bin/bash"), dir, bin, "--no-onboarding")
}

func (b *bench) noCommander() {
	b.out.note("%s is not set: Desktop Commander is not measured; 'sh scripts/desktop-commander' installs it", commanderVariable)
}

const (
	whoDen       = "den mcp"
	whoCommander = "Desktop Commander"
)

// mcpList measures what a conversation pays for the tools before it uses one.
func mcpList(b *bench, den, peer *mcpClient) error {
	var all []*series
	for _, who := range []struct {
		name   string
		client *mcpClient
	}{{whoDen, den}, {whoCommander, peer}} {
		if who.client == nil {
			continue
		}
		n, bytes, err := who.client.tools()
		if err != nil {
			return err
		}
		s := b.out.one("tokens of the tool list", who.name, "tokens", float64(bytes)/bytesOfAToken)
		s.Note = fmt.Sprintf("%d tools, %d bytes; a token is %d bytes", n, bytes, bytesOfAToken)
		all = append(all, s)
	}
	compare(all[0], all[1:]...)
	b.out.aim("tool list under 2,500 tokens", all[0].median() < 2500, "%s", number(all[0].median()))
	return nil
}

// duel measures a case of den and, where it is there, of the peer by turns.
func (b *bench) duel(of string, rounds int, den func() (float64, error), peer *mcpClient, theirs func() (float64, error)) (*series, error) {
	lanes := []lane{{b.out.series(of, whoDen, "ms", false), den}}
	if peer != nil {
		lanes = append(lanes, lane{b.out.series(of, whoCommander, "ms", false), theirs})
	}
	err := b.race(rounds, lanes...)
	for _, l := range lanes[1:] {
		compare(lanes[0].line, l.line)
	}
	return lanes[0].line, err
}

func mcpTrue(b *bench, den, peer *mcpClient) error {
	mine := func() (float64, error) {
		return den.expect("run", map[string]any{"code": "true"}, "exit code 0")
	}
	theirs := func() (float64, error) {
		return peer.expect("start_process", map[string]any{"command": "true", "timeout_ms": 5000}, "")
	}
	s, err := b.duel("run true", b.rounds(200, 20), mine, peer, theirs)
	if err == nil {
		b.out.aim("run true under 10 ms", s.median() < 10, "%s ms", number(s.median()))
		b.out.note("den's answer has the exit code; Desktop Commander starts a process for each command, and tells no exit code")
	}
	return err
}

// expect calls a tool whose answer must have these words, and returns the time.
func (c *mcpClient) expect(tool string, arguments map[string]any, words string) (float64, error) {
	text, ms, err := c.call(tool, arguments)
	if err == nil {
		err = mustHave(tool, words, text)
	}
	return ms, err
}

func mustHave(tool, words, answer string) error {
	if !strings.Contains(answer, words) {
		return fmt.Errorf("%s: no %q in %q", tool, words, answer)
	}
	return nil
}

// pidIn is how Desktop Commander tells which process it started.
var pidIn = regexp.MustCompile(`PID (\d+)`)

// commanderPatience is how long Desktop Commander is told to wait, in
// milliseconds.
const commanderPatience = 2000

func mcpQuestion(b *bench, den, peer *mcpClient) error {
	mine := func() (float64, error) {
		asked, err := den.expect("run", map[string]any{"code": `read -p "name? " n; echo "hello $n"`}, "asking")
		if err != nil {
			return 0, err
		}
		answered, err := den.expect("answer", map[string]any{"text": "bob"}, "hello bob")
		return asked + answered, err
	}
	theirs := func() (float64, error) {
		text, asked, err := peer.call("start_process", map[string]any{
			// It has no terminal, for which read would show its question, and the
			// output of a process that has ended is lost.
			"command": `bash -c 'printf "name? "; read n; echo "hello $n"; read m'`, "timeout_ms": commanderPatience,
		})
		if err != nil {
			return 0, err
		}
		answered, err := peer.interact(text, "bob", "hello bob")
		return asked + answered, err
	}
	_, err := b.duel("a question and its answer", b.rounds(10, 2), mine, peer, theirs)
	b.out.note("Desktop Commander does not notice the question, nor that it is answered: it waits for as long as it is told, here %d ms each time", commanderPatience)
	return err
}

// interact sends a line to the process that an answer names.
func (c *mcpClient) interact(answer, input, words string) (float64, error) {
	pid := pidIn.FindStringSubmatch(answer)
	if pid == nil {
		return 0, fmt.Errorf("no process in %q", answer)
	}
	n, err := strconv.Atoi(pid[1])
	if err != nil {
		return 0, err
	}
	return c.expect("interact_with_process", map[string]any{"pid": n, "input": input, "timeout_ms": commanderPatience}, words)
}

func mcpREPL(b *bench, den, peer *mcpClient) error {
	if _, _, err := den.call("open", map[string]any{"name": "py", "command": []string{"python3", "-q"}}); err != nil {
		return err
	}
	mine := func() (float64, error) {
		return den.expect("run", map[string]any{"session": "py", "code": "print(6*7)"}, "42")
	}
	begun := "" // what it says of the process
	if peer != nil {
		var err error
		if begun, _, err = peer.call("start_process", map[string]any{"command": "python3 -i -q", "timeout_ms": 5000}); err != nil {
			return err
		}
	}
	theirs := func() (float64, error) { return peer.interact(begun, "print(6*7)", "42") }
	_, err := b.duel("a line in python3", b.rounds(100, 10), mine, peer, theirs)
	return err
}
