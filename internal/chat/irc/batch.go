package irc

// A batch is messages that belong together, from BATCH + to BATCH -.
type batch struct {
	kind     string
	label    string // of the request that it answers, or empty
	root     bool   // the label is its own, not its parent's
	messages []Message
}

// The bounds of batches: more, or longer ones, are handled as if their
// messages came alone, or cut.
const (
	maxBatches = 64
	maxBatch   = 4096
)

// collects reports whether the messages are kept for a request, and are not
// news.
func (b *batch) collects() bool {
	switch b.kind {
	case "chathistory", "draft/chathistory-targets":
		return true
	}
	return false
}

func (b *batch) add(m Message) {
	if len(b.messages) < maxBatch {
		b.messages = append(b.messages, m)
	}
}

func (cn *connection) batchLocked(m Message) {
	ref := m.Param(0)
	if len(ref) < 2 {
		return
	}
	name := ref[1:]
	if ref[0] == '+' {
		b := &batch{kind: m.Param(1), label: m.Tags.Value("label")}
		b.root = b.label != ""
		if parent := cn.batches[m.Tags.Value("batch")]; parent != nil && !b.root {
			b.label = parent.label
		}
		if len(cn.batches) < maxBatches {
			cn.batches[name] = b
		}
		return
	}
	if b := cn.batches[name]; b != nil {
		delete(cn.batches, name)
		cn.endBatchLocked(b)
	}
}

// endBatchLocked gives collected messages to their request, and ends a request
// whose answer the batch was.
func (cn *connection) endBatchLocked(b *batch) {
	r := cn.byLabel[b.label]
	if b.label == "" && b.collects() {
		r = cn.firstPendingLocked("CHATHISTORY")
	}
	if r == nil {
		return
	}
	for _, m := range b.messages {
		r.take(m)
	}
	if b.root || b.label == "" {
		cn.completeLocked(r, r.end())
	}
}

func (cn *connection) firstPendingLocked(command string) *request {
	for _, r := range cn.pending {
		if r.message.Command == command && r.label == "" {
			return r
		}
	}
	return nil
}
