package tick

import "den/internal/agent/runner"

// replies tells the replies of the model within a turn apart. A reply is what
// the model says, thinks and uses until it waits for the answers of the tools
// that it used. Some backends number them; of the others it is known only that a
// word which follows the end of all tools is not of the reply that used them:
// tools of one reply may also be run, and told, one after the other.
//
// It belongs to who reads the backend's output.
type replies struct {
	begun    bool            // there was a reply
	number   string          // of the last one, as the backend gave it; or ""
	open     map[string]bool // tools that are used
	finished bool            // one has ended since the last reply began
}

// spoke takes a message. It reports whether a reply begins with it, as far as
// that can be told, and whether that is certain.
func (r *replies) spoke(e runner.Event) (begins, certain bool) {
	words := false
	var uses []string
	for _, b := range e.Message.Content {
		if b.Type == runner.BlockToolUse {
			uses = append(uses, b.ID)
		} else {
			words = true
		}
	}
	switch {
	case e.Reply != "":
		begins = e.Reply != r.number
		certain = begins
		r.number = e.Reply
	case !r.begun:
		begins, certain = true, true // it replies to the prompt
	default:
		begins = r.finished
		certain = r.finished && words && len(r.open) == 0
	}
	if begins {
		r.begun, r.finished = true, false
	}
	if r.open == nil {
		r.open = map[string]bool{}
	}
	for _, id := range uses {
		r.open[id] = true
	}
	return begins, certain
}

// toolEnded takes the end of a tool's use.
func (r *replies) toolEnded(id string) {
	delete(r.open, id)
	r.finished = true
}
