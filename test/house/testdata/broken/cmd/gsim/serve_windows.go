package main

import _ "net/http"
