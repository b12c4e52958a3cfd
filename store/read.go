package store

import (
	"context"
	"database/sql"
	"fmt"

	"gbroker/grid"
)

// Load reads all records, in the order of their job identifiers.
func (j *Journal) Load(ctx context.Context) ([]grid.Record, error) {
	var records []grid.Record
	err := j.query(ctx, `SELECT job.id, record, document.job FROM job JOIN document USING (id) ORDER BY id`, nil, func(rows *sql.Rows) error {
		var id string
		var record, job []byte
		if err := rows.Scan(&id, &record, &job); err != nil {
			return err
		}
		r, err := decode(record, job)
		if err == nil && string(r.Job.ID) != id {
			err = fmt.Errorf("it is that of %q", r.Job.ID)
		}
		if err != nil {
			return corrupt(j.file, fmt.Errorf("the record of job %s: %w", id, err))
		}
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load the records: %w", err)
	}
	return records, nil
}

// Site reads what the broker knows of its own site; zero if nothing was written.
func (j *Journal) Site(ctx context.Context) (grid.SiteState, error) {
	var state grid.SiteState
	err := j.query(ctx, `SELECT state FROM site`, nil, func(rows *sql.Rows) error {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var row siteRow
		if err := strictly(text, &row); err != nil {
			return corrupt(j.file, fmt.Errorf("the state of the site: %w", err))
		}
		state = grid.SiteState(row)
		return nil
	})
	if err != nil {
		return state, fmt.Errorf("load the state of the site: %w", err)
	}
	return state, nil
}

// History reads what happened to a job, the oldest first; nothing for a job that
// is not here.
func (j *Journal) History(ctx context.Context, job grid.JobID) ([]grid.Event, error) {
	var events []grid.Event
	err := j.query(ctx, `SELECT at, state, site, term, hop, why FROM event WHERE job = ? ORDER BY seq`, []any{string(job)}, func(rows *sql.Rows) error {
		e := grid.Event{Job: job}
		var state string
		err := rows.Scan((*int64)(&e.At), &state, (*string)(&e.Site), &e.Epoch.Term, &e.Epoch.Hop, &e.Why)
		if err != nil {
			return err
		}
		if e.State, err = grid.ParseState(state); err != nil {
			return corrupt(j.file, fmt.Errorf("event %d: %w", len(events)+1, err))
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of job %s: %w", job, err)
	}
	return events, nil
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
