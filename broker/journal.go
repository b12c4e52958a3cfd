package broker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Journals that went back, and twins. A journal has a random incarnation, made with
// it, and a sequence number that grows with every commit. Hello, Accept, Ready, Commit,
// Declined and Unknown carry both; everybody keeps the highest that it saw of every
// member and tells it back ([wire.Seen]), when it hears a Hello and when asked. What a
// broker is told of itself says:
//
//	its own incarnation, a higher sequence     it was rolled back: restored from a backup
//	its own incarnation, and a later one       likewise
//	in Owned or a report, a deed of its own    likewise, if its journal has not made that deed
//	another incarnation before its own         its journal was lost: it learns its jobs again
//	its own boot nonce, and another after it   a twin: two brokers run under one identity
//
// A broker that was rolled back knows jobs as its own that it has handed over since,
// and as waiting that have run. It starts nothing and hands nothing over. It asks
//
//   - every member: Recount, repeated until Recounted. The answer claims the jobs that
//     the member owns and whose home is here, those of this home that ended at the
//     member, of which it has a tombstone, and those that this site owns and whose home
//     the member is. It is settled when none of the first is newer than the record here
//     (the member's reports make it so), when the ends that are lacking here have come
//     (Recall: the member tells the job and its last report again, with the deeds), and of
//     the last, what is not owned here has been denied (Unknown: the home then shows the
//     job as lost);
//   - every home: a report of each job owned here. What is owned elsewhere since is
//     answered by Superseded, and let go;
//   - the start tokens and the batch system: for attempts that the journal lacks; see
//     trial.go.
//
// It is satisfied when all members have settled. Then the journal's sequence is raised
// to what was seen, so that nobody raises the alarm again. A member that will not
// come back is forgotten, or removed from the neighbours; it is not waited for.
//
// A broker that has a twin does nothing at all but answer readers, until an
// administrator has stopped one of the two and says so (or starts this one again).

// maxSequence is beyond what any journal reaches.
const maxSequence = 1 << 62

// rollback is what is still to be asked.
type rollback struct {
	to      uint64 // the highest sequence seen of this journal
	waiting map[grid.PeerID]bool
	unheard []grid.PeerID // those that were not waited for
	harmful bool          // one of these may still run something
}

// Durable tells how far the journal is: what is sent from now on says so. It is
// called after each commit and before its effects leave.
func (c *Core) Durable(sequence uint64) {
	c.cfg.Journal.Sequence = max(c.cfg.Journal.Sequence, sequence)
}

// committing is how far the journal is when the effects of this step leave: if the step
// saves, one commit further at least.
func (c *Core) committing() grid.JournalID {
	id := c.cfg.Journal
	if slices.ContainsFunc(c.out, func(e Effect) bool { _, saves := e.(Save); return saves }) {
		id.Sequence++
	}
	return id
}

// peerJournal takes the word of a peer's Hello, and tells it what was seen of it.
func (c *Core) peerJournal(e PeerJournal) {
	m := c.members[e.Peer]
	if m == nil {
		return
	}
	c.saw(e.Peer, e.Journal)
	if boots := c.boots[e.Peer]; len(boots) == 0 || boots[len(boots)-1] != e.Boot {
		boots = append(slices.Clone(boots), e.Boot)
		c.boots[e.Peer] = boots[max(0, len(boots)-wire.MaxBoots):]
	}
	c.tellSeen(e.Peer)
}

func (c *Core) tellSeen(p grid.PeerID) {
	m := c.members[p]
	m.mine = c.cfg.Journal.Sequence
	c.send(p, wire.Seen{Journals: c.marks[p], Boots: c.boots[p], Mine: c.cfg.Journal, Ask: !m.told})
}

// tellGrowth lets the live members know how far this journal has come since they
// were told.
func (c *Core) tellGrowth() {
	for _, p := range c.neighbours() {
		if m := c.members[p]; m.live == grid.Alive && m.told && m.mine != c.cfg.Journal.Sequence {
			c.tellSeen(p)
		}
	}
	c.armGeneral(growthDue, c.cfg.Digest)
}

