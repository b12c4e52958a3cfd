package pool

import (
	"crypto/ecdsa"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gbroker/pbs/pool/line"
)

// door is a still pool with one join code.
type door struct {
	*still
	code line.Code
}

func newDoor(t *testing.T) *door {
	s := newStill(t)
	code, err := Invite(s.config, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &door{s, code}
}

func (d *door) key() *ecdsa.PrivateKey {
	key, err := line.NewKey()
	if err != nil {
		d.Fatal(err)
	}
	return key
}

// joins asks, with the code, for a name for a key.
func (d *door) joins(name string, key *ecdsa.PrivateKey) error {
	request, err := line.Request(key)
	if err != nil {
		d.Fatal(err)
	}
	_, err = d.join(line.Join{Secret: d.code.Secret, Name: name, Request: request})
	return err
}

// A pool that is killed when it has given a name, and not yet removed the code, lets nobody else join with it: before its computer asks again, and after.
func TestJoinCodeIsGoodOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	mine, file := d.key(), codeFile(d.config.Spool, d.code.Secret)
	fresh, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.joins("desk", mine); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fresh, 0o600); err != nil { // as a pool of before left it
		t.Fatal(err)
	}
	if err := d.joins("desk", mine); err != nil {
		t.Errorf("it cannot join again: %v", err)
	}
	if err := d.joins("other", d.key()); err == nil {
		t.Error("another joins with the code")
	}
}

// A pool that is killed before it has given the name keeps the code for the computer that used it.
func TestJoinCodeIsKeptForItsComputer(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	mine, names := d.key(), filepath.Join(d.config.Spool, namesFolder)
	if err := os.Remove(names); err != nil { // no name can be given
		t.Fatal(err)
	}
	if err := d.joins("desk", mine); err == nil {
		t.Fatal("a name is given that cannot be kept")
	}
	if err := os.Mkdir(names, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.joins("other", d.key()); err == nil {
		t.Error("another joins with the code")
	}
	if err := d.joins("desk", mine); err != nil {
		t.Errorf("it cannot join again: %v", err)
	}
}

// A name whose file a kill left empty is free.
func TestNameIsNotBurned(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	if err := os.WriteFile(d.nameFile("desk"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.joins("desk", d.key()); err != nil {
		t.Error(err)
	}
	if err := d.joins("desk", d.key()); err == nil {
		t.Error("another has the same name")
	}
}
