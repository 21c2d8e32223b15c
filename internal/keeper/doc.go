// Package keeper is the keeper's API for the command line: the workspace's
// state directory, its lock, and the messages on the keeper's socket.
//
// The folder is the wing of the keeper of a workspace: this API, what becomes of
// the agents that are wanted (controller), the program (daemon), and the parts
// that it is made of. Its packages may import ticks and what is below. Begin with
// daemon's main.go, then site.go, plan.go and controller.Controller.
package keeper
