package house

import "go/ast"

// dead are the channels of a file to which nobody can send, and which nobody closes: variables that were declared without a value or
// made here, and are used to receive from alone.
func dead(f file) map[*ast.Object]bool {
	made, received := map[*ast.Object]bool{}, map[*ast.Ident]bool{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			_, isChannel := n.Type.(*ast.ChanType)
			for i, id := range n.Names {
				if id.Obj != nil && (isChannel && len(n.Values) == 0 || i < len(n.Values) && makesChannel(n.Values[i])) {
					made[id.Obj], received[id] = true, true
				}
			}
		case *ast.AssignStmt:
			for i, x := range n.Rhs {
				if id, ok := n.Lhs[i].(*ast.Ident); ok && id.Obj != nil && id.Obj.Decl == n && makesChannel(x) {
					made[id.Obj], received[id] = true, true
				}
			}
		case *ast.UnaryExpr: // a receive, as an address is of no channel that is left alone
			if id, ok := ast.Unparen(n.X).(*ast.Ident); ok && n.Op.String() == "<-" {
				received[id] = true
			}
		}
		return true
	})
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !received[id] {
			delete(made, id.Obj)
		}
		return true
	})
	return made
}

func makesChannel(x ast.Expr) bool {
	c, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	fun, ok := c.Fun.(*ast.Ident)
	_, isChannel := c.Args[0].(*ast.ChanType)
	return ok && fun.Name == "make" && isChannel
}

// living are the cases of a select that can come about: what they receive, nil for what sends and for the default.
func living(s *ast.SelectStmt, dead map[*ast.Object]bool) (out []ast.Expr) {
	for _, c := range s.Body.List {
		r := received(c.(*ast.CommClause).Comm)
		if u, ok := r.(*ast.UnaryExpr); ok {
			x := ast.Unparen(u.X)
			if id, ok := x.(*ast.Ident); ok && (dead[id.Obj] || id.Name == "nil") || makesChannel(x) {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}
