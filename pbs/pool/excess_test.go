package pool_test

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// What takes more of a computer than it has there is ended, all of it, and the reason is told; the part of a job is that of its cores, what it
// asks for, or the whole.
func TestWhatTakesMoreThanItHasIsEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 4, Memory: 256 << 20})
	const hoards = `{ head -c 100000000 /dev/zero; sleep 1; } | tail | wc -c > n; echo done > out` // tail keeps a line until it ends
	for name, c := range map[string]struct {
		script string
		change func(*grid.Submission)
		why    string
	}{
		"memory":       {strings.Replace(hoards, "sleep 1;", "sleep 60;", 1), nil, " bytes of memory, and has 67108864 on its computer"},
		"again":        {strings.Replace(hoards, "sleep 1;", "sleep 60;", 1), func(j *grid.Submission) { j.Job.Rerunnable = true }, " bytes of memory, and has 67108864 on its computer"},
		"asked memory": {hoards, func(j *grid.Submission) { j.Job.Demand.Chunks[0].Memory = 175 << 20 }, ""},
		"more cores":   {hoards, func(j *grid.Submission) { j.Job.Demand.Chunks[0].Cores = 3 }, ""},
		"alone":        {hoards, func(j *grid.Submission) { j.Job.Demand.Exclusive = true }, ""},
		"disk":         {"truncate -s 2T big; sleep 60", nil, "it took 2199023255552 bytes of disk, and the owner of its computer gives 1099511627776"},
	} {
		j := s.submit(c.script, c.change)
		p := s.end(j)
		if ended := c.why != ""; ended != (p.Cause != grid.ByItself) || !strings.Contains(p.Detail, c.why) || ended == there(j.Work+"/out") {
			t.Errorf("%s: it ended %v, %q; its output is there: %v", name, p.Cause, p.Detail, there(j.Work+"/out"))
		}
	}
}
