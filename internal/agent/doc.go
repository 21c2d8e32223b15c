// Package agent gives sessions of any provider the identity of agents and
// brings them up.
//
// An agent is a name, a command with its environment, and hints on how it
// comes up. Start brings it up in a fixed order and records every step. A start
// that fails returns the step, its output and what the screen showed. The
// agent's conversation says how den talks with it.
//
// One Managed is used by one owner at a time for Start and Stop; all else may
// be called concurrently. It starts no goroutine that outlives a call.
//
// The folder is the wing of what an agent is: how den talks with it on a screen
// (conversation) or by a protocol (runner, harness), what it may do (permission,
// toolhook, budget, supervisor) and whom it tells (webhook). Its packages import
// place and what is below. Begin with Managed.Start.
package agent
