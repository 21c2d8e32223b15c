// Package place is the wing of where agents live: the workspace's file
// (workspace), the kinds of places and what each can do (provider and below),
// what runs in pods (podhost), worktrees, sandboxes, the keeper's lease in a
// cluster, and the files that decide what runs (decisive). It has no code of its
// own.
//
// Its packages import session and what is below. Begin with provider.Provider,
// the contract that every place implements, and workspace.Load.
package place
