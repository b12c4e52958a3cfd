package netmon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
)

// LinksProtocol names the streams on which neighbours ask for forecasts; [Monitor.Tell] serves them.
const LinksProtocol = "/gbroker/links/1"

// maxAsked bounds the peers of one question.
const maxAsked = 64

const (
	maxQuestion = 16 << 10
	maxAnswer   = 128 << 10
	maxSizes    = 16
	askLimit    = 5 * time.Second
	longestRTT  = time.Hour
)

// question is about the ways to some peers.
type question struct {
	Peers []grid.PeerID `json:"peers"`
}

// answered is the way to one peer.
type answered struct {
	Peer  grid.PeerID `json:"peer"`
	RTTS  float64     `json:"rtt_s"` // 0 is not measured
	Rates []sized     `json:"rates"`
}

type sized struct {
	Size     int64   `json:"size"`
	Rate     float64 `json:"bytes_per_s"`
	Measured bool    `json:"measured"`
}

// Tell answers a question about the ways from here to peers. Of who is no neighbour that is alive nothing is said. It closes c.
func (m *Monitor) Tell(from grid.PeerID, c net.Conn) {
	defer c.Close()
	if !m.enter(from) {
		return
	}
	defer m.leave(from)
	if err := m.tellLinks(c); err != nil {
		m.log.Debug("a question about links was not answered", zap.String("peer", string(from)), zap.Error(err))
	}
}

func (m *Monitor) tellLinks(c net.Conn) error {
	c.SetDeadline(time.Now().Add(askLimit))
	var q question
	line, err := bufio.NewReader(io.LimitReader(c, maxQuestion)).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &q)
	}
	if err != nil {
		return fmt.Errorf("reading the question: %w", err)
	}
	if len(q.Peers) > maxAsked {
		return fmt.Errorf("%w: a question about %d peers: at most %d", grid.ErrInvalid, len(q.Peers), maxAsked)
	}
	answer := []answered{}
	for _, p := range q.Peers {
		if l, alive := m.forecast(p); alive {
			answer = append(answer, toldOf(p, l))
		}
	}
	if err := json.NewEncoder(c).Encode(answer); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func (m *Monitor) forecast(p grid.PeerID) (grid.Link, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.links[p]
	if l == nil || !l.alive {
		return grid.Link{}, false
	}
	return l.way.link(time.Now()), true
}

func toldOf(p grid.PeerID, l grid.Link) answered {
	a := answered{Peer: p, RTTS: l.RTTFine}
	for _, r := range l.Rates {
		a.Rates = append(a.Rates, sized{r.Size, r.BytesPerSecond, r.Measured})
	}
	return a
}

// Ask asks a neighbour for its ways to some peers. A neighbour of before does not know the protocol, which is an error;
// of a peer that is none of its own it says nothing.
func (m *Monitor) Ask(ctx context.Context, whom grid.PeerID, about []grid.PeerID) (map[grid.PeerID]grid.Link, error) {
	ctx, done := context.WithTimeout(ctx, askLimit)
	defer done()
	about = about[:min(len(about), maxAsked)]
	c, err := m.cfg.Dialer.Open(ctx, whom, LinksProtocol)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its links: %w", whom, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(c).Encode(question{about}); err != nil {
		return nil, fmt.Errorf("asking %s for its links: %w", whom, err)
	}
	var answer []answered
	if err := json.NewDecoder(io.LimitReader(c, maxAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("what %s says of its links: %w", whom, err)
	}
	links := map[grid.PeerID]grid.Link{}
	for _, a := range answer {
		if !slices.Contains(about, a.Peer) {
			continue
		}
		if links[a.Peer], err = a.link(); err != nil {
			return nil, fmt.Errorf("what %s says of its link to %s: %w", whom, a.Peer, err)
		}
	}
	return links, nil
}

// link is what was told, within what can be.
func (a *answered) link() (l grid.Link, err error) {
	if len(a.Rates) < 1 || len(a.Rates) > maxSizes || !(a.RTTS >= 0) {
		return l, fmt.Errorf("%w: %d rates, and a round trip of %v s", grid.ErrInvalid, len(a.Rates), a.RTTS)
	}
	if l.RTTFine = min(a.RTTS, longestRTT.Seconds()); l.RTTFine > 0 {
		l.RTT = max(grid.FromSeconds(l.RTTFine), grid.Millisecond)
	}
	for i, r := range a.Rates {
		if r.Size <= 0 || i > 0 && r.Size <= a.Rates[i-1].Size || !(r.Rate > 0) || math.IsInf(r.Rate, 0) {
			return l, fmt.Errorf("%w: %v bytes a second for messages of %d bytes", grid.ErrInvalid, r.Rate, r.Size)
		}
		l.Rates = append(l.Rates, grid.Rate{Size: r.Size, BytesPerSecond: min(max(r.Rate, slowest), fastest), Measured: r.Measured})
	}
	return l, nil
}
