// Package keeper is the keeper's API for the command line: the workspace's
// state directory, its lock, and the messages on the keeper's socket.
//
// The folder is the wing of the keeper of a workspace: this API, what becomes of
// the agents that are wanted (controller), and the program (dend). Its packages
// import ticks and what is below. Begin with dend's main.go, then
// controller.Controller.
package keeper
