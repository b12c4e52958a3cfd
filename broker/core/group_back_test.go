package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home was put back to before the files of a group had come, and another has one of its jobs: nobody brings that job's files again. It comes home
// with them, as it waits, until those of the other job are here again; then both go on. Where they do not come, both end.
func TestAJobThatAGroupDoesNotWaitFor(t *testing.T) {
	t.Parallel()
	id := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	known := [2]grid.Job{jobOf(me, "a", "1"), jobOf(me, "a", "2")}
	files := grid.Manifest{{Path: "in", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	for name, k := range map[string]struct {
		home, comes bool
		want        grid.State
	}{
		"it stays there, and the others come": {false, true, grid.Ready},
		"it is home, and the others come":     {true, true, grid.Ready},
		"it is home, and they do not":         {true, false, grid.Failed},
	} {
		cfg := signer(me, "a")
		cfg.Groups = []grid.Group{{ID: id, User: known[0].User, Jobs: 2, Entered: 2, Coming: []int{1, 2}, Submitted: 5}}
		var records []grid.Record
		for n := range known {
			known[n].ID, known[n].Inputs = id.Job(n+1), grid.Manifest{{Path: "in", Size: 3, Mode: 0o644}}
			records = append(records, grid.Record{Job: known[n], State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, records)
		begin(c)
		c.Step(1_000_000, PeerChanged{her, grid.Alive})
		c.Step(1_000_000, Message{her, wire.Seen{}})

		whole := known[0]
		whole.Inputs = files
		proof := []grid.Certificate{certificate(whole, me, 1, her)}
		report := wire.Report{Job: whole.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 4, State: grid.Assigned, Attempt: 1, Local: "l", Certificates: proof}
		c.Step(1_000_001, Message{her, report})
		c.Step(1_000_002, Message{her, wire.Recalled{Job: whole, Epoch: report.Epoch, Owning: true, Certificates: proof}})
		c.Step(1_000_003, Message{her, wire.Recounted{}})
		c.Step(1_000_004, Message{her, report})
		if r := c.jobs[whole.ID].rec; r.Role != grid.Watching || r.State != grid.Assigned {
			t.Fatalf("%s: it is %v at %v", name, r.State, r.Role)
		}
		if k.home {
			back := offerOf(whole, 2, 0)
			back.Certificates = proof
			c.Step(1_000_005, Message{her, back})
			c.Step(1_000_005, Fetched{Job: whole.ID, Epoch: back.Handoff.Epoch, Set: InputFiles})
			c.Step(1_000_006, Message{her, wire.Commit{Handoff: back.Handoff}})
			if r := c.jobs[whole.ID].rec; r.Role != grid.Owning || r.State != grid.Ready {
				t.Fatalf("%s: it is not home: %v at %v", name, r.State, r.Role)
			}
			c.jobs[whole.ID].rec.Reason = "another text: nothing depends on it"
		}
		if k.comes {
			c.Step(1_000_007, Uploaded{Token: 1, Job: known[1].ID, Inputs: files})
		} else {
			for now := grid.Tick(1_000_007); now < 1_000_007+3*c.cfg.UploadLimit; now += grid.Minute {
				c.Step(now, Tick{})
			}
		}
		for n := range known {
			r := c.jobs[known[n].ID].rec
			if n == 0 && !k.home {
				if c.terms.wantsBack(c.jobs[whole.ID]) {
					t.Errorf("%s: it is called back though all is here", name)
				}
			} else if r.State != k.want || (r.State == grid.Ready) != (r.Reason == "") {
				t.Errorf("%s: job %d is %v: %s", name, n+1, r.State, r.Reason)
			}
		}
	}
}
