package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gbroker/grid"
)

// A neighbour that is removed keeps its name, over a restart too, and within a bound.
func TestNames(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "names.json")
	load := func() *names {
		n, err := loadNames(file)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	keep := func(n *names, members ...grid.Member) {
		if err := n.keep(members); err != nil {
			t.Fatal(err)
		}
	}
	n := load()
	keep(n, grid.Member{Name: "a", Peer: "A"}, grid.Member{Name: "b", Peer: "B"})
	keep(n, grid.Member{Name: "c", Peer: "A"})
	for _, n := range []*names{n, load()} {
		if n.of("A") != "c" || n.of("B") != "b" || n.of("C") != "" {
			t.Errorf("A is %q, B %q, C %q", n.of("A"), n.of("B"), n.of("C"))
		}
		if got := n.peers("b"); len(got) != 1 || got[0] != "B" {
			t.Errorf("b was %v", got)
		}
	}
	for i := range 5 {
		var many []grid.Member
		for j := range 1000 {
			many = append(many, grid.Member{Name: grid.SiteName(fmt.Sprintf("s%d-%d", i, j)), Peer: grid.PeerID(fmt.Sprint(i, "-", j))})
		}
		keep(n, many...)
	}
	if len(n.last) != maxNames || n.of("4-999") == "" {
		t.Errorf("%d names are kept, of the last %q", len(n.last), n.of("4-999"))
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := loadNames(file); err == nil || n == nil {
		t.Error("a damaged file is read in silence")
	}
}

// A name that could not be written, as on a full disk, is written the next time, also when its site is gone by then.
func TestNamesThatWereNotWritten(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	n, err := loadNames(filepath.Join(folder, "names.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.keep([]grid.Member{{Name: "a", Peer: "A"}}); err == nil {
		t.Fatal("it is written where there is no folder")
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := n.keep(nil); err != nil {
		t.Fatal(err)
	}
	if n, err = loadNames(n.file); err != nil || n.of("A") != "a" {
		t.Errorf("A is %q after a restart, %v", n.of("A"), err)
	}
}