// saw notes how far a member says its journal has come.
func (c *Core) saw(p grid.PeerID, id grid.JournalID) {
	if id == (grid.JournalID{}) {
		return
	}
	known := c.marks[p]
	k := slices.IndexFunc(known, func(o grid.JournalID) bool { return o.Incarnation == id.Incarnation })
	switch {
	case k < 0:
		known = append(slices.Clone(known), id)
		known = known[max(0, len(known)-wire.MaxJournals):]
	case id.Sequence > known[k].Sequence:
		known = slices.Clone(known)
		known[k] = id
	default:
		return
	}
	c.marks[p] = known
	c.emit(Saw{Peer: p, Journal: id})
}

// mark is how far the present journal of a peer was seen to be; zero if it never was.
func (c *Core) mark(p grid.PeerID) grid.JournalID {
	if n := len(c.marks[p]); n > 0 {
		return c.marks[p][n-1]
	}
	return grid.JournalID{}
}

// askSeen asks the live members that have not said yet what they saw of this broker.
func (c *Core) askSeen() {
	again := false
	for _, p := range c.neighbours() {
		if m := c.members[p]; m.live == grid.Alive && !m.told {
			c.tellSeen(p)
			again = true
		}
	}
	if again {
		c.armGeneral(seenDue, c.cfg.Retry)
	}
}

// onSeen is what a member saw of this broker.
func (c *Core) onSeen(from grid.PeerID, m wire.Seen) {
	c.members[from].told = true
	c.saw(from, m.Mine)
	if m.Ask {
		c.tellSeen(from)
	}
	if k := slices.Index(m.Boots, c.cfg.Boot); c.cfg.Boot != 0 && k >= 0 {
		for _, b := range m.Boots[k:] {
			if b != c.cfg.Boot {
				c.foundTwin(from)
				return
			}
		}
	}
	mine := c.cfg.Journal
	last := len(m.Journals) - 1
	for i, seen := range m.Journals {
		switch {
		case seen.Sequence > maxSequence: // no journal comes so far
		case seen.Incarnation != mine.Incarnation:
			c.bereft = true
		case seen.Sequence > mine.Sequence || i < last:
			c.rolledBack(c.hasSeen(from), seen.Sequence)
		}
	}
}

// foundTwin stops everything.
func (c *Core) foundTwin(told grid.PeerID) {
	if c.rolled == nil { // it goes on, when it may, as one that was rolled back: what the other did it does not know
		c.rolledBack("it had a twin", c.cfg.Journal.Sequence)
	}
	c.out = slices.DeleteFunc(c.out, func(e Effect) bool { _, saves := e.(Save); return !saves })
	c.twin = fmt.Sprintf("another broker runs under the identity of this one (%s has heard it): this one does nothing any more. "+
		"Stop the wrong one of the two, then say `gbroker resume` here", c.nameOf(told))
	c.emit(Alarm{c.twin})
}

// stopped answers what is asked of a broker that has a twin.
func (c *Core) stopped(ev Event) {
	e, asks := ev.(Request)
	if !asks {
		return
	}
	if _, goesOn := e.(Resume); goesOn {
		c.emit(Alarm{})
		c.emit(Answer{Token: e.token()})
		c.emit(Restart{})
		return
	}
	c.emit(Answer{Token: e.token(), Err: fmt.Errorf("%w: %s", grid.ErrUnavailable, c.twin)})
}

// rolledBack stops every start and handoff until all have been asked.
func (c *Core) rolledBack(how string, sequence uint64) {
	if c.cfg.Broken.Without(RollbackUnseen) {
		return
	}
	if c.rolled != nil {
		c.rolled.to = max(c.rolled.to, sequence)
		return
	}
	c.awaitAll(sequence)
	c.state.WentBack = true
	c.saveState()
	c.alarmRolled(how)
	for _, j := range c.sorted() {
		if j.rec.Handoff.Phase == grid.Offering || j.rec.Handoff.Phase == grid.Withdrawing {
			c.sendAbort(c.bond(j), "its journal was rolled back")
			c.dropOffer(j, "the offer died: the journal was rolled back")
		}
		if j.rec.Standing == grid.Owning {
			c.doubt(j)
		}
	}
	c.tryAll()
	c.recount()
}

