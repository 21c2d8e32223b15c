package provider_test

import (
	"slices"
	"testing"

	"den/internal/place/provider"
)

// A slow receiver gets each event once, and the last one of a session last.
func TestEventQueueMerges(t *testing.T) {
	var q provider.EventQueue
	started, ended := provider.Event{Name: "a", Change: provider.Started}, provider.Event{Name: "a", Change: provider.Ended}
	other := provider.Event{Name: "b", Change: provider.Ended}
	for _, e := range []provider.Event{started, ended, other, started, ended} {
		q.Add(e)
	}
	out := make(chan provider.Event, 8)
	var got []provider.Event
	for {
		to, next := q.Next(out)
		if to == nil {
			break
		}
		to <- next
		q.Sent()
		got = append(got, <-out)
	}
	if want := []provider.Event{other, started, ended}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	q.Add(ended)
	if _, next := q.Next(out); next != ended {
		t.Errorf("after it was taken: %v", next)
	}
}
