package pool

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// at is a time of one day.
func at(t *testing.T, clock string) grid.Tick {
	t.Helper()
	when, err := time.Parse(time.RFC3339, "2026-03-02T"+clock+":00Z")
	if err != nil {
		t.Fatal(err)
	}
	return grid.InstantOf(when)
}

func TestRefusalTellsTheEarliestEnd(t *testing.T) {
	t.Parallel()
	now := at(t, "17:00")
	computers := []Computer{
		{Cores: 4, Memory: 8 << 30, Speed: 1, System: "linux", Forecast: Constant(0.5)},
		{Cores: 2, Memory: 4 << 30, Speed: 1, System: "linux", Forecast: Constant(1), Free: at(t, "18:00")},
	}
	hour := 3600.0
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{Work: 1.65 * hour, Deadline: at(t, "18:00")}, "no computer of this pool can make 18:00; the earliest end is 19:39"},
		{Job{Work: 1.65*hour + 1, Deadline: at(t, "18:00")}, "no computer of this pool can make 18:00; the earliest end is 19:40"},
		{Job{Work: 100 * hour, Deadline: at(t, "18:00")}, "no computer of this pool can make 18:00; the earliest end is 2026-03-06 22:00"},
		{Job{Work: 1.65 * hour, Deadline: at(t, "19:39")}, ""},
		{Job{Work: 100 * hour}, ""},
		{Job{Work: hour, Cores: 8, Deadline: now}, "no computer of this pool has 8 cores"},
		{Job{Work: hour, Memory: 16 << 30}, "no computer of this pool has 16 GiB of memory"},
		{Job{Work: hour, Cores: 4, Memory: 16 << 30}, "no computer of this pool has 16 GiB of memory"},
		{Job{Work: hour, System: "windows"}, "no computer of this pool runs the system windows"},
		{Job{Work: hour, LeastSpeed: 2}, "no computer of this pool has the speed 2"},
	} {
		p, err := EDF.Admit(now, computers, nil, &c.job)
		if c.want == "" {
			if err != nil || p.End <= p.Start || c.job.Deadline != 0 && p.End > c.job.Deadline {
				t.Errorf("%+v: %+v, %v", c.job, p, err)
			}
			continue
		}
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Error() != c.want {
			t.Errorf("%+v: %v, not %s", c.job, err, c.want)
		}
	}
}

// What waits keeps its place: the new job gets what that leaves.
func TestAdmissionMindsThoseWhoWait(t *testing.T) {
	t.Parallel()
	now := at(t, "10:00")
	computers := []Computer{{Forecast: Constant(1)}, {Forecast: Constant(0.5)}}
	waiting := []Job{{Work: 3600, Deadline: at(t, "11:00")}}
	j := Job{Work: 1800, Deadline: at(t, "11:00")}
	if p, err := EDF.Admit(now, computers, waiting, &j); err != nil || p.Computer != 1 || p.End != at(t, "11:00") {
		t.Errorf("%+v, %v", p, err)
	}
	j.Work = 1801
	if p, err := EDF.Admit(now, computers, waiting, &j); err == nil || err.Error() != "no computer of this pool can make 11:00; the earliest end is 11:01" {
		t.Errorf("%+v, %v", p, err)
	}
	safe := EDF
	safe.Margin = 0.1
	waiting[0].Deadline = at(t, "11:06")
	j.Work = 1800
	if p, err := safe.Admit(now, computers, waiting, &j); err == nil || err.Error() != "no computer of this pool can make 11:00; the earliest end is 11:06" {
		t.Errorf("with a margin: %+v, %v", p, err)
	}
}

// The earliest end that a refusal tells is the first deadline with which the job is taken at that moment, and what is taken ends in time.
func TestRefusedUntilTheEarliestEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 100
		computers, waiting, j := drawComputers(t), drawJobs.Draw(t, "waiting"), drawJob(t)
		r := named[rapid.IntRange(0, len(named)-1).Draw(t, "rule")].rule
		r.Margin = rapid.SampledFrom([]float64{0, 0.25}).Draw(t, "margin")
		j.Deadline = now
		_, err := r.Admit(now, computers, waiting, &j)
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			t.Fatalf("a job that would have to be done is admitted: %v", err)
		}
		if refusal.Earliest == Never {
			return
		}
		j.Deadline = refusal.Earliest
		p, err := r.Admit(now, computers, waiting, &j)
		if err != nil || p.End > j.Deadline || p.Start < max(now, computers[p.Computer].Free) || computers[p.Computer].Lacks(&j) != "" {
			t.Fatalf("refused until %d: %v, %+v", j.Deadline, err, p)
		}
		j.Deadline--
		if _, err := r.Admit(now, computers, waiting, &j); err == nil {
			t.Fatalf("%d was said to be the earliest, and %d is taken", refusal.Earliest, j.Deadline)
		}
	})
}
