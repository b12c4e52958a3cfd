// Package jsdl is impure.
package jsdl

import "context"
import "net/http"

func F(context.Context, http.Handler) {}
