// Package podhost is den inside a pod: the pod's first process, and both ends of
// the stream that leads into the pod.
//
// The first process (Run) waits for an order, and then starts one session in a
// Home of the pod. When that session is over, it keeps the session's files until
// somebody has fetched them, and then exits as the session's program did. The pod
// needs nothing but den's own static binary.
//
// The keeper of the session reaches the pod by one stream, on which Connect
// serves any number of connections: to the session's host, to the first process,
// for commands, for an archive to unpack and for the session's files. A socket in
// the pod sends connections the other way, from an agent to its harness. In the
// pod of a keeper Connect serves den's verbs, for people elsewhere.
package podhost

import (
	"fmt"
	"os"

	"den/internal/base/fault"
)

// Verb is how den is told that it is in a pod: den pod MODE DIR.
const Verb = "pod"

// The modes.
const (
	ModeInstall = "install" // copy den's binary into DIR, for images that lack it
	ModeRun     = "run"     // be the pod's first process
	ModeConnect = "connect" // serve connections over stdin and stdout
	ModeVerbs   = "verbs"   // serve den's verbs over stdin and stdout; it has no DIR
	ModeExec    = "exec"    // replace this process by a command
)

// Main is the whole process. args are those behind Verb. It returns the process
// status.
func Main(args []string, version string, stdin, stdout, stderr *os.File) int {
	code, err := 0, error(nil)
	switch {
	case len(args) == 2 && args[0] == ModeInstall:
		err = Install(args[1])
	case len(args) == 2 && args[0] == ModeRun:
		code, err = Run(Place{Dir: args[1]}, version)
	case len(args) == 2 && args[0] == ModeConnect:
		err = Connect(Place{Dir: args[1]}, pollable(stdin), pollable(stdout))
	case len(args) == 1 && args[0] == ModeVerbs:
		err = Connect(Place{}, pollable(stdin), pollable(stdout))
	case len(args) == 3 && args[0] == ModeExec: // its directory is not needed
		code, err = Exec(args[2])
	default:
		err = fault.Errorf(fault.Usage, "'den %s' is for den itself", Verb)
	}
	if err != nil {
		fmt.Fprintln(stderr, "den pod:", err)
		if code == 0 {
			code = fault.ExitCode(err)
		}
	}
	return code
}
