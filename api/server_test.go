package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gbroker/api"
	"gbroker/api/apitest"
	"gbroker/grid"
)

const document = `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">
 <JobDescription>
  <Application><p:POSIXApplication><p:Executable>/bin/true</p:Executable></p:POSIXApplication></Application>
  %s
 </JobDescription>
</JobDefinition>`

const staging = `<DataStaging><FileName>in/a b%.txt</FileName><CreationFlag>overwrite</CreationFlag><Source><URI>data</URI></Source></DataStaging>`

var (
	plain     = fmt.Sprintf(document, "")
	withFile  = fmt.Sprintf(document, staging)
	tokenText = strings.Repeat("0123456789abcdef", 4)
)

// probeEnv tells the test binary to be a client as another user.
const probeEnv = "GBROKER_TEST_PROBE"

func TestMain(m *testing.M) {
	if address := os.Getenv(probeEnv); address != "" {
		os.Exit(probe(address))
	}
	goleak.VerifyTestMain(m)
}

// start serves a service in memory; the test's end ends it.
func start(t *testing.T, config api.Config) (*apitest.Service, *api.Server) {
	t.Helper()
	service := apitest.New()
	config.Users, config.Admin, config.Hook = service, service, service
	s, stop := apitest.Start(t, config)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return service, s
}

func client(t *testing.T, config api.ClientConfig) *api.Client {
	t.Helper()
	c, err := api.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, config api.Config) (*apitest.Service, *api.Server, *api.Client) {
	t.Helper()
	service, s := start(t, config)
	return service, s, client(t, api.ClientConfig{Address: s.Addresses()[0]})
}

func tokenFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// raw sends a request as it is and returns status and error kind.
func raw(t *testing.T, address string, edit func(*http.Request), method, path, body string) (int, api.Fault) {
	t.Helper()
	transport := &http.Transport{ExpectContinueTimeout: 10 * time.Second}
	base := address
	if socket, ok := strings.CutPrefix(address, "unix://"); ok {
		base = "http://gbroker"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(r)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	var f api.Fault
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode >= 400 {
		if err := json.Unmarshal(b, &f); err != nil || f.Text == "" || f.Kind == "" {
			t.Errorf("%s %s: the error is not told as {error, kind}: %s", method, path, b)
		}
	}
	return answer.StatusCode, f
}

func TestKindsTravel(t *testing.T) {
	t.Parallel()
	service, s, c := serve(t, api.Config{})
	for _, k := range []struct {
		err    error
		status int
		kind   string
	}{
		{grid.ErrInvalid, 400, "invalid"},
		{grid.ErrForbidden, 403, "forbidden"},
		{grid.ErrNotFound, 404, "not_found"},
		{grid.ErrNotYet, 409, "not_yet"},
		{grid.ErrUnavailable, 503, "unavailable"},
		{errors.New("disk on fire"), 500, "internal"},
		{context.DeadlineExceeded, 503, "unavailable"},
	} {
		service.Fail(fmt.Errorf("doing it: %w", k.err))
		if status, f := raw(t, s.Addresses()[0], nil, "GET", "/v1/jobs", ""); status != k.status || f.Kind != k.kind {
			t.Errorf("%v: status %d kind %q, want %d %q", k.err, status, f.Kind, k.status, k.kind)
		}
		_, err := c.Jobs(t.Context(), "", 10)
		if err == nil || !strings.Contains(err.Error(), "doing it: "+k.err.Error()) {
			t.Errorf("%v: the client says %v", k.err, err)
		}
		if k.kind != "internal" && !errors.Is(k.err, context.DeadlineExceeded) && !errors.Is(err, k.err) {
			t.Errorf("%v: the client's error is not of that kind: %v", k.err, err)
		}
	}
}

func TestSubmission(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{DefaultWalltime: 5 * grid.Minute})
	ctx := t.Context()
	sub := api.Submission{Key: "k", Document: withFile, Name: "x.jsdl", Rerunnable: true, Files: []api.File{{Path: "data", Size: 5, Mode: 0o640}}}
	a, err := c.Submit(ctx, sub)
	if err != nil {
		t.Fatal(err)
	}
	want := api.File{Path: "in/a b%.txt", From: "data", Size: 5, Mode: 0o640}
	if a.Again || len(a.Wanted) != 1 || a.Wanted[0] != want || a.State != "STAGEIN" || a.WalltimeS != 300 || !a.WalltimeDefaulted {
		t.Errorf("accepted as %+v", a)
	}
	if b, err := c.Submit(ctx, sub); err != nil || !b.Again || b.ID != a.ID {
		t.Errorf("the same key again: %+v, %v", b, err)
	}
	if _, err := c.Uploaded(ctx, a.ID); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "a b%.txt") {
		t.Errorf("uploaded too early: %v", err)
	}
	if err := c.Upload(ctx, a.ID, "other", 5, strings.NewReader("12345")); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a file that is not wanted: %v", err)
	}
	if err := c.Upload(ctx, a.ID, want.Path, 5, strings.NewReader("12345 and more")); err != nil {
		t.Fatal(err)
	}
	// Sent again, it is not read.
	unread := iotestReader(func([]byte) (int, error) { t.Error("a file that is there was sent again"); return 0, io.EOF })
	if err := c.Upload(ctx, a.ID, want.Path, 5, unread); err != nil {
		t.Errorf("uploading again: %v", err)
	}
	st, err := c.Uploaded(ctx, a.ID)
	if err != nil || st.State != "READY" {
		t.Errorf("uploaded: %+v, %v", st, err)
	}
	if got := string(service.Uploads(a.ID)[want.Path]); got != "12345" {
		t.Errorf("uploaded %q", got)
	}
	_, err = c.Submit(ctx, api.Submission{Key: "k2", Document: withFile, Name: "x.jsdl"})
	if !errors.Is(err, grid.ErrInvalid) || !strings.HasPrefix(err.Error(), "x.jsdl:4:") {
		t.Errorf("a source that is not declared: %v", err)
	}
}

