package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// Certificates prove who owns a job to those who did not see it change hands:
//
//	home ── certificate 1, signed by the home ──► b ── certificate 2, signed by b ──► c ── certificate 3, signed by c ──► d
//
// The chain travels with Offer (the candidate learns that who offers is the owner)
// and with Report and Moved (the home learns who the owner is). A certificate is made at the
// commit point, and not before. A job that comes home begins a new chain.

// sign makes the certificate that gives the job to a peer at epoch; zero where this broker
// cannot sign.
func (c *ownership) sign(j *job, epoch grid.Epoch, to grid.PeerID) grid.Certificate {
	if c.cfg.Sign == nil {
		return grid.Certificate{}
	}
	return grid.Certificate{Epoch: epoch, To: to, Signature: c.cfg.Sign(wire.CertificateText(j.rec.Job.ID, j.sum(), epoch, to))}
}

// handOver adds a certificate of this broker to the chain of a job that it owns.
func (c *ownership) handOver(j *job, epoch grid.Epoch, to grid.PeerID) {
	certificate := c.sign(j, epoch, to)
	chain := j.rec.Certificates
	if c.isHome(j) {
		chain = nil
	}
	if certificate.To == "" {
		j.rec.Certificates = nil
		return
	}
	j.rec.Certificates = append(slices.Clip(chain), certificate)
}

// takeBack replaces the certificate of a handoff that was declined: the owner gives the job
// to itself at its new epoch. Such certificates in a row are one.
func (c *ownership) takeBack(j *job) {
	if n := len(j.rec.Certificates); n > 0 {
		j.rec.Certificates = j.rec.Certificates[:n-1]
	}
	if n := len(j.rec.Certificates); n > 1 && j.rec.Certificates[n-1].To == c.cfg.Self && j.rec.Certificates[n-2].To == c.cfg.Self {
		j.rec.Certificates = j.rec.Certificates[:n-1]
	}
	j.rec.Certificates = slices.Clip(j.rec.Certificates)
	if c.isHome(j) || len(j.rec.Certificates) == 0 {
		j.rec.Certificates = nil
		return
	}
	c.handOver(j, j.rec.Epoch, c.cfg.Self)
}

// mayHandOn tells whether this owner can prove that it is one, with room for the
// certificates to come: one for the next owner, and one to take the job back.
func (c *ownership) mayHandOn(j *job) bool {
	return c.isHome(j) || len(j.rec.Certificates) > 0 && len(j.rec.Certificates) <= grid.MaxCertificates-2
}

// unproven says why a chain proves nothing about the job of that content.
func (c *ownership) unproven(job *grid.Job, digest grid.Hash, certificates []grid.Certificate) doubt {
	if len(certificates) > 0 && c.cfg.Verify == nil {
		return cannotVerify
	}
	return chain(c.cfg.Verify, job.ID, job.Home, digest, certificates)
}

// chain says why certificates prove nothing about a job of a home.
func chain(verify func(by grid.PeerID, text, signature []byte) bool, job grid.JobID, home grid.PeerID, digest grid.Hash, certificates []grid.Certificate) doubt {
	by, last := home, grid.Epoch{}
	for i, d := range certificates {
		switch {
		case i > 0 && (!last.Before(d.Epoch) || last.Term != d.Epoch.Term):
			return notAscending
		case !verify(by, wire.CertificateText(job, digest, d.Epoch, d.To), d.Signature):
			return notSigned
		}
		by, last = d.To, d.Epoch
	}
	return believed
}

// Owned tells that certificates prove, from the home of a job on, that a peer was given it.
func Owned(verify func(by grid.PeerID, text, signature []byte) bool, job grid.JobID, home, by grid.PeerID, digest grid.Hash, certificates []grid.Certificate) bool {
	n := len(certificates)
	return n > 0 && n <= grid.MaxCertificates && certificates[n-1].To == by && chain(verify, job, home, digest, certificates) == believed
}

// notOwner says why from is not shown to own a job, before the epoch of its offer.
func (c *ownership) notOwner(from grid.PeerID, o wire.Offer) doubt {
	if o.Job.Home == from {
		return believed // its home needs no proof: it knows who owns the job
	}
	if len(o.Certificates) == 0 {
		return noOwner
	}
	last := o.Certificates[len(o.Certificates)-1]
	if last.To != from || !last.Epoch.Before(o.Handoff.Epoch) || last.Epoch.Term != o.Handoff.Epoch.Term {
		return notOfferer
	}
	return c.unproven(&o.Job, o.Handoff.Digest, o.Certificates)
}

