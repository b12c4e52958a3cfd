package netmon

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
)

// What a peer may send us; see the package comment.
const (
	maxMessage     = 16 << 20
	guestBurst     = 256 << 20
	guestPerHour   = 1 << 30
	guestStreams   = 8
	guestIdle      = 30 * time.Second
	longestVisit   = 5 * time.Minute
	readBufferSize = 64 << 10
)

// guest is a peer that measures its way to us.
type guest struct {
	streams int
	bytes   bucket
}

// Serve answers one probe stream until it ends; it closes c.
func (m *Monitor) Serve(from grid.PeerID, c net.Conn) {
	defer c.Close()
	if !m.enter(from) {
		m.log.Debug("too many probe streams", zap.String("peer", string(from)))
		return
	}
	defer m.leave(from)
	if err := m.answer(from, c); err != nil {
		m.log.Debug("a probe stream was closed", zap.String("peer", string(from)), zap.Error(err))
	}
}

func (m *Monitor) enter(from grid.PeerID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.guests[from]
	if g == nil {
		g = &guest{bytes: newBucket(guestPerHour/3600.0, guestBurst, time.Now())}
		m.guests[from] = g
	}
	if g.streams >= guestStreams {
		return false
	}
	g.streams++
	return true
}

// leave forgets a guest only once its account is full again.
func (m *Monitor) leave(from grid.PeerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.guests[from].streams--
	now := time.Now()
	for peer, g := range m.guests {
		if g.bytes.fill(now); g.streams == 0 && g.bytes.level >= g.bytes.burst {
			delete(m.guests, peer)
		}
	}
}

// admit takes size bytes from the guest's account.
func (m *Monitor) admit(from grid.PeerID, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, now := m.guests[from], time.Now()
	if size > maxMessage {
		return fmt.Errorf("%w: a message of %d bytes: at most %d", grid.ErrInvalid, size, maxMessage)
	}
	if g.bytes.when(now, float64(size)).After(now) {
		return fmt.Errorf("%w: the peer has sent more than %d bytes an hour", grid.ErrForbidden, guestPerHour)
	}
	g.bytes.spend(now, float64(size+headSize))
	return nil
}

func (m *Monitor) answer(from grid.PeerID, c net.Conn) error {
	last := time.Now().Add(longestVisit)
	buf := make([]byte, readBufferSize)
	for {
		c.SetDeadline(earlier(time.Now().Add(guestIdle), last))
		if _, err := io.ReadFull(c, buf[:headSize]); err != nil {
			return nil // the usual end
		}
		size := int64(binary.BigEndian.Uint32(buf))
		if err := m.admit(from, size); err != nil {
			return err
		}
		for left := size; left > 0; {
			c.SetDeadline(earlier(time.Now().Add(guestIdle), last))
			n, err := c.Read(buf[:min(left, readBufferSize)])
			if err != nil {
				return fmt.Errorf("with %d of %d bytes to come: %w", left, size, err)
			}
			left -= int64(n)
		}
		if _, err := c.Write([]byte{arrived}); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
