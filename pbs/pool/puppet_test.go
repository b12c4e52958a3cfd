package pool_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/pbs/pool/line"
)

// puppet is a computer of a pool whose agent is the test.
type puppet struct {
	*site
	base, session string
	http          *http.Client
}

func (s *site) puppet(name string) *puppet {
	s.Helper()
	code, err := pool.Invite(s.conf, time.Now().Add(time.Hour))
	if err != nil {
		s.Fatal(err)
	}
	dir := s.TempDir()
	if err := agent.Join(s.Context(), dir, name, code.String()); err != nil {
		s.Fatal(err)
	}
	id, err := line.LoadIdentity(filepath.Join(dir, "identity"))
	if err != nil {
		s.Fatal(err)
	}
	p := &puppet{site: s, base: "https://" + s.conf.Listen, session: line.Nonce()}
	p.http = &http.Client{Transport: &http.Transport{TLSClientConfig: line.Client(code.Fingerprint, id)}}
	s.Cleanup(p.http.CloseIdleConnections)
	p.enter()
	return p
}

// enter says what the computer is, and begins a session.
func (p *puppet) enter() {
	p.Helper()
	what := line.Computer{Architecture: "x86_64", System: "LINUX", Cores: 4, Speed: 1, Disk: 1 << 40}
	p.must(line.RegisterPath, line.Register{Version: line.Version, Computer: what}, nil)
	p.must(line.ConnectPath, line.Connect{Version: line.Version, Session: p.session}, nil)
}

// post gives the status of the answer.
func (p *puppet) post(path string, message, answer any) int {
	p.Helper()
	data, err := json.Marshal(message)
	if err != nil {
		p.Fatal(err)
	}
	got, err := p.http.Post(p.base+path, "application/json", bytes.NewReader(data))
	if err != nil {
		p.Fatal(err)
	}
	defer got.Body.Close()
	if answer != nil && got.StatusCode == http.StatusOK {
		if err := json.NewDecoder(got.Body).Decode(answer); err != nil {
			p.Fatal(err)
		}
	}
	return got.StatusCode
}

func (p *puppet) must(path string, message, answer any) {
	p.Helper()
	if status := p.post(path, message, answer); status != http.StatusOK {
		p.Fatalf("%s is answered with %d", path, status)
	}
}

// report tells that the computer is free and holds these jobs.
func (p *puppet) report(jobs ...line.Report) (o line.Orders) {
	p.Helper()
	p.must(line.ReportPath, line.Status{Session: p.session, Availability: line.Free, Idle: 1, Speed: 1, Disk: 1 << 40, Jobs: jobs}, &o)
	return o
}

// start takes a job to its start, and gives the stint.
func (p *puppet) start(j grid.Submission) line.Report {
	p.Helper()
	r := line.Report{Tag: j.ID.Tag(), Stint: line.Nonce(), State: line.Running}
	p.until("the job is given to the computer", func() bool { return len(p.report().Jobs) > 0 })
	var g line.Granted
	p.must(line.JobsPath+r.Tag+"/start", line.Start{Stint: r.Stint}, &g)
	if !g.Granted {
		p.Fatalf("it may not start: %s", g.Why)
	}
	return r
}

// put sends a file, and gives the status of the answer.
func (p *puppet) put(r line.Report, name, sum string, size int64, body io.Reader) int {
	path := line.JobsPath + r.Tag + "/file?mode=644&stint=" + r.Stint + "&sha256=" + sum + "&path=" + base64.RawURLEncoding.EncodeToString([]byte(name))
	q, err := http.NewRequest(http.MethodPut, p.base+path, body)
	if err != nil {
		return 0
	}
	q.ContentLength = size
	got, err := p.http.Do(q)
	if err != nil {
		return 0
	}
	got.Body.Close()
	return got.StatusCode
}
