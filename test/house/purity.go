package house

import (
	"fmt"
	"go/ast"
	"strings"
)

// impure are imports that act on the world, or look at it; a path stands for all below it.
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
}

// clock are the functions of package time that look at the clock or wait for it.
var clock = words("Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker")

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

func impurities(f file) []Breach {
	var out []Breach
	note := func(n ast.Node, format string, args ...any) {
		out = append(out, Breach{f.at(n), fmt.Sprintf(format, args...)})
	}
	for _, spec := range f.syntax.Imports {
		got := strings.Trim(spec.Path.Value, `"`)
		for banned, why := range impure {
			if got == banned || strings.HasPrefix(got, banned+"/") {
				note(spec, "imports %s in pure code: %s", got, why)
			}
		}
		if spec.Name != nil && spec.Name.Name == "." {
			note(spec, "imports %s by a dot: write its name, so that what is used can be seen", got)
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		from, name := f.selected(n)
		switch {
		case from == "time" && clock[name]:
			note(n, "uses time.%s in pure code: time is an input", name)
		case (from == "math/rand" || from == "math/rand/v2") && !seeded[name]:
			note(n, "uses the global generator, rand.%s, in pure code: randomness is an input", name)
		}
		if g, ok := n.(*ast.GoStmt); ok {
			note(g, "starts a goroutine in pure code: order must not depend on a scheduler")
		}
		return true
	})
	return out
}