func TestUploadOfShrunkenFile(t *testing.T) {
	t.Parallel()
	_, _, c := serve(t, api.Config{})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: withFile, Files: []api.File{{Path: "data", Size: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Upload(t.Context(), a.ID, "in/a b%.txt", 5, strings.NewReader("123")); err == nil || !strings.Contains(err.Error(), "3 bytes of the declared 5") {
		t.Errorf("got %v", err)
	}
}

type iotestReader func([]byte) (int, error)

func (f iotestReader) Read(b []byte) (int, error) { return f(b) }

func (f iotestReader) Seek(int64, int) (int64, error) { return 0, nil }

// Where the answers to the first submissions are lost, sending again makes no second job.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	_, s, _ := serve(t, api.Config{})
	behind := strings.TrimPrefix(s.Addresses()[0], "unix://")
	front := filepath.Join(filepath.Dir(behind), "lossy")
	l, err := net.Listen("unix", front)
	if err != nil {
		t.Fatal(err)
	}
	var relays sync.WaitGroup
	defer relays.Wait()
	defer l.Close()
	relays.Go(func() {
		for n := 0; ; n++ {
			in, err := l.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { relay(in, behind, n < 2) })
		}
	})
	c := client(t, api.ClientConfig{Address: "unix://" + front})
	a, err := c.Submit(t.Context(), api.Submission{Key: "once", Document: plain})
	if err != nil || !a.Again || !strings.HasSuffix(string(a.ID), "1") {
		t.Errorf("after two lost answers: %+v, %v", a, err)
	}
	c.Close()
}

// relay copies between in and the socket behind; with lose it cuts both off when
// the answer comes.
func relay(in net.Conn, behind string, lose bool) {
	defer in.Close()
	out, err := net.Dial("unix", behind)
	if err != nil {
		return
	}
	defer out.Close()
	var up sync.WaitGroup
	defer up.Wait()
	defer in.Close()
	up.Go(func() { io.Copy(out, in); out.Close() })
	if lose {
		out.Read(make([]byte, 1))
		return
	}
	io.Copy(in, out)
}

// A broker that takes requests and says nothing, or is gone after the first: nobody
// knows whether the job was made.
func TestSilence(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := client(t, api.ClientConfig{Address: "unix://" + path, Answer: 30 * time.Millisecond, Resend: time.Millisecond})
	if _, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain}); !api.Lost(err) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a silent broker: %v", err)
	}
	go func() {
		for range 2 { // the first is that of before
			if in, err := l.Accept(); err == nil {
				in.Close()
			}
		}
		l.Close()
	}()
	c = client(t, api.ClientConfig{Address: "unix://" + path, Resend: 200 * time.Millisecond})
	if _, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain}); !api.Lost(err) {
		t.Errorf("a broker that is gone after the submission: %v", err)
	}
}

func TestUnreachableIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c := client(t, api.ClientConfig{Address: "unix:///nonexistent/socket", Resend: time.Hour})
	_, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "no broker answers at unix:///nonexistent/socket") {
		t.Errorf("got %v", err)
	}
}

func TestWaitAndCancel(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{Limits: api.Limits{LongPoll: 30 * time.Millisecond, Cancel: 30 * time.Millisecond}})
	ctx := t.Context()
	a, err := c.Submit(ctx, api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.Wait(ctx, a.ID, "SUBMITTED"); err != nil || s.State != "SUBMITTED" {
		t.Errorf("a long poll that is over: %+v, %v", s, err)
	}
	if _, err := c.Wait(ctx, a.ID, "NONSENSE"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("an unknown state: %v", err)
	}
	if err := service.Change(a.ID, func(r *grid.Record) { r.State = grid.Moving }); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Wait(ctx, a.ID, "SUBMITTED"); err != nil || s.State != "MOVING" {
		t.Errorf("after a change: %+v, %v", s, err)
	}
	if r, err := c.Cancel(ctx, a.ID); err != nil || r.Confirmed || !r.Job.CancelRequested {
		t.Errorf("cancel, not confirmed: %+v, %v", r, err)
	}
	if err := service.Change(a.ID, func(r *grid.Record) { r.State = grid.Killed }); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Cancel(ctx, a.ID); err != nil || !r.Confirmed || r.Job.State != "KILLED" {
		t.Errorf("cancel, confirmed: %+v, %v", r, err)
	}
	if err := c.Remove(ctx, a.ID); err != nil {
		t.Error(err)
	}
}

