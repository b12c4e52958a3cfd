package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"gbroker/grid"
)

// statementsOfCommit are prepared once on the writer's connection.
type statementsOfCommit struct {
	save, document, event, remove, raise, mark, forget, site *sql.Stmt
}

func (s *statementsOfCommit) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.save, `INSERT INTO job (id, home, user, state, standing, submitted, ended, record, sum)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, checksum('job', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8))
			ON CONFLICT (id) DO UPDATE SET home = excluded.home, user = excluded.user, state = excluded.state, standing = excluded.standing,
			submitted = excluded.submitted, ended = excluded.ended, record = excluded.record, sum = excluded.sum`},
		{&s.document, `INSERT INTO document (id, job, sum) VALUES (?1, ?2, checksum('document', ?1, ?2))
			ON CONFLICT (id) DO UPDATE SET job = excluded.job, sum = excluded.sum WHERE document.job <> excluded.job`},
		{&s.event, `INSERT INTO event (job, seq, at, state, site, term, hop, why, sum)
			SELECT ?1, n, ?2, ?3, ?4, ?5, ?6, ?7, checksum('event', ?1, n, ?2, ?3, ?4, ?5, ?6, ?7)
			FROM (SELECT coalesce(max(seq), 0) + 1 AS n FROM event WHERE job = ?1)`},
		{&s.remove, `DELETE FROM job WHERE id = ?`},
		{&s.raise, `UPDATE journal SET sequence = sequence + 1, sum = checksum('journal', incarnation, sequence + 1)
			WHERE sum = ` + sumOfJournal + ` RETURNING sequence`},
		{&s.mark, `INSERT INTO peer (number, peer, incarnation, life, sequence, sum)
			SELECT n, ?1, ?2, ?3, ?4, checksum('peer', n, ?1, ?2, ?3, ?4) FROM (SELECT coalesce(max(number), 0) + 1 AS n FROM peer) WHERE true
			ON CONFLICT (peer, incarnation, life) DO UPDATE SET sequence = excluded.sequence,
			sum = checksum('peer', number, peer, incarnation, life, excluded.sequence) WHERE sequence < excluded.sequence`},
		{&s.site, `INSERT INTO site (one, state, sum) VALUES (1, ?1, checksum('site', ?1))
			ON CONFLICT (one) DO UPDATE SET state = excluded.state, sum = excluded.sum`},
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
	for _, p := range []*sql.Stmt{s.save, s.document, s.event, s.remove, s.raise, s.mark, s.forget, s.site} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// line is a change in the form in which it is written.
type line struct {
	grid.Change
	record   []byte // nil: delete; with Site its state
	document []byte // nil: as it was
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
		if c.Site != nil {
			continue
		}
		if c.Record == nil || c.Record.State.Terminal() || c.Record.Role == grid.Tombstone || c.Record.Role == grid.Declined {
			delete(j.written, c.Job) // it hardly changes any more, and there are many
		} else {
			j.written[c.Job] = c.Record.Job
		}
	}
	return nil
}

func (j *Journal) commit(ctx context.Context, changes []grid.Change) (sequence uint64, err error) {
	lines := make([]line, len(changes))
	for i, c := range changes {
		if lines[i], err = j.line(c); err != nil {
			return 0, fmt.Errorf("job %s: %w", c.Job, err)
		}
	}
	err = j.transaction(ctx, func() error {
		for _, l := range lines {
			if err := j.write(ctx, l); err != nil {
				return fmt.Errorf("job %s: %w", l.Job, err)
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

// line encodes one change.
func (j *Journal) line(c grid.Change) (line, error) {
	l := line{Change: c}
	if c.Site != nil {
		var err error
		l.record, err = encode(siteRow(*c.Site))
		return l, err
	}
	if c.Record == nil {
		return l, nil
	}
	if c.Record.Job.ID != c.Job {
		return l, fmt.Errorf("the record is that of job %q", c.Record.Job.ID)
	}
	for _, e := range c.Events {
		if e.Job != c.Job {
			return l, fmt.Errorf("an event is that of job %q", e.Job)
		}
	}
	var err error
	if l.record, err = encodeRecord(c.Record); err != nil {
		return l, err
	}
	if known, ok := j.written[c.Job]; !ok || !reflect.DeepEqual(known, c.Record.Job) {
		l.document, err = encodeJob(&c.Record.Job)
	}
	return l, err
}

func (j *Journal) write(ctx context.Context, l line) error {
	if l.Site != nil {
		_, err := j.sql.site.ExecContext(ctx, string(l.record))
		return err
	}
	if l.Record == nil {
		_, err := j.sql.remove.ExecContext(ctx, string(l.Job))
		return err
	}
	r := l.Record
	_, err := j.sql.save.ExecContext(ctx, string(l.Job), string(r.Job.Home), r.Job.User.Name,
		r.State.String(), r.Role.String(), int64(r.Submitted), int64(r.Ended), string(l.record))
	if err != nil {
		return err
	}
	if l.document != nil {
		if _, err := j.sql.document.ExecContext(ctx, string(l.Job), string(l.document)); err != nil {
			return err
		}
	}
	for _, e := range l.Events {
		_, err := j.sql.event.ExecContext(ctx, string(e.Job), int64(e.At), e.State.String(), string(e.Site),
			int64(e.Epoch.Term), int64(e.Epoch.Hop), e.Why)
		if err != nil {
			return fmt.Errorf("event: %w", err)
		}
	}
	return nil
}
