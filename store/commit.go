package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"gbroker/grid"
)

// statementsOfCommit are prepared once on the writer's connection.
type statementsOfCommit struct {
	save, document, event, decision, limit, undecide, remove, raise, mark, forget *sql.Stmt
}

func (s *statementsOfCommit) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.save, `INSERT INTO entity (kind, key, user, state, record, sum) VALUES (?1, ?2, ?3, ?4, ?5, checksum('entity', ?1, ?2, ?3, ?4, ?5))
			ON CONFLICT (kind, key) DO UPDATE SET user = excluded.user, state = excluded.state, record = excluded.record, sum = excluded.sum`},
		{&s.document, `INSERT INTO document (kind, key, text, sum) VALUES (?1, ?2, ?3, checksum('document', ?1, ?2, ?3))
			ON CONFLICT (kind, key) DO UPDATE SET text = excluded.text, sum = excluded.sum WHERE document.text <> excluded.text`},
		{&s.event, `INSERT INTO event (kind, key, seq, at, state, site, term, hop, why, sum)
			SELECT ?1, ?2, n, ?3, ?4, ?5, ?6, ?7, ?8, checksum('event', ?1, ?2, n, ?3, ?4, ?5, ?6, ?7, ?8)
			FROM (SELECT coalesce(max(seq), 0) + 1 AS n FROM event WHERE kind = ?1 AND key = ?2)`},
		{&s.decision, `INSERT INTO decision (kind, key, seq, stays, decision, sum)
			SELECT ?1, ?2, n, ?3, ?4, checksum('decision', ?1, ?2, n, ?3, ?4)
			FROM (SELECT coalesce(max(seq), 0) + 1 AS n FROM decision WHERE kind = ?1 AND key = ?2)`},
		{&s.limit, `DELETE FROM decision WHERE kind = ?1 AND key = ?2 AND (
			stays AND seq < (SELECT max(seq) FROM decision WHERE kind = ?1 AND key = ?2)
			OR seq IN (SELECT seq FROM decision WHERE kind = ?1 AND key = ?2 AND NOT stays AND seq > (SELECT min(seq) FROM decision WHERE kind = ?1 AND key = ?2)
				ORDER BY seq DESC LIMIT -1 OFFSET ` + strconv.Itoa(maxDecisions-1) + `))`},
		{&s.undecide, `DELETE FROM decision WHERE kind = ? AND key = ?`},
		{&s.remove, `DELETE FROM entity WHERE kind = ? AND key = ?`},
		{&s.raise, `UPDATE journal SET sequence = sequence + 1, sum = checksum('journal', incarnation, sequence + 1)
			WHERE sum = ` + sumOfJournal + ` RETURNING sequence`},
		{&s.mark, `INSERT INTO peer (number, peer, incarnation, life, sequence, sum)
			SELECT n, ?1, ?2, ?3, ?4, checksum('peer', n, ?1, ?2, ?3, ?4) FROM (SELECT coalesce(max(number), 0) + 1 AS n FROM peer) WHERE true
			ON CONFLICT (peer, incarnation, life) DO UPDATE SET sequence = excluded.sequence,
			sum = checksum('peer', number, peer, incarnation, life, excluded.sequence) WHERE sequence < excluded.sequence`},
		{&s.forget, `DELETE FROM peer WHERE peer = ? AND incarnation = ? AND life = ?`},
	} {
		var err error
		if *p.to, err = conn.PrepareContext(ctx, p.text); err != nil {
			return fmt.Errorf("prepare to write: %w", err)
		}
	}
	return nil
}

func (s *statementsOfCommit) close() error {
	var errs []error
	for _, p := range []*sql.Stmt{s.save, s.document, s.event, s.decision, s.limit, s.undecide, s.remove, s.raise, s.mark, s.forget} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// maxDecisions bounds the decisions that are kept of a job: the first, and the latest.
const maxDecisions = 64

// line is a change in the form in which it is written.
type line struct {
	grid.Change
	row
	kind      string
	decisions [][]byte
}

// Commit writes the changes, in their order, in one transaction, and is durable
// when it returns nil. It looks at ctx only before it begins. After an error none
// of the changes is written and the journal is of no more use: see [ErrBroken]. Only an
// error of ctx leaves it as it was.
//
// The journal keeps the Job of each record to see that it is the same next time:
// it must not be changed in place.
func (j *Journal) Commit(ctx context.Context, changes []grid.Change) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return fmt.Errorf("commit to %s: %w", j.file, err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("commit to %s: %w", j.file, err)
	}
	var sequence uint64
	err := j.patiently(func() (err error) {
		sequence, err = j.commit(context.WithoutCancel(ctx), changes)
		return err
	})
	if err != nil {
		err = j.explain(err)
		j.end(fmt.Errorf("%w (%w)", ErrBroken, err))
		return fmt.Errorf("commit %d changes to %s: %w", len(changes), j.file, err)
	}
	j.highWaterSaved()
	j.state.Lock()
	j.id.Sequence = sequence
	j.state.Unlock()
	for _, c := range changes {
		j.remember(c)
	}
	return nil
}

