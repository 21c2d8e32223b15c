package shim

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"
)

// How long the last steps of an end may take. Neither is waited for in full
// unless something hangs.
const (
	drainLimit = time.Second // for output that somebody outside the tree holds open
	farewell   = time.Second // for clients to take their last answers
)

// shim is one session's process.
type shim struct {
	version  string
	boot     *Bootstrap
	dir      Dir
	lock     *os.File // held until the process ends, never closed
	server   *server
	proc     *processes
	input    *input
	output   *output
	out      *os.File // the shim's end of the command's output
	activity *activity
	asked    chan os.Signal // SIGTERM
	closed   chan struct{}  // closed when all about the end is on disk
}

// serve runs the session to its end. It owns every goroutine that it starts:
// when it returns, none is left.
func (s *shim) serve(ctx context.Context) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	stop := make(chan struct{})
	var workers, accepting, reading sync.WaitGroup
	workers.Go(func() { s.proc.reap(stop) })
	workers.Go(s.input.run)
	accepting.Go(func() { s.server.accept(ctx) })
	workers.Go(func() { s.terminate(stop) })
	workers.Go(func() { s.activity.rest(stop) })
	reading.Go(func() { s.output.read(s.out) })

	<-s.proc.ended
	err := s.finish(&reading)
	close(s.closed)
	s.server.listener.Close() // Best effort; it also removes the socket's file.
	accepting.Wait()          // no client comes any more
	letGo := time.AfterFunc(farewell, cut)
	defer letGo.Stop()
	s.server.clients.Wait()
	close(stop)
	workers.Wait()
	return err
}

// finish writes down how it ended, ends what is left of the tree, and writes
// the last text.
func (s *shim) finish(reading *sync.WaitGroup) error {
	end := s.proc.end(s.boot.ID)
	end.Active = s.output.lastActive().UTC().Round(0)
	if err := s.dir.saveEnd(end); err != nil {
		log.Print(err) // tried again below
	}
	s.input.close()
	ended := s.proc.endAll(s.boot.Grace)
	// Nobody of the tree can write any more, so the end of the output is near.
	giveUp := time.AfterFunc(drainLimit, func() {
		s.out.SetReadDeadline(time.Now()) // Best effort: the process's end closes it.
	})
	reading.Wait()
	giveUp.Stop()
	if err := s.output.finish(); err != nil {
		return fmt.Errorf("write the last text: %w", err)
	}
	end.Active, end.Closed = s.output.lastActive().UTC().Round(0), ended == nil
	return s.dir.saveEnd(end)
}

// stop ends the session for a caller, and returns when all about it is on
// disk.
func (s *shim) stop(grace time.Duration) error {
	s.input.close() // to a program on pipes, this is the hang-up
	if err := s.proc.endAll(grace); err != nil {
		return err
	}
	<-s.closed
	return nil
}

// terminate ends the session when the system asks, as it does before it goes
// down. The other signals of terminals are not meant for a shim.
func (s *shim) terminate(stop <-chan struct{}) {
	select {
	case <-s.asked:
		if err := s.stop(s.boot.Grace); err != nil {
			log.Print(err)
		}
	case <-stop:
	}
}
