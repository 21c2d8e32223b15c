package supervisor

import (
	"bytes"
	"encoding/json"
	"strings"

	"den/internal/base/fault"
)

const (
	maxAnswer  = 16 << 10 // bytes of an answer that are read
	maxMessage = 2000     // bytes of a verdict's message
)

// parseVerdict reads a judge's answer: one JSON object, perhaps with words or
// a code fence around it. Anything else is an error: a judge that is not
// understood has not said OK.
func parseVerdict(answer string) (Verdict, error) {
	if len(answer) > maxAnswer {
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: the answer has %d bytes", len(answer))
	}
	objects := findObjects(answer)
	if len(objects) != 1 {
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: there are %d JSON objects in %q, want one", len(objects), shortened(answer))
	}
	dec := json.NewDecoder(bytes.NewReader(objects[0]))
	dec.DisallowUnknownFields()
	var v Verdict
	if err := dec.Decode(&v); err != nil {
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: %w", err)
	}
	v.Message = strings.TrimSpace(v.Message)
	switch {
	case !v.Action.valid():
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: '%s' is none", shortened(string(v.Action)))
	case v.Action != OK && v.Message == "":
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: %s without a message", v.Action)
	}
	if len(v.Message) > maxMessage {
		v.Message = strings.ToValidUTF8(v.Message[:maxMessage], "") + "…"
	}
	return v, nil
}

// findObjects returns the JSON objects in a text that are in no other.
func findObjects(text string) []json.RawMessage {
	var all []json.RawMessage
	for {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			return all
		}
		text = text[at:]
		dec := json.NewDecoder(strings.NewReader(text))
		var object json.RawMessage
		if dec.Decode(&object) != nil {
			text = text[1:]
			continue
		}
		all = append(all, object)
		text = text[dec.InputOffset():]
	}
}

func shortened(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
