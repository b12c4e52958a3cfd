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
	"strings"
)

// mutant is one changed place of one file.
type mutant struct {
	file string // its path
	line int
	kind string // of the list in the package comment
	what string // the change, for people
	text []byte // the whole file, changed
}

// place is where a file can be changed; do returns what takes the change back.
type place struct {
	pos        token.Pos
	kind, what string
	do         func() (undo func())
}

// mutants are all mutants of one file of Go or of a shell script.
func mutants(path string) ([]func() (mutant, error), error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) == ".sh" {
		return lines(path, string(text)), nil
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var all []func() (mutant, error)
	for _, p := range places(tree) {
		all = append(all, func() (mutant, error) {
			m := mutant{file: path, line: set.Position(p.pos).Line, kind: p.kind, what: p.what}
			undo := p.do()
			defer undo()
			var out bytes.Buffer
			if err := printer.Fprint(&out, set, tree); err != nil {
				return m, fmt.Errorf("printing %s: %w", path, err)
			}
			m.text = out.Bytes()
			return m, nil
		})
	}
	return all, nil
}

// lines leaves out one line of a script that is neither empty nor a comment.
func lines(path, text string) []func() (mutant, error) {
	var all []func() (mutant, error)
	rows := strings.SplitAfter(text, "\n")
	for i, row := range rows {
		words := strings.TrimSpace(row)
		if words == "" || strings.HasPrefix(words, "#") {
			continue
		}
		all = append(all, func() (mutant, error) {
			rest := strings.Join(rows[:i], "") + "\n" + strings.Join(rows[i+1:], "")
			return mutant{file: path, line: i + 1, kind: "line", what: "without: " + words, text: []byte(rest)}, nil
		})
	}
	return all
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
				all = append(all, condition(n, "true"), condition(n, "false"))
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
	if !ok {
		return nil
	}
	from := n.Op
	return []place{{n.OpPos, by.kind, fmt.Sprintf("%s instead of %s", by.to, from), func() func() {
		n.Op = by.to
		return func() { n.Op = from }
	}}}
}

func condition(n *ast.IfStmt, value string) place {
	return place{n.Cond.Pos(), "condition", "if " + value, func() func() {
		was := n.Cond
		op := token.LOR // the condition stays in the text, so that what it uses is still used
		if value == "false" {
			op = token.LAND
		}
		n.Cond = &ast.BinaryExpr{X: &ast.ParenExpr{X: was}, Op: op, Y: &ast.Ident{Name: value, NamePos: was.End()}}
		return func() { n.Cond = was }
	}}
}

func number(n *ast.BasicLit) []place {
	if n.Kind != token.INT {
		return nil
	}
	was := n.Value
	return []place{{n.Pos(), "number", was + " + 1", func() func() {
		n.Value = "(" + was + " + 1)"
		return func() { n.Value = was }
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
		all = append(all, place{s.Pos(), "statement", "left out", func() func() {
			list[i] = &ast.EmptyStmt{Semicolon: s.Pos()}
			return func() { list[i] = s }
		}})
	}
	return all
}
