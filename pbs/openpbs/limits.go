package openpbs

import (
	"cmp"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// limit is one bound of max_run or max_run_res.ncpus, at the server or at a queue:
//
//	[u:PBS_GENERIC=2],[u:alice=5],[g:staff=10],[p:ocean=4],[o:PBS_ALL=100]
//
// u, g and p are for each user, group and project; one that is named has its own bound in
// place of PBS_GENERIC's. o is for all jobs together.
type limit struct {
	of    byte // u, g, p or o
	whose string
	most  int64
	cores bool // it counts cores, not jobs
}

const (
	eachOne   = "PBS_GENERIC"
	maxLimits = 1 << 12
)

// limits reads such a list; older attributes are one number.
func limits(text string, cores bool) ([]limit, error) {
	var list []limit
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		inner, opened := strings.CutPrefix(part, "[")
		inner, closed := strings.CutSuffix(inner, "]")
		name, number, is := strings.Cut(inner, "=")
		of, whose, named := strings.Cut(name, ":")
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if !opened || !closed || !is || !named || err != nil || n < 0 || len(of) != 1 || strings.Trim(of, "ugpo") != "" || len(list) == maxLimits {
			return nil, fmt.Errorf("%.80q is no limit, such as [u:PBS_GENERIC=2]", part)
		}
		list = append(list, limit{of[0], strings.Trim(strings.TrimSpace(whose), `"`), n, cores})
	}
	return list, nil
}

// bounds are the attributes that limit what runs, of the server or of one queue.
type bounds struct {
	run, res, running, user, group value
}

func (b *bounds) fields(of map[string]*value) map[string]*value {
	of["max_run"], of["max_run_res"] = &b.run, &b.res
	of["max_running"], of["max_user_run"], of["max_group_run"] = &b.running, &b.user, &b.group
	return of
}

func (b *bounds) read() (all []limit, err error) {
	add := func(name, text string, cores bool) {
		list, wrong := limits(text, cores)
		if all = append(all, list...); wrong != nil {
			err = cmp.Or(err, at(name, wrong))
		}
	}
	if b.run != nil {
		add("max_run", b.run.text(), false)
	}
	if b.res != nil {
		var ncpus value
		if wrong := members(&scanner{text: b.res}, map[string]*value{"ncpus": &ncpus}); wrong != nil {
			err = cmp.Or(err, at("max_run_res", wrong))
		}
		if ncpus != nil {
			add("max_run_res.ncpus", ncpus.text(), true)
		}
	}
	for _, old := range []struct {
		name, form string
		value      value
	}{{"max_running", "[o:PBS_ALL=%s]", b.running}, {"max_user_run", "[u:PBS_GENERIC=%s]", b.user}, {"max_group_run", "[g:PBS_GENERIC=%s]", b.group}} {
		if old.value != nil {
			add(old.name, fmt.Sprintf(old.form, old.value.text()), false)
		}
	}
	return all, err
}

// scope is where limits are set: the server ("") or a queue.
type scope struct {
	queue  grid.QueueName
	limits []limit
}

// who is whose a job is, as limits ask.
type who struct {
	user, group, project string
}

// capKey is one cap: of one user, group, project or array, or of all, in one scope.
type capKey struct {
	queue grid.QueueName
	of    byte
	whose string
	cores bool
}

// capTable makes the caps of a listing as jobs need them.
type capTable struct {
	l     *external.Listing
	index map[capKey]int
}

func (t *capTable) of(key capKey, most int64, why string) int {
	i, is := t.index[key]
	if !is {
		i = len(t.l.Caps)
		t.index[key] = i
		t.l.Caps = append(t.l.Caps, plan.Cap{Most: most, Cores: key.cores, All: key.of == 'o', Why: why})
	}
	return i
}

