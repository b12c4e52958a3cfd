package daemon

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/overlay"
	"gbroker/overlay/topology"
)

// maxWords bounds a list of tags or names.
const maxWords = 64

// words reads one word or a list of them; a word is written as a site's name is.
func (r *neighbours) words(n ast.Node, what string) (list []string) {
	r.document.list(n, what, maxWords, true, func(n ast.Node) {
		text, ok := r.text(n, what)
		if !ok {
			return
		}
		if err := grid.CheckName(text); err != nil {
			r.note(n, "%s: %v", what, err)
			return
		}
		list = append(list, text)
	})
	return list
}

// readRule reads by what rule neighbours are chosen.
func (r *neighbours) readRule(n ast.Node) {
	number := func(what string, to *int) func(ast.Node) {
		return func(n ast.Node) {
			parsed(&r.document, n, what, to, within(0, topology.MaxDegree, strconv.Itoa, wholeNumber))
		}
	}
	r.fields(n, "the topology", []field{
		{name: "rule", aka: "kind", required: "rule: one of explicit, full, ring, grid, random, nearest", read: func(n ast.Node) {
			if text, ok := r.text(n, "rule"); ok {
				r.rule.Kind = topology.Kind(text)
			}
		}},
		{name: "degree", aka: "k", read: number("degree", &r.rule.Degree)},
		{name: "at_most", aka: "most limit", read: number("at_most", &r.rule.AtMost)},
		{name: "by", read: func(n ast.Node) {
			switch text, ok := r.text(n, "by"); {
			case ok && text == "bandwidth":
				r.rule.Bandwidth = true
			case ok && text != "round_trip":
				r.note(n, "by: %q is no measure: write round_trip or bandwidth", form.Clip(text))
			}
		}},
		{name: "tags", aka: "tag", list: true, read: func(n ast.Node) { r.rule.Tags = r.words(n, "tags") }},
		{name: "organisations", aka: "organisation organizations", list: true, read: func(n ast.Node) { r.rule.Organisations = r.words(n, "organisations") }},
		{name: "always", list: true, read: func(n ast.Node) {
			for _, w := range r.words(n, "always") {
				r.rule.Always = append(r.rule.Always, grid.SiteName(w))
			}
		}},
		{name: "accept", aka: "offers", read: func(n ast.Node) {
			if v, ok := r.yes(n, "accept"); ok {
				r.accept = v
			}
		}},
	})
	if err := r.rule.Validate(); err != nil {
		r.note(n, "topology: %v", err)
	}
}

// readRelay reads what is done for members that meet through here.
func (r *neighbours) readRelay(n ast.Node) {
	r.relay = &overlay.Relay{AtMost: relayedMembers, Rate: relayedRate}
	r.fields(n, "the relay", []field{
		{name: "rate", aka: "rate_limit limit", read: func(n ast.Node) { parsed(&r.document, n, "rate", &r.relay.Rate, ParseRate) }},
		{name: "at_most", aka: "most members", read: func(n ast.Node) {
			parsed(&r.document, n, "at_most", &r.relay.AtMost, within(1, maxMembers, strconv.Itoa, wholeNumber))
		}},
	})
}

// What is relayed where the file says no more.
const (
	relayedMembers = 16
	relayedRate    = 1_000_000 // bytes per second
)

// Known is the members as a rule sees them, with what is measured.
func (n Neighbourhood) Known(measured map[grid.PeerID]topology.Known) []topology.Known {
	known := make([]topology.Known, 0, len(n.Members))
	for _, m := range n.Members {
		k := measured[m.Peer]
		known = append(known, topology.Known{Name: m.Name, Peer: m.Peer, Tags: m.Tags, Organisation: m.Organisation, RTT: k.RTT, Bandwidth: k.Bandwidth})
	}
	return known
}

// Idle tells which words of the rule no member has, so that they choose nothing.
func (n Neighbourhood) Idle() (list []string) {
	for _, w := range []struct {
		field, what string
		wanted      []string
		has         func(m grid.Member, word string) bool
	}{
		{"always", "is called", namesOf(n.Rule.Always), func(m grid.Member, word string) bool { return string(m.Name) == word }},
		{"tags", "has the tag", n.Rule.Tags, func(m grid.Member, word string) bool { return slices.Contains(m.Tags, word) }},
		{"organisations", "is of", n.Rule.Organisations, func(m grid.Member, word string) bool { return m.Organisation == word }},
	} {
		for _, word := range w.wanted {
			if !slices.ContainsFunc(n.Members, func(m grid.Member) bool { return w.has(m, word) }) {
				list = append(list, fmt.Sprintf("topology: %s: no member %s %s", w.field, w.what, word))
			}
		}
	}
	return list
}

func namesOf(sites []grid.SiteName) (names []string) {
	for _, s := range sites {
		names = append(names, string(s))
	}
	return names
}

// Chosen are the members that the rule makes neighbours of a site, in the order of the file.
func (n Neighbourhood) Chosen(self grid.PeerID, measured map[grid.PeerID]topology.Known) []grid.Member {
	chosen := map[grid.PeerID]bool{}
	for _, c := range n.Rule.Plan(self, n.Known(measured)) {
		chosen[c.Peer] = c.Chosen
	}
	return slices.DeleteFunc(slices.Clone(n.Members), func(m grid.Member) bool { return !chosen[m.Peer] })
}

// Pauses of the rule: between looks at what is known, and between choices by measures that only changed.
const (
	ruleEvery    = time.Minute
	measureEvery = time.Hour
)

