package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home was put back to a time before the files of a job had come, which another has since: the
// certificates are over the whole job, of which the home knows a part. It asks for it, and believes it.
func TestAHomeThatForgotTheFilesOfAJob(t *testing.T) {
	t.Parallel()
	known := jobOf(me, "a", "1")
	known.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644}}
	whole := known
	whole.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	at := grid.Epoch{Term: 1, Hop: 1}
	report := wire.Report{Job: whole.ID, Epoch: at, Number: 4, State: grid.Running, Attempt: 1, Certificates: []grid.Certificate{certificate(whole, me, 1, her)}}
	forged := whole
	forged.Program.Executable = "/bin/false"
	for name, k := range map[string]struct {
		record   grid.Record
		told     wire.Recalled
		believed bool
	}{
		"its own word":       {grid.Record{State: grid.StageIn}, wire.Recalled{Job: whole, Epoch: at, Owning: true, Certificates: report.Certificates}, true},
		"another job":        {grid.Record{State: grid.StageIn}, wire.Recalled{Job: forged, Epoch: at, Owning: true, Certificates: report.Certificates}, false},
		"not the owner":      {grid.Record{State: grid.StageIn}, wire.Recalled{Job: whole, Epoch: at, Certificates: report.Certificates}, false},
		"signed by another":  {grid.Record{State: grid.StageIn}, wire.Recalled{Job: whole, Epoch: at, Owning: true, Certificates: []grid.Certificate{certificate(whole, her, 1, her)}}, false},
		"the files are here": {grid.Record{State: grid.Ready}, wire.Recalled{Job: whole, Epoch: at, Owning: true, Certificates: report.Certificates}, false},
	} {
		k.record.Job, k.record.Role, k.record.Owner, k.record.Epoch = known, grid.Owning, me, grid.Epoch{Term: 1}
		c := signed(k.record)
		asks := false
		for _, m := range sentTo(c.Step(1_000_001, Message{her, report}), her) {
			asks = asks || m.Kind() == wire.KindRecall
		}
		if asks != (k.record.State == grid.StageIn) {
			t.Errorf("%s: it asks for the job: %t", name, asks)
		}
		c.Step(1_000_002, Message{her, k.told})
		c.Step(1_000_003, Message{her, report})
		r := c.jobs[known.ID].rec
		if believed := r.Role == grid.Watching && r.Owner == her && r.State == grid.Running && len(r.Job.Inputs[0].Ranges) == 1; believed != k.believed {
			t.Errorf("%s: %s, owned by %s, %s", name, r.Role, r.Owner, r.State)
		}
	}
}

// A runner whose home refuses its report, certificates and all, does not say it again each second.
func TestARefusedReportIsSeldom(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed(grid.Record{
		Job:    j,
		State:  grid.Running,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 2, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{Attempt: 1},
	})
	said := 0
	now := grid.Tick(1_000_001)
	for end := now + 10*grid.Minute; now < end; now += 500 {
		for _, m := range sentTo(c.Step(now, Tick{}), her) {
			if m.Kind() == wire.KindReport {
				said++
				c.Step(now, Message{her, wire.Error{Of: wire.KindReport, Job: j.ID, Why: "its home owns it"}})
			}
		}
	}
	if most := int(10*grid.Minute/c.cfg.Digest) + 3; said > most || said < 3 {
		t.Errorf("said %d times in 10 minutes, at most %d", said, most)
	}
}
