package house

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// pauses are the places of a file that wait for a time to pass and for nothing else, as time.Sleep does:
//
//   - a receive, or a loop over what comes, of what time.After, time.Tick, time.NewTimer or time.NewTicker has just made, or of a variable that
//     was made by After or NewTimer (one of a ticker looks again), or of the Done of a context that was made with a time, or of a channel that
//     time.AfterFunc closes;
//     or of reflect.ValueOf of such a channel;
//   - a run of the program sleep, also by a shell that does nothing else, and the Wait of a rate.Limiter;
//   - a loop that goes on until a time, which nothing else ends;
//   - a call of the system that sleeps.
//
// As one of several cases of a select a receive bounds the wait for the others, or looks again while they do not come, and is none;
// but a case that nobody can ever send to is no other ([dead]). What goes through a field or a function is not followed.
func pauses(f file) map[ast.Node]bool {
	bounds, out, held, dead := map[ast.Node]bool{}, map[ast.Node]bool{}, lasting(f), dead(f)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			if cases := living(n, dead); len(cases) > 1 {
				for _, c := range cases {
					bounds[c] = true
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !bounds[n] && lasts(f, n.X, held) {
				out[n] = true
			}
		case *ast.RangeStmt:
			if lasts(f, n.X, held) {
				out[n] = true
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				of := kind(f, s.X, held)
				out[n] = waits[s.Sel.Name] != "" && waits[s.Sel.Name] == of || s.Sel.Name == "Recv" && of == "channel"
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

// makers are the calls whose result is waited for, by what that is.
var makers = map[string]string{
	"time.After": "channel", "time.Tick": "ticks", "time.NewTimer": "timer", "time.NewTicker": "ticker",
	"context.WithTimeout": "context", "context.WithDeadline": "context",
	"os/exec.Command": "program", "os/exec.CommandContext": "program", "golang.org/x/time/rate.NewLimiter": "limiter",
}

// waits are the methods that wait, by that of which they are.
var waits = map[string]string{"Run": "program", "Output": "program", "CombinedOutput": "program", "Wait": "limiter", "WaitN": "limiter"}

// kind is what a call has made, here or in a variable; "" of all that is not waited for. A program is one only if it is sleep.
func kind(f file, x ast.Expr, held map[*ast.Object]string) string {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return held[x.Obj]
	case *ast.CallExpr:
		path, name := f.selected(x.Fun)
		of, first := makers[path+"."+name], 0
		if name == "CommandContext" {
			first = 1
		}
		switch {
		case path == "reflect" && name == "ValueOf" && len(x.Args) == 1 && lasts(f, x.Args[0], held):
			return "channel"
		case of == "program" && (len(x.Args) <= first || !sleeps(x.Args[first:])):
			return ""
		}
		return of
	}
	return ""
}

// sleeps tells of the words of a command, as far as they are written here, that are those of sleep, or of a shell that does nothing else.
func sleeps(command []ast.Expr) bool {
	words := make([]string, len(command))
	for i, x := range command {
		if word, ok := x.(*ast.BasicLit); ok {
			words[i], _ = strconv.Unquote(word.Value)
		}
	}
	switch path.Base(words[0]) {
	case "sleep":
		return true
	case "sh", "bash", "dash":
		script := strings.TrimPrefix(strings.TrimSpace(words[len(words)-1]), "exec ")
		return strings.HasPrefix(script, "sleep ") && !strings.ContainsAny(script, ";&|\n")
	}
	return false
}

// lasting are the variables of a file whose value is waited for. One of a ticker is not, as it looks again; a channel that time.AfterFunc
// closes is.
func lasting(f file) map[*ast.Object]string {
	out := map[*ast.Object]string{}
	note := func(to, x ast.Expr) {
		if id, ok := to.(*ast.Ident); ok && id.Obj != nil {
			if of := kind(f, x, nil); of != "" && of != "ticks" && of != "ticker" {
				out[id.Obj] = of
			}
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
		case *ast.CallExpr:
			if id := closedLater(f, n); id != nil && id.Obj != nil {
				out[id.Obj] = "channel"
			}
		}
		return true
	})
	return out
}

// closedLater is the variable that a call of time.AfterFunc closes, if that is all that it does.
func closedLater(f file, c *ast.CallExpr) *ast.Ident {
	if path, name := f.selected(c.Fun); path != "time" || name != "AfterFunc" || len(c.Args) != 2 {
		return nil
	}
	later, ok := c.Args[1].(*ast.FuncLit)
	if !ok || len(later.Body.List) != 1 {
		return nil
	}
	if s, ok := later.Body.List[0].(*ast.ExprStmt); ok {
		if c, ok := s.X.(*ast.CallExpr); ok && len(c.Args) == 1 {
			fun, _ := c.Fun.(*ast.Ident)
			id, _ := c.Args[0].(*ast.Ident)
			if fun != nil && fun.Name == "close" && fun.Obj == nil {
				return id
			}
		}
	}
	return nil
}

// lasts tells of a channel that speaks when a time has passed: x itself, x.C, x.Done().
func lasts(f file, x ast.Expr, held map[*ast.Object]string) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.SelectorExpr:
		of := kind(f, x.X, held)
		return x.Sel.Name == "C" && (of == "timer" || of == "ticker")
	case *ast.CallExpr:
		if s, ok := x.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Done" {
			return kind(f, s.X, held) == "context"
		}
	}
	of := kind(f, x, held)
	return of == "channel" || of == "ticks"
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
