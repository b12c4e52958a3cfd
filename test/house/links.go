package house

import (
	"fmt"
	"slices"
)

// unlinked is what programs do without, wherever it would come from.
var unlinked = map[string][]string{
	"cmd/gsim": {"net/http"}, // it replays and reckons: no server, no client
}

// Links finds what is linked with a program that does without it, on this system, or by what it has of ours on another.
func Links(list []Package) ([]Breach, error) {
	var out []Breach
	for _, p := range list {
		for _, path := range unlinked[p.inside()] {
			if slices.Contains(p.Deps, path) {
				out = append(out, Breach{p.inside(), fmt.Sprintf("links %s, which it does without (go list -deps tells by whom)", path)})
			}
			for _, of := range list {
				if slices.Contains(of.Imports, path) || of.ImportPath != p.ImportPath && !slices.Contains(p.Deps, of.ImportPath) {
					continue
				}
				imports, err := imports(of)
				if err != nil {
					return nil, err
				}
				if slices.Contains(imports, path) {
					out = append(out, Breach{p.inside(), fmt.Sprintf("links %s on other systems, which it does without: %s imports it", path, of.inside())})
				}
			}
		}
	}
	return out, nil
}
