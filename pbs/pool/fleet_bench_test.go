package pool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/line"
)

// poolCommand makes this test's own binary a pool over a folder.
const poolCommand = "pool-of-a-test"

func bePool(spool, listen string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := pool.New(pool.Config{
		Spool: spool, Listen: listen, Interval: time.Minute, Poll: -1,
		Site: grid.Site{Name: "here", Speed: 1, Architecture: "x86_64", System: "LINUX", Processes: 1},
	})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// light is a computer that says what an agent says, and runs nothing.
type light struct {
	base, session string
	http          *http.Client
}

func (l *light) post(path string, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	got, err := l.http.Post(l.base+path, "application/json", bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", path, got.Status, text)
	}
	return err
}

// connect does what an agent does when it finds its pool again, until that succeeds.
func (l *light) connect(register bool) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := error(nil)
		if register {
			err = l.post(line.RegisterPath, line.Register{Version: line.Version, Computer: line.Computer{Architecture: "x86_64", System: "LINUX", Cores: 4, Memory: 8 << 30, Speed: 1}})
		}
		if err == nil {
			err = l.post(line.ConnectPath, line.Connect{Version: line.Version, Session: l.session})
		}
		if err == nil && l.report() == nil {
			return
		}
		time.Sleep(pause/2 + rand.N(pause)) //house:allow sleep: as an agent waits
	}
}

func (l *light) report() error {
	return l.post(line.ReportPath, line.Status{Session: l.session, Availability: line.Free, Idle: 1, Speed: 1, Disk: 1 << 40, Jobs: []line.Report{}})
}

// TestManyComputers measures a pool process under very many computers that report each minute, and that all come back within a second.
func TestManyComputers(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("GBROKER_BENCH_POOL"))
	if n == 0 {
		t.Skip("GBROKER_BENCH_POOL is not set: make bench-pool sets it")
	}
	spool := t.TempDir()
	f := newFleet(t, nil)
	identity, err := line.OpenPool(filepath.Join(spool, "identity"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, poolCommand, spool, f.listen)
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "GOGC=50") // as gbroker has it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() })
	all := make([]*light, n)
	dir := t.TempDir()
	key, err := line.NewKey() // one for all: a pool looks at names
	if err != nil {
		t.Fatal(err)
	}
	request, err := line.Request(key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		der, err := identity.Certify(fmt.Sprintf("desk%d", i), request)
		if err != nil {
			t.Fatal(err)
		}
		id, err := line.SaveIdentity(filepath.Join(dir, strconv.Itoa(i)), key, der)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = &light{base: "https://" + f.listen, session: line.Nonce(), http: &http.Client{
			Transport: &http.Transport{TLSClientConfig: line.Client(identity.Fingerprint(), id), IdleConnTimeout: time.Hour}, Timeout: time.Minute,
		}}
	}
	arrive := func(register bool) []time.Duration {
		took := make([]time.Duration, n)
		var wg sync.WaitGroup
		for i, l := range all {
			wg.Go(func() {
				time.Sleep(rand.N(time.Second)) //house:allow sleep: a measurement over real time
				begun := time.Now()
				l.connect(register)
				took[i] = time.Since(begun)
			})
		}
		wg.Wait()
		slices.Sort(took)
		return took
	}
	took := arrive(true)
	t.Logf("%d computers that are new: the median is served after %v, the last after %v", n, took[n/2], took[n-1])
	for _, l := range all {
		l.http.CloseIdleConnections()
	}
	took = arrive(false)
	t.Logf("all came back within a second: the median is served after %v, the last after %v", took[n/2], took[n-1])
	if took[n-1] > 30*time.Second {
		t.Errorf("the last is served after %v", took[n-1])
	}

	before, begun := cpuTime(t, cmd.Process.Pid), time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for _, l := range all {
		wg.Go(func() {
			time.Sleep(rand.N(time.Minute)) //house:allow sleep: a measurement over real time
			if err := l.report(); err != nil {
				mu.Lock()
				failed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	cores := float64(cpuTime(t, cmd.Process.Pid)-before) / float64(time.Since(begun))
	now, peak := memory(t, cmd.Process.Pid)
	t.Logf("reports of a minute: %.3f cores, %d MiB (at most %d), %d failed", cores, now>>10, peak>>10, failed)
	if cores > 0.5 || peak > 300<<10 || failed > 0 {
		t.Error("that is more than half a core, more than 300 MiB, or a report that failed")
	}
}

// cpuTime is what a process has used.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory is what a process holds, and the most it held, KiB.
func memory(t *testing.T, pid int) (now, peak int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(data)) {
		fmt.Sscanf(l, "VmRSS: %d", &now)
		fmt.Sscanf(l, "VmHWM: %d", &peak)
	}
	return now, peak
}
