package house

import (
	"fmt"
	"go/ast"
	"strings"
)

// The bans. Where one must be broken, a comment on the line or the one above says so
// with its reason: //house:allow WORD: REASON.
//
//	word       what is banned                        why
//	name       packages called util, common, helper  such a package has no subject, and grows for ever
//	doc        packages without a package comment    the comment is where a format or protocol is specified
//	sleep      time.Sleep in tests, and its like,    a test that sleeps is slow or flaky: wait for the
//	           as a receive of time.After            condition (in a synctest bubble it is free; see [bubbles])
//	           alone (see [pauses])
//	           time.Sleep outside of programs        nobody can end it early, and tests that call it sleep too
//	dot        imports by a dot                      what is used must be seen, by readers and by these rules
//	print      fmt.Print, fmt.Scan and println       what a program prints is decided in its main; a library
//	           outside of programs                   returns or logs
//	log        the standard library's log            logs are structured, and go where the caller says
//	exit       os.Exit outside of programs           it skips every defer, so files and locks are left as they are
//	context    context.Background and TODO outside   work that nobody can cancel outlives its caller
//	           of programs (internal/cli is what
//	           their mains share) and tests
//	skip       t.SkipNow, and t.Skip without reason  a test that vanishes without a word is no test
//
// Packages whose name ends in test (pbstest) are code of tests.
var emptyNames = words("util utils common helper helpers manager types model models misc base shared lib")

// Bans finds what the list forbids.
func Bans(list []Package) ([]Breach, error) {
	var out []Breach
	for _, p := range list {
		all, err := files(p)
		if err != nil {
			return nil, err
		}
		if emptyNames[p.Name] {
			out = append(out, Breach{p.inside(), fmt.Sprintf("a package called %s has no subject: name it after what it knows", p.Name)})
		}
		if !documented(all) {
			out = append(out, Breach{p.inside(), "the package has no comment that says what it is"})
		}
		for _, group := range byName(all) {
			b := findBubbles(group)
			for _, f := range group {
				out = append(out, bansOf(f, b)...)
			}
		}
	}
	return out, nil
}

// documented reports a package comment; a package of tests alone needs none.
func documented(all []file) bool {
	code := false
	for _, f := range all {
		if !f.test && f.syntax.Doc != nil {
			return true
		}
		code = code || !f.test
	}
	return !code
}

// byName divides the files of a folder into its package and that of its outer tests.
func byName(all []file) map[string][]file {
	groups := make(map[string][]file)
	for _, f := range all {
		groups[f.syntax.Name.Name] = append(groups[f.syntax.Name.Name], f)
	}
	return groups
}

func bansOf(f file, bubbles *bubbles) []Breach {
	var out []Breach
	allowed := allowances(f)
	program := f.pkg.Name == "main"
	test := f.test || forTests(f.pkg.inside())
	note := func(n ast.Node, word, why string) {
		line := f.set.Position(n.Pos()).Line
		if allowed[line] != word && allowed[line-1] != word {
			out = append(out, Breach{f.at(n), fmt.Sprintf("%s (//house:allow %s: REASON, where it must be)", why, word)})
		}
	}
	for _, spec := range f.syntax.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			note(spec, "dot", "imported by a dot: write its name, so that what is used can be seen")
		}
	}
	naps := pauses(f)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		from, name := f.selected(n)
		switch {
		case (from == "time" && name == "Sleep" || naps[n]) && test && !bubbles.contains(n.Pos()):
			note(n, "sleep", "a test that sleeps is slow or flaky: wait for the condition, or sleep in a bubble of testing/synctest")
		case from == "time" && name == "Sleep" && !test && !program:
			note(n, "sleep", "nobody can end a sleep early: select on a timer and on what ends the wait")
		case from == "fmt" && (strings.HasPrefix(name, "Print") || strings.HasPrefix(name, "Scan")) && !program && !test:
			note(n, "print", "only programs print, and read what is typed: return it, log it, or take an io.Writer or io.Reader")
		case from == "log":
			note(n, "log", "logs are structured: take a *zap.Logger or *slog.Logger")
		case from == "os" && name == "Exit" && !program && !test:
			note(n, "exit", "os.Exit skips every defer: return an error")
		case from == "context" && (name == "Background" || name == "TODO") && !program && !test && f.pkg.inside() != "internal/cli":
			note(n, "context", "nobody can cancel what runs under context."+name+": take a context")
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && (fun.Name == "println" || fun.Name == "print") && fun.Obj == nil {
				note(n, "print", "the builtin "+fun.Name+" is for debugging alone: remove it")
			}
		case *ast.ExprStmt:
			if test && skips(n.X) {
				note(n, "skip", "a test is skipped without a reason: say why, and how it would run")
			}
		}
		return true
	})
	return out
}

// forTests tells a package that serves tests alone.
func forTests(inside string) bool {
	return strings.HasSuffix(inside, "test") || family(inside) == "test"
}

// skips tells of a test that ends without a reason, whoever holds it: t, b, or a field of something.
func skips(x ast.Expr) bool {
	c, ok := x.(*ast.CallExpr)
	if !ok || len(c.Args) > 0 {
		return false
	}
	fun, ok := c.Fun.(*ast.SelectorExpr)
	return ok && (fun.Sel.Name == "SkipNow" || fun.Sel.Name == "Skip")
}

// allowances are the words that a file's comments allow, by line; one without a reason allows nothing.
func allowances(f file) map[int]string {
	out := make(map[int]string)
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			rest, ok := strings.CutPrefix(c.Text, "//house:allow ")
			word, reason, _ := strings.Cut(rest, ":")
			if ok && strings.TrimSpace(reason) != "" {
				out[f.set.Position(c.Pos()).Line] = strings.TrimSpace(word)
			}
		}
	}
	return out
}
