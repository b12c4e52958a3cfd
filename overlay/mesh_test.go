package overlay

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"gbroker/grid"
	"gbroker/wire"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m,
		// libp2p keeps these for the process, whatever hosts are closed.
		goleak.IgnoreAnyFunction("github.com/libp2p/go-libp2p-asn-util.init.0.func1"),
		// memberlist does not join this one: it sleeps to the end of a probe.
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
		goleak.IgnoreAnyFunction("github.com/libp2p/go-flow-metrics.(*sweeper).run"), // one for the whole process
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"),
	)
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// broker is one overlay under test.
type broker struct {
	t    testing.TB
	name grid.SiteName
	key  Key
	dir  string
	over *Overlay

	where []string // its addresses in the last run

	mu       sync.Mutex
	changed  *sync.Cond
	hello    []grid.PeerID // order of events as "hello" marks, for the first-message rule
	got      []received
	moves    []move
	refuse   error // what HelloFrom answers
	onGet    func(from grid.PeerID, m wire.Message)
	stopping func()
	replicas int           // brokers that keep a record; 0 is as the profile has it
	grace    time.Duration // before a death is believed while connected; 0 is as the profile has it
	places   int           // of guests of one address; 0 is as it is
}

type received struct {
	from grid.PeerID
	m    wire.Message
}

type move struct {
	peer grid.PeerID
	l    grid.Liveness
	at   time.Time
}

func newBroker(t testing.TB, name string) *broker {
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, name: grid.SiteName(name), key: key, dir: t.TempDir()}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *broker) peer() grid.PeerID { return PeerIDOf(b.key) }

// as is b as a member of another; its addresses are those it has now.
func (b *broker) as() grid.Member {
	m := grid.Member{Name: b.name, Peer: b.peer(), Send: true}
	if b.over != nil {
		m.Addresses = b.over.Addresses()
	}
	return m
}

func (b *broker) config(members ...grid.Member) Config {
	return Config{
		Key: b.key, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, StateDir: b.dir,
		Site: grid.Site{Name: b.name, Processes: 4, Speed: 1}, Members: members,
		Profile: Test, Logger: zap.NewNop(),
		Hello: func() wire.Hello {
			return wire.Hello{Program: "test", Site: grid.Site{Name: b.name, Processes: 4, Speed: 1}, Boot: 1, Clock: 1}
		},
		HelloFrom: func(from grid.PeerID, h wire.Hello) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.hello = append(b.hello, from)
			b.changed.Broadcast()
			return b.refuse
		},
		Receive: func(from grid.PeerID, m wire.Message) {
			b.mu.Lock()
			b.got = append(b.got, received{from, m})
			f := b.onGet
			b.changed.Broadcast()
			b.mu.Unlock()
			if f != nil {
				f(from, m)
			}
		},
		PeerChanged: func(p grid.PeerID, l grid.Liveness) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.moves = append(b.moves, move{p, l, time.Now()})
			b.changed.Broadcast()
		},
	}
}

func (b *broker) start(members ...grid.Member) { b.run(b.config(members...)) }

func (b *broker) run(c Config) {
	b.t.Helper()
	o, err := New(c)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.replicas > 0 {
		o.settings.replicas = b.replicas
	}
	if b.grace > 0 {
		o.settings.grace = b.grace
	}
	if b.places > 0 {
		o.gate.ofAddress = b.places
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	b.over = o
	b.stopping = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("%s: Run: %v", b.name, err)
		}
	})
	b.t.Cleanup(b.stopping)
	select {
	case <-o.Ready():
		b.where = o.Addresses()
	case err := <-done:
		done <- err
		b.t.Fatalf("%s does not start: %v", b.name, err)
	case <-time.After(patience):
		b.t.Fatalf("%s does not start", b.name)
	}
}

// stop ends b as its neighbours see an end by SIGKILL: nothing is said, the kernel
// closes the connections.
func (b *broker) stop() { b.stopping() }

// until waits until ok holds; b's state is locked meanwhile.
func (b *broker) until(what string, ok func() bool) {
	b.t.Helper()
	timer := time.AfterFunc(patience, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changed.Broadcast()
	})
	defer timer.Stop()
	deadline := time.Now().Add(patience)
	b.mu.Lock()
	defer b.mu.Unlock()
	for !ok() {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s waited in vain for: %s; it saw %v and got %d messages", b.name, what, b.moves, len(b.got))
		}
		b.changed.Wait()
	}
}

func (b *broker) sees(other *broker, l grid.Liveness) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s is %v", other.name, l), func() bool { return b.over.Liveness(other.peer()) == l && b.last(other.peer()) == l })
}

// last is the liveness told last.
func (b *broker) last(p grid.PeerID) grid.Liveness {
	for _, m := range slices.Backward(b.moves) {
		if m.peer == p {
			return m.l
		}
	}
	return grid.Dead
}

// lastAt is when the liveness was told last.
func (b *broker) lastAt(p grid.PeerID) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range slices.Backward(b.moves) {
		if m.peer == p {
			return m.at
		}
	}
	return time.Time{}
}

// movesOf are the transitions told of p since the k-th.
func (b *broker) movesSince(k int) []move {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.moves[k:])
}

func (b *broker) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.moves)
}

// connect starts brokers of which each knows those that edges joins it with. The
// one of the higher number has the addresses.
func connect(t testing.TB, brokers []*broker, edges [][2]int) {
	t.Helper()
	for i, b := range brokers {
		var members []grid.Member
		for _, e := range edges {
			switch i {
			case e[0]:
				members = append(members, brokers[e[1]].as())
			case e[1]:
				members = append(members, brokers[e[0]].as())
			}
		}
		b.start(members...)
	}
	for _, e := range edges {
		brokers[e[0]].sees(brokers[e[1]], grid.Alive)
		brokers[e[1]].sees(brokers[e[0]], grid.Alive)
	}
}

func several(t testing.TB, n int) []*broker {
	var all []*broker
	for i := range n {
		all = append(all, newBroker(t, fmt.Sprintf("site%d", i)))
	}
	return all
}

func pair(t testing.TB) (a, b *broker) {
	all := several(t, 2)
	connect(t, all, [][2]int{{0, 1}})
	return all[0], all[1]
}

func mesh(n int) (edges [][2]int) {
	for i := range n {
		for j := range i {
			edges = append(edges, [2]int{j, i})
		}
	}
	return edges
}

// eventually looks again and again, for what gives no sign when it happens.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// serve makes b serve a protocol.
func (b *broker) serve(protocol string, f func(from grid.PeerID, c net.Conn)) {
	b.t.Helper()
	if err := b.over.Handle(protocol, f); err != nil {
		b.t.Fatal(err)
	}
}
