package store

import (
	"context"
	"database/sql"
	"fmt"

	"gbroker/grid"
)

// Groups reads all groups, in the order of their identifiers.
func (j *Journal) Groups(ctx context.Context) (list []grid.Group, err error) {
	err = entities(ctx, j, "group", func(key string, w groupRow) error {
		g := w.group()
		list = append(list, g)
		return belongs(&g, key)
	})
	return list, err
}

// Templates reads what the jobs of groups are made from.
func (j *Journal) Templates(ctx context.Context) (list []grid.Template, err error) {
	err = entities(ctx, j, "template", func(key string, w templateRow) error {
		t, err := w.template()
		if err != nil {
			return err
		}
		list = append(list, t)
		return belongs(&t, key)
	})
	return list, err
}

// Results reads what became of the jobs of groups.
func (j *Journal) Results(ctx context.Context) (list []grid.Results, err error) {
	err = entities(ctx, j, "results", func(key string, w resultsRow) error {
		r := grid.Results(w)
		list = append(list, r)
		return belongs(&r, key)
	})
	return list, err
}

func belongs(e grid.Entity, key string) error {
	if _, is := e.Entity(); is != key {
		return fmt.Errorf("it is that of %q", is)
	}
	return nil
}

// entities reads all records of a kind, in the order of their keys.
func entities[T any](ctx context.Context, j *Journal, kind string, take func(key string, w T) error) error {
	err := j.query(ctx, `SELECT key, record, sum = `+sumOfEntity+` FROM entity WHERE kind = ? ORDER BY key`, []any{kind}, func(rows *sql.Rows) error {
		var key string
		var text []byte
		var sound bool
		if err := rows.Scan(&key, &text, &sound); err != nil {
			return err
		}
		var w T
		err := strictly(text, &w)
		switch {
		case !sound:
			err = errSum
		case err == nil:
			err = take(key, w)
		}
		if err != nil {
			return damaged(j.file, "the record of "+kind+" "+key, err, giveUp("entity", kind, key))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("load the records of kind %s: %w", kind, err)
	}
	return nil
}
