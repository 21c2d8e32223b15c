package daemon

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/keeper"
)

// answer decides the question that an agent asks, by one of its options. The
// question is named, so that an answer that comes late decides no other.
func (d *daemon) answer(ctx context.Context, req keeper.Answer) (keeper.Answered, error) {
	m, err := d.find(req.Agent)
	if err != nil {
		return keeper.Answered{}, err
	}
	state, err := m.State(ctx)
	if err != nil {
		return keeper.Answered{}, err
	}
	q := state.Question
	if q == nil || q.ID != req.Question {
		return keeper.Answered{}, fault.Hintf(fault.Errorf(fault.NotFound, "agent '%s' does not ask '%s'", m.Name(), req.Question), "'den attention' lists what is asked")
	}
	option, err := findOption(q.Options, req.Option)
	if err != nil {
		return keeper.Answered{}, fault.Errorf(fault.KindOf(err), "answer agent '%s': %w", m.Name(), err)
	}
	if err := m.Answer(ctx, q.ID, option.ID, req.By); err != nil {
		return keeper.Answered{}, err
	}
	d.controller.Event(keeper.Event{
		Type: keeper.EventAnswered, Agent: m.Name(), Key: m.key, Why: option.Label, Detail: map[string]any{"by": req.By, "question": q.Text},
	})
	return keeper.Answered{Agent: m.Name(), Question: q.ID, Option: option.Label}, nil
}

// findOption finds an option by its id, its number or its text.
func findOption(options []conversation.Option, wanted string) (conversation.Option, error) {
	if i := slices.IndexFunc(options, func(o conversation.Option) bool { return o.ID == wanted }); i >= 0 {
		return options[i], nil
	}
	if n, err := strconv.Atoi(wanted); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], nil
	}
	if i := slices.IndexFunc(options, func(o conversation.Option) bool { return strings.EqualFold(o.Label, wanted) }); i >= 0 {
		return options[i], nil
	}
	if len(options) == 0 {
		return conversation.Option{}, fault.Hintf(fault.Errorf(fault.Unsupported, "its options are not known"), "answer it yourself: den agent attach")
	}
	var labels []string
	for i, o := range options {
		labels = append(labels, strconv.Itoa(i+1)+" "+o.Label)
	}
	return conversation.Option{}, fault.Hintf(fault.Errorf(fault.Usage, "no option '%s'", wanted), "there are: %s", strings.Join(labels, "; "))
}
