package core

import (
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// An offer is made in the name of a user of the job's home, by numbers that clocks show, of the job that this site knows.
func TestOffersThatAreNotTheirs(t *testing.T) {
	t.Parallel()
	own := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}}
	hers := grid.Record{Job: jobOf(her, "b", "2"), State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}}
	for name, k := range map[string]struct {
		job    grid.Job
		change func(*wire.Offer)
		want   doubt
	}{
		"its home offers it":          {hers.Job, func(*wire.Offer) {}, believed},
		"a hop that no clock shows":   {hers.Job, func(o *wire.Offer) { o.Handoff.Epoch.Hop = maxStamp }, stampOfNoClock},
		"the last that one shows":     {hers.Job, func(o *wire.Offer) { o.Handoff.Epoch.Hop = maxStamp - 1 }, believed},
		"a term that no clock shows":  {hers.Job, func(o *wire.Offer) { o.Handoff.Epoch.Term = maxStamp }, stampOfNoClock},
		"of a user of another home":   {hers.Job, func(o *wire.Offer) { o.Job.User.Home = him }, userOfAnotherHome},
		"of another home than known":  {hers.Job, func(o *wire.Offer) { o.Job.Home, o.Job.User.Home = him, him }, otherHome},
		"of this home, not known":     {jobOf(me, "a", "9"), func(*wire.Offer) {}, unknownAtHome},
		"of this home, of no owner":   {own.Job, func(*wire.Offer) {}, noOwner},
		"of this home, another one":   {own.Job, func(o *wire.Offer) { o.Handoff.Digest[0]++ }, otherJob},
		"of another, without a proof": {jobOf(him, "c", "3"), func(*wire.Offer) {}, noOwner},
	} {
		o := &others{}
		m := &ownership{kernel: kernelOf(o, own, hers), gates: o, home: o, recovery: o, terms: o}
		m.cfg.Verify = signer(me, "a").Verify
		offer := wire.Offer{Job: k.job, Handoff: wire.HandoffID{Job: k.job.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}, To: me, Digest: wire.JobDigest(k.job)}}
		k.change(&offer)
		if got := m.notTheirs(her, offer); got != k.want {
			t.Errorf("%s: %v, want: %v", name, got, k.want)
		}
	}
}

// A newer offer of a job whose files are being fetched takes the place of the older one; a late copy of an older one does nothing.
func TestANewerOfferTakesThePlace(t *testing.T) {
	t.Parallel()
	job := jobOf(her, "b", "1")
	for name, k := range map[string]struct {
		hop  uint32
		from grid.PeerID
		want string
	}{
		"the same once more":        {5, her, "Accept>b"},
		"an older one":              {4, her, ""},
		"a newer one":               {6, her, "release, read, tracesOf"},
		"the same, by another name": {5, him, "Error>c"},
	} {
		o := &others{}
		kern := kernelOf(o)
		m := &ownership{kernel: kern, estimator: &estimator{kernel: kern}, execution: o, gates: o, home: o, recovery: o, search: o, terms: o}
		a := steppedAlone(t, kern, o, m)
		m.accepted[job.ID] = &acceptance{from: her, offer: offerOf(job, 5, grid.Hour), start: kern.now}
		got := a.step(Message{k.from, offerOf(job, k.hop, grid.Hour)})
		if k.hop == 6 {
			if old := m.accepted[job.ID]; old != nil && old.offer.Handoff.Epoch.Hop == 5 {
				t.Errorf("%s: the old one stands", name)
			}
			continue
		}
		if !strings.HasPrefix(got, k.want) || k.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, k.want)
		}
	}
}

// Who gave a job to its owner is the one before him in the chain; where the chain does not end with him nobody knows.
func TestWhoGaveAJob(t *testing.T) {
	t.Parallel()
	at := func(hop uint32) grid.Epoch { return grid.Epoch{Term: 1, Hop: hop} }
	first, second := grid.Certificate{Epoch: at(1), To: him}, grid.Certificate{Epoch: at(2), To: her}
	for name, k := range map[string]struct {
		chain []grid.Certificate
		owner grid.PeerID
		epoch grid.Epoch
		want  grid.PeerID
	}{
		"none":                        {nil, her, at(2), ""},
		"the home":                    {[]grid.Certificate{first}, him, at(1), me},
		"the owner before":            {[]grid.Certificate{first, second}, her, at(2), him},
		"the owner is another":        {[]grid.Certificate{first, second}, him, at(2), ""},
		"he owns it by another epoch": {[]grid.Certificate{first, second}, her, at(3), ""},
	} {
		j := &job{rec: grid.Record{Job: jobOf(me, "a", "1"), Tenure: grid.Tenure{Owner: k.owner, Epoch: k.epoch, Certificates: k.chain}}}
		if got := j.giver(); got != k.want {
			t.Errorf("%s: %q, want %q", name, got, k.want)
		}
	}
	m := &ownership{kernel: kernelOf(&others{})}
	if got := m.unproven(&grid.Job{}, grid.Hash{}, []grid.Certificate{first}); got != cannotVerify {
		t.Errorf("without keys: %v", got)
	}
	if got := m.unproven(&grid.Job{}, grid.Hash{}, nil); got != believed {
		t.Errorf("without keys, and nothing to verify: %v", got)
	}
}

