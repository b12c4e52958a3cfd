package openpbs

import (
	"fmt"
	"os/user"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// told writes out which limits jobs fall under.
func told(l external.Listing) string {
	caps := func(list []int) (words []string) {
		for _, c := range list {
			words = append(words, fmt.Sprintf("%s (%d)", l.Caps[c].Why, l.Caps[c].Most))
		}
		return words
	}
	var b strings.Builder
	for _, j := range l.Jobs {
		fmt.Fprintf(&b, "%s %q\n", j.Local, caps(j.Caps))
	}
	fmt.Fprintf(&b, "ours %q\n", caps(l.Ours))
	for _, q := range l.Queues {
		if len(q.Ours) > 0 {
			fmt.Fprintf(&b, "ours in %s %q\n", q.Name, caps(q.Ours))
		}
	}
	return b.String()
}

// Limits of users, groups, projects and all, at server and queue, by name and for each.
func TestLimits(t *testing.T) {
	t.Parallel()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	group, err := user.LookupGroupId(u.Gid)
	if err != nil {
		t.Skipf("the group of this account has no name: %v", err)
	}
	server := recorded(t, "qstat", "-B -f -F json", "31-max-run.qstat-B-json")
	server.stdout = strings.Replace(server.stdout, `"[u:PBS_GENERIC=2]"`,
		`"[u:PBS_GENERIC=2],[u:root=9], [o:PBS_ALL=100],[p:ocean=4],[g:`+group.Name+`=7]", "max_run_res":{"ncpus":"[u:PBS_GENERIC=64]","mem":"[u:x=1gb]"}`, 1)
	queues := listOf("Queue", `"workq":{"queue_type":"Execution","enabled":"True","started":"True","max_user_run":3}`, `"free":{"queue_type":"Execution","enabled":"True","started":"True"}`)
	job := func(id, owner, queue, more string) string {
		return strings.Replace(waiting(id, queue, more), "a@p", owner+"@p", 1)
	}
	c, _ := replay(t, Config{Account: u.Username}, append([]answer{server, {"qstat", "-Q -f -F json", queues, "", 0}}, idleSystem(t,
		answer{"qstat", "-f -F json", listOf("Jobs", job("1.p", "nosuchuser", "workq", `,"project":"ocean"`), job("2.p", "nosuchuser", "free", ""), job("3.p", u.Username, "free", ""),
			strings.Replace(job("4.p", "nosuchuser", "free", ""), `"Q"`, `"S"`, 1), job("5.p", "nosuchuser", "R7", `,"reserve_ID":"R7.p"`)), "", 0})...)...)
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Unusable) > 0 {
		t.Fatalf("%v, %q", err, l.Unusable)
	}
	each := func(name string, most int) string {
		return fmt.Sprintf(`"running jobs of user %[1]s at the server (%[2]d)" "cores of user %[1]s at the server (64)"`, name, most)
	}
	const all = ` "running jobs of all jobs PBS_ALL at the server (100)"`
	mine := map[bool]int{true: 9, false: 2}[u.Username == "root"]
	ours := each(u.Username, mine) + fmt.Sprintf(` "running jobs of group %s at the server (7)"`, group.Name) + all
	want := `1.p [` + each("nosuchuser", 2) + ` "running jobs of project ocean at the server (4)"` + all + ` "running jobs of user nosuchuser in queue workq (3)"]` + "\n" +
		`2.p [` + each("nosuchuser", 2) + all + "]\n3.p [" + ours + "]\n4.p []\n5.p []\nours [" + ours + "]\n" +
		`ours in workq ["running jobs of user ` + u.Username + ` in queue workq (3)"]` + "\n"
	if got := told(l); got != want {
		t.Errorf("it is\n%s, and should be\n%s", got, want)
	}
	for _, bad := range []string{"", "2", "[u:a]", "[x:a=1]", "[u:a=-1]", "[u:a=b]", "[u:a=1"} {
		if list, err := limits(bad, false); err == nil {
			t.Errorf("%q is %+v", bad, list)
		}
	}
	server.stdout = strings.Replace(server.stdout, "[u:root=9]", "[?]", 1)
	c, _ = replay(t, Config{}, append([]answer{server}, idleSystem(t)...)...)
	if l, err := c.Listing(t.Context()); err != nil || len(l.Unusable) != 1 || !strings.Contains(l.Unusable[0], "limits of the server") {
		t.Errorf("a limit that cannot be read: %v, %q", err, l.Unusable)
	}
}

// Of an array with %n so many parts run at a time.
func TestLimitsOfArrays(t *testing.T) {
	t.Parallel()
	both := recorded(t, "qstat", "-f -F json", "30-array-max-run.qstat-t-f-json")
	parts := both
	parts.args = "-t -f -F json"
	c, _ := replay(t, Config{}, idleSystem(t, parts, both)...)
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Caps) != 1 || l.Caps[0].Most != 2 || l.Caps[0].Cores || len(l.Jobs) != 6 {
		t.Fatalf("%+v, %v", l.Caps, err)
	}
	for _, j := range l.Jobs {
		if !slices.Equal(j.Caps, []int{0}) || arrayOf(j.Local) != "283[].pbs1" {
			t.Errorf("%s: %v", j.Local, j.Caps)
		}
	}
	if arrayOf(grid.LocalID("283.pbs1")) != "" {
		t.Error("a job of its own is a part of an array")
	}
}
