package pool

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/pool"
)

// bags are the means of a measure for kinds of replication, over fresh seeds that all have in common.
func bags(t *testing.T, knows Information, seeds int, of func(*BagOutcome) float64) (mean map[pool.ReplicationKind]float64) {
	t.Helper()
	var models []Bag
	for kind := pool.NoReplication; kind <= pool.WQRFT; kind++ {
		m := StandardBag()
		m.Knows, m.Rule = knows, pool.Replication{Kind: kind, Most: 2, Informed: knows != None}
		models = append(models, m)
	}
	seed := rand.Uint64() >> 16
	rows, partial := RunBags(t.Context(), models, Options{Seed: seed, Seeds: seeds, Workers: 2})
	if partial || len(rows) != len(models) {
		t.Fatalf("seed %d: %d rows, partial: %v", seed, len(rows), partial)
	}
	mean = map[pool.ReplicationKind]float64{}
	for i := range rows {
		mean[rows[i].Model.Rule.Kind], _ = rows[i].Mean(of)
	}
	t.Logf("seed %d, %s: %v", seed, knows, mean)
	return mean
}

// Each kind of replication is good for what it is made for: copies save tasks that are cut off, restarts lose none, and who knows all wastes least.
func TestLargeReplicationInABag(t *testing.T) {
	t.Parallel()
	lost := bags(t, None, 16, func(o *BagOutcome) float64 { return float64(o.Lost) })
	if lost[pool.WQR] >= lost[pool.NoReplication] || lost[pool.WQRR] != 0 || lost[pool.WQRFT] != 0 {
		t.Errorf("lost are %v", lost)
	}
	blind := bags(t, None, 8, func(o *BagOutcome) float64 { return o.Wasted })
	full := bags(t, Full, 8, func(o *BagOutcome) float64 { return o.Wasted })
	if full[pool.WQRR] >= blind[pool.WQRR] || full[pool.NoReplication] >= blind[pool.NoReplication] {
		t.Errorf("wasted are %v, and with full information %v", blind, full)
	}
}

// One seed gives one result, and the worlds of a seed are the same whatever the rule is.
func TestBagIsRepeatable(t *testing.T) {
	t.Parallel()
	m, seed := StandardBag(), rand.Uint64()>>16
	m.Rule = pool.Replication{Kind: pool.WQRFT, Most: 3}
	a, _ := m.Run(seed, never)
	b, _ := m.Run(seed, never)
	if !reflect.DeepEqual(a, b) || a.Makespan <= 0 || a.Stretch < 1 || a.Wasted < 0 || a.Wasted >= 1 {
		t.Errorf("seed %d: %+v and %+v", seed, a, b)
	}
}

// A computer has performance when its owner is away and it is up, and no other time.
func TestLifeOfAComputer(t *testing.T) {
	t.Parallel()
	m := StandardBag()
	seed := rand.Uint64()
	l := m.live(rand.New(rand.NewPCG(seed, 1)), 100*grid.Hour)
	for i, at := range l.fails {
		if l.At(at) != 0 || l.At(l.back[i]-1) != 0 {
			t.Fatalf("seed %d: it is down from %d to %d, and has H %v", seed, at, l.back[i], l.At(at))
		}
	}
	if share := l.Done(0, 100*grid.Hour) / (360_000 * l.mean); share < 0.5 || share > 1.4 {
		t.Errorf("seed %d: it does %.2f of what its owner leaves on average", seed, share)
	}
	if f := l.until(0); f.At(l.fails[0]) != 0 || f.First(l.fails[0]) != pool.Never {
		t.Errorf("seed %d: who knows all sees it after its failure", seed)
	}
}
