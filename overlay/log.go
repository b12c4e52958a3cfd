package overlay

import (
	"bytes"
	"sync"

	"github.com/libp2p/go-libp2p/gologshim"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

var routeOnce sync.Once

// routeLibraryLogs sends what libp2p logs, from warnings on, to log. It keeps one
// destination for the whole process: the first overlay sets it.
func routeLibraryLogs(log *zap.Logger) {
	routeOnce.Do(func() {
		core, err := zapcore.NewIncreaseLevelCore(log.Named("libp2p").Core(), zapcore.WarnLevel)
		if err != nil { // the logger's own level is above that already
			core = log.Core()
		}
		gologshim.SetDefaultHandler(zapslog.NewHandler(core, zapslog.WithName("libp2p")))
	})
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
