package grid

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the diagram of the states anew")

// diagram is the machine of the states, from its table, as docs/protocol.md shows it.
func diagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for from := unknown; from <= Lost; from++ {
		for to := Submitted; to <= Lost; to++ {
			if from != to && from.CanBecome(to, Own) {
				fmt.Fprintf(&b, "    %s --> %s\n", from, to)
			}
		}
	}
	b.WriteString("```\n\n| from | by the word of another, as the home hears the owner | as it comes here, or comes back |\n| --- | --- | --- |\n")
	for from := unknown; from <= Lost; from++ {
		name := from.String()
		if from == unknown {
			name = "not known here"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, reached(from, Heard), reached(from, Begun))
	}
	return b.String()
}

func reached(from State, by Word) string {
	var list []string
	for to := Submitted; to <= Lost; to++ {
		if from != to && from.CanBecome(to, by) {
			list = append(list, to.String())
		}
	}
	return strings.Join(list, " ")
}

// The document shows the tables that the code uses.
func TestTheDiagramIsTheTable(t *testing.T) {
	t.Parallel()
	const file = "../docs/protocol.md"
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(read)
	for name, made := range map[string]string{
		"states": diagram(), "roles": roleDiagram(), "handoffs": phaseDiagram(), "reservations": reservationTableText(),
	} {
		begin, end := "<!-- "+name+": made by go test ./grid -update -->\n", "<!-- "+name+" end -->\n"
		head, rest, found := strings.Cut(text, begin)
		shown, tail, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no table of the %s", file, name)
		}
		text = head + begin + made + end + tail
		if shown != made && !*update {
			t.Errorf("%s shows other %s than the table: go test ./grid -update", file, name)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// No job leaves a terminal state by its own, but LOST, which gains a result; nothing that is heard
// changes one; and every state is left, and reached, by some move.
func TestTheStatesAreOneMachine(t *testing.T) {
	t.Parallel()
	for from := Submitted; from <= Lost; from++ {
		left, come := from.Terminal(), false
		for to := unknown; to <= Lost; to++ {
			own, heard := from.CanBecome(to, Own), from.CanBecome(to, Heard)
			if from.Terminal() && to != from && (heard || own && (from != Lost || !to.Terminal())) {
				t.Errorf("%v becomes %v", from, to)
			}
			left = left || own && to != from
			come = come || to != from && (to.CanBecome(from, Own) || to.CanBecome(from, Begun))
		}
		if !left || !come {
			t.Errorf("%v: left %v, reached %v", from, left, come)
		}
	}
	for _, word := range []Word{0, Begun + 1} {
		if Submitted.CanBecome(Ready, word) {
			t.Errorf("the word %v moves a job", word)
		}
	}
	if State(200).CanBecome(Ready, Own) || Ready.CanBecome(200, Own) {
		t.Error("a state that is none has moves")
	}
}

// A line of the table says each of its moves once.
func TestTheTableSaysNothingTwice(t *testing.T) {
	t.Parallel()
	says := saysOnce[Word, State](t)
	for _, m := range moves {
		says(m.by, m.from, m.to)
	}
}

// saysOnce takes the lines of a table of moves, and minds one that is there twice.
func saysOnce[By, State comparable](t *testing.T) func(by By, from, to []State) {
	type move struct {
		by       By
		from, to State
	}
	seen := map[move]bool{}
	return func(by By, from, to []State) {
		for _, a := range from {
			for _, b := range to {
				k := move{by, a, b}
				if a != b && seen[k] {
					t.Errorf("%v: %v to %v is there twice", by, a, b)
				}
				seen[k] = true
			}
		}
	}
}
