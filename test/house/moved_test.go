package house

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Each way to write the state of a reservation past its table is found, in a package of reservations, and nothing else.
func TestWritesPastTheTableAreFound(t *testing.T) {
	t.Parallel()
	const source = `package reserve

import "m/grid"

func moved(r *grid.Reservation, p *grid.AllocatedPart, s grid.ReservationState) grid.Reservation {
	r.State = s
	p.Heard = s
	p.Last, r.Reason = grid.Released, ""
	s = grid.Released // it is written nowhere
	r.State.Become(s, grid.TheBook)
	return grid.Reservation{State: grid.Tentative, Seen: grid.Released}
}
`
	for inside, want := range map[string][]string{"reserve": {"6: writes State", "7: writes Heard", "8: writes Last", "11: writes State"}, "broker/core": {"7: writes Heard", "8: writes Last", "11: writes State"}} {
		f := file{pkg: Package{ImportPath: "m/" + inside}, path: "x.go", set: token.NewFileSet()}
		f.pkg.Module.Path = "m"
		var err error
		if f.syntax, err = parser.ParseFile(f.set, "x.go", source, 0); err != nil {
			t.Fatal(err)
		}
		f.names = importNames(f.syntax)
		var got []string
		for _, b := range movedIn(f) {
			got = append(got, strings.TrimPrefix(b.String(), "x.go:"))
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("in %s: %q, want %q", inside, got, want)
		}
	}
}
