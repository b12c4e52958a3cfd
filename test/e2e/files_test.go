package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gbroker/test/cluster"
)

// shelf is a web server that keeps what it is sent, and wants a token for some of it.
type shelf struct {
	mu    sync.Mutex
	files map[string][]byte
	asked map[string]int
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/private/") && r.Header.Get("Authorization") != "Bearer hidden-word" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPut {
		var b bytes.Buffer
		if _, err := b.ReadFrom(r.Body); err == nil {
			s.files[r.URL.Path] = b.Bytes()
		}
		return
	}
	b, ok := s.files[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.Method == http.MethodGet {
		s.asked[r.URL.Path]++
	}
	w.Header().Set("ETag", `"1"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

func (s *shelf) file(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.files[path])
}

// staged is a document with sources and targets by URI.
func staged(t *testing.T, dir, name, script string, cpus int, staging ...string) string {
	t.Helper()
	text := fmt.Sprintf(`<jsdl:JobDefinition xmlns:jsdl="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix">
<jsdl:JobDescription><jsdl:Application><posix:POSIXApplication><posix:Executable>/bin/sh</posix:Executable><posix:Argument>-c</posix:Argument><posix:Argument>%s</posix:Argument></posix:POSIXApplication></jsdl:Application>
<jsdl:Resources><jsdl:TotalCPUCount><jsdl:Exact>%d</jsdl:Exact></jsdl:TotalCPUCount></jsdl:Resources>%s</jsdl:JobDescription></jsdl:JobDefinition>`, script, cpus, strings.Join(staging, ""))
	file := filepath.Join(dir, name+".jsdl")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func from(name, uri string) string { return stagedAs(name, "Source", uri) }
func to(name, uri string) string   { return stagedAs(name, "Target", uri) }

func stagedAs(name, kind, uri string) string {
	return fmt.Sprintf(`<jsdl:DataStaging><jsdl:FileName>%s</jsdl:FileName><jsdl:CreationFlag>overwrite</jsdl:CreationFlag><jsdl:%s><jsdl:URI>%s</jsdl:URI></jsdl:%s></jsdl:DataStaging>`, name, kind, uri, kind)
}

// settings adds lines to a site's configuration before its start.
func settings(t *testing.T, s *cluster.Site, lines string) {
	t.Helper()
	file := filepath.Join(s.Dir, "gbroker.yaml")
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(text, "\n"+lines+"\n"...), 0o600))
}

// Inputs by URI are at the site that runs the job before it starts, with the user's credentials; outputs get
// where they go; nothing of the credentials is found in journals and logs, nor in folders after the end.
func TestFilesByURI(t *testing.T) {
	t.Parallel()
	s := &shelf{files: map[string][]byte{"/a": []byte("one\n"), "/private/b": []byte("two\n")}, asked: map[string]int{}}
	web := httptest.NewServer(s)
	defer web.Close()
	dir := place(t)
	shared := filepath.Join(dir, "shared")
	must(t, os.Mkdir(shared, 0o700))
	must(t, os.WriteFile(filepath.Join(shared, "c"), []byte("three\n"), 0o600))
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := newSite(t, dir, "away", cluster.Options{Nodes: 2, Cores: 2})
	for _, site := range []*cluster.Site{home, away} {
		settings(t, site, fmt.Sprintf("outbound: [127.0.0.1]\nfiles: {read: [%s], write: [%s]}", shared, shared))
	}
	start(t, home, away)
	introduce(t, home, away)
	credentials := filepath.Join(dir, "credentials")
	must(t, os.WriteFile(credentials, []byte("- for: "+web.URL+"/private\n  token: hidden-word\n"), 0o600))
	for at, cpus := range map[string]int{"home": 1, "away": 2} {
		file := staged(t, dir, at, "cat a b c &gt; all; cp all more", cpus,
			from("a", web.URL+"/a"), from("b", web.URL+"/private/b"), from("c", "file://"+shared+"/c"),
			to("all", web.URL+"/private/"+at), to("more", "file://"+shared+"/"+at), to("never", web.URL+"/never"))
		id := strings.TrimSpace(client(t, home, "submit", "--credentials", credentials, file))
		st := completed(t, home, id, at)
		if !strings.Contains(st.Reason, "never") {
			t.Errorf("of the file that was not made it is said: %q", st.Reason)
		}
		const want = "one\ntwo\nthree\n"
		if got := s.file("/private/" + at); got != want {
			t.Errorf("%s: the server got %q", at, got)
		}
		if got, _ := os.ReadFile(filepath.Join(shared, at)); string(got) != want {
			t.Errorf("%s: the folder got %q", at, got)
		}
	}
	if n := s.asked["/a"]; n != 2 {
		t.Errorf("one input of two jobs was asked for %d times", n)
	}
	for _, site := range []*cluster.Site{home, away} {
		must(t, filepath.WalkDir(site.Dir, func(name string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if b, _ := os.ReadFile(name); bytes.Contains(b, []byte("hidden-word")) {
				t.Errorf("the credentials are in %s", name)
			}
			return nil
		}))
	}
}

// A site that may not have an input gives the job to one that may; where none is, it fails, and says why.
func TestInputsThatAreNotToBeHad(t *testing.T) {
	t.Parallel()
	s := &shelf{files: map[string][]byte{"/a": []byte("one\n")}, asked: map[string]int{}}
	web := httptest.NewServer(s)
	defer web.Close()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 2})
	away := newSite(t, dir, "away", cluster.Options{Nodes: 1, Cores: 2})
	settings(t, home, "files: {patience: 1s}")
	settings(t, away, "outbound: [127.0.0.1]\nfiles: {patience: 1s}")
	start(t, home, away)
	introduce(t, home, away)
	completed(t, home, strings.TrimSpace(client(t, home, "submit", staged(t, dir, "there", "cat a", 1, from("a", web.URL+"/a")))), "away")
	id := strings.TrimSpace(client(t, home, "submit", staged(t, dir, "nowhere", "cat a", 1, from("a", web.URL+"/none"))))
	client(t, home, "explain", id)
	r := home.Client(t.Context(), "wait", id)
	if text := r.Stdout + r.Stderr; r.Code == 0 || !strings.Contains(text, web.URL+"/none") || !strings.Contains(text, "404") || !strings.Contains(text, "loopback") {
		t.Errorf("it ends with %d: %s", r.Code, text)
	}
}

// Files and folders that the document does not name come along.
func TestInclude(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	start(t, home)
	for name, text := range map[string]string{"data/x": "1", "data/deep/y": "2", "one.dat": "3", "two.dat": "4"} {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	file := staged(t, dir, "job", "cat data/x data/deep/y *.dat &gt; all", 1, to("all", "all"))
	out := filepath.Join(dir, "out")
	client(t, home, "submit", "--include", filepath.Join(dir, "data"), "--include", filepath.Join(dir, "*.dat"), "--output", out, file)
	if got, _ := os.ReadFile(filepath.Join(out, "all")); string(got) != "1234" {
		t.Errorf("the job has found %q", got)
	}
	if r := home.Client(t.Context(), "submit", "--include", filepath.Join(dir, "none"), file); r.Code == 0 {
		t.Error("what is not there is included")
	}
}
