package overlay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// Is a broker that vanished and came back, at another port, alive again at all others?
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 3} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			all := several(t, size)
			connect(t, all, mesh(size))
			for _, b := range all {
				for _, other := range all {
					if other != b {
						remembers(t, b, other)
					}
				}
				b.stop()
				for _, other := range all {
					if other != b {
						other.until("word of "+string(b.name), func() bool { return other.last(b.peer()) != grid.Alive })
					}
				}
				c, before := b.over.config, b.where
				forgetPort(t, b)
				begin := time.Now()
				b.mu.Lock()
				b.moves = nil
				b.mu.Unlock()
				b.run(c)
				for _, other := range all {
					if other != b {
						other.sees(b, grid.Alive)
						b.sees(other, grid.Alive)
						remembers(t, other, b)
					}
				}
				if slices.Equal(before, b.where) {
					t.Errorf("%s has its old port: nothing was tested", b.name)
				}
				t.Logf("%s is alive again everywhere after %v", b.name, time.Since(begin).Round(time.Millisecond))
			}
		})
	}
}

// remembers waits until b knows where other is, which comes a moment after the connection.
func remembers(t *testing.T, b, other *broker) {
	t.Helper()
	eventually(t, "the address is remembered", func() bool {
		return slices.Equal(b.over.current.Load().memory.addresses(other.peer()), other.where)
	})
}

// forgetPort makes the next run take another port, as if the last were taken.
func forgetPort(t *testing.T, b *broker) {
	t.Helper()
	m, err := recall(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	m.setPorts(map[string]string{})
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
}

// Do brokers find each other again after all were down, by the addresses they remember?
func TestAllDown(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	connect(t, all, mesh(3))
	// Only what was learned: the member file of the lower numbers never had an address.
	for _, b := range all {
		b.stop()
	}
	for _, b := range all {
		b.mu.Lock()
		b.moves = nil
		b.mu.Unlock()
		b.run(b.over.config)
	}
	for _, b := range all {
		for _, other := range all {
			if b != other {
				b.sees(other, grid.Alive)
			}
		}
	}
}

// On a graph of members, is each member judged rightly by those that know it, and
// by nobody else, when one dies and comes back?
func TestGraphs(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	graphs := map[string][][2]int{
		"line":   {{0, 1}, {1, 2}, {2, 3}, {3, 4}},
		"ring":   {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}},
		"star":   {{0, 4}, {1, 4}, {2, 4}, {3, 4}},
		"random": randomGraph(rand.New(rand.NewPCG(seed, 0)), 5),
	}
	for name, edges := range graphs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d, edges %v", seed, edges)
			all := several(t, 5)
			connect(t, all, edges)
			quiet(t, time.Second, all, nil)

			victim := edges[len(edges)/2][1]
			all[victim].stop()
			for _, e := range edges {
				switch victim {
				case e[0]:
					all[e[1]].sees(all[victim], grid.Dead)
				case e[1]:
					all[e[0]].sees(all[victim], grid.Dead)
				}
			}
			quiet(t, time.Second/2, all, all[victim])
			all[victim].mu.Lock()
			all[victim].moves = nil
			all[victim].mu.Unlock()
			all[victim].run(all[victim].over.config)
			for _, e := range edges {
				all[e[0]].sees(all[e[1]], grid.Alive)
				all[e[1]].sees(all[e[0]], grid.Alive)
			}
			for i, b := range all {
				for _, m := range b.movesSince(0) {
					if !beside(edges, i, index(all, m.peer)) {
						t.Errorf("%s was told of %s, which it does not know", b.name, m.peer)
					}
				}
			}
		})
	}
}

// quiet watches for d, some probe intervals, that nobody's liveness changes; without is down.
func quiet(t *testing.T, d time.Duration, all []*broker, without *broker) {
	t.Helper()
	var marks []int
	for _, b := range all {
		marks = append(marks, b.count())
	}
	<-time.After(d) //house:allow sleep: the time is what is tested
	for i, b := range all {
		for _, m := range b.movesSince(marks[i]) {
			if b != without {
				t.Errorf("%s: %s became %v while nothing happened", b.name, all[index(all, m.peer)].name, m.l)
			}
		}
	}
}

func randomGraph(r *rand.Rand, n int) (edges [][2]int) {
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{r.IntN(i), i})
		for j := range i {
			if !beside(edges, i, j) && r.IntN(3) == 0 {
				edges = append(edges, [2]int{j, i})
			}
		}
	}
	return edges
}

func beside(edges [][2]int, i, j int) bool {
	for _, e := range edges {
		if e == [2]int{i, j} || e == [2]int{j, i} {
			return true
		}
	}
	return false
}

