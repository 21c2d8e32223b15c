package workspace

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// checkOwn refuses the agent's own arguments and variables that decide what is
// asked, because `approval` and the program would then disagree.
func (m ApprovalModes) checkOwn(merged *node, key, name string, r *report) {
	refuse := func(at Origin, key, what string, has []string) {
		instead := fmt.Sprintf("what the agent asks is for 'approval' to say (%s), or for a 'start_command' of your own", m.words())
		if word := m.meantBy(has); word != "" {
			instead = fmt.Sprintf("write approval = \"%s\" instead", word)
		}
		r.add(at, "agent '%s': '%s' has %s: %s", name, key, what, instead)
	}
	args := merged.get(key)
	for i, word := range texts(args) {
		has := spelled(texts(args)[i:])
		if m.decides(word) || slices.ContainsFunc(has[:min(2, len(has))], func(one string) bool { return slices.Contains(m.Also, one) }) {
			at := args.origin
			if args.kind == listNode {
				at = args.items[i].origin
			}
			refuse(at, key, word, has)
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

// checkOptions refuses options that contradict `approval`, of an agent that is
// driven by protocol.
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

// unknown returns the first word that is not known to be harmless to what is
// asked, or "". A word with a space in it is a prompt.
func (m ApprovalModes) unknown(words []string) string {
	for i := 0; i < len(words); i++ {
		option, value, attached := strings.Cut(words[i], "=")
		behind := !attached && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-")
		if behind {
			value = words[i+1]
		}
		key, _, _ := strings.Cut(bare(value), "=")
		key, _, _ = strings.Cut(key, ".")
		switch {
		case !attached && slices.Contains(m.Harmless, option):
		case slices.Contains(m.Harmless, option+"="), key != "" && slices.Contains(m.Harmless, option+"="+key):
			if behind {
				i++
			}
		case !strings.HasPrefix(option, "-") && strings.Contains(words[i], " "):
		default:
			return words[i]
		}
	}
	return ""
}

// loaders are variables that have a program read other settings or run other
// code, whoever made it.
var loaders = []string{
	"PATH", "HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "NODE_OPTIONS", "NODE_PATH", "BUN_OPTIONS", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH",
	"BASH_ENV", "ENV", "ZDOTDIR",
}

// doubtedBy says which variable may change what a preset's program asks, "" for
// none: one of its vendor's that is not known to be harmless, or a loader.
func (m ApprovalModes) doubtedBy(env *node, preset string) string {
	if env == nil {
		return ""
	}
	var vendors []string
	if state := builtin.Get().get("presets").get(preset).get("state"); state != nil {
		vendors = texts(state.get("env"))
	}
	is := func(names []string, name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { ok, err := path.Match(n, name); return ok && err == nil })
	}
	for _, e := range env.entries {
		if slices.Contains(loaders, e.key) || slices.ContainsFunc(vendors, func(v string) bool { return strings.HasSuffix(v, "*") && is([]string{v}, e.key) }) && !is(m.HarmlessEnv, e.key) {
			return doubtOf("env", e.key)
		}
	}
	return ""
}

// toldBy reads the approval from a command line that is not a preset's. It returns
// ApprovalBypass if the line tells a known program not to ask, however it starts the
// program, and a doubt if the line names such a program without that.
func toldBy(merged *node) (approval, doubt string) {
	var words []string
	for _, word := range append(texts(merged.get("start_command")), texts(merged.get("args"))...) {
		words = append(words, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`\"'", r) })...)
	}
	has := spelled(words)
	whole := bare(strings.Join(append(texts(merged.get("start_command")), texts(merged.get("args"))...), " "))
	if env := merged.get("env"); env != nil {
		for _, e := range env.entries {
			has = append(has, bare(e.key+"="+e.value.text))
		}
	}
	for _, preset := range builtin.Get().get("presets").entries {
		modes, program := builtinModes(preset.key), preset.value.get("start_command")
		if modes.none() || !slices.ContainsFunc(words, func(word string) bool { return namesProgram(word, program.text) }) {
			continue
		}
		inQuotes := modes.Bypass != nil && slices.ContainsFunc(modes.Bypass.Same, func(one string) bool { // -c 'setting = "value"'
			return !strings.HasPrefix(one, "-") && strings.Contains(whole, one)
		})
		if inQuotes || modes.Bypass.isMeantBy(has) || modes.Ask == nil && modes.Edits == nil {
			return ApprovalBypass, ""
		}
		doubt = "decided by its own command line, with " + program.text
	}
	return "", doubt
}

// namesProgram reports whether a word is a program, or the package that has it.
func namesProgram(word, program string) bool {
	name, _, _ := strings.Cut(path.Base(word), "@") // its version
	rest, ok := strings.CutPrefix(name, program)
	return ok && slices.Contains([]string{"", "-code", "-cli", "-ai", "-agent", "-coding-agent"}, rest)
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
// behind it as "--option=value"; letters behind one dash also as options of
// their own, and as the value of the first.
func spelled(words []string) []string {
	var all []string
	for i, word := range words {
		word = bare(word)
		all = append(all, word)
		if strings.HasPrefix(word, "-") && i+1 < len(words) {
			all = append(all, word+"="+bare(words[i+1]))
		}
		if len(word) > 2 && word[0] == '-' && word[1] != '-' {
			all = append(all, word[:2]+"="+word[2:])
			for _, letter := range word[1:] {
				all = append(all, "-"+string(letter))
			}
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
