// Package house checks how the code is laid out: which package may import which
// ([Layers]), what the pure packages may not touch ([Purity]), what programs do without
// ([Links]), that all of it is one module ([Modules]), how long a file may be ([Lengths]), that the state of a reservation is moved by its table ([Moved]), and a short list of bans, each with its reason ([Bans]).
//
// # Layers
//
//	6  cmd/gbroker   cmd/gbroker-agent   cmd/gclient   cmd/gsim
//	5  daemon
//	4  api   sim
//	3  broker   overlay   netmon   pbs   stage   store
//	2  wire
//	1  plan   pool   reserve   budget   flow (flow/enact)   jsdl
//	0  grid   steps
//
// A package imports only from layers below its own, and from its own family (pbs and
// what lies in its folder). internal/ holds no concept of the domain: any package that is
// not pure may import it, and of ours it imports nothing but grid and internal/. test/ is
// the whole system: only it imports it, and it is not held to a layer. So are test files.
//
// # Purity
//
// grid, steps, jsdl, plan, pool, reserve, budget, flow, flow/enact, wire, broker/core, sim/brokers, sim/faults, sim/replay/counted and sim/workload decide and never act: time,
// identifiers and randomness are inputs, which makes every decision repeatable. They have no network, no operating system, no context, no clock, no zone
// of the machine, no goroutine, no channel, no global randomness, and no variable that remembers. Of ours they import only what is pure too,
// of others what is on a list. It is the package that counts, with all that lies below it, whatever its files are called
// and whatever system they are for.
package house

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Package is what `go list` says of one package.
type Package struct {
	Dir, ImportPath, Name              string
	Module                             struct{ Path string }
	Imports                            []string
	Deps                               []string // all that is linked with it
	GoFiles, TestGoFiles, XTestGoFiles []string
	CgoFiles, IgnoredGoFiles           []string // with C, for other systems
	SFiles, CFiles, HFiles, SysoFiles  []string // not in Go
	IgnoredOtherFiles                  []string // for other systems
}

// Name of p inside its module: "pbs/embedded", "" for the top.
func (p Package) inside() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
}

// family is the first folder of a package inside the module; for commands, the first two.
func family(inside string) string {
	parts := strings.Split(inside, "/")
	if len(parts) > 1 && parts[0] == "cmd" {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// List asks the go command for the packages of the module at dir.
func List(ctx context.Context, dir string) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-json", "./...")
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w: %s", dir, err, stderr.Bytes())
	}
	var list []Package
	for d := json.NewDecoder(&stdout); ; {
		var p Package
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("reading what go list printed: %w", err)
		}
		list = append(list, p)
	}
}

// Breach is one place where the house is not in order.
type Breach struct {
	Where string // a file and line, or a package
	What  string // and why not
}

func (b Breach) String() string { return b.Where + ": " + b.What }

// file is one parsed source file.
type file struct {
	pkg    Package
	path   string // inside the module
	test   bool
	set    *token.FileSet
	syntax *ast.File
	names  map[string]string // of imports in this file, to their paths
}

// files parses the sources of p.
func files(p Package) ([]file, error) {
	var out []file
	set := token.NewFileSet()
	for _, group := range []struct {
		names []string
		test  bool
	}{{p.GoFiles, false}, {p.CgoFiles, false}, {p.IgnoredGoFiles, false}, {p.TestGoFiles, true}, {p.XTestGoFiles, true}} {
		for _, name := range group.names {
			syntax, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, fmt.Errorf("parsing: %w", err)
			}
			test := group.test || strings.HasSuffix(name, "_test.go")
			out = append(out, file{p, strings.TrimPrefix(p.inside()+"/"+name, "/"), test, set, syntax, importNames(syntax)})
		}
	}
	return out, nil
}

// importNames maps the name by which a file uses an import to its path.
func importNames(f *ast.File) map[string]string {
	names := make(map[string]string)
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it already
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" && strings.Contains(path, "/") {
			rest := path[:strings.LastIndex(path, "/")]
			name = rest[strings.LastIndex(rest, "/")+1:]
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	return names
}

// at is the place of a node as file:line.
func (f file) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.path, f.set.Position(n.Pos()).Line)
}

// selected is the import path and name of a selector such as time.Now; "" where x is no package.
func (f file) selected(n ast.Node) (path, name string) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok || x.Obj != nil { // a local variable of that name
		return "", ""
	}
	return f.names[x.Name], s.Sel.Name
}
