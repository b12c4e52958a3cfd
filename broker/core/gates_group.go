package core

// beforeEntering is what has to be known before a job of a group enters, where a lost branch of this
// journal may have made it.
func (c *gates) beforeEntering(recovered bool) gate {
	switch {
	case !recovered:
		return open
	case c.recovery.recounting():
		return untilAll
	case c.silent(1):
		return untilNeighbours
	case !c.recovery.read():
		return untilDirectory
	}
	return open
}

// beforeCounting is what has to be known before jobs that have entered are counted: nothing, as they are in the same
// commit.
func (c *gates) beforeCounting() gate {
	if c.without(EnteredUncounted) {
		return untilGroup
	}
	return open
}

// beforeEndingRest is what has to be known before jobs whose turn has not come end before it: a lost branch of
// this journal may have made them.
func (c *gates) beforeEndingRest(recovered bool) gate {
	if c.without(RestGoesOn) {
		return untilGroup
	}
	return c.beforeEntering(recovered)
}
