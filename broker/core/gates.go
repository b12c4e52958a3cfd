package core

import "gbroker/grid"

// gates tell what has to be known before something is done. All paths that do it ask the same
// gate, and none asks by itself what this broker may not know. They take no events, and change nothing.
//
//	gates_job.go   of a job owned here or of this home: start, cancel, end, tell the end, start again, drop what it left
//	gates_word.go  of the word of others: become owner, take a job back, give an offer up, acknowledge, adopt, deny
//	gates_group.go of the jobs of a group that are made from a template: enter, be counted, be ended before that
//	gates_site.go  of this site as a whole: search, sweep, what lies beside the journal
//	gates_number.go  which numbers count: stamps, positions, reservations
//
// The rules that a checker switches off ([Rules]) stand here, in what is asked before an action.
type gates struct {
	*kernel
	ownership interface {
		unproven(job *grid.Job, digest grid.Hash, certificates []grid.Certificate) doubt
	}
	recovery interface {
		asking() string
		successorsWord(j *job) string
		begunAnew() bool
		mayLack(j *job) bool
		read() bool
		tracesOf(id grid.JobID) grid.Epoch
		recounting() bool
		missed(p grid.PeerID, at grid.Epoch) bool
	}
	terms interface {
		keepsBack(j *job) keeping
	}
}

// gate is what has to be known before something is done, if that is not known yet.
type gate uint8

const (
	open            gate = iota // nothing more has to be known
	untilAll                    // the journal was rolled back: all members are asked first
	untilLearnt                 // the journal was lost: its jobs are learnt again
	untilNeighbours             // what they saw of this broker
	untilDirectory              // its control directory
	untilCertain                // the home alone knows whether it has run
	untilHome                   // the home has not been heard lately
	untilOwner                  // its owner alone knows whether it has ended
	untilOutput                 // what it left is not here
	untilTaken                  // its home has not taken what it left
	untilToken                  // the start token knows whether it has started
	untilSilent                 // the other may still answer
	untilInquired               // the word may be older than what is known here: the other is asked
	untilForgotten              // an administrator alone can know
	untilGroup                  // others of its group are to come, or have not ended
	untilReported               // who got it from a site that was forgotten may not have been heard
	forNobody                   // the home has given the job to another, or given it up
	forAnother                  // the word is not for what there is here
	itStarted                   // it has started since
	itMayRun                    // it may still run
	itEnded                     // it has ended
	keptHere                    // what it left is kept here for its user
	journalBehind               // the other has dealt with a later journal of this broker
	untilDue                    // its home keeps it back; see terms.go
	itIsDone                    // the word was heard before
	overtaken                   // a later word of the same broker was heard before
	untilSites                  // not all sites of a co-allocated job have said so
	untilVersion                // the other has an older version of the job
	untilGiver                  // who gave it to an owner that has declined it may take it back
	untilInputs                 // whether its inputs are here
	placedHere                  // it waits here to start
	toBeCancelled               // its user wants its end
)

// String is for people.
func (g gate) String() string {
	return [...]string{
		"may go on", "waits until all neighbours were asked: the journal was rolled back",
		"waits until its jobs are learnt again: the journal was lost",
		"waits until the neighbours have said what they know of this site's jobs",
		"waits until this site has read whether it has run here",
		"waits for its home, which alone knows whether it has run: the journal was rolled back", "waits until its home answers",
		"waits until the site that has it answers", "waits for its output", "waits until its home has taken its output",
		"waits until it is known whether it has started", "waits for an answer", "asks the other site what it meant", "waits until the site is forgotten",
		"waits for others of its group", "waits for who may have got it from the site that was forgotten", "superseded",
		"is not what there is here", "has started", "may still run", "has ended",
		"its result is kept here", "this journal was rolled back", "is kept back at its home",
		"was done before", "was overtaken by a later wish of the same broker",
		"waits until all its sites have answered", "waits until the site that has it knows of the change",
		"waits until who gave it away takes it back, or has let go of it", "waits until this site has looked for its inputs",
		"waits to start here", "is to be cancelled",
	}[g]
}

// silent reports that a member has not spoken in this life, within so many deadlines of
// an EstimateRequest for the word whether it lives, and as many more for what it saw.
func (c *gates) silent(deadlines grid.Tick) bool {
	since, first := c.now-c.start, deadlines*c.cfg.EstimateDeadline
	if c.start == 0 || since >= 2*first {
		return false
	}
	for _, m := range c.members {
		if !m.heard && since < first || m.live != grid.Dead && !m.told {
			return true
		}
	}
	return false
}
