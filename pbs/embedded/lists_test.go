package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"
)

// A start that did not get as far as the token is tried again, later and later, in its old place; the fourth is the last.
func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	s, e := bare(t)
	s.known[e.spec.ID], s.busy = e, []*entry{e}
	for _, pause := range []time.Duration{200 * time.Millisecond, 800 * time.Millisecond, 3200 * time.Millisecond} {
		begin := time.Now()
		s.again(e, errors.New("it did not come up"))
		if left := e.pause.Sub(begin); left < pause || left > pause+2*time.Second && pause < 3*time.Second || !e.waiting || len(s.queue) != 1 || len(s.busy) != 0 {
			t.Fatalf("after %v: it waits (%t) in a queue of %d, busy %d", left, e.waiting, len(s.queue), len(s.busy))
		}
		if chosen, _ := s.choose(); len(chosen) > 0 {
			t.Fatal("it does not wait")
		}
		e.waiting, s.queue, s.busy = false, nil, []*entry{e}
	}
	s.again(e, errors.New("it did not come up"))
	end, ended, err := control.ReadEnd(e.spec.Control, e.spec.ID)
	if !ended || err != nil || end.Cause != grid.NeverRan || !strings.Contains(end.Detail, "it did not come up") || len(s.known)+len(s.queue)+len(s.busy) != 0 {
		t.Errorf("its end is %+v, %v; %d are known", end, err, len(s.known))
	}
	other, gone := bare(t)
	other.again(gone, errors.New("late"))
	if len(other.queue) > 0 || gone.failures > 0 {
		t.Error("what is known no more waits again")
	}
}

// Who was dropped is in no list, its file and its control group are gone, and with its end its reservation; one that has
// not ended leaves that to its next attempt.
func TestDrop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ waiting, ended, bound, stays bool }{
		"it has ended":                   {false, true, true, false},
		"it was withdrawn at its start":  {false, false, true, true},
		"it was withdrawn, and it waits": {true, true, true, true},
		"it has no reservation":          {false, true, false, true},
	} {
		s, e := bare(t)
		r := pbs.Reservation{ID: "r", Start: 1, End: control.Now() + grid.Hour}
		s.byID["r"], s.byID["other"] = r, r
		if e.waiting = c.waiting; c.bound {
			e.spec.Reservation = "r"
		}
		e.spec.Group = filepath.Join(s.config.Spool, "group")
		other := &entry{spec: &supervise.Spec{ID: grid.AttemptID{Job: "another"}}}
		s.known[e.spec.ID], s.known[other.spec.ID] = e, other
		s.queue, s.busy = []*entry{other}, []*entry{e}
		if c.waiting {
			s.queue, s.busy = []*entry{e, other}, nil
		}
		for _, file := range []string{s.jobs.File(e.spec.ID), s.reservationFile("r")} {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := os.Mkdir(e.spec.Group, 0o700)
		if c.ended {
			err = errors.Join(err, control.WriteEnd(e.spec.Control, e.spec.ID, control.End{At: control.Now()}))
		}
		if err != nil {
			t.Fatal(err)
		}
		s.drop(e.spec.ID)
		s.drop(e.spec.ID) // nothing more
		if len(s.known) != 1 || !slices.Equal(s.queue, []*entry{other}) || len(s.busy) != 0 {
			t.Errorf("%s: %d are known, %d wait, %d run", name, len(s.known), len(s.queue), len(s.busy))
		}
		if _, there := s.byID["r"]; there != c.stays || len(s.byID) < 1 {
			t.Errorf("%s: its reservation is there: %t", name, there)
		}
		for file, stays := range map[string]bool{s.jobs.File(e.spec.ID): false, e.spec.Group: false, s.reservationFile("r"): c.stays} {
			if _, err := os.Stat(file); (err == nil) != stays {
				t.Errorf("%s: %s: %v", name, filepath.Base(file), err)
			}
		}
		select {
		case <-s.wake:
		default:
			t.Errorf("%s: nobody is told", name)
		}
	}
}

