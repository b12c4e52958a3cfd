package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"gbroker/grid"
)

// The output of a job as it grows: GET /v1/jobs/{id}/log, wherever the job runs.
//
//	stream=output|error   which: its standard output (the default) or error
//	file=NAME             or one of the files that come back, by the name that it will have
//	offset=N run=RUN      only what lies behind N bytes of what that run has written
//	follow=1              wait until there is more, or the end, or half a minute is over
//
// The body is a piece of the file, of at most [MaxLogPiece] bytes. The headers tell
//
//	Gbroker-Run           of which run it is: a job that was started again is another one; "" before the start
//	Gbroker-Offset        where the piece begins: as asked, or 0 of another run, or of a file that has become shorter
//	Gbroker-State         of the job    Gbroker-Site  where it is
//	Gbroker-Why           why it cannot be read now, quoted; only of those who wait
//	Gbroker-End           1: the job has ended, and nothing lies behind the piece

// MaxLogPiece bounds a piece of a log.
const MaxLogPiece = 1 << 20

// LogQuery says which part of what a job writes is wanted.
type LogQuery struct {
	Error  bool   // standard error, not output
	File   string // or one of its outputs
	Run    string // of which the Offset is; "" is any
	Offset int64
	Follow bool // wait until there is more
}

// LogPiece is a part of what a job has written.
type LogPiece struct {
	Run    string // "" before its start
	Offset int64  // where Data begins
	Data   []byte
	State  string
	Site   grid.SiteName
	End    bool   // the job has ended, and nothing lies behind Data
	Why    string // the file cannot be read now, for people
}

func (s *Server) readLog(r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	q, err := readLogQuery(r.URL.Query())
	if err != nil {
		return err
	}
	var p LogPiece
	read := func(ctx context.Context) error {
		p, err = s.service.ReadLog(ctx, r.who, id, q)
		return err
	}
	if q.Follow {
		err = s.patiently(r, s.limits.LongPoll, read)
	} else {
		err = read(r.Context())
	}
	if err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Gbroker-Run", p.Run)
	h.Set("Gbroker-Offset", strconv.FormatInt(p.Offset, 10))
	h.Set("Gbroker-State", p.State)
	h.Set("Gbroker-Site", string(p.Site))
	if p.Why != "" {
		h.Set("Gbroker-Why", strconv.QuoteToASCII(p.Why))
	}
	if p.End {
		h.Set("Gbroker-End", "1")
	}
	h.Set("Content-Length", strconv.Itoa(len(p.Data)))
	extend(r.rc.SetWriteDeadline, s.limits.Stall)
	_, _ = r.w.Write(p.Data) // a client that is gone needs no answer
	return nil
}

func readLogQuery(v url.Values) (q LogQuery, err error) {
	q.File, q.Run, q.Follow = v.Get("file"), v.Get("run"), v.Get("follow") == "1"
	switch stream := v.Get("stream"); {
	case q.File != "" && stream != "":
		return q, fmt.Errorf("a stream and a file are asked for: name one of them: %w", grid.ErrInvalid)
	case q.File != "":
		err = checkPath(q.File)
	case stream == "error":
		q.Error = true
	case stream != "" && stream != "output":
		return q, fmt.Errorf("the stream %.20q is neither output nor error: %w", stream, grid.ErrInvalid)
	}
	if text := v.Get("offset"); text != "" && err == nil {
		if q.Offset, err = strconv.ParseInt(text, 10, 64); err != nil || q.Offset < 0 {
			return q, fmt.Errorf("offset %.30q is no number of bytes: %w", text, grid.ErrInvalid)
		}
	}
	if len(q.Run) > 64 {
		return q, fmt.Errorf("run %.70q is none: %w", q.Run, grid.ErrInvalid)
	}
	return q, err
}

// ReadLog reads what a job has written behind a place.
func (c *Client) ReadLog(ctx context.Context, id grid.JobID, q LogQuery) (p LogPiece, err error) {
	v := url.Values{"offset": {strconv.FormatInt(q.Offset, 10)}}
	switch {
	case q.File != "":
		v.Set("file", q.File)
	case q.Error:
		v.Set("stream", "error")
	}
	if q.Run != "" {
		v.Set("run", q.Run)
	}
	limit := c.config.Answer
	if q.Follow {
		v.Set("follow", "1")
		limit += defaultLimits().LongPoll
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := c.request(ctx, http.MethodGet, jobPath(id)+"/log?"+v.Encode(), nil)
	if err != nil {
		return p, err
	}
	answer, err := c.send(r)
	if err != nil {
		return p, c.transportError(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return p, readAnswer(answer, nil)
	}
	h := answer.Header
	p = LogPiece{Run: h.Get("Gbroker-Run"), State: h.Get("Gbroker-State"), Site: grid.SiteName(h.Get("Gbroker-Site")), End: h.Get("Gbroker-End") == "1"}
	if why, bad := strconv.Unquote(h.Get("Gbroker-Why")); bad == nil {
		p.Why = why
	}
	if p.Offset, err = strconv.ParseInt(h.Get("Gbroker-Offset"), 10, 64); err != nil {
		return p, fmt.Errorf("the broker's answer is not understood, is it gbroker of the same version? %w", err)
	}
	// A piece comes whole, or not: what is asked for next begins behind it.
	if p.Data, err = io.ReadAll(io.LimitReader(answer.Body, MaxLogPiece)); err != nil {
		return p, &lostError{err}
	}
	return p, nil
}
