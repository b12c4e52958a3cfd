package main

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"gbroker/api"
	"gbroker/grid"
)

func changed(n int, state grid.State, change func(*api.Status)) api.FeedEvent {
	s := &api.Status{ID: grid.JobID(fmt.Sprintf("here.%026d", n)), Name: "名前の長い仕事", State: state.String(), Owner: "there"}
	if change != nil {
		change(s)
	}
	return api.FeedEvent{Name: string(api.KindJob), Job: s}
}

// What runs stands first, then what waits by its start, then what has ended last; what changes moves.
func TestBoardOrder(t *testing.T) {
	t.Parallel()
	b := newBoard()
	for _, e := range []api.FeedEvent{
		changed(1, grid.Assigned, func(s *api.Status) { s.StartEstimateNow = 2000 }),
		changed(2, grid.Ready, nil),
		changed(3, grid.Assigned, func(s *api.Status) { s.StartEstimateNow = 1000 }),
		changed(4, grid.Running, nil),
		changed(5, grid.Running, nil),
		changed(5, grid.Completed, nil),
		{Name: api.EventRemoved, ID: fmt.Sprintf("here.%026d", 2)},
	} {
		b.change(e, api.Filter{})
	}
	b.change(changed(6, grid.Running, nil), api.Filter{Name: "other"})
	var order []string
	for _, s := range b.jobs {
		order = append(order, string(s.ID[len(s.ID)-1:]))
	}
	if got := strings.Join(order, ""); got != "4315" {
		t.Errorf("the order is %s", got)
	}
	for n := range mostEnded + 10 {
		b.change(changed(100+n, grid.Completed, nil), api.Filter{})
	}
	if len(b.jobs) != 3+mostEnded {
		t.Errorf("%d jobs are kept", len(b.jobs))
	}
}

// A job of a sweep that is new has had its turn; one that was seen waits for none.
func TestTurnsOnTheBoard(t *testing.T) {
	t.Parallel()
	b := newBoard()
	group := grid.GroupID("here.00000000000000000000000100.all")
	b.turns[group] = 2
	for i, left := range []int{1, 1, 0, 0} {
		n := []int{3, 3, 4, 5}[i]
		b.change(api.FeedEvent{Name: string(api.KindJob), Job: &api.Status{ID: group.Job(n), State: grid.Running.String()}}, api.Filter{})
		if b.turns[group] != left {
			t.Errorf("after job %d %d wait for their turn, not %d", n, b.turns[group], left)
		}
	}
}

// Whatever the size of the screen, it is filled and not more; keys scroll and end it.
func TestScreen(t *testing.T) {
	t.Parallel()
	m := tea.Model(screen{board: newBoard()})
	send := func(msg tea.Msg) (quits bool) {
		var cmd tea.Cmd
		m, cmd = m.Update(msg)
		if cmd != nil {
			if _, ticks := msg.(secondPassed); !ticks {
				_, quits = cmd().(tea.QuitMsg)
			}
		}
		return quits
	}
	for n := range 30 {
		send(jobChanged{changed(n, grid.Running, nil)})
	}
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 200, Height: 60}, {Width: 20, Height: 5}, {Width: 1, Height: 1}, {Width: 80, Height: 10}} {
		send(size)
		lines := strings.Split(m.View().Content, "\n")
		if want := max(size.Height, headLines+1); len(lines) != want {
			t.Errorf("%dx%d: %d lines", size.Width, size.Height, len(lines))
		}
		for _, l := range lines {
			if ansi.StringWidth(l) > size.Width {
				t.Errorf("%dx%d: %q is too long", size.Width, size.Height, l)
			}
		}
	}
	top := func() string { return strings.Split(m.View().Content, "\n")[headLines] }
	if before := top(); send(tea.KeyPressMsg{Code: tea.KeyDown}) || top() == before {
		t.Error("down does not scroll")
	}
	send(tea.KeyPressMsg{Code: tea.KeyHome})
	if !strings.Contains(top(), fmt.Sprintf("%026d", 0)) {
		t.Errorf("home shows %q", top())
	}
	for range 5 {
		send(tea.KeyPressMsg{Code: tea.KeyPgUp})
	}
	send(jobsListed{newBoard()})
	if got := m.View().Content; !strings.Contains(got, "no jobs") {
		t.Errorf("an empty list shows %q", got)
	}
	for _, key := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		if !send(key) {
			t.Errorf("%s does not end it", key)
		}
	}
	if !send(feedEnded{fmt.Errorf("gone")}) || m.(screen).failed == nil {
		t.Error("the end of the feed does not end it with an error")
	}
}
