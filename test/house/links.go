package house

import (
	"fmt"
	"slices"
)

// unlinked is what programs do without, wherever it would come from.
var unlinked = map[string][]string{
	"cmd/gsim": {"net/http"}, // it replays and reckons: no server, no client
}

// Links finds what is linked with a program that does without it.
func Links(list []Package) []Breach {
	var out []Breach
	for _, p := range list {
		for _, path := range unlinked[p.inside()] {
			if slices.Contains(p.Deps, path) {
				out = append(out, Breach{p.inside(), fmt.Sprintf("links %s, which it does without (go list -deps tells by whom)", path)})
			}
		}
	}
	return out
}
