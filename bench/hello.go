package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// helloSource is the least that a Go program can do: what a verb's start-up is
// held against.
const helloSource = `package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
`

// buildHello builds it as den is built, and returns its path.
func (b *bench) buildHello() (string, error) {
	source, binary := filepath.Join(b.tmp, "hello.go"), filepath.Join(b.tmp, "hello")
	if err := os.WriteFile(source, []byte(helloSource), 0o600); err != nil {
		return "", fmt.Errorf("build a hello world: %w", err)
	}
	cmd := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build a hello world: %w: %s", err, out)
	}
	return binary, nil
}
