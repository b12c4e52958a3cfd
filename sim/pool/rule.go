package pool

import (
	"fmt"
	"strings"

	"gbroker/pool"
)

// Rule is one of package pool, or what the simulation adds to them.
type Rule struct {
	pool.Rule
	Name  string
	kills bool // jobs are killed at their deadlines, whatever the rule looks at
	moves bool // jobs are stopped and moved at will, without cost
}

// Rules are those that are simulated.
func Rules() (out []Rule) {
	for _, name := range pool.Rules() {
		rule, err := pool.ParseRule(name)
		if err != nil {
			continue // it is one of its own names
		}
		out = append(out, Rule{Rule: rule, Name: name})
		if name == "fcfs" {
			out = append(out, Rule{Rule: rule, Name: "fcfs-killed", kills: true})
		}
	}
	return append(out, Rule{Rule: pool.Best, Name: "moving", moves: true})
}

// ParseRules reads names with commas between them; "all" is every rule.
func ParseRules(text string) (out []Rule, err error) {
	all := Rules()
	if text == "all" {
		return all, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		found := false
		for _, r := range all {
			if r.Name == name {
				out, found = append(out, r), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no rule %q; there are %s", name, ruleNames())
		}
	}
	return out, nil
}

// ruleNames are the names of the rules, for people.
func ruleNames() string {
	var names []string
	for _, r := range Rules() {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}
