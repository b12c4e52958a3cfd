// Package plan reckons what a site will run when. It is pure: from a [Snapshot]
// of a batch system it builds an immutable [Plan], from which questions for the
// earliest start of one more job are answered. A plan keeps what is free as one line of
// steps for each node.
//
// # The policy
//
// A snapshot names the [Policy] of its scheduler. In a pass the jobs of the queue are
// taken in its order; each starts if its shares stay free for its whole limit beside
// every reservation that is not its own, else it gets one of the policy's reservations,
// else it waits. [Pass] does that once, [Build] does it at every instant at which
// something ends or begins until nobody waits: one code for what a site does and for
// what it would do.
//
// Ends are what the scheduler is promised: [Running.End] and start plus
// [Waiting.Limit]. A job that runs beyond its end is expected to end one
// millisecond after the snapshot. In a plan made by [Likely] jobs end sooner than
// that; the scheduler's own reservations still rest on limits. Whenever one does, a
// conservative policy moves or makes anew all reservations: where 50 jobs or more wait, a
// likely plan makes those of the first ten alone (easy:10), from 2,000 on that of the
// first (easy), which costs a small part of that. The speed of a node
// changes no limit. A scheduler that looks at its queue at intervals notices an end so much
// later ([Snapshot.Lag], which a [Cycle] learns): in a plan every end makes room only then.
//
// [Plan.Ask] has one more job start in the first pass in which there is room for it
// beside what the pass has reserved, as it would at the end of the queue. In a likely plan
// under cons-compress that is not quite so: there it would have a reservation of its own,
// which could keep others from moving.
//
// A waiting job that can never start as the site is (Refuse says why) has no planned
// start and blocks nobody, nor does one that is ineligible.
//
// # Placement
//
// A piece of a chunk lies on one node and takes its cores (at least one), memory and
// resources there; several pieces may share a node. Chunks are placed from the
// largest pieces to the smallest, each on the first nodes with room. For a demand
// of one chunk this finds a place whenever there is one; for several chunks it may
// miss a tight packing. An exclusive job takes nodes on which nothing else runs, and
// all of each. A queue, an architecture, a system and properties narrow the nodes.
// A node that is down has no room, now or later: nobody can say when it returns.
//
// # Which nodes
//
// Under a policy of one reservation, the head's reservation takes the nodes that come
// free the latest before it begins (those that one job leaves, in their order), and is
// chosen anew in each pass; who starts takes
// the nodes first on which a reservation lies ahead. So on nodes of one core every job
// starts exactly when a scheduler starts it that only counts cores
// (package sim/replay/counted). For let f nodes be free now, F at the
// shadow, and h be what the head needs. Of its h nodes no more are free now than must
// be: max(0, h-(F-f)). A job that ends by the shadow may take any free node, as in the
// counted view. One that runs on finds f-max(0, h-(F-f)) = min(f, F-h), which is the
// counted min(free, extra). A short job takes reserved nodes first: then f falls by
// what it takes and F-h stays, and the counted extra stays too; only when they are
// used up it takes others, and then f < F-h already. A long one takes what it needs
// of both. So both views hold the same numbers after each start, and FCFS and
// FirstFit reserve nothing.
//
// Policies of many reservations place everybody on the first nodes with room, and a
// reservation names its nodes from when it is made. The counted view does not: it may
// start a job on cores that are never together on one node for long enough. There the
// two agree only where nothing fragments over time.
//
// # Reservations
//
// A job that waits and has a [Reservation] is bound to it: it stands outside the
// queue, starts when the reservation begins, on its nodes, which are kept for all of
// its limit, and never sooner. If it could not start by the end (somebody overran) it
// joins the queue, and others in begun reservations are tried again. Any other reservation keeps its shares from everybody.
package plan
