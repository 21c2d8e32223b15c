package runnertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"den/internal/agent/runner"
	"den/internal/agent/runner/local"
)

// damage is what goes wrong while a recording plays.
type damage struct {
	Hostile     bool `json:"hostile,omitempty"`      // garbage and unknown messages before every line
	Cut         bool `json:"cut,omitempty"`          // the last turn's end is half a line, then the process ends
	CloseOutput bool `json:"close_output,omitempty"` // as Cut, but the process stays
	Deaf        bool `json:"deaf,omitempty"`         // neither EOF nor SIGTERM ends it
}

const (
	playVariable   = "RUNNERTEST_PLAY"   // the path of the recording
	scriptVariable = "RUNNERTEST_SCRIPT" // a playScript
)

// playScript is what a playing process must know beside its recording.
type playScript struct {
	Dir       string
	Bad       damage
	Hostile   []string
	EndOfTurn string
	Framed    bool
}

// player spawns processes that play the recordings of a law, one after the
// other.
type player struct {
	mark, name string
	script     playScript

	mu      sync.Mutex // guards spawned
	spawned int
}

func (p *player) Spawn(ctx context.Context, c runner.Command) (runner.Process, error) {
	p.mu.Lock()
	p.spawned++
	path := tapePath(p.name, p.spawned)
	p.mu.Unlock()
	if strings.Contains(c.Argv[0], "/") { // a program that does not exist
		return local.Spawner{Mark: p.mark}.Spawn(ctx, c)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	script, err := json.Marshal(p.script)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return local.Spawner{Mark: p.mark}.Spawn(ctx, runner.Command{
		Argv: append([]string{self}, c.Argv[1:]...), Dir: c.Dir,
		Env: map[string]string{
			playVariable: wd + "/" + path, scriptVariable: string(script),
			"GORACE": "atexit_sleep_ms=0", // a process with the race detector sleeps for a second before it ends
		},
	})
}

// play is the process that plays a recording. Its exit code is 0, the recorded
// one, or 3 if the driver did not say what it said when it was recorded.
func play(path string) int {
	code, err := playTape(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "player:", err)
		return 3
	}
	return code
}

func playTape(path string) (code int, err error) {
	var script playScript
	if err := json.Unmarshal([]byte(os.Getenv(scriptVariable)), &script); err != nil {
		return 0, err
	}
	tape, err := readTape(path)
	if err != nil {
		return 0, err
	}
	if script.Bad.Deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	p := &playing{
		playScript: script, tape: tape, names: names{recordedDir: script.Dir},
		out: bufio.NewWriter(os.Stdout), lines: readMessages(os.Stdin, script.Framed),
	}
	return p.run()
}

