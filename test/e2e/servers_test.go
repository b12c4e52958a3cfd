package e2e

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/test/cluster"
	"gbroker/test/servers"
)

// stores are real servers of each scheme, each with an input and room for outputs, and the credentials of their user.
type stores struct {
	web         servers.Web
	sftp        servers.SFTP
	s3          servers.S3
	cut         []*servers.Proxy // before http and sftp
	sources     []string         // of the files a, b, c and d
	content     []byte           // of all, in this order
	dir         string           // below which the server of sftp has its files
	credentials string
	secrets     []string // what nobody else may read
}

// openStores starts them; the inputs are that long together.
func openStores(t *testing.T, size int) *stores {
	t.Helper()
	s := &stores{web: servers.StartWeb(t), sftp: servers.StartSFTP(t), s3: servers.StartS3(t), dir: t.TempDir(), content: make([]byte, size)}
	rand.Read(s.content)
	s.cut = []*servers.Proxy{servers.StartProxy(t, s.web.Address), servers.StartProxy(t, s.sftp.Address)}
	part := func(i int) []byte { return s.content[i*size/4 : (i+1)*size/4] }
	must(t, os.WriteFile(filepath.Join(s.web.Dir, "private", "a"), part(0), 0o644))
	must(t, os.WriteFile(filepath.Join(s.web.Dir, "b"), part(1), 0o644))
	must(t, os.WriteFile(filepath.Join(s.dir, "c"), part(2), 0o644))
	_, err := s.s3.Objects.PutObject(s.s3.Bucket, "deep/d", map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, bytes.NewReader(part(3)), int64(len(part(3))), nil)
	must(t, err)
	s.sources = []string{"https://" + s.web.Secure + "/private/a", "http://" + s.cut[0].Address + "/b", "sftp://" + s.cut[1].Address + s.dir + "/c", "s3://" + s.s3.Bucket + "/deep/d"}
	key := strings.ReplaceAll(strings.TrimSpace(s.sftp.PrivateKey), "\n", "\n    ")
	s.credentials = filepath.Join(t.TempDir(), "credentials")
	must(t, os.WriteFile(s.credentials, fmt.Appendf(nil, "- {for: 'https://%s/private', token: %s}\n- {for: 's3://%s', access_key: %s, secret_key: %s, endpoint: '%s', region: %s}\n- for: sftp://%s\n  user: %s\n  host_key: %s\n  private_key: |\n    %s\n",
		s.web.Secure, s.web.Token, s.s3.Bucket, s.s3.AccessKey, s.s3.SecretKey, s.s3.Endpoint, s.s3.Region, s.cut[1].Address, s.sftp.User, s.sftp.HostKey, key), 0o600))
	s.secrets = []string{s.web.Token, s.s3.SecretKey, strings.Split(s.sftp.PrivateKey, "\n")[3]}
	return s
}

// at makes a site that may reach them.
func (s *stores) at(t *testing.T, dir, name string, o cluster.Options) site {
	t.Helper()
	one := newSite(t, dir, name, o)
	settings(t, one, "outbound: [127.0.0.1]")
	one.Env = []string{"SSL_CERT_FILE=" + s.web.Authority}
	return one
}

// told lists the files of sites and their logs that have a secret, but for those called so, which must have mode 0600.
func (s *stores) told(t *testing.T, kept string, sites ...site) (files, keeps []string) {
	t.Helper()
	for _, one := range sites {
		must(t, filepath.WalkDir(filepath.Dir(one.Dir), func(name string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || !strings.HasPrefix(name, one.Dir) {
				return nil
			}
			b, _ := os.ReadFile(name)
			for _, secret := range s.secrets {
				if !bytes.Contains(b, []byte(secret)) {
					continue
				}
				info, err := e.Info()
				if strings.HasSuffix(name, kept) && err == nil && info.Mode().Perm() == 0o600 {
					keeps = append(keeps, name)
				} else {
					files = append(files, name)
				}
				break
			}
			return nil
		}))
	}
	return files, keeps
}

