package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/test/cluster"
)

// Who is no member gets nothing: no message is heard, no file given, nothing measured,
// no record told. What a member is given shows that the stranger asked rightly.
func TestStranger(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{})
	start(t, s)
	stranger := newOutsider(t, newKey(t, dir, "stranger.key"))
	member := newOutsider(t, newKey(t, dir, "member.key"))
	if r := s.Admin(t.Context(), "neighbour", "add", "--config", s.Config(), member.line("m")); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	served := func(o outsider) (list []string) {
		for _, p := range services {
			if c, err := o.open(s, p); err == nil {
				list = append(list, string(p))
				c.Reset()
			}
		}
		return list
	}
	eventually(t, "a member is not served", func() bool { return len(served(member)) == len(services) })
	if got := served(stranger); len(got) > 0 {
		t.Errorf("a stranger is served %v", got)
	}
	for _, c := range stranger.Network().Conns() {
		eventually(t, "a stranger stays connected", c.IsClosed)
	}

	// A member that is removed while all runs is a stranger from then on.
	if r := s.Admin(t.Context(), "neighbour", "remove", "--config", s.Config(), "m"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	eventually(t, "a former member is served", func() bool { return len(served(member)) == 0 })
	for _, c := range member.Network().Conns() {
		eventually(t, "a former member stays connected", c.IsClosed)
	}
	goodJob(t, s, dir)
}

// A member is its key, not its address: another broker at the address of a neighbour is
// not taken for it. The file is mended without a restart.
func TestWrongPeerID(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{})
	b := newSite(t, dir, "b", cluster.Options{})
	start(t, a, b)
	other := newOutsider(t, newKey(t, dir, "other.key"))
	r, err := b.Ready()
	must(t, err)
	add := a.Admin(t.Context(), "neighbour", "add", "--config", a.Config(), fmt.Sprintf("b %s %s", other.ID(), r.Addresses[0]))
	if add.Code != 0 {
		t.Fatal(add.Stderr)
	}
	must(t, b.Know(t.Context(), a))
	eventually(t, "a does not take the neighbour up", func() bool { return len(told[[]any](t, a, "sites")) == 2 })
	// b, too, is refused at a: it has no key that a knows.
	for s, want := range map[site]string{a: "another key answers", b: "refused: does it list you?"} {
		eventually(t, want, func() bool { return strings.Contains(client(t, s, "sites"), want) })
	}
	if err := a.Sees(t.Context(), 10*time.Second, "b"); err == nil { // it tries each 3 s
		t.Error("a broker with another key is taken for b")
	}
	if err := b.Sees(t.Context(), 100*time.Millisecond, "a"); err == nil {
		t.Error("b is let in at a, which does not know its key")
	}
	if log, err := os.ReadFile(a.Log); err != nil || strings.Count(string(log), "refused: no neighbour here") != 1 || !strings.Contains(string(log), r.Peer) {
		t.Errorf("the log of a does not tell once that b was refused: %v\n%s", err, log)
	}
	if r := a.Admin(t.Context(), "neighbour", "remove", "--config", a.Config(), "b"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	must(t, a.Know(t.Context(), b))
	must(t, a.Sees(t.Context(), patience, "b"))
	must(t, b.Sees(t.Context(), patience, "a"))
}

// Changes of the neighbours' file are taken up while jobs run. One with mistakes
// changes nothing, and the log says where they are.
func TestNeighboursChangeLive(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := pair(t, dir)
	file := filepath.Join(a.Dir, "neighbours.yaml")
	good, err := os.ReadFile(file)
	must(t, err)
	remote := func(name string) string { return work{script: "true", arch: "arm"}.submit(t, a, dir, name) }
	exits(t, a, remote("before"), 0)

	k := strings.LastIndex(string(good), "send: true") // of the member: the comment comes before it
	written := func(what string) string { return string(good[:k]) + what + string(good[k+len("send: true"):]) }
	broken := written("sned: true")
	must(t, os.WriteFile(file, []byte(broken), 0o644))
	logged := func(what string) func() bool {
		return func() bool {
			log, _ := os.ReadFile(a.Log)
			return strings.Contains(string(log), what)
		}
	}
	eventually(t, "the mistake is not logged", logged("neighbours refused, the old ones stay"))
	line := 1 + strings.Count(string(good[:k]), "\n")
	if !logged(fmt.Sprintf("neighbours.yaml:%d:", line))() {
		t.Errorf("the log does not name line %d of\n%s", line, broken)
	}
	exits(t, a, remote("meanwhile"), 0)

	must(t, os.WriteFile(file, []byte(written("send: false")), 0o644))
	sent := func(name string) bool { // else it is refused: nobody else could run it
		r := a.Client(t.Context(), "submit", work{script: "true", arch: "arm"}.write(t, dir, name))
		return r.Code == 0 && becomes(t, a, strings.TrimSpace(r.Stdout), "COMPLETED", "FAILED").State == "COMPLETED"
	}
	n := 0
	eventually(t, "jobs are still sent to b", func() bool {
		n++
		return !sent(fmt.Sprint("unsent", n))
	})
	must(t, os.WriteFile(file, good, 0o644))
	eventually(t, "jobs are not sent to b again", func() bool {
		n++
		return sent(fmt.Sprint("sent", n))
	})
	if b.PID() == 0 || len(jobs(t, b)) < 2 {
		t.Errorf("b has run %d jobs", len(jobs(t, b)))
	}
}

