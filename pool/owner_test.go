package pool

import (
	"math"
	"testing"

	"gbroker/grid"
)

// What each word of an owner's policy does to the same week of facts.
func TestOwnersPolicy(t *testing.T) {
	t.Parallel()
	now := 60 * Week // a Thursday, 0 o'clock
	var facts []Fact
	for at := now - Week; at < now; at += grid.Hour { // the owner is there for a quarter of each hour, then on battery for a quarter, then away
		q := grid.Hour / 4
		facts = append(facts, Fact{From: at, To: at + q, Active: true, Idle: 1}, Fact{From: at + q, To: at + 2*q, Battery: true, Idle: 1}, Fact{From: at + 2*q, To: at + 4*q, Idle: 0.8})
	}
	h := History{Facts: facts, Since: now - Week, Window: Week, Speed: 2}
	var night [7]uint32
	for day := range night {
		night[day] = 1<<22 | 1<<23
	}
	for _, c := range []struct {
		name string
		p    Policy
		noon float64
		late float64 // at 23 o'clock
	}{
		{"what is idle, not on battery", Policy{}, 2 * 0.4, 2 * 0.4},
		{"on battery too", Policy{OnBattery: true}, 2 * 0.65, 2 * 0.65},
		{"some quiet", Policy{Quiet: 30 * grid.Minute}, 2 * 0.2, 2 * 0.2},
		{"more quiet than there is between the owner's visits", Policy{Quiet: grid.Hour}, 0, 0},
		{"half of the processors", Policy{Share: 0.5}, 2 * 0.25, 2 * 0.25},
		{"at night alone", Policy{Hours: &night}, 0, 2 * 0.4},
	} {
		f := h.Forecast(now, &c.p)
		if noon, late := f.At(now+12*grid.Hour), f.At(now+23*grid.Hour); math.Abs(noon-c.noon) > 1e-9 || math.Abs(late-c.late) > 1e-9 {
			t.Errorf("%s: H %v at noon and %v late, not %v and %v", c.name, noon, late, c.noon, c.late)
		}
	}
}

// Jobs that must begin soon go first, the shortest of them before the others; a higher priority goes before even these.
func TestEndangeredGoFirst(t *testing.T) {
	t.Parallel()
	s := grid.Second
	jobs := []Job{
		{Name: "early, short", Work: 10, Deadline: 1 + 100*s},
		{Name: "endangered, long", Work: 200, Deadline: 1 + 210*s},
		{Name: "endangered, short", Work: 150, Deadline: 1 + 160*s},
		{Name: "hopeless", Work: 1000, Deadline: 1 + 50*s},
		{Name: "first of all", Work: 10, Deadline: 1 + 900*s, Priority: 1},
	}
	computers := []Computer{{Forecast: Constant(1)}}
	for endangered, want := range map[float64][]int{0: {4, 3, 0, 2, 1}, 0.1: {4, 2, 1, 3, 0}} {
		r := EDF
		r.Endangered = endangered
		for i, j := range r.order(1, computers, jobs) {
			if j != want[i] {
				t.Errorf("endangered %v: place %d has %s", endangered, i, jobs[j].Name)
			}
		}
	}
}

// The rules of best fit keep the dedicated computers for those that no other ends in time.
func TestDedicatedComputersAreForTheEndangered(t *testing.T) {
	t.Parallel()
	s := grid.Second
	computers := []Computer{{Forecast: Constant(0.6), Dedicated: true}, {Forecast: Constant(0.7)}}
	for _, r := range []Rule{EDF, Slack, Best} {
		easy, hard := Job{Work: 10, Deadline: 100 * s}, Job{Work: 65, Deadline: 100 * s}
		if got := r.Assign(1, computers, []Job{easy}, nil); len(got) != 1 || got[0].Computer != 1 {
			t.Errorf("%+v", got)
		}
		computers[0].Forecast = Constant(0.9)
		if got := r.Assign(1, computers, []Job{hard, easy}, nil); len(got) != 2 || got[0].Computer != 1 {
			t.Errorf("%+v", got)
		}
		hard.Work = 85
		if got := r.Assign(1, computers, []Job{hard}, nil); len(got) != 1 || got[0].Computer != 0 {
			t.Errorf("%+v", got)
		}
		computers[0].Forecast = Constant(0.6)
	}
}

func TestWhatAComputerLacks(t *testing.T) {
	t.Parallel()
	c := Computer{Architecture: "x86_64", System: "linux", Cores: 4, Memory: 8, Disk: 80, Speed: 1, Users: []string{"ann"}}
	fits := Job{User: "ann", Architecture: "x86_64", System: "linux", Cores: 4, Memory: 8, Disk: 80, LeastSpeed: 1}
	if got := c.Lacks(&fits); got != "" {
		t.Errorf("it lacks %s", got)
	}
	for want, change := range map[Cause]func(*Job){
		NoArchitecture: func(j *Job) { j.Architecture = "arm64" }, NoSystem: func(j *Job) { j.System = "windows" }, NoUser: func(j *Job) { j.User = "bob" },
		NoCores: func(j *Job) { j.Cores++ }, NoMemory: func(j *Job) { j.Memory++ }, NoDisk: func(j *Job) { j.Disk++ }, NoSpeed: func(j *Job) { j.LeastSpeed = 1.1 },
	} {
		j := fits
		change(&j)
		if got := c.Lacks(&j); got != want {
			t.Errorf("it lacks %q, not %q", got, want)
		}
		if _, err := FCFS.Admit(1, []Computer{c}, nil, &j); err == nil {
			t.Errorf("admitted without %s", want)
		}
	}
	c.Users = nil
	if fits.User = "bob"; c.Lacks(&fits) != "" {
		t.Error("who admits everybody admits not everybody")
	}
}
