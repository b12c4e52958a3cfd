package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// BenchmarkReevaluate is a minute in the life of a site with 10,000 waiting jobs on
// 1,024 cores and eight neighbours, whose answers never make a job move: every look
// shows another batch system, so that passes follow each other as fast as they may;
// all messages are encoded and decoded. "cores" is the processor time that takes as a
// part of one core, at Delta 60 s; "questions/op" are asked in it: 80,000 are one for each job
// and neighbour.
func BenchmarkReevaluate(b *testing.B) {
	c, queue := busySite(10_000, 8)
	now := grid.Tick(1_000_000)
	began := processorTime(b)
	for b.Loop() {
		for end := now + grid.Minute; now < end; {
			at, ok := c.Next()
			if !ok || at > end {
				at = end
			}
			now = max(now+1, at)
			c.drive(b, now, queue, c.Step(now, Tick{}))
		}
	}
	b.ReportMetric((processorTime(b)-began).Seconds()/float64(b.N)/60, "cores")
	b.ReportMetric(float64(c.asked)/float64(b.N), "questions/op")
}

// processorTime is what this process has used so far: other load does not count.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// busy is a Core with a batch system and neighbours around it.
type busy struct {
	*Core
	asked int
	saves int
}

// busySite has n waiting jobs and k neighbours.
func busySite(n, k int) (*busy, *plan.Snapshot) {
	var members []grid.Member
	for i := range k {
		members = append(members, grid.Member{Name: grid.SiteName(fmt.Sprintf("n%d", i)), Peer: grid.PeerID(fmt.Sprintf("peer-%d", i)), Send: true})
	}
	site := grid.Site{Name: "a", Processes: 1024, Speed: 1}
	shot := &plan.Snapshot{Site: site}
	for i := range 64 {
		shot.Nodes = append(shot.Nodes, plan.Node{Name: grid.NodeName(fmt.Sprint("node", i)), Cores: 16})
		shot.Running = append(shot.Running, plan.Running{Job: grid.JobID(fmt.Sprintf("a.%026d", 1_000_000+i)), Start: 1,
			End: 1_000_000 + grid.Tick(i+1)*grid.Minute, Shares: []plan.Share{{Node: i, Processes: 16, Cores: 16}}})
	}
	var records []grid.Record
	for i := range n {
		id := grid.JobID(fmt.Sprintf("a.%026d", i))
		demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1 + i%32, Processes: 1, Cores: 1 + i%4}}}
		limit := grid.Tick(10+i%50) * grid.Minute
		records = append(records, grid.Record{
			Job:       grid.Job{ID: id, Home: me, User: grid.User{Home: me, Name: "alice"}, Demand: demand, Walltime: limit},
			State:     grid.Assigned,
			Submitted: 1,
			Tenure:    grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
			Run:       grid.Run{Attempt: 1, Local: "l"},
		})
		shot.Waiting = append(shot.Waiting, plan.Waiting{Job: id, Demand: demand, Limit: limit})
	}
	c := &busy{Core: New(Config{Self: me, Site: site}, members, records)}
	begin(c.Core)
	for _, m := range members {
		c.Step(1_000_000, PeerChanged{m.Peer, grid.Alive})
		c.Step(1_000_000, Message{m.Peer, wire.Seen{}})
	}
	return c, shot
}

// drive does what a Core wants, and what that leads to.
func (c *busy) drive(t testing.TB, now grid.Tick, queue *plan.Snapshot, effects []Effect) {
	for len(effects) > 0 {
		e := effects[0]
		effects = effects[1:]
		switch e := e.(type) {
		case Save:
			c.saves++
		case Look:
			s := *queue
			s.At = now
			s.Running = slices.Clone(s.Running)
			s.Running[0].Job = grid.JobID(fmt.Sprintf("b.%026d", now)) // something is always new
			effects = append(effects, c.Step(now, Looked{Snapshot: s})...)
		case Probe:
			c.Step(now, Progressed{Progress: grid.Progress{ID: e.ID, Phase: grid.Waiting, Local: "l"}})
		case Send:
			frame, err := wire.Encode(e.Message)
			if err != nil {
				t.Fatal(err)
			}
			ask, ok := e.Message.(wire.EstimateRequest)
			if !ok {
				continue
			}
			_ = frame
			effects = append(effects, c.Step(now, Message{e.To, c.tellWorse(t, ask)})...)
		}
	}
}

// tellWorse is a neighbour whose wait is longer than that here, by way of the wire.
func (c *busy) tellWorse(t testing.TB, ask wire.EstimateRequest) wire.Message {
	tell := wire.EstimateReply{Round: ask.Round, Site: grid.Site{Name: "n", Speed: 1, Processes: 8}, Take: 8}
	c.asked += len(ask.Questions)
	for _, q := range ask.Questions {
		tell.Answers = append(tell.Answers, wire.Answer{Job: q.Job, Estimate: grid.Estimate{Wait: 300 * grid.Day}})
	}
	frame, err := wire.Encode(tell)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
