package e2e

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/stage"
	"gbroker/test/cluster"
	"gbroker/wire"
)

// refusedDocument checks that both gclient and, where that is left out, the broker
// refuse a document: with its line and column and a text.
func refusedDocument(t *testing.T, s site, dir, name, text, says string) {
	t.Helper()
	file := filepath.Join(dir, name+".jsdl")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	r := s.Client(t.Context(), "submit", file)
	if r.Code != 1 || !strings.Contains(r.Stderr, file+":") || !strings.Contains(r.Stderr, says) || r.Stdout != "" {
		t.Errorf("%s: gclient submit ends with %d and says %q%q; it should name %s and say %q", name, r.Code, r.Stdout, r.Stderr, file, says)
	}
	c, err := api.NewClient(api.ClientConfig{Address: s.Address()})
	must(t, err)
	defer c.Close()
	_, err = c.Submit(t.Context(), api.Submission{Key: name, Name: file, Document: text})
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: the broker says %v; it should say %q", name, err, says)
	}
}

// Documents that are none, too large, or ask for what cannot be are refused where they
// are wrong, by the program and by the broker itself.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 4})
	start(t, s)
	good := work{script: "true", cpus: 3, memory: 4096, takes: []string{"FILE"}, output: "OUT", input: "IN", directory: "DIR"}.document("good")
	with := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the document has no %q:\n%s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ text, says string }{
		"empty":          {"", "1:1"},
		"truncated":      {good[:len(good)-40], ""},
		"not-xml":        {"echo hello\n", "1:1: this is no"},
		"binary":         {"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", "1:"},
		"huge":           {good + strings.Repeat(" ", 2*mebi), "1048576"},
		"deep":           {strings.Repeat("<a>", 10000), "1:"},
		"doctype":        {`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + good, "DOCTYPE"},
		"other":          {"<html><body/></html>", "1:1"},
		"up":             {with(">FILE<", ">../../FILE<"), "../../FILE"},
		"absolute":       {with(">FILE<", ">/etc/passwd<"), "/etc/passwd"},
		"output-up":      {with(">OUT<", ">../OUT<"), "../OUT"},
		"input-absolute": {with(">IN<", ">/etc/passwd<"), "/etc/passwd"},
		"directory-up":   {with(">DIR<", ">a/../../..<"), "a/../../.."},
		"no-processors":  {with(">3<", ">0<"), "0"},
		"negative":       {with(">3<", ">-1<"), "-1"},
		"endless":        {with(">3<", ">99999999999999999999<"), "99999999999999999999"},
		"no-number":      {with(">3<", ">NaN<"), "NaN"},
		"no-time":        {with(">60<", ">0<"), "0"},
		"negative-time":  {with(">60<", ">-60<"), "-60"},
		"no-memory":      {with(">4096<", ">-4096<"), "-4096"},
	} {
		refusedDocument(t, s, dir, name, c.text, c.says)
	}
	if list := jobs(t, s); len(list) != 0 {
		t.Errorf("%d refused documents became jobs", len(list))
	}
	many := work{script: "true", cpus: 1000}.write(t, dir, "many")
	if r := s.Client(t.Context(), "submit", many); r.Code != 1 || !strings.Contains(r.Stderr, "asked 1000, available 4") || !strings.Contains(r.Stderr, "--queue-anyway") {
		t.Errorf("a job for 1000 of 4 processors: %d %q", r.Code, r.Stderr)
	}
	if list := jobs(t, s); len(list) != 0 {
		t.Errorf("%d jobs that nobody can run became jobs", len(list))
	}
	goodJob(t, s, dir)
}

// What cannot be run is FAILED with the name of what is wrong.
func TestBadExecutables(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 4})
	start(t, s)
	must(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("echo no script without its first line\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "orphan"), []byte("#!/no/such/interpreter\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "windows"), []byte("#!/bin/sh\r\necho\r\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "garbage"), []byte("\x7fELF\x00\xffgarbage"), 0o755))
	for name, c := range map[string]struct {
		w    work
		says []string
	}{
		"missing":        {work{program: "/no/such/program"}, []string{"/no/such/program"}},
		"folder":         {work{program: "/tmp"}, []string{"/tmp"}},
		"not-executable": {work{program: "plain", brings: []string{"plain"}}, []string{"plain", "chmod"}},
		"windows":        {work{program: "windows", brings: []string{"windows"}}, []string{"windows", "Windows line ends, so its first line names no interpreter \"/bin/sh\": take them away"}},
		"no-interpreter": {work{program: "orphan", brings: []string{"orphan"}}, []string{"orphan", "/no/such/interpreter"}},
		"no-program":     {work{program: "garbage", brings: []string{"garbage"}}, []string{"garbage"}},
		"input-missing":  {work{script: "true", input: "nothing.txt"}, []string{"nothing.txt"}},
	} {
		r := s.Client(t.Context(), "submit", "--wait", c.w.write(t, dir, name))
		for _, says := range c.says {
			if r.Code == 0 || !strings.Contains(r.Stderr, says) {
				t.Errorf("%s: gclient submit --wait ends with %d and says %q; it should say %q", name, r.Code, r.Stderr, says)
			}
		}
		id := strings.TrimSpace(r.Stdout)
		if id == "" {
			continue // refused before it became a job
		}
		if st := status(t, s, id); st.State != "FAILED" || r.Code != 255 {
			t.Errorf("%s: the job is %s, the exit code of the client %d", name, st.State, r.Code)
		}
	}
	goodJob(t, s, dir)
}

// A program may leave anything under the names of its outputs; only regular files of
// its own come back, and the job is told which did not. So it is while it runs.
func TestHostileOutputs(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := pair(t, dir)
	secret := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	bad := []string{"absolute.txt", "up.txt", "pipe.txt", "folder.txt", "loop.txt", "device.txt"}
	script := fmt.Sprintf("ln -s %s absolute.txt; ln -s ../../../journal.db up.txt; mkfifo pipe.txt; mkdir folder.txt; "+
		"ln -s loop.txt loop.txt; ln -s /dev/zero device.txt; echo good > good.txt; rm -f out.txt; ln -s %[1]s out.txt; "+
		"touch %[2]s.ready; while [ ! -e %[2]s.go ]; do sleep 0.2; done", secret, filepath.Join(dir, "ARCH"))
	for arch, owner := range map[string]site{"x86_64": a, "arm": b} {
		id := work{
			script: strings.ReplaceAll(script, "ARCH", arch), arch: arch, output: "out.txt", takes: append(bad, "good.txt"),
		}.submit(t, a, dir, "leaves-"+arch)
		becomes(t, a, id, "RUNNING")
		eventually(t, "the job is not ready", func() bool { return cluster.Exists(filepath.Join(dir, arch+".ready")) })

		only := func(when, into string) {
			if got := names(into); !slices.Equal(got, []string{"good.txt", "stderr"}) {
				t.Errorf("at %s, %s: %v came back", owner.Name, when, got)
			}
		}
		running := filepath.Join(dir, "running-"+arch)
		if r := a.Client(t.Context(), "output", id, running); r.Code != 3 {
			t.Errorf("the output of a running job: exit code %d: %s", r.Code, r.Stderr)
		}
		only("while it runs", running)
		must(t, os.WriteFile(filepath.Join(dir, arch+".go"), nil, 0o644))
		st := exits(t, a, id, 0)
		for _, name := range bad {
			if !strings.Contains(st.Reason, name) {
				t.Errorf("the reason %q does not name %s", st.Reason, name)
			}
		}
		ended := filepath.Join(dir, "ended-"+arch)
		client(t, a, "output", id, ended)
		only("at its end", ended)
	}
	if text, _ := os.ReadFile(secret); string(text) != "secret" {
		t.Errorf("a file outside was changed to %q", text)
	}
}

// A document cannot make its user send files from elsewhere.
func TestInputsStayBesideTheDocument(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{})
	start(t, s)
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	docs := filepath.Join(dir, "docs")
	must(t, os.Mkdir(docs, 0o755))
	must(t, os.Symlink("../secret", filepath.Join(docs, "up")))
	must(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(docs, "absolute")))
	must(t, syscall.Mkfifo(filepath.Join(docs, "pipe"), 0o600))
	must(t, os.Mkdir(filepath.Join(docs, "folder"), 0o755))
	for _, name := range []string{"up", "absolute", "pipe", "folder"} {
		r := s.Client(t.Context(), "submit", work{script: "cat " + name, brings: []string{name}}.write(t, docs, "brings-"+name))
		if r.Code != 1 || !strings.Contains(r.Stderr, name+`" beside the document`) {
			t.Errorf("%s: exit code %d: %s", name, r.Code, r.Stderr)
		}
	}
	if list := jobs(t, s); len(list) != 0 {
		t.Errorf("%d jobs were made", len(list))
	}
}