// hasSeen says by whom it was found that this journal was rolled back.
func (c *Core) hasSeen(p grid.PeerID) string { return c.nameOf(p) + " has seen a later one" }

// doubt: in the part of the journal that is lost, a job owned here may have been handed
// over, or have ended. Its epochs leap beyond all that may have been used there. Where this
// is not its home, that knows; where it is, only the members do.
func (c *Core) doubt(j *job) {
	c.leap(j)
	switch j.rec.State {
	case grid.Running, grid.Finished, grid.StageOut:
	default:
		j.rec.Uncertain = true
	}
	if c.home(j) {
		c.save(j, "")
		return
	}
	j.homeHeard = 0
	c.save(j, "") // and so reported
	j.since = j.rec.Report
}

// What an epoch leaps by after a rollback: more than a job can have used since any backup.
const (
	hopLeap  = 1 << 16
	termLeap = 1 << 10
)

// leap makes the next offer of a job use an epoch that nobody has heard of.
func (c *Core) leap(j *job) {
	e := &j.rec.Handoff.Epoch
	if e.Before(j.rec.Epoch) {
		*e = j.rec.Epoch
	}
	e.Hop += hopLeap
}

// nextTerm is one that this home has not used before.
func (c *Core) nextTerm(j *job) uint32 {
	if c.state.WentBack && !c.cfg.Broken.Without(RollbackUnseen) {
		return j.rec.Epoch.Term + termLeap
	}
	return j.rec.Epoch.Term + 1
}

// awaitAll begins to wait for all members.
func (c *Core) awaitAll(sequence uint64) {
	c.rolled = &rollback{to: max(1, sequence), waiting: map[grid.PeerID]bool{}}
	for p := range c.members {
		c.rolled.waiting[p] = true
	}
}

// recoverRollback goes on asking where the last life stopped.
func (c *Core) recoverRollback() {
	if to := c.state.RolledBack; to != 0 {
		c.awaitAll(to)
		c.alarmRolled("that was found before the last start")
		c.recount()
	}
}

func (c *Core) alarmRolled(how string) {
	var names []string
	for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
		names = append(names, c.nameOf(p))
	}
	slices.Sort(names)
	c.emit(Alarm{fmt.Sprintf("the journal of this broker was rolled back (%s): it starts nothing before all neighbours were asked. "+
		"Still to answer: %v. One that will not come back: `gbroker forget SITE`, or remove it from the neighbours", how, names)})
}

// recount asks those that have not settled.
func (c *Core) recount() {
	for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
		c.send(p, wire.Recount{Sequence: c.rolled.to})
	}
	c.armGeneral(recountDue, c.cfg.Refresh)
	c.settle()
}

// onRecount tells a member that was rolled back what this site and it share.
func (c *Core) onRecount(from grid.PeerID) {
	var claims []wire.Claim
	for _, j := range c.sorted() {
		r := &j.rec
		switch {
		case len(claims) == wire.MaxClaims:
		case r.Standing == grid.Owning && r.Job.Home == from:
			claims = append(claims, wire.Claim{Job: r.Job.ID, Epoch: r.Epoch})
			j.known = false // the report brings its deeds
			c.disarm(j, onReport)
			c.report(j)
		case c.home(j) && r.Standing == grid.Watching && r.Owner == from:
			claims = append(claims, wire.Claim{Job: r.Job.ID, Epoch: claimed(r), Yours: true})
		}
	}
	for _, j := range c.tombstones(from) {
		if len(claims) < wire.MaxClaims {
			claims = append(claims, wire.Claim{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Ended: true})
		}
	}
	for _, j := range inOrder(c.jobs) {
		if len(claims) < wire.MaxClaims {
			claims = append(claims, c.passedOn(j, from)...)
		}
	}
	c.send(from, wire.Recounted{Claims: claims})
}

