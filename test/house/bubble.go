package house

import (
	"go/ast"
	"go/token"
)

// In a synctest bubble time is virtual, and a sleep costs nothing. What runs in one, and
// nowhere else, is found in the syntax of a package:
//
//   - the function that is given to synctest.Test, written there or named;
//   - a function that is named only in what runs in a bubble: an unexported one or a
//     method of such a name, for others are called from elsewhere, and no test, which the
//     testing package calls;
//   - a function given to one that calls it in a bubble alone (func inBubble(t, test) {
//     synctest.Test(t, func(t) { test(t) }) }).
//
// It is enough that a name is used once outside for it not to count; and what is given away
// in a variable is not followed.
type bubbles struct {
	files  []file
	inside []span                 // what runs in a bubble
	named  map[string][]token.Pos // where a name is used, other than where it is declared; of methods (and fields) ".name"
	spans  map[*ast.FuncDecl]bool // of which inside has the body
}

// span is a piece of the source. (All files of a package are in one set.)
type span struct{ from, to token.Pos }

// findBubbles looks at the files of one package.
func findBubbles(all []file) *bubbles {
	b := &bubbles{files: all, named: make(map[string][]token.Pos), spans: make(map[*ast.FuncDecl]bool)}
	for _, f := range all {
		b.uses(f)
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && len(c.Args) == 2 {
				if path, name := f.selected(c.Fun); path == "testing/synctest" && name == "Test" {
					b.give(c.Args[1])
				}
			}
			return true
		})
	}
	for found := true; found; {
		found = false
		for _, f := range all {
			for _, d := range f.syntax.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					found = b.grow(d) || found
				}
			}
		}
	}
	return b
}

// contains tells whether a place runs in a bubble alone.
func (b *bubbles) contains(at token.Pos) bool {
	for _, s := range b.inside {
		if s.from <= at && at < s.to {
			return true
		}
	}
	return false
}

// uses notes where names are used.
func (b *bubbles) uses(f file) {
	seen := make(map[*ast.Ident]bool)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			seen[n.Name] = true
		case *ast.SelectorExpr:
			seen[n.Sel] = true
			b.named["."+n.Sel.Name] = append(b.named["."+n.Sel.Name], n.Pos())
		case *ast.Ident:
			if !seen[n] && (n.Obj == nil || n.Obj.Kind == ast.Fun) {
				b.named[n.Name] = append(b.named[n.Name], n.Pos())
			}
		}
		return true
	})
}

// give notes that a function that is written or named here runs in a bubble.
func (b *bubbles) give(arg ast.Expr) bool {
	switch arg.(type) {
	case *ast.FuncLit, *ast.Ident, *ast.SelectorExpr:
		if !b.contains(arg.Pos()) {
			b.inside = append(b.inside, span{arg.Pos(), arg.End()})
			return true
		}
	}
	return false
}

// grow looks whether a function runs in bubbles alone, and which of its parameters do.
func (b *bubbles) grow(d *ast.FuncDecl) (found bool) {
	uses := b.named[d.Name.Name]
	if d.Recv != nil {
		uses = b.named["."+d.Name.Name]
	}
	if !b.spans[d] && !d.Name.IsExported() && d.Name.Name != "main" && d.Name.Name != "init" && b.all(uses) {
		b.spans[d] = true
		b.inside = append(b.inside, span{d.Body.Pos(), d.Body.End()})
		found = true
	}
	if d.Recv != nil {
		return found
	}
	for i, p := range parameters(d) {
		if _, ok := p.Obj.Decl.(*ast.Field).Type.(*ast.FuncType); ok && b.all(usesOf(p.Obj, d.Body)) {
			found = b.giveAll(d.Name.Name, i) || found
		}
	}
	return found
}

// all tells whether something is used, and in bubbles alone.
func (b *bubbles) all(uses []token.Pos) bool {
	for _, at := range uses {
		if !b.contains(at) {
			return false
		}
	}
	return len(uses) > 0
}

// parameters are the names of a function's, in order; none where one has no name.
func parameters(d *ast.FuncDecl) (names []*ast.Ident) {
	for _, field := range d.Type.Params.List {
		if len(field.Names) == 0 {
			return nil
		}
		names = append(names, field.Names...)
	}
	return names
}

// usesOf is where a parameter is used.
func usesOf(of *ast.Object, body ast.Node) (uses []token.Pos) {
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Obj == of {
			uses = append(uses, id.Pos())
		}
		return true
	})
	return uses
}

// giveAll gives what calls of a function have as their i-th argument.
func (b *bubbles) giveAll(function string, i int) (found bool) {
	for _, f := range b.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) <= i {
				return true
			}
			if id, ok := c.Fun.(*ast.Ident); ok && id.Name == function && (id.Obj == nil || id.Obj.Kind == ast.Fun) {
				found = b.give(c.Args[i]) || found
			}
			return true
		})
	}
	return found
}
