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

// RetryWhileRemoving asks for a list until the engine can answer: podman refuses
// the whole list while any container or image, also somebody else's, is being
// removed.
func RetryWhileRemoving(ctx context.Context, ask func() error) error {
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
	for _, words := range []string{
		"container not known", "image not known", "no such container", "no such process", "layer not known",
		`locating item named "manifest" for image`, // its files go before its entry
		"size is not known",                        // of an image that is being made or goes away
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