// person is a user of this machine, who has the programs at hand.
type person struct {
	name string
	uid  uint32
	dir  string // of their own
	bin  string
}

// people are users other than the one who runs the tests, which must be root to be them.
func people(t *testing.T, dir string, names ...string) []person {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can act as other users: run the tests as root to see that jobs are kept apart")
	}
	must(t, os.Chmod(dir, 0o755))
	bin := filepath.Join(dir, "gclient")
	data, err := os.ReadFile(programs.Gclient)
	must(t, err)
	must(t, os.WriteFile(bin, data, 0o755))
	uids := map[string]uint32{"nobody": 65534, "daemon": 1, "bin": 2}
	var list []person
	for _, name := range names {
		p := person{name: name, uid: uids[name], dir: filepath.Join(dir, "of-"+name), bin: bin}
		must(t, os.Mkdir(p.dir, 0o755))
		must(t, os.Chown(p.dir, int(p.uid), int(p.uid)))
		list = append(list, p)
	}
	return list
}

func (p person) run(t *testing.T, program string, env []string, args ...string) cluster.Result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = p.dir, append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.uid, Gid: p.uid}}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run() // its status is looked at below
	return cluster.Result{Stdout: out.String(), Stderr: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// asks runs gclient as the person.
func (p person) asks(t *testing.T, s site, args ...string) cluster.Result {
	t.Helper()
	return p.run(t, p.bin, []string{"GBROKER=" + s.Address()}, args...)
}

// hands hands in a job as the person.
func (p person) hands(t *testing.T, s site, w work, name string) string {
	t.Helper()
	r := p.asks(t, s, "submit", w.write(t, p.dir, name))
	if r.Code != 0 {
		t.Fatalf("%s hands in a job: %s", p.name, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout)
}

// Only a job's user and the administrators see and touch it, at its home and where it
// runs; others are told that it is not theirs.
func TestOthersJobs(t *testing.T) {
	t.Parallel()
	dir := place(t)
	all := people(t, dir, "nobody", "daemon", "bin")
	owner, other, administrator := all[0], all[1], all[2]
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 4, More: machine("x86_64") + "administrators: [bin]\n"})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 4, More: machine("arm")})
	start(t, a, b)
	introduce(t, a, b)
	local := owner.hands(t, a, work{script: "echo secret", output: "out.txt", arch: "x86_64"}, "local")
	remote := owner.hands(t, a, work{script: "echo secret; sleep 300", output: "out.txt", arch: "arm"}, "remote")
	exits(t, a, local, 0)
	becomes(t, a, remote, "RUNNING")

	refused := func(p person, s site, id string) {
		for _, args := range [][]string{
			{"status", id}, {"wait", id}, {"explain", id}, {"history", id},
			{"output", id, p.dir + "/stolen"}, {"cancel", id}, {"remove", id},
		} {
			if r := p.asks(t, s, args...); r.Code != 1 || !strings.Contains(r.Stderr, "belongs to another user") {
				t.Errorf("%s at %s: gclient %v ends with %d: %s%s", p.name, s.Name, args, r.Code, r.Stdout, r.Stderr)
			}
		}
		if r := p.asks(t, s, "list", "--json"); r.Code != 0 || strings.Contains(r.Stdout, id) {
			t.Errorf("%s at %s lists (%d) %s", p.name, s.Name, r.Code, r.Stdout)
		}
		if cluster.Exists(p.dir + "/stolen/out.txt") {
			t.Errorf("%s got the output at %s", p.name, s.Name)
		}
	}
	refused(other, a, local)
	refused(other, a, remote)
	refused(other, b, remote)
	refused(owner, b, remote) // the user of that name at b is another user
	if st := status(t, a, remote); st.State != "RUNNING" || st.CancelRequested {
		t.Errorf("after strangers' cancels the job is %s, cancel requested: %v", st.State, st.CancelRequested)
	}

	for _, p := range []person{owner, administrator} {
		if r := p.asks(t, a, "status", local); r.Code != 0 {
			t.Errorf("%s may not see the job: %s", p.name, r.Stderr)
		}
		if r := p.asks(t, a, "list", "--json"); !strings.Contains(r.Stdout, local) || !strings.Contains(r.Stdout, remote) {
			t.Errorf("%s does not list the jobs: %s%s", p.name, r.Stdout, r.Stderr)
		}
		r := p.asks(t, a, "output", local, p.dir+"/mine")
		if got, _ := os.ReadFile(p.dir + "/mine/out.txt"); r.Code != 0 || string(got) != "secret\n" {
			t.Errorf("%s fetches %q: %s", p.name, got, r.Stderr)
		}
	}
	if r := administrator.asks(t, b, "status", remote); r.Code != 1 {
		t.Errorf("an administrator of a sees jobs at b: %d %s", r.Code, r.Stdout)
	}
	if r := administrator.asks(t, a, "cancel", remote); r.Code != 0 {
		t.Errorf("an administrator may not cancel: %s", r.Stderr)
	}
	becomes(t, a, remote, "KILLED")
	if r := owner.asks(t, a, "remove", local); r.Code != 0 {
		t.Errorf("the user may not remove the job: %s", r.Stderr)
	}
	unreadable(t, other, a, remote)
	unreadable(t, other, b, remote)
}