// What a job has of a node is not kept free beside it.
func TestWithout(t *testing.T) {
	t.Parallel()
	gpus := func(n int64) []grid.Resource {
		return []grid.Resource{{Name: "gpu", Amount: n}, {Name: "tape", Amount: 1}}
	}
	node := plan.Share{Node: 1, Cores: 8, Memory: 100, Resources: gpus(4)}
	for name, c := range map[string]struct {
		job  []plan.Share
		want plan.Share
	}{
		"nothing":     {nil, node},
		"elsewhere":   {[]plan.Share{{Node: 0, Cores: 8, Memory: 100}}, node},
		"a part":      {[]plan.Share{{Node: 0, Cores: 1}, {Node: 1, Cores: 3, Memory: 60, Resources: gpus(3)[:1]}}, plan.Share{Node: 1, Cores: 5, Memory: 40, Resources: gpus(1)}},
		"all of one":  {[]plan.Share{{Node: 1, Cores: 1, Resources: gpus(4)[:1]}}, plan.Share{Node: 1, Cores: 7, Memory: 100, Resources: gpus(4)[1:]}},
		"more":        {[]plan.Share{{Node: 1, Cores: 8, Memory: 101, Resources: []grid.Resource{{Name: "gpu", Amount: 5}, {Name: "else", Amount: 1}}}}, plan.Share{Node: 1, Resources: gpus(4)[1:]}},
		"in two goes": {[]plan.Share{{Node: 1, Cores: 1, Memory: 1}, {Node: 1, Cores: 2, Memory: 2}}, plan.Share{Node: 1, Cores: 5, Memory: 97, Resources: gpus(4)}},
	} {
		h := node
		h.Resources = slices.Clone(node.Resources)
		if got := without(h, c.job); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}

// What is over is struck out, also before a job is bound to it, and the next instant is that of the nearest start or end.
func TestReservationsThatAreOver(t *testing.T) {
	t.Parallel()
	s, e := bare(t)
	now := control.Now()
	s.config.Nodes = []plan.Node{{Name: "n1", Cores: 1}}
	nodes := []grid.NodeName{"n1"}
	s.byID = map[string]pbs.Reservation{
		"over": {ID: "over", Nodes: nodes, Start: now - grid.Hour, End: now - 1}, "now": {ID: "now", Nodes: nodes, Start: now - grid.Hour, End: now + grid.Hour},
		"later": {ID: "later", Nodes: nodes, Start: now + grid.Minute, End: now + grid.Day},
	}
	sub := grid.Submission{ID: e.spec.ID, Limit: grid.Minute, Job: grid.Job{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}}}
	for id, may := range map[string]bool{"over": false, "now": true, "later": true, "none": false, "": true} {
		sub.Reservation = id
		if err := s.checkBinding(sub); (err == nil) != may || err != nil && !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("bound to %q: %v", id, err)
		}
	}
	if next := s.expire(); next != now+grid.Minute || len(s.byID) != 2 {
		t.Errorf("next is %d, of %d reservations", next-now, len(s.byID))
	}
	delete(s.byID, "later")
	if next := s.expire(); next != now+grid.Hour {
		t.Errorf("then it is %d", next-now)
	}
	delete(s.byID, "now")
	if next := s.expire(); next != 0 {
		t.Errorf("of none it is %d", next)
	}
}

// A reservation has no room where another, or a job that may still run then, has one of its nodes.
func TestRoomOfAReservation(t *testing.T) {
	t.Parallel()
	s, e := bare(t)
	s.config.Nodes = []plan.Node{{Name: "n1", Cores: 1}, {Name: "n2", Cores: 1}, {Name: "n3", Cores: 1}}
	s.byID["o"] = pbs.Reservation{ID: "o", Nodes: []grid.NodeName{"n1"}, Start: 1000, End: 2000}
	e.started, e.spec.Limit, e.shares = 1000, 1000, []plan.Share{{Node: 1}}
	s.busy = []*entry{e}
	for _, c := range []struct {
		id, node   string
		start, end grid.Tick
		room       bool
	}{
		{"r", "n3", 1000, 2000, true}, {"r", "n1", 1999, 3000, false}, {"r", "n1", 2000, 3000, true}, {"r", "n1", 1, 1001, false}, {"r", "n1", 1, 1000, true},
		{"o", "n1", 1000, 2000, true}, {"r", "n2", 1999, 3000, false}, {"r", "n2", 2000, 3000, true}, {"r", "n2", 1, 1001, false}, {"r", "n2", 1, 1000, true},
	} {
		if err := s.checkRoom(pbs.Reservation{ID: c.id, Nodes: []grid.NodeName{"n3", grid.NodeName(c.node)}, Start: c.start, End: c.end}); (err == nil) != c.room {
			t.Errorf("%+v: %v", c, err)
		}
	}
	e.spec.Reservation = "r"
	if err := s.checkRoom(pbs.Reservation{ID: "r", Nodes: []grid.NodeName{"n2"}, Start: 1000, End: 2000}); err != nil {
		t.Errorf("a change beside its own job: %v", err)
	}
}

