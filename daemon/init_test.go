package daemon

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestInitGolden: what init writes is what testdata shows, and is read as it was asked for.
func TestInitGolden(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "site")
	o := InitOptions{Dir: dir, Site: "xeon80", Nodes: 10, Cores: 8, Speed: 1.25,
		Listen: "/ip4/127.0.0.1/tcp/0", API: "127.0.0.1:0", Socket: "/tmp/x.sock"}
	c, err := Init(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{configName, neighboursName} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not as %s (go test ./daemon -update writes it anew): %v\n%s", name, golden, err, got)
		}
	}
	loaded, err := Load(c.File)
	if err != nil {
		t.Fatal(err)
	}
	want := Default(dir)
	want.Site, want.Speed, want.Listen, want.API, want.Socket = "xeon80", 1.25, []string{"/ip4/127.0.0.1/tcp/0"}, "127.0.0.1:0", "/tmp/x.sock"
	want.Batch.Nodes, want.Batch.Cores = 10, 8
	if !reflect.DeepEqual(loaded, want) {
		t.Errorf("\n got %+v\nwant %+v", loaded, want)
	}
	for path, mode := range map[string]fs.FileMode{c.IdentityFile(): 0o600, c.TokenFile(): 0o600, c.Data: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
}

// TestInitComments: the defaults that the comments of a new gbroker.yaml tell are the defaults.
func TestInitComments(t *testing.T) {
	t.Parallel()
	o := DefaultInit()
	o.Site, o.Socket = "here", socketName
	var lines []string
	for line := range strings.Lines(configText(o)) {
		if bare, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			name, value, isField := strings.Cut(bare, ": ")
			if isField && value != "" && !strings.Contains(name, " ") && find(configFields(&document{}, &Config{}), name) != nil {
				lines = append(lines, bare+"\n")
			}
		}
	}
	if len(lines) < 8 {
		t.Fatalf("only %d fields are shown as comments: %q", len(lines), lines)
	}
	c := Default("/site")
	if wrong := parseConfig(&c, "f", []byte("site: here\n"+strings.Join(lines, ""))); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	want := Default("/site")
	want.Site, want.API, c.Architecture, c.System = "here", "127.0.0.1:4080", want.Architecture, want.System
	c.Administrators, c.Each, c.Prices, c.Budgets = nil, grid.Each{}, nil, nil // examples, not defaults
	want.Sandboxes = want.JobsFolder()
	if !reflect.DeepEqual(c, want) {
		t.Errorf("\n got %+v\nwant %+v", c, want)
	}
}

// A pool that is made by init has what it says that it has.
func TestInitPoolComments(t *testing.T) {
	t.Parallel()
	o := DefaultInit()
	o.Site, o.Socket, o.Pool = "desks", socketName, "127.0.0.1:4055"
	text := configText(o)
	said := text
	for _, field := range []string{"interval", "silence", "rule", "margin", "presume", "copies", "untrusted"} {
		if !strings.Contains(said, "\n  # "+field+": ") {
			t.Errorf("nothing is said of %s", field)
		}
		said = strings.Replace(said, "\n  # "+field+": ", "\n  "+field+": ", 1)
	}
	pools := [2]pool.Config{}
	for i, text := range []string{text, said} {
		c := Default("/site")
		if wrong := parseConfig(&c, "f", []byte(text)); len(wrong) > 0 {
			t.Fatal(wrong)
		}
		p, err := c.ThePool()
		if err != nil {
			t.Fatal(err)
		}
		pools[i] = p.WithDefaults()
		pools[i].Changed, pools[i].Logger = nil, nil
	}
	if pools[0].Listen != "127.0.0.1:4055" || !reflect.DeepEqual(pools[0], pools[1]) {
		t.Errorf("\n it has %+v\nit says %+v", pools[0], pools[1])
	}
}

func TestInitRefuses(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	before, _ := os.ReadFile(c.IdentityFile())
	o := DefaultInit()
	o.Dir, o.Site, o.Socket = c.Dir(), "other", "/tmp/x.sock"
	_, err := Init(o)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "gbroker.yaml, neighbours.yaml, identity.key, api.token, data") {
		t.Errorf("a second init gave %v", err)
	}
	if after, _ := os.ReadFile(c.IdentityFile()); string(after) != string(before) {
		t.Error("a second init changed the identity")
	}
	for change, want := range map[*InitOptions]string{
		{Site: "Bad", Nodes: 1, Cores: 1, Speed: 1, Listen: "/ip4/0.0.0.0/tcp/1"}:                                                 `the name "Bad"`,
		{Site: "ok", Nodes: -1, Cores: 1, Speed: 1, Listen: "/ip4/0.0.0.0/tcp/1"}:                                                 "batch.nodes: -1 is out of range",
		{Site: "ok", Nodes: 1, Cores: 1, Speed: 1, Listen: "0.0.0.0:1"}:                                                           "write /ip4/0.0.0.0/tcp/1",
		{Site: "a'b\nspeed: 3", Nodes: 1, Cores: 1, Speed: 1, Listen: "/ip4/0.0.0.0/tcp/1"}:                                       "site: the name",
		{Dir: filepath.Join(t.TempDir(), strings.Repeat("d", 120)), Site: "ok", Nodes: 1, Cores: 1, Speed: 1, Listen: "/ip4/0/1"}: "choose a shorter one with --socket",
	} {
		o := *change
		if o.Dir == "" {
			o.Dir, o.Socket = filepath.Join(t.TempDir(), "s"), "/tmp/x.sock"
		}
		if _, err := Init(o); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gave %v, want %q", o, err, want)
		}
		if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v was refused, but left %s", o, o.Dir)
		}
	}
}
