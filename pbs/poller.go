package pbs

// Poller is a System that sees its batch system by polls.
type Poller interface {
	// Poll asks for one now, as something has changed, and returns at once.
	Poll()
	// Trouble is why nothing is known of the batch system now; nil is well.
	Trouble() error
}
