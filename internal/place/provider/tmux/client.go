package tmux

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/base/wake"
)

// errLost means that the client ended: the server went, or somebody killed it.
var errLost = errors.New("the connection to the tmux server was lost")

// errUnanswered is errLost after the question was sent: tmux may have carried
// it out.
var errUnanswered = fmt.Errorf("%w before it answered", errLost)

const (
	maxWaiting = 1024      // questions on their way; more are refused as busy
	maxAnswer  = 256 << 20 // bytes of one answer; at the bound the client is given up
	leaveLimit = 2 * time.Second
)

// client is one tmux client in control mode: lines go in, answers and
// notifications come out. Its reader is a goroutine that ends with the
// process; close waits for it.
type client struct {
	server int // the server's process
	cmd    *exec.Cmd
	in     *os.File
	out    io.ReadCloser
	notify func(line string) // called by the reader, must not block; or nil
	joined chan struct{}     // closed when the client stands in the keeper's session
	ended  chan struct{}     // closed when the process has ended
	turn   chan struct{}     // has one token: whoever holds it may write

	mu      sync.Mutex // guards the fields below
	waiting []*question
	last    string // what tmux said last outside of an answer
	lost    bool
}

// question is one line for tmux, and the sentinel that ends its answer.
type question struct {
	sentinel string
	raw      []string
	bytes    int
	answered chan struct{} // closed when raw is whole, or err set
	err      error
}

// connect starts a client and waits until it stands in the keeper's session.
func (p *Provider) connect(ctx context.Context, notify func(string)) (*client, error) {
	c := &client{notify: notify, joined: make(chan struct{}), ended: make(chan struct{}), turn: wake.New()}
	c.turn <- struct{}{}
	c.cmd = p.tmux("-N", "-C", "attach-session", "-f", "no-output,ignore-size", "-t", "="+keeper)
	c.cmd.SysProcAttr = childAttr()
	if err := c.launch(); err != nil {
		return nil, fmt.Errorf("start a tmux client: %w", err)
	}
	go c.read(c.out)
	select {
	case <-c.joined:
		if err := c.meetServer(ctx); err != nil {
			c.close()
			return nil, err
		}
		return c, nil
	case <-c.ended:
		c.in.Close() // Best effort: nobody reads there any more.
		return nil, fmt.Errorf("%w: %s", errLost, c.lastLine())
	case <-ctx.Done():
		c.close()
		return nil, ctx.Err()
	}
}

// meetServer asks which server answers.
func (c *client) meetServer(ctx context.Context) error {
	raw, err := c.ask(ctx, command("display-message", "-p", "#{pid}"))
	if errors.Is(err, errLost) {
		return errLost // and not errUnanswered: nobody has asked for anything yet
	}
	if err != nil {
		return err
	}
	out, _, err := readSequence(raw)
	if err == nil {
		c.server, err = strconv.Atoi(strings.Join(out, ""))
	}
	return err
}

// launch starts the process with a pipe for each direction. The one that we
// write to takes deadlines.
func (c *client) launch() error {
	theirs, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close() // Best effort: the process has its own.
	c.cmd.Stdin, c.in = theirs, in
	if c.out, err = c.cmd.StdoutPipe(); err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		in.Close() // Best effort: nothing was written.
	}
	return err
}

