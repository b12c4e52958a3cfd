package house

import (
	"fmt"
	"slices"
	"strings"
)

// layer of each family. A package that is not here is a breach itself: new packages
// get their place first.
var layer = map[string]int{
	"grid": 0, "steps": 0,
	"plan": 1, "pool": 1, "reserve": 1, "budget": 1, "flow": 1, "jsdl": 1,
	"wire":   2,
	"broker": 3, "overlay": 3, "netmon": 3, "pbs": 3, "stage": 3, "store": 3,
	"api": 4, "sim": 4,
	"daemon":      5,
	"cmd/gbroker": 6, "cmd/gbroker-agent": 6, "cmd/gclient": 6, "cmd/gsim": 6,
}

// pure are the folders of which every package is pure.
var pure = []string{"grid", "steps", "jsdl", "plan", "pool", "reserve", "budget", "flow", "wire", "broker/core", "sim/faults", "sim/replay/counted", "sim/workload", "sim/brokers", "overlay/topology", "internal/near"}

// isPure tells whether a package is in one of them.
func isPure(inside string) bool {
	return slices.ContainsFunc(pure, func(folder string) bool { return inside == folder || strings.HasPrefix(inside, folder+"/") })
}

// Layers finds the imports that do not go down.
func Layers(list []Package) ([]Breach, error) {
	var out []Breach
	known := make(map[string]bool)
	for _, p := range list {
		known[p.ImportPath] = true
	}
	for _, p := range list {
		imports, err := imports(p)
		if err != nil {
			return nil, err
		}
		for _, path := range imports {
			if path != p.Module.Path && !strings.HasPrefix(path, p.Module.Path+"/") {
				continue
			}
			to := strings.TrimPrefix(strings.TrimPrefix(path, p.Module.Path), "/")
			if !known[path] {
				out = append(out, Breach{p.inside(), fmt.Sprintf("imports %s, which is no package of this module: it is not looked at", path)})
			}
			if why := crosses(p.inside(), to, path); why != "" {
				out = append(out, Breach{p.inside(), why})
			}
		}
		if _, ok := layer[family(p.inside())]; !ok && family(p.inside()) != "internal" && family(p.inside()) != "test" {
			out = append(out, Breach{p.inside(), "the package has no layer: give it one in the package comment and in test/house/layers.go"})
		}
	}
	return out, nil
}

// imports are those of p, in files for other systems too.
func imports(p Package) ([]string, error) {
	all, err := files(p)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(p.Imports)
	for _, f := range all {
		for _, spec := range f.syntax.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); !f.test && !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
	}
	return list, nil
}

// crosses says why a package may not import another; "" if it may.
func crosses(from, to, shown string) string {
	a, b := family(from), family(to)
	switch {
	case a == "test":
		return ""
	case b == "test" || forTests(to) && !forTests(from):
		return fmt.Sprintf("imports %s: only tests do", shown)
	case a == "internal":
		if b == "internal" || b == "grid" {
			return ""
		}
		return fmt.Sprintf("imports %s: what lies in internal/ knows no concept of the domain but grid's nouns", shown)
	case a != b && b != "internal" && layer[b] >= layer[a]:
		return fmt.Sprintf("imports %s: layer %d may import only what lies below it, and %s is of layer %d", shown, layer[a], b, layer[b])
	case isPure(from) && !isPure(to):
		return fmt.Sprintf("imports %s: %s is pure", shown, from)
	}
	return ""
}
