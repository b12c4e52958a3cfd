package stage

import (
	"net/url"
	"strings"
	"sync"
	"time"
)

// paces remember how fast files came from the hosts of URIs: of each a mean in which the last file counts for a
// quarter. They begin anew with the process, as the ways between sites do.
type paces struct {
	mu   sync.Mutex
	rate map[string]float64 // bytes a second, by scheme and host
}

const (
	worthPace = 1 << 20 // bytes from which a file tells of the way, and not of the wait for it
	lastCount = 0.25
	maxPaces  = 1000
)

// paceKey is what the way to a place is told by.
func paceKey(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// learn takes a file that came.
func (p *paces) learn(uri string, bytes int64, took time.Duration) {
	if bytes < worthPace || took <= 0 {
		return
	}
	key, now := paceKey(uri), float64(bytes)/took.Seconds()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate == nil {
		p.rate = map[string]float64{}
	}
	old, known := p.rate[key]
	if known {
		now = lastCount*now + (1-lastCount)*old
	}
	if !known && len(p.rate) >= maxPaces {
		for k := range p.rate { // any of them
			delete(p.rate, k)
			break
		}
	}
	p.rate[key] = now
}

// of is how fast files come from the host of a URI; 0 is not known.
func (p *paces) of(uri string) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rate[paceKey(uri)]
}
