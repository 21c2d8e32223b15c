// Package base is the wing that everything stands on: errors with kinds (fault),
// names (ident), files that are written whole (atomicfile, statefile) or grow by lines (journal), locks
// (filelock), waiting (poll, wake), and how den's sockets and pages are served (rpc,
// httpguard). It has no code of its own.
//
// Its packages import nothing of den but each other. Begin with fault: every
// error that a person sees has one of its kinds.
package base
