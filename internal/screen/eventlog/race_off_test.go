//go:build !race

package eventlog_test

const raced = false
