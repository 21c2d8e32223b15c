package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"den/internal/base/fault"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds a message on stdio.
const maxLine = 16 << 20

// Stdio serves one client that reads out and writes in, until it goes or ctx
// ends. Nobody else may write to out.
func (s *Server[C]) Stdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	defer s.end()
	c := &stdio{
		in: in, out: out, received: make(chan received, maxReceived), closed: make(chan struct{}),
		writing: make(chan struct{}, 1), left: make(chan struct{}), cancelled: map[jsonrpc.ID]bool{},
	}
	hangUp := func() {
		s.hangUp("")
		c.leave()
	}
	stop := context.AfterFunc(ctx, hangUp)
	defer stop()
	go c.receive(hangUp) // who closes our stdin waits for no answers
	err := s.sdk.Run(ctx, c)
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil || c.isUnread() {
		return nil
	}
	return fault.Errorf(fault.Protocol, "serve an MCP client on stdio: %w", err)
}

// stdio is the connection of a client on stdio: a message is a line. What is no
// message is answered with an error, and the connection goes on. A call that the
// client has cancelled is not answered.
type stdio struct {
	in       io.ReadCloser
	received chan received // closed by receive
	closed   chan struct{} // closed by Close
	once     sync.Once
	failure  error // why received was closed; set before that

	writing chan struct{} // a semaphore of one: it guards out
	out     io.Writer
	left    chan struct{} // closed lastAnswers after the client left, or the server ends
	leaving sync.Once

	mu        sync.Mutex          // guards the fields below
	unread    bool                // nobody reads: the client was killed, or has left
	cancelled map[jsonrpc.ID]bool // calls that are not to be answered
}

// received is a message, or the answer to what is none.
type received struct {
	message jsonrpc.Message
	refusal []byte
}

// maxReceived bounds what a client may send before it is served. Of more the rest is
// not read, nor that the client has left.
const maxReceived = 100

// leave gives the last answers a moment to be read. Then nothing is written any
// more: a client that reads nothing does not keep the server.
func (c *stdio) leave() {
	c.leaving.Do(func() { time.AfterFunc(lastAnswers, func() { close(c.left) }) })
}

// Connect makes it its own transport.
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is for transports with several.
func (*stdio) SessionID() string { return "" }

// receive reads messages until the end, and then calls ended.
func (c *stdio) receive(ended func()) {
	defer close(c.received)
	defer ended()
	lines := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, err := readLine(lines)
		if err == nil || errors.Is(err, errLongLine) {
			c.take(line, err)
			continue
		}
		if c.failure = err; len(bytes.TrimSpace(line)) > 0 {
			c.take(line, nil) // the last line may have no end
		}
		return
	}
}

var errLongLine = fmt.Errorf("the message is longer than %d bytes", maxLine)

// readLine reads one line. Of one that is too long it returns nothing, behind its
// end.
func readLine(from *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := from.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil || !long:
			return line, err
		default:
			return nil, errLongLine
		}
	}
}

// take passes a line on, or answers that it is no message.
func (c *stdio) take(line []byte, err error) {
	if line = bytes.TrimSpace(line); err == nil && len(line) == 0 {
		return
	}
	if err == nil && !json.Valid(line) {
		err = errNoJSON
	}
	if err != nil {
		c.refuse(jsonrpc.CodeParseError, err)
		return
	}
	if line[0] == '[' {
		c.refuse(jsonrpc.CodeInvalidRequest, errBatch)
		return
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.refuse(jsonrpc.CodeInvalidRequest, err)
		return
	}
	c.noteCancelled(m)
	c.pass(received{message: m})
}

func (c *stdio) pass(r received) {
	select {
	case c.received <- r:
	case <-c.closed:
	}
}

var (
	errNoJSON = errors.New("the message is no JSON, or not one line")
	errBatch  = errors.New("several messages in one line are not supported: send each in a line of its own")
)

// refuse answers what is no message. Its id, if it has one, is not known to be
// that of a call: the answer has none.
func (c *stdio) refuse(code int64, why error) {
	answer, err := json.Marshal(struct {
		Version string        `json:"jsonrpc"`
		ID      *int          `json:"id"`
		Error   jsonrpc.Error `json:"error"`
	}{"2.0", nil, jsonrpc.Error{Code: code, Message: why.Error()}})
	if err != nil {
		panic(err) // plain values
	}
	c.pass(received{refusal: answer})
}

// noteCancelled notes the call that a message cancels.
func (c *stdio) noteCancelled(m jsonrpc.Message) {
	req, ok := m.(*jsonrpc.Request)
	if !ok || req.Method != "notifications/cancelled" {
		return
	}
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return // the server itself has words for it
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	if err != nil || !id.IsValid() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cancelled) >= maxCancelled {
		clear(c.cancelled) // of calls that had been answered before
	}
	c.cancelled[id] = true
}

// maxCancelled bounds the calls that are remembered as cancelled.
const maxCancelled = 1000

// Read returns the next message.
func (c *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case r, more := <-c.received:
			switch {
			case !more:
				return nil, c.failure
			case r.message != nil:
				return r.message, nil
			}
			_ = c.write(r.refusal) // Best effort: the next answer fails as well.
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Write writes a message, but no answer to a call that was cancelled.
func (c *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if answer, ok := m.(*jsonrpc.Response); ok && c.takeCancelled(answer.ID) {
		return nil
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.write(line)
}

func (c *stdio) takeCancelled(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.cancelled[id]
	delete(c.cancelled, id)
	return was
}

// errUnread is the error of a write that nobody reads, as that of a pipe is.
var errUnread = fmt.Errorf("the client has left and reads nothing: %w", syscall.EPIPE)

// write writes a line. Where nobody reads it, the write goes on when write has
// returned: to close a pipe does not end it.
func (c *stdio) write(line []byte) error {
	select {
	case c.writing <- struct{}{}:
	case <-c.left:
		return c.noteWrite(errUnread)
	}
	written := make(chan error, 1)
	go func() {
		_, err := c.out.Write(append(line, '\n'))
		<-c.writing
		written <- err
	}()
	select {
	case err := <-written:
		return c.noteWrite(err)
	case <-c.left:
		return c.noteWrite(errUnread)
	}
}

func (c *stdio) noteWrite(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unread = true
	}
	return err
}

func (c *stdio) isUnread() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unread
}

// Close ends the connection. The writer is not its to close.
func (c *stdio) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.in.Close()
}
