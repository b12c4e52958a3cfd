// Package counted is a local scheduler under any [plan.Policy] on a machine that is only a
// number of cores and knows no nodes: that of the logs that package replay runs, and the sites of
// package brokers. A [Forecast] runs it forward. It is pure.
//
// # Beside package plan
//
// Package plan has the same policies by node, for sites as they are. Both exist because of
// their speed: a replay makes a pass for each job that comes or ends, and plan makes one from
// a whole snapshot. How many times as long plan takes, on one node of as many cores:
//
//	                fcfs     firstfit  firstfit:8  easy    easysjbf  easy:1:sjf  easy:4  cons-rebuild  cons-compress
//	pass by pass    320-410  150-230   290-470     75-160  70-80     80          65-75   33-35         -
//	a whole plan    9        6         8           5       4         8           3.5     5-9           15
//
//	go test ./sim/replay -run - -bench PassByPass -benchtime 3x
//	go test ./sim/replay/counted -run - -bench PlanAgainstCounted -benchtime 20x
//
// The reservations of cons-compress, which are kept from pass to pass, are in no snapshot.
//
// They are held against each other: on nodes of one core every job starts when it starts
// here under a policy of at most one reservation (package plan says why); on one node of many
// cores under every policy.
package counted
