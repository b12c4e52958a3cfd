package pool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// A record of a computer that makes no sense is told and moved aside, and the others are taken up; one that could not be read is left where
// it is, and the pool does not start without it.
func TestRecordsOfComputersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	spoolDir := t.TempDir()
	core, told := observer.New(zap.InfoLevel)
	config := Config{Site: grid.Site{Name: "p", Speed: 1}, Spool: spoolDir, Listen: "127.0.0.1:0", Logger: zap.New(core)}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	good := registered{Computer: line.Computer{System: "LINUX", Architecture: "x86_64", Cores: 1, Memory: 1 << 30, Disk: 1 << 30, Speed: 1}}
	if err := errors.Join(good.Check(), s.saveComputer("good", good)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.computerFile("folder"), "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"broken": "{", "senseless": `{"Cores":-1}`, "No Name": "{}"} {
		if err := os.WriteFile(s.computerFile(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = New(config); err != nil {
		t.Fatal(err)
	}
	if all := s.sorted(); len(all) != 1 || all[0].name != "good" {
		t.Errorf("taken up are %d", len(all))
	}
	var left []string
	list, err := os.ReadDir(filepath.Join(spoolDir, computersFolder))
	for _, n := range list {
		left = append(left, n.Name())
	}
	if want := []string{"No Name.json.corrupt", "broken.json.corrupt", "folder.json.corrupt", "good.json", "senseless.json.corrupt"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("there are %q, %v", left, err)
	}
	if n := told.FilterMessageSnippet("moved aside").Len(); n != 4 {
		t.Errorf("told of %d: %v", n, told.All())
	}
	if err := os.Symlink("unread.json", s.computerFile("unread")); err != nil { // which leads nowhere
		t.Fatal(err)
	}
	if _, err := New(config); !errors.Is(err, syscall.ELOOP) || !strings.Contains(err.Error(), "unread") {
		t.Errorf("it starts without a computer that it cannot read: %v", err)
	}
}
