// Package tick runs one tick: it performs what package plan decides.
//
// # Ownership
//
// One goroutine, that of Run, has the state: it takes events, asks the plan,
// records the new state and performs the actions. What takes long runs in a
// goroutine of its own, which answers by an event and for which Close waits:
// the start of the runner, a turn, hooks, the checks before the end. The socket
// of the tools, the watch on the inbox and the reader of the runner's output
// send events, too. Events are taken until the tick is done, so whoever sends
// one does not wait for long.
//
// # Order
//
// The state is on the disk before its actions are performed. A script after the
// tick is on the disk as started before it is started. A tick whose process was
// killed is completed from there: see plan.Recover.
package tick
