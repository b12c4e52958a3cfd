package embedded

import (
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
)

// When a reservation may be, to the bounds of it, and how it may be called.
func TestWhenAReservationMayBe(t *testing.T) {
	t.Parallel()
	now := control.Now()
	longest := grid.MaxWalltime + grid.Day
	for name, c := range map[string]struct {
		id         string
		start, end grid.Tick
		may        bool
	}{
		"under way":        {"r1", now - grid.Hour, now + grid.Hour, true},
		"later":            {"r1", now + grid.Hour, now + 2*grid.Hour, true},
		"the shortest":     {"r1", now + grid.Hour, now + grid.Hour + 1, true},
		"of no length":     {"r1", now + grid.Hour, now + grid.Hour, false},
		"backwards":        {"r1", now + 2*grid.Hour, now + grid.Hour, false},
		"the longest":      {"r1", now, now + longest, true},
		"longer":           {"r1", now, now + longest + 1, false},
		"over":             {"r1", now - 2*grid.Hour, now, false},
		"in many years":    {"r1", now + farthest + grid.Hour, now + farthest + 2*grid.Hour, false},
		"in nearly many":   {"r1", now + farthest - grid.Hour, now + farthest, true},
		"of a long name":   {"abcdefghijklmnopqrstuvwx", now, now + grid.Hour, true},
		"of a longer name": {"abcdefghijklmnopqrstuvwxy", now, now + grid.Hour, false},
		"of no name":       {"", now, now + grid.Hour, false},
		"of a path":        {"../r", now, now + grid.Hour, false},
	} {
		if err := checkReservation(pbs.Reservation{ID: c.id, Start: c.start, End: c.end}); (err == nil) != c.may {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is said stays, and what is not said has a default.
func TestDefaultsOfAConfig(t *testing.T) {
	t.Parallel()
	ports := grid.Ports{First: 30000, Last: 30100}
	said, err := Config{Grace: time.Minute, Path: "/p", MaxQueue: 7, Ports: ports, Supervisor: []string{"/s"}}.withDefaults()
	if err != nil || said.Grace != time.Minute || said.Path != "/p" || said.MaxQueue != 7 || said.Ports != ports || said.Supervisor[0] != "/s" || said.Changed == nil || said.Logger == nil {
		t.Errorf("%+v, %v", said, err)
	}
	none, err := Config{}.withDefaults()
	if err != nil || none.Grace != 5*time.Second || none.Path == "" || none.MaxQueue != 20_000 || none.Ports != grid.DefaultPorts || len(none.Supervisor) != 2 || none.Changed == nil {
		t.Errorf("%+v, %v", none, err)
	}
}
