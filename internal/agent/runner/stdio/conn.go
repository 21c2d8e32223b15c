// Package stdio is a connection of JSON messages over an agent's pipes.
//
// It takes lines up to a bound, logs and skips lines that are not JSON, and
// always reads stderr, so nothing that an agent prints blocks it or its reader.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/agent/runner"
)

const (
	maxLine   = 64 << 20 // a longer line is not kept: its length is logged
	maxLogged = 400      // bytes of a line in a log
	tailLines = 20       // of stderr, for Exit.Reason
)

// Graces are how long each step of Close may take.
type Graces struct {
	EOF  time.Duration // after its input was closed
	Term time.Duration // after SIGTERM
}

// DefaultGraces suit agents that write their session before they end.
var DefaultGraces = Graces{EOF: 5 * time.Second, Term: 5 * time.Second}

// Conn is the connection to one agent. Read is called from one goroutine; the
// other methods from any.
type Conn struct {
	process runner.Process
	log     func(string)
	graces  Graces
	framed  bool
	lines   *bufio.Reader

	writing sync.Mutex

	mu   sync.Mutex // guards tail
	tail []string   // the last lines of stderr

	done    chan struct{} // closed when the process has ended and stderr was read
	exit    runner.Exit   // then set
	closing sync.Once
}

// Open spawns an agent that speaks JSON lines.
func Open(ctx context.Context, o runner.Options, c runner.Command) (*Conn, error) {
	return open(ctx, o, c, false)
}

// OpenFramed spawns an agent that puts a header with its length before each
// JSON object.
func OpenFramed(ctx context.Context, o runner.Options, c runner.Command) (*Conn, error) {
	return open(ctx, o, c, true)
}

func open(ctx context.Context, o runner.Options, c runner.Command, framed bool) (*Conn, error) {
	process, err := o.Spawn.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	conn := &Conn{
		process: process, log: o.Log, graces: DefaultGraces, framed: framed,
		lines: bufio.NewReaderSize(process.Stdout(), 64<<10), done: make(chan struct{}),
	}
	go conn.wait() // ends with the process; Close waits for it
	return conn, nil
}

// wait reads stderr to its end and collects the process.
func (c *Conn) wait() {
	read := make(chan struct{})
	go func() { // ends with stderr, which ends with the process
		defer close(read)
		c.readStderr()
	}()
	exit := c.process.Wait()
	<-read
	c.mu.Lock()
	if exit.Reason == "" || len(c.tail) > 0 && exit.Code != 0 {
		exit.Reason = strings.Join(c.tail, "\n")
	}
	c.mu.Unlock()
	c.exit = exit
	close(c.done)
}

func (c *Conn) readStderr() {
	r := bufio.NewReaderSize(c.process.Stderr(), 32<<10)
	for {
		line, err := readLine(r, maxLogged)
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			c.mu.Lock()
			c.tail = append(c.tail, text)
			if len(c.tail) > tailLines {
				c.tail = c.tail[1:]
			}
			c.mu.Unlock()
			c.log("stderr: " + text)
		}
		if err != nil {
			return
		}
	}
}

// Read returns the next line or frame that is a JSON object. io.EOF is the end
// of the agent's output.
func (c *Conn) Read() (json.RawMessage, error) {
	for {
		line, err := c.next()
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] == '{' && json.Valid(line) {
			return line, nil
		}
		if len(line) > 0 {
			c.log("skipped a line of stdout that is no JSON object: " + clip(line))
		}
		if err != nil {
			if errors.Is(err, os.ErrClosed) {
				err = io.EOF
			}
			return nil, err
		}
	}
}

// ReadAll calls take with each message of the agent, and malformed with what is
// wrong with one that is no M, until the agent's output ends.
func ReadAll[M any](c *Conn, take func(*M), malformed func(error)) {
	for {
		line, err := c.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.log(fmt.Sprintf("read the agent's output: %v", err))
			}
			return
		}
		m := new(M)
		if err := json.Unmarshal(line, m); err != nil {
			malformed(err)
			continue
		}
		take(m)
	}
}

func (c *Conn) next() ([]byte, error) {
	if c.framed {
		return c.readFrame()
	}
	return readLine(c.lines, maxLine)
}

// readLine returns a line without its end. Of one longer than limit it returns
// the beginning.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := limit - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if err == nil {
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func clip(line []byte) string {
	if len(line) <= maxLogged {
		return string(line)
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(string(line[:maxLogged]), ""), len(line))
}

// Write sends one message. When the context ends first, the agent does not read:
// it may have been written in part, and the connection can only be
// closed.
func (c *Conn) Write(ctx context.Context, message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message for the agent: %w", err)
	}
	written := make(chan error, 1) // room for the one result
	go func() {                    // ends when the pipe takes the line or is closed
		c.writing.Lock()
		defer c.writing.Unlock()
		_, err := c.process.Stdin().Write(c.pack(line))
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			return &runner.Failure{Class: runner.Gone, Message: "the agent's input is closed: " + err.Error()}
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SetGraces changes how long the steps of Close may take. Call it before Close.
func (c *Conn) SetGraces(g Graces) { c.graces = g }

// Done is closed when the process has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Exit is how the process ended; call it after Done.
func (c *Conn) Exit() runner.Exit {
	<-c.done
	return c.exit
}

// Close ends the process: its input is closed, then it is asked by SIGTERM,
// then its process group is killed, each bounded. An end that was asked for
// is exit 0, unless it had to be killed.
func (c *Conn) Close() runner.Exit {
	c.closing.Do(func() {
		select {
		case <-c.done: // it ended by itself
			return
		default:
		}
		c.end()
		<-c.done
		if c.exit.Code == 128+int(syscall.SIGTERM) {
			c.exit.Code, c.exit.Reason = 0, "terminated"
		}
	})
	<-c.done
	return c.exit
}

func (c *Conn) end() {
	go c.process.Stdin().Close() // a writer that waits must not hold this up; ends with it
	if c.endedWithin(c.graces.EOF) {
		return
	}
	c.process.Signal(syscall.SIGTERM) // Best effort: it may have ended.
	if c.endedWithin(c.graces.Term) {
		return
	}
	c.process.Signal(syscall.SIGKILL) // Best effort: it may have ended.
}

func (c *Conn) endedWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}
