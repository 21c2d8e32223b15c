package runner

import (
	"context"
	"io"
	"os"
)

// A Spawner starts processes where the agent lives: on this machine, or in its
// container or pod.
type Spawner interface {
	// Spawn starts a command. The context bounds starting only.
	Spawn(ctx context.Context, c Command) (Process, error)
}

// Command is what is spawned.
type Command struct {
	Argv []string
	Dir  string
	Env  map[string]string // on top of the agent's environment
}

// A Process is a spawned command with pipes.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() io.Reader
	// Signal reaches the process and everything that it started.
	Signal(s os.Signal) error
	// Wait returns when the process has ended; what is left of the processes
	// that it started is killed before. It may be called many times. Stdout
	// and Stderr end then, at the latest.
	Wait() Exit
}
