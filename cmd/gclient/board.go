package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// board is what top shows: the jobs that have not ended, and the last that have.
type board struct {
	jobs []api.Status // those that run, those that wait, those that have ended
	more int          // that are not shown
	// turns are how many jobs of sweeps wait for their turn: until then they are in no list.
	turns map[grid.GroupID]int
}

const (
	mostLive  = 10_000 // more are counted alone
	mostEnded = 50
)

func newBoard() *board { return &board{turns: map[grid.GroupID]int{}} }

// fill lists the jobs anew.
func (b *board) fill(ctx context.Context, c *api.Client, f api.Filter) error {
	if len(f.States) == 0 {
		var err error
		if f.States, err = parseStates([]string{"live"}); err != nil {
			return err
		}
	}
	err := pages(ctx, c, f, "", 0, func(jobs []api.Status) error {
		b.jobs = append(b.jobs, jobs...)
		if over := len(b.jobs) - mostLive; over > 0 {
			b.jobs, b.more = b.jobs[over:], b.more+over // the oldest
		}
		return nil
	})
	b.order()
	if err != nil || f.Site != "" || f.Group != "" || !slices.Contains(f.States, grid.Submitted) { // they stand at no site, and a group lists all of its own
		return err
	}
	page, err := c.Groups(ctx)
	for i := range page.Groups {
		if g := &page.Groups[i]; g.Sweep && passes(f, g) {
			b.turns[g.ID] = forTheirTurn(g)
		}
	}
	return err
}

// change takes a change up.
func (b *board) change(e api.FeedEvent, f api.Filter) {
	id := grid.JobID(e.ID)
	if e.Job != nil {
		id = e.Job.ID
	}
	was := len(b.jobs)
	b.jobs = slices.DeleteFunc(b.jobs, func(s api.Status) bool { return s.ID == id })
	if group, n := id.Group(); n > 0 && was == len(b.jobs) && b.turns[group] > 0 {
		b.turns[group]-- // it is new: its turn has come, or it has ended before
	}
	if e.Job != nil && meant(e.Job, f) && len(b.jobs) < mostLive+mostEnded {
		b.jobs = append(b.jobs, *e.Job)
	}
	b.order()
}

// meant is what the broker says of a filter, for a job that changed. One that has just ended is shown where live ones are.
func meant(s *api.Status, f api.Filter) bool {
	state, err := grid.ParseState(s.State)
	if err != nil {
		return false
	}
	if len(f.States) > 0 && !slices.Contains(f.States, state) {
		return false
	}
	f.States = nil
	r := grid.Record{Job: grid.Job{ID: s.ID, Name: s.Name, User: grid.User{Name: s.User}}, Submitted: grid.Tick(s.Submitted)}
	return f.Passes(&r, func(grid.PeerID) string { return string(s.Owner) })
}

// rank is where a job stands.
func rank(s *api.Status) int {
	switch {
	case s.Terminal():
		return 2
	case s.State == grid.Running.String():
		return 0
	}
	return 1
}

func (b *board) order() {
	slices.SortFunc(b.jobs, func(x, y api.Status) int {
		order := cmp.Compare(rank(&x), rank(&y))
		switch rank(&x) {
		case 0:
			order = cmp.Or(order, cmp.Compare(x.Started, y.Started))
		case 1:
			order = cmp.Or(order, cmp.Compare(known(x.StartEstimateNow), known(y.StartEstimateNow)))
		default:
			order = cmp.Or(order, cmp.Compare(y.Ended, x.Ended))
		}
		return cmp.Or(order, cmp.Compare(x.ID, y.ID))
	})
	first := slices.IndexFunc(b.jobs, func(s api.Status) bool { return rank(&s) == 2 })
	if first >= 0 && len(b.jobs)-first > mostEnded {
		b.jobs = b.jobs[:first+mostEnded]
	}
}

// known puts what has no estimate last.
func known(t api.Time) api.Time {
	if t == 0 {
		return 1 << 62
	}
	return t
}

// headLines stand above the jobs.
const headLines = 3

var boardColumns = []string{"id", "name", "state", "site", "start", "run", "exit"}

// text is the board as a table, cut to a width if that is not 0, from a row on.
func (b *board) text(at api.Time, width, first int, coloured bool) string {
	var out strings.Builder
	counts := map[string]int{}
	for i := range b.jobs {
		counts[b.jobs[i].State]++
	}
	var states []string
	for _, s := range allStates() {
		if n := counts[s.String()]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, s))
		}
	}
	turns := 0
	for _, n := range b.turns {
		turns += n
	}
	if turns > 0 {
		states = append(states, fmt.Sprintf("%d for their turn", turns))
	}
	if len(states) == 0 {
		states = []string{"no jobs"}
	}
	if b.more > 0 {
		states = append(states, fmt.Sprintf("%d older ones", b.more))
	}
	fmt.Fprintf(&out, "%s  %s\n\n", soon(at, at), strings.Join(states, ", "))
	shown, _ := columnsOf(boardColumns)
	t := cli.FittedTo(&out, width, 1)
	for i, c := range shown {
		fmt.Fprint(t, c.head, between(i, len(shown)))
	}
	for i := range b.jobs[min(first, len(b.jobs)):] {
		s := &b.jobs[min(first, len(b.jobs))+i]
		for k, c := range shown {
			text := c.text(s)
			if c.name == "state" && coloured {
				text = cli.Paint(text, colourOf(s.State, exitText(s)))
			}
			fmt.Fprint(t, text, between(k, len(shown)))
		}
	}
	_ = t.Flush() // a strings.Builder takes all
	return out.String()
}

// lines is as much of it as the screen holds, and a last line with the keys.
func (b *board) lines(at api.Time, width, height, first int, coloured bool) string {
	rest := max(0, height-headLines-1)
	lines := strings.Split(strings.TrimSuffix(b.text(at, width, first, coloured), "\n"), "\n")
	if len(lines) > headLines+rest {
		lines = lines[:headLines+rest]
	}
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], width, "")
	}
	for len(lines) < headLines+rest {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, ansi.Truncate("q ends, arrows scroll", width, "")), "\n")
}
