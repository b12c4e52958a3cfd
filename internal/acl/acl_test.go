package acl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// What is set is read back, is what getfacl says of it, and shows in the mode.
func TestSet(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(name, 0o750); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, there, err := Get(f, Access); there || err != nil {
		t.Fatalf("a new folder has a list: %v", err)
	}
	want := List{Owner: All, Users: map[uint32]Rights{70000: 5, 2: All}}
	for _, which := range []string{Access, Default} {
		err := Set(f, which, want)
		if errors.Is(err, ErrUnsupported) {
			t.Skipf("the folder of the tests: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, there, err := Get(f, which); !there || err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %t, %v", which, got, there, err)
		}
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o770 {
		t.Errorf("the mode is %v, %v: that of the group is the mask", info.Mode(), err)
	}
	tool, err := exec.LookPath("getfacl")
	if err != nil {
		t.Skip("no getfacl (Debian package acl): what it says of the list is not compared")
	}
	out, err := exec.CommandContext(t.Context(), tool, "-n", "-p", "-c", name).CombinedOutput()
	for _, line := range []string{"user:2:rwx", "user:70000:r-x", "group::---", "other::---", "default:user:2:rwx", "default:mask::rwx"} {
		if err != nil || !strings.Contains(string(out), line+"\n") {
			t.Errorf("getfacl does not say %s: %v\n%s", line, err, out)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, b := range []string{"", "\x02\x00\x00", "\x03\x00\x00\x00", "\x02\x00\x00\x00abcd", "\x02\x00\x00\x00\x05\x00\x07\x00\xff\xff\xff\xff"} {
		if _, err := decode([]byte(b)); err == nil {
			t.Errorf("%q is taken", b)
		}
	}
	l, err := decode(List{Owner: 6, Group: 4, Users: map[uint32]Rights{1: 7}}.encode())
	if err != nil || l.Group != 4 || l.Users[1] != 7 || l.Owner != 6 {
		t.Errorf("%+v, %v", l, err)
	}
}
