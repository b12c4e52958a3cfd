package api

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gbroker/grid"
)

// ClientConfig says which broker to talk to, and how patiently.
type ClientConfig struct {
	Address string // unix:///path or http://127.0.0.1:PORT
	Token   string // for http

	Answer time.Duration // for an answer, beside what the broker itself waits; 0 is 30 s
	Stall  time.Duration // for the next piece of a file; 0 is 60 s
	// Show is the header with the user's pass for a request; "" or nil is none.
	Show func(method, uri string) (string, error)

	// Unconfirmed is told why an answer may not be true; nil is not told.
	Unconfirmed func(why string)

	Resend time.Duration // how long a submission is sent again after a lost answer; 0 is 5 s
}

// Client talks to one broker. It may be used by many goroutines.
type Client struct {
	config ClientConfig
	base   string // of URLs
	http   *http.Client
}

// NewClient checks the address; it connects when it is used.
func NewClient(c ClientConfig) (*Client, error) {
	network, target, err := parseAddress(c.Address)
	if err != nil {
		return nil, err
	}
	if network == "tcp" && c.Token == "" {
		return nil, fmt.Errorf("broker address %s: http needs the broker's token: give its file with --token-file or $GBROKER_TOKEN_FILE: %w", c.Address, grid.ErrInvalid)
	}
	orDefault(&c.Answer, 30*time.Second)
	orDefault(&c.Stall, 60*time.Second)
	orDefault(&c.Resend, 5*time.Second)
	base := "http://" + target
	if network == "unix" {
		base = "http://gbroker"
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, target)
		},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        time.Minute,
		ExpectContinueTimeout:  2 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		WriteBufferSize:        64 << 10,
		ReadBufferSize:         64 << 10,
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{c, base, &http.Client{Transport: transport, CheckRedirect: noRedirect}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Address is the broker's, as given.
func (c *Client) Address() string { return c.config.Address }

// Submit hands in a job. While an answer is lost on the way it sends the same
// submission again, for as long as Resend: the key makes it the same job.
func (c *Client) Submit(ctx context.Context, s Submission) (Accepted, error) {
	if s.Files == nil {
		s.Files = []File{}
	}
	return resend[Accepted](ctx, c, "/v1/jobs", s)
}

// resend hands something in that has a key.
func resend[A any](ctx context.Context, c *Client, path string, submission any) (A, error) {
	var none A
	body, err := json.Marshal(submission)
	if err != nil {
		return none, fmt.Errorf("writing the submission as JSON: %w", err)
	}
	deadline := time.Now().Add(c.config.Resend)
	sent := false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var a A
		err := c.do(ctx, http.MethodPost, path, body, &a, c.config.Answer)
		// A broker that cannot be reached has not got it, unless it got it before.
		lost := Lost(err) || errors.Is(err, grid.ErrUnavailable) && !unreachable(err) || sent && unreachable(err)
		if !lost || time.Now().After(deadline) {
			if sent && unreachable(err) {
				err = &lostError{err}
			}
			return a, err
		}
		sent = sent || Lost(err)
		if err := sleep(ctx, pause); err != nil {
			return a, err
		}
	}
}

// Uploaded tells that all wanted files were sent.
func (c *Client) Uploaded(ctx context.Context, id grid.JobID) (Status, error) {
	return do[Status](ctx, c, http.MethodPost, jobPath(id)+"/uploaded")
}

// Job is the status of one job.
func (c *Client) Job(ctx context.Context, id grid.JobID) (Status, error) {
	return do[Status](ctx, c, http.MethodGet, jobPath(id))
}

// Jobs is one page of the list of jobs, those after the given one ("" from the start).
func (c *Client) Jobs(ctx context.Context, after grid.JobID, limit int) (Page, error) {
	return c.List(ctx, Filter{}, after, limit)
}

// List is one page of the list of jobs that a filter passes.
func (c *Client) List(ctx context.Context, f Filter, after grid.JobID, limit int) (Page, error) {
	q := f.query()
	q.Set("limit", strconv.Itoa(limit))
	if after != "" {
		q.Set("after", string(after))
	}
	return do[Page](ctx, c, http.MethodGet, "/v1/jobs?"+q.Encode())
}

// Wait returns once the job's state is not since, or after the broker's long poll.
func (c *Client) Wait(ctx context.Context, id grid.JobID, since string) (Status, error) {
	var s Status
	err := c.do(ctx, http.MethodGet, jobPath(id)+"/wait?since="+url.QueryEscape(since), nil, &s, c.config.Answer+defaultLimits().LongPoll)
	return s, err
}

// Cancel asks for the end of a job.
func (c *Client) Cancel(ctx context.Context, id grid.JobID) (Confirmation, error) {
	return do[Confirmation](ctx, c, http.MethodPost, jobPath(id)+"/cancel")
}

// Explain tells why a job is where it is.
func (c *Client) Explain(ctx context.Context, id grid.JobID) (Explanation, error) {
	return do[Explanation](ctx, c, http.MethodGet, jobPath(id)+"/explain")
}