// passedOn tells one that was rolled back of a job that went through its hands, and may
// be its own in the journal that it has now. A home hears who got it from here; another
// hears that it gave the job away.
func (c *Core) passedOn(j *job, from grid.PeerID) []wire.Claim {
	r := &j.rec
	switch {
	case len(r.Deeds) == 0 || c.home(j) || r.Standing == grid.Prepared || r.Standing == grid.Declined:
	case r.Job.Home == from && r.Standing == grid.Past && r.Owner != c.cfg.Self && j.lastDeed().To != "":
		c.send(from, wire.Moved{Job: r.Job.ID, Deeds: r.Deeds}) // asked again, it is said again
		return []wire.Claim{{Job: r.Job.ID, Epoch: r.Deeds[len(r.Deeds)-1].Epoch, Yours: true}}
	case r.Job.Home != from:
		by := r.Job.Home
		for _, d := range r.Deeds {
			if by == from && d.To != from {
				c.send(from, wire.Owned{Bond: wire.Bond{Job: r.Job.ID, Epoch: d.Epoch, To: d.To, Digest: j.sum()}, Owner: r.Owner, Deed: d})
				return []wire.Claim{{Job: r.Job.ID, Epoch: d.Epoch}}
			}
			by = d.To
		}
	}
	return nil
}

// tombstones are those of a home's jobs that this site owned to their end, the latest
// first: a home that was restored may have forgotten that end. As long as a home keeps
// every record, a job that it does not know is one that it has lost.
func (c *Core) tombstones(home grid.PeerID) []*job {
	var list []*job
	for _, j := range c.jobs {
		if j.rec.Job.Home == home && j.ended() && c.now-j.rec.Ended <= keyLife && j.lastDeed().To == c.cfg.Self {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.rec.Ended, a.rec.Ended), cmp.Compare(a.rec.Job.ID, b.rec.Job.ID))
	})
	return list
}

// ended reports that this is the tombstone of a job that ended here and whose home has
// acknowledged that.
func (j *job) ended() bool {
	return j.rec.Standing == grid.Past && j.rec.Closed && j.rec.End != 0
}

// onRecounted compares a member's claims with the records here.
func (c *Core) onRecounted(from grid.PeerID, m wire.Recounted) {
	if c.rolled == nil || !c.rolled.waiting[from] {
		return
	}
	lacking := false
	for _, k := range m.Claims {
		j := c.jobs[k.Job]
		switch {
		case k.Ended && c.lacksEnd(from, j, k):
			c.send(from, wire.Recall{Job: k.Job})
			lacking = true
		case !k.Yours && !k.Ended && c.lacksOwner(j, k), k.Yours && j != nil && c.home(j) && j.rec.Epoch.Before(k.Epoch) && !j.rec.State.Terminal():
			lacking = true // its report is on the way, or the deed
		case k.Yours && (j == nil || j.rec.Standing != grid.Prepared && j.rec.Epoch.Before(k.Epoch)):
			c.send(from, wire.Unknown{Bond: wire.Bond{Job: k.Job, Epoch: k.Epoch, To: c.cfg.Self}, Journal: c.cfg.Journal})
		}
	}
	if lacking {
		return // asked again
	}
	delete(c.rolled.waiting, from)
	c.settle()
}

// lacksOwner reports that the record here is older than what a member tells of its owner.
func (c *Core) lacksOwner(j *job, k wire.Claim) bool {
	if k.Job.Site() == c.cfg.Site.Name {
		return j == nil || j.rec.Epoch.Before(k.Epoch)
	}
	return j != nil && j.rec.Standing == grid.Owning && j.rec.Epoch.Before(k.Epoch)
}

