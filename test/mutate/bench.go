package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bench is one test program of many mutants: each change stands beside the original, and the environment says which of
// them counts. It is compiled and linked once.
type bench struct {
	program string
	folder  string       // of the package
	has     map[int]bool // by their numbers in the sample
}

// what stands beside the originals: the names that [switched] writes.
const switches = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
%s)

var (
	mutantNow, _  = strconv.Atoi(os.Getenv("MUTANT"))
	mutantsTold   = os.Getenv("MUTANTS_REACHED")
	mutantReached [%d]atomic.Bool
)

func mutantOn(i int) bool {
	if mutantsTold != "" && !mutantReached[i].Load() {
		mutantTold(i)
	}
	return mutantNow == i
}

func mutantTold(i int) {
	if mutantReached[i].Swap(true) {
		return
	}
	if f, err := os.OpenFile(mutantsTold, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		f.WriteString(strconv.Itoa(i) + "\n")
		f.Close()
	}
}

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func mutantSum[T mutantInteger | ~float32 | ~float64](i int, a, b T, plus bool) T {
	if mutantOn(i) != plus {
		return a + b
	}
	return a - b
}

func mutantOne[T mutantInteger | ~float32 | ~float64](i int) T {
	if mutantOn(i) {
		return 1
	}
	return 0
}

