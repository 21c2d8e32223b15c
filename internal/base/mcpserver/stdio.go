package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"

	"den/internal/base/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client that reads out and writes in, until it goes or ctx
// ends. Nobody else may write to out.
func (s *Server[C]) Stdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	defer s.end()
	stop := context.AfterFunc(ctx, func() { s.hangUp("") })
	defer stop()
	answers := &toReader{Writer: out}
	err := s.sdk.Run(ctx, &sdk.IOTransport{Reader: &untilEnd{in, func() { s.hangUp("") }}, Writer: answers})
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil || answers.unread.Load() {
		return nil
	}
	return fault.Errorf(fault.Protocol, "serve an MCP client on stdio: %w", err)
}

// untilEnd tells when there is no more to read: who closes our stdin waits for
// no answers.
type untilEnd struct {
	io.ReadCloser
	ended func()
}

func (u *untilEnd) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err != nil {
		u.ended()
	}
	return n, err
}

// toReader is a writer that is not the transport's to close, and knows whether
// somebody reads: a client that was killed takes no answer that is under way.
type toReader struct {
	io.Writer
	unread atomic.Bool
}

func (w *toReader) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		w.unread.Store(true)
	}
	return n, err
}

func (*toReader) Close() error { return nil }