// given is, at the candidate, the chain that proves how it came to own the job; none where the certificate
// of the commit proves nothing. Owned without one, as it may be from its home, the job cannot be handed on.
func (c *ownership) given(j *job, d grid.Certificate) []grid.Certificate {
	chain := j.rec.Certificates
	if j.rec.Owner == j.rec.Job.Home {
		chain = nil
	}
	chain = append(slices.Clip(chain), d)
	if c.isHome(j) || d.To != c.cfg.Self || d.Epoch != j.rec.Handoff.Epoch || c.unproven(&j.rec.Job, j.sum(), chain) != believed {
		return nil
	}
	return chain
}

// believe takes, at the home, the word that the job is with the To of the last
// certificate, or says why not: the first certificate later than what the home knows must be
// signed by the owner that it knows; or, while that one has not said a word, by the
// one who gave it the job: it has declined, then, and the job was taken back. Started tells that the run of who
// has it now has started. A certificate of
// this home itself that its journal lacks shows that the journal was rolled back.
func (c *ownership) believe(j *job, certificates []grid.Certificate, started bool) doubt {
	if len(certificates) == 0 {
		return showsNoCertificates
	}
	last := certificates[len(certificates)-1]
	switch {
	case !j.rec.Epoch.Before(last.Epoch):
		return believed // known, and perhaps more
	case j.rec.Role == grid.Owning:
		return homeOwns
	case last.To == c.cfg.Self:
		return endHere
	}
	by := j.rec.Job.Home
	for _, d := range certificates {
		if j.rec.Epoch.Before(d.Epoch) {
			break
		}
		by = d.To
	}
	own := by == c.cfg.Self
	if by != j.rec.Owner && !own && !(j.rec.Report == 0 && by == j.giver()) {
		return notFromOwner
	}
	if why := c.unproven(&j.rec.Job, j.sum(), certificates); why != believed {
		return why
	}
	if own {
		c.recovery.rolledBack(c.recovery.hasSeen(last.To), grid.JournalID{})
	}
	if c.gates.beforeYielding(j, started) == itStarted {
		c.home.keepRun(j)
		return runsAlready // a claim of an older epoch, when it is said again
	}
	if h := j.rec.Handoff; h.Phase == grid.Committed { // who gave it on has owned it
		c.enter(j, grid.NoHandoff)
		c.disarm(j, onHandoff)
	}
	if j.rec.Role == grid.Prepared { // an offer of an owner that has given it to another since
		c.turn(j, grid.Watching)
		c.disarm(j, onPrepared)
	}
	for _, d := range certificates {
		if d.To != c.cfg.Self && !slices.Contains(j.rec.Trail, d.To) {
			j.rec.Trail = append(slices.Clip(j.rec.Trail), d.To)
		}
	}
	c.beginTenure(j, j.rec.Next(j.rec.Role, last.To, last.Epoch), j.rec.Run) // until he reports another: what has run may not be over
	j.rec.Certificates, j.rec.Candidate = certificates, c.recovery.mark(last.To)
	j.rec.CancelRequested, j.rec.Overdue = c.gates.carried(j.rec.Wished()), false
	c.save(j, "handed on to "+string(c.siteName(last.To)))
	return believed
}

// signedHere tells that this broker itself gave the job away, at the epoch of m. On
// a peer's word alone nobody stops for having forgotten that.
func (c *ownership) signedHere(m wire.Owned) bool {
	d := m.Certificate
	return c.cfg.Verify != nil && d.To == m.Handoff.To && d.To != c.cfg.Self && d.Epoch == m.Handoff.Epoch &&
		c.cfg.Verify(c.cfg.Self, wire.CertificateText(m.Handoff.Job, m.Handoff.Digest, d.Epoch, d.To), d.Signature)
}

// certified is the digest that the certificates of the record are over.
func (j *job) certified() grid.Hash {
	if j.rec.Certified != (grid.Hash{}) {
		return j.rec.Certified
	}
	return j.sum()
}

// certify makes certificates over that digest those of the record.
func (j *job) certify(chain []grid.Certificate, over grid.Hash) {
	if len(chain) == 0 || over == j.sum() {
		over = grid.Hash{}
	}
	j.rec.Certificates, j.rec.Certified = chain, over
}

