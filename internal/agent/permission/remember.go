package permission

import (
	"fmt"
	"slices"
	"sync"

	"den/internal/base/fault"
)

// Remember returns the rules with which a request that is asked for now would
// be decided as its owner did, and nothing else: for these commands with these
// arguments, for these files, for this host, for this tool. It is fault.Usage
// where there are no such rules.
func (p *Policy) Remember(r Request, outcome Outcome) ([]Rule, error) {
	var rules []Rule
	known := sync.OnceValues(p.decisiveFiles)
	for _, u := range p.places.uses(r) {
		part, decided := p.part(r.Tool, u, known)
		if !decided || part.Outcome != Ask {
			continue
		}
		if part.Rule != nil {
			return nil, fault.Errorf(fault.Usage, "remember decision: %s asks every time", part.Why)
		}
		rule, err := p.narrow(r, u)
		if err != nil {
			return nil, err
		}
		rule.Outcome, rule.Exact = outcome, outcome == Deny && rule.Command != ""
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if outcome == Deny && len(rules) > 1 {
		return nil, fault.Errorf(fault.Usage, "remember decision: it is not known which of %d things was meant", len(rules))
	}
	with, err := p.With(rules...)
	if err != nil {
		return nil, err
	}
	if got, why := with.Decide(r); got != outcome {
		return nil, fault.Errorf(fault.Usage, "remember decision: it would still be '%s': %s", got, why)
	}
	return rules, nil
}

// narrow is the rule for one use of a request.
func (p *Policy) narrow(r Request, u use) (Rule, error) {
	rule := Rule{Tool: r.Tool, Kind: u.kind}
	switch {
	case u.problem != "":
		return rule, fault.Errorf(fault.Usage, "remember decision: %s", u.problem)
	case u.command != nil:
		for _, w := range u.command.Words {
			if w.Dynamic {
				return rule, fault.Errorf(fault.Usage, "remember decision: an argument of '%s' is not known before it runs", u.command)
			}
		}
		rule.Command = quotePattern(u.command.Words)
	case u.file != nil:
		rule.Path = quotePath(u.file.real)
	case u.kind == Fetch && u.host == "":
		return rule, fault.Errorf(fault.Usage, "remember decision: the address is not known")
	case u.kind == Fetch:
		rule.Host = u.host
	case r.Tool == "":
		return rule, fault.Errorf(fault.Usage, "remember decision: the tool is not known")
	}
	return rule, checkLiteral(rule)
}

// checkLiteral refuses names that a rule would take for a pattern.
func checkLiteral(r Rule) error {
	for _, name := range []string{r.Tool, r.Host} {
		if g := globOf(name); !g.literal() {
			return fault.Errorf(fault.Usage, "remember decision: '%s' has a star", name)
		}
	}
	if r.Tool == "" && r.Command == "" && r.Path == "" && r.Host == "" {
		return fmt.Errorf("remember decision: the rule would have no condition")
	}
	return nil
}
