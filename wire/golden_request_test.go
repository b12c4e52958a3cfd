package wire

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"
)

const aGroup = grid.GroupID("xeon16.01ARZ3NDEKTSV4RRFFQ69G5FAV.all")

func growRequest(later map[string]Message, m Request) {
	held, priority, walltime, processes, queue := false, -7, grid.Hour, 12, grid.QueueName("")
	m.Wish = WishAlter
	m.Alter = &Alteration{
		Held: &held, NotBefore: In{grid.Minute, true}, Deadline: In{grid.Day, true}, Priority: &priority, Walltime: &walltime,
		Processes: &processes, Queue: &queue,
	}
	later["request-alter"] = m
	m.Wish, m.Alter, m.Key = WishResubmit, nil, "again"
	later["request-resubmit"] = m
	m.Wish, m.Key, m.Job, m.Group, m.After, m.Limit = WishStatus, "", "", aGroup, 1000, 500
	later["request-group"] = m
	m.Wish, m.After, m.Limit = WishCancel, 0, 0
	later["request-group-cancel"] = m
	m.Echo = 1_800_000_000_000
	later["request-echo"] = m
}

func growResponse(later map[string]Message, m Response) {
	m.New, m.Certain = aJob+".1", true
	m.Events = []Event{{At: Ago{5, true}, State: grid.Running, Site: "xeon16", Epoch: grid.Epoch{Term: 1, Hop: 3}, Why: "it began"}, {Why: "removed"}}
	m.Decisions = []Decision{{
		At: Ago{7, true}, Epoch: grid.Epoch{Term: 1}, Chosen: "xeon32", Unmoved: true, Stays: "it is the best", Candidates: []grid.Candidate{
			{Site: "xeon32", Peer: other, Size: 1 << 40, Bandwidth: 1e6, Measured: true, Delivery: 1, Wait: 2, Safe: 3, Run: 4, Total: 5, Unpreferred: 6, Chosen: true},
			{Site: "xeon16", Refusal: &grid.Refusal{Kind: grid.Temporary, Reason: "nodes are down", Again: 7}},
		},
	}}
	later["response-unmoved"] = m // response-found is of older brokers
	priced := m
	priced.Decisions = []Decision{{Candidates: []grid.Candidate{{Site: "xeon32", Price: 2.5}, {Site: "xeon16"}}}}
	later["response-priced"] = priced
	crowded := m
	crowded.Decisions = []Decision{{Candidates: []grid.Candidate{{Site: "xeon32", Run: 150, Total: 160, Crowded: 10}, {Site: "xeon16"}}}}
	later["response-crowded"] = crowded
	doubted := m
	doubted.Decisions = []Decision{{Candidates: []grid.Candidate{{Site: "desks", Doubt: "0 of its 3 computers take jobs now"}, {Site: "xeon16"}}}}
	later["response-doubted"] = doubted
	told := m
	told.Decisions = []Decision{{Candidates: []grid.Candidate{{Site: "xeon32", Told: true, Chosen: true}, {Site: "xeon16"}}}}
	later["response-told"] = told
	told.Decisions = []Decision{{Candidates: []grid.Candidate{{Site: "xeon32", Told: true, Wait: 5_000, Least: 4_000}, {Site: "xeon16"}}}}
	later["response-told-least"] = told
	later["response-echo"] = Response{Number: 12, Job: aJob, Outcome: OutcomeWorking, Echo: 1_800_000_000_000}
	later["response-refused"] = Response{Number: 12, Job: aJob, Outcome: OutcomeInvalid, Why: "it has ended"}
	member := *m.Status
	member.Outputs = nil
	outline := Status{User: m.Status.User, Home: aPeer, State: grid.Submitted, Outline: true}
	later["response-group"] = Response{Number: 12, Group: aGroup, Outcome: OutcomeDone, About: &GroupStatus{
		Name: "sweep", User: m.Status.User, Jobs: 100_000, Entered: 1000, AtOnce: 10, Coming: []int{0, 7},
		Counts: grid.Counts{grid.Submitted: 99_000, grid.Running: 1, grid.Completed: 999}, Submitted: Ago{9, true}, Ended: Ago{1, true}, Cancel: true,
		Members: []Member{{Number: 7, Status: member}, {Number: 8, Status: outline}}, Next: 8,
	}}
	later["response-group-failing"] = Response{Number: 12, Group: aGroup, Outcome: OutcomeDone, About: &GroupStatus{
		Name: "sweep", User: m.Status.User, Jobs: 9, Entered: 9, Counts: grid.Counts{grid.Completed: 9}, Failing: 3,
		Members: []Member{{Number: 7, Status: member}, {Number: 8, Status: outline}},
	}}
}

