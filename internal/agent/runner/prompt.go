package runner

import (
	"fmt"
	"strings"

	"den/internal/agent/conversation/outbox"
)

// A Prompt is a message for the agent. Its ID is that of the turn it begins,
// and Route, which the Runner does not read, says where the answer goes.
type Prompt struct {
	ID     string
	Text   string
	Route  string
	Urgent bool // before all whose turns have not begun; it has no Route
}

func promptOf(m outbox.Message) Prompt { return Prompt{ID: m.ID, Text: m.Text, Route: m.Route} }

// maxQuoted bounds what is repeated of a message that the agent has.
const maxQuoted = 2000

// resumeText tells the agent of a message whose turn was cut off. The message
// is not sent again: it may have been done in part. An agent whose conversation
// has it is only reminded of it; one that may never have got it reads all of it.
func resumeText(text, why string, has bool) string {
	if has && len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	quoted := "> " + strings.ReplaceAll(text, "\n", "\n> ")
	return fmt.Sprintf("[den] Your last turn was cut off before it ended (%s). It was about this message:\n%s\nCheck what you have done of it already. Finish the rest, and answer the message.", why, quoted)
}
