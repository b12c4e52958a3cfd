// Package counted is a local scheduler under any [plan.Policy] on a machine that is only a
// number of cores and knows no nodes: that of the logs that package replay runs. A [Forecast]
// runs it forward. It is pure.
//
// # Beside package plan
//
// Package plan has the same policies by node, for sites as they are. Both exist because of
// their speed: a replay makes a pass for each job that comes or ends, and plan makes one from
// a whole snapshot. On the first 5,000 jobs of SDSC-SP2 under easy, on one node of as many
// cores, the passes of plan take about 80 times as long (BenchmarkPassByPass in package
// replay: 42,000 jobs in a second of the processor, not 3.3 million). And the reservations
// of cons-compress, which are kept from pass to pass, are in no snapshot at all.
//
// They are held against each other: on nodes of one core every job starts when it starts
// here under a policy of at most one reservation (package plan says why); on one node of many
// cores under every policy.
package counted
