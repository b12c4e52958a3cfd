package daemon

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/internal/version"
	"gbroker/netmon"
	"gbroker/overlay"
	"gbroker/wire"
)

func randomNumber() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// clock is the wall clock at the start plus what a monotonic clock says since: it
// never goes back, and a wall clock that is set starts, kills and expires nothing.
func (s *site) clock() grid.Tick {
	return grid.InstantOf(s.start) + grid.Span(time.Since(s.start))
}

// wall is the wall clock of this machine: what a person would set.
func wall() grid.Tick { return grid.InstantOf(time.Now()) }

// offset is how far a member's clock was ahead of this one's when its last Hello
// came, which was on its way for none to all of a round trip; 0, 0 is not known.
func (s *site) offset(p grid.PeerID) (offset, bound grid.Tick) {
	s.mu.Lock()
	ahead, heard := s.clocks[p]
	s.mu.Unlock()
	rtt := s.monitor.Link(p).RTT
	if !heard || rtt == 0 {
		return 0, 0
	}
	return ahead + rtt/2, max(1, (rtt+1)/2)
}

func (s *site) overlayConfig(key overlay.Key) overlay.Config {
	return overlay.Config{
		Key: key, Listen: s.cfg.listens(), Site: s.facts, Members: s.cfg.Members, GridKey: s.cfg.GridKey, Relay: s.cfg.Relay,
		Invitations: func() []overlay.GridKey { return s.invited.secrets(&s.cfg) }, Admit: s.admit,
		Hello: func() wire.Hello {
			return wire.Hello{
				Program: "gbroker " + version.Version, Site: s.factsNow(), Journal: s.broker.JournalID(),
				Boot: s.broker.Boot(), Clock: wall(),
			}
		},
		HelloFrom: s.helloFrom,
		Receive: func(from grid.PeerID, m wire.Message) {
			if a, ok := m.(wire.Announce); ok {
				s.learn(from, a.Site)
			}
			s.broker.Post(core.Message{From: from, Message: m})
		},
		PeerChanged: func(p grid.PeerID, l grid.Liveness) {
			s.log.Info("a peer changed", zap.String("site", service{s}.SiteName(p)), zap.Stringer("to", l))
			s.monitor.SetAlive(p, l == grid.Alive)
			s.broker.Post(core.PeerChanged{Peer: p, Liveness: l})
		},
		Logger: s.log.Named("overlay"), StateDir: filepath.Join(s.cfg.Data, "overlay"),
	}
}

func (s *site) helloFrom(from grid.PeerID, h wire.Hello) error {
	s.learn(from, h.Site)
	s.hearVersion(from, h.Program)
	s.hearLife(from, h.Boot)
	s.mu.Lock()
	s.clocks[from] = h.Clock - wall()
	s.mu.Unlock()
	s.broker.Post(core.PeerSite{Peer: from, Site: h.Site})
	s.broker.Post(core.PeerJournal{Peer: from, Journal: h.Journal, Boot: h.Boot})
	return nil
}

// learn keeps what a peer said of its site, for those who ask.
func (s *site) learn(from grid.PeerID, facts grid.Site) {
	s.mu.Lock()
	s.sites[from] = facts
	s.mu.Unlock()
}

// factsNow is what this broker says of its site.
func (s *site) factsNow() grid.Site {
	s.mu.Lock()
	facts := s.facts
	s.mu.Unlock()
	facts.Draining = s.broker.SiteState().Draining
	return facts
}

func (s *site) netmonConfig() netmon.Config {
	return netmon.Config{
		Dialer: s.overlay, TimeShare: s.cfg.Netmon.TimeShare, BytesPerHour: s.cfg.Netmon.BytesPerHour,
		Quiet:   s.cfg.Netmon.quiet(),
		Streams: s.stager.Streams,
		Busy:    s.stager.Moving,
		Changed: func(p grid.PeerID, l grid.Link) { s.broker.Post(core.LinkChanged{Peer: p, Link: l}) },
		Logger:  s.log.Named("netmon"),
	}
}

