package plan

import (
	"fmt"
	"slices"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// drawSnapshot draws a small site. What runs fits on it; what is reserved may not.
func drawSnapshot(t *rapid.T, chunks int) Snapshot {
	s := Snapshot{At: grid.Tick(rapid.IntRange(0, 50).Draw(t, "at")), Policy: Policy{Kind: EASY}}
	s.Site.Architecture = "x86_64"
	withMemory, special := rapid.Bool().Draw(t, "memory"), rapid.Bool().Draw(t, "special")
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		n := Node{Name: grid.NodeName(fmt.Sprint("n", i)), Cores: rapid.IntRange(1, 6).Draw(t, "cores"), Down: rapid.IntRange(0, 5).Draw(t, "down") == 0}
		if withMemory {
			n.Memory = int64(rapid.IntRange(0, 12).Draw(t, "memory"))
		}
		if special && rapid.Bool().Draw(t, "is special") {
			n.Resources = []grid.Resource{{Name: "gpu", Amount: int64(rapid.IntRange(1, 3).Draw(t, "gpus"))}}
			n.Properties = []string{"fast"}
			n.Architecture = rapid.SampledFrom([]string{"", "arm"}).Draw(t, "architecture")
		}
		s.Nodes = append(s.Nodes, n)
	}
	if special {
		s.Queues = []Queue{{Name: "all"}, {Name: "short", Nodes: []int{0, len(s.Nodes) - 1, 99}, Limit: 40}}
	}
	for range rapid.IntRange(0, 5).Draw(t, "running") {
		d := drawDemand(t, chunks, special)
		if shares, ok := placeBeside(s, d); ok {
			start := rapid.IntRange(int(s.At)-20, int(s.At)).Draw(t, "start")
			end := rapid.IntRange(start, 150).Draw(t, "end")
			s.Running = append(s.Running, Running{
				Shares: shares, Start: grid.Tick(start), End: grid.Tick(end), Trait: Trait{Limit: grid.Tick(end - start)},
			})
		}
	}
	queue := rapid.SampledFrom([]int{12, 12, 12, shortQueue + 8}).Draw(t, "queue")
	for i := range rapid.IntRange(0, queue).Draw(t, "waiting") {
		w := Waiting{
			Job: grid.JobID(fmt.Sprint("w", i)), Demand: drawDemand(t, chunks, special),
			Limit: grid.Tick(rapid.IntRange(0, 30).Draw(t, "limit")), Priority: int64(rapid.IntRange(0, 2).Draw(t, "priority")),
			Ineligible: rapid.IntRange(0, 9).Draw(t, "held") == 0, Overtaken: rapid.IntRange(0, 1).Draw(t, "overtaken"),
		}
		w.Trait.Limit = w.Limit
		if special {
			w.Queue = rapid.SampledFrom([]grid.QueueName{"", "", "all", "short", "none"}).Draw(t, "queue")
		}
		s.Waiting = append(s.Waiting, w)
	}
	for range rapid.IntRange(-3, 2).Draw(t, "reservations") {
		s.Reservations = append(s.Reservations, drawReservation(t, s))
	}
	return s
}

func drawReservation(t *rapid.T, s Snapshot) Reservation {
	r := Reservation{Start: grid.Tick(rapid.IntRange(0, 120).Draw(t, "reserved from"))}
	r.End = r.Start + grid.Tick(rapid.IntRange(0, 60).Draw(t, "reserved for"))
	for n := range s.Nodes {
		if rapid.Bool().Draw(t, "reserved") {
			r.Shares = append(r.Shares, Share{Node: n, Cores: rapid.IntRange(1, s.Nodes[n].Cores).Draw(t, "reserved cores"), Memory: s.Nodes[n].Memory / 2})
		}
	}
	if len(s.Waiting) > 0 && rapid.Bool().Draw(t, "for a job") {
		r.Job = s.Waiting[rapid.IntRange(0, len(s.Waiting)-1).Draw(t, "whose")].Job
	}
	return r
}

// placeBeside finds a place beside what runs at once.
func placeBeside(s Snapshot, d grid.Demand) ([]Share, bool) {
	s.Waiting = []Waiting{{Demand: d, Limit: 1}}
	s.Running = slices.Clone(s.Running)
	for i := range s.Running {
		s.Running[i].End = s.At + 1000
	}
	at := Pass(s)
	if len(at) == 0 {
		return nil, false
	}
	return at[0].Shares, true
}

func drawDemand(t *rapid.T, chunks int, special bool) grid.Demand {
	var d grid.Demand
	for range rapid.IntRange(1, chunks).Draw(t, "chunks") {
		c := grid.Chunk{
			Count:     rapid.IntRange(1, 5).Draw(t, "count"),
			Processes: rapid.IntRange(0, 2).Draw(t, "processes"),
			Cores:     rapid.IntRange(0, 4).Draw(t, "piece cores"),
			Memory:    int64(rapid.IntRange(0, 5).Draw(t, "piece memory")),
		}
		if special && rapid.IntRange(0, 3).Draw(t, "asks gpu") == 0 {
			c.Resources = []grid.Resource{{Name: "gpu", Amount: 1}}
		}
		d.Chunks = append(d.Chunks, c)
	}
	if special {
		d.Exclusive = rapid.IntRange(0, 4).Draw(t, "exclusive") == 0
		d.Architecture = rapid.SampledFrom([]string{"", "", "", "x86_64", "arm"}).Draw(t, "asks architecture")
		if rapid.IntRange(0, 5).Draw(t, "asks fast") == 0 {
			d.Properties = []string{"fast"}
		}
	}
	return d
}

func policyOf(t interface{ Fatal(...any) }, text string) Policy {
	p, err := ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drawQuestion(t *rapid.T, s Snapshot) Question {
	q := Question{
		Demand: drawDemand(t, 1, len(s.Queues) > 0), Limit: grid.Tick(rapid.IntRange(0, 60).Draw(t, "limit")),
		NotBefore: grid.Tick(rapid.IntRange(0, 150).Draw(t, "not before")),
	}
	if len(s.Queues) > 0 {
		q.Queue = rapid.SampledFrom([]grid.QueueName{"", "", "all", "short", "none"}).Draw(t, "queue")
	}
	return q
}

func drawOrder(t *rapid.T) Order {
	return Order(rapid.IntRange(int(ByArrival), int(ByPriority)).Draw(t, "order"))
}

func drawPolicy(t *rapid.T, kind Kind) Policy {
	p := Policy{Kind: kind, Order: drawOrder(t)}
	switch kind {
	case FirstFit:
		p.Overtakes = rapid.IntRange(0, 3).Draw(t, "overtakes")
	case EASY:
		p.Reservations = rapid.IntRange(1, 3).Draw(t, "reservations")
	}
	return p
}

// drawBelief believes in a part of each limit.
func drawBelief(t *rapid.T) belief {
	tenths := grid.Tick(rapid.IntRange(0, 11).Draw(t, "tenths"))
	return func(t Trait, elapsed grid.Tick) grid.Tick { return max(t.Limit*tenths/10, elapsed+1) }
}
