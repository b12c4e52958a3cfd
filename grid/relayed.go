package grid

import "slices"

// Relayed is a request of a user that another broker has passed on. Its numbers grow.
type Relayed struct {
	By     PeerID
	Number uint64
}

// maxRelayed bounds of how many brokers the last request is kept.
const maxRelayed = 8

// relayedSpan is by how much the numbers of one broker differ that can meet: an older one is late, one that is
// further behind is of another life of that broker.
const relayedSpan = 1 << 36

// Overtaken tells how r lies to what is kept: it is the very last of that broker, or was sent before that.
func (h *AtHome) Overtaken(r Relayed) (same, older bool) {
	k := slices.IndexFunc(h.Relayed, func(o Relayed) bool { return o.By == r.By })
	if k < 0 {
		return false, false
	}
	behind := h.Relayed[k].Number - r.Number
	return behind == 0, behind > 0 && behind < relayedSpan
}

// Relay keeps r as the last of its broker.
func (h *AtHome) Relay(r Relayed) {
	others := slices.DeleteFunc(slices.Clone(h.Relayed), func(o Relayed) bool { return o.By == r.By })
	if len(others) >= maxRelayed {
		others = others[1:]
	}
	h.Relayed = append(others, r)
}
