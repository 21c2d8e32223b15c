package kubernetes

import (
	"context"
	"errors"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// streams are those of a command in a pod; each may be nil.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exec runs a command in the client's container, to its end. It returns the exit
// code; an error means that the command could not be run, or that the stream to
// it broke.
func (c *client) exec(ctx context.Context, pod string, argv []string, s streams) (int, error) {
	o := &corev1.PodExecOptions{Container: c.container, Command: argv, Stdin: s.in != nil, Stdout: s.out != nil, Stderr: s.err != nil}
	url := c.rest.Post().Namespace(c.namespace).Resource("pods").Name(pod).SubResource("exec").VersionedParams(o, c.params).URL()
	// Newer API servers and all proxies take WebSockets; older ones only SPDY.
	ws, err := remotecommand.NewWebSocketExecutor(c.config, "GET", url.String())
	if err != nil {
		return 0, apiError("exec in pod "+pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, "POST", url)
	if err != nil {
		return 0, apiError("exec in pod "+pod, err)
	}
	both, err := remotecommand.NewFallbackExecutor(ws, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return 0, apiError("exec in pod "+pod, err)
	}
	err = both.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: s.in, Stdout: s.out, Stderr: s.err})
	var exit utilexec.CodeExitError
	if errors.As(err, &exit) {
		return exit.Code, nil
	}
	if ctx.Err() != nil && err != nil {
		return 0, ctx.Err()
	}
	return 0, apiError("exec in pod "+pod, err)
}
