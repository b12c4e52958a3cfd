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
	texts := []string{"Reason", "Obstacle", "Stays", "Text", "Detail", "Still"}
	eachNode(t, "reason.go", func(n ast.Node, at func(ast.Node) token.Position) {
		b, is := n.(*ast.BinaryExpr)
		if !is || b.Op != token.EQL && b.Op != token.NEQ {
			return
		}
		for _, side := range []ast.Expr{b.X, b.Y} {
			if s, is := side.(*ast.SelectorExpr); is && slices.Contains(texts, s.Sel.Name) {
				t.Errorf("%v compares a %s", at(side), s.Sel.Name)
			}
		}
	})
}

// eachNode goes through what this package is written in, but for its tests and one file.
func eachNode(t *testing.T, but string, is func(n ast.Node, at func(ast.Node) token.Position)) {
	t.Helper()
	list, err := filepath.Glob("*.go")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	places := token.NewFileSet()
	at := func(n ast.Node) token.Position { return places.Position(n.Pos()) }
	for _, name := range list {
		if name == but || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(places, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			is(n, at)
			return true
		})
	}
}
