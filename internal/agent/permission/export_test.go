package permission

import "slices"

// HarmlessCommands returns the commands that the default allows, each with its
// options.
func HarmlessCommands() map[string][]string {
	all := map[string][]string{}
	for name, h := range harmlessCommands {
		options := slices.Clone(h.long)
		for _, letter := range h.options {
			options = append(options, "-"+string(letter))
		}
		all[name] = options
	}
	return all
}

// GlobalOptions returns the options that are known to stand before the
// subcommand of a program: those without a value, and those with one.
func GlobalOptions(program string) (flags, values []string) {
	g := globalOptions[program]
	return g.flags, g.values
}

// Rules returns the policy's rules.
func (p *Policy) Rules() []Rule { return slices.Clone(p.settings.Rules) }

// Rules returns the rules that owners added by deciding for always.
func (b *Broker) Rules() []Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rules)
}
