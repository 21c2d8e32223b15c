package shim

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"den/internal/base/filelock"
	"den/internal/process/supervise"
)

// drainLimit is how long to wait at the end for output that somebody outside
// the tree holds open.
const drainLimit = time.Second

// restAfter is how long a session must be silent before its shim gives memory
// back. Most sessions are silent most of the time.
const restAfter = 2 * time.Second

// shim is one session's process.
type shim struct {
	version  string
	boot     *Bootstrap
	dir      Dir
	lock     *os.File // held until the process ends, never closed
	listener *net.UnixListener
	tree     *supervise.Tree
	input    *input
	output   *output
	out      *os.File // the shim's end of the command's output
	activity *supervise.Activity
	asked    <-chan os.Signal // SIGTERM and SIGINT
	closed   chan struct{}    // closed when all about the end is on disk
}

// serve runs the session to its end. It owns every goroutine that it starts:
// when it returns, none is left.
func (s *shim) serve(ctx context.Context) error {
	stop := make(chan struct{})
	var workers, serving, reading sync.WaitGroup
	workers.Go(func() { s.tree.Reap(stop) })
	workers.Go(s.input.run)
	serving.Go(func() { newServer(s).Serve(ctx, s.listener) })
	workers.Go(func() { s.endOnSignal(stop) })
	workers.Go(func() { s.activity.Rest(stop, restAfter, s.endIfDeleted) })
	workers.Go(func() { s.noteDeletions(stop) })
	reading.Go(func() { s.output.read(s.out) })

	<-s.tree.Ended()
	err := s.finish(&reading)
	close(s.closed)
	s.listener.Close() // Best effort; it also removes the socket's file.
	serving.Wait()     // clients may take their last answers
	close(stop)
	workers.Wait()
	return err
}

// finish writes down how it ended, ends what is left of the tree, and writes
// the last text.
func (s *shim) finish(reading *sync.WaitGroup) error {
	exit := s.tree.Exit()
	end := &End{ID: s.boot.ID, At: exit.At.UTC().Round(0), Code: exit.Code, Signal: exit.Signal, Active: s.output.lastActive().UTC().Round(0)}
	if err := s.dir.saveEnd(end); err != nil {
		log.Print(err) // tried again below
	}
	s.input.close()
	_, ended := s.tree.End(s.boot.Grace, supervise.Terminate)
	if ended != nil {
		log.Print(ended)
	}
	// Nobody of the tree can write any more, so the end of the output is near.
	giveUp := time.AfterFunc(drainLimit, func() {
		s.out.SetReadDeadline(time.Now()) // Best effort: the process's end closes it.
	})
	reading.Wait()
	giveUp.Stop()
	if err := s.output.finish(); err != nil {
		return fmt.Errorf("write the last text: %w", err)
	}
	s.boot.cgroup().Remove()
	end.Active, end.Closed = s.output.lastActive().UTC().Round(0), ended == nil
	return s.dir.saveEnd(end)
}

// stop ends the session for a caller, and returns when all about it is on
// disk.
func (s *shim) stop(grace time.Duration) error {
	s.input.close() // to a program on pipes, this is the hang-up
	if _, err := s.tree.End(grace, supervise.Terminate); err != nil {
		return err
	}
	<-s.closed
	return nil
}

// noteDeletions has Rest look whether the session's files were deleted when its
// lock may have been.
func (s *shim) noteDeletions(stop <-chan struct{}) {
	deleted, end := supervise.Deletions(s.lock)
	defer end()
	for {
		select {
		case <-deleted:
			s.activity.Note()
		case <-stop:
			return
		}
	}
}

// endIfDeleted ends the session if its files were deleted: nobody can find it
// any more.
func (s *shim) endIfDeleted() bool {
	if !filelock.Deleted(s.lock) {
		return false
	}
	log.Printf("end session '%s': its files were deleted", s.boot.Name)
	if err := s.stop(s.boot.Grace); err != nil {
		log.Print(err)
	}
	return true
}

// endOnSignal ends the session on SIGTERM or SIGINT, for example at shutdown.
func (s *shim) endOnSignal(stop <-chan struct{}) {
	supervise.EndOnSignal(s.asked, stop, s.boot.Grace, func(_ os.Signal, grace time.Duration) {
		if err := s.stop(grace); err != nil {
			log.Print(err)
		}
	})
}
