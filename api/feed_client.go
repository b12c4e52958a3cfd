package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// FeedEvent is one event of the feed as a client gets it: that of its kind is set.
type FeedEvent struct {
	Name        string           `json:"event"`
	At          Position         `json:"position,omitzero"` // of [EventHere] and [EventReset]
	Job         *Status          `json:"job,omitempty"`
	Group       *GroupStatus     `json:"group,omitempty"`
	Reservation *HeldReservation `json:"reservation,omitempty"`
	Flow        *FlowStatus      `json:"flow,omitempty"`
	ID          string           `json:"id,omitempty"`   // of what was removed
	Kind        Kind             `json:"kind,omitempty"` // likewise
}

// Changes gives the events behind a position that are of some kinds, without any of jobs, until give fails or ctx is done. A broken
// connection ends it with an error that is [Interrupted]: the caller goes on behind the last position that it got.
func (c *Client) Changes(ctx context.Context, after Position, give func(FeedEvent) error, kinds ...Kind) error {
	ctx, stalled := c.whileMoving(ctx)
	defer stalled.stop()
	r, err := c.request(ctx, http.MethodGet, "/v1/changes?after="+after.String()+"&kinds="+joined(kinds), nil)
	if err != nil {
		return err
	}
	answer, err := c.send(r)
	if err != nil {
		return c.transportError(stalled.cause(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return readAnswer(answer, nil)
	}
	err = readEvents(&stalledReader{Reader: answer.Body, stall: stalled}, give)
	var broken *brokenFeed
	if errors.As(err, &broken) {
		return &lostError{fmt.Errorf("the feed of changes broke off: %w", stalled.cause(broken.error))}
	}
	return err
}

// brokenFeed is an error of reading, as others are of those who get the events.
type brokenFeed struct{ error }

// maxEvent bounds an event, in bytes.
const maxEvent = 8 << 20

func readEvents(r io.Reader, give func(FeedEvent) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 16<<10), maxEvent)
	var e FeedEvent
	var data, id []byte
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch string(name) {
		case "event":
			e.Name = string(value)
		case "data":
			data = append(data, value...)
		case "id":
			id = append(id, value...)
		case "": // it is whole: what cannot be read of it cannot be read the next time either
			if err := e.read(id, data); err != nil {
				return fmt.Errorf("this client cannot read what the broker tells (event %.40q): %w", e.Name, err)
			}
			if err := give(e); err != nil {
				return err
			}
			e, data, id = FeedEvent{}, nil, nil
		}
	}
	if err := lines.Err(); err != nil {
		return &brokenFeed{err}
	}
	return nil
}

// read takes the position and the data of an event; of one that a later broker sends the data are left.
func (e *FeedEvent) read(id, data []byte) (err error) {
	if e.At, err = ParsePosition(string(id)); err != nil {
		return err
	}
	switch e.Name {
	case string(KindJob):
		return json.Unmarshal(data, &e.Job)
	case string(KindGroup):
		return json.Unmarshal(data, &e.Group)
	case string(KindReservation):
		return json.Unmarshal(data, &e.Reservation)
	case string(KindFlow):
		return json.Unmarshal(data, &e.Flow)
	case EventRemoved:
		gone := Removal{Kind: KindJob} // older brokers tell of nothing else
		err = json.Unmarshal(data, &gone)
		e.ID, e.Kind = gone.ID, gone.Kind
	}
	return err
}

// again is how long a client waits before it asks a broker anew that has ended its feed.
const again = time.Second

// Follow gives the events behind a position as Changes does, and goes on over broken connections and restarts of the
// broker, for as long as that is away no longer than patience; away, if there is one, is told the error before each time
// that it is asked again for one.
func (c *Client) Follow(ctx context.Context, after Position, patience time.Duration, give func(FeedEvent) error, away func(error), kinds ...Kind) error {
	heard := time.Now()
	for {
		err := c.Changes(ctx, after, func(e FeedEvent) error {
			if e.At != (Position{}) {
				after = e.At
			}
			err := give(e)
			heard = time.Now() // what it takes is not the broker's absence
			return err
		}, kinds...)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (!Interrupted(err) || time.Since(heard) > patience):
			return err
		case err != nil && away != nil:
			away(err)
		}
		if err := sleep(ctx, again); err != nil {
			return err
		}
	}
}