// same reports that the document of a job was written as it is.
func (j *Journal) same(r *grid.Record) bool {
	known, ok := j.written[r.Job.ID]
	return ok && reflect.DeepEqual(known, r.Job)
}

// longTexts is how many bytes the texts of a program take that are not kept to compare by: the document is written again,
// unless the change leaves them out too.
const longTexts = 16 << 10

// remember keeps what was written of a job's document.
func (j *Journal) remember(c grid.Change) {
	id, r, is := c.Job()
	switch {
	case !is:
	case r == nil || r.State.Terminal() || r.Role == grid.Tombstone || r.Role == grid.Declined:
		delete(j.written, id) // it hardly changes any more, and there are many
	default:
		j.written[id] = r.Job
		if r.Job.Program.TextSize() >= longTexts { // else this would be what keeps them in memory
			known := r.Job
			known.Program = known.Program.Brief()
			j.written[id] = known
		}
	}
}

func (j *Journal) commit(ctx context.Context, changes []grid.Change) (sequence uint64, err error) {
	lines := make([]line, len(changes))
	for i, c := range changes {
		if lines[i], err = j.line(ctx, c); err != nil {
			return 0, fmt.Errorf("%s: %w", lines[i], err)
		}
	}
	err = j.transaction(ctx, func() error {
		for _, l := range lines {
			if err := j.write(ctx, l); err != nil {
				return fmt.Errorf("%s: %w", l, err)
			}
		}
		if err := j.saveHighWater(ctx); err != nil {
			return err
		}
		err := j.sql.raise.QueryRowContext(ctx).Scan(&sequence)
		if errors.Is(err, sql.ErrNoRows) {
			return damaged(j.file, "the journal's identity", errSum, "")
		}
		return err
	})
	return sequence, err
}

func (l line) String() string { return l.kind + " " + l.Key }

// line encodes one change.
func (j *Journal) line(ctx context.Context, c grid.Change) (l line, err error) {
	if id, r, is := c.Job(); is && r != nil && c.Brief && !j.same(r) {
		before, err := j.Record(ctx, id)
		if err != nil {
			return l, fmt.Errorf("the texts of job %s: %w", id, err)
		}
		whole := c.Whole(&before)
		if reflect.DeepEqual(before.Job, whole.Job) {
			j.written[id] = r.Job // as it is since before the journal was opened: it is not written again, nor kept until all are
		} else {
			c.Record = whole
		}
	}
	l.Change = c
	if l.kind, err = nameOf(c.Kind); err != nil || c.Record == nil {
		return l, err
	}
	if kind, key := c.Record.Entity(); kind != c.Kind || key != c.Key {
		return l, fmt.Errorf("the record is that of %q, of kind %d", key, kind)
	}
	if l.row, err = kinds[c.Kind].encode(j, c.Record); err != nil {
		return l, err
	}
	for _, d := range c.Decisions {
		text, err := encode(toDecision(d))
		if err != nil {
			return l, err
		}
		l.decisions = append(l.decisions, text)
	}
	return l, nil
}

func (j *Journal) write(ctx context.Context, l line) error {
	if l.Record == nil {
		_, err := j.sql.remove.ExecContext(ctx, l.kind, l.Key)
		return err
	}
	if _, err := j.sql.save.ExecContext(ctx, l.kind, l.Key, l.user, l.state, string(l.record)); err != nil {
		return err
	}
	if l.document != nil {
		if _, err := j.sql.document.ExecContext(ctx, l.kind, l.Key, string(l.document)); err != nil {
			return err
		}
	}
	for _, e := range l.Events {
		state := ""
		if e.State != 0 {
			state = e.State.String()
		}
		_, err := j.sql.event.ExecContext(ctx, l.kind, l.Key, int64(e.At), state, string(e.Site), int64(e.Epoch.Term), int64(e.Epoch.Hop), e.Why)
		if err != nil {
			return fmt.Errorf("event: %w", err)
		}
	}
	return j.writeDecisions(ctx, l)
}

// writeDecisions appends them, and lets go what is too much.
func (j *Journal) writeDecisions(ctx context.Context, l line) error {
	if l.Undecided {
		if _, err := j.sql.undecide.ExecContext(ctx, l.kind, l.Key); err != nil {
			return fmt.Errorf("decisions: %w", err)
		}
	}
	for i, text := range l.decisions {
		if _, err := j.sql.decision.ExecContext(ctx, l.kind, l.Key, l.Decisions[i].Unmoved, string(text)); err != nil {
			return fmt.Errorf("decision: %w", err)
		}
	}
	if len(l.decisions) == 0 {
		return nil
	}
	_, err := j.sql.limit.ExecContext(ctx, l.kind, l.Key)
	return err
}