// History is the table of a job's events.
func (c *Client) History(ctx context.Context, id grid.JobID) (History, error) {
	return do[History](ctx, c, http.MethodGet, jobPath(id)+"/history")
}

// Outputs lists what a job left, or has written so far.
func (c *Client) Outputs(ctx context.Context, id grid.JobID) (Outputs, error) {
	return do[Outputs](ctx, c, http.MethodGet, jobPath(id)+"/outputs")
}

// Remove deletes an ended job and its files.
func (c *Client) Remove(ctx context.Context, id grid.JobID) error {
	return c.do(ctx, http.MethodDelete, jobPath(id), nil, nil, c.config.Answer)
}

// Sites lists the broker's own site and the members it hears.
func (c *Client) Sites(ctx context.Context) ([]Site, error) {
	return do[[]Site](ctx, c, http.MethodGet, "/v1/sites")
}

// Pass asks for a pass for the user, who holds the private key of key.
func (c *Client) Pass(ctx context.Context, key ed25519.PublicKey) (Pass, error) {
	var p Pass
	body, err := json.Marshal(PassRequest{key})
	if err != nil {
		return p, fmt.Errorf("writing the request as JSON: %w", err)
	}
	err = c.do(ctx, http.MethodPost, "/v1/pass", body, &p, c.config.Answer)
	return p, err
}

// AllSites lists the sites of the whole grid, as far as they are known.
func (c *Client) AllSites(ctx context.Context) ([]Site, error) {
	var list []Site
	err := c.do(ctx, http.MethodGet, "/v1/sites?all=yes", nil, &list, 2*c.config.Answer)
	return list, err
}

// Overview tells how the broker is.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	return do[Overview](ctx, c, http.MethodGet, "/v1/broker")
}

// Drain makes the broker's site take no more grid jobs, or ends that.
func (c *Client) Drain(ctx context.Context, on bool) (Drained, error) {
	path := "/v1/drain"
	if !on {
		path = "/v1/undrain"
	}
	return do[Drained](ctx, c, http.MethodPost, path)
}

// Forget says that a site will not come back, or asks what that would do.
func (c *Client) Forget(ctx context.Context, f Forgetting) (Forgotten, error) {
	var done Forgotten
	body, err := json.Marshal(f)
	if err != nil {
		return done, fmt.Errorf("writing the request as JSON: %w", err)
	}
	err = c.do(ctx, http.MethodPost, "/v1/forget", body, &done, c.config.Answer)
	return done, err
}

// Resume lets a broker go on that has stopped until an administrator decides.
func (c *Client) Resume(ctx context.Context) (Asking, error) {
	return do[Asking](ctx, c, http.MethodPost, "/v1/resume")
}

// HadDuplicate says that a broker had a duplicate which nobody noticed, and which is stopped.
func (c *Client) HadDuplicate(ctx context.Context) (Asking, error) {
	return do[Asking](ctx, c, http.MethodPost, "/v1/had-duplicate")
}

// Batch is what the batch system of the broker holds now.
func (c *Client) Batch(ctx context.Context) (Batch, error) {
	return do[Batch](ctx, c, http.MethodGet, "/v1/batch")
}

// Notify tells that something has changed in the batch system.
func (c *Client) Notify(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/notify", nil, nil, c.config.Answer)
}

// Handoffs lists the jobs on their way to or from a neighbour.
func (c *Client) Handoffs(ctx context.Context, neighbour grid.SiteName) ([]Handoff, error) {
	return do[[]Handoff](ctx, c, http.MethodGet, "/v1/sites/"+url.PathEscape(string(neighbour))+"/handoffs")
}

// Self is what the broker says of itself, and whom it takes us for.
func (c *Client) Self(ctx context.Context) (Self, error) {
	return do[Self](ctx, c, http.MethodGet, "/v1/site")
}

func jobPath(id grid.JobID) string { return "/v1/jobs/" + url.PathEscape(string(id)) }

// escaped is a path for a URL, its slashes kept.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// do makes a request without a body.
func do[T any](ctx context.Context, c *Client, method, path string) (T, error) {
	var v T
	err := c.do(ctx, method, path, nil, &v, c.config.Answer)
	return v, err
}

// do makes a request with a JSON body (nil is none) and reads the JSON answer into
// v (nil wants none), within limit.
func (c *Client) do(ctx context.Context, method, path string, body []byte, v any, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	r, err := c.request(ctx, method, path, content)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.send(r)
	if err != nil {
		return c.transportError(err)
	}
	defer answer.Body.Close()
	return readAnswer(answer, v)
}

// send makes a request, and tells what its answer says of itself.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if why := answer.Header.Get(UnconfirmedHeader); why != "" && c.config.Unconfirmed != nil {
		c.config.Unconfirmed(why)
	}
	return answer, nil
}

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("making a request to the broker: %w", err)
	}
	if c.config.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	if c.config.Show != nil {
		pass, err := c.config.Show(method, r.URL.RequestURI())
		if err != nil {
			return nil, err
		}
		if pass != "" {
			r.Header.Set(PassHeader, pass)
		}
	}
	return r, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
