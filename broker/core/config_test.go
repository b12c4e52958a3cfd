package core

import (
	"testing"

	"gbroker/grid"
)

// What a waiting job must gain, how long it then stays and when it is too late for it follow the span between two passes,
// unless something else is said.
func TestReevaluationFollowsItsSpan(t *testing.T) {
	for _, c := range []struct{ said, margin, cooldown, soon grid.Tick }{
		{0, 625, 625, 625},
		{grid.Minute, 7500, 7500, 7500},
		{4, 1, 1, 1},
	} {
		if d := (Config{Settle: c.said}).WithDefaults(); d.Margin != c.margin || d.Cooldown != c.cooldown || d.Soon != c.soon {
			t.Errorf("settle %d: margin %d, cooldown %d, soon %d", c.said, d.Margin, d.Cooldown, d.Soon)
		}
	}
	said := Config{Settle: grid.Second, Margin: 7, Cooldown: 8, Soon: 9}.WithDefaults()
	if said.Margin != 7 || said.Cooldown != 8 || said.Soon != 9 {
		t.Errorf("what is said does not count: %+v", said)
	}
	if d := (Config{Settle: grid.Second, Margin: grid.Minute}).WithDefaults(); d.Soon != grid.Minute {
		t.Errorf("soon is %d beside a margin of a minute", d.Soon)
	}
}
