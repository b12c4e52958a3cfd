package house

import (
	"go/ast"
	"go/token"
)

// pauses are the places of a file that wait for a time to pass and for nothing else, as time.Sleep does:
//
//   - a receive of what time.After, time.Tick, time.NewTimer or time.NewTicker has just made, or of a variable that was made by
//     After or NewTimer (one of a ticker looks again), or of the Done of a context that was made with a time;
//   - a loop that goes on until a time, which nothing else ends;
//   - a call of the system that sleeps.
//
// As one of several cases of a select a receive bounds the wait for the others, or looks again while they do not come, and is none.
// What goes through a field, a function or another goroutine (time.AfterFunc, a program that sleeps) is not followed.
func pauses(f file) map[ast.Node]bool {
	bounds, out, timed := map[ast.Node]bool{}, map[ast.Node]bool{}, timed(f)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			for _, c := range n.Body.List {
				if r := received(c.(*ast.CommClause).Comm); r != nil && len(n.Body.List) > 1 {
					bounds[r] = true
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !bounds[n] && (timer(f, n.X) || timed[holder(n.X)]) {
				out[n] = true
			}
		case *ast.ForStmt:
			if idle(f, n) {
				out[n] = true
			}
		case *ast.SelectorExpr:
			path, name := f.selected(n)
			out[n] = (path == "syscall" || path == "golang.org/x/sys/unix") && words("Nanosleep ClockNanosleep Pause Select Pselect Poll Ppoll")[name]
		}
		return true
	})
	return out
}

// timed are the variables of a file that were made by time.After, time.NewTimer or with the time of a context.
func timed(f file) map[*ast.Object]bool {
	out := make(map[*ast.Object]bool)
	note := func(to, x ast.Expr) {
		c, ok := ast.Unparen(x).(*ast.CallExpr)
		if !ok {
			return
		}
		path, name := f.selected(c.Fun)
		if id, ok := to.(*ast.Ident); ok && id.Obj != nil && (path == "time" && words("After NewTimer")[name] || path == "context" && words("WithTimeout WithDeadline")[name]) {
			out[id.Obj] = true
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, x := range n.Rhs {
				note(n.Lhs[i], x)
			}
		case *ast.ValueSpec:
			for i, x := range n.Values {
				note(n.Names[i], x)
			}
		}
		return true
	})
	return out
}

// holder is the variable of which x is the channel: x itself, x.C, x.Done(); nil of others.
func holder(x ast.Expr) *ast.Object {
	x = ast.Unparen(x)
	if c, ok := x.(*ast.CallExpr); ok {
		x = c.Fun
	}
	if s, ok := x.(*ast.SelectorExpr); ok && (s.Sel.Name == "C" || s.Sel.Name == "Done") {
		x = ast.Unparen(s.X)
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Obj
	}
	return nil
}

// idle tells of a loop that ends by the clock alone.
func idle(f file, loop *ast.ForStmt) bool {
	if loop.Cond == nil {
		return false
	}
	clock, other := false, false
	ast.Inspect(loop.Cond, func(n ast.Node) bool {
		switch path, name := f.selected(n); {
		case path == "time" && words("Now Since Until")[name]:
			clock = true
		default:
			if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
				other = true
			}
		}
		return true
	})
	ends := false
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			ends = true
		case *ast.BranchStmt:
			ends = ends || n.Tok == token.BREAK || n.Tok == token.GOTO
		}
		return true
	})
	return clock && !other && !ends
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
