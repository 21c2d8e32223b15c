//go:build linux && (arm64 || riscv64 || loong64)

package pty

// archCalls is empty: these processors never had select, poll and epoll_wait,
// only their successors.
var archCalls map[int64]callInfo
