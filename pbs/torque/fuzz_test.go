package torque

import (
	"errors"
	"regexp"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// fuzz gives the parser what recordings of such commands hold, and what comes of changing it: no panic, and
// whatever is not understood is "nothing is known".
func fuzz(f *testing.F, name, commands string) {
	pattern := regexp.MustCompile(commands)
	n := 0
	for _, r := range all(f, "testdata") {
		if pattern.MatchString(r.command) {
			f.Add(r.stdout)
			n++
		}
	}
	if n == 0 {
		f.Errorf("no recording of %s", commands)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := parsers[name](text); err != nil && !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("%q is %v", text, err)
		}
	})
}

func FuzzNodes(f *testing.F)    { fuzz(f, "pbsnodes -x", `^pbsnodes -x`) }
func FuzzServer(f *testing.F)   { fuzz(f, "qstat -B", `^qstat -B`) }
func FuzzQueues(f *testing.F)   { fuzz(f, "qstat -Q", `^qstat -Q`) }
func FuzzOrder(f *testing.F)    { fuzz(f, "showq", `^showq`) }
func FuzzSizes(f *testing.F)    { fuzz(f, "showres", `^showres$`) }
func FuzzHeld(f *testing.F)     { fuzz(f, "showres -n", `^showres -n`) }
func FuzzConfig(f *testing.F)   { fuzz(f, "showconfig", `^showconfig`) }
func FuzzAccess(f *testing.F)   { fuzz(f, "mdiag -r", `^mdiag -r`) }
func FuzzMade(f *testing.F)     { fuzz(f, "setres", `^setres`) }
func FuzzReleased(f *testing.F) { fuzz(f, "releaseres a.0", `^releaseres`) }

// FuzzJobs also demands that jobs are what the rest of the program counts on.
func FuzzJobs(f *testing.F) {
	for _, r := range all(f, "testdata") {
		if regexp.MustCompile(`^qstat -x`).MatchString(r.command) {
			f.Add(r.stdout)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseJobs("", text)
		if err != nil {
			if !errors.Is(err, grid.ErrUnavailable) {
				t.Errorf("%q is %v", text, err)
			}
			return
		}
		for _, j := range list.jobs {
			if checkID(string(j.Local)) != nil || j.User == "" && j.State != external.Odd || j.Limit < 0 || (j.State == external.Done) != (j.End != nil) || j.NeverStarted && j.State == external.Running {
				t.Errorf("%q is %+v", text, j)
			}
			for _, p := range j.Places {
				if p.Cores < 1 || p.Memory < 0 || p.Memory > grid.MaxMemory {
					t.Errorf("%q is %+v", text, p)
				}
			}
			for _, c := range j.Demand.Chunks {
				if c.Count < 1 || c.Count > grid.MaxProcesses || c.Processes < 1 || c.Memory < 0 || c.Memory > grid.MaxMemory {
					t.Errorf("%q asks for %+v", text, c)
				}
			}
		}
	})
}