// lacksEnd reports that the record here does not have the end that a member's tombstone tells.
func (c *Core) lacksEnd(from grid.PeerID, j *job, k wire.Claim) bool {
	switch {
	case j == nil:
		return k.Job.Site() == c.cfg.Site.Name
	case !c.home(j) || k.Epoch.Before(claimed(&j.rec)):
		return false
	}
	return claimed(&j.rec).Before(k.Epoch) || j.rec.Owner == from && !j.rec.State.Terminal()
}

// resume goes on without those that have not answered.
func (c *Core) resume(e Resume) {
	if c.rolled == nil {
		c.rolledBack("its administrator says that it had a twin", c.cfg.Journal.Sequence)
	} else {
		for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
			c.notAwaited(p, true)
		}
	}
	c.emit(Answer{Token: e.Token})
}

// notAwaited: a site that is forgotten, or no member any more, is not waited for. It may
// have got any job of this home that is in doubt. Harmless is an administrator's word that
// nothing of them can run there.
func (c *Core) notAwaited(p grid.PeerID, harmless bool) {
	if c.rolled == nil || !c.rolled.waiting[p] {
		return
	}
	delete(c.rolled.waiting, p)
	c.rolled.unheard = append(c.rolled.unheard, p)
	c.rolled.harmful = c.rolled.harmful || !harmless
	c.settle()
}

// settle goes on when all have been asked, and the tokens.
func (c *Core) settle() {
	if c.rolled == nil || len(c.rolled.waiting) > 0 {
		return
	}
	inDoubt := slices.DeleteFunc(c.sorted(), func(j *job) bool { return !j.rec.Uncertain || !c.home(j) })
	if slices.ContainsFunc(inDoubt, func(j *job) bool { return j.rec.Standing == grid.Owning && (j.trial || j.unrecalled()) }) {
		return // recount comes here again
	}
	unheard, harmful := c.rolled.unheard, c.rolled.harmful
	c.emit(Advance{Sequence: c.rolled.to})
	c.Durable(c.rolled.to)
	c.rolled = nil
	c.saveState()
	for _, j := range inDoubt {
		j.rec.Uncertain = false
		if j.rec.Standing == grid.Owning && len(unheard) > 0 {
			c.unknownFate(j, c.nameOf(unheard[0]), harmful)
			continue
		}
		c.save(j, "")
	}
	c.emit(Alarm{})
	c.disarmGeneral(recountDue)
	c.note("", "", "the journal was rolled back, and all neighbours were asked: going on")
}

// unknownFate: a job of this home may be with a site that was not heard.
func (c *Core) unknownFate(j *job, site string, harmful bool) {
	why := fmt.Sprintf("the journal was rolled back, and %s, which may have got the job, was not heard", site)
	if harmful && !j.rec.Job.Rerunnable {
		j.rec.Reason = why + ": it may not run twice"
		c.terminal(j, grid.Lost)
		return
	}
	c.runAgain(j, "at a new term: "+why)
}

// givenAway reports that deeds, the first of them signed by this home, prove that
// another owns a job that this home holds at an older epoch: the handoff is not in
// this journal.
func (c *Core) givenAway(from grid.PeerID, j *job, m wire.Report) bool {
	n := len(m.Deeds)
	return n > 0 && j.rec.Epoch.Before(m.Epoch) && m.Deeds[n-1].To == from && m.Deeds[n-1].Epoch == m.Epoch &&
		c.unproven(&j.rec.Job, j.sum(), m.Deeds) == ""
}

// forgotten: deeds tell the home that the job has changed hands in a part of its journal
// that is lost: it is with another, or has come back.
func (c *Core) forgotten(from grid.PeerID, j *job, deeds []grid.Deed) {
	last := deeds[len(deeds)-1]
	if last.To != c.cfg.Self {
		c.supplant(last.To, j, deeds)
		return
	}
	c.rolledBack(c.hasSeen(from), c.cfg.Journal.Sequence)
	c.ownedAt(j, last.Epoch)
	j.trial = true
	c.tryNext(j)
}