// A spool is taken up as it is: who was given his place has it, who waits waits in his order, whose token the broker has is
// forgotten, and what is half written or another's goes.
func TestTheSpoolIsTakenUp(t *testing.T) {
	t.Parallel()
	s, first := bare(t)
	s.config.Nodes = []plan.Node{{Name: "n1", Cores: 8}}
	_, living := sleeper(t, nil)
	spooled := func(n int, change func(*supervise.Spec)) grid.AttemptID {
		spec := *first.spec
		spec.ID.Attempt, spec.Sequence, spec.Arrived = uint32(n), uint64(n), grid.Tick(10-n)
		if spec.Control = filepath.Join(s.config.Spool, fmt.Sprint("c", n)); change != nil {
			change(&spec)
		}
		if err := errors.Join(os.MkdirAll(spec.Control, 0o700), s.write(&spec)); err != nil {
			t.Fatal(err)
		}
		return spec.ID
	}
	taken := func(at grid.AttemptID, n int, by control.Holder) {
		if _, _, err := control.Take(filepath.Join(s.config.Spool, fmt.Sprint("c", n)), at, by, living); err != nil {
			t.Fatal(err)
		}
	}
	placed := func(spec *supervise.Spec) { spec.Shares = []supervise.Share{{Node: "n1", Cores: 1}} }
	late, early := spooled(1, nil), spooled(2, placed)
	runs, withdrawn := spooled(3, placed), spooled(7, nil)
	taken(runs, 3, control.Supervisor)
	taken(withdrawn, 7, control.Broker)
	part := spooled(5, func(spec *supervise.Spec) {
		placed(spec)
		spec.Ports, spec.Part = grid.DefaultPorts, &grid.Part{Of: "there.01ABCDEFGHJKMNPQRSTVWXYZ00", Start: control.Now(), Grace: 1, Limit: 1, Within: 1, Sites: []grid.PartSite{{Name: "here", Processes: 1}, {Name: "there", Processes: 1}}}
	})
	if err := control.WriteArrived(filepath.Join(s.config.Spool, "c5"), part, control.Arrival{At: control.Now(), Process: living}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(s.jobs.Path, "x.job.tmp"), nil, 0o600), os.Rename(s.jobs.File(spooled(6, nil)), filepath.Join(s.jobs.Path, "other.job"))); err != nil {
		t.Fatal(err)
	}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	of := func(list []*entry) (ids []grid.AttemptID) {
		for _, e := range list {
			ids = append(ids, e.spec.ID)
		}
		return ids
	}
	if got := of(s.queue); !slices.Equal(got, []grid.AttemptID{early, late}) || !s.queue[0].waiting || s.queue[0].spec.Shares != nil {
		t.Errorf("waiting: %v", got)
	}
	if got := of(s.busy); !slices.Equal(got, []grid.AttemptID{part, runs}) || len(s.busy[0].shares) != 1 || s.busy[0].started == 0 || s.busy[1].started == 0 || s.busy[1].waiting {
		t.Errorf("running: %v", got)
	}
	if len(s.known) != 4 || s.sequence != 7 {
		t.Errorf("%d are known, the last number is %d", len(s.known), s.sequence)
	}
	var left []string
	files, err := os.ReadDir(s.jobs.Path)
	for _, f := range files {
		left = append(left, f.Name())
	}
	if err != nil || len(left) != 5 || !slices.Contains(left, "other.job.corrupt") {
		t.Errorf("in the spool are %v, %v", left, err)
	}
}