// ask sends a line and returns what came back up to its sentinel. It may be
// called concurrently. A caller that gives up leaves the answer to the reader.
func (c *client) ask(ctx context.Context, line string) ([]string, error) {
	q := &question{sentinel: "den-" + random(), answered: make(chan struct{})}
	select {
	case <-c.turn:
	case <-c.ended:
		return nil, errLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	err := c.send(ctx, q, line)
	c.turn <- struct{}{}
	if err != nil {
		return nil, err
	}
	select {
	case <-q.answered:
		return q.raw, q.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send queues the question and writes it. It is called with the turn held, so
// that questions are queued in the order in which tmux reads them.
func (c *client) send(ctx context.Context, q *question, line string) error {
	c.mu.Lock()
	lost, full := c.lost, len(c.waiting) >= maxWaiting
	if !lost && !full {
		c.waiting = append(c.waiting, q)
	}
	c.mu.Unlock()
	if lost {
		return errLost
	}
	if full {
		return fmt.Errorf("the tmux server has left %d questions unanswered", maxWaiting)
	}
	deadline, _ := ctx.Deadline()
	c.in.SetWriteDeadline(deadline) // Best effort: without one a write ends with the process.
	if _, err := fmt.Fprintf(c.in, "%s\ndisplay-message -p %s\n", line, q.sentinel); err != nil {
		c.close() // Half a line cannot be taken back: the client goes.
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	return nil
}

// read takes in lines until the process closes its output, then collects it
// and tells all who wait.
func (c *client) read(out io.Reader) {
	var q *question
	closing, foreign := false, "" // the sentinel was seen; the block of somebody else that we are in
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break
		}
		line = strings.TrimSuffix(line, "\n")
		g, isGuard := parseGuard(line)
		switch {
		case closing: // the sentinel's own end
			close(q.answered)
			q, closing = nil, false
		case q != nil && line == q.sentinel:
			q.raw = q.raw[:len(q.raw)-1] // the sentinel's own beginning
			closing = true
		case q != nil:
			q.raw = append(q.raw, line)
			if q.bytes += len(line); q.bytes > maxAnswer {
				c.in.Close()
			}
		case foreign != "" && isGuard && g.ident == foreign:
			foreign = ""
		case foreign != "":
			c.remember(line)
		case isGuard && g.word == "begin" && g.ours:
			if q = c.next(); q == nil {
				foreign = g.ident
			} else {
				q.raw = append(q.raw, line)
			}
		case isGuard && g.word == "begin":
			foreign = g.ident
		default:
			c.handleNotification(line)
		}
	}
	c.finish(q)
}

// next takes the question that waits longest.
func (c *client) next() *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return nil
	}
	q := c.waiting[0]
	c.waiting = c.waiting[1:]
	return q
}

// handleNotification handles a notification.
func (c *client) handleNotification(line string) {
	if strings.HasPrefix(line, "%session-changed ") {
		select {
		case <-c.joined:
		default:
			close(c.joined)
		}
	}
	if c.notify != nil {
		c.notify(line)
	}
	c.remember(line)
}

func (c *client) remember(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line != "%exit" { // a bare goodbye explains nothing
		c.last = line
	}
}

func (c *client) lastLine() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *client) finish(current *question) {
	c.cmd.Wait() // How it ended says no more than that it did.
	c.mu.Lock()
	c.lost = true
	left := c.waiting
	c.waiting = nil
	if b, ok := c.cmd.Stderr.(*bytes.Buffer); ok && b.Len() > 0 {
		c.last = strings.TrimSpace(b.String())
	}
	c.mu.Unlock()
	if current != nil {
		left = append(left, current)
	}
	close(c.ended) // first: who hears that its question was lost must not come back here
	for _, q := range left {
		q.err = errUnanswered
		close(q.answered)
	}
}

// close ends the client and waits for it. A client sends its files to the
// server, so a server that hangs holds its output open behind its end.
func (c *client) close() {
	c.in.Close() // Best effort: the end of its input ends it.
	select {
	case <-c.ended:
	case <-time.After(leaveLimit):
		c.cmd.Process.Kill() // Best effort: it may have ended just now.
		c.out.Close()        // Best effort: it only ends the reader.
		<-c.ended
	}
}

func (c *client) alive() bool { return !wake.IsClosed(c.ended) }

// refusal is tmux's word on a command that it did not carry out. The server
// was asked, and it answered.
type refusal struct{ said string }

func (r *refusal) Error() string { return "tmux: " + r.said }

