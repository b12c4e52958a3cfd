package overlay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/libp2p/go-libp2p/core/network"
)

// Bounds of what memberlist may read from one stream of the sync protocol; it
// reserves memory for as many nodes as the header declares.
const (
	maxSyncBytes = 1 << 20
	maxSyncNodes = 4 * maxMembers
	maxSyncHead  = 256 // bytes of the header
)

// First bytes of what memberlist says on a stream, from its wire format.
const (
	syncPing     = 0
	syncAck      = 2
	syncPushPull = 6
	syncError    = 13
)

// syncConn is one stream of the sync protocol as memberlist sees it: what comes in
// is bounded, and looked at before memberlist believes it.
type syncConn struct {
	streamConn
	in      io.Reader
	err     error
	once    sync.Once
	done    func()
	refused func() // of one that was opened here: the other has reset it unanswered
}

func (c *syncConn) Read(b []byte) (int, error) {
	if c.in == nil && c.err == nil {
		c.in, c.err = inspect(io.LimitReader(c.streamConn, maxSyncBytes))
		if c.refused != nil && errors.Is(c.err, network.ErrReset) {
			c.refused()
		}
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.in.Read(b)
}

func (c *syncConn) Close() error {
	c.once.Do(c.done)
	return c.streamConn.Close()
}

// inspect reads the kind and, of a push/pull, the header; it gives back a reader
// that has them again.
func inspect(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	kind, err := in.Peek(1)
	if err != nil {
		return nil, err
	}
	switch kind[0] {
	case syncPing, syncAck, syncError:
		return in, nil
	case syncPushPull:
	default:
		return nil, fmt.Errorf("gossip of kind %d is not taken", kind[0])
	}
	var seen bytes.Buffer
	head := io.TeeReader(io.LimitReader(in, maxSyncHead), &seen)
	if _, err := io.CopyN(io.Discard, head, 1); err != nil {
		return nil, err
	}
	var header struct {
		Nodes, UserStateLen int
		Join                bool
	}
	if err := codec.NewDecoder(head, &codec.MsgpackHandle{}).Decode(&header); err != nil {
		return nil, fmt.Errorf("reading the header of gossip: %w", err)
	}
	if header.Nodes < 0 || header.Nodes > maxSyncNodes || header.UserStateLen != 0 {
		return nil, errors.New("the header of gossip declares more than is taken")
	}
	return io.MultiReader(&seen, in), nil
}
