// Package flow plans workflows: graphs of jobs with data between them, over executors with several resources, so that the
// whole ends first. It is pure. Times are integers, in microseconds.
//
// # The model
//
// A vertex is a [Job], which runs in one of its configurations (amounts of resources and whole GPUs, with a run time
// by executor), a [Source] of data at an executor, once or again and again, or a [Destination]. An edge carries data
// of a size, or is an order without data. An [Executor] has amounts of resources and GPUs with identities; what others
// have of it ([Taken]) is closed to the plan. A job gets all that its configuration needs from its start to its end,
// and of GPUs the same ones throughout.
//
// # The algorithm, and the traps of its printed form
//
// The algorithm is PMR-HEFT: periodic, multi-resource heterogeneous earliest finish time. Its formulas are meant as
// follows; where the printed form says otherwise, this is what is implemented.
//
//   - succ and pred. succ(v) are those that need data of v, pred(v) those whose data v needs. Printed, the names
//     are swapped. The upward rank goes over succ, the instant at which data are ready over pred.
//   - (2.11), mean run time: the mean over all pairs of executor and configuration in which the job can run. A pair in
//     which it cannot is in neither the sum nor the count. Printed, the count may be zero: a job that can run nowhere
//     is refused by name here, so it never is.
//   - (2.12), mean transfer: mean latency + size / mean bandwidth. It is zero for an edge without data, and where
//     there is one executor only.
//   - (2.13), mean bandwidth: over all ordered pairs of two different executors. Printed, it sums one triangle of
//     the matrix with the diagonal; but a bandwidth from a to b need not be that from b to a, and nothing is sent from
//     an executor to itself.
//   - Upward rank: rank(v) = mean run time(v) + max over s in succ(v) of (mean transfer(v,s) + rank(s)); 0 for the
//     maximum of nothing. Ranks are not integers. Equal ranks are ordered so that whoever is needed comes first.
//   - Virtual source and sink: several sources get one before them and several sinks one behind, of no time and edges
//     without data. They change neither rank nor time, so they are not stored: the end of the plan is the latest end.
//   - (2.30), transfer from i to j: latency(i) + size / bandwidth(i,j), rounded up; zero if i = j or the size is
//     zero. Printed, it is bandwidth over size, and the start-up latency is omitted.
//   - (2.36), data ready: the latest arrival over pred(v), and not before the release of v. Printed, the running
//     maximum is updated where the new value is less.
//   - FindSlot: the earliest instant, not before the data are ready, from which all resources of the configuration
//     are free for its whole run. Printed, it gives up where the slot at the start lacks resources, never tests
//     that the first slot alone may be long enough, and never resets the resources that it gathers along the slots. Here, free
//     capacity is one step function of vectors for each executor (package steps, as in package plan): it
//     is gone through once, and behind each step that has less of any resource than the need the search begins anew.
//   - Reserve: the steps from start to end, of which the first and last are split there, lose what the configuration needs. Printed, it
//     subtracts from the piece before the start.
//   - The (executor, configuration) with the earliest end wins; among equals the first.
//
// # Periodic graphs
//
// Instance k of a source of rate f is there at its offset + floor(k 10^6 / f) microseconds: reckoned from k each time, so
// that no period drifts. The source whose data come the most seldom sets the pace: instance n of the graph
// belongs to instance n of its data. Instances are planned one after another, each beside those before it, so that they
// overlap as far as there is room. Of each other source an instance takes the latest data that no earlier instance took and that
// are there when those of the slowest are; and later ones yet, where all jobs that use them still get them before
// they start. [Instance.Data] says which. Where the time that instances take grows without end the throughput is not
// sustained: [ErrOverload] names the resource of which the most is in use.
//
// # Beyond the earliest finish time
//
//	PEFT       an optimistic cost table: for each vertex and executor the least time from there to the end. Its
//	           mean over executors is the order among those that are ready; end plus table is the choice.
//	CPOP       upward plus downward rank is the order; the critical path goes to the one executor that runs it the fastest.
//	Lookahead  the choice is what makes the last of those that need the vertex next end first. Of large graphs it is PEFT.
//	Replicate  HEFT; where a job would wait for data of a rerunnable one, a second run of that one on the spot is made if
//	           it ends before the data come.
//	Search     local search within a number of steps, from the best of these: a job to another executor or
//	           configuration, or to another place in the order.
//
// `gsim flow` measures them.
package flow
