package brokers

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// neighbourhood is the brokers of all sites, each with its members.
type neighbourhood struct {
	r       *run
	brokers []*broker
	byPeer  map[grid.PeerID]*broker
}

func newNeighbourhood(r *run) *neighbourhood {
	n := &neighbourhood{r: r, byPeer: make(map[grid.PeerID]*broker, len(r.w.Sites))}
	for i := range r.w.Sites {
		h := &broker{
			n: n, r: r, site: i, peer: grid.PeerID("peer-" + strconv.Itoa(i)), batch: r.sites[i],
			prefix: r.w.Sites[i].Name + ".", journal: map[grid.JobID]*grid.Record{},
		}
		h.batch.tell, h.batch.passed = h.changed, h.noted
		n.brokers = append(n.brokers, h)
		n.byPeer[h.peer] = h
	}
	for _, h := range n.brokers {
		h.begin()
	}
	for _, h := range n.brokers {
		h.meet()
	}
	n.begun()
	return n
}

// begun lets all that follows of the start happen before the first job comes.
func (n *neighbourhood) begun() {
	for do, ok := n.r.soon.pop(); ok; do, ok = n.r.soon.pop() {
		do()
	}
	n.r.result.Messages = 0
}

// members are those of a site.
func (r *run) members(i int) []int {
	if len(r.w.Members) == 0 {
		return nil
	}
	return r.w.Members[i]
}

// arrive hands a job in at its home.
func (n *neighbourhood) arrive(k int32) {
	h, j := n.brokers[n.r.w.Jobs[k].Home], &n.r.w.Jobs[k]
	job := grid.Job{
		ID: n.jobID(k), Name: j.Application, Home: h.peer, User: grid.User{Home: h.peer, Name: j.User}, Walltime: j.Limit,
		Program: grid.Program{Executable: "/bin/true"}, Demand: demand(int32(j.Cores)),
	}
	inputs := grid.Manifest{{Path: "data", Size: n.size(j.Bytes), Mode: 0o644}}
	if len(n.r.members(h.site)) > 0 {
		job.Inputs = inputs
	}
	h.Post(core.Submit{Token: 1, Job: job})
	if len(job.Inputs) > 0 {
		h.Post(core.Uploaded{Token: 2, Job: job.ID, Inputs: inputs})
	}
	h.turn()
}

// cancelling is the token of a user's cancel, which may come after the end.
const cancelling core.Token = 3

// cancel has the user of a job cancel it at its home.
func (n *neighbourhood) cancel(k int32) {
	n.brokers[n.r.w.Jobs[k].Home].post(core.CancelRequest{Token: cancelling, Job: n.jobID(k), By: "its user"})
}

// size is what the files of a job take: where all deliveries take the same time, all are alike.
func (n *neighbourhood) size(bytes int64) int64 {
	if n.r.w.Delivery > 0 {
		return 1
	}
	return max(1, bytes)
}

// jobID is its identifier.
func (n *neighbourhood) jobID(k int32) grid.JobID {
	digits := strconv.Itoa(int(k))
	return grid.JobID(n.brokers[n.r.w.Jobs[k].Home].prefix + "00000000000000000000000000"[len(digits):] + digits)
}

// number of a job by its identifier.
func number(id grid.JobID) int32 {
	k, err := strconv.Atoi(string(id[strings.LastIndexByte(string(id), '.')+1:]))
	if err != nil {
		panic(fmt.Sprintf("%q is no identifier of a job here: %v", id, err)) // all are made by jobID
	}
	return int32(k)
}

// link is what a broker knows of the way to a member: a delivery takes as long as it says, document and all.
func (n *neighbourhood) link(from, to int) grid.Link {
	const document = 1 << 10 // as core reckons
	rate := 1e15
	switch {
	case n.r.w.Delivery > 0:
		rate = (document + 1) / n.r.w.Delivery.Seconds()
	case n.r.w.Link != nil:
		if l := n.r.w.Link(from, to); l.Bandwidth > 0 {
			rate = l.Bandwidth
		}
	}
	return grid.Link{Rates: []grid.Rate{{Size: 1 << 10, BytesPerSecond: rate, Measured: true}}}
}

// send says a message, which comes at once or after the latency of the link.
func (n *neighbourhood) send(from *broker, e core.Send) {
	to := n.byPeer[e.To]
	if from.away || to.away {
		return
	}
	if m, asks := e.Message.(wire.EstimateRequest); asks && n.byOldView(from, to, m) {
		return
	}
	if m, offers := e.Message.(wire.Offer); offers {
		from.sends(to.site, number(m.Job.ID))
	}
	n.r.result.Messages++
	if m, asks := e.Message.(wire.EstimateRequest); asks {
		n.asked(from, m)
	}
	deliver := func() { to.hear(from, e.Message) }
	if n.r.w.Link != nil && n.r.w.Delivery == 0 {
		if l := n.r.w.Link(from.site, to.site); l.Latency > 0 {
			n.r.at(n.r.now+l.Latency, deliver)
			return
		}
	}
	n.r.soon.push(deliver)
}

// asked notes a question, and of which jobs it is the first: they have no place yet.
func (n *neighbourhood) asked(from *broker, m wire.EstimateRequest) {
	n.r.result.Asked++
	for _, q := range m.Questions {
		if k := number(q.Job); from.batch.held[k] == nil {
			n.r.result.Jobs[k].Asked = true
		}
	}
}

func (h *broker) hear(from *broker, m wire.Message) {
	if !h.away && !from.away {
		h.post(core.Message{From: from.peer, Message: m})
	}
}

// signature stands for one by the key behind a peer ID: nobody here forges.
func signature(by grid.PeerID, text []byte) []byte {
	h := fnv.New64a()
	h.Write([]byte(by))
	h.Write(text)
	return h.Sum(nil)
}