// Jobs whose inputs come from, and whose outputs go to, real servers of each scheme, at home and at a neighbour, over
// connections that break: the bytes are the same. What lets them in is a file for the broker alone as long as the job lives,
// and nowhere else: in no journal, log or other file; after the end nowhere at all.
func TestRealServers(t *testing.T) {
	t.Parallel()
	s := openStores(t, 12<<20)
	dir := place(t)
	home := s.at(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := s.at(t, dir, "away", cluster.Options{Nodes: 2, Cores: 2})
	start(t, home, away)
	introduce(t, home, away)
	for i, at := range []string{"home", "away"} {
		for _, p := range s.cut {
			p.Cut(2, 1<<20)
			p.Passed.Store(0)
		}
		gate := filepath.Join(dir, "go-"+at)
		file := staged(t, dir, at, "while [ ! -e "+gate+" ]; do sleep 0.2; done; cat a b c d &gt; all", i+1,
			from("a", s.sources[0]), from("b", s.sources[1]), from("c", s.sources[2]), from("d", s.sources[3]),
			to("all", "https://"+s.web.Secure+"/private/"+at), to("all", "sftp://"+s.cut[1].Address+s.dir+"/"+at), to("all", "s3://"+s.s3.Bucket+"/out/"+at))
		id := strings.TrimSpace(client(t, home, "submit", "--credentials", s.credentials, file))
		reaches(t, home, id, "RUNNING")
		if files, keeps := s.told(t, "/"+id+"/ctl/credentials", home, away); len(files) > 0 || len(keeps) != i+1 {
			t.Errorf("while it runs at %s credentials are in %v and kept in %v", at, files, keeps)
		}
		must(t, os.WriteFile(gate, nil, 0o600))
		completed(t, home, id, at)
		for _, p := range s.cut {
			if n := p.Passed.Load(); n > 6<<20 {
				t.Errorf("%s: %d bytes came for a file of 3 MiB: it began anew", at, n)
			}
		}
		one, err1 := os.ReadFile(filepath.Join(s.web.Dir, "private", at))
		two, err2 := os.ReadFile(filepath.Join(s.dir, at))
		three, err3 := s.object("out/" + at)
		for name, got := range map[string][]byte{"https": one, "sftp": two, "s3": three} {
			if !bytes.Equal(got, s.content) {
				t.Errorf("%s: %s got %d bytes, not those (%v, %v, %v)", at, name, len(got), err1, err2, err3)
			}
		}
		if files, keeps := s.told(t, "", home, away); len(files)+len(keeps) > 0 {
			t.Errorf("after the end credentials are in %v and %v", files, keeps)
		}
	}
	if ranges := strings.Join(s.web.Asked(), "\n"); !strings.Contains(ranges, "GET /b 206 bytes=") {
		t.Errorf("a broken connection was not taken up by a range:\n%s", ranges)
	}
}

func (s *stores) object(key string) ([]byte, error) {
	o, err := s.s3.Objects.GetObject(s.s3.Bucket, key, nil)
	if err != nil {
		return nil, err
	}
	defer o.Contents.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(o.Contents)
	return b.Bytes(), err
}

// An input that one site cannot have, as it does not know the key of the server, or has no credentials of its own for it, makes
// that site refuse for now, and the job runs at one that can.
func TestInputsThatOneSiteCanHave(t *testing.T) {
	t.Parallel()
	s := openStores(t, 4<<10)
	dir := place(t)
	home := s.at(t, dir, "home", cluster.Options{Nodes: 1, Cores: 2})
	away := s.at(t, dir, "away", cluster.Options{Nodes: 1, Cores: 1})
	address := s.cut[1].Address
	must(t, os.WriteFile(filepath.Join(away.Dir, "known"), []byte(s.sftp.KnownHosts(address)), 0o600))
	must(t, os.WriteFile(filepath.Join(away.Dir, "of-the-site"), fmt.Appendf(nil, "- {for: 'https://%s/private', token: %s}\n", s.web.Secure, s.web.Token), 0o600))
	settings(t, home, "files: {patience: 1s}")
	settings(t, away, fmt.Sprintf("files: {patience: 1s, known_hosts: %s/known, credentials: of-the-site}", away.Dir))
	start(t, home, away)
	introduce(t, home, away)
	mine := filepath.Join(dir, "credentials")
	key := strings.ReplaceAll(strings.TrimSpace(s.sftp.PrivateKey), "\n", "\n    ")
	must(t, os.WriteFile(mine, fmt.Appendf(nil, "- for: sftp://%s\n  user: %s\n  private_key: |\n    %s\n", address, s.sftp.User, key), 0o600))
	for name, uri := range map[string]string{"key": s.sources[2], "credentials": s.sources[0]} {
		file := staged(t, dir, name, "cat input", 1, from("input", uri))
		id := strings.TrimSpace(client(t, home, "submit", "--credentials", mine, file))
		completed(t, home, id, "away")
		if text := client(t, home, "history", id); !strings.Contains(text, uri) {
			t.Errorf("%s: that home could not have %s is not told:\n%s", name, uri, text)
		}
		client(t, home, "output", id, filepath.Join(dir, "out-"+name))
		if got, err := os.ReadFile(filepath.Join(dir, "out-"+name, "stdout")); err != nil || !bytes.Contains(s.content, got) || len(got) != len(s.content)/4 {
			t.Errorf("%s: the job has read %d bytes, not those (%v)", name, len(got), err)
		}
	}
	if files, keeps := s.told(t, "of-the-site", home, away); len(files) > 0 || len(keeps) != 1 {
		t.Errorf("credentials are in %v, beside those of the site in %v", files, keeps)
	}
}

// What several jobs of a user bring to a site, by themselves and by URI, travels there once, also when they go there together.
func TestInputsTravelOnce(t *testing.T) {
	t.Parallel()
	s := openStores(t, 32<<20)
	dir := place(t)
	home := s.at(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	away := s.at(t, dir, "away", cluster.Options{Nodes: 4, Cores: 2})
	start(t, home, away)
	introduce(t, home, away)
	must(t, os.WriteFile(filepath.Join(dir, "big"), s.content[:16<<20], 0o600))
	gate := filepath.Join(dir, "go")
	file := staged(t, dir, "job", "while [ ! -e "+gate+" ]; do sleep 0.2; done; cat big d | cksum", 2, from("big", "big"), from("d", s.sources[3]))
	const jobs = 4
	var ids []string
	for range jobs {
		ids = append(ids, strings.TrimSpace(client(t, home, "submit", "--credentials", s.credentials, file)))
	}
	var first os.FileInfo
	for _, id := range ids {
		reaches(t, home, id, "RUNNING")
		info, err := os.Stat(filepath.Join(away.Dir, "data", "jobs", id, "in", "big"))
		must(t, err)
		if first == nil {
			first = info
		}
		if !os.SameFile(info, first) {
			t.Errorf("the input of %s came again", id)
		}
	}
	if n := s.s3.Got.Load(); n != 1 {
		t.Errorf("the object was sent %d times", n)
	}
	must(t, os.WriteFile(gate, nil, 0o600))
	sums := map[string]bool{}
	for _, id := range ids {
		completed(t, home, id, "away")
		client(t, home, "output", id, filepath.Join(dir, id))
		sum, err := os.ReadFile(filepath.Join(dir, id, "stdout"))
		must(t, err)
		sums[string(sum)] = true
	}
	if len(sums) != 1 {
		t.Errorf("the jobs have read different bytes: %v", sums)
	}
}

// An output whose place does not answer is brought again, later and later, and its user sees why his job does not end; it ends well when
// the place answers, and where that takes too long FAILED, with the place and its error, and the file at home.
func TestOutputsThatWait(t *testing.T) {
	t.Parallel()
	s := openStores(t, 4<<10)
	dir := place(t)
	home := s.at(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	settings(t, home, "files: {patience: 4s}")
	start(t, home)
	uri := "http://" + s.cut[0].Address + "/up/f"
	submit := func(name string) string {
		return strings.TrimSpace(client(t, home, "submit", staged(t, dir, name, "echo made &gt; f", 1, to("f", uri))))
	}
	s.cut[0].Close()
	id := submit("late")
	eventually(t, "it is not brought again", func() bool { return s.cut[0].Tried.Load() >= 3 })
	if st := status(t, home, id); st.State != "STAGEOUT" && st.State != "FINISHED" || !strings.Contains(st.Reason, uri) {
		t.Errorf("while it is brought again the job is %s, as %q", st.State, st.Reason)
	}
	s.cut[0].Open()
	completed(t, home, id, "home")
	if got, err := os.ReadFile(filepath.Join(s.web.Dir, "up", "f")); err != nil || string(got) != "made\n" {
		t.Errorf("the server got %q (%v)", got, err)
	}
	s.cut[0].Close()
	before := s.cut[0].Tried.Load()
	id = submit("never")
	st := ended(t, home, id)
	if st.State != "FAILED" || !strings.Contains(st.Reason, uri) {
		t.Errorf("it ends %s: %q", st.State, st.Reason)
	}
	if n := s.cut[0].Tried.Load() - before; n < 3 || n > 8 {
		t.Errorf("it was brought %d times in 4 s", n)
	}
	client(t, home, "output", id, filepath.Join(dir, "out"))
	if got, err := os.ReadFile(filepath.Join(dir, "out", ".elsewhere", "f")); err != nil || string(got) != "made\n" {
		t.Errorf("at home is %q (%v)", got, err)
	}
}
