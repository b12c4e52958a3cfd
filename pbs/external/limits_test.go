package external

import (
	"os/user"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

func runs(name, account, qos string, cores int) Job {
	return Job{User: name, Account: account, QOS: qos, State: Running, Places: []Place{{Node: "n", Cores: cores}}}
}

// What runs under a limit that a job meets is the limit; more that is seen to run raises it, and it is forgotten
// when nobody meets it.
func TestLimitsAreLearnedFromWhatRuns(t *testing.T) {
	t.Parallel()
	var l Limits
	now := time.Now()
	jobs := LimitKey{Name: "jobs", User: "alice", QOS: "fast"}
	cores := LimitKey{Name: "cores", Account: "ocean", Cores: true}
	listing := func(more ...Job) *Listing {
		return &Listing{Jobs: append([]Job{runs("alice", "ocean", "fast", 2), runs("alice", "ocean", "slow", 3), runs("bob", "ocean", "fast", 1),
			{User: "alice", Account: "ocean", QOS: "fast", State: Queued}, {User: "carol", Account: "ice", QOS: "fast", State: Queued}}, more...)}
	}
	most := func(in *Listing, key LimitKey) int64 {
		for _, c := range in.Caps {
			if c.Why == key.String() {
				return c.Most
			}
		}
		return -1
	}
	first := listing()
	l.Meet(jobs, Unknown, now)
	l.Meet(cores, Unknown, now)
	l.Put(first, now)
	if a, b := most(first, jobs), most(first, cores); a != 1 || b != 6 {
		t.Errorf("one of alice's jobs and six cores of ocean run: %d, %d", a, b)
	}
	for i, want := range []int{2, 1, 1, 2, 0} { // how many limits each job falls under
		if got := len(first.Jobs[i].Caps); got != want {
			t.Errorf("job %d falls under %d limits, not %d", i, got, want)
		}
	}
	more := listing(runs("alice", "ocean", "fast", 1))
	l.Put(more, now)
	fewer := &Listing{Jobs: []Job{{User: "alice", Account: "ocean", QOS: "fast", State: Queued}}}
	l.Meet(jobs, Unknown, now) // its reason is older than the ends
	l.Put(fewer, now)
	if a, b := most(more, jobs), most(fewer, jobs); a != 2 || b != 2 {
		t.Errorf("two were seen to run: %d, and after their ends %d", a, b)
	}
	later := listing()
	if l.Put(later, now.Add(2*believed)); len(later.Caps) != 0 {
		t.Errorf("nobody has met them for two hours: %+v", later.Caps)
	}
}

// One more job of the daemon's own account falls under what its jobs fall under.
func TestLimitsOfOurs(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	for _, k := range []struct {
		key   LimitKey
		ours  int
		queue int
		all   bool
	}{
		{LimitKey{User: me.Username}, 1, 0, false},
		{LimitKey{User: "somebody"}, 0, 0, false},
		{LimitKey{Queue: "batch"}, 0, 1, true},
		{LimitKey{User: me.Username, Queue: "batch"}, 0, 1, false},
		{LimitKey{Account: "ocean"}, 1, 0, false},
		{LimitKey{Account: "ice"}, 0, 0, false},
		{LimitKey{User: me.Username, QOS: "fast"}, 1, 0, false},
		{LimitKey{User: me.Username, QOS: "slow"}, 0, 0, false},
		{LimitKey{Queue: "gone"}, 0, 0, true}, // met before the queue was removed
	} {
		in := Listing{Queues: []plan.Queue{{Name: "batch"}}, Jobs: []Job{{User: me.Username, Account: "ocean"}, {User: me.Username, QOS: "fast"}, {User: "x", Account: "ice"}}}
		var l Limits
		l.Meet(k.key, 4, time.Now())
		l.Put(&in, time.Now())
		if len(in.Ours) != k.ours || len(in.Queues[0].Ours) != k.queue || in.Caps[0].All != k.all || in.Caps[0].Most != 4 {
			t.Errorf("%+v: %+v", k, in)
		}
	}
}

// The tasks of an array that wait are as many jobs.
func TestJobsAlike(t *testing.T) {
	t.Parallel()
	for more, want := range map[int]int{0: 1, 7: 8, 5 * mostAlike: 1 + mostAlike} {
		l := Listing{Nodes: []plan.Node{{Name: "n", Cores: 1}}, Jobs: []Job{{Local: "1", State: Queued, More: more, Limit: grid.Hour}}}
		if list := waiting(l, l.Jobs[0], "ours"); len(list) != want || list[0].Job != "ours" || want > 1 && list[1].Job != "" {
			t.Errorf("%d more: %d wait", more, len(list))
		}
	}
}
