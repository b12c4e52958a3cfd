package house

import (
	"go/ast"
	"go/token"
)

// pauses are the places of a file that wait for a time to pass and for nothing else, as time.Sleep does: a receive of what
// time.After, time.Tick, time.NewTimer or time.NewTicker has just made. As one of several cases of a select it bounds the wait
// for the others, or looks again while they do not come, and is none. A timer in a variable is not followed.
func pauses(f file) map[ast.Node]bool {
	bounds, out := map[ast.Node]bool{}, map[ast.Node]bool{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			for _, c := range n.Body.List {
				if r := received(c.(*ast.CommClause).Comm); r != nil && len(n.Body.List) > 1 {
					bounds[r] = true
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !bounds[n] && timer(f, n.X) {
				out[n] = true
			}
		}
		return true
	})
	return out
}

// received is what a case of a select receives; nil of one that sends, and of default.
func received(comm ast.Stmt) ast.Expr {
	switch s := comm.(type) {
	case *ast.ExprStmt:
		return ast.Unparen(s.X)
	case *ast.AssignStmt:
		return ast.Unparen(s.Rhs[0])
	}
	return nil
}

// timer tells of a channel that a call of package time makes, on which only the time is sent.
func timer(f file, x ast.Expr) bool {
	x = ast.Unparen(x)
	made := "After Tick"
	if s, ok := x.(*ast.SelectorExpr); ok && s.Sel.Name == "C" {
		x, made = ast.Unparen(s.X), "NewTimer NewTicker"
	}
	c, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	path, name := f.selected(c.Fun)
	return path == "time" && words(made)[name]
}