// unreadable checks that nothing a site keeps can be read by another user of the machine.
func unreadable(t *testing.T, p person, s site, job string) {
	t.Helper()
	for _, name := range []string{
		"identity.key", "api.token", "data", "data/journal.db", "data/jobs", "data/jobs/" + job, "data/batch", "data/overlay",
	} {
		path := filepath.Join(s.Dir, name)
		info, err := os.Stat(path)
		if os.IsNotExist(err) && strings.HasSuffix(name, job) {
			continue // b has forgotten it
		}
		must(t, err)
		if info.IsDir() {
			path += "/."
		}
		if r := p.run(t, "/bin/ls", nil, path); info.IsDir() && r.Code == 0 {
			t.Errorf("%s lists %s: %s", p.name, path, r.Stdout)
		}
		if r := p.run(t, "/bin/cat", nil, path); r.Code == 0 {
			t.Errorf("%s reads %s", p.name, path)
		}
	}
	if r := p.run(t, "/bin/cat", nil, s.Config()); r.Code != 0 {
		t.Errorf("the folder itself is closed, so nothing was shown: %s", r.Stderr)
	}
}

// HTTP over TCP is for programs of this machine that have the token, not for web pages.
func TestTCP(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{More: "api: 127.0.0.1:0\n"})
	start(t, s)
	r, err := s.Ready()
	must(t, err)
	text, err := os.ReadFile(filepath.Join(s.Dir, "api.token"))
	must(t, err)
	token := strings.TrimSpace(string(text))
	get := func(change func(*http.Request)) (int, string) {
		q, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+r.API+"/v1/jobs", nil)
		must(t, err)
		q.Header.Set("Authorization", "Bearer "+token)
		change(q)
		a, err := http.DefaultTransport.RoundTrip(q)
		must(t, err)
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		must(t, err)
		return a.StatusCode, string(body)
	}
	_, port, err := net.SplitHostPort(r.API)
	must(t, err)
	for name, c := range map[string]struct {
		change func(*http.Request)
		code   int
	}{
		"right":             {func(*http.Request) {}, 200},
		"by name":           {func(q *http.Request) { q.Host = "localhost:" + port }, 200},
		"no token":          {func(q *http.Request) { q.Header.Del("Authorization") }, 401},
		"wrong token":       {func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+strings.Repeat("0", len(token))) }, 401},
		"another scheme":    {func(q *http.Request) { q.SetBasicAuth("root", token) }, 401},
		"rebound host":      {func(q *http.Request) { q.Host = "evil.example:" + port }, 403},
		"host without port": {func(q *http.Request) { q.Host = "evil.example" }, 403},
		"a web page":        {func(q *http.Request) { q.Header.Set("Origin", "http://evil.example") }, 403},
	} {
		if code, body := get(c.change); code != c.code {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}

	client := func(args ...string) cluster.Result {
		return s.Client(t.Context(), append([]string{"--broker", "http://" + r.API}, args...)...)
	}
	if r := client("list"); r.Code != 2 || !strings.Contains(r.Stderr, "--token-file") {
		t.Errorf("without a token gclient ends with %d: %s", r.Code, r.Stderr)
	}
	if r := client("list", "--token-file", filepath.Join(s.Dir, "api.token")); r.Code != 0 {
		t.Errorf("with the token gclient ends with %d: %s", r.Code, r.Stderr)
	}
	wrong := filepath.Join(dir, "wrong.token")
	must(t, os.WriteFile(wrong, []byte(strings.Repeat("x", 64)), 0o600))
	if r := client("list", "--token-file", wrong); r.Code != 1 || !strings.Contains(r.Stderr, "token") {
		t.Errorf("with a wrong token gclient ends with %d: %s", r.Code, r.Stderr)
	}

	// It listens at the loopback address alone, and cannot be told otherwise.
	addresses, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			if c, err := net.DialTimeout("tcp", net.JoinHostPort(n.IP.String(), port), time.Second); err == nil {
				c.Close()
				t.Errorf("the API can be reached at %s", n.IP)
			}
		}
	}
	open := newSite(t, dir, "open", cluster.Options{More: "api: 0.0.0.0:0\n"})
	for _, command := range []string{"check", "run"} {
		if r := open.Admin(t.Context(), command, "--config", open.Config()); r.Code != 1 || !strings.Contains(r.Stderr+r.Stdout, "can be reached from outside") {
			t.Errorf("gbroker %s with an open API ends with %d: %s", command, r.Code, r.Stderr)
		}
	}
}