// ruling is the rule at work.
type ruling struct {
	file     Neighbourhood
	measured map[grid.PeerID]measure // also of those that are not chosen now: theirs stays as it was
	accepted map[grid.PeerID]bool    // those that members proposed and the rule took
	at       time.Time               // of the last choice
	open     bool                    // some that were chosen were not measured then
}

// measure is what was last measured of a member.
type measure struct {
	link grid.Link
	at   time.Time
}

// passedOver is a member that the rule does not choose, with what was measured of it, if it was.
type passedOver struct {
	grid.Member
	measure
}

// note keeps what is measured of a member now.
func (r *ruling) note(p grid.PeerID, l grid.Link, now time.Time) {
	if _, ok := l.Largest(); ok || l.RTTFine > 0 {
		r.measured[p] = measure{l, now}
	}
}

// seen is what is measured, as a rule sees it.
func (r *ruling) seen() map[grid.PeerID]topology.Known {
	seen := make(map[grid.PeerID]topology.Known, len(r.measured))
	for p, m := range r.measured {
		k := topology.Known{RTT: m.link.RTTFine}
		if rate, ok := m.link.Largest(); ok {
			k.Bandwidth = rate.BytesPerSecond
		}
		seen[p] = k
	}
	return seen
}

// passed are the members that are not among the chosen.
func (r *ruling) passed(all, chosen []grid.Member) (list []passedOver) {
	for _, m := range all {
		if !slices.ContainsFunc(chosen, func(c grid.Member) bool { return c.Peer == m.Peer }) {
			list = append(list, passedOver{m, r.measured[m.Peer]})
		}
	}
	return list
}

// known are the members of the file, and those of now that were accepted before: they stay, also where their records are not
// found now.
func (r *ruling) known(now []grid.Member) []grid.Member {
	list := slices.Clone(r.file.Members)
	for _, m := range now {
		if r.accepted[m.Peer] && !slices.ContainsFunc(list, func(k grid.Member) bool { return k.Peer == m.Peer }) {
			list = append(list, m)
		}
	}
	return list
}

// takeNeighbours takes up what the file says now.
func (s *site) takeNeighbours(n Neighbourhood) error {
	s.ruleMu.Lock()
	defer s.ruleMu.Unlock()
	old := s.rule.file
	s.rule.file = n
	if err := s.chooseNeighbours(); err != nil {
		s.rule.file = old
		return err
	}
	s.overlay.SetGridKey(n.GridKey)
	return s.overlay.SetRelay(n.Relay)
}

// keepRule looks at intervals whether the rule chooses otherwise.
func (s *site) keepRule(ctx context.Context) error {
	tick := time.NewTicker(ruleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s.ruleMu.Lock()
		due := s.rule.file.Accept || s.rule.file.Rule.Kind == topology.Nearest && (s.rule.open || time.Since(s.rule.at) > measureEvery)
		if due {
			if err := s.chooseNeighbours(); err != nil {
				s.log.Error("the neighbours stay as they were", zap.Error(err))
			}
		}
		s.ruleMu.Unlock()
	}
}

// chooseNeighbours makes the neighbours those that the rule chooses now; s.ruleMu is held.
func (s *site) chooseNeighbours() error {
	for _, m := range s.memberList() {
		s.rule.note(m.Peer, s.monitor.Link(m.Peer), time.Now())
	}
	n := s.rule.file
	if n.Accept {
		known := s.rule.known(s.memberList())
		offered := s.proposed(known)
		for _, m := range offered {
			s.rule.accepted[m.Peer] = true
		}
		n.Members = append(known, offered...)
	}
	members := n.Chosen(s.self, s.rule.seen())
	s.rule.at, s.rule.open = time.Now(), false
	for _, m := range members {
		s.rule.open = s.rule.open || s.rule.measured[m.Peer].link.RTTFine == 0
	}
	s.mu.Lock()
	s.passed = s.rule.passed(n.Members, members)
	s.mu.Unlock()
	if sameMembers(members, s.memberList()) {
		return nil
	}
	if err := s.overlay.SetMembers(members); err != nil {
		return err
	}
	s.mu.Lock()
	s.members = members
	s.mu.Unlock()
	s.broker.Post(core.MembersChanged{Members: members}) // before what waits for a disk: who is shown to be a neighbour is asked for its estimates
	s.keepNames(members)
	s.monitor.SetPeers(members)
	s.takeReach(members)
	s.repriced()
	return nil
}

// proposed are the sites that neighbours have as members and that the file does not name, as members of here. One
// whose name is taken is left out: an administrator has to name it.
func (s *site) proposed(file []grid.Member) (list []grid.Member) {
	ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
	defer cancel()
	offers, err := s.offers(ctx)
	if err != nil {
		s.log.Debug("no offers of neighbours", zap.Error(err))
		return nil
	}
	for _, o := range offers {
		if len(o.by) == 0 {
			continue
		}
		taken := func(m grid.Member) bool { return m.Peer == o.record.Peer || m.Name == o.record.Site }
		if o.record.Site == s.facts.Name || slices.ContainsFunc(file, taken) || slices.ContainsFunc(list, taken) {
			continue
		}
		list = append(list, grid.Member{
			Name: o.record.Site, Peer: o.record.Peer, Addresses: o.record.Addresses, Send: true, DefaultBandwidth: grid.DefaultBandwidth,
		})
	}
	slices.SortFunc(list, func(a, b grid.Member) int { return strings.Compare(string(a.Peer), string(b.Peer)) })
	return list[:min(len(list), max(0, maxMembers-len(file)))]
}

// passedOver are the members of the file that are no neighbours now, for the rule does not choose them.
func (s *site) passedOver() []passedOver {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.passed)
}
