package grid

import (
	"fmt"
	"strings"
	"testing"
)

// arrows are the changes among some of n states, as docs/protocol.md shows them; what is told of one is "" where it is none.
func arrows(n int, name func(int) string, told func(from, to int) (label string, is bool)) string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for from := range n {
		for to := range n {
			if label, is := told(from, to); is && from != to {
				fmt.Fprintf(&b, "    %s --> %s%s\n", name(from), name(to), label)
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func roleDiagram() string {
	name := func(r int) string {
		if Role(r) == noRole {
			return "[*]"
		}
		return strings.ToUpper(Role(r).String())
	}
	return arrows(len(roleMoves), name, func(from, to int) (string, bool) {
		home, elsewhere := Role(from).CanBecome(Role(to), true), Role(from).CanBecome(Role(to), false)
		switch {
		case home && elsewhere:
			return "", true
		case home:
			return ": at home", true
		}
		return ": elsewhere", elsewhere
	})
}

func phaseDiagram() string {
	name := func(p int) string {
		if HandoffPhase(p) == NoHandoff {
			return "[*]"
		}
		return strings.ToUpper(HandoffPhase(p).String())
	}
	return arrows(len(phaseMoves), name, func(from, to int) (string, bool) {
		return "", HandoffPhase(from).CanBecome(HandoffPhase(to))
	})
}

// At home a job is owned or watched, and only elsewhere does a record stay as a tombstone; who never was PREPARED gets to own it at home alone, or where it was before.
func TestRolesAreOneMachine(t *testing.T) {
	t.Parallel()
	for from := range Role(len(roleMoves) + 1) {
		for to := range Role(len(roleMoves) + 1) {
			home, elsewhere := from.CanBecome(to, true), from.CanBecome(to, false)
			if from == to {
				continue
			}
			if known := from <= Declined && to != noRole && to <= Declined; (home || elsewhere) && !known {
				t.Errorf("%v becomes %v", from, to)
			}
			if home && (to == Tombstone || to == Declined || from == Tombstone || from == Declined) {
				t.Errorf("%v becomes %v at home", from, to)
			}
			if elsewhere && (to == Watching || from == Watching || to == Owning && from != Prepared && from != Tombstone) {
				t.Errorf("%v becomes %v elsewhere", from, to)
			}
		}
	}
}

// What is committed is not withdrawn; it ends.
func TestPhasesAreOneMachine(t *testing.T) {
	t.Parallel()
	for from := range HandoffPhase(len(phaseMoves) + 1) {
		for to := range HandoffPhase(len(phaseMoves) + 1) {
			onward := from < to && to <= Committed && (from != NoHandoff || to == Offering)
			over := from <= Committed && to == NoHandoff
			if got, want := from.CanBecome(to), from == to || onward || over; got != want {
				t.Errorf("%v becomes %v: %v, want %v", from, to, got, want)
			}
		}
	}
}
