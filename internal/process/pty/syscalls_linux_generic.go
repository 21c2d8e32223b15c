//go:build linux && (arm64 || riscv64 || loong64)

package pty

import "den/internal/base/lazy"

// archCalls is empty: these processors never had select, poll and epoll_wait,
// only their successors.
var archCalls = lazy.Value[callTable]{Make: func() callTable { return nil }}