func refused(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}

// guard is a line "%begin TIME NUMBER FLAGS" or its end.
type guard struct {
	word  string // "begin", "end" or "error"
	ident string // time, number and flags: the same in both
	ours  bool   // the flags say that the command came from this client
}

func parseGuard(line string) (guard, bool) {
	rest, ok := strings.CutPrefix(line, "%")
	if !ok {
		return guard{}, false
	}
	word, ident, ok := strings.Cut(rest, " ")
	if !ok || word != "begin" && word != "end" && word != "error" {
		return guard{}, false
	}
	f := strings.Fields(ident)
	return guard{word: word, ident: ident, ours: len(f) == 3 && f[2] == "1"}, len(f) == 3
}

// An answer is what came between a question and the sentinel after it. The
// sentinel is a word that no program could know when the question was asked:
// what a pane shows may look like guards, and must not end an answer.

// readSingle reads the answer to one command whose output is not to be
// trusted: it goes to the last line that could be its end.
func readSingle(raw []string) (out, notes []string, err error) {
	if len(raw) == 0 {
		return nil, nil, errGarbled
	}
	begin, ok := parseGuard(raw[0])
	if !ok {
		return nil, nil, errGarbled
	}
	for i := len(raw) - 1; i > 0; i-- {
		end, ok := parseGuard(raw[i])
		if !ok || end.ident != begin.ident || end.word == "begin" {
			continue
		}
		notes = notifications(raw[i+1:])
		if end.word == "error" {
			return nil, notes, &refusal{strings.Join(raw[1:i], "\n")}
		}
		return raw[1:i], notes, nil
	}
	return nil, nil, errGarbled
}

// readSequence reads the answers to a sequence of commands, one after the
// other, whose output is tmux's own.
func readSequence(raw []string) (out, notes []string, err error) {
	for len(raw) > 0 {
		begin, ok := parseGuard(raw[0])
		if !ok || begin.word != "begin" {
			notes = append(notes, notifications(raw[:1])...)
			raw = raw[1:]
			continue
		}
		end := slices.IndexFunc(raw, func(line string) bool {
			g, ok := parseGuard(line)
			return ok && g.ident == begin.ident && g.word != "begin"
		})
		if end < 0 {
			return nil, notes, errGarbled
		}
		if begin.ours {
			if g, _ := parseGuard(raw[end]); g.word == "error" && err == nil {
				err = &refusal{strings.Join(raw[1:end], "\n")}
			}
			out = append(out, raw[1:end]...)
		}
		raw = raw[end+1:]
	}
	return out, notes, err
}

func notifications(lines []string) []string {
	var notes []string
	for _, line := range lines {
		if _, isGuard := parseGuard(line); !isGuard && strings.HasPrefix(line, "%") {
			notes = append(notes, line)
		}
	}
	return notes
}

// errGarbled means that the client and we no longer agree on what was asked.
var errGarbled = errors.New("tmux's answer cannot be read")

// command joins words to one line of tmux's command language. Every word is
// quoted but those that are plain: flags, names and our own separators.
func command(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if plain(w) {
			b.WriteString(w)
		} else {
			quote(&b, w)
		}
	}
	return b.String()
}

// sequence is several commands that tmux runs in one go: no other client's
// command and no event comes in between. The first that is refused ends it.
func sequence(commands ...string) string { return strings.Join(commands, " ; ") }

func plain(w string) bool {
	for i := range len(w) {
		c := w[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '@' {
			return false
		}
	}
	return w != ""
}

// quote writes w in double quotes. What tmux's parser or its line reader would
// read meaning into is written as an octal escape.
func quote(b *strings.Builder, w string) {
	b.WriteByte('"')
	for i := range len(w) {
		switch c := w[i]; {
		case c < 0x20, c == 0x7f, c == '"', c == '\\', c == '$', c == '~':
			fmt.Fprintf(b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
