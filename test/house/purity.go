package house

import (
	"fmt"
	"go/ast"
	"strings"
)

// harmless are the imports that neither act on the world nor look at it. Others are not
// for pure code, known or not: what is added here is looked at first. (Of time, math/rand and
// fmt only a part is harmless: see clock, zone, seeded and [Bans].)
var harmless = words(`bytes cmp container/heap container/list crypto/ed25519 crypto/sha256 crypto/sha512 encoding/base32 encoding/base64
	encoding/binary encoding/hex encoding/json encoding/xml errors fmt hash hash/fnv io iter maps math math/big math/bits math/rand math/rand/v2
	path reflect regexp slices sort strconv strings text/template time unicode unicode/utf8 unique
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

// clock is what package time has that looks at the clock or waits for it.
var clock = words("Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker")

// zone is what it has that looks where the machine stands; what is of the next has to be put into a zone at once.
var (
	zone    = words("Local LoadLocation")
	instant = words("Unix UnixMilli UnixMicro")
)

// seeded is what math/rand has besides the functions of its global generator.
var seeded = words("New NewSource NewZipf NewPCG NewChaCha8 Rand Source Source64 Zipf PCG ChaCha8")

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
			continue
		}
		for _, name := range p.SFiles {
			out = append(out, Breach{p.inside() + "/" + name, "assembly in pure code: it is all in Go"})
		}
		all, err := files(p)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			if !f.test {
				out = append(out, impurities(f)...)
			}
		}
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
	placed := placed(f)
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		from, name := f.selected(n)
		switch {
		case from == "time" && (zone[name] || instant[name] && !placed[n]):
			note(n, "uses time.%s in pure code: the zone of the machine is an input", name)
		case from == "time" && clock[name]:
			note(n, "uses time.%s in pure code: time is an input", name)
		case (from == "math/rand" || from == "math/rand/v2") && !seeded[name]:
			note(n, "uses the global generator, rand.%s, in pure code: randomness is an input", name)
		}
		switch n.(type) {
		case *ast.GoStmt:
			note(n, "starts a goroutine in pure code: order must not depend on a scheduler")
		case *ast.SelectStmt:
			note(n, "selects in pure code: order must not depend on a scheduler")
		}
		return true
	})
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
