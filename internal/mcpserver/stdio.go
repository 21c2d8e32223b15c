package mcpserver

import (
	"context"
	"errors"
	"io"

	"den/internal/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client that reads out and writes in, until it goes or ctx
// ends. Nobody else may write to out.
func (s *Server[C]) Stdio(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	defer s.end()
	stop := context.AfterFunc(ctx, func() { s.hangUp("") })
	defer stop()
	err := s.sdk.Run(ctx, &sdk.IOTransport{Reader: &untilEnd{in, func() { s.hangUp("") }}, Writer: unclosed{out}})
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
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

// unclosed is a writer that is not the transport's to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
