package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"gbroker/grid"
)

// Load reads all records, in the order of their job identifiers. Where one cannot be
// believed the error names it.
func (j *Journal) Load(ctx context.Context) ([]grid.Record, error) {
	var records []grid.Record
	err := j.Each(ctx, func(r grid.Record) error {
		records = append(records, r)
		return nil
	})
	return records, err
}

// Each gives the records that Load reads one after the other, until one is refused.
func (j *Journal) Each(ctx context.Context, give func(grid.Record) error) error {
	if err := j.records(ctx, `ORDER BY entity.key`, nil, decode, give); err != nil {
		return fmt.Errorf("load the records: %w", err)
	}
	return nil
}

// Record reads one record; grid.ErrNotFound if there is none.
func (j *Journal) Record(ctx context.Context, id grid.JobID) (r grid.Record, err error) {
	found := false
	err = j.records(ctx, `AND entity.key = ?`, []any{string(id)}, decode, func(one grid.Record) error {
		r, found = one, true
		return nil
	})
	if err == nil && !found {
		err = grid.ErrNotFound
	}
	if err != nil {
		return r, fmt.Errorf("read the record of job %s: %w", id, err)
	}
	return r, nil
}

// Records reads those that there are of some records, in any order.
func (j *Journal) Records(ctx context.Context, ids []grid.JobID) ([]grid.Record, error) {
	names, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("read %d records: %w", len(ids), err)
	}
	records := make([]grid.Record, 0, len(ids))
	err = j.records(ctx, `AND entity.key IN (SELECT value FROM json_each(?))`, []any{string(names)}, decode, func(r grid.Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %d records: %w", len(ids), err)
	}
	return records, nil
}

