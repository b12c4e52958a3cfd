package core

import "testing"

// Each kind has words of its own for people: nothing is decided by them.
func TestEachKindHasItsWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for d := believed; d <= otherJob; d++ {
		if s := d.String(); s == "" || seen[s] {
			t.Errorf("doubt %d: %q", d, s)
		} else {
			seen[s] = true
		}
	}
}
