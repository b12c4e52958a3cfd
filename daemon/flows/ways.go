package flows

import (
	"context"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
)

const (
	// waysLife is how long an answer of a site about its ways to others is believed, or that it gave none.
	waysLife = time.Minute
	// maxWays is how many sites are asked about their ways to each other.
	maxWays = 64
	// waySize is the message by which the rate of a way is told: files of workflows are long.
	waySize = 8 << 20
)

// ways are those of other sites to each other, as they have told them.
type ways struct {
	mu   sync.Mutex
	told map[grid.PeerID]toldWays
}

// toldWays is the answer of one, or that there was none.
type toldWays struct {
	at    time.Time
	about int // how many it was asked about
	links map[grid.PeerID]grid.Link
}

// between are the ways of the places but the first to each other, by their names: how fast they are. A way counts where both ends know each other, as only then one takes files
// from the other; of one that nobody tells of it is reckoned that data go by the home.
func (k *Keeper) between(ctx context.Context, views []api.SiteView, places []workflow.Place) (list []map[string]float64) {
	peers := map[string]grid.PeerID{}
	for i := range views {
		peers[string(views[i].Site.Name)] = views[i].Peer
	}
	others := places[min(1, len(places)):min(len(places), 1+maxWays)]
	about := make([]grid.PeerID, len(others))
	for i := range others {
		about[i] = peers[others[i].Name]
	}
	links := make([]map[grid.PeerID]grid.Link, len(others))
	var all sync.WaitGroup
	for i := range others {
		if len(others) > 1 {
			all.Go(func() { links[i] = k.ways.of(ctx, k.config.Jobs, about[i], about) })
		}
	}
	all.Wait()
	for i := range others {
		rates := map[string]float64{}
		for j := range others {
			to, there := links[i][about[j]]
			if _, back := links[j][about[i]]; i != j && there && back {
				rates[others[j].Name], _ = to.Bandwidth(waySize)
			}
		}
		list = append(list, rates)
	}
	return list
}

// of are the ways of a site to others, asked for where the last answer is too old.
func (w *ways) of(ctx context.Context, jobs Jobs, site grid.PeerID, about []grid.PeerID) map[grid.PeerID]grid.Link {
	w.mu.Lock()
	t, known := w.told[site]
	w.mu.Unlock()
	if known && time.Since(t.at) < waysLife && t.about >= len(about) {
		return t.links
	}
	links, err := jobs.Links(ctx, site, about)
	if err != nil && ctx.Err() != nil {
		return t.links // nothing is known anew
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) > 2*maxWays {
		clear(w.told)
	}
	w.told[site] = toldWays{time.Now(), len(about), links}
	return links
}