// owner is a word for this very broker, for the marks of its local jobs.
func owner(self grid.PeerID) string {
	h := sha256.Sum256([]byte(self))
	return hex.EncodeToString(h[:8])
}

// account is the local account of a user's jobs. A neighbour's users are ours only where
// the neighbours' file says so.
func (s *site) account(u grid.User) (string, error) {
	from := grid.SiteName("")
	if !s.broker.SameUsers(u.Home) {
		from = grid.SiteName(u.Home) // a former neighbour's name stands for nobody
		if m, ok := s.member(u.Home); ok {
			from = m.Name
		} else if u.Home == s.self {
			from = s.facts.Name
		}
	}
	return s.cfg.Batch.External.Users.Account(u.Name, from)
}

// fileAccount is under which file: is read for a user; "" where nobody is mapped.
func (s *site) fileAccount(u grid.User) (string, error) {
	if !s.cfg.Batch.External.Users.Mapped {
		return "", nil
	}
	return s.account(u)
}

// accounts is how users are mapped; nil where nobody is: it is known then whose limits the next job falls under.
func (s *site) accounts() func(grid.User) (string, error) {
	if !s.cfg.Batch.External.Users.Mapped {
		return nil
	}
	return s.account
}

func (s *site) ours() ours {
	return ours{
		Owner: owner(s.self), Site: s.facts, Spool: s.cfg.batchSpool(),
		Accounts: s.accounts(), Lend: s.stager.Lend,
		Changed: func(id grid.AttemptID) { s.broker.Changed(s.ctx, id) },
		Full: func() bool {
			free, err := s.stager.Space()
			return err == nil && free <= 0 // what cannot be read is not seen
		},
		Log: s.log.Named("batch"),
	}
}

func (s *site) brokerConfig(key overlay.Key) core.Config {
	return core.Config{
		Sign: func(text []byte) []byte {
			signature, err := key.Sign(text)
			if err != nil { // not with a key that was loaded
				s.log.Error("signing a certificate", zap.Error(err))
			}
			return signature
		},
		Verify: overlay.Verify,
		Self:   s.self, Site: s.facts, Seed: s.boot,
		Boot:   s.boot,
		Grace:  s.cfg.grace(),
		Prices: s.cfg.prices(s.memberList()), Granted: s.cfg.Budgets, EstimateDeadline: grid.Span(s.cfg.EstimateDeadline), AutoForget: grid.Span(s.cfg.ForgetAfter),
		// a refused pair is blocked for one interval
		Delta: grid.Span(s.cfg.Reevaluation.Interval), Block: grid.Span(s.cfg.Reevaluation.Interval), Settle: grid.Span(s.cfg.Reevaluation.Settle),
		Margin: grid.Span(s.cfg.Reevaluation.Margin), Cooldown: grid.Span(s.cfg.Reevaluation.Cooldown),
		Soon: grid.Span(s.cfg.Reevaluation.Soon), Tell: grid.Span(s.cfg.Reevaluation.Tell),
		Keep: grid.Tick(s.cfg.Retention.Days) * grid.Day, KeepBytes: s.cfg.Retention.Bytes,
		User:       s.cfg.Limits.user(),
		OfferFiles: s.cfg.Limits.Offered,
		Window:     s.cfg.Limits.SweepWindow, Expand: expand,
		Reserving: s.cfg.Reservations.rules(s.reserver() != nil), Slack: s.slack(), Reserves: s.reserver() != nil,
	}
}

// hooks are the users whose processes may say that the batch system has changed, beside the administrators: its operator.
func (c *Config) hooks() []string {
	if c.Batch.External.Operator == "" {
		return nil
	}
	return []string{c.Batch.External.Operator}
}

func (l LimitsConfig) user() core.UserLimits {
	return core.UserLimits{Jobs: l.Jobs, Processes: l.Processes, Documents: l.Documents, Bytes: l.Bytes, Groups: l.Groups, GroupJobs: l.GroupJobs, SweepJobs: l.SweepJobs}
}