// partsOf are the parts of a Request and a Response that have fields of their own.
func partsOf(m Message) (parts []any) {
	switch m := m.(type) {
	case Request:
		if m.Alter != nil {
			parts = append(parts, *m.Alter)
		}
	case Response:
		if m.Status != nil {
			parts = append(parts, *m.Status)
		}
		if m.About != nil {
			parts = append(parts, *m.About, m.About.Members[0], m.About.Members[1].Status)
		}
		for _, e := range m.Events {
			parts = append(parts, e)
		}
		for _, e := range m.Decisions {
			parts = append(parts, e, e.Candidates[0], e.Candidates[1])
		}
	}
	return parts
}

// Older brokers tell that a job stays by no more than why. What they send is understood as what has a field for it.
func TestDecisionsOfOlderBrokers(t *testing.T) {
	t.Parallel()
	var read [2]Message
	for i, name := range []string{"response-found", "response-unmoved"} {
		frame, err := os.ReadFile(filepath.Join("testdata", "v1", name+".bin"))
		if err != nil {
			t.Fatal(err)
		}
		if read[i], err = Decode(frame); err != nil {
			t.Fatal(err)
		}
	}
	if d := read[0].(Response).Decisions; !d[0].Unmoved || !reflect.DeepEqual(read[0], read[1]) {
		t.Errorf("of an older broker it is\n%+v, not\n%+v", read[0], read[1])
	}
}

// A broker of before answers the status and the cancel of a job, and refuses all else by name.
func TestNeedsOfRequests(t *testing.T) {
	t.Parallel()
	held := true
	for _, k := range []struct {
		m     Request
		needs bool
	}{
		{Request{Job: aJob}, false},
		{Request{Job: aJob, Wish: WishCancel}, false},
		{Request{Job: aJob, Wish: WishAlter, Alter: &Alteration{Held: &held}}, true},
		{Request{Job: aJob, Wish: WishResubmit, Key: "k"}, true},
		{Request{Job: aJob, Wish: WishRemove}, true},
		{Request{Job: aJob, Wish: WishHistory}, true},
		{Request{Job: aJob, Wish: WishDecisions}, true},
		{Request{Group: aGroup}, true},
		{Request{Group: aGroup, Wish: WishCancel}, true},
	} {
		k.m.User = "alice"
		frame, err := Encode(k.m)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := unwrap(frame); err != nil || slices.Contains(e.needs, FeatureWishes) != k.needs {
			t.Errorf("%+v needs %v, %v", k.m, e.needs, err)
		}
	}
}

// What fits by its count is encoded and decoded, also where each of it is as large as it may be.
func TestFitting(t *testing.T) {
	t.Parallel()
	job := termedJob()
	large := Status{User: job.User, Home: aPeer, Owner: other, State: grid.Running, Demand: job.Demand, Walltime: grid.Hour}
	for len(large.Demand.Chunks) < MaxChunks {
		large.Demand.Chunks = append(large.Demand.Chunks, job.Demand.Chunks[0])
	}
	small := large
	small.Demand = grid.Demand{Chunks: job.Demand.Chunks[1:]}
	for _, of := range []Status{small, large} {
		about := GroupStatus{User: job.User, Jobs: grid.MaxSweep}
		for n := range MaxMembers {
			about.Members = append(about.Members, Member{Number: n + 1, Status: of})
		}
		fit := FittingMembers(about.Members)
		if fit == 0 || len(of.Demand.Chunks) == 1 && fit != MaxMembers || len(of.Demand.Chunks) > 1 && fit == MaxMembers {
			t.Errorf("%d members of %d chunks fit", fit, len(of.Demand.Chunks))
		}
		about.Members = about.Members[:fit]
		if _, err := Encode(Response{Group: aGroup, Outcome: OutcomeDone, About: &about}); err != nil {
			t.Error(err)
		}
	}
	decisions := make([]Decision, MaxDecisions)
	for i := range decisions {
		decisions[i].Candidates = make([]grid.Candidate, MaxCandidates/8)
		for k := range decisions[i].Candidates {
			decisions[i].Candidates[k] = grid.Candidate{Site: "x", Peer: aPeer, Size: 1, Bandwidth: 1, Refusal: &grid.Refusal{Reason: "no"}}
		}
	}
	fit := FittingDecisions(decisions)
	if fit == 0 || fit == MaxDecisions {
		t.Errorf("%d decisions fit", fit)
	}
	if _, err := Encode(Response{Job: aJob, Outcome: OutcomeDone, Status: &small, Decisions: decisions[MaxDecisions-fit:]}); err != nil {
		t.Error(err)
	}
}
