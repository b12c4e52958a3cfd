package stage

import (
	"errors"
	"net"
	"testing"
	"time"

	"gbroker/grid"
)

// A peer that gives nothing does not hold a Fetch for ever: whoever asked may ask again.
func TestAFetchThatBringsNothingEnds(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a := n.site("a", nil)
	b := n.site("b", func(c *Config) { c.Patience = 50 * time.Millisecond })
	m := give(t, a, map[string][]byte{"x": random(1 << 20)})
	n.between = func(c net.Conn) net.Conn {
		c.Close()
		return c
	}
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("Fetch ended with %v", err)
	}
}