// The end of the server answers long polls instead of waiting for them, and their number is bounded.
func TestLongPolls(t *testing.T) {
	t.Parallel()
	service := apitest.New()
	s, stop := apitest.Start(t, api.Config{Users: service, Admin: service, Hook: service, Limits: api.Limits{LongPoll: time.Hour, Waits: 1, Grace: time.Minute}})
	defer stop()
	c := client(t, api.ClientConfig{Address: s.Addresses()[0]})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		status api.Status
		err    error
	}
	first, second := make(chan answer, 1), make(chan answer, 1)
	for _, to := range []chan answer{first, second} {
		go func() {
			st, err := c.Wait(t.Context(), a.ID, "SUBMITTED")
			to <- answer{st, err}
		}()
	}
	// One of the two is refused, and only then the other is known to wait.
	var refused answer
	other := second
	select {
	case refused = <-first:
	case refused = <-second:
		other = first
	}
	if !errors.Is(refused.err, grid.ErrUnavailable) {
		t.Errorf("one long poll too many: %+v", refused)
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got := <-other; got.err != nil || got.status.State != "SUBMITTED" {
		t.Errorf("the long poll at the end: %+v", got)
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	_, s, c := serve(t, api.Config{})
	for i := range 5 {
		if _, err := c.Submit(t.Context(), api.Submission{Key: fmt.Sprint(i), Document: plain}); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int
	var after grid.JobID
	for {
		p, err := c.Jobs(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(p.Jobs))
		if p.Next == nil {
			break
		}
		after = *p.Next
	}
	if fmt.Sprint(sizes) != "[2 2 1]" {
		t.Errorf("pages of %v", sizes)
	}
	for _, q := range []string{"limit=0", "limit=1001", "limit=x", "after=x"} {
		if status, _ := raw(t, s.Addresses()[0], nil, "GET", "/v1/jobs?"+q, ""); status != 400 {
			t.Errorf("%s: status %d", q, status)
		}
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	service, s, c := serve(t, api.Config{})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := service.Leave(a.ID, true, grid.Manifest{{Path: "d/ü%2f #?", Size: int64(len(big)), Mode: 0o600}}, map[string][]byte{"d/ü%2f #?": big}); err != nil {
		t.Fatal(err)
	}
	list, err := c.Outputs(t.Context(), a.ID)
	if err != nil || !list.Complete || len(list.Files) != 1 || list.Files[0].Mode != 0o600 {
		t.Fatalf("outputs: %+v, %v", list, err)
	}
	var got bytes.Buffer
	if _, err := c.Output(t.Context(), a.ID, list.Files[0].Path, &got); err != nil || !bytes.Equal(got.Bytes(), big) {
		t.Errorf("got %d bytes, %v", got.Len(), err)
	}
	if _, err := c.Output(t.Context(), a.ID, "none", &got); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("an output that is not: %v", err)
	}
	base := "/v1/jobs/" + string(a.ID)
	for _, path := range []string{"/outputs/%2e%2e/x", "/outputs/%2fetc%2fpasswd", "/outputs/a%2f..%2f..%2fb", "/outputs/a%00b", "/outputs/a%2f"} {
		if status, f := raw(t, s.Addresses()[0], nil, "GET", base+path, ""); status != 400 || f.Kind != "invalid" {
			t.Errorf("%s: %d %+v", path, status, f)
		}
	}
	if status, f := raw(t, s.Addresses()[0], nil, "PUT", base+"/files/%2e%2e%2fx", "x"); status != 400 || f.Kind != "invalid" {
		t.Errorf("a way out to upload: %d %+v", status, f)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{})
	long := strings.Repeat("x", api.MaxDocument+1)
	many := `[` + strings.Repeat(`{"path":"a","size":1,"mode":1},`, grid.MaxFiles) + `{"path":"a","size":1,"mode":1}]`
	for name, c := range map[string]struct {
		method, path, body string
		edit               func(*http.Request)
		status             int
	}{
		"no route":       {"GET", "/v2/jobs", "", nil, 404},
		"wrong method":   {"PATCH", "/v1/jobs", "", nil, 405},
		"other method":   {"DELETE", "/v1/sites", "", nil, 405},
		"no identifier":  {"GET", "/v1/jobs/nonsense", "", nil, 400},
		"no body":        {"POST", "/v1/jobs", "", func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }, 400},
		"wrong type":     {"POST", "/v1/jobs", "{}", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"form":           {"POST", "/v1/jobs", "a=b", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 415},
		"no length":      {"POST", "/v1/jobs", "{}", func(r *http.Request) { r.ContentLength = -1 }, 411},
		"truncated":      {"POST", "/v1/jobs", `{"key":"k"`, nil, 400},
		"two values":     {"POST", "/v1/jobs", `{"key":"k"} {}`, nil, 400},
		"unknown field":  {"POST", "/v1/jobs", `{"key":"k","frob":1}`, nil, 400},
		"no key":         {"POST", "/v1/jobs", `{"document":"x"}`, nil, 400},
		"bad key":        {"POST", "/v1/jobs", `{"key":"a b","document":"x"}`, nil, 400},
		"long key":       {"POST", "/v1/jobs", `{"key":"` + long[:200] + `"}`, nil, 400},
		"no document":    {"POST", "/v1/jobs", `{"key":"k","document":""}`, nil, 400},
		"long document":  {"POST", "/v1/jobs", `{"key":"k","document":"` + long + `"}`, nil, 400},
		"bad name":       {"POST", "/v1/jobs", `{"key":"k","document":"x","name":"a\nb"}`, nil, 400},
		"way out":        {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"../x","size":1,"mode":1}]}`, nil, 400},
		"absolute":       {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"/x","size":1,"mode":1}]}`, nil, 400},
		"negative size":  {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":-1,"mode":1}]}`, nil, 400},
		"setuid":         {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":1,"mode":2541}]}`, nil, 400},
		"too many files": {"POST", "/v1/jobs", `{"key":"k","document":"x","files":` + many + `}`, nil, 400},
		"huge size":      {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":1e30,"mode":1}]}`, nil, 400},
		"sizes together": {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"path":"x","size":1099511627776,"mode":1},{"path":"y","size":1,"mode":1}]}`, nil, 400},
		"field twice":    {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[],"files":[]}`, nil, 400},
		"files no list":  {"POST", "/v1/jobs", `{"key":"k","document":"x","files":{}}`, nil, 400},
		"file's field":   {"POST", "/v1/jobs", `{"key":"k","document":"x","files":[{"frob":1}]}`, nil, 400},
	} {
		if status, f := raw(t, s.Addresses()[0], c.edit, c.method, c.path, c.body); status != c.status {
			t.Errorf("%s: status %d (%s), want %d", name, status, f.Text, c.status)
		}
	}
	// Larger than any submission: refused by its declared length.
	status, _ := raw(t, s.Addresses()[0], func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, api.MaxSubmission+1)), api.MaxSubmission+1
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Expect", "100-continue")
	}, "POST", "/v1/jobs", "")
	if status != 413 {
		t.Errorf("a huge submission: status %d", status)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A client that stops sending a file is cut off.
func TestStalledUpload(t *testing.T) {
	t.Parallel()
	_, s, c := serve(t, api.Config{Limits: api.Limits{Stall: 50 * time.Millisecond}})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: withFile, Files: []api.File{{Path: "data", Size: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", strings.TrimPrefix(s.Addresses()[0], "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT /v1/jobs/%s/files/in/a%%20b%%25.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12", a.ID)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(b, []byte("HTTP/1.1 408 ")) || !bytes.Contains(b, []byte("Connection: close")) {
		t.Errorf("the server said %q, %v", b, err)
	}
}

func TestTCP(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{TCPAddress: "127.0.0.1:0", TokenFile: tokenFile(t, tokenText+"\n", 0o600)})
	address := s.Addresses()[1]
	port := address[strings.LastIndex(address, ":")+1:]
	good := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+tokenText) }
	for name, c := range map[string]struct {
		edit   func(*http.Request)
		status int
	}{
		"good":       {good, 200},
		"no token":   {nil, 401},
		"wrong":      {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+tokenText[1:]+"0") }, 401},
		"empty":      {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
		"basic":      {func(r *http.Request) { r.SetBasicAuth("x", tokenText) }, 401},
		"localhost":  {func(r *http.Request) { good(r); r.Host = "localhost:" + port }, 200},
		"ipv6":       {func(r *http.Request) { good(r); r.Host = "[::1]:" + port }, 200},
		"other host": {func(r *http.Request) { good(r); r.Host = "evil.example:" + port }, 403},
		"other port": {func(r *http.Request) { good(r); r.Host = "127.0.0.1:1" }, 403},
		"no port":    {func(r *http.Request) { good(r); r.Host = "127.0.0.1" }, 403},
		"origin":     {func(r *http.Request) { good(r); r.Header.Set("Origin", "http://127.0.0.1:"+port) }, 403},
		"null":       {func(r *http.Request) { good(r); r.Header.Set("Origin", "null") }, 403},
	} {
		if status, f := raw(t, address, c.edit, "GET", "/v1/site", ""); status != c.status {
			t.Errorf("%s: status %d (%s), want %d", name, status, f.Text, c.status)
		}
	}
	self, err := client(t, api.ClientConfig{Address: address, Token: tokenText}).Self(t.Context())
	if err != nil || !self.Admin || self.Name != "here" || self.User == "" {
		t.Errorf("over TCP: %+v, %v", self, err)
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	service := apitest.New()
	socket := filepath.Join(t.TempDir(), "s")
	good := tokenFile(t, tokenText, 0o600)
	for name, c := range map[string]struct {
		config api.Config
		words  string
	}{
		"no service":  {api.Config{SocketPath: socket}, "services"},
		"no socket":   {api.Config{Users: service, Admin: service, Hook: service}, "absolute"},
		"long socket": {api.Config{Users: service, Admin: service, Hook: service, SocketPath: "/" + strings.Repeat("x", 107)}, "at most 107"},
		"all":         {api.Config{Users: service, Admin: service, Hook: service, SocketPath: socket, TCPAddress: "0.0.0.0:0", TokenFile: good}, "loopback"},
		"any":         {api.Config{Users: service, Admin: service, Hook: service, SocketPath: socket, TCPAddress: ":80", TokenFile: good}, "loopback"},
		"name":        {api.Config{Users: service, Admin: service, Hook: service, SocketPath: socket, TCPAddress: "example.com:80", TokenFile: good}, "loopback"},
		"no port":     {api.Config{Users: service, Admin: service, Hook: service, SocketPath: socket, TCPAddress: "127.0.0.1", TokenFile: good}, "127.0.0.1:PORT"},
		"no token":    {api.Config{Users: service, Admin: service, Hook: service, SocketPath: socket, TCPAddress: "127.0.0.1:0", TokenFile: "/none"}, "no such file"},
		"open token":  {api.Config{Users: service, Admin: service, Hook: service, SocketPath: socket, TCPAddress: "127.0.0.1:0", TokenFile: tokenFile(t, tokenText, 0o640)}, "chmod 600"},
		"short token": {api.Config{Users: service, Admin: service, Hook: service, SocketPath: socket, TCPAddress: "127.0.0.1:0", TokenFile: tokenFile(t, "abc", 0o600)}, "at least"},
	} {
		if _, err := api.New(c.config); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q in it", name, err, c.words)
		}
	}
}

