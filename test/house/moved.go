package house

import (
	"fmt"
	"go/ast"
)

// reservationStates are the words for the states of a reservation, of package grid.
var reservationStates = words("Tentative Confirmed Bound Active Released Expired ReservationLost")

// Moved finds where the state of a reservation is written past its table: what changes is moved by grid.ReservationState.Become, which asks it.
// In package reserve each field State is that of a reservation, and each field Heard is what was heard of one.
func Moved(list []Package) ([]Breach, error) {
	var out []Breach
	for _, p := range list {
		if forTests(p.inside()) || p.inside() == "grid" {
			continue
		}
		all, err := files(p)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			if !f.test {
				out = append(out, movedIn(f)...)
			}
		}
	}
	return out, nil
}

func movedIn(f file) (out []Breach) {
	note := func(n ast.Node, field string) {
		out = append(out, Breach{f.at(n), fmt.Sprintf("writes %s, the state of a reservation, past its table: move it by Become", field)})
	}
	state := func(x ast.Expr) bool {
		from, name := f.selected(x)
		return from == f.pkg.Module.Path+"/grid" && reservationStates[name]
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				to, is := x.(*ast.SelectorExpr)
				if is && (to.Sel.Name == "Heard" || to.Sel.Name == "State" && f.pkg.inside() == "reserve" || len(n.Lhs) == len(n.Rhs) && state(n.Rhs[i])) {
					note(x, to.Sel.Name)
				}
			}
		case *ast.KeyValueExpr:
			if key, is := n.Key.(*ast.Ident); is && (key.Name == "State" || key.Name == "Heard") && state(n.Value) {
				note(n, key.Name)
			}
		}
		return true
	})
	return out
}
