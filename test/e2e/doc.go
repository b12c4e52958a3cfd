// Package e2e tests the whole system: the built programs, real daemons on loopback,
// real jobs. A test says what it needs by [newSite], [start] and [introduce]; what it
// made is gone after it, processes too.
package e2e
