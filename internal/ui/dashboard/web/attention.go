package web

import (
	"bytes"
	"context"
	"encoding/json"

	"den/internal/keeper"
)

const (
	maxWaiting = 200      // entries that a page gets; it shows the number of the others
	maxShown   = 16 << 10 // bytes that a page gets of each text of a request
)

// attention is what a page shows of what waits for a person.
type attention struct {
	Waiting     []waiting         `json:"waiting"`
	Left        int               `json:"left,omitempty"` // that wait and are not among them
	Recent      []keeper.Approval `json:"recent,omitempty"`
	Unreachable []string          `json:"unreachable,omitempty"`
}

// waiting is one thing that waits, with texts that are short enough for a page.
type waiting struct {
	keeper.Waiting
	Input string `json:"input,omitempty"` // the tool's own, as JSON, of a request for permission
	// Cut says that the page has not all of the request. Nobody can approve
	// what they do not see.
	Cut bool `json:"cut,omitempty"`
}

// askAttention asks the keeper. One that is older does not know: nil.
func askAttention(ctx context.Context, c *keeper.Client) (*attention, error) {
	all, err := c.Attention(ctx)
	if all == nil || err != nil {
		return nil, err
	}
	return newAttention(*all), nil
}

func newAttention(all keeper.Attention) *attention {
	shown := all.Waiting[:min(len(all.Waiting), maxWaiting)]
	a := &attention{Waiting: []waiting{}, Left: len(all.Waiting) - len(shown), Recent: all.Recent, Unreachable: all.Unreachable}
	for _, w := range shown {
		a.Waiting = append(a.Waiting, newWaiting(w))
	}
	for i := range a.Recent {
		shortenRequest(&a.Recent[i].Request)
	}
	return a
}

func newWaiting(w keeper.Waiting) waiting {
	out := waiting{Waiting: w}
	out.What, _ = shorten(w.What)
	if w.Approval == nil {
		return out
	}
	approval := *w.Approval
	var cut bool
	out.Input, cut = shorten(inputText(approval.Detail))
	approval.Detail = nil
	out.Cut = shortenRequest(&approval.Request) || cut
	out.Approval = &approval
	return out
}

// inputText returns the tool's own input of a request, for people.
func inputText(detail json.RawMessage) string {
	var d struct {
		Request struct {
			Input json.RawMessage `json:"input"`
		} `json:"request"`
	}
	var out bytes.Buffer
	if json.Unmarshal(detail, &d) != nil || len(d.Request.Input) == 0 || json.Indent(&out, d.Request.Input, "", "  ") != nil {
		return ""
	}
	return out.String()
}

// shortenRequest bounds the texts of a request, and reports whether something
// was cut off.
func shortenRequest(r *keeper.ApprovalRequest) (cut bool) {
	for _, text := range []*string{&r.Tool, &r.Command, &r.Dir, &r.URL, &r.Text} {
		var c bool
		*text, c = shorten(*text)
		cut = cut || c
	}
	size := 0
	for i, path := range r.Paths {
		if size += len(path); size > maxShown {
			r.Paths = r.Paths[:i:i]
			return true
		}
	}
	return cut
}

func shorten(text string) (short string, cut bool) {
	if len(text) <= maxShown {
		return text, false
	}
	return string(bytes.ToValidUTF8([]byte(text[:maxShown]), nil)), true
}
