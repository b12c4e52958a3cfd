package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"gbroker/internal/mail/mailtest"
	"gbroker/test/cluster"
)

// Scripts of either dialect send mail of their begin and end by a real server, over TLS and with a password, again
// where it was refused for now; nobody that the site does not let, and who is refused for good is given up. Where
// none is sent the submission says so at once, and the job runs.
func TestMail(t *testing.T) {
	t.Parallel()
	dir := place(t)
	busy := make(chan struct{}, 1)
	busy <- struct{}{}
	server := mailtest.Start(t, false, func(s *mailtest.Server) {
		s.User, s.Password = "alpha", "secret"
		s.Refuse = func(to string) error {
			if strings.HasPrefix(to, "nobody") {
				return &smtp.SMTPError{Code: 550, Message: "no such user"}
			}
			select {
			case <-busy:
				return &smtp.SMTPError{Code: 451, Message: "not now"}
			default:
				return nil
			}
		}
	})
	must(t, os.WriteFile(filepath.Join(dir, "authority"), server.Authority, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "password"), []byte("user: alpha\npassword: secret\n"), 0o600))
	tells := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: fmt.Sprintf(
		"mail: {from: gbroker@a.example.org, server: 'localhost:%d', authorities: %s/authority, credentials: %s/password, to: [example.org], per_hour: 3600}", server.Port, dir, dir)})
	mute := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 1})
	start(t, tells, mute)

	scripts := map[string]string{
		"slurm.sh": "#!/bin/sh\n#SBATCH -J slurm --time=1 --mail-type=BEGIN,END --mail-user=alice@example.org,eve@elsewhere.net,nobody@example.org\ntrue\n",
		"pbs.sh":   "#!/bin/sh\n#PBS -N pbs -l walltime=1:00\n#PBS -m abe -M bob@example.org\nexit 3\n",
	}
	for name, text := range scripts {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	submit := func(s site, name string, warns ...string) string {
		r := s.Client(t.Context(), "submit", filepath.Join(dir, name))
		for _, text := range warns {
			if !strings.Contains(r.Stderr, "warning: no mail will go to "+text) {
				t.Errorf("%s is handed in with the words %q, not of %s", name, r.Stderr, text)
			}
		}
		if r.Code != 0 || strings.Count(r.Stderr, "warning: ") != len(warns) {
			t.Fatalf("%s is handed in with the status %d and the words %q", name, r.Code, r.Stderr)
		}
		return strings.TrimSpace(r.Stdout)
	}
	id := submit(tells, "slurm.sh", "eve@elsewhere.net: this site sends mail only to example.org")
	exits(t, tells, id, 0)
	exits(t, tells, submit(tells, "pbs.sh"), 3)
	var got []string
	for _, m := range server.Wait(t, 4) {
		for line := range strings.Lines(m.Text) {
			if text, is := strings.CutPrefix(line, "Subject: job "); is && m.Secure && m.User == "alpha" {
				title, _, _ := strings.Cut(text, " (")
				got = append(got, m.To+" "+title)
			}
		}
	}
	slices.Sort(got)
	want := []string{"alice@example.org slurm has begun", "alice@example.org slurm has ended", "bob@example.org pbs has begun", "bob@example.org pbs has ended"}
	if !slices.Equal(got, want) {
		t.Errorf("told was %q", got)
	}
	eventually(t, "who is refused is not given up", func() bool {
		text := client(t, tells, "history", id)
		return strings.Contains(text, "telling mailto:nobody@example.org of its end is given up") && strings.Contains(text, "no such user") &&
			strings.Contains(text, "telling mailto:eve@elsewhere.net of its end is given up") && strings.Contains(text, "told mailto:alice@example.org of its end")
	})
	exits(t, mute, submit(mute, "pbs.sh", "bob@example.org: this site sends no mail"), 3)
}
