package experiment

import (
	"github.com/goccy/go-yaml/ast"

	"gbroker/internal/form"
)

// mistakeAt is a mistake at a node; whoever reads the file adds its name.
func mistakeAt(n ast.Node, format string, args ...any) *form.Mistake {
	return form.MistakeAt("", n, format, args...)
}
