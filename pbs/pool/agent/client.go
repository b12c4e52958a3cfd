package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// Answers of a pool that are no success.
var (
	errBegin           = errors.New("the pool wants a new session")
	errForbidden error = refusal{}
)

// refusal is an answer for good, which is [grid.ErrForbidden] to who asked.
type refusal struct{}

func (refusal) Error() string        { return "the pool refuses" }
func (refusal) Is(target error) bool { return target == grid.ErrForbidden }

// Limits of a request.
const (
	talkLimit = time.Minute
	fileLimit = time.Hour
)

// client reaches the pool.
type client struct {
	base string
	http *http.Client
}

func newClient(address string, pool line.Fingerprint, id *line.Identity) *client {
	return &client{
		base: "https://" + address,
		http: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig: line.Client(pool, id), MaxIdleConnsPerHost: 4, IdleConnTimeout: 2 * time.Minute,
				DialContext:         (&net.Dialer{Timeout: 20 * time.Second}).DialContext,
				TLSHandshakeTimeout: 20 * time.Second, DisableCompression: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// ask posts a message and reads the answer; limit bounds both.
func (c *client) ask(ctx context.Context, limit time.Duration, path string, message, answer any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := c.send(ctx, http.MethodPost, path, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	defer r.Close()
	return line.Read(r, answer)
}

// send gives the body of a successful answer.
func (c *client) send(ctx context.Context, method, path string, body io.Reader, size int64) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = size
	if size == 0 {
		r.Body = http.NoBody
	}
	got, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("reaching the pool: %w", err)
	}
	if got.StatusCode == http.StatusOK {
		return got.Body, nil
	}
	defer got.Body.Close()
	var why line.Refused
	if err := line.Read(got.Body, &why); err != nil {
		why.Why = got.Status
	}
	switch got.StatusCode {
	case http.StatusConflict:
		return nil, fmt.Errorf("%w: %s", errBegin, why.Why)
	case http.StatusForbidden, http.StatusBadRequest, http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", errForbidden, why.Why)
	}
	return nil, fmt.Errorf("the pool answers %s: %s", got.Status, why.Why)
}

func jobPath(tag, what string) string { return line.JobsPath + tag + "/" + what }

func filePath(tag, inside string, more url.Values) string {
	if more == nil {
		more = url.Values{}
	}
	more.Set("path", base64.RawURLEncoding.EncodeToString([]byte(inside)))
	return jobPath(tag, "file") + "?" + more.Encode()
}

// inputs lists the files of a job.
func (c *client) inputs(ctx context.Context, tag string) (files line.Files, err error) {
	ctx, cancel := context.WithTimeout(ctx, talkLimit)
	defer cancel()
	body, err := c.send(ctx, http.MethodGet, jobPath(tag, "files"), nil, 0)
	if err != nil {
		return files, err
	}
	defer body.Close()
	if err := line.Read(body, &files); err != nil {
		return files, err
	}
	return files, files.Check()
}

// fetch writes one input.
func (c *client) fetch(ctx context.Context, tag string, f line.File, into io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, fileLimit)
	defer cancel()
	body, err := c.send(ctx, http.MethodGet, filePath(tag, string(f.Path), nil), nil, 0)
	if err != nil {
		return err
	}
	defer body.Close()
	n, err := io.Copy(into, io.LimitReader(body, f.Size+1))
	if err == nil && n != f.Size {
		err = fmt.Errorf("%q has %d bytes where %d were announced", f.Path, n, f.Size)
	}
	return err
}

// piece is a file, a folder or a link that a job has left.
type piece struct {
	path   string
	mode   fs.FileMode
	size   int64
	sum    string
	folder bool
	link   string
}

// bring sends a piece of what a job has left.
func (c *client) bring(ctx context.Context, tag, stint string, p piece, from io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, fileLimit)
	defer cancel()
	more := url.Values{"stint": {stint}, "mode": {strconv.FormatUint(uint64(p.mode), 8)}}
	switch {
	case p.folder:
		more.Set("folder", "1")
	case p.link != "":
		more.Set("link", base64.RawURLEncoding.EncodeToString([]byte(p.link)))
	default:
		more.Set("sha256", p.sum)
	}
	var content io.Reader = http.NoBody
	if p.size > 0 {
		content = io.LimitReader(from, p.size)
	}
	body, err := c.send(ctx, http.MethodPut, filePath(tag, p.path, more), content, p.size)
	if err != nil {
		return err
	}
	return body.Close()
}
