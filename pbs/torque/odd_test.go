package torque

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// listOf is a list of jobs that run on n1, each with such elements in the place of those that it has.
func listOf(changed ...string) []byte {
	var b strings.Builder
	b.WriteString("<Data>")
	for i, c := range changed {
		fmt.Fprintf(&b, "<Job><Job_Id>%d.p</Job_Id>", i+1)
		for e := range strings.FieldsSeq("<Job_Name>a</Job_Name> <Job_Owner>a@p</Job_Owner> <job_state>R</job_state> <queue>batch</queue> <ctime>1795216436</ctime> <exec_host>n1/0</exec_host>") {
			if name, _, _ := strings.Cut(e, ">"); !strings.Contains(c, name) {
				b.WriteString(e)
			}
		}
		b.WriteString(c + "</Job>")
	}
	b.WriteString("</Data>")
	return []byte(b.String())
}

// What cannot be read of a job is of that job: its state is not known, it is told, and the others are seen. One of ours is
// known as ours; where its name or account is what cannot be read, nothing may be believed.
func TestJobThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const ours = "<submit_args>-v GBROKER_ATTEMPT=me/x@1.0#1</submit_args>"
	for what, odd := range map[string]string{
		"a state": "<job_state>Z</job_state>", "holds": "<Hold_Types>?</Hold_Types>", "no owner's host": "<Job_Owner>a</Job_Owner>", "an instant": "<ctime>soon</ctime>",
		"a priority": "<Priority>high</Priority>", "memory": "<Resource_List><mem>lots</mem><nodes>1</nodes></Resource_List>", "use": "<resources_used><cput>long</cput></resources_used>",
		"nodes": "<Resource_List><nodes>2:ppn=none</nodes></Resource_List>", "places": "<exec_host>n1</exec_host>", "no queue": "<queue><x>q</x></queue>",
		"an entity": "<comment>&nbsp;</comment>", "a second one": "<job_state>R</job_state><job_state>Q</job_state>",
	} {
		list, err := parseJobs("qstat -x", listOf("", odd, ""))
		if err != nil || len(list.jobs) != 3 || len(list.unread) != 1 || list.unread["2.p"] == nil {
			t.Errorf("%s: %+v, %v", what, list, err)
			continue
		}
		for i, j := range list.jobs {
			lost := i == 1 && what == "places"
			if j.Local != grid.LocalID(fmt.Sprintf("%d.p", i+1)) || (j.State == external.Odd) != (i == 1) || j.NeverStarted || j.End != nil || (len(j.Places) == 0) != lost {
				t.Errorf("%s: %+v", what, j)
			}
		}
		list, err = parseJobs("qstat -x", listOf("", odd+ours))
		if err != nil || list.jobs[1].State != external.Odd || list.jobs[1].Mark != "me/x@1.0#1" || list.jobs[1].Name != "a" || list.jobs[1].User != "a" {
			t.Errorf("%s of ours: %+v, %v", what, list, err)
		}
	}
	for what, odd := range map[string]string{
		"a mark": "<submit_args>-v GBROKER_ATTEMPT=me/x@1.0#1<x></x></submit_args>", "two names": ours + "<Job_Name>a</Job_Name><Job_Name>b</Job_Name>",
		"two owners": ours + "<Job_Owner>a@p</Job_Owner><Job_Owner>b@p</Job_Owner>", "two identifiers": ours + "<Job_Id>3.p</Job_Id>",
	} {
		_, err := parseJobs("qstat -x", listOf("", odd))
		kind(t, what, err, grid.ErrUnavailable, "the output of")
	}
	_, err := parseJobs("qstat -x", listOf(slices.Repeat([]string{"<job_state>Z</job_state>"}, 4)...))
	kind(t, "most of a list", err, grid.ErrUnavailable, "4 of 4 are not understood")
	for what, bad := range map[string]string{"a broken element": "<job_state>R", "an identifier": "<Job_Id>-t</Job_Id>"} {
		if _, err := parseJobs("qstat -x", listOf(bad)); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// A job that may have its cores still has them, though its state is not known; one that has ended has none.
func TestPlacesOfAnOddJob(t *testing.T) {
	t.Parallel()
	for odd, places := range map[string]int{
		"<job_state>Z</job_state>": 1, "<job_state>T</job_state>": 1, "<job_state>Z</job_state><comp_time>1795216440</comp_time>": 0,
		"<job_state>C</job_state><Hold_Types>?</Hold_Types>": 0, "<job_state>Q</job_state><Hold_Types>?</Hold_Types>": 0,
	} {
		list, err := parseJobs("qstat -x", listOf(odd))
		if err != nil || list.jobs[0].State != external.Odd || len(list.jobs[0].Places) != places {
			t.Errorf("%s: %+v, %v", odd, list, err)
		}
	}
}

// The listing tells of the job that it cannot read; who asks for that job learns nothing.
func TestListingOfAnOddJob(t *testing.T) {
	t.Parallel()
	r, _ := replay(t, map[string]string{"qstat -x -t": "06-array/06-qstat-x-t", "qstat -x 1.p 2.p": "06-array/06-qstat-x-t", "qstat -B -f -1": "01-idle/23-qstat-B-f-1",
		"qstat -Q -f -1": "01-idle/20-qstat-Q-f-1", "pbsnodes -x": "01-idle/10-pbsnodes-x"})
	if err := os.WriteFile(filepath.Join(r.Folders[0], "06-array_06-qstat-x-t.out"), listOf("", "<job_state>Z</job_state>"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := New(Config{Runner: r})
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Jobs) != 2 || len(l.Unusable) != 1 || !strings.HasPrefix(l.Unusable[0], `job 2.p: the state "Z" is not known`) {
		t.Errorf("%+v, %v", l, err)
	}
	_, err = c.Look(t.Context(), "1.p", "2.p")
	kind(t, "a look", err, grid.ErrUnavailable, "at job 2.p", `"Z" is not known`)
}