// readMessages reads messages until EOF, when the channel is closed.
func readMessages(r io.Reader, framed bool) <-chan []byte {
	lines := make(chan []byte) // ends with the process
	go func() {
		defer close(lines)
		b := bufio.NewReader(r)
		for {
			line, err := readMessage(b, framed)
			if line = bytes.TrimSpace(line); len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// playing is a recording in play.
type playing struct {
	playScript
	tape  []entry
	names names
	out   *bufio.Writer
	lines <-chan []byte

	early    [][]byte // lines that came before their place
	requests int      // hostile ones that were sent
	refused  int      // of them, those that were answered by an error
}

func (p *playing) run() (int, error) {
	last := p.lastEnd()
	for i, e := range p.tape {
		if i == last && (p.Bad.Cut || p.Bad.CloseOutput) {
			return p.cut(e)
		}
		if i == last { // after it the driver may close, and answer no more
			p.Bad.Hostile = p.Bad.Hostile && p.awaitRefusals()
		}
		switch e.Dir {
		case "argv":
			if err := p.checkArguments(e.Argv); err != nil {
				return 0, err
			}
		case "out":
			if err := p.say(e); err != nil {
				return 0, err
			}
		case "err":
			fmt.Fprintln(os.Stderr, p.names.apply(e.Text))
		case "in":
			ended, err := p.expect(i)
			if ended || err != nil {
				return 0, err
			}
		case "eof":
			p.untilEOF()
		case "exit":
			return p.end(e.Code)
		}
	}
	p.untilEOF()
	return p.end(0)
}

// lastEnd is the place of the line that ends the last turn, or -1.
func (p *playing) lastEnd() int {
	for i := len(p.tape) - 1; i >= 0; i-- {
		if e := p.tape[i]; e.Dir == "out" && strings.Contains(string(e.Msg), p.EndOfTurn) {
			return i
		}
	}
	return -1
}

// awaitRefusals waits until every hostile request was refused. It returns false:
// no more are sent.
func (p *playing) awaitRefusals() bool {
	for p.refused < p.requests {
		line, ok := <-p.lines
		if !ok {
			return false
		}
		if !p.takeRefusal(line) {
			p.early = append(p.early, line)
		}
	}
	return false
}

func (p *playing) checkArguments(recorded []string) error {
	actual := os.Args[1:]
	same := slices.EqualFunc(recorded, actual, func(want, got string) bool { return p.names.apply(want) == got })
	if !same {
		return fmt.Errorf("the arguments are %q, recorded were %q", actual, recorded)
	}
	return nil
}

func (p *playing) say(e entry) error {
	if p.Bad.Hostile {
		p.beHostile()
	}
	line := e.Text
	if len(e.Msg) > 0 {
		line = string(e.Msg)
	}
	p.write(p.names.apply(line))
	return p.out.Flush()
}

// write writes a message as the agent does; what is no JSON is a line.
func (p *playing) write(message string) {
	if p.Framed && json.Valid([]byte(message)) {
		message = frame(message)
	} else {
		message += "\n"
	}
	p.out.WriteString(message) // Best effort: Flush tells.
}

// beHostile writes what no driver may be confused by.
func (p *playing) beHostile() {
	fmt.Fprintln(p.out, "npm WARN this is no JSON")
	fmt.Fprintln(p.out, `{"type":"assistant","method":"item/comp`)
	fmt.Fprintln(p.out, `[1,2,3]`)
	fmt.Fprintln(p.out, "\xff\xfe\x00")
	fmt.Fprintln(p.out, `{}`)
	for _, line := range p.Hostile {
		if strings.Contains(line, "%d") {
			p.requests++
			line = fmt.Sprintf(line, p.requests)
		}
		p.write(line)
	}
	if p.requests == 1 {
		p.write(fmt.Sprintf(`{"type":"no_such","method":"no/such","params":{"x":"%s"}}`, strings.Repeat("x", 2<<20)))
		for range 5000 {
			fmt.Fprintln(os.Stderr, "noise noise noise noise noise noise noise noise")
		}
	}
}

// expect waits for the line of a recorded entry. It reports that the input has
// ended instead.
func (p *playing) expect(at int) (bool, error) {
	for i, line := range p.early {
		if p.names.matchLine(p.tape[at].Msg, line) {
			p.early = slices.Delete(p.early, i, i+1)
			return false, nil
		}
	}
	for line := range p.lines {
		if p.takeRefusal(line) {
			continue
		}
		if p.names.matchLine(p.tape[at].Msg, line) {
			return false, nil
		}
		if !p.expectedLater(at, line) {
			return false, fmt.Errorf("got %s, recorded was %s", line, p.tape[at].Msg)
		}
		p.early = append(p.early, line)
	}
	return true, nil
}

func (p *playing) expectedLater(at int, line []byte) bool {
	for _, e := range p.tape[at+1:] {
		trial := names{}
		for from, to := range p.names {
			trial[from] = to
		}
		if e.Dir == "in" && trial.matchLine(e.Msg, line) {
			return true
		}
	}
	return false
}

// takeRefusal counts the driver's answers to hostile requests.
func (p *playing) takeRefusal(line []byte) bool {
	if !bytes.Contains(line, []byte(`"hostile-`)) {
		return false
	}
	if bytes.Contains(line, []byte(`"error"`)) {
		p.refused++
	}
	return true
}

func (p *playing) untilEOF() {
	for line := range p.lines {
		if !p.takeRefusal(line) {
			p.early = append(p.early, line)
		}
	}
	if p.Bad.Deaf {
		select {} // until it is killed
	}
}

// end checks that nothing came that was not recorded, and that every hostile
// request was refused.
func (p *playing) end(code int) (int, error) {
	if code >= 128 { // it was killed then, and is killed now
		p.untilEOF()
		return 0, nil
	}
	if len(p.early) > 0 {
		return 0, fmt.Errorf("got %s, which was not recorded", p.early[0])
	}
	if p.refused < p.requests {
		return 0, fmt.Errorf("%d unknown requests were sent, %d were refused", p.requests, p.refused)
	}
	return code, nil
}

// cut ends the output in the middle of a line.
func (p *playing) cut(e entry) (int, error) {
	line := p.names.apply(string(e.Msg))
	if p.Framed {
		line = frame(line)
	}
	p.out.WriteString(line[:len(line)/2])
	if err := p.out.Flush(); err != nil {
		return 0, err
	}
	if p.Bad.CloseOutput {
		os.Stdout.Close() // Best effort: that it is closed is all there is.
		p.untilEOF()
	}
	return 0, nil
}