func index(all []*broker, p grid.PeerID) int {
	for i, b := range all {
		if b.peer() == p {
			return i
		}
	}
	return -1
}

// Does false word of a death, while the connection stands, end in Alive again and never in Dead?
func TestFalseDeath(t *testing.T) {
	t.Parallel()
	all := several(t, 2)
	a, b := all[0], all[1]
	a.grace = time.Hour // however busy this machine is
	connect(t, all, mesh(2))
	n, err := a.over.current.Load().member(b.peer())
	if err != nil {
		t.Fatal(err)
	}
	mark := a.count()
	n.setHeard(false)
	a.until("doubt", func() bool { return len(a.moves) > mark })
	n.setHeard(true)
	a.sees(b, grid.Alive)
	for _, m := range a.movesSince(mark) {
		if m.l == grid.Dead {
			t.Error("word of a death was believed at once while the connection stood")
		}
	}
}

// Of a member that is told dead while the connection stands the death is believed at the end of the grace, not before.
func TestLivenessOfAMember(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const grace = time.Second
	for _, c := range []struct {
		connected, listed, heard, removed bool
		ago                               time.Duration // of the word that it is dead
		want                              grid.Liveness
	}{
		{connected: true, listed: true, heard: true, want: grid.Alive},
		{connected: true, heard: true, want: grid.Doubtful},
		{heard: true, want: grid.Doubtful},
		{connected: true, ago: 0, want: grid.Doubtful},
		{connected: true, ago: grace - 1, want: grid.Doubtful},
		{connected: true, ago: grace, want: grid.Dead},
		{ago: 0, want: grid.Dead},
		{connected: true, listed: true, heard: true, removed: true, want: grid.Dead},
	} {
		n := &neighbour{grace: grace, connected: c.connected, listed: c.listed, heard: c.heard, removed: c.removed, verdict: now.Add(-c.ago)}
		if got := n.liveness(now); got != c.want {
			t.Errorf("%+v: it is %v", c, got)
		}
	}
}

// One member names the other, which does not name it: both must stay apart.
func TestOneSided(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	all[1].start()
	all[0].start(all[1].as())
	all[2].start()
	if err := all[0].over.SetMembers([]grid.Member{all[1].as(), all[2].as()}); err != nil {
		t.Fatal(err)
	}
	if err := all[2].over.SetMembers([]grid.Member{all[0].as()}); err != nil {
		t.Fatal(err)
	}
	all[0].sees(all[2], grid.Alive)
	<-time.After(500 * time.Millisecond) //house:allow sleep: a dozen pauses between attempts to dial; the time is what is tested
	if l := all[0].over.Liveness(all[1].peer()); l != grid.Dead {
		t.Errorf("a broker that refuses us is %v, want dead", l)
	}
	if len(all[1].movesSince(0)) != 0 || len(all[1].got) != 0 || len(all[1].hello) != 0 {
		t.Error("a broker heard one that is no member")
	}
}

// In a triangle one site drops another: the dropped one still hears of it through the
// third and doubts it, and the third, which has both, is not led astray by either.
func TestCutLink(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	connect(t, all, mesh(3))
	mark := all[2].count()
	if err := all[0].over.SetMembers([]grid.Member{all[2].as()}); err != nil {
		t.Fatal(err)
	}
	all[1].sees(all[0], grid.Doubtful)
	<-time.After(2500 * time.Millisecond) //house:allow sleep: longer than a false suspicion takes to become a death
	for _, m := range all[2].movesSince(mark) {
		if m.l == grid.Dead {
			t.Errorf("%s took %s for dead, which it is connected to", all[2].name, all[index(all, m.peer)].name)
		}
	}
	for _, b := range all[:2] {
		all[2].sees(b, grid.Alive)
	}
	t.Logf("the third saw %v", all[2].movesSince(mark))
}

// Where a broker listens on all interfaces, it says addresses that can be dialled.
func TestAddresses(t *testing.T) {
	t.Parallel()
	b, other := newBroker(t, "everywhere"), newBroker(t, "other")
	c := b.config(other.as())
	c.Listen = []string{"/ip4/0.0.0.0/tcp/0"}
	b.run(c)
	if len(b.where) == 0 {
		t.Fatal("there are no addresses")
	}
	for _, a := range b.where {
		if strings.Contains(a, "/0.0.0.0/") || checkAddress(a) != nil {
			t.Errorf("%s cannot be dialled", a)
		}
	}
	// The other can only dial out.
	c = other.config(b.as())
	c.Listen = nil
	other.run(c)
	other.sees(b, grid.Alive)
	b.sees(other, grid.Alive)
	if len(other.where) != 0 {
		t.Errorf("a broker that does not listen has the addresses %v", other.where)
	}
}
