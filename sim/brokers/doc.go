// Package brokers runs a grid in virtual time: many brokers, each the daemon's own [core.Core] on the daemon's own
// [core.Host], over modelled sites: batch systems of package counted, each under a policy of package plan, on so many cores without nodes. It answers how good the decisions are,
// beside brokers that decide otherwise, and beside a central one that knows everything.
//
// A run is one goroutine, and the same on any machine for the same [World].
package brokers
