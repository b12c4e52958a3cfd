package daemon

import (
	"testing"

	"gbroker/grid"
)

// Times of day are HH:MM, from 00:00 to 23:59; instants are as RFC 3339 has them, to the second.
func TestTimesAreRead(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]grid.Tick{"00:00": 0, "22:00": 22 * grid.Hour, "23:59": 23*grid.Hour + 59*grid.Minute, "7:05": 7*grid.Hour + 5*grid.Minute} {
		if got, err := timeOfDay(s); got != want || err != nil {
			t.Errorf("%s is %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"24:00", "22:60", "22:5", "22", "2200", "-1:00", "22:-1", "a:00", "22:0a", ""} {
		if got, err := timeOfDay(s); err == nil {
			t.Errorf("%q is taken for %v", s, got)
		}
	}
	if got, err := readInstant("2027-01-31T18:00:00.9Z"); err != nil || got != 1801418400000 {
		t.Errorf("an instant is %d, %v", got, err)
	}
	for _, s := range []string{"2027-01-31", "18:00", "tomorrow", ""} {
		if got, err := readInstant(s); err == nil {
			t.Errorf("%q is taken for %d", s, got)
		}
	}
}

// The overview counts the jobs that this broker is the home or the owner of, and that were not removed.
func TestWhichJobsAreCounted(t *testing.T) {
	t.Parallel()
	for role, want := range map[grid.Role]string{grid.Owning: "RUNNING", grid.Watching: "RUNNING", grid.Prepared: "", grid.Tombstone: "", grid.Declined: ""} {
		r := grid.Record{State: grid.Running, Tenure: grid.Tenure{Role: role}}
		if got := present(&r); got != want {
			t.Errorf("%s: %q", role, got)
		}
		if r.Removed = true; present(&r) != "" {
			t.Errorf("%s: a job that was removed is counted", role)
		}
	}
}
