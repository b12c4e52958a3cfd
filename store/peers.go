package store

import (
	"context"
	"fmt"
	"strconv"

	"gbroker/grid"
)

// maxSeen lives of the journals of each peer are remembered; the one first seen goes first.
const maxSeen = 16

// highWater are the highest sequences seen of one peer's journals, in the order in
// which they were first seen.
type highWater struct {
	journals []grid.JournalID
	changed  bool
	dropped  []grid.JournalID // lives to be removed from the database
}

// SeenPeer takes note of how far a peer says its journal has come. It is on disk
// with the next Commit, or with Close: to lose the latest only weakens what a
// peer's roll-back is noticed by.
func (j *Journal) SeenPeer(_ context.Context, peer grid.PeerID, id grid.JournalID) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return fmt.Errorf("note the journal of peer %s: %w", peer, err)
	}
	m := j.highWater[peer]
	if m == nil {
		m = &highWater{}
		j.highWater[peer] = m
	}
	m.see(id)
	return nil
}

func (m *highWater) see(id grid.JournalID) {
	for i, known := range m.journals {
		if known.SameLife(id) {
			if id.Sequence > known.Sequence {
				m.journals[i].Sequence, m.changed = id.Sequence, true
			}
			return
		}
	}
	m.journals, m.changed = append(m.journals, id), true
	if len(m.journals) > maxSeen {
		m.dropped = append(m.dropped, m.journals[0])
		m.journals = m.journals[1:]
	}
}

// Peers gives the highest sequence seen of every life of each peer's journals, the
// life first seen first.
func (j *Journal) Peers(context.Context) (map[grid.PeerID][]grid.JournalID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return nil, fmt.Errorf("read the journals of peers: %w", err)
	}
	peers := make(map[grid.PeerID][]grid.JournalID, len(j.highWater))
	for peer, m := range j.highWater {
		peers[peer] = append([]grid.JournalID(nil), m.journals...)
	}
	return peers, nil
}

func (j *Journal) unsavedHighWater() bool {
	for _, m := range j.highWater {
		if m.changed {
			return true
		}
	}
	return false
}

// saveHighWater writes what changed since highWaterSaved, which is called when its transaction
// is durable.
func (j *Journal) saveHighWater(ctx context.Context) error {
	for peer, m := range j.highWater {
		if !m.changed {
			continue
		}
		for _, id := range m.dropped {
			if _, err := j.sql.forget.ExecContext(ctx, string(peer), hex(id.Incarnation), hex(id.Life)); err != nil {
				return fmt.Errorf("forget a journal of peer %s: %w", peer, err)
			}
		}
		for _, id := range m.journals {
			if _, err := j.sql.mark.ExecContext(ctx, string(peer), hex(id.Incarnation), hex(id.Life), hex(id.Sequence)); err != nil {
				return fmt.Errorf("note the journal of peer %s: %w", peer, err)
			}
		}
	}
	return nil
}

func (j *Journal) highWaterSaved() {
	for _, m := range j.highWater {
		m.changed, m.dropped = false, nil
	}
}

func (j *Journal) loadHighWater(ctx context.Context) error {
	rows, err := j.conn.QueryContext(ctx, `SELECT peer, incarnation, life, sequence, sum = `+sumOfPeer+` FROM peer ORDER BY number`)
	if err != nil {
		return fmt.Errorf("read the journals of peers: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var peer, incarnation, life, sequence string
		var sound bool
		if err := rows.Scan(&peer, &incarnation, &life, &sequence, &sound); err != nil {
			return fmt.Errorf("read the journals of peers: %w", err)
		}
		i, err := strconv.ParseUint(incarnation, 16, 64)
		l, err2 := strconv.ParseUint(life, 16, 64)
		s, err3 := strconv.ParseUint(sequence, 16, 64)
		if !sound || err != nil || err2 != nil || err3 != nil {
			return damaged(j.file, fmt.Sprintf("how far the journal of peer %s was seen", peer), errSum,
				fmt.Sprintf("DELETE FROM peer WHERE peer = %s", quoted(peer)))
		}
		m := j.highWater[grid.PeerID(peer)]
		if m == nil {
			m = &highWater{}
			j.highWater[grid.PeerID(peer)] = m
		}
		m.journals = append(m.journals, grid.JournalID{Incarnation: i, Life: l, Sequence: s})
	}
	return rows.Err()
}

// hex is a 64-bit number in 16 digits, which sort as the numbers do. SQLite's own
// integers are signed.
func hex(n uint64) string { return fmt.Sprintf("%016x", n) }