// member is an outsider that a site knows, with what the site told it.
type member struct {
	outsider
	mu  sync.Mutex
	got []wire.Message
}

func newMember(t *testing.T, dir string, of site) *member {
	t.Helper()
	m := &member{outsider: newOutsider(t, newKey(t, dir, "member.key"))}
	m.SetStreamHandler(wire.Protocol, func(s network.Stream) {
		defer s.Reset()
		for {
			w, err := wire.ReadFrame(s)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.got = append(m.got, w)
			m.mu.Unlock()
		}
	})
	if r := of.Admin(t.Context(), "neighbour", "add", "--config", of.Config(), m.line("m")); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	eventually(t, "the member is not let in", func() bool {
		s, err := m.open(of, wire.Protocol)
		if err == nil {
			s.Reset()
		}
		return err == nil
	})
	return m
}

// complaint finds an Error about a kind of message that says something.
func (m *member) complaint(of wire.Kind, says string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.got, func(w wire.Message) bool {
		e, is := w.(wire.Error)
		return is && e.Of == of && strings.Contains(e.Why, says)
	})
}

// A member that sends what is no message is told so or cut off, at no cost.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{More: "log: {level: debug}\n"})
	s.Env = nil // its memory is looked at
	start(t, s)
	m := newMember(t, dir, s)
	hello := frame(t, wire.Hello{Program: "test", Site: grid.Site{Name: "m", Processes: 1, Speed: 1}, Clock: grid.InstantOf(time.Now())})
	framed := func(body string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	body := func(kind wire.Kind, rest string) string { return "\x94\x01" + string(rune(kind)) + "\x90" + rest }
	pid, before := s.PID(), peak(t, s)

	for name, c := range map[string]struct {
		kind wire.Kind
		rest string
	}{
		"an array of four billion": {wire.KindEstimateRequest, "\x81\xa1x\xdd\xff\xff\xff\xff"},
		"a map of four billion":    {wire.KindEstimateReply, "\x81\xa1x\xdf\xff\xff\xff\xff"},
		"two gigabytes":            {wire.KindOffer, "\x81\xa1x\xc6\x7f\xff\xff\xff"},
		"a text of two gigabytes":  {wire.KindReport, "\x81\xa1x\xdb\x7f\xff\xff\xff"},
		"depth":                    {wire.KindCommit, "\x81\xa1x" + strings.Repeat("\x91", 1000) + "\x01"},
		"an extension":             {wire.KindReady, "\x81\xa1x\xc9\x00\x00\x00\x01\x05x"},
		"nothing":                  {wire.KindAbort, ""},
		"another type":             {wire.KindOwned, "\xa1x"},
		"more after its end":       {wire.KindCancel, "\x80garbage"},
	} {
		m.says(s, hello, framed(body(c.kind, c.rest)))
		eventually(t, name+" is not complained of", func() bool { return m.complaint(c.kind, "") })
	}
	m.says(s, hello, framed("\x94\x01\xcc\xc8\x90\x80")) // kind 200
	eventually(t, "an unknown kind is not complained of", func() bool { return m.complaint(200, "") })
	m.says(s, frame(t, wire.EstimateRequest{Round: 1}))
	eventually(t, "a stream without a Hello is not complained of", func() bool { return m.complaint(wire.KindEstimateRequest, "Hello") })

	for name, bytes := range map[string][]byte{
		"a frame of four gigabytes": {0xff, 0xff, 0xff, 0xff},
		"more than any message":     append(binary.BigEndian.AppendUint32(nil, wire.MaxFrame+1), 0x94, 0x01),
		"more than its kind may":    append(binary.BigEndian.AppendUint32(nil, wire.MaxFrame), body(wire.KindCancel, strings.Repeat("x", 64))...),
	} {
		c := m.says(s, hello, bytes)
		must(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Errorf("%s: the stream is not ended: %v", name, err)
		}
	}
	for range 20 { // each says that a lot comes, and then nothing
		m.says(s, hello, append(binary.BigEndian.AppendUint32(nil, wire.MaxFrame), body(wire.KindOffer, "\x81\xa1x")...))
	}
	noise := strings.Repeat("\xdd\x7f\xff\xff\xff", 1000)
	m.says(s, []byte(noise))
	m.says(s, hello, []byte(noise))
	filesProtocol(t, s, m, dir)

	goodJob(t, s, dir)
	if grown := peak(t, s) - before; grown > 32*mebi || s.PID() != pid {
		t.Errorf("bad messages cost %d MiB", grown/mebi)
	}
}

