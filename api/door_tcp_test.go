package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"gbroker/api"
	"gbroker/api/apitest"
	"gbroker/grid"
)

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

// probeEnv tells the test binary to be a client as another user.
const probeEnv = "GBROKER_TEST_PROBE"

func TestMain(m *testing.M) {
	if address := os.Getenv(probeEnv); address != "" {
		os.Exit(probe(address))
	}
	goleak.VerifyTestMain(m)
}

func tokenFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}
