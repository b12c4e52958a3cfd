package overlay

import (
	"fmt"
	"time"

	"github.com/hashicorp/memberlist"
)

// Profile is a set of time limits that belong together.
type Profile string

// Profiles.
const (
	WAN  Profile = "wan"  // sites of a country or a continent: with eight members a death is noticed in 15 to 31 s. The default
	LAN  Profile = "lan"  // sites of one building: about 6 s
	Test Profile = "test" // everything on one machine: about 2 s
)

// settings are the time limits of a profile.
type settings struct {
	probeInterval, probeTimeout time.Duration // SWIM: how often one member is probed, and how long for an ack
	suspicion, suspicionMost    int           // an accused member has so many intervals to refute, and so many times longer where no other accuses it
	slower                      int           // who hears little probes so many times slower at most
	gossipInterval              time.Duration
	syncTimeout                 time.Duration // one push/pull
	syncInterval                time.Duration // between push/pulls with a random member
	toTheDead                   time.Duration // the dead still get gossip for so long

	dialTimeout      time.Duration
	handshake        time.Duration // who has come in has to say who it is
	retry, retryMost time.Duration // first and longest pause between attempts to dial or to join
	settled          time.Duration // a connection that stood so long starts the pauses over
	grace            time.Duration // a death that is told of while connected is believed after so long
	keepAlive        time.Duration // of the connection; a silent host is dropped after about twice that

	messageAge time.Duration // a message that waited longer is dropped
	write      time.Duration // limit of one write of messages or gossip
	hello      time.Duration // limit for the first message on a stream

	republish time.Duration // of the site record
	lookup    time.Duration // limit of one question to the DHT
	replicas  int           // how many brokers keep a record
	guestIdle time.Duration // connections with guests end that were idle for one to two times this
}

func (p Profile) settings() (settings, error) {
	s := settings{
		probeInterval: time.Second, probeTimeout: 500 * time.Millisecond,
		suspicion: 8, suspicionMost: 2, slower: 2,
		gossipInterval: 500 * time.Millisecond,
		syncTimeout:    10 * time.Second, syncInterval: time.Minute, toTheDead: time.Minute,
		dialTimeout: 10 * time.Second, handshake: 10 * time.Second,
		retry: 500 * time.Millisecond, retryMost: 5 * time.Second,
		settled: 10 * time.Second, grace: 2 * time.Second, keepAlive: 15 * time.Second,
		messageAge: 5 * time.Second, write: 5 * time.Second, hello: 15 * time.Second,
		republish: 10 * time.Minute, lookup: 10 * time.Second, replicas: 20, guestIdle: time.Minute,
	}
	switch p {
	case WAN, "":
	case LAN:
		s.suspicion = 4
		s.gossipInterval = 200 * time.Millisecond
		s.syncInterval, s.toTheDead = 30*time.Second, 30*time.Second
		s.dialTimeout, s.handshake, s.retryMost = 5*time.Second, 5*time.Second, 3*time.Second
		s.grace = time.Second
	case Test:
		s.probeInterval, s.probeTimeout = 250*time.Millisecond, 150*time.Millisecond
		s.suspicion, s.suspicionMost, s.slower = 4, 6, 4 // brokers of tests share little of a processor
		s.gossipInterval = 25 * time.Millisecond
		s.syncTimeout, s.syncInterval, s.toTheDead = 2*time.Second, 5*time.Second, 3*time.Second
		s.dialTimeout, s.handshake = 2*time.Second, 2*time.Second
		s.retry, s.retryMost = 40*time.Millisecond, 400*time.Millisecond
		s.settled, s.grace = time.Second, 500*time.Millisecond
		s.republish, s.lookup = 2*time.Second, 10*time.Second
		s.guestIdle = time.Second
	default:
		return s, fmt.Errorf("unknown profile %q: use wan, lan or test", p)
	}
	return s, nil
}

// gossip is memberlist's configuration under these settings, but for its hooks.
func (s settings) gossip() *memberlist.Config {
	c := memberlist.DefaultWANConfig()
	c.ProtocolVersion = memberlist.ProtocolVersionMax
	c.ProbeInterval, c.ProbeTimeout = s.probeInterval, s.probeTimeout
	// The members form a graph, where few know one whom they could accuse too: the library would wait six times as long for them. And who
	// has lost several members hears little, and would find the next one the later.
	c.SuspicionMult, c.SuspicionMaxTimeoutMult, c.AwarenessMaxMultiplier = s.suspicion, s.suspicionMost, s.slower
	c.TCPTimeout = s.syncTimeout
	c.PushPullInterval = s.syncInterval
	c.GossipInterval, c.GossipNodes = s.gossipInterval, 4
	c.GossipToTheDeadTime = s.toTheDead
	// Not every broker that is asked for an indirect probe knows the probed one.
	c.IndirectChecks = 5
	c.RequireNodeNames = true
	// Messages are small; and what is not decompressed cannot be a bomb.
	c.EnableCompression = false
	return c
}
