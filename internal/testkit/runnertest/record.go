package runnertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"den/internal/agent/runner"
	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// recorder writes down what real agents and their driver say, for player.
type recorder struct {
	t      *testing.T
	spawn  runner.Spawner
	law    string
	framed bool
	noise  []string
	clean  names // what differs between machines, and what stands for it

	mu      sync.Mutex // guards spawned
	spawned int
}

func newRecorder(t *testing.T, spawn runner.Spawner, law string, b Backend, home *realcli.Home, stub *modelstub.Server) *recorder {
	root := filepath.Dir(home.Dir)
	clean := names{
		home.Work: recordedDir, home.Dir: "/home/user", root: "/home/user/tmp",
		strings.TrimPrefix(stub.URL(), "http://"): "127.0.0.1:1", filepath.Dir(home.Program): "/usr/bin",
		strings.ReplaceAll(home.Work, "/", "-"): strings.ReplaceAll(recordedDir, "/", "-"),
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		clean[`"`+host+`"`] = `"host"`
	}
	return &recorder{t: t, spawn: spawn, law: law, framed: b.Framed, noise: b.Noise, clean: clean}
}

func (r *recorder) Spawn(ctx context.Context, c runner.Command) (runner.Process, error) {
	p, err := r.spawn.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.spawned++
	n := r.spawned
	r.mu.Unlock()
	tape := &tapeWriter{clean: r.clean, noise: r.noise}
	argv := []string{}
	for _, a := range c.Argv[1:] {
		argv = append(argv, r.clean.apply(a))
	}
	tape.add(entry{Dir: "argv", Argv: argv})
	recorded := &recordedProcess{Process: p, tape: tape}
	recorded.stdin = &recordedInput{WriteCloser: p.Stdin(), tape: tape, framed: r.framed}
	recorded.stdout = io.TeeReader(p.Stdout(), &lineTee{tape: tape, dir: "out", framed: r.framed})
	recorded.stderr = io.TeeReader(p.Stderr(), &lineTee{tape: tape, dir: "err"})
	r.t.Cleanup(func() {
		p.Wait()
		if r.t.Failed() {
			return
		}
		path := tapePath(r.law, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Error(err)
		}
		if err := os.WriteFile(path, tape.bytes(), 0o644); err != nil {
			r.t.Error(err)
		}
	})
	return recorded, nil
}

type recordedProcess struct {
	runner.Process
	tape   *tapeWriter
	stdin  io.WriteCloser
	stdout io.Reader
	stderr io.Reader
	once   sync.Once
}

func (p *recordedProcess) Stdin() io.WriteCloser { return p.stdin }
func (p *recordedProcess) Stdout() io.Reader     { return p.stdout }
func (p *recordedProcess) Stderr() io.Reader     { return p.stderr }

func (p *recordedProcess) Wait() runner.Exit {
	exit := p.Process.Wait()
	p.once.Do(func() { p.tape.end(exit.Code) })
	return exit
}

// recordedInput writes down a line before the agent can answer it.
type recordedInput struct {
	io.WriteCloser
	tape   *tapeWriter
	framed bool
}

func (i *recordedInput) Write(line []byte) (int, error) {
	message, _, _ := cutMessage(append(bytes.Clone(line), '\n'), i.framed) // a message is written at once
	i.tape.line("in", message)
	return i.WriteCloser.Write(line)
}

func (i *recordedInput) Close() error {
	i.tape.add(entry{Dir: "eof"})
	return i.WriteCloser.Close()
}

// lineTee writes down whole messages.
type lineTee struct {
	tape   *tapeWriter
	dir    string
	framed bool
	rest   []byte
}

func (t *lineTee) Write(data []byte) (int, error) {
	t.rest = append(t.rest, data...)
	for {
		line, rest, found := cutMessage(t.rest, t.framed)
		if !found {
			return len(data), nil
		}
		t.tape.line(t.dir, line)
		t.rest = rest
	}
}

// tapeWriter collects the entries of one process. Its output may be read after
// its end: the end is written last.
type tapeWriter struct {
	clean names
	noise []string

	mu      sync.Mutex // guards the fields below
	entries []entry
	code    int
}

func (t *tapeWriter) add(e entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
}

func (t *tapeWriter) end(code int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.code = code
}

func (t *tapeWriter) line(dir string, line []byte) {
	line = bytes.TrimSpace(line)
	isNoise := func(part string) bool { return dir == "out" && bytes.Contains(line, []byte(part)) }
	if len(line) == 0 || slices.ContainsFunc(t.noise, isNoise) {
		return
	}
	clean := []byte(t.clean.apply(string(line)))
	if dir != "err" && json.Valid(clean) {
		cut := cutText
		if dir == "in" {
			cut = digestText
		}
		t.add(entry{Dir: dir, Msg: shorten(clean, cut)})
		return
	}
	t.add(entry{Dir: dir, Text: string(clean)})
}

func (t *tapeWriter) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range append(t.entries, entry{Dir: "exit", Code: t.code}) {
		if err := enc.Encode(e); err != nil {
			panic(err) // an entry holds only what is JSON
		}
	}
	return b.Bytes()
}

// The longest texts of recordings. Agents describe all their commands when they
// start; nothing depends on the words.
const (
	maxOutput = 100
	maxInput  = 1000
)

func cutText(s string) string {
	if runes := []rune(s); len(runes) > maxOutput {
		return string(runes[:maxOutput]) + "…"
	}
	return s
}

// digestText keeps what the driver says comparable.
func digestText(s string) string {
	if len(s) > maxInput {
		return digest(s)
	}
	return s
}

// shorten applies a function to the texts of a line.
func shorten(line []byte, cut func(string) string) []byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return line
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(shortenValue(v, cut)) != nil {
		return line
	}
	return bytes.TrimSpace(b.Bytes())
}

func shortenValue(v any, cut func(string) string) any {
	switch v := v.(type) {
	case string:
		return cut(v)
	case []any:
		for i := range v {
			v[i] = shortenValue(v[i], cut)
		}
	case map[string]any:
		for key := range v {
			v[key] = shortenValue(v[key], cut)
		}
	}
	return v
}

const lengthHeader = "Content-Length: "

// frame puts its length before a message.
func frame(message string) string {
	return fmt.Sprintf("%s%d\r\n\r\n%s", lengthHeader, len(message), message)
}

// readMessage reads a line, or a frame without its header.
func readMessage(r *bufio.Reader, framed bool) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	value, is := strings.CutPrefix(string(line), lengthHeader)
	if err != nil || !framed || !is {
		return line, err
	}
	length, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil {
		return line, err
	}
	if _, err := r.ReadBytes('\n'); err != nil { // the end of the header
		return nil, err
	}
	message := make([]byte, length)
	_, err = io.ReadFull(r, message)
	return message, err
}

// cutMessage takes the first whole line or frame off data. It reports whether
// there is one.
func cutMessage(data []byte, framed bool) (message, rest []byte, found bool) {
	line, rest, found := bytes.Cut(data, []byte("\n"))
	value, is := strings.CutPrefix(string(line), lengthHeader)
	if !found || !framed || !is {
		return line, rest, found
	}
	length, err := strconv.Atoi(strings.TrimSpace(value))
	_, content, found := bytes.Cut(rest, []byte("\n"))
	if err != nil || !found || len(content) < length {
		return nil, data, false
	}
	return content[:length], content[length:], true
}
