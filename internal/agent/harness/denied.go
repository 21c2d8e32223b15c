package harness

import "os"

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