// under are the caps of a scope that a job of somebody falls under.
func (t *capTable) under(s scope, w who) (list []int) {
	for _, kind := range []struct {
		of    byte
		whose string
		word  string
	}{{'u', w.user, "user"}, {'g', w.group, "group"}, {'p', w.project, "project"}, {'o', "PBS_ALL", "all jobs"}} {
		for _, cores := range []bool{false, true} {
			if most, is := bound(s.limits, kind.of, kind.whose, cores); is {
				what := "running jobs"
				if cores {
					what = "cores"
				}
				where := "at the server"
				if s.queue != "" {
					where = "in queue " + string(s.queue)
				}
				list = append(list, t.of(capKey{s.queue, kind.of, kind.whose, cores}, most, fmt.Sprintf("%s of %s %s %s", what, kind.word, kind.whose, where)))
			}
		}
	}
	return list
}

// bound is what a list allows somebody.
func bound(list []limit, of byte, whose string, cores bool) (most int64, is bool) {
	for _, l := range list {
		switch {
		case l.of != of || l.cores != cores || whose == "":
		case l.whose == whose:
			return l.most, true
		case l.whose == eachOne:
			most, is = l.most, true
		}
	}
	return most, is
}

// capped gives each job the limits that it falls under, and one more job of ours. arrays is
// how many parts of an array may run, by the identifier of the array.
func capped(l *external.Listing, jobs []job, qs []queue, sv server, arrays map[grid.LocalID]int64, ours who) {
	t := &capTable{l: l, index: map[capKey]int{}}
	scopes := map[grid.QueueName]scope{}
	for _, q := range qs {
		if len(q.limits) > 0 {
			scopes[q.Name] = scope{q.Name, q.limits}
		}
	}
	all := scope{"", sv.limits}
	for i, j := range jobs {
		if j.suspended || j.Reservation != "" { // what waits there, waits for other reasons
			continue
		}
		w := who{j.User, j.group, j.project}
		l.Jobs[i].Caps = t.under(all, w)
		if s, is := scopes[l.Jobs[i].Queue]; is {
			l.Jobs[i].Caps = append(l.Jobs[i].Caps, t.under(s, w)...)
		}
		parent := arrayOf(j.Local)
		if most, is := arrays[parent]; is {
			l.Jobs[i].Caps = append(l.Jobs[i].Caps, t.of(capKey{whose: string(parent), of: 'a'}, most, "running parts of array "+string(parent)))
		}
	}
	l.Ours = t.under(all, ours)
	for i, q := range l.Queues {
		if s, is := scopes[q.Name]; is {
			l.Queues[i].Ours = t.under(s, ours)
		}
	}
}

// limit puts the limits into a listing. The group of a job is told to managers alone: where
// there are limits of groups, it is taken to be the first one of its user.
func (c *Client) limit(l *external.Listing, jobs []job, qs []queue, sv server, arrays map[grid.LocalID]int64) {
	ofGroups := func(list []limit) bool { return slices.ContainsFunc(list, func(l limit) bool { return l.of == 'g' }) }
	ours := who{user: c.own, project: "_pbs_project_default"}
	if ofGroups(sv.limits) || slices.ContainsFunc(qs, func(q queue) bool { return ofGroups(q.limits) }) {
		known := map[string]string{}
		group := func(name string) string {
			if g, is := known[name]; is || len(known) == maxLimits {
				return g
			}
			known[name] = ""
			if u, err := user.Lookup(name); err == nil {
				if g, err := user.LookupGroupId(u.Gid); err == nil {
					known[name] = g.Name
				}
			}
			return known[name]
		}
		for i := range jobs {
			jobs[i].group = cmp.Or(jobs[i].group, group(jobs[i].User))
		}
		ours.group = group(c.own)
	}
	capped(l, jobs, qs, sv, arrays, ours)
}

// arrayOf is the array that 20[3].pbs1 is a part of: 20[].pbs1; "" is none.
func arrayOf(id grid.LocalID) grid.LocalID {
	number, rest, is := strings.Cut(string(id), "[")
	_, server, closed := strings.Cut(rest, "]")
	if !is || !closed {
		return ""
	}
	return grid.LocalID(number + "[]" + server)
}
