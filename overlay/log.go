package overlay

import (
	"bytes"
	"sync"

	golog "github.com/ipfs/go-log/v2"
	"github.com/libp2p/go-libp2p/gologshim"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

var routeOnce sync.Once

// routeLibraryLogs sends what libp2p and kad-dht log, from warnings on, to log for
// debugging: what they meet there is ordinary (members that are down, strangers),
// and what matters to people the overlay says itself. The libraries keep one
// destination for the whole process: the first overlay sets it.
func routeLibraryLogs(log *zap.Logger) {
	routeOnce.Do(func() {
		core := demoted{log.Named("libp2p").Core()}
		gologshim.SetDefaultHandler(zapslog.NewHandler(core, zapslog.WithName("libp2p")))
		golog.SetPrimaryCore(core)
	})
}

// demoted writes warnings and errors to the core below as debug messages, and
// nothing else.
type demoted struct{ zapcore.Core }

func (d demoted) Enabled(l zapcore.Level) bool {
	return l >= zapcore.WarnLevel && d.Core.Enabled(zapcore.DebugLevel)
}

func (d demoted) With(fields []zapcore.Field) zapcore.Core { return demoted{d.Core.With(fields)} }

func (d demoted) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if d.Enabled(e.Level) {
		return c.AddCore(e, d)
	}
	return c
}

func (d demoted) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.Level = zapcore.DebugLevel
	return d.Core.Write(e, fields)
}

// gossipLog is memberlist's log: a line each, with its level in brackets. On a
// graph of members most of its complaints are ordinary (word about strangers,
// probes of the dead), so all of it is for debugging; what matters to people
// comes as liveness.
type gossipLog struct{ log *zap.Logger }

func (g gossipLog) Write(line []byte) (int, error) {
	if entry := g.log.Check(zapcore.DebugLevel, "memberlist"); entry != nil {
		entry.Write(zap.ByteString("line", bytes.TrimSpace(line)))
	}
	return len(line), nil
}
