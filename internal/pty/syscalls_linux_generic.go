//go:build linux && (arm64 || riscv64 || loong64)

package pty

// archCalls is empty: these processors came after select, poll and
// epoll_wait had successors, and their C libraries use those.
var archCalls map[int64]callInfo
