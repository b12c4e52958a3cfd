package house

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

func list(t *testing.T, dir string) []Package {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	packages, err := List(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func breaches(t *testing.T, packages []Package) []string {
	t.Helper()
	var all []Breach
	for _, check := range []func([]Package) ([]Breach, error){Layers, Links, Purity, Bans, Lengths, Moved} {
		more, err := check(packages)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	out := make([]string, len(all))
	for i, b := range all {
		out[i] = b.String()
	}
	sort.Strings(out)
	return out
}

// TestHouse: this module is in order.
func TestHouse(t *testing.T) {
	t.Parallel()
	packages := list(t, filepath.Join("..", ".."))
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages: the check sees nothing", len(packages))
	}
	for _, b := range breaches(t, packages) {
		t.Error(b)
	}
	modules, err := Modules(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range modules {
		t.Error(b)
	}
	used := make(map[string]bool)
	for _, folder := range pure {
		if !slices.ContainsFunc(packages, func(p Package) bool { return p.inside() == folder }) {
			t.Errorf("%s is to be pure, and is no package: test/house/layers.go", folder)
		}
	}
	for _, p := range packages {
		for _, path := range p.Imports {
			used[path] = used[path] || isPure(p.inside())
		}
	}
	for path := range harmless {
		if !used[path] {
			t.Errorf("%s is called harmless, and nothing pure imports it: test/house/purity.go", path)
		}
	}
}

// TestBreachesAreFound: in a module that breaks each rule once, each is found, and nothing else.
func TestBreachesAreFound(t *testing.T) {
	t.Parallel()
	got := breaches(t, list(t, filepath.Join("testdata", "broken")))
	want := []string{
		"api/util: a package called util has no subject: name it after what it knows",
		"broker/core/core.go:4: imports sync in pure code: no goroutine, so no lock",
		"broker/core/core.go:8: uses time.Now in pure code: time is an input",
		"broker/core/core.go:9: starts a goroutine in pure code: order must not depend on a scheduler",
		"broker/core/other_windows.go:3: imports runtime/debug in pure code: it is not known to be harmless",
		"broker/core/shell_clock.go:6: uses time.Now in pure code: time is an input",
		"broker/core/zone.go:8: uses time.UnixMilli in pure code: the zone of the machine is an input",
		"broker/core/zone.go:11: uses time.Local in pure code: the zone of the machine is an input",
		"broker/core/zone.go:14: selects in pure code: order must not depend on a scheduler",
		"broker/core: imports broken/broker: broker/core is pure",
		"cmd/gsim: links net/http, which it does without (go list -deps tells by whom)",
		"cmd/gsim: links net/http on other systems, which it does without: cmd/gsim imports it",
		"broker/core/vote/fast.s: no Go: pure code is all in Go",
		"broker/core/vote/vote.go:5: imports os in pure code: no operating system",
		"broker/core/vote/vote.go:6: imports unsafe in pure code: what the compiler checks is checked",
		"grid/grid.go:4: imports crypto/rand in pure code: randomness is an input",
		"grid/grid.go:6: imports os in pure code: no operating system",
		"internal/disk: imports broken/jsdl: what lies in internal/ knows no concept of the domain but grid's nouns",
		"jsdl/jsdl.go:4: imports context in pure code: a decision is not cancelled",
		"jsdl/jsdl.go:5: imports net/http in pure code: no network",
		"overlay: imports broken/broker: layer 3 may import only what lies below it, and broker is of layer 3",
		"overlay: imports broken/test/whole: only tests do",
		"overlay: the package has no comment that says what it is",
		"broker/core/zone.go:13: has a channel in pure code: order must not depend on a scheduler",
		"grid/grid.go:5: imports by a dot in pure code: what is used of it cannot be seen",
		"plan/plan.go:11: uses rand.IntN in pure code: randomness is an input: it is the global generator",
		"plan: imports broken/internal/disk: plan is pure",
		"sim/faults: imports broken/broker: sim/faults is pure",
		"stage: imports broken/store/storetest: only tests do",
		"stage: imports broken/store: layer 3 may import only what lies below it, and store is of layer 3",
		"stray: the package has no layer: give it one in the package comment and in test/house/layers.go",
		"wire: imports broken/api/util: layer 2 may import only what lies below it, and api is of layer 4",
	}
	banned := []string{
		"grid/grid.go:5: imported by a dot",
		"netmon/bubble_test.go:30: a test that sleeps",
		"netmon/bubble_test.go:32: a test that sleeps", // in a function that also runs outside
		"netmon/bubble_test.go:35: a test that sleeps", // given to another Test
		"netmon/bubble_test.go:36: a test that sleeps", // by another name
		"netmon/bubble_test.go:40: a test that sleeps", // called from outside too
		"netmon/bubble_test.go:50: a test that sleeps", // of a name that others may call
		"netmon/bubble_test.go:56: a test that sleeps", // called from nowhere
		"netmon/dot_test.go:3: imported by a dot",
		"netmon/pause_test.go:11: a test that sleeps",
		"netmon/pause_test.go:12: a test that sleeps",
		"netmon/pause_test.go:15: a test that sleeps", // the only case of a select
		"netmon/pause_test.go:18: a test that sleeps",
		"netmon/pause_test.go:19: a test that sleeps",
		"netmon/netmontest/suite.go:13: a test that sleeps", // of a name that others may call
		"store/store.go:16: nobody can end a sleep early",
		"store/store.go:13: the builtin println is for debugging alone",
		"store/store.go:14: only programs print",
		"store/store.go:15: logs are structured",
		"store/store.go:17: os.Exit skips every defer",
		"store/store.go:18: nobody can cancel what runs under context.Background",
		"store/store.go:19: nobody can cancel what runs under context.TODO",
		"store/store.go:23: nobody can cancel what runs under context.TODO", // an allowance without a reason
		"store/store_test.go:9: a test that sleeps",
		"store/store_test.go:10: a test is skipped without a reason",
		"store/store_test.go:11: a test is skipped without a reason",
		"store/store_test.go:21: a test is skipped without a reason", // by what holds it
	}
	unmatched := make(map[string]bool)
	for _, b := range got {
		unmatched[b] = true
	}
	for _, w := range want {
		if !unmatched[w] {
			t.Errorf("not found: %s", w)
		}
		delete(unmatched, w)
	}
	for _, w := range banned {
		found := false
		for b := range unmatched {
			if strings.HasPrefix(b, w) {
				found = true
				delete(unmatched, b)
			}
		}
		if !found {
			t.Errorf("not found: %s…", w)
		}
	}
	for b := range unmatched {
		t.Errorf("found, but in order: %s", b)
	}
}

// Only what is pure, or has no goroutines, is tested without the race detector.
func TestWithoutRace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, variable := range []string{"ALONE", "WHOLE"} {
		_, rest, found := strings.Cut(string(text), "\n"+variable+" = ")
		line, _, _ := strings.Cut(rest, "\n")
		if !found || line == "" {
			t.Fatalf("the Makefile has no list %s", variable)
		}
		names = append(names, strings.Fields(line)...)
	}
	list, err := List(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		in := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/...")
		if isPure(in) {
			continue
		}
		k := slices.IndexFunc(list, func(p Package) bool { return p.inside() == in })
		if k < 0 {
			t.Errorf("%s is tested without the race detector: there is no such package", name)
			continue
		}
		breaches, err := Concurrent(list[k])
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range breaches {
			t.Errorf("%s is tested without the race detector: %s", name, b)
		}
	}
}

// A package that has goroutines is known by each of its signs.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	list, err := List(t.Context(), "testdata/broken")
	if err != nil {
		t.Fatal(err)
	}
	k := slices.IndexFunc(list, func(p Package) bool { return p.inside() == "broker/core" })
	breaches, err := Concurrent(list[k])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range breaches {
		got = append(got, b.String())
	}
	for _, want := range []string{"broker/core/core.go:4: imports sync", "broker/core/core.go:9: starts a goroutine"} {
		if !slices.Contains(got, want) {
			t.Errorf("not found: %s, but %q", want, got)
		}
	}
}
