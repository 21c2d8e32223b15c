package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"den/internal/place/provider"
)

// Observe asks twice for all: for the panes, and for the options in which
// metadata is kept.
func (p *Provider) Observe(ctx context.Context, prefix string) (map[string]provider.Observation, error) {
	panes, err := p.panes(ctx, "1")
	if err != nil {
		return nil, err
	}
	all := map[string]provider.Observation{}
	var shown []pane
	for _, one := range panes {
		if strings.HasPrefix(one.name, prefix) {
			all[one.name] = observation(&one)
			shown = append(shown, one)
		}
	}
	meta, err := p.allMeta(ctx, shown)
	if err != nil {
		return nil, err
	}
	for _, one := range shown {
		o := all[one.name]
		o.Meta = meta[one.session]
		all[one.name] = o
	}
	return all, nil
}

func observation(one *pane) provider.Observation {
	o := provider.Observation{Running: !one.ended(), PID: one.pid, Started: one.created, Attached: one.attached, Activity: one.activity}
	if !o.Running {
		o.Exit = exitOf(one)
	}
	return o
}

// allMeta returns the metadata of sessions, by tmux's id of each. A session that
// goes meanwhile has none; those behind it in the question are asked for again.
func (p *Provider) allMeta(ctx context.Context, panes []pane) (map[string]map[string]string, error) {
	meta := map[string]map[string]string{}
	for len(panes) > 0 {
		var line []string
		for _, one := range panes {
			line = append(line, command("display-message", "-p", "-t", one.session+":", metaOf+"#{session_id}"), command("show-options", "-t", one.session+":"))
		}
		lines, err := p.askOf(ctx, &panes[0], sequence(line...)) // all are of one server: they were listed at once
		switch {
		case errors.Is(err, errNoServer):
			return meta, nil
		case err != nil && !refused(err):
			return nil, err
		}
		answered, perr := parseMeta(lines, meta)
		if perr != nil {
			return nil, unasked(perr)
		}
		if err == nil {
			return meta, nil
		}
		panes = panes[min(answered+1, len(panes)):] // behind the one that went
	}
	return meta, nil
}

// metaOf begins the line before a session's options.
const metaOf = "den-options-of "

// parseMeta reads the options of sessions and counts the sessions.
func parseMeta(lines []string, into map[string]map[string]string) (sessions int, err error) {
	var values map[string]string
	prefix := metaOption("")
	for _, line := range lines {
		if session, ok := strings.CutPrefix(line, metaOf); ok {
			values = map[string]string{}
			into[session] = values
			sessions++
			continue
		}
		option, value, _ := strings.Cut(line, " ")
		encodedKey, ok := strings.CutPrefix(option, prefix)
		if !ok || values == nil {
			continue
		}
		key, ok := decode(encodedKey)
		text, verr := decoded(strings.Trim(value, `"`))
		if !ok || verr != nil {
			return sessions, fmt.Errorf("tmux shows metadata as %q", line)
		}
		values[key] = text
	}
	return sessions, nil
}
