package jsdl

import (
	"slices"
	"strings"
)

// declare brings the element's xmlns attributes into scope.
func (x *xmlReader) declare(e *element, attributes []tagAttribute) {
	for _, a := range attributes {
		var prefix string
		switch {
		case a.name.prefix == "xmlns":
			prefix = a.name.local
			if prefix == "xmlns" || (prefix == "xml") != (a.value == xmlNamespace) || a.value == "" {
				x.at(e.at, "xmlns:%s=%s declares nothing that XML allows", prefix, quote(a.value))
				continue
			}
		case a.name == tagName{local: "xmlns"}:
		default:
			continue
		}
		x.scopes[prefix] = append(x.scopes[prefix], a.value)
		e.declared = append(e.declared, prefix)
	}
}

// resolve gives the namespace of a prefix in scope.
func (x *xmlReader) resolve(e *element, prefix string) (space string, undeclared bool) {
	if uris := x.scopes[prefix]; len(uris) > 0 {
		return uris[len(uris)-1], false
	}
	if prefix == "" {
		return "", false
	}
	if !x.unknown[prefix] {
		x.unknown[prefix] = true
		x.at(e.at, "the prefix %s is declared nowhere: add xmlns:%s=\"%s\" to the first element", quote(prefix), prefix, likelyNamespace(prefix))
	}
	return "", true
}

// readAttributes keeps the attributes but xmlns, resolved; none may come twice.
func (x *xmlReader) readAttributes(e *element, attributes []tagAttribute) {
	if len(attributes) == 0 {
		return
	}
	type expanded struct{ space, local string }
	seen := make([]expanded, 0, 8)
	for _, a := range attributes {
		space, declares, undeclared := "", a.name.prefix == "xmlns" || a.name == tagName{local: "xmlns"}, false
		switch {
		case declares:
			space = "xmlns " + a.name.prefix
		case a.name.prefix != "":
			space, undeclared = x.resolve(e, a.name.prefix)
		}
		if undeclared {
			continue
		}
		if strings.Contains(a.name.local, ":") {
			x.at(e.at, "%s has an attribute %s, which is no name", e.raw, quote(a.name.local))
			continue
		}
		if slices.Contains(seen, expanded{space, a.name.local}) {
			x.at(e.at, "%s has the attribute %s twice", e.raw, a.name.local)
			continue
		}
		seen = append(seen, expanded{space, a.name.local})
		if !declares {
			e.attributes = append(e.attributes, attribute{space, a.name.local, strings.Clone(a.value)})
		}
	}
}
