package screen

import (
	"errors"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/outbox"
	"den/internal/place/provider"
)

// outcome is what is known of a message that was handed over.
type outcome struct {
	progress conversation.Progress
	evidence string        // or what was missing
	expect   outbox.Expect // what may still show that it was taken, or ""
}

func taken(evidence string) outcome {
	return outcome{progress: conversation.Taken, evidence: evidence}
}

// sent is a message that nothing shows the agent to have taken.
func sent(why string) outcome { return outcome{progress: conversation.Sent, evidence: why} }

// later is sent, of which more may become known.
func later(why string, e outbox.Expect) outcome {
	return outcome{progress: conversation.Sent, evidence: why, expect: e}
}

// enterMissing is a message whose text was typed and whose Enter was not, as far
// as is known.
func enterMissing(err error) outcome {
	if errors.Is(err, provider.ErrUnanswered) {
		return sent("the text was typed, Enter perhaps: " + err.Error())
	}
	return sent("the text was typed, Enter was not: " + err.Error())
}

// noted writes the outcome of a message down. life is the start of the session
// that it was sent to.
func (o outcome) noted(life string) func(*outbox.Message) {
	return func(m *outbox.Message) {
		m.Status, m.Reason, m.Expect, m.Life = o.progress, o.evidence, o.expect, life
		if o.expect == outbox.ExpectRead && life == "" {
			m.Expect = "" // nobody could tell whose input is read
		}
		if m.Expect == "" {
			m.Life = ""
		}
	}
}
