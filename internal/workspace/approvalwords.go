package workspace

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// checkOwn refuses arguments and variables of the agent's own that decide what
// is asked: `approval` would say one thing and the program do another.
func (m ApprovalModes) checkOwn(merged *node, name string, r *report) {
	refuse := func(at Origin, key, what string, has []string) {
		instead := fmt.Sprintf("what the agent asks is for 'approval' to say (%s), or for a 'start_command' of your own", m.words())
		if word := m.meantBy(has); word != "" {
			instead = fmt.Sprintf("write approval = \"%s\" instead", word)
		}
		r.add(at, "agent '%s': '%s' has %s: %s", name, key, what, instead)
	}
	args := merged.get("args")
	for i, word := range texts(args) {
		if m.decides(word) {
			refuse(args.items[i].origin, "args", word, spelled(texts(args)[i:]))
		}
	}
	if env := merged.get("env"); env != nil {
		for _, e := range env.entries {
			if slices.Contains(m.names(), e.key) {
				refuse(e.value.origin, "env", e.key, []string{bare(e.key + "=" + e.value.text)})
			}
		}
	}
}

// checkOptions refuses options of an agent that is driven by a protocol that
// would have it ask otherwise than `approval` says.
func checkOptions(options *node, m ApprovalModes, name string, r *report) {
	if options == nil {
		return
	}
	for _, e := range options.entries {
		if word := m.meantBy([]string{e.key + "=" + e.value.text}); word != "" {
			r.add(e.value.origin, "agent '%s': 'options' has %s = \"%s\": write approval = \"%s\" instead", name, e.key, e.value.text, word)
		}
	}
}

// toldBy is what a command line that is not a preset's says itself, as far as
// den knows its program: ApprovalBypass or "".
func toldBy(merged *node) string {
	words := append(texts(merged.get("start_command")), texts(merged.get("args"))...)
	has := spelled(words)
	if env := merged.get("env"); env != nil {
		for _, e := range env.entries {
			has = append(has, bare(e.key+"="+e.value.text))
		}
	}
	for _, preset := range builtin().get("providers").entries {
		program := preset.value.get("start_command")
		if program == nil || !slices.ContainsFunc(words, func(word string) bool { return path.Base(word) == program.text }) {
			continue
		}
		if bypass := builtinModes(preset.key).Bypass; bypass != nil && bypass.isMeantBy(has) {
			return ApprovalBypass
		}
	}
	return ""
}

// texts are the words of a list, or of a command line.
func texts(n *node) []string {
	switch {
	case n == nil:
		return nil
	case n.kind == scalarNode:
		return strings.Fields(n.text)
	}
	var words []string
	for _, item := range n.items {
		words = append(words, item.text)
	}
	return words
}

// spelled is words without their quotes, and every option also with the word
// behind it as "--option=value".
func spelled(words []string) []string {
	var all []string
	for i, word := range words {
		word = bare(word)
		all = append(all, word)
		if strings.HasPrefix(word, "-") && i+1 < len(words) {
			all = append(all, word+"="+bare(words[i+1]))
		}
	}
	return all
}

func bare(word string) string { return strings.NewReplacer(`"`, "", `'`, "", " ", "").Replace(word) }

// meantBy is the word of `approval` that is meant by these options and
// variables, "" for none.
func (m ApprovalModes) meantBy(has []string) string {
	for _, word := range slices.Backward(approvals) {
		if mode := m.of(word); mode != nil && mode.isMeantBy(has) {
			return word
		}
	}
	return ""
}

func (m *ApprovalMode) isMeantBy(has []string) bool {
	is := func(one string) bool { return slices.Contains(has, one) }
	all := m.told()
	return slices.ContainsFunc(m.Same, is) || len(all) > 0 && !slices.ContainsFunc(all, func(one string) bool { return !is(one) })
}

// told is the mode's options as "--option=value" and its variables.
func (m *ApprovalMode) told() []string {
	var all []string
	for _, word := range m.Args {
		if last := len(all) - 1; last >= 0 && !strings.HasPrefix(word, "-") {
			all[last] += "=" + word
			continue
		}
		all = append(all, word)
	}
	for key, value := range m.Env {
		if value != "" {
			all = append(all, key+"="+bare(value))
		}
	}
	return all
}

// decides reports whether a word of a command line sets what some mode sets:
// with "=", with the value behind a letter ("-anever"), or as a setting of a
// configuration ("-c approval_policy=never").
func (m ApprovalModes) decides(word string) bool {
	option, _, _ := strings.Cut(word, "=")
	return slices.ContainsFunc(m.names(), func(name string) bool {
		switch {
		case !strings.HasPrefix(name, "-"):
			return strings.Contains(bare(word), name+"=") || strings.Contains(bare(word), name+".")
		case len(name) == len("-x"):
			return strings.HasPrefix(word, name)
		}
		return option == name
	})
}

// names are the options, settings and variables of all modes.
func (m ApprovalModes) names() []string {
	names := slices.Clone(m.Also)
	for _, word := range approvals {
		mode := m.of(word)
		if mode == nil {
			continue
		}
		for _, one := range slices.Concat((&ApprovalMode{Args: mode.Args}).told(), mode.Same, slices.Collect(maps.Keys(mode.Env))) {
			parts := strings.Split(one, "=")
			names = append(names, parts[max(0, len(parts)-2)]) // "-c=setting=value": the setting
		}
	}
	return names
}
