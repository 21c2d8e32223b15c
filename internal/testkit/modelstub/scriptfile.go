package modelstub

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"den/internal/base/fault"
)

// A scriptRule is one rule of a script in JSON:
//
//	[{"contains": "list", "replies": [{"calls": [{"name": "Bash", "input": {"command": "ls"}}]}, {"text": ["two ", "files"]}]},
//	 {"contains": "ping", "always": true, "replies": [{"text": ["pong"], "gap": "200ms"}]}]
type scriptRule struct {
	Contains string        `json:"contains"` // "" matches everything
	After    string        `json:"after"`    // a part of a tool's result
	Always   bool          `json:"always"`
	Replies  []scriptReply `json:"replies"`
}

type scriptReply struct {
	Think string   `json:"think"`
	Text  []string `json:"text"`
	Calls []struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"calls"`
	Wait   string `json:"wait"` // such as "1.5s"
	Gap    string `json:"gap"`
	Status int    `json:"status"`
	Damage Damage `json:"damage"`
}

// Load adds the rules of a script in JSON.
func (s *Server) Load(r io.Reader) error {
	var script []scriptRule
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&script); err != nil {
		return fault.Errorf(fault.Usage, "read the model's script: %w", err)
	}
	var rules []*rule
	for i, from := range script {
		to, err := from.rule()
		if err != nil {
			return fault.Errorf(fault.Usage, "read rule %d of the model's script: %w", i+1, err)
		}
		rules = append(rules, to)
	}
	for _, r := range rules { // all or none
		s.addRule(r)
	}
	return nil
}

func (from scriptRule) rule() (*rule, error) {
	if len(from.Replies) == 0 || from.Always && len(from.Replies) > 1 {
		return nil, fmt.Errorf("it has %d replies: want one with always, and one or more without", len(from.Replies))
	}
	to := &rule{match: Contains(from.Contains), always: from.Always}
	if from.After != "" {
		to.match = All(to.match, After(from.After))
	}
	for _, r := range from.Replies {
		reply, err := r.reply()
		if err != nil {
			return nil, err
		}
		to.replies = append(to.replies, reply)
	}
	return to, nil
}

func (from scriptReply) reply() (Reply, error) {
	to := Reply{Think: from.Think, Text: from.Text, Damage: from.Damage}
	for _, c := range from.Calls {
		if len(c.Input) == 0 {
			c.Input = json.RawMessage("{}")
		}
		to.Calls = append(to.Calls, Call{Name: c.Name, Input: c.Input})
	}
	if from.Status != 0 {
		to.Failure = &Failure{Status: from.Status}
	}
	switch from.Damage {
	case "", Cut, Early, Garbage, Error:
	default:
		return to, fmt.Errorf("the damage '%s' is not known: %s, %s, %s or %s", from.Damage, Cut, Early, Garbage, Error)
	}
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{from.Wait, &to.Wait}, {from.Gap, &to.Gap}} {
		if d.text == "" {
			continue
		}
		var err error
		if *d.to, err = time.ParseDuration(d.text); err != nil {
			return to, err
		}
	}
	return to, nil
}