// filesProtocol asks for files that the member may not have, and for none that exist.
func filesProtocol(t *testing.T, s site, m *member, dir string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "in.txt"), []byte("not for members"), 0o644))
	id := work{script: "cat in.txt", brings: []string{"in.txt"}, output: "out.txt"}.submit(t, s, dir, "private")
	exits(t, s, id, 0)
	request := func(kind, set byte, job, path string, length uint32) []byte {
		q := []byte{kind, set}
		q = binary.BigEndian.AppendUint16(q, uint16(len(job)))
		q = binary.BigEndian.AppendUint16(q, uint16(len(path)))
		q = binary.BigEndian.AppendUint64(q, 0)
		q = binary.BigEndian.AppendUint32(q, length)
		return append(append(q, job...), path...)
	}
	for name, q := range map[string][]byte{
		"inputs of another's job": request(1, 1, id, "in.txt", 15),
		"its output":              request(1, 2, id, "out.txt", 15),
		"its working tree":        request(1, 3, id, "out.txt", 15),
		"a list of it":            request(2, 3, id, "", 0),
		"up":                      request(1, 1, id, "../../../../identity.key", 15),
		"absolute":                request(1, 1, id, "/etc/passwd", 15),
		"a job that is a path":    request(1, 1, "../..", "identity.key", 15),
		"no such job":             request(1, 1, "s.00000000000000000000000000", "in.txt", 15),
		"no such kind":            request(9, 1, id, "in.txt", 15),
		"no such set":             request(1, 9, id, "in.txt", 15),
		"too much":                request(1, 1, id, "in.txt", 1<<31),
		"noise":                   []byte(strings.Repeat("\xff", 100)),
	} {
		c, err := m.open(s, stage.Protocol)
		must(t, err)
		if _, err := c.Write(q); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, c.CloseWrite())
		must(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		answer, err := io.ReadAll(c)
		if os.IsTimeout(err) || len(answer) > 0 && answer[0] == 0 {
			t.Errorf("%s: the answer is %q, %v", name, answer, err)
		}
		c.Reset()
	}
}
