// Package version says which gbroker this is.
package version

// Version is the version of the programs; the build sets it with
// -ldflags "-X gbroker/internal/version.Version=1.2.3".
var Version = "0.1.0-dev"