// lastCertificate is the one by which the present owner owns the job, if this broker has it.
func (j *job) lastCertificate() grid.Certificate {
	if n := len(j.rec.Certificates); n > 0 && j.rec.Certificates[n-1].To == j.rec.Owner && j.rec.Certificates[n-1].Epoch == j.rec.Epoch {
		return j.rec.Certificates[n-1]
	}
	return grid.Certificate{}
}

// unheard tells that this home knows by a certificate that the job was committed to from,
// which has not reported it yet. Who has forgotten that he owned the job says the same: so he is told how far his journal was seen
// to be, when that certificate was heard, and a newer journal of his is not told that the job is his.
func (c *ownership) unheard(j *job, from grid.PeerID, b wire.HandoffID) bool {
	return c.isHome(j) && j.rec.Owner == from && j.rec.Epoch == b.Epoch && j.rec.Report == 0 && j.lastCertificate().To == from
}

// giver is who gave the job to the owner that the home knows; "" if no certificate says so.
func (j *job) giver() grid.PeerID {
	switch n := len(j.rec.Certificates); {
	case j.lastCertificate().To == "":
		return ""
	case n == 1:
		return j.rec.Job.Home
	default:
		return j.rec.Certificates[n-2].To
	}
}

// tellMoved repeats to the home who owns the job now, until it is acknowledged. While
// the new owner has not confirmed that, it waits a while, as it may yet decline, and
// then goes on until the home says that the job has ended.
func (c *ownership) tellMoved(j *job) {
	open := j.rec.Handoff.Phase != grid.NoHandoff
	elsewhere := !c.isHome(j) && j.rec.Owner != j.rec.Job.Home && len(j.rec.Certificates) > 0
	if !open && j.rec.Telling || open && elsewhere && c.now-j.heard > c.cfg.Lease {
		c.sendMoved(j)
		if !open { // else it goes with Commit
			c.backoff(j, onReport)
		}
	}
}

// sendMoved tells the home of a job who has it, by all certificates.
func (c *kernel) sendMoved(j *job) {
	c.send(j.rec.Job.Home, wire.Moved{Job: j.rec.Job.ID, Certificates: j.rec.Certificates, Version: j.certified()})
}

// onMoved is a former owner's word, heard at the home.
func (c *ownership) onMoved(from grid.PeerID, m wire.Moved) {
	if len(m.Certificates) == 0 {
		return
	}
	ack := wire.MovedAck{Job: m.Job, Epoch: m.Certificates[len(m.Certificates)-1].Epoch}
	j := c.job(m.Job)
	if j == nil || !c.isHome(j) || j.rec.State.Terminal() {
		c.send(from, ack) // of no interest any more
		if j != nil && c.isHome(j) {
			c.home.sendClosed(from, j)
		}
		return
	}
	c.heardVersion(from, j, m.Version, m.Certificates)
	c.recovery.successorNamed(j, m.Version, m.Certificates)
	last, over := m.Certificates[len(m.Certificates)-1], j.sum()
	if j.unsupplied() && last.To == c.cfg.Self {
		over = m.Version // with its files, which have not come by this journal
	}
	if j.rec.Role == grid.Prepared && j.rec.Handoff.Epoch == last.Epoch && last.To == c.cfg.Self {
		return // its Commit makes the owner
	}
	if j.rec.Epoch.Before(last.Epoch) && (last.To == c.cfg.Self || j.rec.Role == grid.Owning) && c.unproven(&j.rec.Job, over, m.Certificates) == believed {
		if hold := c.recovery.forgotten(from, j, m.Certificates); hold == open || hold == itStarted {
			c.send(from, ack)
		}
		return
	}
	if why := c.believe(j, m.Certificates, false); why != believed {
		c.send(from, wire.Error{Of: wire.KindMoved, Job: m.Job, Why: why.String()})
		return
	}
	c.send(from, ack)
	if c.gates.forgotRun(j, from, last) {
		c.home.runForgotten(j)
		return
	}
	if j.rec.CancelRequested {
		c.home.pursueCancel(j)
	}
}

// onMovedAck ends the telling of a former owner.
func (c *ownership) onMovedAck(from grid.PeerID, m wire.MovedAck) {
	j := c.job(m.Job)
	if j == nil || j.rec.Job.Home != from || !j.rec.Telling || len(j.rec.Certificates) == 0 {
		return
	}
	if m.Epoch == j.rec.Certificates[len(j.rec.Certificates)-1].Epoch {
		j.rec.Telling = false
		c.disarm(j, onReport)
		c.save(j, "")
		if isTombstone(&j.rec) {
			c.discard(m.Job)
		}
	}
}