// What a home believes at once, and what it does not look at.
func TestWhatAHomeNeedNotVerify(t *testing.T) {
	t.Parallel()
	at := func(hop uint32) grid.Epoch { return grid.Epoch{Term: 1, Hop: hop} }
	ends := func(to grid.PeerID, hop uint32) []grid.Certificate {
		return []grid.Certificate{{Epoch: at(hop), To: to}}
	}
	for name, k := range map[string]struct {
		role  grid.Role
		chain []grid.Certificate
		want  doubt
	}{
		"nothing is shown":        {grid.Watching, nil, showsNoCertificates},
		"what is known":           {grid.Watching, ends(him, 2), believed},
		"what was before":         {grid.Owning, ends(him, 1), believed},
		"the home owns it":        {grid.Owning, ends(him, 3), homeOwns},
		"it ends with this home":  {grid.Watching, ends(me, 3), endHere},
		"it is not of that owner": {grid.Watching, ends(him, 3), notSigned},
	} {
		m := &ownership{kernel: kernelOf(&others{})}
		m.cfg.Verify = func(grid.PeerID, []byte, []byte) bool { return false }
		j := &job{rec: grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned, Tenure: grid.Tenure{Role: k.role, Owner: me, Epoch: at(2)}}}
		if got := m.believe(j, k.chain, false); got != k.want {
			t.Errorf("%s: %v, want: %v", name, got, k.want)
		}
	}
}

// What an offer of a job that is known here is answered, by what there is of it; only what is new passes.
func TestAnOfferOfAKnownJob(t *testing.T) {
	t.Parallel()
	at := func(hop uint32) grid.Epoch { return grid.Epoch{Term: 1, Hop: hop} }
	for name, k := range map[string]struct {
		home    grid.PeerID
		role    grid.Role
		state   grid.State
		handoff grid.Handoff
		hop     uint32 // of the offer; the record's is 3
		want    string // "new" passes
	}{
		"prepared for this very offer":       {her, grid.Prepared, grid.Assigned, grid.Handoff{To: me, Epoch: at(5)}, 5, "Ready"},
		"prepared for a newer one":           {her, grid.Prepared, grid.Assigned, grid.Handoff{To: me, Epoch: at(6)}, 5, ""},
		"prepared for an older one":          {her, grid.Prepared, grid.Assigned, grid.Handoff{To: me, Epoch: at(4)}, 5, "new"},
		"owned by this very offer":           {her, grid.Owning, grid.Assigned, grid.Handoff{}, 3, "Owned"},
		"owned since by another":             {her, grid.Tombstone, grid.Moving, grid.Handoff{}, 3, "Owned"},
		"owned, and the offer is newer":      {her, grid.Owning, grid.Assigned, grid.Handoff{}, 5, "Refuse"},
		"the offer is older than the owner":  {her, grid.Tombstone, grid.Moving, grid.Handoff{}, 2, "Refuse"},
		"handed on, and it comes back":       {her, grid.Tombstone, grid.Moving, grid.Handoff{}, 5, "new"},
		"its end is known at home":           {me, grid.Watching, grid.Completed, grid.Handoff{}, 5, ""},
		"its end is known elsewhere":         {her, grid.Tombstone, grid.Completed, grid.Handoff{}, 5, "new"},
		"it was prepared at home, and died":  {me, grid.Watching, grid.Assigned, grid.Handoff{To: me, Epoch: at(5)}, 5, ""},
		"another was prepared at home":       {me, grid.Watching, grid.Assigned, grid.Handoff{To: me, Epoch: at(4)}, 5, "new"},
		"home gave it to another by that":    {me, grid.Watching, grid.Assigned, grid.Handoff{To: him, Epoch: at(5)}, 5, "new"},
		"declined":                           {her, grid.Declined, grid.Assigned, grid.Handoff{To: me, Epoch: at(5)}, 5, "Declined"},
		"an older one was declined":          {her, grid.Declined, grid.Assigned, grid.Handoff{To: me, Epoch: at(4)}, 5, "new"},
		"its own commit to another is open":  {her, grid.Tombstone, grid.Moving, grid.Handoff{Phase: grid.Committed, To: him, Epoch: at(4)}, 5, ""},
		"its own offer to another was ended": {her, grid.Tombstone, grid.Moving, grid.Handoff{To: him, Epoch: at(4)}, 5, "new"},
	} {
		o := &others{}
		of := jobOf(k.home, map[grid.PeerID]grid.SiteName{me: "a", her: "b"}[k.home], "1")
		kern := kernelOf(o, grid.Record{Job: of, State: k.state, Tenure: grid.Tenure{Role: k.role, Owner: him, Epoch: at(3), Handoff: k.handoff}})
		m := &ownership{kernel: kern, estimator: &estimator{kernel: kern}, execution: o, gates: o, home: o, recovery: o, search: o, terms: o}
		got := ""
		if m.offerAgain(kern.jobs[of.ID], her, offerOf(of, k.hop, 0)) {
			got = "new"
		}
		for _, answer := range sentTo(kern.out, her) {
			got += strings.TrimPrefix(fmt.Sprintf("%T", answer), "wire.")
		}
		if got != k.want {
			t.Errorf("%s: %q, want %q", name, got, k.want)
		}
	}
}
