package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one changed place of one file.
type mutant struct {
	file string // its path
	line int
	kind string // of the list in the package comment
	what string // the change, for people
	nth  int    // of the places of its file
}

// String is the mutant as it is told: "gates.go:12: condition: if false".
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", filepath.Base(m.file), m.line, m.kind, m.what)
}

// place is where a file can be changed.
type place struct {
	pos        token.Pos
	kind, what string
	change     func()         // for good
	beside     func(switched) // the change stands beside the original; nil where it cannot
}

// mutants are all mutants of one file of Go or of a shell script.
func mutants(path string) (all []mutant, err error) {
	if filepath.Ext(path) == ".sh" {
		return lines(path)
	}
	set := token.NewFileSet()
	tree, err := parsed(set, path)
	if err != nil {
		return nil, err
	}
	for i, p := range places(tree) {
		all = append(all, mutant{path, set.Position(p.pos).Line, p.kind, p.what, i})
	}
	return all, nil
}

// text is the whole file, changed.
func (m mutant) text() ([]byte, error) {
	if filepath.Ext(m.file) == ".sh" {
		return m.without()
	}
	set := token.NewFileSet()
	tree, err := parsed(set, m.file)
	if err != nil {
		return nil, err
	}
	places(tree)[m.nth].change()
	return printed(set, tree)
}

// parsed is a file without its comments, but for those that the compiler reads.
func parsed(set *token.FileSet, path string) (*ast.File, error) {
	tree, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	tree.Comments = slices.DeleteFunc(tree.Comments, func(g *ast.CommentGroup) bool {
		return !slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") })
	})
	return tree, nil
}

func printed(set *token.FileSet, tree *ast.File) ([]byte, error) {
	var out bytes.Buffer
	if err := printer.Fprint(&out, set, tree); err != nil {
		return nil, fmt.Errorf("printing %s: %w", set.Position(tree.Pos()).Filename, err)
	}
	return out.Bytes(), nil
}

// lines are the lines of a script that are neither empty nor a comment: each is left out once.
func lines(path string) (all []mutant, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for i, row := range strings.Split(string(text), "\n") {
		if words := strings.TrimSpace(row); words != "" && !strings.HasPrefix(words, "#") {
			all = append(all, mutant{path, i + 1, "line", "without: " + words, i})
		}
	}
	return all, nil
}

// without is a script that lacks a line.
func (m mutant) without() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	rows := bytes.Split(text, []byte("\n"))
	if err == nil {
		rows[m.nth] = nil
	}
	return bytes.Join(rows, []byte("\n")), err
}

// places finds what can be changed inside the functions of a file.
func places(tree *ast.File) []place {
	var all []place
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				all = append(all, operator(n)...)
			case *ast.IfStmt:
				all = append(all, condition("if", &n.Cond)...)
			case *ast.SwitchStmt:
				all = append(all, cases(n)...)
			case *ast.BasicLit:
				all = append(all, number(n)...)
			case *ast.BlockStmt:
				all = append(all, statements(n.List)...)
			case *ast.CaseClause:
				all = append(all, statements(n.Body)...)
			}
			return true
		})
	}
	return all
}

var exchanged = map[token.Token]struct {
	to   token.Token
	kind string
}{
	token.EQL: {token.NEQ, "compare"}, token.NEQ: {token.EQL, "compare"},
	token.LSS: {token.LEQ, "compare"}, token.LEQ: {token.LSS, "compare"},
	token.GTR: {token.GEQ, "compare"}, token.GEQ: {token.GTR, "compare"},
	token.LAND: {token.LOR, "logic"}, token.LOR: {token.LAND, "logic"},
	token.ADD: {token.SUB, "sum"}, token.SUB: {token.ADD, "sum"},
}

func operator(n *ast.BinaryExpr) []place {
	by, ok := exchanged[n.Op]
	if !ok || by.kind == "sum" && (text(n.X) || text(n.Y)) {
		return nil
	}
	what := fmt.Sprintf("%s instead of %s", by.to, n.Op)
	return []place{{n.OpPos, by.kind, what, func() { n.Op = by.to }, func(s switched) {
		was, other := *n, *n
		other.Op = by.to
		if by.kind == "sum" {
			n.Op, n.X, n.Y = token.ADD, s.sum(&was), &ast.BasicLit{Kind: token.INT, Value: "0"}
			return
		}
		n.Op, n.X, n.Y = token.LOR, &ast.BinaryExpr{X: s.on(), Op: token.LAND, Y: &ast.ParenExpr{X: &other}},
			&ast.BinaryExpr{X: s.off(), Op: token.LAND, Y: &ast.ParenExpr{X: &was}}
	}}}
}

// text tells of what is a text for all to see.
func text(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return x.Op == token.ADD && (text(x.X) || text(x.Y))
	case *ast.BasicLit:
		return x.Kind == token.STRING
	}
	return false
}

// condition is one that something depends on. It stays in the text, so that what it uses is still used.
func condition(word string, at *ast.Expr) (both []place) {
	for _, value := range []string{"true", "false"} {
		op := map[string]token.Token{"true": token.LOR, "false": token.LAND}[value]
		let := func(y ast.Expr) { *at = &ast.BinaryExpr{X: &ast.ParenExpr{X: *at}, Op: op, Y: y} }
		both = append(both, place{(*at).Pos(), "condition", word + " " + value,
			func() { let(&ast.Ident{Name: value, NamePos: (*at).End()}) },
			func(s switched) {
				if value == "true" {
					let(s.on())
				} else {
					let(s.off())
				}
			}})
	}
	return both
}

// cases are the conditions of a switch that has no value to compare.
func cases(n *ast.SwitchStmt) (all []place) {
	if n.Tag != nil {
		return nil
	}
	for _, c := range n.Body.List {
		for i := range c.(*ast.CaseClause).List {
			all = append(all, condition("case", &c.(*ast.CaseClause).List[i])...)
		}
	}
	return all
}

func number(n *ast.BasicLit) []place {
	if n.Kind != token.INT {
		return nil
	}
	return []place{{n.Pos(), "number", n.Value + " + 1", func() { n.Value = "(" + n.Value + " + 1)" }, func(s switched) {
		n.Value = "(" + n.Value + " + " + s.one(n) + ")"
	}}}
}

// statements leaves out one statement of a block. A definition stays: nothing would build.
func statements(list []ast.Stmt) []place {
	var all []place
	for i, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
		default:
			continue
		}
		all = append(all, place{s.Pos(), "statement", "left out", func() { list[i] = &ast.EmptyStmt{Semicolon: s.Pos()} },
			func(w switched) {
				list[i] = &ast.IfStmt{If: s.Pos(), Cond: w.off(), Body: &ast.BlockStmt{List: []ast.Stmt{s}}}
			}})
	}
	return all
}
