// Command gsim links a server by way of another package.
package main

import _ "broken/api/page"

func main() {}
