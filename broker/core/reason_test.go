package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Nothing but reason.go compares a text that is for people.
func TestTextsAreComparedInOnePlace(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("*.go")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	texts, places := []string{"Reason", "Obstacle", "Stays", "Text", "Detail", "Still"}, token.NewFileSet()
	for _, name := range list {
		if name == "reason.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(places, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			b, is := n.(*ast.BinaryExpr)
			if !is || b.Op != token.EQL && b.Op != token.NEQ {
				return true
			}
			for _, side := range []ast.Expr{b.X, b.Y} {
				if s, is := side.(*ast.SelectorExpr); is && slices.Contains(texts, s.Sel.Name) {
					t.Errorf("%v compares a %s", places.Position(side.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	}
}