// The control group of a job has its memory as a limit and its cores as a share. Files stand here for those of the kernel.
func TestTheGroupOfAJobHasItsShares(t *testing.T) {
	t.Parallel()
	settings := []string{"cpu.weight", "pids.max", "memory.max", "memory.oom.group"}
	for name, c := range map[string]struct {
		shares []plan.Share
		want   []string
	}{
		"two nodes": {[]plan.Share{{Cores: 2, Memory: 5}, {Cores: 1, Memory: 7}}, []string{"300", "12288", "12", "1"}},
		"no memory": {[]plan.Share{{Cores: 1}}, []string{"100", "4096", "", ""}},
		"no cores":  {nil, []string{"100", "4096", "", ""}},
		"very many": {[]plan.Share{{Cores: 200}}, []string{"10000", "819200", "", ""}},
	} {
		g := groups{root: t.TempDir()}
		dir := filepath.Join(g.root, "tag")
		err := os.Mkdir(dir, 0o700)
		for _, file := range settings {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := g.forJob("tag", c.shares); got != dir || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		for i, file := range settings {
			if text, err := os.ReadFile(filepath.Join(dir, file)); string(text) != c.want[i] || err != nil {
				t.Errorf("%s: %s is %q, %v", name, file, text, err)
			}
		}
	}
	g := groups{root: t.TempDir()}
	dir, err := g.forJob("old", nil) // a kernel that knows less
	if _, gone := os.Stat(dir); err != nil || gone != nil {
		t.Errorf("without files: %q, %v, %v", dir, err, gone)
	}
	if err := g.clear("old"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it is not removed: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(g.root, "odd", "cpu.weight"), 0o700); err != nil {
		t.Fatal(err)
	}
	if dir, err := g.forJob("odd", nil); dir != "" || err == nil {
		t.Errorf("what cannot be set: %q, %v", dir, err)
	}
	if dir, err := (groups{}).forJob("tag", nil); dir != "" || err != nil || (groups{}).clear("tag") != nil {
		t.Errorf("without groups: %q, %v", dir, err)
	}
}

// Groups are made only where each controller that is wanted is there and can be handed down.
func TestEnable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := enable(dir, []string{"cpu"}); err == nil {
		t.Error("no group at all")
	}
	if _, err := makeRoot(dir, nil); err == nil || !strings.Contains(err.Error(), "no control group") {
		t.Error(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("cpu memory\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := enable(dir, []string{"cpu"}); !os.IsNotExist(err) {
		t.Errorf("what cannot be handed down: %v", err)
	}
	given := filepath.Join(dir, "cgroup.subtree_control")
	if err := os.WriteFile(given, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := enable(dir, []string{"memory", "pids"}); err == nil || !strings.Contains(err.Error(), "no controller pids") {
		t.Error(err)
	}
	if text, err := os.ReadFile(given); string(text) != "+memory" || err != nil {
		t.Errorf("handed down: %q, %v", text, err)
	}
	if root, err := makeRoot(dir, []string{"memory"}); err == nil || root != "" {
		t.Errorf("a folder of the disk: %q", root)
	}
	if _, err := os.Stat(filepath.Join(dir, "gbroker")); !os.IsNotExist(err) {
		t.Errorf("what was tried out is left: %v", err)
	}
}

// The log of supervisors is added to, until it is large.
func TestTheLogOfSupervisors(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "log")
	for _, c := range []struct {
		size int64
		old  bool
	}{{0, false}, {1 << 20, false}, {1<<20 + 1, true}} {
		err := os.WriteFile(name, make([]byte, c.size), 0o600)
		f, err2 := openErrors(name)
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("more")
		info, err2 := os.Stat(name)
		if err = errors.Join(err, err2, f.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name + ".old"); (err == nil) != c.old || c.old == (info.Size() > 4) && c.size > 0 {
			t.Errorf("of %d bytes there are %d, and the old: %v", c.size, info.Size(), err)
		}
	}
}

// The GPUs of all nodes together have no more numbers than a variable has room for.
func TestGPUsOfManyNodes(t *testing.T) {
	t.Parallel()
	nodes := make([]plan.Node, 20)
	for i := range nodes {
		nodes[i].Resources = []grid.Resource{{Name: "gpu", Amount: mostOfKind}}
	}
	if all := numberGPUs(nodes); len(all) != mostGPUs/mostOfKind || all[gpuKind{1, "gpu"}] != (gpuRange{mostOfKind, mostOfKind}) {
		t.Errorf("%d kinds have numbers", len(all))
	}
}