// gaveAway: an owner that is not the home has given the job away in a part of its journal
// that is lost.
func (c *Core) gaveAway(j *job, m wire.Owned) {
	if j.rec.Attempt > 0 {
		c.emit(Withdraw{c.attempt(j)}) // it was, before the handoff: the token makes sure
	}
	c.abandon(j, "it was handed over already")
	for k := range j.due {
		c.disarm(j, concern(k))
	}
	r := &j.rec
	r.Standing, r.Owner, r.Epoch = grid.Past, m.Deed.To, m.Deed.Epoch
	r.Deeds = append(slices.Clip(r.Deeds), m.Deed)
	r.Handoff.Phase = grid.NoHandoff
	r.Attempt, r.Local, r.Report, r.Ended = 0, "", 0, c.now
	j.trial = false
	c.save(j, "given to "+c.nameOf(m.Deed.To)+" before the journal was rolled back")
	c.discard(r.Job.ID)
}

// supplant believes that. It also shows that this journal was rolled back.
func (c *Core) supplant(from grid.PeerID, j *job, deeds []grid.Deed) {
	c.rolledBack(c.hasSeen(from), c.cfg.Journal.Sequence)
	if j.rec.Standing == grid.Owning && j.rec.Attempt > 0 {
		c.emit(Withdraw{c.attempt(j)}) // it was, before the handoff: the token makes sure
	}
	c.abandon(j, "it was handed over already")
	for k := range j.due {
		c.disarm(j, concern(k))
	}
	r := &j.rec
	r.Standing, r.Owner, r.Epoch, r.Adopted = grid.Watching, from, deeds[len(deeds)-1].Epoch, grid.Epoch{}
	r.Deeds = deeds
	r.Handoff.Phase, r.Uncertain, j.trial = grid.NoHandoff, false, false
	r.Attempt, r.Local, r.Report = 0, "", 0
	for _, d := range deeds {
		if d.To != c.cfg.Self && !slices.Contains(r.Trail, d.To) {
			r.Trail = append(slices.Clip(r.Trail), d.To)
		}
	}
	j.heard = c.now
	c.save(j, "owned by "+c.nameOf(from)+" since before the journal was rolled back")
}

// unspoken is how long, in deadlines of an Ask, a job of this home that was in the journal
// at the start waits for members that have not spoken: if the journal was rolled back, it
// may have run elsewhere. What is handed in later does not wait.
const unspoken = 30

// mustAsk says what has to be heard before an attempt of the job may be handed to the
// batch system, or the job to another site; "" is nothing.
func (c *Core) mustAsk(j *job) string {
	switch {
	case c.rolled != nil:
		return "waits until all neighbours were asked: the journal was rolled back"
	case j.isSuperseded():
		return "superseded"
	case j.trial:
		return "waits for the word of its tokens: the journal was rolled back"
	case j.unrecalled():
		return "waits for the word of its control directory"
	case j.recovered && c.silent(unspoken):
		return "waits until the neighbours have said what they saw of this broker"
	case c.home(j):
		return ""
	case j.rec.HomeForgotten && !c.lives(j.rec.Job.Home):
		if j.rec.Uncertain {
			return "waits for its home, which alone knows whether it has run: the journal was rolled back"
		}
		return ""
	case j.homeHeard == 0 || c.now-j.homeHeard > silence*c.cfg.Digest:
		return "waits for the word of its home"
	}
	return ""
}

// lives tells that a member is there. A forgotten home that is has a say again.
func (c *Core) lives(p grid.PeerID) bool {
	return c.members[p] != nil && c.members[p].live == grid.Alive
}

// await keeps a job out of the batch system until mustAsk has nothing to say.
func (c *Core) await(j *job, why string) {
	j.awaits = true
	if j.rec.State != grid.Ready || j.rec.Reason != why {
		j.rec.State, j.rec.Reason = grid.Ready, why
		c.save(j, why)
	}
	c.backoff(j, onHandoff)
}