`

// switched writes the switch of one mutant.
type switched struct {
	id    int
	types map[ast.Expr]types.TypeAndValue
	names *strings.Builder // of types of numbers: declarations in the file of switches
	paths map[string]string
}

func (s switched) on() ast.Expr  { return ast.NewIdent(fmt.Sprintf("mutantOn(%d)", s.id)) }
func (s switched) off() ast.Expr { return ast.NewIdent(fmt.Sprintf("!mutantOn(%d)", s.id)) }

func (s switched) sum(n *ast.BinaryExpr) ast.Expr {
	plus := strconv.FormatBool(n.Op == token.ADD)
	return &ast.CallExpr{Fun: ast.NewIdent("mutantSum"), Args: []ast.Expr{ast.NewIdent(strconv.Itoa(s.id)), n.X, n.Y, ast.NewIdent(plus)}}
}

// one is the text of what is 1 or 0, of the type that a number has where it stands.
func (s switched) one(n *ast.BasicLit) string {
	name := types.TypeString(types.Default(s.types[n].Type), func(p *types.Package) string {
		if p.Path() == s.paths[""] {
			return ""
		}
		if s.paths[p.Path()] == "" {
			s.paths[p.Path()] = fmt.Sprintf("from%d", len(s.paths))
		}
		return s.paths[p.Path()]
	})
	fmt.Fprintf(s.names, "type mutantType%d = %s\n", s.id, name)
	return fmt.Sprintf("mutantOne[mutantType%d](%d)", s.id, s.id)
}

// together builds the bench of a sample. What does not build beside the others is left out, and is built alone.
func (s sample) together(ctx context.Context, scratch, name string, drawn []mutant) (*bench, error) {
	pack, err := s.pack(ctx, name)
	if err != nil || len(pack.GoFiles) == 0 {
		return nil, err
	}
	b := &bench{program: filepath.Join(scratch, "tests"), folder: pack.Dir, has: map[int]bool{}}
	for i, m := range drawn {
		b.has[i+1] = filepath.Ext(m.file) == ".go"
	}
	for range 20 {
		texts, err := pack.beside(drawn, b.has)
		if err != nil {
			return nil, err
		}
		overlay, err := overlaid(scratch, texts)
		if err != nil {
			return nil, err
		}
		cmd := s.tool(ctx, "test", "-c", "-vet=off", "-gcflags=-e", "-o", b.program, "-overlay", overlay, name)
		said, err := cmd.CombinedOutput()
		if err == nil {
			return b, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !b.drop(texts, string(said)) {
			return nil, fmt.Errorf("building the mutants of %s together: %w: %s", name, err, said)
		}
	}
	return nil, nil
}

var (
	fault = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)
	named = regexp.MustCompile(`mutant(?:On\(|Sum\(|Type)(\d+)`)
)

// drop takes out the mutants next to which the compiler found faults.
func (b *bench) drop(texts map[string][]byte, said string) (some bool) {
	for _, f := range fault.FindAllStringSubmatch(said, -1) {
		line, _ := strconv.Atoi(f[2])
		for path, text := range texts {
			if filepath.Base(path) != strings.TrimPrefix(filepath.Base(f[1]), changed) {
				continue
			}
			if id := nearest(strings.Split(string(text), "\n"), line-1); b.has[id] {
				b.has[id], some = false, true
			}
		}
	}
	return some
}

// nearest is the mutant that is named next to a line, or 0.
func nearest(rows []string, line int) int {
	for away := range rows {
		for _, at := range []int{line - away, line + away} {
			if at < 0 || at >= len(rows) {
				continue
			}
			if m := named.FindStringSubmatch(rows[at]); m != nil {
				id, _ := strconv.Atoi(m[1])
				return id
			}
		}
	}
	return 0
}

// pack is a package as the go command lists it.
type pack struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
	exports                       map[string]string // compiled, of all that it imports
}

func (s sample) pack(ctx context.Context, name string) (p pack, err error) {
	cmd := s.tool(ctx, "list", "-export", "-deps", "-json=Dir,ImportPath,Name,Export,GoFiles", name)
	out, err := cmd.Output()
	if err != nil {
		return p, fmt.Errorf("listing what %s imports: %w", name, err)
	}
	exports := map[string]string{}
	for read := json.NewDecoder(strings.NewReader(string(out))); ; exports[p.ImportPath] = p.Export {
		next := pack{}
		if err := read.Decode(&next); errors.Is(err, io.EOF) {
			break // the package itself comes last
		} else if err != nil {
			return p, fmt.Errorf("reading what %s imports: %w", name, err)
		}
		p = next
	}
	p.exports = exports
	return p, nil
}

// beside are the files of a package with some mutants beside the originals, and the file of their switches.
func (p pack) beside(drawn []mutant, has map[int]bool) (map[string][]byte, error) {
	set, files := token.NewFileSet(), map[string]*ast.File{}
	var trees []*ast.File
	for _, f := range p.GoFiles {
		path := filepath.Join(p.Dir, f)
		tree, err := parsed(set, path)
		if err != nil {
			return nil, err
		}
		files[path], trees = tree, append(trees, tree)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	check := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(p.exports[path]) })}
	if _, err := check.Check(p.ImportPath, set, trees, info); err != nil {
		return nil, fmt.Errorf("checking the types of %s: %w", p.ImportPath, err)
	}
	all := map[string][]place{}
	for path, tree := range files {
		all[path] = places(tree)
	}
	sw, texts := switched{types: info.Types, names: &strings.Builder{}, paths: map[string]string{"": p.ImportPath}}, map[string][]byte{}
	for i, m := range drawn {
		if sw.id = i + 1; has[sw.id] {
			all[m.file][m.nth].beside(sw)
			texts[m.file] = nil
		}
	}
	for path := range texts {
		text, err := printed(set, files[path])
		if err != nil {
			return nil, err
		}
		texts[path] = text
	}
	texts[filepath.Join(p.Dir, "mutants_switched.go")] = sw.file(p.Name, len(drawn)+1)
	return texts, nil
}

// file is that of the switches.
func (s switched) file(pack string, count int) []byte {
	var imports []string
	for path, name := range s.paths {
		if path != "" {
			imports = append(imports, fmt.Sprintf("\t%s %q\n", name, path))
		}
	}
	slices.Sort(imports)
	return []byte(fmt.Sprintf(switches, pack, strings.Join(imports, ""), count) + s.names.String())
}
