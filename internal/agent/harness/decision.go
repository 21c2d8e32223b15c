package harness

import (
	"os"
	"strings"

	"den/internal/agent/permission"
	"den/internal/base/fault"
)

// decision is one that stands in a message: "approve ID", "approve ID always",
// "approve ID --always --why TEXT", "deny ID TEXT", "answer ID TEXT".
type decision struct {
	id, option, text, why string
	always                bool
	unclear               string // what it says behind the id and should not, or ""
}

// decisionIn reads a decision from a message. known tells whether there is or
// was something with an id: people use the words in other messages too, and
// what is no decision is for the agent.
func decisionIn(text string, known func(id string) bool) (d decision, ok bool) {
	rest := strings.TrimSpace(text)
	for strings.HasPrefix(rest, "@") {
		_, rest = word(rest)
	}
	d.option, rest = word(rest)
	d.option = strings.ToLower(d.option)
	d.id, rest = word(rest)
	d.id = strings.ToLower(strings.TrimRight(strings.TrimPrefix(d.id, "#"), ".!"))
	switch d.option {
	case optionAnswer:
		d.text = rest
		return d, rest != "" && known(d.id)
	case optionApprove, optionDeny:
		bare := d.readReason(rest)
		return d, known(d.id) || isTypo(d.id) && (bare || permission.LooksLikeID(d.id) && d.unclear == "")
	}
	return d, false
}

// readReason reads what stands behind the id of an approval: whether it is for
// always, and why. Behind "deny ID" any text is the reason. Behind "approve ID"
// it could be a condition, which would be lost. It reports whether there is no
// text but what '--why' says.
func (d *decision) readReason(rest string) (bare bool) {
	if first, after := word(rest); isAlways(first) {
		d.always, rest = true, after
	}
	if before, ok := strings.CutSuffix(rest, " --always"); ok {
		d.always, rest = true, strings.TrimSpace(before)
	}
	if first, after := word(rest); strings.EqualFold(first, "--why") {
		d.why = after
		return true
	}
	if d.option == optionApprove {
		d.unclear = rest
	} else {
		d.why = rest
	}
	return rest == ""
}

func isAlways(word string) bool {
	return strings.EqualFold(strings.TrimPrefix(word, "--"), "always")
}

// word cuts the first word from a text.
func word(text string) (first, rest string) {
	first, rest, _ = strings.Cut(text, " ")
	return first, strings.TrimSpace(rest)
}

// isTypo reports whether a word could be meant as the id of an approval, although
// it is none: letters and digits, with a digit among them.
func isTypo(id string) bool {
	const digits = "0123456789"
	return strings.ContainsAny(id, digits) && strings.Trim(id, digits+"abcdefghijklmnopqrstuvwxyz") == ""
}

// answer is what the broker is told.
func (d decision) answer(by string) (permission.Answer, error) {
	if d.unclear != "" {
		return permission.Answer{}, fault.Errorf(fault.Usage, "nothing was decided: %q is not understood; say 'approve %s', with 'always' or '--why TEXT' behind it", d.unclear, d.id)
	}
	return permission.Answer{Approve: d.option == optionApprove, Text: d.text, Always: d.always, By: by, Why: d.why}, nil
}

// noteDenials keeps what a tool's output says that the agent's sandbox refused,
// in words, for who asks the keeper.
func (h *Harness) noteDenials(output string) {
	p := h.config.Sandbox
	if p == nil {
		return
	}
	life, _ := p.Living() // this process is of one life
	fresh, err := p.Note(life, p.Denials(output, os.Environ()))
	if err != nil {
		h.logf("keep what the sandbox refused: %v", err)
	}
	for _, line := range fresh {
		h.logf("the sandbox: %s", line)
	}
}
