// Package broker runs the core of one site: [Broker] feeds it events and does what it decides,
// through the ports [Peers], [Batch], [Stager], [Journal] and [Hints]. What is decided, and the
// protocols with other brokers, are in package core.
//
//	broker.go   the loop: events, Step, one commit for many steps, effects in order; a life of a Core
//	effect.go   what each effect does
//	executor.go slow effects, in order for each job, side by side
//	request.go  what users ask, and readers see
//	admin.go    what administrators ask; stalls; what is written beside the journal
//	view.go     the durable records, for readers
//	pulse.go    when this process was stopped
//	disk.go     when the disk is full
//
// Invariant (persist before anything is seen): no effect and no answer of a step leaves before
// the saves of all steps up to it are durable.
package broker