func TestSocket(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{})
	path := strings.TrimPrefix(s.Addresses()[0], "unix://")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if err := second(t, path); err == nil || !strings.Contains(err.Error(), "another broker serves there") {
		t.Errorf("a second server on the socket: %v", err)
	}
	dir := filepath.Dir(path)
	stale := filepath.Join(dir, "new", "stale")
	if err := os.Mkdir(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if err := second(t, stale); err != nil {
		t.Errorf("over the socket of a dead server: %v", err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
	if err := os.WriteFile(stale, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := second(t, stale); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("over a file: %v", err)
	}
	if err := second(t, filepath.Join(dir, "made", "too", "s")); err != nil {
		t.Errorf("in a folder to be made: %v", err)
	}
}

// second runs another server on path until it serves, and returns Run's error.
func second(t *testing.T, path string) error {
	t.Helper()
	s, err := api.New(api.Config{Users: apitest.New(), Admin: apitest.New(), Hook: apitest.New(), SocketPath: path})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
		cancel()
		return <-ended
	case err := <-ended:
		return err
	}
}

// nobodyUID is a uid without a name on any system we know.
const nobodyUID = 3_999_999

// probe is what another user sees: it prints its name and the fate of a few calls.
func probe(address string) int {
	c, err := api.NewClient(api.ClientConfig{Address: address})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	self, err := c.Self(ctx)
	fmt.Println(self.User, self.Admin, err)
	id := grid.JobID("here.00000000000000000000000001")
	_, err = c.Job(ctx, id)
	fmt.Println("job:", errors.Is(err, grid.ErrForbidden))
	_, err = c.Cancel(ctx, id)
	fmt.Println("cancel:", errors.Is(err, grid.ErrForbidden))
	_, err = c.Outputs(ctx, id)
	fmt.Println("outputs:", errors.Is(err, grid.ErrForbidden))
	page, err := c.Jobs(ctx, "", 10)
	fmt.Println("jobs:", len(page.Jobs), err)
	return 0
}

func TestPeerCredentials(t *testing.T) {
	t.Parallel()
	_, s, c := serve(t, api.Config{Administrators: []string{fmt.Sprintf("uid:%d", nobodyUID+1)}})
	if _, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: plain}); err != nil {
		t.Fatal(err)
	}
	self, err := c.Self(t.Context())
	if err != nil || !self.Admin {
		t.Errorf("the daemon's own user: %+v, %v", self, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can connect as another user")
	}
	as := func(uid uint32) string {
		exe := filepath.Join(filepath.Dir(strings.TrimPrefix(s.Addresses()[0], "unix://")), "probe")
		if err := os.Link(os.Args[0], exe); err != nil && !errors.Is(err, os.ErrExist) {
			b, err := os.ReadFile(os.Args[0])
			if err == nil {
				err = os.WriteFile(exe, b, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = []string{probeEnv + "=" + s.Addresses()[0]}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("as uid %d: %v: %s", uid, err, out)
		}
		return string(out)
	}
	want := fmt.Sprintf("uid:%d false <nil>\njob: true\ncancel: true\noutputs: true\njobs: 0 <nil>\n", nobodyUID)
	if got := as(nobodyUID); got != want {
		t.Errorf("another user sees\n%swant\n%s", got, want)
	}
	if got := as(nobodyUID + 1); !strings.Contains(got, " true <nil>\njob: false") || !strings.Contains(got, "jobs: 1 <nil>") {
		t.Errorf("an administrator sees\n%s", got)
	}
}

func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{Limits: api.Limits{ConnectionsEach: 1}})
	path := strings.TrimPrefix(s.Addresses()[0], "unix://")
	first, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c net.Conn) string {
		fmt.Fprint(c, "GET /v1/site HTTP/1.1\r\nHost: x\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		b := make([]byte, 12)
		n, _ := io.ReadFull(c, b)
		return string(b[:n])
	}
	if got := ask(first); got != "HTTP/1.1 200" {
		t.Errorf("the first connection: %q", got)
	}
	other, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got := ask(other); got != "" {
		t.Errorf("the second connection: %q", got)
	}
	first.Close()
	deadline := time.Now().Add(10 * time.Second)
	for got := ""; got != "HTTP/1.1 200"; {
		if time.Now().After(deadline) {
			t.Fatal("no connection is let in after the first was closed")
		}
		third, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		got = ask(third)
		third.Close()
	}
}
