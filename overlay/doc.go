// Package overlay keeps a broker in touch with the other brokers: who the members
// are, whether they live, how to reach them, and who holds a job.
//
// # Members
//
// A member is a peer ID of the member file. Membership is mutual; where only one
// side names the other, the other is never alive. There are three classes of peers:
//
//	member      all protocols; where there is a grid key, the DHT only if it has not shown that it lacks it
//	guest       the DHT alone, within limits of the resource manager; only where there is a grid key
//	stranger    nothing: refused after the TLS handshake, before a stream of any protocol, and never dialled
//
// A guest is who shows, bound to the TLS session, that it has the grid's key; see [security]. A key, and no certificates
// by members: it is also what the subjects of records are hashed with, it needs no clocks, no chains and no renewal, and what it opens
// is small enough for one secret. Who is to lose it is left out when the others change it. It is no private network of
// libp2p, since those let nobody in who lacks the key, members neither.
//
// # Connections
//
// libp2p over TCP with TLS 1.3 and yamux; one port, one identity. A keeper for
// each member dials until there is a connection, whichever side opened it; a
// member without addresses is waited for. Addresses come from the member file
// first, then from what the member said of itself when it was last connected (kept
// in StateDir), then from its signed record in the DHT.
//
//	protocol            opened by     what it carries
//	/gbroker/msg/1      the sender    Hello, then messages as wire frames, one way
//	/gbroker/gossip/1   the sender    memberlist packets, one way: length (2 bytes, big endian), bytes
//	/gbroker/sync/1     memberlist    one push/pull or one ping of memberlist, both ways
//	/gbroker/kad/1.0.0  kad-dht       the records below
//	/gbroker/key/1      who connects  whether the other has the same grid key; see [sameKeyProtocol]
//	/gbroker/reach/1    Reach         lines from member to member to a broker that is none; see [reach]
//	others              Open          bulk streams of stage and netmon, held to the rate limit
//	lanes               OpenApart     one bulk stream over a connection of its own; see [laneSecurity]
//
// A transfer has its first stream over the connection that stands and each further one over a lane, to the same port, since
// several connections go faster over a long way than one. At most 12 lanes stand with a member each way. Where no lane can be dialled, as to a site that
// only dials out, or to a broker of before, the stream goes over the connection that stands, and none is tried for five minutes.
//
// Two members of which neither can dial the other meet over a circuit (circuit v2 of libp2p) through a third, where that one's
// configuration has a [Relay] and both ends name it as the [grid.Member]'s Via. A way over any other relay is refused.
//
// Who has dialled in and not yet proven who it is holds one of 192 places, 64 of them at
// most for one address (of IPv6: for one network /64; loopback is no exception), and
// has 10 s (5 s in a LAN). Where there is no room the newest is let in and an older
// one goes: connections that say nothing keep nobody out. Those from addresses where
// members are known to be go last.
//
// The stream for messages is opened when a connection stands and again after an
// error. Everything on it may be lost when a connection breaks: whoever needs an
// answer asks again. A message waits for at most a few seconds.
//
// # Who is alive
//
//	                       memberlist: alive      memberlist: dead, or never heard of
//	connected, and listed  Alive                  Doubtful for a grace, then Dead
//	connected              Doubtful               Doubtful for a grace, then Dead
//	not connected          Doubtful               Dead
//
// Listed is who speaks as a member speaks to a member: with messages, gossip or an answer to a push/pull, over a connection of now. With a grid
// key a connection alone shows nothing, as who does not list this broker lets it in as a guest, and a third one may have both alive.
//
// The grace is there because the members form a graph and no full mesh: word of a
// death may come from a member that has only lost its own way there. While the
// connection stands the accused is asked at once (a push/pull), and refutes it. A
// connection over which it was not refuted is closed and opened anew.
//
// Every broker runs one memberlist over its own members, and those overlap. Word
// about a peer that is no member here is dropped when it comes in (an indirect
// probe through such a broker ends with a nack, as memberlist wants), so gossip
// about a peer travels exactly through the brokers that know it. Node names are
// peer IDs and all share one made-up address, so that a restart with another port
// is no conflict.
//
// Of a member that is not alive [Overlay.Contact] says more: that there was never a
// connection with it, that it ends each one at once, or resets the questions of a member (it may not list this broker; two
// in a row before it said anything), or that another key answers at its
// addresses.
//
// # Records
//
// A DHT (go-libp2p-kad-dht under a prefix of its own) holds two
// kinds of signed hints; see [SiteRecord] and [OwnerRecord]. They are never a reason
// to start, drop, kill or refuse a job.
//
// A key is /gbroker-site/NAME, /gbroker-site/PEER or /gbroker-owner/HASH, the first half of HMAC-SHA256(grid key, "gbroker job " + its
// identifier). With a grid key the DHT goes over all brokers of the grid, and a record lies with the 20 nearest to
// its key; without one each broker asks, answers and routes by its members alone, and a record is found by whoever shares one of
// them with its writer. Of several valid records the newest counts: the highest epoch, then the highest
// sequence. A put of an older one is refused.
//
// A broker keeps 16384 records of at most 4096 bytes in memory, for 48 hours since
// they were last written; where there is no room, who has written the most of them loses his oldest.
// A peer is answered on 16 streams at once, and 256 guests are connected at most, 64 of one address; a connection with one that is idle for a
// minute or two ends.
package overlay
