package harness

import "encoding/json"

// Route says where the answer to a prompt goes. It is kept with the prompt.
type Route struct {
	Kind   RouteKind `json:"kind"`
	Target string    `json:"target,omitempty"` // of RouteChannel: a channel, or a nick
	Sender string    `json:"sender,omitempty"`
	Bot    bool      `json:"bot,omitempty"` // a program asks, not a person
	// Account is the sender's, or "": what was asked in private is answered to
	// nobody else who has the nick by then.
	Account string `json:"account,omitempty"`
}

// RouteKind is a kind of place. The values are stored: add, never rename.
type RouteKind string

// The kinds of routes. A prompt without a route is answered nowhere but on the
// screen.
const (
	RouteChannel RouteKind = "irc"
	RouteAsker   RouteKind = "ask" // somebody waits on the socket, or looks later
	// The answers to these go nowhere but on the screen.
	RouteNudge  RouteKind = "nudge"  // a message that nobody waits for
	RouteScreen RouteKind = "screen" // a line that was typed on it
)

func (r Route) encode() string {
	data, err := json.Marshal(r)
	if err != nil {
		return "" // a struct of strings always encodes
	}
	return string(data)
}

// decodeRoute returns the zero Route for what is none.
func decodeRoute(s string) Route {
	var r Route
	if json.Unmarshal([]byte(s), &r) != nil {
		return Route{}
	}
	return r
}
