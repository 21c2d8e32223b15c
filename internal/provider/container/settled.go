package container

import (
	"context"
	"strings"
	"time"
)

// How long a removal may disturb a list.
const (
	listPause = 20 * time.Millisecond
	listLimit = 5 * time.Second
)

// Settled asks for a list until the engine can tell: podman refuses all of it
// while any container or image, also somebody else's, is on its way out.
func Settled(ctx context.Context, ask func() error) error {
	for end := time.Now().Add(listLimit); ; {
		err := ask()
		if err == nil || !removing(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(listPause):
		}
	}
}

// removing reports whether the engine stumbled over something that goes away.
func removing(err error) bool {
	text := err.Error()
	for _, words := range []string{"container not known", "image not known", "no such container", "no such process", "layer not known"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
