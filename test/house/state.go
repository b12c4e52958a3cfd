package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// remembered finds where the code of a package changes its own variables: what a pure package remembers from one call to the next
// is an input that nobody sees. That one is pointed to is as good as a change, and so is a call of a method by its name that takes a pointer to what it is of.
func remembered(all []file) []Breach {
	shared := make(map[string]*ast.ValueSpec)
	for _, f := range all {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
				for _, spec := range d.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						shared[name.Name] = spec.(*ast.ValueSpec)
					}
				}
			}
		}
	}
	changing := byPointer(all)
	var out []Breach
	for _, f := range all {
		note := func(x ast.Expr) {
			id := root(x)
			if id == nil || shared[id.Name] == nil || id.Name == "_" {
				return
			}
			if id.Obj == nil || id.Obj.Decl == shared[id.Name] { // of another file, or of this one
				out = append(out, Breach{f.at(x), fmt.Sprintf("changes %s, a variable of a pure package: what it remembers is an input", id.Name)})
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					if n.Tok != token.DEFINE {
						note(x)
					}
				}
			case *ast.IncDecStmt:
				note(n.X)
			case *ast.CallExpr:
				if fun, ok := n.Fun.(*ast.Ident); ok && (fun.Name == "delete" || fun.Name == "clear" || fun.Name == "copy") && len(n.Args) > 0 {
					note(n.Args[0])
				}
				if fun, ok := n.Fun.(*ast.SelectorExpr); ok && changing[fun.Sel.Name] {
					note(fun.X)
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					note(n.X)
				}
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					note(n.Key)
					note(n.Value)
				}
			}
			return true
		})
	}
	return out
}

// byPointer are the names of the methods of a package that take a pointer, and so may change what they are of.
func byPointer(all []file) map[string]bool {
	names := make(map[string]bool)
	for _, f := range all {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
				if _, is := d.Recv.List[0].Type.(*ast.StarExpr); is {
					names[d.Name.Name] = true
				}
			}
		}
	}
	return names
}

// setElsewhere finds where a package that is not pure changes a variable of one that is: a clock would come in so.
func setElsewhere(p Package) ([]Breach, error) {
	all, err := files(p)
	if err != nil {
		return nil, err
	}
	var out []Breach
	for _, f := range all {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, x := range a.Lhs {
				path, name := f.selected(x)
				if inside, ours := strings.CutPrefix(path, f.pkg.Module.Path+"/"); ours && isPure(inside) {
					out = append(out, Breach{f.at(x), fmt.Sprintf("changes %s, a variable of %s, which is pure: hand it in with each call", name, inside)})
				}
			}
			return true
		})
	}
	return out, nil
}

// root is the variable that an expression is a part of; nil of one that is no variable's.
func root(x ast.Expr) *ast.Ident {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		default:
			return nil
		}
	}
}
