package house

import (
	"go/ast"
	"path/filepath"
	"strings"
	"testing"
)

// What runs without the race detector starts nothing beside itself, as far as its own file tells.
func TestTestSerialStartsNothing(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range list(t, filepath.Join("..", "..")) {
		all, err := files(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			for _, d := range f.syntax.Decls {
				if test, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(test.Name.Name, "TestSerial") {
					found++
					if at := starts(test); at != nil {
						t.Errorf("%s: %s starts a goroutine: the race detector is to see it", f.at(at), test.Name.Name)
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("there is no such test, and the Makefile leaves them out")
	}
}

// starts is where a function starts a goroutine, or nil.
func starts(f *ast.FuncDecl) (at ast.Node) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			at = n
		case *ast.SelectorExpr:
			if n.Sel.Name == "Go" {
				at = n
			}
		}
		return true
	})
	return at
}
