package jsdl

import (
	"strings"

	"gbroker/grid"
)

func (p *parser) environment(list []*element) {
	seen := map[string]int{}
	for _, e := range list {
		value := p.text(e)
		name, given := e.attribute("", "name")
		name = strings.Trim(name, whiteSpace)
		switch {
		case !given:
			p.at(e.at, "Environment has no name: write <Environment name=\"NAME\">")
		case !variableName(name):
			p.at(e.at, "Environment is named %s: use letters, digits and _, first no digit", quote(name))
		case grid.IsReserved(name):
			p.at(e.at, "Environment is named %s: names that start with %s are the broker's", quote(name), grid.ReservedPrefix)
		case seen[name] != 0:
			p.at(e.at, "Environment %s is given twice (first in line %d): once only", quote(name), seen[name])
		case len(name)+1+len(value) > maxString:
			p.at(e.at, "Environment %s has %d bytes: at most %d with its name", quote(name), len(name)+1+len(value), maxString)
		default:
			seen[name] = e.at.line
			p.document.Job.Program.Environment = append(p.document.Job.Program.Environment, grid.Variable{Name: name, Value: value})
		}
	}
}

func variableName(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
