package rpc_test

import (
	"context"
	"testing"

	"den/internal/base/rpc"
)

// BenchmarkCall is one request and its answer on a connection that stands.
func BenchmarkCall(b *testing.B) {
	r := start(b, rpc.Limits{})
	c, err := rpc.Dial(b.Context(), rpc.Unix(r.path), target)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		if err := c.Call(context.Background(), "echo", 1, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDialAndCall is what one command of den does.
func BenchmarkDialAndCall(b *testing.B) {
	r := start(b, rpc.Limits{})
	for b.Loop() {
		c, err := rpc.Dial(b.Context(), rpc.Unix(r.path), target)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Call(context.Background(), "echo", 1, nil); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
