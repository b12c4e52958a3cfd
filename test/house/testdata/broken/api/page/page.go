// Package page is of layer 4, and may have a server.
package page

import _ "net/http"