// Page reads up to limit records after an identifier, of the users of one name or of all
// (""), in the order of identifiers: without what they bring, run, left and were decided by.
func (j *Journal) Page(ctx context.Context, after grid.JobID, user string, limit int) ([]grid.Record, error) {
	where, args := `AND entity.key > ? ORDER BY entity.key LIMIT ?`, []any{string(after), limit}
	if user != "" {
		where, args = `AND user = ? AND entity.key > ? ORDER BY entity.key LIMIT ?`, []any{user, string(after), limit}
	}
	records := make([]grid.Record, 0, limit)
	err := j.records(ctx, where, args, decodeBriefly, func(r grid.Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read a page of the records: %w", err)
	}
	return records, nil
}

func (j *Journal) records(ctx context.Context, where string, args []any, read func(record, job []byte) (grid.Record, error), give func(grid.Record) error) error {
	const text = `SELECT entity.key, record, document.text, entity.sum = ` + sumOfEntity + `, coalesce(document.sum = ` + sumOfDocument + `, 0)
		FROM entity LEFT JOIN document USING (kind, key) WHERE entity.kind = 'job' `
	return j.query(ctx, text+where, args, func(rows *sql.Rows) error {
		var id string
		var record, job []byte
		var sound, whole bool
		if err := rows.Scan(&id, &record, &job, &sound, &whole); err != nil {
			return err
		}
		r, err := believe(id, record, job, sound, whole, read)
		if err != nil {
			return damaged(j.file, "the record of job "+id, err, giveUp("entity", "job", id))
		}
		return give(r)
	})
}

// believe makes a record of its two lines, if they fit their checksums.
func believe(id string, record, job []byte, sound, whole bool, read func(record, job []byte) (grid.Record, error)) (grid.Record, error) {
	switch {
	case !sound:
		return grid.Record{}, errSum
	case job == nil:
		return grid.Record{}, errors.New("its document is missing")
	case !whole:
		return grid.Record{}, fmt.Errorf("its document: %w", errSum)
	}
	r, err := read(record, job)
	if err == nil && string(r.Job.ID) != id {
		err = fmt.Errorf("it is that of %q", r.Job.ID)
	}
	return r, err
}

// Site reads what the broker knows of its own site; zero if nothing was written.
func (j *Journal) Site(ctx context.Context) (grid.SiteState, error) {
	var state grid.SiteState
	err := j.query(ctx, `SELECT record, sum = `+sumOfEntity+` FROM entity WHERE kind = 'site'`, nil, func(rows *sql.Rows) error {
		var text []byte
		var sound bool
		if err := rows.Scan(&text, &sound); err != nil {
			return err
		}
		var row siteRow
		err := strictly(text, &row)
		if !sound {
			err = errSum
		}
		if err != nil {
			return damaged(j.file, "the state of the site", err, "")
		}
		state = grid.SiteState(row)
		return nil
	})
	if err != nil {
		return state, fmt.Errorf("load the state of the site: %w", err)
	}
	return state, nil
}

// History reads what happened to an entity, the oldest first; nothing for one that
// is not here.
func (j *Journal) History(ctx context.Context, kind grid.Kind, key string) ([]grid.Event, error) {
	name, err := nameOf(kind)
	if err != nil {
		return nil, err
	}
	var events []grid.Event
	const text = `SELECT seq, at, state, site, term, hop, why, sum = ` + sumOfEvent + ` FROM event WHERE kind = ? AND key = ? ORDER BY seq`
	err = j.query(ctx, text, []any{name, key}, func(rows *sql.Rows) error {
		var e grid.Event
		var seq int64
		var state string
		var sound bool
		err := rows.Scan(&seq, (*int64)(&e.At), &state, (*string)(&e.Site), &e.Epoch.Term, &e.Epoch.Hop, &e.Why, &sound)
		if err != nil {
			return err
		}
		if state != "" {
			e.State, err = grid.ParseState(state)
		}
		if !sound {
			err = errSum
		}
		if err != nil {
			return damaged(j.file, fmt.Sprintf("line %d of the history of %s %s", seq, name, key), err, giveUpLine("event", name, key, seq))
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of %s %s: %w", name, key, err)
	}
	return events, nil
}

// Decisions reads what was decided of a job, the oldest first: the first, and the latest. The
// last of them may say why the job stays where it is.
func (j *Journal) Decisions(ctx context.Context, job grid.JobID) ([]grid.Decision, error) {
	var list []grid.Decision
	const text = `SELECT seq, stays, decision, sum = ` + sumOfDecision + ` FROM decision WHERE kind = 'job' AND key = ? ORDER BY seq`
	err := j.query(ctx, text, []any{string(job)}, func(rows *sql.Rows) error {
		var seq int64
		var decision []byte
		var stays, sound bool
		if err := rows.Scan(&seq, &stays, &decision, &sound); err != nil {
			return err
		}
		var d decisionRow
		err := strictly(decision, &d)
		if !sound {
			err = errSum
		}
		if err != nil {
			return damaged(j.file, fmt.Sprintf("decision %d of job %s", seq, job), err, giveUpLine("decision", "job", string(job), seq))
		}
		list = append(list, d.decision(stays))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the decisions of job %s: %w", job, err)
	}
	return list, nil
}

// giveUp is the statement that deletes an entity.
func giveUp(table, kind, key string) string {
	return fmt.Sprintf("DELETE FROM %s WHERE kind = %s AND key = %s", table, quoted(kind), quoted(key))
}

// giveUpLine is the statement that deletes one line of what was appended to one.
func giveUpLine(table, kind, key string, seq int64) string {
	return fmt.Sprintf("%s AND seq = %d", giveUp(table, kind, key), seq)
}

// query gives each row of one consistent reading to row.
func (j *Journal) query(ctx context.Context, text string, args []any, row func(*sql.Rows) error) error {
	if err := j.usable(); err != nil {
		return err
	}
	rows, err := j.reader.QueryContext(ctx, text, args...)
	if err != nil {
		return j.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return j.explain(err)
		}
	}
	return j.explain(rows.Err())
}
