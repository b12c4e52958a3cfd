// Package logger makes the log of a program: lines to stderr, for people or as JSON for programs.
package logger

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New writes to stderr what is on the level and above: lines for people, their columns
// aligned, or JSON for programs. The level can be changed.
func New(level, format string) (*zap.Logger, zap.AtomicLevel, error) {
	at, err := zapcore.ParseLevel(level)
	if err != nil || at > zapcore.ErrorLevel {
		return nil, zap.AtomicLevel{}, fmt.Errorf("%q is no level: write debug, info, warn or error", level)
	}
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(at)
	if format != "json" {
		c.Encoding = "console"
		c.EncoderConfig.EncodeLevel = func(l zapcore.Level, to zapcore.PrimitiveArrayEncoder) { to.AppendString(fmt.Sprintf("%-5s", l)) }
		c.EncoderConfig.EncodeName = func(name string, to zapcore.PrimitiveArrayEncoder) { to.AppendString(fmt.Sprintf("%-8s", name)) }
		c.EncoderConfig.ConsoleSeparator = " "
	}
	c.EncoderConfig.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00") // of one width
	c.OutputPaths, c.ErrorOutputPaths = []string{"stderr"}, []string{"stderr"}
	c.DisableStacktrace, c.DisableCaller = true, at > zapcore.DebugLevel
	log, err := c.Build()
	return log, c.Level, err
}
