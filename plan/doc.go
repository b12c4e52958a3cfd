// Package plan reckons what a site will run when. It is pure: from a [Snapshot]
// of a batch system it builds an immutable [Plan], from which questions for the
// earliest start of one more job are answered.
//
// # The policy
//
// First come, first served with EASY backfill and one reservation:
//
//  1. Jobs start in the order of the queue as long as they fit.
//  2. The first that does not fit is the head. It gets a reservation: the shares
//     and the instant (the shadow) at which, by the ends of what runs, it first fits.
//  3. A later job may start before the head if it fits now and either ends by the
//     shadow, or needs only what the head's reservation leaves over on each node.
//     So the head is never delayed by backfill; the others may be.
//
// Ends are what the scheduler is promised: [Running.End] and start plus
// [Waiting.Limit]. A job that runs beyond its end is expected to end one
// millisecond after the snapshot.
//
// # Placement
//
// A piece of a chunk lies on one node and takes its cores (at least one) and its
// memory there; several pieces may share a node. Chunks are placed from the
// largest pieces to the smallest, each on the first nodes with room. For a demand
// of one chunk this finds a place whenever there is one; for several chunks it may
// miss a tight packing.
//
// # Nodes that are down
//
// A down node has no room, now or later: nobody can say when it returns. A demand
// that only fits with it is refused for now, and a waiting job of that kind is
// passed over: it blocks nobody and has no planned start until a snapshot shows
// the node up.
//
// # Policies
//
// [Counted] is a local scheduler under any [Policy], on a machine that is only a
// number of cores: what logs are replayed with. [Forecast] runs one forward, and
// [RunTimes] believes how long jobs really run.
//
// # Views of what is free
//
// [Timeline] is the counted view for many readers: any resources, immutable, with
// cheap changes. The steps that [Counted] keeps are the same function of cores alone,
// changed in place by one scheduler. By node, [Plan] knows what is free where; summed
// over the nodes it is the counted view, which so refuses nothing that a placement on
// nodes could do, but may grant what no single node can hold.
package plan
