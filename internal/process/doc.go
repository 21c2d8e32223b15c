// Package process is the wing of the operating system's processes: terminals and
// what runs on them (pty), trees of processes that end as a whole (tree),
// and git, which den runs under no configuration that an agent can write. It has
// no code of its own.
//
// Its packages import base. Begin with pty.Open and PTY.Start, then
// tree.Tree.
package process
