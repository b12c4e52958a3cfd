package overlay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"gbroker/grid"
)

// large skips what takes minutes.
func large(t *testing.T) {
	t.Helper()
	if os.Getenv("GBROKER_WAN") == "" {
		t.Skip("GBROKER_WAN=1 runs it")
	}
}

// sparse joins n brokers at random, each with some degree of others.
func sparse(n, degree int) (edges [][2]int) {
	has := make([]int, n)
	join := func(i, j int) {
		edges = append(edges, [2]int{min(i, j), max(i, j)})
		has[i]++
		has[j]++
	}
	for i := 1; i < n; i++ {
		join(rand.IntN(i), i)
	}
	for tries := 0; len(edges) < n*degree/2 && tries < 100*n*degree; tries++ {
		i, j := rand.IntN(n), rand.IntN(n)
		if i != j && has[i] <= degree && has[j] <= degree && !beside(edges, i, j) {
			join(i, j)
		}
	}
	return edges
}

// crowd starts n brokers of one grid, of which each has eight members, with the pace of sites that are far from each other.
func crowd(t *testing.T, n, replicas int) ([]*broker, [][2]int) {
	t.Helper()
	key := NewGridKey()
	all := several(t, n)
	for _, b := range all {
		c := b.config()
		c.GridKey, c.Profile = key, WAN
		b.replicas, b.places = replicas, n // all are at one address
		b.run(c)
	}
	edges := sparse(n, 8)
	begun := time.Now()
	join(t, all, edges)
	t.Logf("%d brokers, %d members each in the mean: all see theirs after %v", n, 2*len(edges)/n, time.Since(begun).Round(100*time.Millisecond))
	return all, edges
}

// tables are the sizes of the routing tables, in order.
func tables(all []*broker) (sizes []int) {
	for _, b := range all {
		sizes = append(sizes, b.over.current.Load().dht.RoutingTable().Size())
	}
	slices.Sort(sizes)
	return sizes
}

// looked is how much the DHT has received at some brokers, in bytes.
func looked(all []*broker) (bytes int64) {
	for _, b := range all {
		bytes += b.over.traffic.GetBandwidthForProtocol(recordsProtocol).TotalIn
	}
	return bytes
}

// The records of a hundred brokers, each kept by eight, are found after any third of them was lost.
func TestRecordsOutliveAThird(t *testing.T) {
	large(t)
	const n, jobs = 100, 200
	all, _ := crowd(t, n, 8)
	until := time.Now().Add(3 * time.Minute)
	for time.Now().Before(until) && tables(all)[0] < 20 {
		time.Sleep(time.Second) //house:allow sleep: nothing tells of a routing table
	}
	sizes := tables(all)
	t.Logf("routing tables: %d at least, %d in the middle", sizes[0], sizes[n/2])
	id := func(i int) grid.JobID { return grid.JobID(fmt.Sprintf("site%d.01ARZ3NDEKTSV4RRFFQ69G%04d", i%n, i)) }
	spread(t, "publishing an owner", jobs, func(ctx context.Context, i int) error {
		err := all[i%n].over.PublishOwner(ctx, id(i), grid.Epoch{Term: 1})
		for tries := 1; err != nil && tries < 5; tries++ { // where a hundred brokers share little of a processor, one may be late
			err = all[i%n].over.PublishOwner(ctx, id(i), grid.Epoch{Term: 1})
		}
		return err
	})
	for _, round := range []string{"all there", "a third lost"} {
		alive := all
		if round != "all there" {
			rand.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
			var ending sync.WaitGroup
			for _, b := range all[:n/3] {
				ending.Go(b.stop)
			}
			ending.Wait()
			alive = all[n/3:]
		}
		before, took := looked(alive), make([]time.Duration, jobs)
		spread(t, round, jobs, func(ctx context.Context, i int) error {
			begun := time.Now()
			_, err := alive[rand.IntN(len(alive))].over.FindOwner(ctx, id(i))
			took[i] = time.Since(begun)
			return err
		})
		slices.Sort(took)
		t.Logf("%s: %d owners looked up: %v in the middle, %v at the 95th percentile, %d bytes each", round, jobs,
			took[jobs/2].Round(time.Millisecond), took[jobs*95/100].Round(time.Millisecond), (looked(alive)-before)/jobs)
	}
}

// spread does something n times, four at a time, and fails for each error.
func spread(t *testing.T, what string, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	var working sync.WaitGroup
	turns := make(chan struct{}, 4)
	for i := range n {
		turns <- struct{}{}
		working.Go(func() {
			defer func() { <-turns }()
			if err := do(t.Context(), i); err != nil {
				t.Errorf("%s, %d of %d: %v", what, i, n, err)
			}
		})
	}
	working.Wait()
}

// With eight members each, whoever outlives the loss of a third at once knows within a minute which of its members are lost.
func TestAllAgreeWithinAMinute(t *testing.T) {
	large(t)
	const n = 48
	all, edges := crowd(t, n, 20)
	lost := map[*broker]bool{}
	for _, i := range rand.Perm(n)[:n/3] {
		lost[all[i]] = true
	}
	begun := time.Now()
	var ending sync.WaitGroup
	for b := range lost {
		ending.Go(b.stop)
	}
	ending.Wait()
	stopped := time.Since(begun)
	var took []time.Duration
	for _, e := range edges {
		for _, pair := range [][2]*broker{{all[e[0]], all[e[1]]}, {all[e[1]], all[e[0]]}} {
			if b, gone := pair[0], pair[1]; lost[gone] && !lost[b] {
				b.until(fmt.Sprintf("%s is dead", gone.name), func() bool { return b.last(gone.peer()) == grid.Dead })
				took = append(took, b.lastAt(gone.peer()).Sub(begun))
			}
		}
	}
	slices.Sort(took)
	t.Logf("stopped within %v; %d deaths were noticed after %v in the middle, %v at the last", stopped.Round(time.Millisecond), len(took),
		took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	if took[len(took)-1] > time.Minute {
		t.Error("later than a minute")
	}
	for i, b := range all {
		for j, o := range all {
			if !lost[b] && !lost[o] && beside(edges, i, j) && b.over.Liveness(o.peer()) != grid.Alive {
				t.Errorf("%s, which lives, is %v at %s", o.name, b.over.Liveness(o.peer()), b.name)
			}
		}
	}
}
