package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gbroker/broker"
)

// The doctor tells of a data folder, or one of the jobs, that is missing, of another user, open to others, or on a full disk.
func TestDoctorOfFolders(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	free := int64(broker.Reserve)
	var failed error
	check := func() []Finding {
		return said(t, Embedded, nil, func(d *doctor) {
			d.room = func(string) (int64, error) { return free, failed }
			d.data()
		}, func(to *Config) { *to = c })
	}
	expect(t, "before the first start", check(), Fine, "is made at the first start")

	started := []error{os.Remove(filepath.Join(c.Dir(), firstStartName)), os.MkdirAll(c.JobsFolder(), 0o700), os.WriteFile(filepath.Join(c.Data, "journal.db"), nil, 0o600)}
	if err := errors.Join(started...); err != nil {
		t.Fatal(err)
	}
	expect(t, "all is well", check(), Fine, "of this site's user, and have room")
	free--
	if all := check(); len(all) != 2 || all[0].Verdict != Mend || all[1].Verdict != Mend {
		t.Errorf("full disks: %+v", all)
	}
	free++
	failed = errors.New("stale handle")
	expect(t, "no word of the disk", check(), Mend, "stale handle")
	failed = nil

	outside := filepath.Join(t.TempDir(), "jobs")
	c.Sandboxes = outside
	expect(t, "no folder of the jobs", check(), Mend, outside+" (sandboxes) is missing", "mount its disk")
	if err := errors.Join(os.Mkdir(outside, 0o700), os.Chmod(outside, 0o777)); err != nil {
		t.Fatal(err)
	}
	expect(t, "others may write", check(), Mend, outside+" has mode 0777", "chmod go-w")
	c.Sandboxes = ""

	expect(t, "of another user", asMended(strangers(c.Data, os.Geteuid()+1)), Mend, "belongs to "+account(os.Geteuid()), "run the command as the daemon's user")
	if os.Geteuid() == 0 { // only root gives files away
		batch := filepath.Join(c.Data, "batch")
		if err := errors.Join(os.MkdirAll(batch, 0o700), os.Chown(batch, nobody, -1)); err != nil {
			t.Fatal(err)
		}
		expect(t, "a folder of another", check(), Mend, "batch in "+c.Data+" are not of ", "chown -R 0 "+c.Data)
		if err := os.RemoveAll(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(c.Data, "journal.db")); err != nil {
		t.Fatal(err)
	}
	expect(t, "no journal", check(), Mend, "has no journal", "not the first start")
	if err := os.RemoveAll(c.Data); err != nil {
		t.Fatal(err)
	}
	expect(t, "no data", check(), Mend, "the data folder "+c.Data+" is missing")
}

func asMended(texts []string) (all []Finding) {
	for _, text := range texts {
		all = append(all, Finding{"data", Mend, text})
	}
	return all
}
