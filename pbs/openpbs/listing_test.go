package openpbs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// waiting is one job as qstat shows it.
func waiting(id, queue, more string) string {
	return fmt.Sprintf(`"%s":{"Job_Name":"a","Job_Owner":"a@p","job_state":"Q","queue":"%s","substate":10,"ctime":"Fri Nov 20 23:07:12 2026","Resource_List":{"select":"1:ncpus=1"}%s}`, id, queue, more)
}

func listOf(list string, members ...string) string {
	return strings.Replace(emptyJSON, "\n}", ",\""+list+"\":{"+strings.Join(members, ",")+"}}", 1)
}

// Queues that take no jobs are not offered; jobs in one that is not started are held back.
func TestListingOfQueues(t *testing.T) {
	t.Parallel()
	c, _ := replay(t, Config{}, idleSystem(t, answer{"qstat", "-f -F json", listOf("Jobs", waiting("1.p", "workq", ""), waiting("2.p", "closed", ""), waiting("3.p", "stopped", ""), waiting("4.p", "R7", `,"reserve_ID":"R7.p"`)), "", 0})...)
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, q := range l.Queues {
		names = append(names, string(q.Name))
	}
	if !slices.Equal(names, []string{"workq", "small", "acl"}) || l.Queues[1].Limit != grid.Hour {
		t.Errorf("queues: %+v", l.Queues)
	}
	for i, want := range []external.Job{{State: external.Queued, Queue: "workq"}, {State: external.Queued}, {State: external.Held}, {State: external.Queued, Reservation: "R7.p"}} {
		if j := l.Jobs[i]; j.State != want.State || j.Queue != want.Queue || j.Reservation != want.Reservation {
			t.Errorf("%s: %+v", j.Local, j)
		}
	}
	if tr := c.Traits(); tr.Version != "23.06.06" || tr.Forgets != grid.Day || tr.Slack != 10*grid.Second {
		t.Errorf("%+v", tr)
	}
}

// The parts of arrays are jobs of their own; the parent is none.
func TestListingOfArrays(t *testing.T) {
	t.Parallel()
	parent := waiting("20[].p", "workq", `,"array":"True"`)
	c, asked := replay(t, Config{}, idleSystem(t, answer{"qstat", "-f -F json", listOf("Jobs", parent), "", 0},
		answer{"qstat", "-t -f -F json", listOf("Jobs", parent, waiting("20[1].p", "workq", ""), waiting("20[2].p", "workq", "")), "", 0})...)
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Jobs) != 2 || l.Jobs[0].Local != "20[1].p" {
		t.Errorf("%+v, %v, asked:\n%s", l.Jobs, err, asked())
	}
}

// Nodes that are bound to a queue serve it alone; boolean and text resources are properties.
func TestListingOfNodes(t *testing.T) {
	t.Parallel()
	node := func(name, state, more string) string {
		return fmt.Sprintf(`"%s":{"Mom":"%s","state":"%s","resources_available":{"ncpus":8,"mem":"1tb","host":"%s","ngpus":2,"bigmem":"True","slow":"False","rack":"r 1","scratch":"10gb"}%s}`, name, name, state, name, more)
	}
	c, _ := replay(t, Config{}, idleSystem(t, answer{"pbsnodes", "*", listOf("nodes", node("n1", "free", `,"queue":"small"`), node("n2", "job-exclusive,resv-exclusive", ""), node("n3[0]", "state-unknown,down", "")), "", 0})...)
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := l.Nodes[0]
	if n.Cores != 8 || n.Memory != 1<<40 || !slices.Equal(n.Properties, []string{"host:n1", "bigmem"}) || !slices.Equal(n.Resources, []grid.Resource{{Name: "gpu", Amount: 2}}) {
		t.Errorf("%+v", n)
	}
	if l.Nodes[0].Down || l.Nodes[1].Down || !l.Nodes[2].Down {
		t.Errorf("%+v", l.Nodes)
	}
	if !slices.Equal(l.Queues[0].Nodes, []int{1, 2}) || !slices.Equal(l.Queues[1].Nodes, []int{0}) {
		t.Errorf("%+v", l.Queues)
	}
}

// Reservations of ours are known by name and owner; others' that keep nothing are left out.
func TestBookingsOfOursAndOthers(t *testing.T) {
	t.Parallel()
	const from, to = "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026"
	text := ""
	for i, r := range []string{
		strings.Replace(rstat("RESV_CONFIRMED", from, to, "(n02:ncpus=4+n03:ncpus=2)", "gbroker-b1"), ":excl", "", 1),
		strings.ReplaceAll(rstat("RESV_RUNNING", from, to, "(n01:ncpus=4)", "gbroker-b2"), "alice@", "mallory@"),
		strings.Replace(rstat("RESV_UNCONFIRMED", from, to, "", "gbroker-b3"), "resv_nodes = \n", "", 1),
		rstat("RESV_UNCONFIRMED", from, to, "", "theirs"),
		rstat("RESV_BEING_DELETED", from, to, "(n01:ncpus=4)", "gbroker-b4"),
		rstat("RESV_DEGRADED", from, to, "(n01:ncpus=4)", "gbroker-NO"),
	} {
		text += strings.ReplaceAll(r, "R45", fmt.Sprintf("R%d", i))
	}
	c, _ := replay(t, Config{Account: "alice"}, answer{"pbs_rstat", "-F", text, "", 0})
	list, err := c.Bookings(t.Context())
	got := ""
	for _, b := range list {
		got += fmt.Sprintf("%s=%s %v %v %s\n", b.Native, b.ID, b.Nodes, b.Cores, b.User)
	}
	want := "R0.pbs1=b1 [n02 n03] [4 2] bob\nR1.pbs1= [n01] [] bob\nR2.pbs1=b3 [] [] bob\nR5.pbs1= [n01] [] bob\n"
	if err != nil || got != want {
		t.Errorf("%s%v", got, err)
	}
}

// A reservation in which something runs is left to end by itself: its end would kill it.
func TestUnbookSparesWhatRuns(t *testing.T) {
	t.Parallel()
	const from, to = "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026"
	there := answer{"pbs_rstat", "-F R45.pbs1", rstat("RESV_RUNNING", from, to, "(n01:ncpus=4)", "gbroker-b1"), "", 0}
	for state, deleted := range map[string]bool{"R": false, "Q": true, "S": false} {
		job := strings.Replace(waiting("1.p", "R45", `,"reserve_ID":"R45.pbs1"`), `"Q"`, `"`+state+`"`, 1)
		c, asked := replay(t, Config{}, there, answer{"qstat", "-f -F json", listOf("Jobs", job), "", 0}, answer{"pbs_rdel", "R45.pbs1", "", "", 0})
		if err := c.Unbook(t.Context(), "R45.pbs1"); err != nil || strings.Contains(asked(), "pbs_rdel") != deleted {
			t.Errorf("%s: %v, asked:\n%s", state, err, asked())
		}
	}
	c, _ := replay(t, Config{}, there, answer{"qstat", "-f -F json", emptyJSON, "", 0}, answer{"pbs_rdel", "*", "", "pbs_rdel: Unknown Reservation Id R45.pbs1\n", 236})
	if err := c.Unbook(t.Context(), "R45.pbs1"); err != nil {
		t.Errorf("one that has just gone: %v", err)
	}
}
