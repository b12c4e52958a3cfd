package daemon

import "testing"

// What is made by hand belongs to one data folder: two brokers at one batch system would
// sweep each other's reservations.
func TestWhatIsMadeByHandIsOfOneBroker(t *testing.T) {
	t.Parallel()
	words := map[string]bool{}
	for _, h := range []*Hand{{folder: t.TempDir()}, {folder: t.TempDir()}} {
		first, err1 := h.owner()
		again, err2 := h.owner()
		if err1 != nil || err2 != nil || first != again || words[first] {
			t.Errorf("%q, then %q: %v, %v", first, again, err1, err2)
		}
		words[first] = true
	}
}
