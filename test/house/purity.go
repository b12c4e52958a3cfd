package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// harmless are the imports that neither act on the world nor look at it. Others are not
// for pure code, known or not: what is added here is looked at first, and what nobody imports any more goes. (Of time, math/rand and
// reflect only a part is harmless: see [barred].)
var harmless = words(`bytes cmp container/heap crypto/sha256 encoding/base32 encoding/binary encoding/json encoding/xml errors fmt hash/fnv io iter maps math
	math/bits math/rand/v2 path reflect slices sort strconv strings time unicode unicode/utf8
	github.com/vmihailenco/msgpack/v5 lukechampine.com/blake3`)

// impure are imports that act on the world, or look at it, and why not; a path stands for all below it.
var impure = map[string]string{
	"net":                  "no network",
	"os":                   "no operating system",
	"syscall":              "no operating system",
	"golang.org/x/sys":     "no operating system",
	"io/ioutil":            "no files",
	"database/sql":         "no database",
	"context":              "a decision is not cancelled",
	"crypto/rand":          "randomness is an input",
	"log":                  "reasons are returned, not logged",
	"go.uber.org/zap":      "reasons are returned, not logged",
	"sync":                 "no goroutine, so no lock",
	"github.com/libp2p":    "no network",
	"golang.org/x/time":    "time is an input",
	"github.com/oklog":     "identifiers are inputs",
	"github.com/hashicorp": "no network",
	"unsafe":               "what the compiler checks is checked",
	"C":                    "it is all in Go",
}

// barred is what harmless packages have that is not, and why; "*" is all but what is in [seeded].
var barred = map[string]map[string]string{
	"time": reasons(
		"time is an input", "Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker Timer Ticker",
		"the zone of the machine is an input", "Local LoadLocation Parse"), // Parse takes the machine's zone where the offset is its own: ParseInLocation
	"math/rand":    {"*": "randomness is an input: it is the global generator"},
	"math/rand/v2": {"*": "randomness is an input: it is the global generator"},
	"reflect":      reasons("order must not depend on a scheduler", "Select MakeChan ChanOf"),
}

// calls are the methods without arguments, of whatever they are, that are barred too, and why.
var calls = reasons("the zone of the machine is an input", "Local", "order must not depend on a scheduler", "Recv TryRecv")

// instant is what package time has that has to be put into a zone at once.
var instant = words("Unix UnixMilli UnixMicro")

// seeded is what math/rand has besides the functions of its global generator.
var seeded = words("New NewZipf NewPCG NewChaCha8 Rand Source Zipf PCG ChaCha8")

// reasons maps names to why they are barred, of pairs of a reason and its names.
func reasons(pairs ...string) map[string]string {
	out := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		for name := range words(pairs[i+1]) {
			out[name] = pairs[i]
		}
	}
	return out
}

func words(s string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// Purity finds where the pure packages touch the world.
func Purity(list []Package) ([]Breach, error) {
	var out []Breach
	for _, p := range list {
		if !isPure(p.inside()) {
			more, err := setElsewhere(p)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		for _, name := range slices.Concat(p.SFiles, p.CFiles, p.HFiles, p.SysoFiles, p.IgnoredOtherFiles) {
			out = append(out, Breach{p.inside() + "/" + name, "no Go: pure code is all in Go"})
		}
		all, err := files(p)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(f file) bool { return f.test })
		for _, f := range all {
			out = append(out, impurities(f)...)
		}
		out = append(out, remembered(all)...)
	}
	return out, nil
}

// whyNot says why pure code may not import what is not harmless.
func whyNot(path string) string {
	for banned, why := range impure {
		if path == banned || strings.HasPrefix(path, banned+"/") {
			return why
		}
	}
	return "it is not known to be harmless"
}

func impurities(f file) []Breach {
	var out []Breach
	note := func(n ast.Node, format string, args ...any) {
		out = append(out, Breach{f.at(n), fmt.Sprintf(format, args...)})
	}
	for _, spec := range f.syntax.Imports {
		got := strings.Trim(spec.Path.Value, `"`)
		if ours := got == f.pkg.Module.Path || strings.HasPrefix(got, f.pkg.Module.Path+"/"); !ours && !harmless[got] { // ours: see [Layers]
			note(spec, "imports %s in pure code: %s", got, whyNot(got))
		}
	}
	placed, declared := placed(f), declared(f)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		from, name := f.selected(n)
		why := barred[from][name]
		if any := barred[from]["*"]; any != "" && !seeded[name] {
			why = any
		}
		if from == "time" && instant[name] && !placed[n] {
			why = "the zone of the machine is an input"
		}
		if why != "" {
			note(n, "uses %s.%s in pure code: %s", path.Base(strings.TrimSuffix(from, "/v2")), name, why)
		}
		switch n := n.(type) {
		case *ast.ImportSpec:
			if n.Name != nil && n.Name.Name == "." {
				note(n, "imports by a dot in pure code: what is used of it cannot be seen")
			}
		case *ast.GoStmt:
			note(n, "starts a goroutine in pure code: order must not depend on a scheduler")
		case *ast.SelectStmt:
			note(n, "selects in pure code: order must not depend on a scheduler")
		case *ast.ChanType:
			note(n, "has a channel in pure code: order must not depend on a scheduler")
		case *ast.FuncType:
			if !declared[n] && f.clock(n) {
				note(n, "takes a clock into pure code: time is an input, an instant with each call")
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && calls[s.Sel.Name] != "" && len(n.Args) == 0 {
				note(n, "calls %s in pure code: %s", s.Sel.Name, calls[s.Sel.Name])
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.Contains(n.Value, "%p") {
				note(n, "prints an address in pure code: it is another in each run")
			}
		}
		return true
	})
	return out
}

// clock tells of the type of a function that is given nothing and tells an instant.
func (f file) clock(t *ast.FuncType) bool {
	if t.Params.NumFields() > 0 || t.Results.NumFields() != 1 {
		return false
	}
	from, name := f.selected(t.Results.List[0].Type)
	return from == "time" && name == "Time"
}

// declared are the types of functions with a name, which take nothing into a package.
func declared(f file) map[*ast.FuncType]bool {
	out := make(map[*ast.FuncType]bool)
	for _, d := range f.syntax.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			out[d.Type] = true
		}
	}
	return out
}

// placed are the functions whose instant is put into a zone where it is made: time.Unix(s, 0).UTC(), or In.
func placed(f file) map[ast.Node]bool {
	in := make(map[ast.Node]bool)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "UTC" || s.Sel.Name == "In") {
			if c, ok := s.X.(*ast.CallExpr); ok {
				in[c.Fun] = true
			}
		}
		return true
	})
	return in
}
