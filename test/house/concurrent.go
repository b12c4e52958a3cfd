package house

import (
	"go/ast"
	"strings"
)

// Concurrent finds what gives the code of p goroutines: where it starts one, where it
// locks, and what it imports of ours that is not pure. Tests that run beside each other share
// only what the package itself shares, so they do not count.
func Concurrent(p Package) ([]Breach, error) {
	all, err := files(p)
	if err != nil {
		return nil, err
	}
	var out []Breach
	for _, f := range all {
		if !f.test {
			out = append(out, concurrencies(f)...)
		}
	}
	return out, nil
}

func concurrencies(f file) []Breach {
	var out []Breach
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, Breach{f.at(n), "starts a goroutine"})
		case *ast.ImportSpec:
			path := strings.Trim(n.Path.Value, `"`)
			ours, is := strings.CutPrefix(path, f.pkg.Module.Path+"/")
			if path == "sync" || strings.HasPrefix(path, "sync/") || is && !isPure(ours) {
				out = append(out, Breach{f.at(n), "imports " + path})
			}
		}
		return true
	})
	return out
}
